/** Random switched systems whose crossings are known: rates that are linear between borders of the state and of time. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, ode, simulate, tsit5} from '../../lib/index.js';
import {cases, startSeed} from '../property.js';

const names = ['a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'c1', 'c2', 's', 'r'] as const;
type Name = (typeof names)[number];
type Numbers = {readonly [name in Name]: number};

const system = ode<{readonly [name in Name]: tf.Tensor}>(({y, t, params: p}) => {
  const line = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.add(tf.mul(a, y), b);
  const upper = tf.where(tf.less(y, p.c2), line(p.a2, p.b2), line(p.a3, p.b3));
  const whole = tf.where(tf.greaterEqual(y, p.c1), upper, line(p.a1, p.b1));
  return tf.mul(tf.where(tf.less(t, p.s), tf.onesLike(p.r), p.r), whole);
});

/** y(T) from y(0), from border to border. */
function exact(start: number, p: Numbers, T: number): number {
  let [t, y] = [0, start];
  for (;;) {
    const piece = y < p.c1 ? 1 : y < p.c2 ? 2 : 3;
    const [a, b] = ([[p.a1, p.b1], [p.a2, p.b2], [p.a3, p.b3]] as const)[piece - 1]; // prettier-ignore
    const r = t < p.s ? 1 : p.r;
    const border = piece === 1 ? p.c1 : piece === 2 ? p.c2 : Infinity;
    const until = Math.min(t < p.s ? p.s : Infinity, T);
    const reach = t + Math.log((a * border + b) / (a * y + b)) / (r * a);
    if (reach < until) [t, y] = [reach, border];
    else {
      y = (y + b / a) * Math.exp(r * a * (until - t)) - b / a;
      t = until;
      if (t === T) return y;
    }
  }
}

function slope(f: (h: number) => number, h: number): number {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

describe('random switched systems', () => {
  it('have the states of their closed forms, and their derivatives', () => {
    let state = startSeed(1);
    const random = (from: number, to: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return from + ((to - from) * state) / 2 ** 32;
    };
    const draw = (): {start: number; p: Numbers} => {
      const [c1, gap] = [random(0.2, 1), random(0.2, 1)];
      const p = {
        ...Object.fromEntries(['a1', 'a2', 'a3'].map(name => [name, random(0.1, 0.8)])),
        ...Object.fromEntries(['b1', 'b2', 'b3'].map(name => [name, random(0.2, 1.5)])),
        ...{c1, c2: c1 + gap, s: random(0.1, 1.9), r: random(0.3, 3)},
      } as Numbers;
      return {start: random(-0.2, 1.5), p};
    };
    const T = 2;
    const options = {
      scheme: tsit5(),
      dt: 0.1,
      control: adaptive({rtol: 1e-11, atol: 1e-13}),
      t1: T,
      saveAt: 'end',
      switches: 'locate',
    } as const;
    const first = draw();
    const prepared = simulate.prepare(system, {y: first.start}, {...options, params: first.p});
    let compared = 0;
    for (let i = 0; i < cases(20); i++) {
      const {start, p} = draw();
      // Nearer than this to a border the differences that they are compared with reach over it.
      const h = 1e-4;
      const end = exact(start, p, T);
      if ([p.c1, p.c2].some(c => Math.abs(start - c) < 0.02 || Math.abs(end - c) < 0.02)) continue;
      const size = Math.max(1, Math.abs(end));
      const {trajectory, pullback} = prepared.vjp({initial: {y: start}, params: p});
      expect(trajectory.values('y')[1], JSON.stringify({start, p})).to.be.closeTo(end, 1e-8 * size);
      const gradient = pullback({y: [0, 1]});
      const all = [
        ...names.map(name => (d: number) => exact(start, {...p, [name]: p[name] + d}, T)),
        (d: number) => exact(start + d, p, T),
      ];
      const slopes = all.map(f => slope(f, h));
      // A border that is met at the time of another one has no derivative, and near it these differences have none.
      if (all.some((f, k) => Math.abs(slope(f, h / 2) - slopes[k]) > 1e-8 * size)) continue;
      compared++;
      for (const [k, name] of names.entries()) {
        const byName = slopes[k];
        expect(gradient.params[name][0], `${name} of ${JSON.stringify({start, p})}`).to.be.closeTo(byName, 1e-7 * size);
      }
      expect(gradient.initial.y[0]).to.be.closeTo(slopes[names.length], 1e-7 * size);

      const along = Object.fromEntries(names.map(name => [name, random(-1, 1)])) as Numbers;
      const direction = {params: along, initial: {y: random(-1, 1)}};
      const moved = (d: number): [start: number, p: Numbers] => [
        start + d * direction.initial.y,
        Object.fromEntries(names.map(name => [name, p[name] + d * along[name]])) as Numbers,
      ];
      const second = (displaced: (start: number, p: Numbers, e: number) => number): number =>
        slope(d => slope(e => displaced(...moved(d), e), 5e-4), 5e-4);
      const {products, trajectory: again} = prepared.hvps(({y}) => tf.sum(tf.slice(y, [1], [1])), [direction], {
        initial: {y: start},
        params: p,
      });
      again.dispose();
      const product = [...names.map(name => products[0].params[name][0]), products[0].initial.y[0]];
      const exactly = [
        ...names.map(name => second((y, q, e) => exact(y, {...q, [name]: q[name] + e}, T))),
        second((y, q, e) => exact(y + e, q, T)),
      ];
      const scale = Math.max(size, ...exactly.map(Math.abs));
      product.forEach((value, k) =>
        expect(value, `second derivative ${k} of ${JSON.stringify({start, p})}`).to.be.closeTo(
          exactly[k],
          1e-6 * scale,
        ),
      );
    }
    expect(compared).to.be.greaterThan(cases(20) / 2);
  });
});
