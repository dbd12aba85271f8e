/**
 * The wheelset of the IVP test set (Mazzia & Magherini, problem WHEEL; Simeon, Führer & Rentrop, Surv. Math. Ind. 1
 * (1991)) in its formulation of index 2: 11 differential components, 4 of index 1, 2 of index 2. On a straight track
 * without propulsion, so that terms of the curvature are left out.
 */
import * as tf from '@tensorflow/tfjs';
import {ode} from '../../lib/index.js';

type T = tf.Tensor;
const add = (...a: readonly (T | number)[]): T => a.reduce<T>((x, y) => tf.add(x, y), tf.scalar(0));
const mul = (...a: readonly (T | number)[]): T => a.slice(1).reduce<T>((x, y) => tf.mul(x, y), tf.add(a[0], 0));
const sub = (a: T | number, b: T | number): T => tf.sub(a, b);
const neg = (a: T): T => tf.neg(a);
const square = (a: T): T => tf.square(a);

const [mr, g, v, rn0, li1, li2, ha0] = [16.08, 9.81, 30, 0.1, 0.0605, 0.366, 0.12];
const [mu, xl, cx, cz] = [ha0, 0.19, 6400, 6400];
const [e, gg, sigma, gm, c11, c22, c23] = [1.3537956, 0.7115218, 0.28, 7.92e10, 4.72772197, 4.27526987, 1.97203505];
const [delta0, ar, rs] = [0.0262, 0.1506, 0.06];
const omega = v / rn0;
/** As the test set has it. */
const pi = 3.1415926;

/** Profile of a wheel, a cone: radius and slope; of a rail, a circle: height and its derivatives. */
const wheel = (x: T, side: number): readonly [T, number] => [
  add(rn0, mul(Math.tan(delta0), sub(ar, mul(side, x)))),
  -side * Math.tan(delta0),
];
const rail = (x: T, side: number): readonly [T, T, T] => {
  const middle = ar + Math.sin(delta0) * rs;
  const from = sub(mul(side, x), middle);
  const height = tf.sqrt(sub(rs * rs, square(from)));
  return [
    sub(height, rn0 + Math.cos(delta0) * rs),
    tf.div(mul(-side, from), height),
    tf.div(-rs * rs, tf.pow(height, 3)),
  ];
};

/** One wheel on its rail. @param side 1 on the left, −1 on the right */
function contact(y: readonly T[], psi: T, xr: T, side: number) {
  const [x, , , theta, phi] = y;
  const [sit, cot, sip, cop, sis, cos] = [theta, phi, psi].flatMap(a => [tf.sin(a), tf.cos(a)]);
  const [rx, drx] = wheel(xr, side);
  const xg = add(x, mul(xr, cot, cop), mul(rx, sub(mul(cot, sip, cos), mul(sit, sis))));
  const [, dg, d2g] = rail(xg, side);
  const q = [
    dg,
    tf.scalar(-1),
    tf.scalar(0),
    mul(dg, sub(mul(rx, neg(add(mul(cot, sis), mul(cos, sip, sit)))), mul(cop, sit, xr))),
    add(neg(mul(cos, rx, sip)), neg(mul(cop, xr)), mul(dg, sub(mul(cop, cos, cot, rx), mul(cot, sip, xr)))),
  ];
  const w1 = add(mul(sub(mul(drx, cop), mul(sip, cos)), cot), mul(sis, sit));
  const w2 = mul(-side, add(mul(drx, sip), mul(cos, cop)));
  const delta = tf.atan(tf.div(w1, w2));
  const algebraic = [
    add(mul(dg, add(mul(drx, sip), mul(cop, cos))), mul(drx, cot, cop), neg(mul(cot, sip, cos)), mul(sit, sis)),
    sub(sub(mul(drx, sit, cop), mul(sit, sip, cos)), mul(cot, sis)),
  ];
  return {sit, cot, sip, cop, sis, cos, rx, drx, xr, dg, d2g, q, delta, algebraic, side};
}

