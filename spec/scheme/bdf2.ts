import {defineScheme} from '../../lib/index.js';

/** BDF2, as a user would define it: it carries the state before the last, and starts from one extrapolated backwards. */
export const bdf2 = defineScheme({
  name: 'BDF2',
  order: 2,
  unknown: ['v'],
  carry: ({x, t, h, acceleration}) => {
    const a = acceleration(x.q, x.v, t);
    return {q0: x.q.sub(h.mul(x.v)).add(h.square().mul(0.5).mul(a)), v0: x.v.sub(h.mul(a))};
  },
  residual: ({v}, {x, t, h, mass, force}) => {
    const q = x.q.mul(4).sub(x.q0).add(h.mul(2).mul(v)).div(3);
    return {v: mass(q, v.mul(3).sub(x.v.mul(4)).add(x.v0)).sub(h.mul(2).mul(force(q, v, t.add(h))))};
  },
  update: ({v}, {x, h}) => ({q: x.q.mul(4).sub(x.q0).add(h.mul(2).mul(v)).div(3), v, q0: x.q, v0: x.v}),
});
