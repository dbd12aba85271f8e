/** How constrained steps are solved: Newton–Krylov, step lengths on the coupled residual, blended Euler's choices, failures by name. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, SimulateOptions} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  backtracking,
  batch,
  bilateral,
  blendedEuler,
  compliant,
  eisenstatWalker,
  full,
  gmres,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  NewtonError,
  nonholonomic,
  OptionError,
  simulate,
  subSteps,
  unilateral,
} from '../../lib/index.js';
import {doubleEngines} from '../simulate/engines.js';
import {slow} from '../tiers.js';

const g = 9.81;
const gravity = ({q}: {q: tf.Tensor}): tf.Tensor => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g]));
const rod = bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2));

/** n links of length 1/n and mass 1/n, from the horizontal. */
const chain = (n: number): MechanicalSystem =>
  mechanics({
    mass: 1 / n,
    forces: ({q}) => tf.div(tf.add(tf.zerosLike(q), tf.tensor1d([0, -g])), n),
    constraints: [
      bilateral(({q}) => {
        const before = tf.concat([tf.zeros([1, 2]), tf.slice(q, [0, 0], [n - 1, 2])]);
        return tf.mul(n / 2, tf.sub(tf.sum(tf.square(tf.sub(q, before)), 1), 1 / n ** 2));
      }),
    ],
  });
const level = (n: number): Initial => ({
  q: Array.from({length: n}, (_, i) => [(i + 1) / n, 0]),
  v: Array.from({length: n}, () => [0, 0]),
});

function run(
  system: MechanicalSystem,
  initial: Initial,
  options: SimulateOptions,
): {q: Float64Array; v: Float64Array; lambda: Float64Array; newton: number; linear: number} {
  const path = simulate(system, initial, options);
  path.dispose();
  return {
    q: path.values('q'),
    v: path.values('v'),
    lambda: path.values('lambda'),
    newton: path.stats.newtonIterations,
    linear: path.stats.linearIterations,
  };
}

const farthest = (a: Float64Array, b: Float64Array): number =>
  a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);

