/** Unilateral constraints: landing, rest, release, stacks, smoothing; and gradients through them. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, Constraint, Initial, MechanicalSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import {
  bilateral,
  blendedEuler,
  compliant,
  generalizedAlpha,
  hht,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  InconsistentStateError,
  mechanics,
  newmark,
  simulate,
  theta,
  trapezoid,
  unilateral,
  unrolledAdjoint,
} from '../../lib/index.js';
import {doubleEngines} from '../simulate/engines.js';
import {slow} from '../tiers.js';

const g = 9.81;
const schemes: readonly Scheme[] = [
  implicitEuler(),
  implicitEuler({unknown: 'acceleration'}),
  theta(0.7),
  trapezoid(),
  implicitMidpoint(),
  implicitMidpoint({form: 'coupled'}),
  blendedEuler({alpha: 1, beta: 0.6}),
  newmark(),
  newmark({beta: 0.3025, gamma: 0.6}),
  generalizedAlpha(),
  generalizedAlpha({rhoInf: 0}),
  hht(),
];
/** What is left after a step of the acceleration before it: generalized-α's carried one forgets the fall by ρ∞ a step. */
const memory = new Map([
  ['generalizedAlpha(0.8)', 0.8],
  ['hht(-0.1)', 0.9 / 1.1],
]);
const scalar = (value: unknown): tf.Tensor => tf.reshape(value as tf.Tensor, []);

interface Path {
  readonly q: Float64Array;
  readonly v: Float64Array;
  readonly lambda: Float64Array;
  readonly iterations: number;
  readonly warnings: readonly string[];
}

function run(system: MechanicalSystem, initial: Initial, options: SimulateOptions): Path {
  const path = simulate(system, initial, options);
  path.dispose();
  return {
    q: path.values('q'),
    v: path.values('v'),
    lambda: path.values('lambda'),
    iterations: path.stats.newtonIterations,
    warnings: path.warnings,
  };
}

/** A block of weight m g over the floor, pulled up with 20 N/s from t = 1 on. */
const pulled = (mass: number, floor: Constraint = unilateral(({q}) => q)): MechanicalSystem =>
  mechanics({
    mass,
    forces: ({q, t}) => tf.add(tf.zerosLike(q), tf.sub(tf.mul(20, tf.relu(tf.sub(t, 1))), mass * g)),
    constraints: [floor],
  });

