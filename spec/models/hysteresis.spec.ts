/** Friction, hysteresis, actuators and clearance: closed forms, published motions, passivity, gradients against differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {gaussLegendre, implicitMidpoint, mechanics, radauIIA5, simulate, trapezoid} from '../../lib/index.js';
import {clearance, drivenBy, spring} from '../../models/index.js';
import {boucWen, maxwellSlip, playOperator, stopOperator} from '../../models/hysteresis.js';
import {dcMotor, delayLine, firstOrder} from '../../models/actuators.js';
import {luGre} from '../../models/lugre.js';
import type {Numeric, Params} from '../../lib/index.js';
import {valueOf} from './evaluate.js';
import {slow} from '../tiers.js';

/** A term with states of any names. */
interface Term {
  readonly force: (at: never) => tf.Tensor;
  readonly states: {readonly [name: string]: {readonly initial: Numeric; readonly rate: (at: never) => tf.Tensor}};
}
type At = {q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: Params};
type Spec = Parameters<typeof mechanics>[0];
const scalar = (x: tf.Tensor): tf.Tensor => tf.reshape(x, []);

/** The term's force along a motion that it does not move: accelerated as said, from rest at 0 or at the velocity v. */
function along(
  term: Term,
  {a, v = 0, q = 0, t1, dt = 0.01}: {a?: (t: tf.Tensor) => tf.Tensor; v?: number; q?: number; t1: number; dt?: number},
): Record<'t' | 'q' | 'v' | 'force' | 'work', Float64Array> {
  const system = mechanics({
    mass: 1,
    forces: a === undefined ? [] : [({t}: {t: tf.Tensor}) => a(t)],
    states: {
      ...term.states,
      work: {initial: 0, rate: (at: At) => tf.neg(tf.mul(scalar(at.v), scalar(term.force(at as never))))},
    },
  } as unknown as Spec);
  const run = simulate(
    system,
    {q, v},
    {scheme: radauIIA5(), dt, t1, observe: at => tf.reshape(term.force(at as never), [])},
  );
  const read = (name: string): Float64Array => run.values(name as 'q');
  const found = {t: read('t'), q: read('q'), v: read('v'), force: read('observed'), work: read('work')};
  run.dispose();
  return found;
}

const last = (values: Float64Array): number => values[values.length - 1];

/** Canudas de Wit et al. (1995), table I. */
const published = {
  stiffness: 1e5,
  damping: Math.sqrt(1e5),
  viscous: 0.4,
  coulomb: 1,
  static: 1.5,
  stribeckVelocity: 1e-3,
};

describe('luGre', () => {
  it('comes from rest to its steady force exponentially', () => {
    // z = g/σ₀ (1 − exp(−σ₀ v t/g)), and f = −(σ₀ z + σ₁ z' + σ₂ v), z' = v exp(−σ₀ v t/g).
    const spec = {stiffness: 200, damping: 3, viscous: 0.5, coulomb: 1, static: 1.5, stribeckVelocity: 0.1};
    const v = 0.05;
    const g = 1 + 0.5 * Math.exp(-((v / 0.1) ** 2));
    const {t, force} = along(luGre(spec), {v, t1: 0.5, dt: 0.01});
    t.forEach((time, i) => {
      const left = Math.exp((-200 * v * time) / g);
      expect(force[i]).to.be.closeTo(-(g * (1 - left) + 3 * v * left + 0.5 * v), 1e-8);
    });
  });

  it('has the Stribeck curve in steady sliding, to both sides', () => {
    for (const v of [-0.02, -5e-4, 1e-3, 3e-3, 0.1]) {
      const {force} = along(luGre(published), {v, t1: 2e-4 / Math.abs(v), dt: 2e-7 / Math.abs(v)});
      const g = 1 + 0.5 * Math.exp(-((v / 1e-3) ** 2));
      expect(last(force), `at ${v}`).to.be.closeTo(-(g * Math.sign(v) + 0.4 * v), 1e-3);
    }
  });

  it('sticks like a spring: below break-away the displacement comes back', () => {
    // Force up to 0.2 F_c and back over a minute: x = F/σ₀ to the first order in F/F_s.
    const system = mechanics({
      mass: 1,
      forces: [luGre(published).force, drivenBy(t => tf.mul(0.2, tf.sin(t)))],
      states: luGre(published).states,
    });
    const {q} = {
      q: simulate(system, {q: 0, v: 0}, {scheme: trapezoid(), dt: 5e-4, t1: Math.PI / 2, saveAt: 'end'}).values('q'),
    };
    expect(q[1] / (0.2 / 1e5)).to.be.within(1, 1.15);
  });

  it("sticks and slips as the authors' mass on a spring that is drawn at 0.1 m/s", () => {
    // m = 1, k = 2: fig. 6 of the paper. It breaks away where the spring reaches F_s = 1.5 N, after 7.5 s, slides faster than it
    // is drawn, and sticks again.
    const friction = luGre(published);
    const system = mechanics({
      mass: 1,
      forces: [friction.force, spring({stiffness: 2}), drivenBy(t => tf.mul(t, 0.2))],
      states: friction.states,
    });
    const run = simulate(system, {q: 0, v: 0}, {scheme: trapezoid(), dt: 2e-3, t1: 20, saveAt: {every: 10}});
    const [t, v] = (['t', 'v'] as const).map(name => run.values(name));
    run.dispose();
    const sliding = [...v].map(speed => speed > 0.05);
    const begins = t.filter((_, i) => i > 0 && sliding[i] && !sliding[i - 1]);
    expect(begins[0]).to.be.closeTo(7.5, 0.15);
    expect(Math.max(...v)).to.be.above(0.2);
    expect(begins.length).to.be.at.least(2);
    expect([...v].filter(speed => Math.abs(speed) < 1e-4).length / v.length).to.be.above(0.5);
  });
});