/** Creepage forces of a wheel. @param n the normal force */
function creep(
  y: readonly T[],
  {sip, cop, sis, cos, rx, drx, xr, dg, d2g, delta, side}: ReturnType<typeof contact>,
  n: T,
) {
  const [, , , theta, , xp, yp, zp, thetap, phip, betap] = y;
  const [sid, cod] = [tf.sin(delta), tf.cos(delta)];
  const [sit, cot] = [tf.sin(tf.div(theta, cod)), tf.cos(tf.div(theta, cod))];
  const radius = mul(rx, Math.sqrt(1 + drx * drx));
  const a = tf.div(0.5, radius);
  const b = mul(0.5, tf.div(neg(d2g), tf.pow(add(1, square(dg)), 1.5)));
  const c = tf.pow(tf.div(mul(3 * (1 - sigma) * e, tf.abs(n)), mul(2 * pi * gm * Math.sqrt(gg), add(a, b))), 1 / 3);
  const turning = add(omega, betap);
  const lever = add(mul(rx, add(mul(sit, sip, cos), mul(cot, sis))), mul(xr, sit, cop));
  const lift = sub(mul(xr, sip), mul(rx, cop, cos));
  const own1 = add(
    neg(mul(turning, rx, add(mul(sit, cos), mul(cot, sip, sis)))),
    neg(mul(thetap, lever)),
    neg(mul(phip, cot, lift)),
  );
  const own2 = add(mul(turning, rx, cop, sis), mul(phip, add(mul(xr, cop), mul(rx, sip, cos))));
  const own3 = add(
    neg(mul(turning, rx, sub(mul(cot, cos), mul(sit, sip, sis)))),
    neg(mul(thetap, add(mul(xr, cot, cop), mul(rx, sub(mul(cot, sip, cos), mul(sit, sis)))))),
    mul(phip, sit, lift),
  );
  const [w1, w2, w3] = [add(own1, xp), add(own2, yp), add(own3, v, zp)];
  const rolling = mul(0.5, tf.sqrt(add(square(sub(own1, xp)), square(sub(own2, yp)), square(sub(sub(own3, v), zp)))));
  const nux = tf.div(add(mul(sit, w1), mul(cot, w3)), rolling);
  const nuy = tf.div(add(mul(cot, cod, w1), mul(side, sid, w2), neg(mul(sit, cod, w3))), rolling);
  const spin = tf.div(add(mul(-side, sid, turning), mul(cod, thetap)), rolling);
  const limit = mul(mu, n);
  const area = mul(gm, c, c);
  const ax = neg(mul(limit, tf.tanh(tf.div(mul(c11, area, nux), limit))));
  const ay = neg(mul(limit, tf.tanh(tf.div(add(mul(c22, area, nuy), mul(c23, area, c, spin)), limit))));
  // No more than Coulomb's friction.
  const share = tf.div(tf.abs(limit), tf.maximum(tf.abs(limit), tf.sqrt(add(square(ax), square(ay)))));
  const [tx, ty] = [mul(ax, share), mul(ay, share)];
  return [add(mul(sit, tx), mul(cot, cod, ty)), mul(side, sid, ty), sub(mul(cot, tx), mul(sit, cod, ty))];
}