for (const {name: engine} of doubleEngines) {
  describe(`a block lands, rests and is pulled off (${engine})`, () => {
    for (const scheme of schemes) {
      it(`${scheme.name}: inelastic, λ = m g at rest, released when the pull exceeds the weight`, () => {
        const [h, mass] = [0.01, 2];
        const {q, v, lambda, iterations} = run(pulled(mass), {q: 0.2, v: 0}, {scheme, dt: h, steps: 230, engine});
        lambda.forEach((l, n) => {
          expect(l, `λ ${n}`).to.be.at.least(-1e-10);
          expect(q[n], `q ${n}`).to.be.at.least(-1e-15);
          expect(Math.abs(l * q[n]), `λφ ${n}`).to.be.below(1e-12);
        });
        // √(2 · 0.2/g) = 0.2019 s: on the floor at step 21 at the latest, and at rest there.
        for (const n of [22, 50, 99]) {
          expect(q[n]).to.be.closeTo(0, 1e-15);
          expect(v[n]).to.be.closeTo(0, 1e-13);
          expect(lambda[n]).to.be.closeTo(mass * g, 1e-9 + mass * g * (memory.get(scheme.name) ?? 0) ** (n - 21));
        }
        // The pull reaches 2 g at 1.981 s: the step that ends at 1.98 holds, the one to 2.00 has let go.
        expect(lambda[198]).to.be.within(0.001, 0.13);
        expect(lambda[200]).to.be.closeTo(0, 1e-10);
        expect(q[200]).to.be.above(0);
        expect(v[230]).to.be.closeTo((10 / mass) * (2.3 - 1.981) ** 2, 0.06);
        // One iteration a step, where contact does not change, or none, and a second one in some steps of rest, whose velocities are rounding.
        expect(iterations).to.be.below(350);
      });
    }

    it('the impact takes the momentum: the sum of h λ is what gravity and the fall gave, with every scheme', () => {
      for (const scheme of [implicitEuler(), trapezoid(), implicitMidpoint(), theta(0.7)]) {
        const {lambda, v} = run(
          pulled(1),
          {q: 0.2, v: 0},
          {scheme, dt: 0.01, steps: 100, engine, stabilization: 'none'},
        );
        const impulse = lambda.subarray(1).reduce((sum, l) => sum + 0.01 * l, 0);
        expect(impulse).to.be.closeTo(g * 1 + v[100], 1e-11);
      }
    });

    it('from below the floor: an error by row, or moved up to it', () => {
      expect(() => simulate(pulled(1), {q: -0.1, v: 0}, {dt: 0.01, steps: 1, engine})).to.throw(
        InconsistentStateError,
        /constraints\[0\]\) is -1\.000e-1 but must be 0, of a contact at least 0\./,
      );
      const {q, lambda} = run(pulled(1), {q: -0.1, v: 0}, {dt: 0.01, steps: 1, consistent: 'project', engine});
      expect(q[0]).to.be.closeTo(0, 1e-15);
      expect(lambda[0]).to.be.closeTo(g, 1e-12);
      expect(run(pulled(1), {q: 0.3, v: 0}, {dt: 0.01, steps: 0, consistent: 'project', engine}).q[0]).to.be.closeTo(
        0.3,
        1e-15,
      );
    });
  });

  describe(`several contacts (${engine})`, () => {
    const thickness = 0.1;
    /** Three blocks over one another; the uppermost is pulled from t = 1 on. */
    const stack = mechanics({
      mass: [1, 2, 3],
      forces: ({q, t}) =>
        tf.add(
          tf.zerosLike(q),
          tf.add(tf.tensor1d([-g, -2 * g, -3 * g]), tf.mul(tf.tensor1d([0, 0, 40]), tf.relu(tf.sub(t, 1)))),
        ),
      constraints: [unilateral(({q}) => tf.sub(q, tf.concat([tf.zeros([1]), tf.add(tf.slice(q, 0, 2), thickness)])))],
    });
    for (const scheme of schemes) {
      slow(`${scheme.name}: a stack of three carries the weight above, and loses its uppermost`, () => {
        const {q, v, lambda, iterations} = run(
          stack,
          {q: [0.05, 0.3, 0.6], v: [0, 0, 0]},
          {scheme, dt: 0.01, steps: 200, engine},
        );
        for (const l of lambda) expect(l).to.be.at.least(-1e-10);
        for (const [i, force] of [6 * g, 5 * g, 3 * g].entries()) {
          expect(lambda[3 * 90 + i]).to.be.closeTo(force, 1e-8);
          expect(q[3 * 90 + i]).to.be.closeTo(i * thickness, 1e-14);
          expect(v[3 * 90 + i]).to.be.closeTo(0, 1e-12);
        }
        // 40 (t − 1) = 3 g at 1.736 s.
        expect(lambda[3 * 173 + 2]).to.be.above(0.05);
        expect(lambda[3 * 175 + 2]).to.be.closeTo(0, 1e-10);
        expect(lambda[3 * 200]).to.be.closeTo(3 * g, 1e-8);
        expect(iterations).to.be.below(300);
      });
    }

    it('a ball between two walls stops at the first, which neither presses nor is apart: warned once', () => {
      const walls = mechanics({
        mass: 1,
        forces: [],
        constraints: [unilateral(({q}) => tf.concat([tf.add(q, 1), tf.sub(1, q)]))],
      });
      const {q, v, warnings} = run(walls, {q: [0], v: [3]}, {scheme: newmark(), dt: 0.01, steps: 100, engine});
      expect(q[100]).to.be.closeTo(1, 1e-15);
      // Rounding of the position that it stopped at, over h.
      expect(v[100]).to.be.closeTo(0, 1e-13);
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(/^lambda\[1\] \(constraints\[0\] row 1\): at t = 0\.35 and 65 more times/);
    });

    it('a resting block gives no warning', () => {
      expect(run(pulled(1), {q: 0, v: 0}, {dt: 0.001, steps: 50, engine}).warnings).to.deep.equal([]);
    });

    slow('a corner: two walls at once, and the rod of a pendulum that meets a stop', () => {
      const corner = mechanics({
        mass: 1,
        forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([-3, -g])),
        constraints: [unilateral(({q}) => q)],
      });
      const {q, lambda} = run(
        corner,
        {q: [0.3, 0.2], v: [0.1, 0]},
        {scheme: implicitMidpoint(), dt: 0.01, steps: 100, engine},
      );
      expect(Math.hypot(q[200], q[201])).to.be.below(1e-14);
      expect(lambda[200]).to.be.closeTo(3, 1e-9);
      expect(lambda[201]).to.be.closeTo(g, 1e-9);
      const stopped = mechanics({
        mass: 1,
        forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g])),
        constraints: [
          bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2)),
          unilateral(({q}) => tf.sub(0.5, tf.slice(q, 0, 1))),
        ],
      });
      for (const scheme of [implicitEuler(), implicitMidpoint(), newmark({beta: 0.3025, gamma: 0.6})]) {
        for (const stabilization of ['projection', 'ggl'] as const) {
          const {
            q: place,
            v,
            lambda: forces,
          } = run(
            stopped,
            {q: [-1, 0], v: [0, 0]},
            {scheme, stabilization, dt: 0.01, steps: 150, saveAt: 'end', engine},
          );
          // It swings back from the stop only where it is not stopped dead: at rest against it no force of gravity leads there.
          const atStop = [place[2], place[3]];
          expect(Math.hypot(...atStop)).to.be.closeTo(1, 1e-13);
          expect(place[2] * v[2] + place[3] * v[3]).to.be.closeTo(0, 1e-12);
          expect(place[2]).to.be.below(0.5 + 1e-13);
          expect(forces[3]).to.be.at.least(-1e-10);
        }
      }
    });
  });

  describe(`springs that push only, and cables (${engine})`, () => {
    it('with compliance a contact is a spring of stiffness 1/C: it throws back elastically', () => {
      const [C, v0, mass] = [1e-3, 2, 0.5];
      const soft = mechanics({mass, forces: [], constraints: [unilateral(({q}) => q, {compliance: C})]});
      const half = Math.PI * Math.sqrt(mass * C);
      const steps = 400;
      const {q, v, lambda} = run(
        soft,
        {q: 0.1, v: -v0},
        {scheme: implicitMidpoint(), dt: (0.1 / v0 + half + 0.05) / steps, steps, engine},
      );
      expect(v[steps]).to.be.closeTo(v0, 0.01);
      expect(q[steps]).to.be.closeTo(0.1, 0.002);
      const deepest = Math.min(...q);
      expect(deepest).to.be.closeTo(-v0 * Math.sqrt(mass * C), 1e-4);
      // The midpoint rule meets springs in the middle of the step.
      for (let n = 1; n <= steps; n++) {
        const gap = (q[n - 1] + q[n]) / 2 + C * lambda[n];
        expect(gap * lambda[n]).to.be.closeTo(0, 1e-11);
        expect(Math.min(gap, lambda[n])).to.be.at.least(-1e-12);
      }
    });

    for (const scheme of schemes) {
      it(`${scheme.name}: the same as the force −φ/C where φ < 0`, () => {
        const k = 300;
        const options = {scheme, dt: 0.01, steps: 60, engine};
        const down = ({q}: {q: tf.Tensor}): tf.Tensor => tf.add(tf.zerosLike(q), -g);
        const [row, force] = [
          mechanics({mass: 1, forces: down, constraints: [unilateral(({q}) => q, {compliance: 1 / k})]}),
          mechanics({mass: 1, forces: [down, ({q}) => tf.mul(k, tf.relu(tf.neg(q)))]}),
        ].map(system => {
          const path = simulate(system, {q: 0.1, v: 0}, options);
          path.dispose();
          return path.values('q');
        });
        expect(Math.min(...row)).to.be.below(-0.05);
        row.forEach((q, n) => expect(q).to.be.closeTo(force[n], 1e-11));
      });
    }

    it('a cable of length 1 goes slack and taut: λ ≥ 0 along it, its length never more than 1', () => {
      const cable = mechanics({
        mass: 1,
        forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g])),
        constraints: [unilateral(({q}) => tf.div(tf.sub(1, tf.sum(tf.square(q))), 2))],
      });
      // From above the anchor it falls freely, g t²/2, until the cable is straight.
      const {q, lambda} = run(
        cable,
        {q: [0.6, 0.3], v: [0, 0]},
        {scheme: implicitMidpoint(), dt: 0.005, steps: 300, engine},
      );
      const taut = lambda.findIndex(l => l > 1e-9);
      expect(taut * 0.005).to.be.closeTo(Math.sqrt((2 * 1.1) / g), 0.006);
      expect(q[2 * (taut - 1)]).to.be.closeTo(0.6, 1e-14);
      for (let n = 0; n <= 300; n++) {
        const length = Math.hypot(q[2 * n], q[2 * n + 1]);
        expect(length).to.be.below(1 + 1e-14);
        expect(lambda[n]).to.be.at.least(-1e-10);
        expect(Math.abs(lambda[n] * (1 - length))).to.be.below(1e-10);
      }
    });
  });

  describe(`gradients through contact (${engine})`, () => {
    /** Lands on a slope of params and slides down it against drag; free of any change of contact at the times asked. */
    const slide = (floor: (gap: Constraint['gap']) => Constraint, spring: boolean): MechanicalSystem =>
      mechanics({
        mass: ({params}) => scalar(params.m),
        forces: ({q, v, params}) =>
          tf.sub(
            tf.add(tf.zerosLike(q), tf.mul(scalar(params.m), tf.tensor1d([0, -g]))),
            tf.mul(scalar(params.drag), v),
          ),
        constraints: [
          floor(({q, params}) => tf.sub(tf.slice(q, 1, 1), tf.mul(scalar(params.slope), tf.slice(q, 0, 1)))),
          ...(spring ? [compliant(({q}) => tf.slice(q, 0, 1), {compliance: params => scalar(params.c)})] : []),
        ],
      });
    const point = Float64Array.of(1.3, 0.4, -0.3, 0.02, 0.15, 0.2);
    const initial = (x: Float64Array): Initial => ({q: [0.1, x[4]], v: [x[5], 0]});
    const cases: readonly (readonly [
      string,
      Scheme,
      (gap: Constraint['gap']) => Constraint,
      Adjoint,
      SimulateOptions['stabilization'],
    ])[] = [
      ['implicit Euler', implicitEuler(), gap => unilateral(gap as never), implicitAdjoint(), undefined],
      ['midpoint', implicitMidpoint(), gap => unilateral(gap as never), implicitAdjoint({memory: 2000}), undefined],
      ['midpoint, positions alone', implicitMidpoint(), gap => unilateral(gap as never), implicitAdjoint(), 'none'],
      ['Newmark', newmark({beta: 0.3025, gamma: 0.6}), gap => unilateral(gap as never), implicitAdjoint(), undefined],
      ['Newmark, GGL', newmark(), gap => unilateral(gap as never), implicitAdjoint(), 'ggl'],
      ['trapezoid, unrolled', trapezoid(), gap => unilateral(gap as never), unrolledAdjoint(), undefined],
      ['smoothed', implicitEuler(), gap => unilateral(gap as never, {smoothing: 0.02}), implicitAdjoint(), undefined],
      [
        'with compliance',
        implicitMidpoint(),
        gap => unilateral(gap as never, {compliance: 1e-3}),
        implicitAdjoint(),
        undefined,
      ],
    ];
    for (const [name, scheme, floor, adjoint, stabilization] of cases) {
      slow(`${name}: masses, drag, slope, compliance, start; differences within 1e-6, jvp = vjp`, () => {
        const system = slide(floor, true);
        const params = (x: Float64Array): {[name: string]: number} => ({m: x[0], drag: x[1], slope: x[2], c: x[3]});
        const options = (x: Float64Array): SimulateOptions => ({
          scheme,
          stabilization,
          adjoint,
          engine,
          dt: 0.02,
          steps: 40,
          saveAt: {every: 20},
          params: params(x),
        });
        const shares = {q: 1, v: 1, lambda: 0.01};
        const weights = (size: number, share: number): Float64Array =>
          Float64Array.from({length: size}, (_, i) => share * Math.sin(1 + i));
        const loss = (x: Float64Array): number => {
          const path = run(system, initial(x), options(x));
          return Object.entries(shares).reduce((sum, [block, share]) => {
            const values = path[block as 'q'];
            return sum + weights(values.length, share).reduce((part, w, i) => part + w * values[i], 0);
          }, 0);
        };
        const {trajectory, pullback} = simulate.vjp(system, initial(point), options(point));
        trajectory.dispose();
        const cotangent = Object.fromEntries(
          Object.entries(shares).map(([block, share]) => [
            block,
            weights(trajectory.values(block as 'q').length, share),
          ]),
        );
        const gradient = pullback(cotangent);
        const found = Float64Array.of(
          ...['m', 'drag', 'slope', 'c'].map(key => (gradient.params[key] as Float64Array)[0]),
          (gradient.initial.q as Float64Array)[1],
          (gradient.initial.v as Float64Array)[0],
        );
        found.forEach((value, i) => {
          const h = 1e-4 * Math.abs(point[i]);
          const [one, two] = [h, 2 * h].map(step => {
            const at = (by: number): number => loss(point.map((x, k) => (k === i ? x + by : x)));
            return (at(step) - at(-step)) / (2 * step);
          });
          expect(value, `component ${i}`).to.be.closeTo((4 * one - two) / 3, 1e-6 * Math.max(1, Math.abs(value)));
        });
        if (adjoint.name === 'unrolledAdjoint') return;
        const direction = {
          initial: {q: [0, Math.cos(4)], v: [Math.cos(5), 0]},
          params: Object.fromEntries(['m', 'drag', 'slope', 'c'].map((key, i) => [key, Math.cos(i)])),
        };
        const pushed = simulate.jvp(system, initial(point), options(point), direction);
        pushed.trajectory.dispose();
        const along = Object.keys(shares).reduce(
          (sum, block) =>
            sum + (cotangent[block] as Float64Array).reduce((part, w, i) => part + w * pushed.tangent[block][i], 0),
          0,
        );
        expect(along).to.be.closeTo(
          found.reduce((sum, value, i) => sum + value * Math.cos(i), 0),
          1e-9,
        );
      });
    }

    it('smoothed: gap·λ = ε² at every step, and the gradient passes a change of contact', () => {
      const smoothing = 0.05;
      const floor = mechanics({
        mass: 1,
        forces: ({q}) => tf.add(tf.zerosLike(q), -g),
        constraints: [unilateral(({q}) => q, {smoothing})],
      });
      const options = {scheme: implicitEuler(), dt: 0.01, engine} as const;
      const {q, lambda} = run(floor, {q: 0.2, v: 0}, {...options, steps: 60});
      for (let n = 1; n <= 60; n++) expect(q[n] * lambda[n]).to.be.closeTo(smoothing ** 2, 1e-9);
      // Over the step in which it lands: exact contact has a kink there, in the start height.
      const end = (height: number, steps: number): number =>
        run(floor, {q: height, v: 0}, {...options, steps, saveAt: 'end'}).v[1];
      for (const steps of [19, 20, 21, 22]) {
        const {trajectory, pullback} = simulate.vjp(floor, {q: 0.2, v: 0}, {...options, steps, saveAt: 'end'});
        trajectory.dispose();
        const h = 1e-5;
        const [one, two] = [h, 2 * h].map(by => (end(0.2 + by, steps) - end(0.2 - by, steps)) / (2 * by));
        const value = (pullback({v: [0, 1]}).initial.q as Float64Array)[0];
        expect(value).to.be.closeTo((4 * one - two) / 3, 1e-6 * Math.max(1, Math.abs(value)));
      }
    });
  });
}