describe('boucWen', () => {
  it('is exponential on loading and unloading with n = 1', () => {
    const [A, beta, gamma, k, alpha] = [1.2, 3, -1, 5, 0.1];
    const term = boucWen({stiffness: k, elasticShare: alpha, amplitude: A, beta, gamma});
    const {q, force, t} = along(term, {v: 0.5, t1: 1});
    const loaded = (x: number): number => (A / (beta + gamma)) * (1 - Math.exp(-(beta + gamma) * x));
    q.forEach((x, i) => expect(force[i], `at ${t[i]}`).to.be.closeTo(-k * (alpha * x + (1 - alpha) * loaded(x)), 1e-9));
    const start = loaded(0.5);
    const back = along(boucWen({stiffness: k, elasticShare: alpha, amplitude: A, beta, gamma, initial: start}), {
      v: -0.5,
      q: 0.5,
      t1: 0.2,
    });
    // dz/dx = A + (β − γ) z while v < 0 < z.
    const down = (x: number): number =>
      (start + A / (beta - gamma)) * Math.exp((beta - gamma) * (x - 0.5)) - A / (beta - gamma);
    back.q.forEach((x, i) => {
      if (down(x) > 0) expect(back.force[i]).to.be.closeTo(-k * (alpha * x + (1 - alpha) * down(x)), 1e-7);
    });
  });

  it('is a hyperbolic tangent with n = 2, and does not know time', () => {
    const term = boucWen({stiffness: 1, elasticShare: 0, beta: 2, gamma: 2, exponent: 2});
    for (const v of [0.1, 2]) {
      const {q, force} = along(term, {v, t1: 1 / v, dt: 0.01 / v});
      q.forEach((x, i) => expect(force[i]).to.be.closeTo(-Math.tanh(2 * x) / 2, 1e-8));
    }
  });
});

describe('maxwellSlip', () => {
  it('is a sum of hyperbolic tangents at sharpness 2', () => {
    const term = maxwellSlip({stiffness: [4, 1], force: [1, 2], sharpness: 2, initial: [0, 0]});
    const {q, force} = along(term, {v: 1, t1: 3});
    q.forEach((x, i) => expect(force[i]).to.be.closeTo(-(Math.tanh(4 * x) + 2 * Math.tanh(x / 2)), 1e-7));
  });

  it('encloses 4 W (X − W/k) in a loop of amplitude X, each element: the ideal elastoplastic area', () => {
    const [k, W, X] = [10, 1, 0.5];
    const {work, force, q} = along(maxwellSlip({stiffness: [k], force: [W], sharpness: 40, initial: [0]}), {
      q: X,
      a: t => tf.mul(-X * 4 * Math.PI ** 2, tf.cos(tf.mul(2 * Math.PI, t))),
      t1: 2,
      dt: 2e-3,
    });
    const cycle = last(work) - work[500];
    expect(cycle / (4 * W * (X - W / k))).to.be.closeTo(1, 0.02);
    // The second loop closes on the first.
    expect(force[1000]).to.be.closeTo(force[500], 1e-3);
    expect(q[1000]).to.be.closeTo(X, 1e-7);
  });
});

