/**
 * M y' = f(y, t) with a singular M: orders against closed forms, published end values, gradients against differences,
 * starts that are not consistent, and what each scheme refuses.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  bdf2,
  equilibrium,
  event,
  forwardSensitivity,
  gaussLegendre,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  newton,
  ode,
  OptionError,
  radauIIA5,
  sdirk2,
  simulate,
  theta,
  trapezoid,
  tsit5,
  unrolledAdjoint,
} from '../../lib/index.js';
import {largest, order, slope} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const parts = (y: tf.Tensor): tf.Tensor[] => tf.split(y, y.size);

/** c d' = −z, 0 = d² + sin t − z: index 1. With the rows mixed M is a matrix without a row or column of zeros. */
const rows = ({y, t}: {y: tf.Tensor; t: tf.Tensor}): tf.Tensor[] => {
  const [d, z] = parts(y);
  return [tf.neg(z), tf.sub(tf.add(tf.square(d), tf.sin(t)), z)];
};
const first = ode<{c: tf.Tensor}>({
  derivative: at => tf.concat(rows(at)),
  mass: ({params}) => tf.stack([params.c, tf.scalar(0)]),
});
const mixed = ode({
  derivative: at => {
    const [a, b] = rows(at);
    return tf.concat([tf.add(a, b), tf.sub(tf.mul(2, a), b)]);
  },
  mass: [
    [1, 0],
    [2, 0],
  ],
});
/** d₁' = d₁d₂²z², d₂' = d₁²d₂² − 3d₂²z, 0 = d₁²d₂ − 1: index 2, solved by (eᵗ, e⁻²ᵗ, e²ᵗ) (Hairer, Lubich & Roche 1989). */
const second = ode({
  derivative: ({y}) => {
    const [a, b, z] = parts(y);
    return tf.concat([
      tf.mul(tf.mul(a, tf.square(b)), tf.square(z)),
      tf.sub(tf.mul(tf.square(a), tf.square(b)), tf.mul(3, tf.mul(tf.square(b), z))),
      tf.sub(tf.mul(tf.square(a), b), 1),
    ]);
  },
  mass: [1, 1, 0],
});
const start = {y: [1, 1]};
const consistent = {y: [1, 1, 1]};
const unit = {params: {c: 1}};

const endOf = (y: Float64Array): Float64Array => y.slice(y.length / 2);
const caught = (f: () => unknown): {code: string; message: string; data: Record<string, unknown>} => {
  try {
    f();
  } catch (error) {
    return error as never;
  }
  throw new Error('nothing was thrown');
};