export const wheelset = ode({
  derivative: ({y: state}) => {
    const y = tf.unstack(state);
    const [x, , z, theta, , xp, yp, zp, thetap, phip, betap, psir, xrr, psil, xrl, lambda1, lambda2] = y;
    const [e1, e2] = [mul(1e4, lambda1), mul(1e4, lambda2)];
    const [left, right] = [contact(y, psil, xrl, 1), contact(y, psir, xrr, -1)];
    const pushed = left.q.map((ql, i) => add(mul(ql, e1), mul(right.q[i], e2)));
    const [sidl, codl, sidr, codr] = [left.delta, right.delta].flatMap(d => [tf.sin(d), tf.cos(d)]);
    const deter = neg(add(mul(sidl, codr), mul(sidr, codl)));
    const nl = tf.div(sub(mul(codr, pushed[0]), mul(sidr, pushed[1])), deter);
    const nr = tf.div(sub(neg(mul(codl, pushed[0])), mul(sidl, pushed[1])), deter);
    const forces = [creep(y, left, nl), creep(y, right, nr)];
    const sum = (k: number): T => add(forces[0][k], forces[1][k]);
    const moments = (of: (at: typeof left, t: readonly T[]) => T): T => add(of(left, forces[0]), of(right, forces[1]));
    const {sip, cop} = left;
    const spring = mul(-2 * xl * xl * cz, theta);
    const turning = add(omega, betap);
    const constraint = (at: typeof left): T => add(...at.q.map((q, i) => mul(q, y[5 + i])));
    return tf.stack([
      xp,
      yp,
      zp,
      thetap,
      phip,
      add(sum(0), pushed[0], mul(-2 * cx, x)),
      add(sum(1), -mr * g, pushed[1]),
      add(sum(2), mul(-2 * cz, z), pushed[2]),
      add(
        mul(li2, thetap, phip, sip),
        mul(-li1, turning, phip),
        mul(-(li1 - li2), thetap, sip, phip),
        moments((at, t) =>
          add(
            neg(mul(add(mul(at.xr, at.sit), mul(at.rx, at.sis, at.cot, at.cop)), t[0])),
            neg(mul(at.rx, at.sis, at.sip, t[1])),
            mul(sub(mul(at.rx, at.sis, at.sit, at.cop), mul(at.xr, at.cot)), t[2]),
          ),
        ),
        mul(cop, spring),
        pushed[3],
      ),
      add(
        mul(li1, turning, thetap, cop),
        mul(li1 - li2, thetap, sip, thetap, cop),
        moments((at, t) =>
          add(
            neg(mul(sub(mul(at.xr, at.cot, at.sip), mul(at.rx, at.cos, at.cot, at.cop)), t[0])),
            mul(add(mul(at.xr, at.cop), mul(at.rx, at.cos, at.sip)), t[1]),
            mul(sub(mul(at.xr, at.sit, at.sip), mul(at.rx, at.cos, at.sit, at.cop)), t[2]),
          ),
        ),
        pushed[4],
      ),
      add(
        mul(-li1, thetap, phip, cop),
        moments((at, t) =>
          add(
            neg(mul(at.rx, add(mul(at.cos, at.sit), mul(at.sis, at.cot, at.sip)), t[0])),
            mul(at.rx, at.sis, at.cop, t[1]),
            neg(mul(at.rx, sub(mul(at.cos, at.cot), mul(at.sis, at.sit, at.sip)), t[2])),
          ),
        ),
        mul(sip, spring),
      ),
      constraint(left),
      constraint(right),
      ...left.algebraic,
      ...right.algebraic,
    ]);
  },
  mass: ({y}) => {
    const phi = tf.slice(y, [4], [1]);
    const row = (entries: Readonly<Record<number, tf.Tensor | number>>): tf.Tensor =>
      tf.concat(Array.from({length: 17}, (_, j) => tf.reshape(tf.add(entries[j] ?? 0, tf.zeros([1])), [1])));
    return tf.stack([
      ...[0, 1, 2, 3, 4].map(i => row({[i]: 1})),
      ...[5, 6, 7].map(i => row({[i]: mr})),
      row({8: tf.mul(li2, tf.cos(phi))}),
      row({9: li2}),
      row({8: tf.mul(li1, tf.sin(phi)), 10: li1}),
      ...Array.from({length: 6}, () => row({})),
    ]);
  },
});

/** The start that the test set gives. */
export const wheelsetStart = [
  0.14941e-2, 0.40089e-6, 0.11241e-5, -0.28573e-3, 0.26459e-3, 0, 0, 0, 0, 0, 0, -7.4122380357667139e-6,
  -0.1521364296121248, 7.563440639517294e-6, 0.1490635714733819, -8.3593e-3, -7.4144e-3,
];

/** Its reference for t = 10, by DASSL at 1e-9. */
export const wheelsetEnd = [
  0.86355386965811e-2, 0.13038281022727e-4, -0.93635784016818e-4, -0.13642299804033e-1, 0.15292895005422e-2,
  -0.76985374142666e-1, -0.25151106429207e-3, 0.20541188079539e-2, -0.23904837703692, -0.13633468454173e-1,
  -0.24421377661131, -0.33666751972196e-3, -0.15949425684022, 0.37839614386969e-3, 0.14173214964613,
  -0.10124044903201e-1, -0.56285630573753e-2,
];