describe('stop and play', () => {
  it('follow a motion to and fro as the operators do with a sharp corner', () => {
    const [w, n] = [0.2, 40];
    const a = (t: tf.Tensor): tf.Tensor => tf.sub(tf.mul(-0.6, tf.sin(t)), tf.mul(2.25, tf.sin(tf.mul(3, t))));
    const stop = stopOperator({width: w, sharpness: n});
    const play = playOperator({width: w, sharpness: n});
    const read = (operator: typeof stop): ReturnType<typeof along> =>
      along(
        {states: operator.states, force: (at: never) => operator.output(at)},
        {
          a,
          v: 1.35,
          t1: 8,
          dt: 1e-2,
        },
      );
    const [stopped, played] = [read(stop), read(play)];
    let z = 0;
    stopped.q.forEach((x, i) => {
      if (i > 0) z = Math.min(w, Math.max(-w, z + x - stopped.q[i - 1]));
      expect(stopped.force[i]).to.be.closeTo(z, w / 10);
      expect(stopped.force[i] + played.force[i]).to.be.closeTo(x, 1e-12);
    });
    expect(Math.max(...stopped.force)).to.be.closeTo(w, 0.01 * w);
    expect(Math.min(...stopped.force)).to.be.closeTo(-w, 0.01 * w);
  });
});

describe('actuators', () => {
  it('a lag answers a step by 1 − exp(−t/τ)', () => {
    const term = firstOrder({command: () => tf.scalar(2), timeConstant: 0.3, gain: 1.5});
    const {t, force} = along(term, {t1: 1});
    t.forEach((time, i) => expect(force[i]).to.be.closeTo(3 * (1 - Math.exp(-time / 0.3)), 1e-8));
  });

  it("a motor's current rises as (u/R)(1 − exp(−R t/L)) while it is held", () => {
    const term = dcMotor({voltage: () => tf.scalar(12), resistance: 2, inductance: 0.1, constant: 0.5});
    const {t, force} = along(term, {t1: 0.3, dt: 2e-3});
    t.forEach((time, i) => expect(force[i]).to.be.closeTo(0.5 * 6 * (1 - Math.exp(-20 * time)), 1e-8));
  });

  it('a motor runs up to u/k, and what it takes goes into motion, field and heat', () => {
    const motor = dcMotor({
      voltage: ({params}) => params.u as tf.Tensor,
      resistance: 1,
      inductance: 0.05,
      constant: 0.4,
    });
    const system = mechanics({mass: 0.02, forces: motor.force, states: motor.states});
    const h = 1e-3;
    const run = simulate(system, {q: 0, v: 0}, {scheme: implicitMidpoint(), dt: h, t1: 2, params: {u: 10}});
    const [v, current] = [run.values('v'), run.values('current' as 'v')];
    run.dispose();
    expect(last(v)).to.be.closeTo(25, 1e-4);
    // Midpoint keeps the balance of quadratic energies to rounding.
    let given = 0;
    for (let i = 0; i + 1 < v.length; i++) {
      const mean = (current[i] + current[i + 1]) / 2;
      given += h * (10 * mean - mean ** 2);
    }
    expect(given).to.be.closeTo((0.02 * last(v) ** 2 + 0.05 * last(current) ** 2) / 2, 1e-9);
  });

  const delayed = (
    line: ReturnType<typeof delayLine>,
    t1: number,
    dt: number,
  ): {t: Float64Array; force: Float64Array} =>
    along({states: line.states, force: (at: never) => line.output(at)}, {t1, dt});

  slow("Padé's delay passes a ramp unchanged but for its time, at every order", () => {
    for (const order of [1, 2, 3, 4, 6, 8, 10]) {
      const {t, force} = delayed(delayLine({input: ({t: time}) => time, delay: 0.2, order}), 3, 0.01);
      expect(last(force), `order ${order}`).to.be.closeTo(last(t) - 0.2, 1e-6);
    }
  });

  it("Padé's delay turns a sine's phase by ωT", () => {
    // The error of [4/4] at ωT = 2 is (4!)² 2⁹/(8! 9!) = 2e-5.
    const {t, force} = delayed(delayLine({input: ({t: time}) => tf.sin(tf.mul(4, time)), delay: 0.5}), 6, 0.01);
    for (let i = 500; i < t.length; i++) expect(force[i]).to.be.closeTo(Math.sin(4 * (t[i] - 0.5)), 5e-5);
  });

  it("a chain of lags answers a step with Erlang's distribution", () => {
    const {t, force} = delayed(delayLine({input: () => tf.scalar(1), delay: 0.5, order: 5, kind: 'lags'}), 1.5, 5e-3);
    t.forEach((time, i) => {
      let [term, sum] = [1, 0];
      for (let k = 0; k < 5; k++) {
        sum += term;
        term *= (10 * time) / (k + 1);
      }
      expect(force[i]).to.be.closeTo(1 - sum * Math.exp(-10 * time), 1e-7);
    });
  });
});

