/**
 * Newton with every linear solver: the same run and gradient, symmetric matrices by Cholesky and the
 * symmetric Krylov methods, and a solver's failure as a NewtonError with its cause.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {LinearSolver, MechanicalSystem, Newton} from '../../lib/index.js';
import {
  auto,
  backtracking,
  cg,
  cholesky,
  gmres,
  implicitMidpoint,
  lu,
  mechanics,
  minres,
  NewtonError,
  newton,
  simulate,
  SingularMatrixError,
  sparseLdlt,
  sparseLu,
  StiffgradError,
  tensorflow,
  trapezoid,
} from '../../lib/index.js';
import {springMesh} from '../../models/index.js';
import {relative} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const n = 6;
const initial = {q: [0.1, -0.2, 0.05, 0, 0.3, -0.1], v: new Float64Array(n)};

/** Hardening springs between unequal masses: conservative, so J is symmetric, and positive definite. */
const conservative = mechanics({
  mass: [1, 2, 1, 1, 3, 1],
  forces: ({q, params}) => {
    const strain = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, 0, n - 1)]));
    const tension = tf.mul(params.k as tf.Tensor, tf.add(strain, tf.pow(strain, 3)));
    return tf.sub(tf.concat([tf.slice(tension, 1), tf.zeros([1])]), tension);
  },
});

/** Springs as above and a gyroscopic coupling of neighbours: J is not symmetric. */
const gyroscopic = mechanics({
  mass: 1,
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.add(q, tf.pow(q, 3)))),
    ({v}) =>
      tf.reshape(
        tf.matMul(
          tf.tensor2d([
            [0, 30],
            [-30, 0],
          ]),
          tf.reshape(v, [2, 3]),
        ),
        [n],
      ),
  ],
});

interface Outcome {
  readonly states: Float64Array;
  readonly gradient: Float64Array;
  readonly stats: ReturnType<typeof simulate>['stats'];
}

function run(system: MechanicalSystem, how: Newton, scheme = implicitMidpoint()): Outcome {
  const {trajectory, pullback} = simulate.vjp(system, initial, {
    scheme,
    dt: 0.05,
    steps: 15,
    params: {k: 100},
    newton: how,
    saveAt: 'end',
  });
  const states = trajectory.values('q');
  trajectory.dispose();
  const {initial: cotangents, params} = pullback({
    q: states.map((x, i) => (i < n ? 0 : x)),
    v: states.map((_, i) => (i < n ? 0 : 1)),
  });
  return {
    states,
    gradient: Float64Array.from([...(cotangents.q ?? []), ...(cotangents.v ?? []), ...(params.k as Float64Array)]),
    stats: trajectory.stats,
  };
}

const general: readonly LinearSolver[] = [
  auto(),
  lu(),
  tensorflow(),
  gmres(),
  gmres({preconditioner: 'diagonal'}),
  gmres({restart: 3, maxIterations: 1000}),
];
const symmetric: readonly LinearSolver[] = [cholesky(), cg(), cg({preconditioner: 'diagonal'}), minres()];