for (const {name: engine} of doubleEngines) {
  describe(`Newton–Krylov with the constraint preconditioner (${engine})`, () => {
    const krylov = newton({linear: gmres({preconditioner: 'constraint'})});
    const inexact = newton({linear: gmres({preconditioner: 'constraint'}), forcing: eisenstatWalker()});
    const cases: readonly (readonly [string, Partial<RunSettings>])[] = [
      ['implicit Euler', {scheme: implicitEuler()}],
      ['midpoint, coupled', {scheme: implicitMidpoint({form: 'coupled'})}],
      ['Newmark, GGL', {scheme: newmark(), stabilization: 'ggl'}],
      ['midpoint, projection', {scheme: implicitMidpoint(), stabilization: 'projection'}],
    ];
    for (const [name, options] of cases) {
      it(`${name}: the direct solver's motion and multipliers, links to rounding`, () => {
        const n = 20;
        const all = {...options, engine, dt: 0.01, steps: 10};
        const direct = run(chain(n), level(n), all);
        for (const method of [krylov, inexact]) {
          const free = run(chain(n), level(n), {...all, newton: method});
          expect(farthest(free.q, direct.q)).to.be.below(1e-13);
          expect(farthest(free.lambda, direct.lambda)).to.be.below(1e-8);
          const last = free.q.slice(-2 * n);
          for (let i = 0; i < n; i++) {
            const [x, y] = i === 0 ? [0, 0] : [last[2 * i - 2], last[2 * i - 1]];
            expect(Math.hypot(last[2 * i] - x, last[2 * i + 1] - y) * n).to.be.closeTo(1, 1e-12);
          }
        }
      });
    }

    it('a hundred links: iterations fall with the step, and stay bounded with the links; forcing halves them', () => {
      const perSolve = (n: number, dt: number, method: typeof krylov): number => {
        const {newton: iterations, linear} = run(chain(n), level(n), {
          scheme: implicitMidpoint(),
          engine,
          dt,
          steps: 5,
          saveAt: 'end',
          newton: method,
        });
        return linear / iterations;
      };
      // The preconditioner lacks the geometric stiffness between links, λh²/m: with h that vanishes.
      const steps = [1e-2, 1e-3, 1e-4].map(dt => perSolve(100, dt, krylov));
      expect(steps[1]).to.be.below(steps[0] / 2);
      expect(steps[2]).to.be.below(steps[1] + 1);
      expect(steps[2]).to.be.below(6);
      expect(steps[1]).to.be.below(2 * perSolve(10, 1e-3, krylov));
      expect(perSolve(100, 1e-2, inexact)).to.be.below(0.6 * steps[0]);
    });

    slow('contact is solved the same way', () => {
      const n = 5;
      const floor = unilateral(({q}) => tf.add(tf.reshape(tf.slice(q, [0, 1], [n, 1]), [n]), 0.1));
      const swinging = chain(n);
      const system = mechanics({mass: 1 / n, forces: swinging.forces, constraints: [...swinging.constraints, floor]});
      const options = {scheme: implicitEuler(), engine, dt: 0.01, steps: 20} as const;
      const [direct, free] = [run(system, level(n), options), run(system, level(n), {...options, newton: krylov})];
      expect(Math.max(...direct.lambda.slice(-n))).to.be.above(0);
      expect(farthest(free.q, direct.q)).to.be.below(1e-12);
    });
  });

  describe(`step lengths on the coupled residual (${engine})`, () => {
    // On an inclined track, pulled by an arctan: where that is flat a full step overshoots to where it is flat again.
    const stiff = mechanics({
      mass: 1,
      forces: [
        gravity,
        ({q}) => tf.mul(tf.concat([tf.neg(tf.atan(tf.mul(4, tf.sub(tf.slice(q, 0, 1), 0.1)))), tf.zeros([1])]), 20),
      ],
      constraints: [bilateral(({q}) => tf.sub(tf.slice(q, 1, 1), tf.mul(0.5, tf.slice(q, 0, 1))))],
    });
    const options = {scheme: implicitEuler(), dt: 1, steps: 1, saveAt: 'end', engine} as const;
    it('full steps diverge where both strategies converge, to the same point of the track', () => {
      const start = {q: [0.8, 0.4], v: [0, 0]};
      expect(() => simulate(stiff, start, {...options, newton: newton({step: full()})})).to.throw(
        NewtonError,
        /did not converge/,
      );
      const ends = [backtracking(), subSteps(0.2)].map(step =>
        run(stiff, start, {...options, newton: newton({step, maxIterations: 500})}).q.slice(2),
      );
      for (const end of ends) {
        expect(end[1]).to.be.closeTo(0.5 * end[0], 1e-13);
        expect(farthest(end, ends[0])).to.be.below(1e-10);
      }
    });
  });

  describe(`blended Euler's choices (${engine})`, () => {
    // A rod, a spring as compliance, and a blade that does not slip.
    const system = mechanics({
      mass: [1, 2, 0.5],
      forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0.3, -g, 0])),
      constraints: [
        bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(tf.slice(q, 0, 2))), 1), 2)),
        compliant(({q}) => tf.slice(q, 2, 1), {compliance: 0.01}),
        nonholonomic(({q, v}) => tf.sub(tf.slice(v, 2, 1), tf.mul(tf.slice(q, 0, 1), tf.slice(v, 0, 1)))),
      ],
    });
    const start = {q: [1, 0, 0.1], v: [0, 0, 0]};
    for (const [alpha, beta] of [
      [1, 1],
      [0.5, 0.5],
      [0.6, 0.9],
      [1, 0.6],
    ]) {
      for (const stabilization of ['none', 'projection', 'projection-before'] as const) {
        slow(`α = ${alpha}, β = ${beta}, ${stabilization}: one motion with every unknown and step length`, () => {
          const paths = (['velocity', 'increment', 'acceleration'] as const).flatMap(unknown =>
            [full(), backtracking(), subSteps(0.5)].map(step =>
              run(system, start, {
                scheme: blendedEuler({alpha, beta, unknown}),
                stabilization,
                newton: newton({step}),
                dt: 0.01,
                steps: 20,
                engine,
              }),
            ),
          );
          for (const path of paths) {
            expect(farthest(path.q, paths[0].q)).to.be.below(1e-11);
            expect(farthest(path.lambda, paths[0].lambda)).to.be.below(1e-5);
            expect(Math.hypot(path.q[60], path.q[61])).to.be.closeTo(1, 1e-13);
            if (stabilization === 'projection')
              expect(path.q[60] * path.v[60] + path.q[61] * path.v[61]).to.be.closeTo(0, 1e-13);
          }
        });
      }
    }

    it('projecting before a step is projecting after the last: the same positions, another last velocity', () => {
      const pendulum = mechanics({mass: 1, forces: gravity, constraints: [rod]});
      for (const scheme of [blendedEuler({alpha: 0.5, beta: 0.5}), implicitEuler(), newmark()]) {
        const [after, before] = (['projection', 'projection-before'] as const).map(stabilization =>
          run(pendulum, {q: [1, 0], v: [0, 0]}, {scheme, stabilization, dt: 0.01, steps: 50, engine}),
        );
        expect(farthest(before.q, after.q)).to.be.below(1e-12);
        expect(farthest(before.v, after.v)).to.be.above(1e-8);
      }
    });

    it('λ starts where the last step left it: at rest there is next to nothing to do', () => {
      const {newton: iterations, lambda} = run(
        mechanics({mass: 1, forces: gravity, constraints: [rod]}),
        {q: [0, -1], v: [0, 0]},
        {scheme: blendedEuler({alpha: 1, beta: 1}), dt: 0.01, steps: 20, engine},
      );
      expect(lambda[20]).to.be.closeTo(-g, 1e-12);
      // Twenty steps: a residual of rounding may ask for one.
      expect(iterations).to.be.at.most(1);
    });
  });

  describe(`gradients are the same bits within any memory (${engine})`, () => {
    it('with contact, redundant rows and compliance of params', () => {
      const system = mechanics({
        mass: 1,
        forces: [gravity],
        constraints: [
          rod,
          rod,
          unilateral(({q}) => tf.add(tf.slice(q, 1, 1), 0.9)),
          compliant(({q}) => tf.slice(q, 0, 1), {compliance: ({c}) => tf.reshape(c as tf.Tensor, [])}),
        ],
      });
      const gradients = [Infinity, 4000, 500].map(memory => {
        const {trajectory, pullback} = simulate.vjp(
          system,
          {q: [0.8, 0.6], v: [0, 0]},
          {
            scheme: implicitEuler(),
            dt: 0.03,
            steps: 40,
            engine,
            params: {c: 2},
            adjoint: implicitAdjoint(memory === Infinity ? {} : {memory}),
            saveAt: 'end',
          },
        );
        trajectory.dispose();
        expect(trajectory.values('lambda')[4 + 2]).to.be.above(0);
        const {initial, params, recomputedSteps} = pullback({
          q: [
            [0, 0],
            [1, 2],
          ],
          lambda: [
            [0, 0, 0, 0],
            [0.1, 0.2, 0.3, 0.4],
          ],
        });
        return {
          numbers: [...(initial.q as Float64Array), ...(initial.v as Float64Array), (params.c as Float64Array)[0]],
          recomputedSteps,
        };
      });
      expect(gradients[2].recomputedSteps).to.be.above(40);
      for (const {numbers} of gradients) {
        expect(numbers).to.deep.equal(gradients[0].numbers);
        expect(numbers.every(Number.isFinite)).to.equal(true);
      }
    });
  });
}

