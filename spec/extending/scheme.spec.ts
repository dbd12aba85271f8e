/**
 * A scheme from outside: TR-BDF2 (Bank et al., IEEE Trans. CAD 4, 1985), the trapezoidal rule to t + γh and BDF2 from
 * there, γ = 2 − √2, as the Runge–Kutta pair of Hosea and Shampine (Appl. Numer. Math. 20, 1996). Everything here is
 * public.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  defineScheme,
  mechanics,
  ode,
  OptionError,
  rk4,
  simulate,
  type Blocks,
  type Scheme,
  type SchemeSpec,
  type StepPoint,
  type System,
} from '../../lib/index.js';

const d = 1 - Math.SQRT1_2;
const w = Math.SQRT2 / 4;

/** x + h Σ wᵢkᵢ */
const moved = (
  x: Blocks,
  h: tf.Tensor,
  weights: readonly (number | tf.Tensor)[],
  slopes: readonly Blocks[],
): Blocks => {
  const names = Object.keys(slopes[0]);
  const gain = (name: string): tf.Tensor => tf.addN(slopes.map((k, i) => tf.mul(k[name], weights[i])));
  return Object.fromEntries(names.map(name => [name, tf.add(x[name], tf.mul(h, gain(name)))]));
};

/** Of a state with the blocks `names`. The unknown is the increments hk₂ and hk₃ of the two stages. */
function trBdf2Of(kind: 'mechanics' | 'ode', names: readonly string[]): Scheme {
  const slopes = (z: Blocks, {x, t, h, rate}: StepPoint): Blocks[] => [
    rate(x, t),
    ...[2, 3].map(i => Object.fromEntries(names.map(name => [name, tf.div(z[`${name}${i}`], h)]))),
  ];
  const spec: SchemeSpec = {
    name: 'TR-BDF2',
    order: 2,
    kind,
    unknown: [2, 3].flatMap(i => names.map(name => `${name}${i}`)),
    residual: (z, at) => {
      const {x, t, h, rate} = at;
      const k = slopes(z, at);
      const ends = [
        rate(moved(x, h, [d, d], k.slice(0, 2)), tf.add(t, tf.mul(h, 2 * d))),
        rate(moved(x, h, [w, w, d], k), tf.add(t, h)),
      ];
      return Object.fromEntries(
        [2, 3].flatMap((i, stage) =>
          names.map(name => [`${name}${i}`, tf.sub(z[`${name}${i}`], tf.mul(h, ends[stage][name]))]),
        ),
      );
    },
    update: (z, at) => moved(at.x, at.h, [w, w, d], slopes(z, at)),
    // The companion of third order, b̂ = ((1 − w)/3, (3w + 1)/3, d/3); (1 − hdJ)⁻¹ keeps the difference small where
    // h|λ| is large.
    error: {
      order: 3,
      estimate: (z, at) => {
        const zero = Object.fromEntries(names.map(name => [name, tf.zerosLike(at.x[name])]));
        return moved(zero, at.h, [(1 - w) / 3 - w, (3 * w + 1) / 3 - w, d / 3 - d], slopes(z, at));
      },
      filter: (e, {x, t, h, rate}) => {
        const there = rate(Object.fromEntries(names.map(name => [name, tf.add(x[name], e[name])])), t);
        return Object.fromEntries(names.map(name => [name, tf.sub(e[name], tf.mul(tf.mul(h, d), there[name]))]));
      },
    },
    // The weights θb₁ + θ²b₂ with Σb₁ = 1, Σb₁c = 0, Σb₂ = 0, Σb₂c = ½ and b₁ + b₂ = b: second order at every θ.
    dense: (theta, z, at) => {
      const square = tf.square(theta);
      return moved(
        at.x,
        at.h,
        [tf.add(theta, tf.mul(square, w - 1)), tf.mul(square, w), tf.mul(square, d)],
        slopes(z, at),
      );
    },
  };
  return defineScheme(spec);
}

const trBdf2: Scheme = {...trBdf2Of('mechanics', ['q', 'v']), ode: trBdf2Of('ode', ['y']).ode};

const pendulum = mechanics({
  mass: ({q}) => tf.add(2, tf.cos(q)),
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sin(q))),
    ({v, t}) => tf.sub(tf.mul(tf.cos(tf.mul(3, t)), 0.3), tf.mul(0.2, tf.mul(v, tf.abs(v)))),
  ],
});
const brusselator = ode(({y, params}) => {
  const [a, b] = tf.unstack(y);
  const aab = tf.mul(tf.square(a), b);
  return tf.stack([
    tf.sub(tf.add(1, aab), tf.mul(tf.add(params.k as tf.Tensor, 1), a)),
    tf.sub(tf.mul(params.k as tf.Tensor, a), aab),
  ]);
});
const cases: readonly {
  readonly name: string;
  readonly system: System;
  readonly initial: {q: number[]; v: number[]} | {y: number[]};
  readonly block: 'q' | 'y';
  readonly k: number;
}[] = [
  {name: 'mechanics', system: pendulum, initial: {q: [1, 0.3], v: [0, 0.5]}, block: 'q', k: 4},
  {name: 'ode', system: brusselator, initial: {y: [1.5, 3]}, block: 'y', k: 3},
];