describe('clearance', () => {
  it('is nothing in the gap and a spring beyond it', () => {
    const at = (q: number[]): number[] => [
      ...valueOf(clearance({stiffness: 100, gap: 0.1, smoothing: 1e-3}), {q, v: q.map(() => 0)}),
    ];
    const [inside, edge, above, below] = at([0.05, 0.1, 0.3, -0.3]);
    expect(Math.abs(inside)).to.be.below(1e-18 + 100 * 1e-3 * Math.exp(-50));
    expect(edge).to.be.closeTo(-100 * 1e-3 * Math.LN2, 1e-12);
    expect(above).to.be.closeTo(-20, 1e-12);
    expect(below).to.be.closeTo(20, 1e-12);
  });

  it('between two coordinates acts on both alike', () => {
    const term = clearance({stiffness: 100, gap: 0.1, damping: 2, smoothing: 1e-3, along: [-1, 1]});
    const [a, b] = valueOf(term, {q: [0.2, 0.5], v: [0, 1]});
    expect(a).to.be.closeTo(22, 1e-12);
    expect(a + b).to.equal(0);
  });
});

describe('what takes energy', () => {
  const shake = (t: tf.Tensor): tf.Tensor =>
    tf.addN([tf.mul(-0.4, tf.sin(t)), tf.mul(-3.2, tf.sin(tf.mul(4, t))), tf.mul(-4.5, tf.sin(tf.mul(9, t)))]);
  // x = 0.4 sin t + 0.2 sin 4t + 0.0556 sin 9t, of period 2π.
  const motion = {a: shake, v: 0.4 + 0.8 + 0.5, t1: 4 * Math.PI, dt: (4 * Math.PI) / 2000};
  const terms: [string, Term][] = [
    ['luGre', luGre({stiffness: 50, damping: 1, viscous: 0.5, coulomb: 1, static: 1.5, stribeckVelocity: 0.1})],
    ['boucWen', boucWen({stiffness: 3, elasticShare: 0.2, beta: 4, gamma: -2, exponent: 1.5})],
    ['boucWen at its bound', boucWen({stiffness: 3, elasticShare: 0, beta: 3, gamma: -3})],
    ['maxwellSlip', maxwellSlip({stiffness: [10, 5, 2], force: [0.5, 0.7, 1], initial: [0, 0, 0]})],
    ['clearance', {force: clearance({stiffness: 50, gap: 0.1, damping: 1, smoothing: 0.01}), states: {}}],
  ];
  for (const [name, term] of terms)
    it(`${name} gives back no more than it stored, and nothing over a closed loop`, () => {
      const {work} = along(term, motion);
      // From no stored energy the work done on the term is never negative (passivity, Willems 1972).
      expect(Math.min(...work)).to.be.above(-1e-9);
      expect(last(work) - work[1000], 'over the second period').to.be.above(0.05);
    });

  it('a clearance without damping gives all back', () => {
    const term = {force: clearance({stiffness: 50, gap: 0.1, smoothing: 0.01}), states: {}};
    const {work} = along(term, motion);
    expect(last(work) - work[1000]).to.be.closeTo(0, 1e-6);
    expect(Math.max(...work)).to.be.above(0.1);
  });
});