describe('constrained steps that fail', () => {
  let before = 0;
  beforeEach(() => {
    before = tf.memory().numTensors;
  });
  afterEach(() => expect(tf.memory().numTensors).to.equal(before));
  /** The anchor moves off faster than the cart, which a wall keeps, can follow: no position obeys from t = 0.5 on. */
  const torn = mechanics({
    mass: 1,
    forces: gravity,
    constraints: [rod, bilateral(({q, t}) => tf.sub(tf.slice(q, 0, 1), tf.mul(2, tf.square(t))))],
  });
  const start = {q: [0, -1], v: [0, 0]};

  it('Newton without a root: the error names the rows by their constraint, and the time', () => {
    let error: unknown;
    try {
      simulate(torn, start, {scheme: implicitEuler(), dt: 0.05, steps: 20});
    } catch (caught) {
      error = caught;
    }
    expect(error).to.be.instanceOf(Error);
    expect(String(error)).to.match(/Step 1\d of implicitEuler, from t = 0\.[67]/);
    expect(String(error)).to.match(/lambda\[0\] \(constraints\[0\]\)/);
  });

  it('throw: false gives the status and what was reached', () => {
    for (const newtonOptions of [
      newton(),
      newton({onFailure: 'halve'}),
      newton({linear: gmres({preconditioner: 'constraint'})}),
    ]) {
      const path = simulate(torn, start, {
        scheme: implicitEuler(),
        dt: 0.05,
        steps: 20,
        throw: false,
        newton: newtonOptions,
      });
      path.dispose();
      expect(path.status).to.be.oneOf(['newton-diverged', 'singular', 'step-too-small', 'not-finite']);
      const [t, q] = [path.values('t'), path.values('q')];
      expect(t[t.length - 1]).to.be.within(0.6, 0.71);
      for (let n = 0; n < t.length; n++) expect(Math.hypot(q[2 * n], q[2 * n + 1])).to.be.closeTo(1, 1e-12);
    }
  });

  it('a motion without mass or constraint that holds it: the singular rows by name', () => {
    const same = mechanics({
      mass: 1,
      forces: gravity,
      constraints: [
        bilateral(({q}) => tf.stack([tf.sum(tf.square(q)), tf.mul(0, tf.sum(q))]).sub(tf.tensor1d([1, 0]))),
      ],
    });
    const path = simulate(same, start, {dt: 0.01, steps: 5});
    path.dispose();
    expect(path.warnings[0]).to.match(/^Redundant constraints: .*lambda\[1\] \(constraints\[0\] row 1\)/);
    expect(path.values('lambda')[11]).to.be.closeTo(0, 1e-9);
    expect(() =>
      simulate(mechanics({mass: [1, 0], forces: gravity, constraints: [rod]}), start, {dt: 0.01, steps: 5}),
    ).to.throw(OptionError, /^mass\[1\] is 0, and coordinates without a mass/);
  });

  it('options that are not what they should be', () => {
    expect(() => eisenstatWalker({alpha: 1})).to.throw(OptionError, /alpha/);
    expect(() => eisenstatWalker({most: 1})).to.throw(OptionError, /most/);
    expect(() => newton({forcing: 0.1 as never})).to.throw(OptionError, /eisenstatWalker/);
  });

  slow('a batch on worker threads gives the same bits, forcing and warnings included', function () {
    this.timeout(20000);
    const members = [1, 2, 3].map(k => ({q: [[k / 4, -Math.sqrt(1 - (k / 4) ** 2)]], v: [[0, 0]]}));
    const system = chain(1);
    const doubled = mechanics({
      mass: 1,
      forces: system.forces,
      constraints: [...system.constraints, ...system.constraints],
    });
    const options = {
      scheme: implicitEuler(),
      dt: 0.01,
      steps: 50,
      newton: newton({linear: gmres({preconditioner: 'constraint'}), forcing: eisenstatWalker()}),
    } as const;
    for (const model of [system, doubled]) {
      const own = batch(model, members, {...options, workers: 0});
      const others = batch(model, members, {...options, workers: 2});
      own.forEach((path, i) => {
        expect(others[i].values('q')).to.deep.equal(path.values('q'));
        expect(others[i].warnings).to.deep.equal(path.warnings);
        expect(path.warnings).to.have.length(model === doubled ? 1 : 0);
      });
      [...own, ...others].forEach(path => path.dispose());
    }
  });
});
