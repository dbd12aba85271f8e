/**
 * Several steps of a grid in one call, forwards (integrate/step-batch.ts) and back (adjoint/pull-blocks.ts), and the same step by
 * step: states, gradients, counts and failures are the same to the bit, whatever is saved, kept or cut short.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {PullBlocks} from '../../lib/adjoint/pull-blocks.js';
import type {Engine} from '../../lib/engine/engine.js';
import {wasm} from '../../lib/engine/index.js';
import type {
  Initial,
  MechanicalSystem,
  NumericParams,
  OdeSystem,
  SimulateOptions,
  Trajectory,
} from '../../lib/index.js';
import {
  bdf2,
  explicitEuler,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';
import {CallBatcher} from '../../lib/integrate/call-batcher.js';
import {StepSeries} from '../../lib/integrate/step-batch.js';

import {draw, stream} from '../simulate/numbers.js';
import {coupled, stepByStep} from '../simulate/step-by-step.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const apart = stepByStep(wasm, 'step by step');

/** Steps that were taken in calls, and pulled back in calls. */
let [taken, pulled] = [0, 0];

const [take, pull] = [StepSeries.prototype.take, PullBlocks.prototype.pull];

/** Springs k(d + c d³) along a row, driven: a tridiagonal Jacobian. */
const row = (n: number, seed: number): MechanicalSystem =>
  mechanics({
    mass: Array.from(draw(stream(seed), n).map(x => 2 + x)),
    forces: ({q, v, t, params}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.pow(d, 3)));
      const drive = tf.add(tf.mul(v, -0.1), tf.sin(tf.mul(t, 3)));
      return tf.add(tf.sub(tf.concat([tf.slice(tension, [1]), tf.zeros([1])]), tension), drive);
    },
  });

/** y' = tanh(W y) − y + sin t. */
const field = (n: number): OdeSystem =>
  ode(({y, t, params}) =>
    tf.add(tf.sub(tf.reshape(tf.tanh(tf.matMul(params.w as tf.Tensor2D, tf.reshape(y, [n, 1]))), [n]), y), tf.sin(t)),
  );

const mechanical = {
  implicitEuler: implicitEuler(),
  implicitMidpoint: implicitMidpoint(),
  trapezoid: trapezoid(),
  newmark: newmark(),
  generalizedAlpha: generalizedAlpha(),
  bdf2: bdf2(),
  gauss: gaussLegendre({stages: 2}),
  verlet: verlet(),
};

const steps = 150;
/** Lists are numbers of steps, which become times. */
const saves = fc.oneof(
  fc.constantFrom('all' as const, 'end' as const),
  fc.record({every: fc.integer({min: 1, max: 30})}),
  fc.uniqueArray(fc.integer({min: 0, max: steps - 1}), {minLength: 1, maxLength: 100}),
);
/** Bytes for steps: of all, of some, of as few states as can be. */
const budgets = fc.constantFrom(2 ** 30, 5000, 1);

interface Case {
  readonly system: MechanicalSystem | OdeSystem;
  readonly initial: Initial;
  readonly options: SimulateOptions & {readonly params: NumericParams};
}

interface Numbers {
  readonly stats: {readonly rejectedSteps: number};
}

/** States, times, gradient, counts and how it ended. */
function numbers({system, initial, options}: Case, engine: Engine): Numbers {
  const {trajectory, pullback} = simulate.vjp(system, initial, {...options, engine});
  const name = 'q' in initial ? 'q' : 'y';
  const values = (trajectory.values as (name: string) => Float64Array)(name);
  const {status, stats} = trajectory;
  const times = trajectory.values('t');
  const gradient = pullback({[name]: values.map((x, i) => x + Math.sin(i))});
  trajectory.dispose();
  return {
    ...{values, times, status},
    ...{initial: gradient.initial, params: gradient.params},
    stats: {...stats, ...{milliseconds: 0, engine: ''}},
  };
}

const same = (given: Case): void => expect(numbers(given, wasm)).to.deep.equal(numbers(given, apart)) as never;

const savedAt = (saveAt: ReturnType<typeof saves.generate>['value'], dt: number): SimulateOptions['saveAt'] =>
  Array.isArray(saveAt) ? [...saveAt].sort((a, b) => a - b).map(k => k * dt) : saveAt;