describe("M y' = f(y, t) with a singular mass", function () {
  this.timeout(60000);

  describe('orders', () => {
    // The ode without z, d' = −d² − sin t, by an independent method.
    const reduced = ode(({y, t}) => tf.neg(tf.add(tf.square(y), tf.sin(t))));
    const d = simulate(reduced, {y: 1}, {scheme: tsit5(), dt: 1 / 400, steps: 400, saveAt: 'end'}).values('y')[1];
    const z = d * d + Math.sin(1);
    const firstIndex: readonly [Scheme, number][] = [
      [radauIIA5(), 5],
      [kvaerno5(), 5],
      [kvaerno3(), 3],
      [sdirk2(), 2],
      [bdf2(), 2],
      [gaussLegendre(), 4],
      [gaussLegendre({stages: 1}), 2],
      [trapezoid(), 2],
      [theta(0.9), 1],
      [implicitEuler(), 1],
    ];
    for (const [scheme, expected] of firstIndex) {
      it(`${scheme.name}: ${expected} in both components of index 1`, () => {
        const errors = [16, 32].map(n => {
          const y = simulate(first, start, {...unit, scheme, dt: 1 / n, steps: n, saveAt: 'end'}).values('y');
          return [Math.abs(y[2] - d), Math.abs(y[3] - z)];
        });
        for (const i of [0, 1]) expect(order(errors[0][i], errors[1][i])).to.be.closeTo(expected, 0.35);
      });
    }

    // Differential components, and those of index 2: Hairer & Wanner, table VII.4.1, where it has the method.
    const secondIndex: readonly [Scheme, number, number][] = [
      [radauIIA5(), 5, 3],
      [kvaerno5(), 3, 2],
      [kvaerno3(), 3, 2],
      [sdirk2(), 2, 1],
      [bdf2(), 2, 2],
      [implicitEuler(), 1, 1],
    ];
    for (const [scheme, differential, algebraic] of secondIndex) {
      it(`${scheme.name}: ${differential} and ${algebraic} with index 2`, () => {
        const errors = [40, 80].map(n => {
          const options = {scheme, dt: 0.5 / n, steps: n, saveAt: 'end' as const};
          const y = simulate(second, consistent, options).values('y');
          return [Math.abs(y[3] - Math.exp(0.5)), Math.abs(y[5] - Math.E)];
        });
        expect(order(errors[0][0], errors[1][0])).to.be.greaterThan(differential - 0.3);
        expect(order(errors[0][1], errors[1][1])).to.be.greaterThan(algebraic - 0.3);
      });
    }

    it('a matrix without rows of zeros says the same', () => {
      for (const scheme of [radauIIA5(), gaussLegendre(), bdf2()]) {
        const options = {scheme, dt: 0.05, steps: 20};
        const one = simulate(first, start, {...options, ...unit}).values('y');
        const other = simulate(mixed, start, options).values('y');
        expect(largest(one.map((value, i) => value - other[i]))).to.be.below(1e-12);
      }
    });

    slow('states between steps and events are of the order of dense output', () => {
      for (const [scheme, tolerance] of [
        [radauIIA5(), 1e-6],
        [kvaerno5(), 5e-6],
        [bdf2(), 2e-3],
        [gaussLegendre({stages: 3}), 1e-8],
      ] as const) {
        const options = {...unit, scheme, dt: 0.05, t1: 1};
        const fine = {...unit, scheme: radauIIA5(), dt: 1 / 800, t1: 1, saveAt: [0.333]};
        const between = simulate(first, start, {...options, saveAt: [0.333]}).values('y');
        expect(largest(between.map((y, i) => y - simulate(first, start, fine).values('y')[i]))).to.be.below(tolerance);
        const falls = event({when: ({y}) => tf.sub(tf.sum(tf.slice(y, [1], [1])), 0.9), then: 'stop'});
        const run = simulate(first, start, {...options, events: [falls]});
        expect(run.status).to.equal('event');
        expect(Math.abs(run.values('y').at(-1)! - 0.9)).to.be.below(1e-9);
      }
    });
  });

  describe('published problems, with adaptive steps', () => {
    it('Robertson as a DAE to t = 1e11', () => {
      // IVP Test Set (Mazzia & Magherini), problem ROBER: y(1e11).
      const robertson = ode({
        derivative: ({y}) => {
          const [a, b, c] = parts(y);
          const made = tf.mul(0.04, a);
          const back = tf.mul(1e4, tf.mul(b, c));
          const gone = tf.mul(3e7, tf.square(b));
          return tf.concat([tf.sub(back, made), tf.sub(made, tf.add(gone, back)), tf.sub(tf.add(a, tf.add(b, c)), 1)]);
        },
        mass: [1, 1, 0],
      });
      const control = adaptive({rtol: 1e-7, atol: [1e-14, 1e-18, 1e-10]});
      const run = simulate(robertson, {y: [1, 0, 0]}, {scheme: kvaerno5(), dt: 1e-6, t1: 1e11, saveAt: 'end', control});
      const y = run.values('y');
      expect(y[3] / 0.2083340149701255e-7).to.be.closeTo(1, 1e-6);
      expect(y[4] / 0.8333360770334713e-13).to.be.closeTo(1, 1e-6);
      expect(y[5]).to.be.closeTo(0.999999979166505, 1e-14);
    });

    slow('the transistor amplifier, a mass of rank 5 in farads', () => {
      // IVP Test Set, problem TRANSAMP: y(0.2).
      const [ub, uf, alpha, beta, r] = [6, 0.026, 0.99, 1e-6, 9000];
      const diode = (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
        tf.mul(beta, tf.sub(tf.exp(tf.div(tf.sub(a, b), uf)), 1));
      const matrix = Array.from({length: 8}, () => new Array<number>(8).fill(0));
      const capacitors: readonly (readonly number[])[] = [[0, 1], [2], [3, 4], [5], [6, 7]];
      capacitors.forEach((ends, k) => {
        for (const i of ends) for (const j of ends) matrix[i][j] = (i === j ? -1 : 1) * (k + 1) * 1e-6;
      });
      const amplifier = ode({
        derivative: ({y, t}) => {
          const u = parts(y);
          const [one, two] = [diode(u[1], u[2]), diode(u[4], u[5])];
          const base = (at: tf.Tensor, current: tf.Tensor): tf.Tensor =>
            tf.addN([tf.div(at, r), tf.div(tf.sub(at, ub), r), tf.mul(1 - alpha, current)]);
          const collector = (at: tf.Tensor, current: tf.Tensor): tf.Tensor =>
            tf.add(tf.div(tf.sub(at, ub), r), tf.mul(alpha, current));
          return tf.concat([
            tf.div(tf.sub(u[0], tf.mul(0.1, tf.sin(tf.mul(200 * Math.PI, t)))), 1000),
            base(u[1], one),
            tf.sub(tf.div(u[2], r), one),
            collector(u[3], one),
            base(u[4], two),
            tf.sub(tf.div(u[5], r), two),
            collector(u[6], two),
            tf.div(u[7], r),
          ]);
        },
        mass: matrix,
      });
      const reference = [
        -0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241, 2.704617865010554,
        2.761837778393145, 4.770927631616772, 1.236995868091548,
      ];
      const initial = {y: [0, 3, 3, 6, 3, 3, 6, 0]};
      const control = adaptive({rtol: 1e-6, atol: 1e-6});
      const run = simulate(amplifier, initial, {scheme: radauIIA5(), dt: 1e-6, t1: 0.2, saveAt: 'end', control});
      expect(largest(endOf(run.values('y')).map((u, i) => u - reference[i]))).to.be.below(1e-7);
      // Tolerances at which rounding holds Newton's iteration up: with and without a gradient, whose runs solve more exactly.
      for (const [scheme, tolerance, error] of [
        [radauIIA5(), 1e-11, 1e-12],
        [kvaerno5(), 1e-10, 1e-9],
      ] as const) {
        const tight = {scheme, dt: 1e-6, t1: 0.05, saveAt: 'end', control: adaptive({rtol: tolerance, atol: tolerance})} as const; // prettier-ignore
        const exact = simulate(amplifier, initial, {...tight, scheme: radauIIA5(), control: adaptive({rtol: 3e-11, atol: 3e-11}), newton: newton({tolerance: {}})}); // prettier-ignore
        const [alone, differentiated] = [simulate(amplifier, initial, tight), simulate.vjp(amplifier, initial, tight)];
        for (const path of [alone, differentiated.trajectory]) {
          const off = endOf(path.values('y')).map((u, i) => u - endOf(exact.values('y'))[i]);
          expect(largest(off), `${scheme.name} at ${tolerance}`).to.be.below(error);
          path.dispose();
        }
        exact.dispose();
      }
      // Tolerances below what rounding leaves of some stages: a shorter step does not lessen it.
      for (const [scheme, rtol] of [
        [radauIIA5(), 1e-11],
        [kvaerno5(), 1e-11],
        [kvaerno5(), 1e-10],
      ] as const) {
        const options = {
          scheme,
          dt: 1e-6,
          t1: 0.2,
          saveAt: 'end',
          control: adaptive({rtol, atol: rtol / 100}),
        } as const;
        const tightest = simulate(amplifier, initial, options);
        const off = endOf(tightest.values('y')).map((u, i) => u - reference[i]);
        expect(largest(off), `${scheme.name} at ${rtol}`).to.be.below(3 * rtol);
        expect(tightest.stats.failures['newton-diverged'] ?? 0).to.be.below(0.1 * tightest.stats.steps);
        tightest.dispose();
      }
    });

    // x'' = −λx, z'' = −λz − 1 with xu + zw = 0: the pendulum of index 2, in cartesian coordinates.
    const pendulum = ode({
      derivative: ({y}) => {
        const [x, z, u, w, lambda] = parts(y);
        return tf.concat([
          u,
          w,
          tf.neg(tf.mul(lambda, x)),
          tf.neg(tf.add(tf.mul(lambda, z), 1)),
          tf.add(tf.mul(x, u), tf.mul(z, w)),
        ]);
      },
      mass: [1, 1, 1, 1, 0],
    });
    slow('the pendulum of index 2 against its angle, in few steps', () => {
      const angle = ode(({y}) => {
        const [phi, omega] = parts(y);
        return tf.concat([omega, tf.neg(tf.cos(phi))]);
      });
      const [phi, omega] = endOf(
        simulate(angle, {y: [0, 0]}, {scheme: tsit5(), dt: 1 / 400, t1: 3, saveAt: 'end'}).values('y'),
      );
      const exact = [Math.cos(phi), Math.sin(phi), -omega * Math.sin(phi), omega * Math.cos(phi)];
      const lambda = omega ** 2 - Math.sin(phi);
      for (const [scheme, steps, tolerance] of [
        [radauIIA5(), 100, 2e-6],
        // Its estimate compares stages whose order is reduced alike.
        [kvaerno5(), 60, 2e-4],
        [bdf2(), 700, 2e-4],
      ] as const) {
        const control = adaptive({rtol: 1e-6, atol: 1e-8});
        const options = {scheme, dt: 0.01, t1: 3, saveAt: 'end' as const, control};
        const run = simulate(pendulum, {y: [1, 0, 0, 0, 0]}, options);
        expect(run.stats.steps).to.be.below(steps);
        const y = endOf(run.values('y'));
        expect(largest(exact.map((value, i) => y[i] - value))).to.be.below(tolerance);
        expect(Math.abs(y[4] - lambda)).to.be.below(100 * tolerance);
      }
    });

    it('an index of 3 is refused, with its component', () => {
      const positions = ode({
        derivative: ({y}) => {
          const [x, z, u, w, lambda] = parts(y);
          return tf.concat([
            u,
            w,
            tf.neg(tf.mul(lambda, x)),
            tf.neg(tf.add(tf.mul(lambda, z), 1)),
            tf.sub(tf.add(tf.square(x), tf.square(z)), 1),
          ]);
        },
        mass: [1, 1, 1, 1, 0],
      });
      const {code, message} = caught(() =>
        simulate(positions, {y: [1, 0, 0, 0, 0]}, {scheme: radauIIA5(), dt: 0.1, steps: 1}),
      );
      expect(code).to.equal('bad-index');
      expect(message).to.contain('y[4]').and.to.contain('3 or more');
    });
  });

  describe('the start', () => {
    const options = {...unit, scheme: radauIIA5(), dt: 0.05, steps: 20, saveAt: 'end' as const};

    it('tells of algebraic equations that it breaks, and of hidden ones', () => {
      const broken = caught(() => simulate(first, {y: [1, 1.1]}, options));
      expect(broken.code).to.equal('inconsistent');
      expect(broken.data.row).to.equal(1);
      expect(broken.data.defect).to.be.closeTo(-0.1, 1e-12);
      const hidden = caught(() => simulate(second, {y: [1, 1, 1.1]}, {...options, params: {}}));
      expect(hidden.code).to.equal('inconsistent');
      expect(hidden.data.hidden).to.equal(true);
      // d/dt(d₁²d₂) = 2z² + 1 − 3z at d = 1.
      expect(hidden.data.defect).to.be.closeTo(2 * 1.21 + 1 - 3.3, 1e-12);
    });

    it('takes what float32 leaves of it, in any unit', () => {
      for (const scale of [1e-12, 1, 1e9]) {
        const system = ode({
          derivative: ({y}) => {
            const [d, z] = parts(y);
            return tf.concat([tf.neg(z), tf.sub(tf.mul(3, d), z)]);
          },
          mass: [1, 0],
        });
        const d = Math.fround(scale / 3);
        expect(simulate(system, {y: [d, Math.fround(scale)]}, {...options, params: {}}).status).to.equal('completed');
        expect(caught(() => simulate(system, {y: [d, scale * 1.001]}, {...options, params: {}})).code).to.equal(
          'inconsistent',
        );
      }
    });

    it("consistent: 'project' keeps M y and finds the rest, in gradients too", () => {
      const project = {...options, consistent: 'project' as const};
      for (const scheme of [radauIIA5(), kvaerno5(), bdf2(), gaussLegendre(), implicitEuler()]) {
        const y = simulate(first, {y: [1, 1.1]}, {...project, scheme}).values('y');
        expect(largest([y[0] - 1, y[1] - 1])).to.be.below(1e-14);
        expect(y[2]).to.be.closeTo(simulate(first, start, {...options, scheme}).values('y')[2], 1e-12);
      }
      const y = simulate(mixed, {y: [1, 3]}, {...project, params: {}}).values('y');
      expect(largest([y[0] - 1, y[1] - 1])).to.be.below(1e-14);
      const {pullback} = simulate.vjp(first, {y: [1.3, 0]}, project);
      const by = pullback({y: [0, 0, 1, 1]}).initial.y;
      const sum = (s: number): number => {
        const end = simulate(first, {y: [1.3 + s, 0]}, project).values('y');
        return end[2] + end[3];
      };
      expect(by[0]).to.be.closeTo(slope(sum, 1e-3), 1e-9);
      expect(by[1]).to.equal(0);
      // Index 2 is published-starts.spec.ts's.
      const {code} = caught(() => simulate(second, consistent, {...project, params: {}, scheme: gaussLegendre()}));
      expect(code).to.equal('bad-index');
    });

    it('after a jump as at the start', () => {
      const pushed = event({
        when: ({t}) => tf.sub(t, 0.52),
        then: ({y}) => ({y: tf.add(y, tf.tensor1d([0.5, 0]))}),
      });
      const jumping = {...options, events: [pushed]};
      expect(caught(() => simulate(first, start, jumping)).message).to.contain('t = 0.52');
      const settled = {...jumping, consistent: 'project' as const};
      const end = (s: number): number => simulate(first, {y: [1 + s, (1 + s) ** 2]}, settled).values('y')[2];
      const {pullback} = simulate.vjp(first, start, settled);
      const {y} = pullback({y: [0, 0, 1, 0]}).initial;
      expect(y[0] + 2 * y[1]).to.be.closeTo(slope(end, 1e-3), 1e-9);
    });
  });

  describe('gradients', () => {
    const given = {params: {c: 1.2}, dt: 0.05, steps: 12, saveAt: 'end' as const};
    const kinds: readonly [string, object][] = [
      ['radauIIA5', {scheme: radauIIA5()}],
      ['kvaerno5', {scheme: kvaerno5()}],
      ['bdf2', {scheme: bdf2()}],
      ['gaussLegendre', {scheme: gaussLegendre()}],
      ['trapezoid', {scheme: trapezoid()}],
      ['forwardSensitivity', {scheme: radauIIA5(), adjoint: forwardSensitivity()}],
      ['unrolledAdjoint', {scheme: radauIIA5(), adjoint: unrolledAdjoint(), newton: newton({iterations: 6})}],
      ['a dense mass', {scheme: radauIIA5(), dense: true}],
    ];
    const matrix = ode<{c: tf.Tensor}>({
      derivative: at => tf.concat(rows(at)),
      mass: ({params: {c}}) => tf.reshape(tf.stack([c, tf.scalar(0), tf.scalar(0), tf.scalar(0)]), [2, 2]),
    });
    for (const [name, {dense = false, ...more}] of kinds as readonly [string, {dense?: boolean}][]) {
      it(`${name}: by the mass's parameter, against differences`, () => {
        const system = dense ? matrix : first;
        const {pullback} = simulate.vjp(system, start, {...given, ...more});
        const gradient = pullback({y: [0, 0, 1, 0.5]}).params.c as Float64Array;
        const end = (s: number): number => {
          const y = simulate(system, start, {...given, ...more, params: {c: 1.2 + s}}).values('y');
          return y[2] + 0.5 * y[3];
        };
        expect(gradient[0] / slope(end, 1e-3)).to.be.closeTo(1, 1e-8);
      });
    }

    slow('with index 2 along consistent starts, forwards and back', () => {
      // (a, 1/a², z): consistent where d/dt(d₁²d₂) = 0, that is 2d₁²d₂³z² + d₁⁴d₂² − 3d₁²d₂²z = 0.
      const z = (a: number): number => {
        const b = a ** -2;
        return (3 * a * a * b * b - Math.sqrt((3 * a * a * b * b) ** 2 - 8 * a ** 6 * b ** 5)) / (4 * a * a * b ** 3);
      };
      const at = (a: number): number[] => [a, a ** -2, z(a)];
      const a = 1.05;
      const da = (f: (a: number) => number): number => slope(s => f(a + s), 1e-3);
      const direction = [0, 1, 2].map(i => da(x => at(x)[i]));
      for (const scheme of [radauIIA5(), kvaerno5(), bdf2()]) {
        const options = {scheme, dt: 0.02, steps: 10, saveAt: 'end' as const};
        const {pullback} = simulate.vjp(second, {y: at(a)}, options);
        const back = pullback({y: [0, 0, 0, 1, 1, 0.3]}).initial.y;
        const {tangent} = simulate.jvp(second, {y: at(a)}, options, {initial: {y: direction}});
        const forward = tangent.y[3] + tangent.y[4] + 0.3 * tangent.y[5];
        const differences = da(x => {
          const y = simulate(second, {y: at(x)}, options).values('y');
          return y[3] + y[4] + 0.3 * y[5];
        });
        const sum = back.reduce((total, g, i) => total + g * direction[i], 0);
        expect(forward / differences).to.be.closeTo(1, 1e-8);
        expect(sum / differences).to.be.closeTo(1, 1e-8);
      }
    });

    it('of second order', () => {
      const loss = ({y}: {y: tf.Tensor}): tf.Tensor => tf.sum(tf.square(y));
      const options = {...given, scheme: radauIIA5()};
      const {product} = simulate.hvp(first, start, options, loss as never, {params: {c: 1}} as never);
      const gradient = (s: number): number => {
        const {trajectory, pullback} = simulate.vjp(first, start, {...options, params: {c: 1.2 + s}});
        return (pullback({y: trajectory.values('y').map(y => 2 * y)}).params.c as Float64Array)[0];
      };
      expect((product.params.c as Float64Array)[0] / slope(gradient, 1e-3)).to.be.closeTo(1, 1e-8);
    });

    it('in adaptive steps, to their tolerance', () => {
      const options = {...unit, scheme: radauIIA5(), dt: 0.01, t1: 1, saveAt: 'end' as const};
      const gradient = (more: object): Float64Array =>
        simulate.vjp(first, start, {...options, ...more}).pullback({y: [0, 0, 1, 0]}).params.c as Float64Array;
      const [loose] = gradient({control: adaptive({rtol: 1e-9, atol: 1e-11})});
      expect(loose).to.be.closeTo(gradient({dt: 1 / 200})[0], 1e-7);
    });

    it('many at once', () => {
      const options = {...given, scheme: radauIIA5()};
      const [one, two] = batch(first, [start, {y: [2, 4]}], options);
      expect(Array.from(one.values('y'))).to.deep.equal(Array.from(simulate(first, start, options).values('y')));
      expect(Array.from(two.values('y'))).to.deep.equal(Array.from(simulate(first, {y: [2, 4]}, options).values('y')));
    });
  });

  describe('masses', () => {
    it('of one mean nothing, and with an inverse what dividing by them means', () => {
      const f = ({y}: {y: tf.Tensor}): tf.Tensor => tf.neg(tf.mul(y, tf.tensor1d([1, 3])));
      const options = {scheme: radauIIA5(), dt: 0.1, steps: 10};
      const plain = simulate(ode(f), {y: [1, 2]}, options).values('y');
      expect(Array.from(simulate(ode({derivative: f}), {y: [1, 2]}, options).values('y'))).to.deep.equal(
        Array.from(plain),
      );
      const doubled = simulate(ode({derivative: at => tf.mul(2, f(at)), mass: 2}), {y: [1, 2]}, options).values('y');
      expect(largest(plain.map((y, i) => y - doubled[i]))).to.be.below(1e-15);
    });

    it('rest where f is zero, whatever the mass', () => {
      const rest = equilibrium(ode({derivative: ({y}) => tf.sub(tf.tensor1d([1, 2]), y), mass: [1, 0]}), {y: [0, 0]});
      expect(Array.from(rest.values('y'))).to.deep.equal([1, 2]);
    });

    it('that are no masses are refused', () => {
      const f = ({y}: {y: tf.Tensor}): tf.Tensor => y;
      const code = (mass: unknown, more: object = {}): string =>
        caught(() =>
          simulate(
            ode({derivative: f, mass: mass as never, ...more}),
            {y: [1, 1]},
            {scheme: radauIIA5(), dt: 0.1, steps: 1},
          ),
        ).code;
      expect(code([1, 1, 1])).to.equal('mass-shape');
      expect(code('1')).to.equal('bad-mass');
      expect(code([1, NaN])).to.equal('bad-mass');
      expect(code(() => 3)).to.equal('mass-shape');
      expect(code(1, {stiffness: 3})).to.equal('bad-system');
      expect(() => ode({mass: 1} as never)).to.throw(OptionError, 'derivative');
      // Nothing determines y: 0 = f without y.
      const free = ode({derivative: ({y}) => tf.mul(y, tf.tensor1d([1, 0])), mass: [1, 0]});
      expect(caught(() => simulate(free, {y: [1, 1]}, {scheme: radauIIA5(), dt: 0.1, steps: 1})).code).to.equal(
        'bad-index',
      );
    });

    it('take radauIIA5 by themselves', () => {
      const run = {...unit, dt: 0.1, steps: 3};
      const [chosen, byDefault] = [{...run, scheme: radauIIA5()}, run].map(options =>
        simulate(first, start, options).values('y'),
      );
      expect([...byDefault]).to.deep.equal([...chosen]);
    });

    it('schemes that do not take them say which do', () => {
      for (const scheme of [tsit5(), implicitMidpoint(), theta(0.4)]) {
        const {code, message} = caught(() => simulate(first, start, {...unit, scheme, dt: 0.1, steps: 1}));
        expect(code).to.equal('wrong-scheme');
        expect(message).to.contain('radauIIA5()').and.to.contain('bdf2()');
      }
      for (const scheme of [gaussLegendre(), trapezoid()])
        expect(caught(() => simulate(second, consistent, {scheme, dt: 0.1, steps: 1})).code).to.equal('bad-index');
      const back = {...unit, scheme: radauIIA5(), dt: 0.1, steps: 1, adjoint: backsolveAdjoint()};
      expect(caught(() => simulate.vjp(first, start, back)).code).to.equal('bad-adjoint');
    });

    it('an algebraic equation that loses its solution midway ends the run with its time', () => {
      // 0 = z² + t − 1: a fold at t = 1, where no z follows.
      const fold = ode({
        derivative: ({y, t}) => {
          const [d, z] = parts(y);
          return tf.concat([tf.neg(d), tf.sub(tf.add(tf.square(z), tf.reshape(t, [1])), 1)]);
        },
        mass: [1, 0],
      });
      const control = adaptive({rtol: 1e-6});
      const options = {scheme: radauIIA5(), dt: 0.01, t1: 2, control, throw: false};
      const run = simulate(fold, {y: [1, 1]}, options);
      expect(run.status).to.not.equal('completed');
      expect(run.values('t').at(-1)).to.be.within(0.99, 1);
    });
  });
});