describe('newton: linear solvers', () => {
  for (const [title, system, solvers] of [
    ['symmetric', conservative, [...general, ...symmetric]],
    ['not symmetric', gyroscopic, general],
  ] as const) {
    it(`a ${title} Newton matrix: every solver that can gives the same run and gradient`, () => {
      const expected = run(system, newton({linear: lu()}));
      for (const linear of solvers) {
        const {states, gradient, stats} = run(system, newton({linear}));
        // Newton's tolerance with its margin, 1e-14, over 15 steps; a Krylov solution is exact to 1e-10 of a last correction below that.
        expect(relative(states, expected.states), linear.name).to.be.below(1e-12);
        // The adjoint of a matrix-free run is solved directly; tensorflow's refines to rounding.
        expect(relative(gradient, expected.gradient), linear.name).to.be.below(1e-11);
        expect(stats.newtonIterations).to.equal(expected.stats.newtonIterations);
      }
    });
  }

  it('matrix-free runs evaluate and factor no matrix, and count the products', () => {
    const {stats} = run(conservative, newton({linear: cg()}));
    expect(stats).to.include({jacobianEvaluations: 0, factorizations: 0, linear: 'cg'});
    // One solve an iteration and the test's, at most n products each in exact arithmetic, a few more with rounding.
    expect(stats.linearIterations).to.be.within(stats.newtonIterations, (stats.newtonIterations + 15) * (n + 3));
  });

  it('a guess with a first residual of its own works with a Krylov method too', () => {
    const expected = run(conservative, newton(), trapezoid({guess: 'current'}));
    const {states, gradient} = run(conservative, newton({linear: gmres()}), trapezoid({guess: 'current'}));
    expect(relative(states, expected.states)).to.be.below(1e-12);
    expect(relative(gradient, expected.gradient)).to.be.below(1e-11);
  });

  it('a Krylov method converges with chords, automatic Jacobians and line searches', () => {
    const expected = run(conservative, newton());
    for (const how of [
      newton({linear: gmres(), jacobian: 'chord'}),
      newton({linear: gmres(), jacobian: 'auto'}),
      newton({linear: minres(), step: backtracking()}),
    ]) {
      expect(relative(run(conservative, how).states, expected.states)).to.be.below(1e-11);
    }
  });

  describe('failures', () => {
    function failure(system: MechanicalSystem, linear: LinearSolver): NewtonError {
      try {
        run(system, newton({linear}));
      } catch (error) {
        expect(error).to.be.instanceOf(NewtonError);
        return error as NewtonError;
      }
      return expect.fail('not thrown');
    }

    it('too few Krylov iterations', () => {
      const error = failure(conservative, gmres({maxIterations: 2}));
      expect(error.code).to.equal('newton-diverged');
      expect(error.cause).to.be.instanceOf(StiffgradError).with.property('code', 'linear-not-converged');
      expect(error.message).to.match(
        /^Step 0 of implicitMidpoint, from t = 0 with h = 0\.05: the linear solver failed in iteration 1\. gmres: the residual is still .* Give a preconditioner/,
      );
      expect(error.message).not.to.match(/\.\.|backtracking/);
    });

    it('a symmetric method on a matrix that is not: refused, not solved wrongly', () => {
      const cause = (linear: LinearSolver): string | undefined =>
        (failure(gyroscopic, linear).cause as StiffgradError | undefined)?.code;
      expect(cause(cholesky())).to.equal('not-symmetric');
      expect(cause(cg())).to.be.oneOf(['linear-not-converged', 'linear-stagnation', 'not-positive-definite']);
      expect(cause(minres())).to.be.oneOf(['linear-not-converged', 'linear-stagnation']);
    });

    it('a definite method on an indefinite matrix', () => {
      // A spring of negative stiffness: M − h²K/4 has the pivot 1 − 0.05² · 4000/4 < 0.
      const buckled = mechanics({
        mass: 1,
        forces: ({q, params}) => tf.mul(4000, tf.add(q, tf.mul(0, params.k as tf.Tensor))),
      });
      for (const linear of [cholesky(), cg({preconditioner: 'diagonal'})]) {
        const error = failure(buckled, linear);
        expect(error.code).to.equal('newton-diverged');
        expect(error.cause).to.have.property('code', 'not-positive-definite');
        expect(error.message).to.match(/not positive definite/);
      }
    });

    it("with onFailure: 'halve' a shorter step is tried: it is definite", () => {
      const buckled = mechanics({mass: 1, forces: ({q}) => tf.mul(4000, q)});
      const path = simulate(
        buckled,
        {q: [1], v: [0]},
        {scheme: implicitMidpoint(), dt: 0.05, steps: 2, newton: newton({linear: cholesky(), onFailure: 'halve'})},
      );
      path.dispose();
      // 1 − h²·1000 > 0 from h = 0.025 on; each step of the midpoint rule is q⁺ = q + h(v + v⁺)/2 with v⁺ from it.
      expect(path.stats).to.include({rejectedSteps: 2, steps: 4});
      let [q, v] = [1, 0];
      for (let k = 0; k < 4; k++) {
        const h = 0.025;
        const next = (v * (1 + 1000 * h * h) + 4000 * h * q) / (1 - 1000 * h * h);
        q += (h * (v + next)) / 2;
        v = next;
      }
      expect(path.values('q')[2]).to.be.closeTo(q, 1e-10 * Math.abs(q));
    });

    it('a singular Newton matrix names its rows', () => {
      // A massless coordinate passes the check of the mass only as a function of q; here two springs cancel the inertia: 1 − h²·K/4 = 0.
      const critical = mechanics({mass: 1, forces: ({q}) => tf.mul([4 / 0.05 ** 2, -1], q)});
      try {
        simulate(
          critical,
          {q: [1, 1], v: [0, 0]},
          {scheme: implicitMidpoint(), dt: 0.05, steps: 1, newton: newton({linear: lu()})},
        ).dispose();
        expect.fail('not thrown');
      } catch (error) {
        expect(error).to.be.instanceOf(SingularMatrixError);
        const {code, data, message, cause} = error as SingularMatrixError;
        expect(code).to.equal('singular-step');
        expect(data.rows).to.deep.equal(['velocity[0]']);
        expect(cause).to.have.property('code', 'singular-matrix');
        expect(message).to.match(
          /the Newton matrix is singular; velocity\[0\] carries no information of its own\. Check masses/,
        );
      }
    });

    slow('an infinite derivative: the same failure from every solver, and a shorter step where asked for', () => {
      // 1 + √q is finite in 0, its slope is not.
      const root = mechanics({mass: 1, forces: ({q}) => tf.add(tf.sqrt(q), 1)});
      const options = {scheme: implicitMidpoint(), dt: 0.05, steps: 1} as const;
      for (const linear of [...general, ...symmetric, sparseLu(), sparseLdlt()]) {
        for (const size of [1, 3, 12, 40]) {
          const path = simulate(
            root,
            {q: new Float64Array(size), v: new Float64Array(size)},
            {...options, throw: false, newton: newton({linear})},
          );
          path.dispose();
          expect(path.status, `${linear.name}, ${size}`).to.equal('not-finite');
          const halved = simulate(
            root,
            {q: new Float64Array(size), v: new Float64Array(size)},
            {...options, throw: false, newton: newton({linear, onFailure: 'halve'})},
          );
          halved.dispose();
          expect(halved.status, `${linear.name}, ${size}, halved`).to.equal('step-too-small');
          expect(halved.stats.failures['not-finite'], `${linear.name}, ${size}, halved`).to.equal(11);
        }
      }
    });
  });

  slow('a cloth that buckles in a step far too long: every matrix is factored as symmetric', () => {
    // Its tangent stiffness cancels where springs slacken, and rounding then differs between mirrored entries.
    const rows = 24;
    const cloth = springMesh({
      rows,
      columns: rows,
      spacing: 1 / (rows - 1),
      held: [
        [0, 0],
        [0, rows - 1],
      ],
      mass: 1 / rows ** 2,
      g: 9.81,
      stiffness: 100,
    });
    const kinds = new Map<string, number>();
    const watched: LinearSolver = {
      name: 'auto, watched',
      analyze(pattern) {
        const analysis = auto().analyze(pattern);
        return {
          ...analysis,
          kind: analysis.kind,
          n: analysis.n,
          nonzeros: analysis.nonzeros,
          work: analysis.work,
          createFactor: () => analysis.createFactor(),
          factor(values) {
            const factor = analysis.factor(values);
            kinds.set(factor.kind, (kinds.get(factor.kind) ?? 0) + 1);
            return factor;
          },
        };
      },
    };
    const q = cloth.positions;
    const run = simulate(
      cloth,
      {q, v: q.map(() => [0, 0, 0])},
      {scheme: implicitMidpoint(), dt: 0.2, steps: 6, throw: false, newton: newton({linear: watched})},
    );
    run.dispose();
    expect(run.status).to.equal('newton-diverged');
    expect([...kinds.keys()]).to.deep.equal(['ldlt']);
    // The fifty of the step that fails, at least.
    expect(kinds.get('ldlt')).to.be.at.least(50);
  });
});