describe('integrate: several steps in one call', () => {
  before(() => {
    StepSeries.prototype.take = function (...given) {
      const count = take.apply(this, given);
      taken += count;
      return count;
    };
    PullBlocks.prototype.pull = function (segment, carried) {
      pulled += segment.to - segment.from;
      pull.call(this, segment, carried);
    };
  });
  after(() => {
    StepSeries.prototype.take = take;
    PullBlocks.prototype.pull = pull;
  });
  beforeEach(() => void ([taken, pulled] = [0, 0]));

  for (const [kind, make, sizes] of [
    ['tridiagonal', row, [4, 12]],
    ['dense, written out', coupled, [4, 8]],
    ['dense', coupled, [9, 12]],
  ] as const)
    for (const [name, scheme] of Object.entries(mechanical)) {
      // Two stages of a row are a band, which has no kernels.
      if (kind === 'tridiagonal' && name === 'gauss') continue;
      slow(`${kind}, ${name}: the same bits as step by step`, () => {
        const size = fc.integer({min: sizes[0], max: sizes[1]});
        fc.assert(
          fc.property(size, fc.nat(1e6), saves, budgets, fc.boolean(), (n, seed, saveAt, memory, cut) => {
            const dt = 0.02;
            const next = stream(seed + 1);
            same({
              system: make(n, seed),
              initial: {q: draw(next, n), v: draw(next, n)},
              options: {
                scheme,
                dt,
                // The last step may be shorter.
                ...(cut ? {t1: (steps - 0.5) * dt} : {steps}),
                saveAt: savedAt(saveAt, dt),
                adjoint: implicitAdjoint({memory}),
                params: {k: draw(next, n).map(x => 4 + x)},
              },
            });
          }),
          runs(5),
        );
        expect(taken).to.be.above(steps);
      });
    }

  for (const [name, scheme] of Object.entries({tsit5: tsit5(), rk4: rk4(), explicitEuler: explicitEuler()}))
    slow(`${name}: the same bits as step by step`, () => {
      fc.assert(
        fc.property(fc.integer({min: 1, max: 9}), fc.nat(1e6), saves, budgets, (n, seed, saveAt, memory) => {
          const next = stream(seed);
          const dt = 0.05;
          const w = Array.from({length: n}, () => Array.from(draw(next, n)));
          same({
            system: field(n),
            initial: {y: draw(next, n)},
            options: {
              scheme,
              dt,
              steps,
              saveAt: savedAt(saveAt, dt),
              adjoint: implicitAdjoint({memory}),
              params: {w},
            },
          });
        }),
        runs(6),
      );
      expect(taken).to.be.above(steps);
    });

  it('a run whose record fits goes in calls, there and back', () => {
    const given: Case = {
      system: row(8, 1),
      initial: {q: draw(stream(2), 8), v: draw(stream(3), 8)},
      options: {scheme: implicitMidpoint(), dt: 0.02, steps: 200, params: {k: new Float64Array(8).fill(4)}},
    };
    numbers(given, wasm);
    [taken, pulled] = [0, 0];
    const one = numbers(given, wasm);
    expect(taken).to.equal(200);
    // Of the last step the digits are measured.
    expect(pulled).to.equal(200);
    expect(one).to.deep.equal(numbers(given, apart));
  });

  it('many iterations a step, and tolerances that rounding does not let be met: the same bits', () => {
    for (const [dt, relative] of [
      [0.3, 1e-12],
      [0.3, 1e-16],
      [0.05, 1e-16],
    ])
      for (const absolute of [undefined, 1e-10]) {
        const next = stream(5);
        same({
          system: row(6, 7),
          initial: {q: draw(next, 6), v: draw(next, 6).map(x => 20 * x)},
          options: {
            scheme: implicitMidpoint(),
            dt,
            steps: 60,
            params: {k: draw(next, 6).map(x => 100 + x)},
            newton: newton({tolerance: {relative, absolute}}),
          },
        });
      }
    expect(taken).to.be.above(100);
  });

  for (const onFailure of ['throw', 'halve'] as const)
    for (const scheme of [implicitMidpoint(), trapezoid(), verlet()])
      it(`a step fails in the midst of a call (${scheme.name}, ${onFailure}): the same as step by step`, () => {
        // The force is not a number from t = 1.23 on.
        const system = mechanics({
          mass: 1,
          forces: ({q, t, params}) => {
            const before = tf.concat([tf.zeros([1]), tf.slice(q, [0], [3])]);
            const after = tf.concat([tf.slice(q, [1], [3]), tf.zeros([1])]);
            const pull = tf.sub(tf.add(before, after), tf.mul(3, tf.sin(q)));
            return tf.mul(tf.mul(params.k as tf.Tensor, pull), tf.sqrt(tf.sub(1.23, t)));
          },
        });
        const told = (engine: Engine): unknown => {
          const run = (quiet: boolean): Trajectory =>
            simulate(
              system,
              {q: [1, 2, -1, 0.5], v: [0, 0, 1, 0]},
              {scheme, dt: 0.02, steps: 100, params: {k: 3}, throw: !quiet, newton: newton({onFailure}), engine},
            );
          const trajectory = run(true);
          const {status, stats} = trajectory;
          const q = trajectory.values('q');
          trajectory.dispose();
          let message = '';
          try {
            run(false);
          } catch (error) {
            message = String(error);
          }
          return {status, message, q, failures: stats.failures, steps: stats.steps};
        };
        told(wasm);
        taken = 0;
        const one = told(wasm) as {status: string};
        expect(one.status).not.to.equal('completed');
        expect(taken).to.be.above(50);
        expect(one).to.deep.equal(told(apart));
      });

  it('a step that is halved in the midst of a run: the same bits, and the gradient of all of it', () => {
    const given: Case = {
      system: row(5, 3),
      initial: {q: draw(stream(8), 5).map(x => 10 * x), v: draw(stream(9), 5)},
      options: {
        scheme: implicitMidpoint(),
        dt: 0.03,
        steps: 80,
        params: {k: new Float64Array(5).fill(30)},
        newton: newton({onFailure: 'halve', maxIterations: 3}),
      },
    };
    const one = numbers(given, wasm);
    expect(one.stats.rejectedSteps).to.be.above(0);
    expect(taken).to.be.above(0);
    expect(one).to.deep.equal(numbers(given, apart));
  });

  it('a matrix with pivots that lose digits goes to the general factor, with the same bits', () => {
    // Without pivoting the first pivot, 1 − h²k/4 of a spring that pushes, is nearly nothing.
    const pushing = mechanics({
      mass: 1,
      forces: ({q, params}) => {
        const [left, right] = [tf.slice(q, [0], [3]), tf.slice(q, [1], [3])];
        const coupled = tf.add(tf.concat([right, tf.zeros([1])]), tf.concat([tf.zeros([1]), left]));
        return tf.add(tf.mul(params.k as tf.Tensor, tf.add(q, tf.mul(tf.pow(q, 3), 1e-9))), tf.mul(coupled, 300));
      },
    });
    const of = (engine: Engine): unknown => {
      const {trajectory, pullback} = simulate.vjp(
        pushing,
        {q: [1e-3, 2e-3, -1e-3, 3e-3], v: [0, 0, 0, 0]},
        {scheme: implicitMidpoint(), dt: 0.1, steps: 3, engine, params: {k: 400}},
      );
      const q = trajectory.values('q');
      trajectory.dispose();
      return {q, gradient: pullback({q}).params};
    };
    expect(of(wasm)).to.deep.equal(of(apart));
    expect(taken).to.equal(3);
  });

  it('a run is ended from its progress', () => {
    const abort = new AbortController();
    let at = Infinity;
    const many = 1e7;
    expect(() =>
      simulate(
        row(4, 1),
        {q: [1, 2, -1, 0.5], v: [0, 0, 1, 0]},
        {
          scheme: implicitMidpoint(),
          dt: 1e-4,
          steps: many,
          saveAt: 'end',
          params: {k: [3, 3, 3, 3]},
          signal: abort.signal,
          onProgress({step}) {
            at = step;
            abort.abort();
          },
        },
      ),
    ).to.throw('aborted by its signal');
    expect(at).to.be.within(1, many / 2);
    expect(taken).to.be.within(at - 2, at);
  });

  it('calls last some milliseconds where something looks between them', () => {
    const {now} = performance;
    let milliseconds = 0;
    performance.now = () => milliseconds;
    try {
      const pace = new CallBatcher(true);
      for (let i = 0; i < 5; i++) pace.time(() => pace.maxSteps);
      const before = pace.maxSteps;
      expect(before).to.equal(32);
      pace.time(() => {
        milliseconds += 16;
        return before;
      });
      expect(pace.maxSteps).to.be.at.most(Math.max(1, before / 4));
    } finally {
      performance.now = now;
    }
    const free = new CallBatcher(false);
    free.time(() => 1);
    expect(free.maxSteps).to.equal(Infinity);
  });
});