describe('a scheme from outside: TR-BDF2', () => {
  it('has at most fifteen fields, as its refusal of another one lists them', () => {
    const refused = (): unknown => defineScheme({order: 1, unknown: [], update: () => ({}), fields: 1} as never);
    expect(refused).to.throw(OptionError, /it has (?:\w+, ){14}\w+\./);
  });

  for (const {name, system, initial, block, k} of cases) {
    const reference = (t: number): Float64Array => {
      const path = simulate(system, initial, {scheme: rk4(), dt: t / 2000, t1: t, saveAt: 'end', params: {k}});
      path.dispose();
      return path.values(block).slice(2);
    };
    const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
      Math.hypot(...Array.from(a, (x, i) => x - b[i]));

    for (const engine of ['wasm', 'interpreter'] as const) {
      it(`${name}, ${engine}: has order 2, at the ends of steps and between them`, () => {
        const times = [0.613, 1];
        const exact = times.map(reference);
        const errors = [64, 128].map(steps => {
          const path = simulate(system, initial, {
            scheme: trBdf2,
            dt: 1 / steps,
            t1: 1,
            saveAt: times,
            params: {k},
            engine,
          });
          path.dispose();
          return exact.map((x, i) => distance(path.values(block).slice(2 * i, 2 * i + 2), x));
        });
        times.forEach((_, i) => expect(Math.log2(errors[0][i] / errors[1][i])).to.be.closeTo(2, 0.12));
      });
    }

    it(`${name}: adaptive steps hold the tolerance, and estimate with the order they state`, () => {
      const exact = reference(1);
      const tolerances = [1e-6, 1e-8];
      const runs = tolerances.map(rtol => {
        const path = simulate(system, initial, {
          scheme: trBdf2,
          dt: 0.01,
          t1: 1,
          saveAt: 'end',
          control: adaptive({rtol, atol: rtol}),
          params: {k},
        });
        path.dispose();
        return {steps: path.stats.steps, error: distance(path.values(block).slice(2), exact)};
      });
      // A step adds rtol(1 + |x|) at most by the estimate, with |x| below 5; nothing grows them much within the span.
      runs.forEach(({steps, error}, i) =>
        expect(error)
          .to.be.lessThan(6 * tolerances[i] * steps)
          .and.greaterThan(0),
      );
      // An estimate of third order: a hundredth of the tolerance takes 100^(1/3) = 4.6 times as many steps.
      expect(runs[1].steps / runs[0].steps).to.be.closeTo(100 ** (1 / 3), 0.7);
    });

    it(`${name}: its gradient is that of differences`, () => {
      const options = {scheme: trBdf2, dt: 0.05, t1: 1, saveAt: [0.33, 1]};
      const value = (stiffness: number): number => {
        const path = simulate(system, initial, {...options, params: {k: stiffness}});
        path.dispose();
        return path.values(block).reduce((sum, x) => sum + x, 0);
      };
      const {trajectory, pullback} = simulate.vjp(system, initial, {...options, params: {k}});
      trajectory.dispose();
      // Central differences of fourth order at h = 1e-3: truncation and rounding are both near 1e-11.
      const h = 1e-3;
      const difference = (8 * (value(k + h) - value(k - h)) - (value(k + 2 * h) - value(k - 2 * h))) / (12 * h);
      expect((pullback({[block]: [1, 1, 1, 1]}).params.k as Float64Array)[0]).to.be.closeTo(
        difference,
        1e-9 * Math.max(1, Math.abs(difference)),
      );
    });
  }

  it("is L-stable: its step of y' = λy is the method's stability function, which goes to zero", () => {
    const decay = ode(({y, params}) => tf.mul(params.rate as tf.Tensor, y));
    for (const z of [-0.1, -1, -30, -1e3, -1e6]) {
      const path = simulate(decay, {y: [1]}, {scheme: trBdf2, dt: 1, steps: 1, params: {rate: z}, saveAt: 'end'});
      path.dispose();
      // Eliminating stage by stage: r₂ = (1 + dz)/(1 − dz), R = (1 + wz + wz r₂)/(1 − dz).
      const middle = (1 + d * z) / (1 - d * z);
      const expected = (1 + w * z * (1 + middle)) / (1 - d * z);
      // Slopes as large as z cancel in the sum, whose rounding is 1e-16 of them.
      expect(path.values('y')[1]).to.be.closeTo(expected, 1e-14 * Math.max(1, -z));
      if (z === -1e6) expect(Math.abs(expected)).to.be.lessThan(1e-5);
    }
  });
});