describe('gradients of these', () => {
  type Made = {forces: Term['force'][]; states: Term['states']};
  const of = (name: string) => (params: unknown) => (params as {[name: string]: tf.Tensor})[name];
  const made = (term: Term): Made => ({forces: [term.force], states: term.states});
  const cases: [string, Made, {[name: string]: number | number[]}][] = [
    [
      'luGre',
      made(
        luGre({
          stiffness: of('k'),
          damping: of('d'),
          viscous: of('c'),
          coulomb: of('f'),
          static: of('s'),
          stribeckVelocity: of('w'),
        }),
      ),
      {k: 50, d: 1, c: 0.3, f: 0.5, s: 0.8, w: 0.2},
    ],
    [
      'boucWen',
      made(
        boucWen({
          stiffness: of('k'),
          elasticShare: of('e'),
          amplitude: of('a'),
          beta: of('b'),
          gamma: of('g'),
          exponent: of('n'),
        }),
      ),
      {k: 20, e: 0.2, a: 1.1, b: 4, g: 1, n: 1.7},
    ],
    [
      'boucWen, n = 1',
      made(boucWen({stiffness: of('k'), elasticShare: of('e'), beta: of('b'), gamma: of('g')})),
      {k: 20, e: 0.2, b: 4, g: 1},
    ],
    [
      'maxwellSlip',
      made(maxwellSlip({stiffness: of('k'), force: of('f'), sharpness: of('n'), initial: [0, 0]})),
      {k: [20, 10], f: [1, 2], n: 4},
    ],
    [
      'clearance',
      {forces: [clearance({stiffness: of('k'), gap: of('g'), damping: of('c'), smoothing: of('s')})], states: {}},
      {k: 40, g: 0.3, c: 0.5, s: 0.05},
    ],
    [
      'firstOrderActuator',
      made(firstOrder({command: ({q}) => tf.neg(q), timeConstant: of('T'), gain: of('K')})),
      {T: 0.2, K: 10},
    ],
    [
      'dcMotor',
      made(dcMotor({voltage: ({t}) => tf.sin(t), resistance: of('R'), inductance: of('L'), constant: of('k')})),
      {R: 1, L: 0.1, k: 2},
    ],
    ...(['pade', 'lags'] as const).map((kind): (typeof cases)[number] => {
      const line = delayLine({input: ({v}) => v, delay: of('T'), kind, order: 3});
      return [`delayLine, ${kind}`, {forces: [(at: never) => tf.neg(line.output(at))], states: line.states}, {T: 0.3}];
    }),
  ];
  for (const [name, {forces, states}, params] of cases)
    it(`${name}: by every coefficient as by differences`, () => {
      const system = mechanics({mass: 1, forces: [spring({stiffness: 9}), ...forces], states} as unknown as Parameters<
        typeof mechanics
      >[0]);
      const weight = (i: number): number => Math.cos(0.3 * i);
      const options = {scheme: gaussLegendre({stages: 2}), dt: 0.02, steps: 100};
      const run = simulate.prepare(system, {q: 0.4, v: 1}, {...options, params});
      const {trajectory, pullback} = run.vjp({params});
      const {params: gradient, initial} = pullback({q: Float64Array.from({length: 101}, (_, i) => weight(i))});
      trajectory.dispose();
      const loss = (changed: typeof params, q = 0.4): number => {
        const path = run.run({initial: {q, v: 1}, params: changed});
        const sum = path.values('q').reduce((total, value, i) => total + weight(i) * value, 0);
        path.dispose();
        return sum;
      };
      // Fourth-order differences: their own error is near 1e-11.
      const slope = (f: (h: number) => number, h: number): number =>
        (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
      const compare = (found: number, f: (h: number) => number, size: number, what: string): void =>
        void expect(Math.abs(found - slope(f, 1e-4 * size)) / (1 + Math.abs(found)), what).to.be.below(1e-7);
      for (const [key, value] of Object.entries(params))
        [value]
          .flat()
          .forEach((one, i) =>
            compare(
              (gradient as {[name: string]: Float64Array})[key][i],
              h =>
                loss({...params, [key]: Array.isArray(value) ? value.map((x, j) => (j === i ? x + h : x)) : one + h}),
              one,
              `${key}[${i}]`,
            ),
          );
      compare((initial as {q: Float64Array}).q[0], h => loss(params, 0.4 + h), 1, 'initial.q');
    });
});

describe('what these refuse', () => {
  it('says what is wrong', () => {
    expect(() => luGre({stiffness: -1, coulomb: 1})).to.throw(/luGre: stiffness must be finite and positive/);
    expect(() => boucWen({stiffness: 1, elasticShare: 0, beta: 1, gama: 1} as never)).to.throw(/Did you mean 'gamma'/);
    expect(() => delayLine({input: ({t}) => t, delay: 1, order: 11})).to.throw(/whole number from 1 to 10/);
    expect(() => clearance({stiffness: 1, gap: 0.1, smoothing: 0})).to.throw(/smoothing must be finite and positive/);
    const term = maxwellSlip({stiffness: [1, 1], force: [1, 1], initial: [0, 0]});
    const two = mechanics({mass: 1, forces: [term.force], states: term.states});
    expect(() => simulate(two, {q: [0, 0], v: [1, 1]}, {dt: 0.1, steps: 1})).to.throw(/choose it by along/);
    const wide = clearance({stiffness: 1, gap: 0.1, smoothing: 0.01, along: [1, -1]});
    expect(() => simulate(mechanics({mass: 1, forces: wide}), {q: 0, v: 0}, {dt: 0.1, steps: 1})).to.throw(
      /one number per coordinate/,
    );
  });
});
