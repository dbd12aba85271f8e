/** Gradients by tangents beside the run: the implicit adjoint's, to rounding, on grids and step histories, for whatever a run keeps. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Pullback, SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  batch,
  bilateral,
  forwardSensitivity,
  generalizedAlpha,
  implicitAdjoint,
  kvaerno3,
  mechanics,
  newton,
  radauIIA5,
  simulate,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {prepare} from '../../../lib/simulate/prepare.js';
import type {P} from '../history/swing.js';
import {hit, pass, swing, times} from '../history/swing.js';
import {doubleEngines} from '../../simulate/engines.js';
import {norm, relative} from '../../simulate/numbers.js';
import {evaluate, gradientOf, pointOf, recipe, sampleOf, weightsOf} from '../../simulate/random.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

/** All numbers of a gradient. */
const flat = ({initial, params}: Pullback): Float64Array =>
  Float64Array.from([
    ...Object.values(initial).flatMap(block => [...(block as Float64Array)]),
    ...Object.values(params).flatMap(leaf => [...(leaf as Float64Array)]),
  ]);

describe('forward sensitivities', () => {
  slow("of random runs are the implicit adjoint's", () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const sample = sampleOf(chosen);
        const point = pointOf(sample);
        const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
        const implicit = gradientOf(sample, point, () => weights);
        const forward = gradientOf(sample, point, () => weights, {adjoint: forwardSensitivity()});
        // Newton's 1e-14 a step: Jacobians that were kept from step to step leave another last bit.
        expect(norm(forward.map((g, i) => g - implicit[i]))).to.be.below(1e-11 * norm(implicit));
      }),
      runs(12, 20240229),
    );
  });

  const observe: SimulateOptions['observe'] = ({q, t, params}) => tf.mul((params as P).e, tf.add(tf.square(q), t));
  const histories: {readonly [name: string]: SimulateOptions} = {
    'states between steps': {dt: 0.1, t1: 2, saveAt: times},
    'jumps and noted events': {dt: 0.1, t1: 2, saveAt: times, events: [hit, pass]},
    'the end of a run with jumps': {dt: 0.1, t1: 2, saveAt: 'end', events: [hit, pass]},
    'adaptive steps': {
      dt: 0.1,
      t1: 2,
      saveAt: 'all',
      control: adaptive({sensitivities: false, rtol: 1e-5, atol: 1e-7}),
    },
    'adaptive steps with jumps': {
      dt: 0.1,
      t1: 2,
      saveAt: times,
      control: adaptive({sensitivities: false, rtol: 1e-5, atol: 1e-7}),
      events: [pass, hit],
    },
    'an observed function': {dt: 0.1, t1: 2, saveAt: times, events: [hit], observe},
    'observed on the grid': {dt: 0.1, steps: 20, observe, saveAt: {every: 3}},
  };
  for (const [name, options] of Object.entries(histories)) {
    slow(`along ${name}, times of events among what is asked`, () => {
      for (const scheme of [trapezoid(), tsit5(), kvaerno3()]) {
        for (const {name: engine} of doubleEngines) {
          const all = {...options, scheme, engine, params: {k: [3, 5], c: 0.4, e: 0.7}};
          const gradient = (adjoint: SimulateOptions['adjoint']): Float64Array => {
            const {trajectory, pullback} = simulate.vjp(swing, {q: [1, 0.7], v: [0.2, -0.1]}, {...all, adjoint});
            const wave = (values: ArrayLike<number>): Float64Array =>
              Float64Array.from(values, (_, i) => Math.sin(2 * i + 1));
            const cotangent = {
              q: wave(trajectory.values('q')),
              v: wave(trajectory.values('v')),
              ...(options.events === undefined ? {} : {events: wave(trajectory.events.map(({t}) => t))}),
              ...(options.observe === undefined ? {} : {observed: wave(trajectory.values('observed'))}),
            };
            trajectory.dispose();
            return flat(pullback(cotangent));
          };
          expect(
            relative(gradient(forwardSensitivity()), gradient(implicitAdjoint())),
            `${scheme.name}, ${engine}`,
          ).to.be.below(1e-11);
        }
      }
    });
  }

  slow('with constraints, the start and the multipliers with them', () => {
    const pendulum = mechanics({
      mass: ({params}) => (params as P).m,
      forces: ({params}) => tf.mul((params as P).m, tf.concat([tf.zeros([1]), tf.neg((params as P).g)])),
      constraints: [bilateral(({q, params}) => tf.sub(tf.sum(tf.square(q)), tf.square((params as P).l)))],
    });
    for (const [scheme, stabilization] of [
      [generalizedAlpha(), 'none'],
      [generalizedAlpha(), 'ggl'],
      [radauIIA5(), undefined],
    ] as const) {
      const gradient = (adjoint: SimulateOptions['adjoint']): Float64Array => {
        const {trajectory, pullback} = simulate.vjp(
          pendulum,
          {q: [1, 0], v: [0, 0.3]},
          {scheme, stabilization, dt: 0.02, steps: 25, params: {m: 1.5, g: [9.81], l: 1}, adjoint},
        );
        const {lambda} = trajectory;
        const cotangent = {
          q: trajectory.values('q'),
          v: trajectory.values('v'),
          ...(lambda === undefined ? {} : {lambda: trajectory.values('lambda')}),
        };
        trajectory.dispose();
        return flat(pullback(cotangent));
      };
      expect(relative(gradient(forwardSensitivity()), gradient(implicitAdjoint())), scheme.name).to.be.below(1e-10);
    }
  });

  it("on tfjs's tape, and again for every cotangent", () => {
    const k = tf.variable(tf.tensor1d([3, 5]));
    const free = mechanics({mass: [1, 2], forces: ({q}) => tf.neg(tf.mul(k, tf.sinh(q)))});
    const options = {scheme: trapezoid(), dt: 0.05, steps: 30, saveAt: 'end'} as const;
    const slope = (adjoint: SimulateOptions['adjoint']): Float32Array => {
      const {value, grads} = tf.variableGrads(
        () => tf.sum(tf.square(simulate(free, {q: [1, 0.7], v: [0, 0]}, {...options, adjoint}).q)) as tf.Scalar,
      );
      const values = grads[k.name].dataSync() as Float32Array;
      tf.dispose([value, grads[k.name]]);
      return values;
    };
    expect(relative(slope(forwardSensitivity()), slope(implicitAdjoint()))).to.be.below(1e-6);

    const forward = simulate.vjp(free, {q: [1, 0.7], v: [0, 0]}, {...options, adjoint: forwardSensitivity()});
    const implicit = simulate.vjp(free, {q: [1, 0.7], v: [0, 0]}, options);
    for (let i = 0; i < 4; i++) {
      const q = [0, 0, 0, 0].map((_, j) => (i === j ? 1 : 0));
      const [one, other] = [forward, implicit].map(({pullback}) => pullback({q}).variables.get(k) as Float64Array);
      if (i < 2) expect([...one, ...other]).to.deep.equal([0, 0, 0, 0]);
      else expect(relative(one, other)).to.be.below(1e-12);
    }
    forward.trajectory.dispose();
    implicit.trajectory.dispose();
    k.dispose();
  });

  it('keep as many numbers for a long run as for a short one', () => {
    const kept = (more: Partial<RunSettings> & {steps?: number; t1?: number}): number => {
      const options = {
        scheme: trapezoid(),
        dt: 0.01,
        saveAt: 'end',
        params: {k: [3, 5], c: 0, e: 0},
        adjoint: forwardSensitivity(),
        ...more,
      } as SimulateOptions;
      const prepared = prepare(swing, {q: [1, 0.7], v: [0, 0]}, options);
      const keep = prepared.adjoint.run(prepared).tape?.serialize?.() ?? {};
      if (keep.sensitivities === undefined) throw new Error('no sensitivities');
      expect(Object.keys(keep)).to.deep.equal(['sensitivities']);
      return keep.sensitivities.states.reduce((sum, {length}) => sum + length, 0);
    };
    // 8 directions of 4 numbers, at the start and at the end.
    expect(kept({steps: 5})).to.equal(64);
    expect(kept({steps: 500})).to.equal(64);
    expect(kept({t1: 5, control: adaptive()})).to.equal(64);
  });

  it('of a run that failed are those of the part that was reached', () => {
    const wall = mechanics({mass: 1, forces: ({q, params}) => tf.div(params.k as tf.Tensor, tf.sqrt(q))});
    const gradient = (adjoint: SimulateOptions['adjoint']): {count: number; k: number} => {
      const {trajectory, pullback} = simulate.vjp(
        wall,
        {q: 1, v: -2},
        {
          scheme: trapezoid(),
          dt: 0.1,
          steps: 30,
          params: {k: -1},
          throw: false,
          adjoint,
          newton: newton({maxIterations: 20}),
        },
      );
      const count = trajectory.values('q').length;
      expect(trajectory.status).to.not.equal('completed');
      trajectory.dispose();
      return {count, k: (pullback({q: new Float64Array(count).fill(1)}).params.k as Float64Array)[0]};
    };
    const [forward, implicit] = [gradient(forwardSensitivity()), gradient(implicitAdjoint())];
    expect(forward.count).to.equal(implicit.count);
    expect(forward.k / implicit.k).to.be.closeTo(1, 1e-12);
  });

  it('of a batch are the same to the last bit on every number of threads', () => {
    const members = Array.from({length: 6}, (_, i) => ({q: [1, 0.1 * i], v: [0, 0]}));
    const options = {
      scheme: trapezoid(),
      dt: 0.05,
      steps: 20,
      params: {k: [3, 5], c: 0, e: 0},
      saveAt: 'end',
      adjoint: forwardSensitivity(),
    } as const;
    const sums = [0, 2].map(workers => {
      const {trajectories, pullback} = batch.vjp(swing, members, {...options, workers});
      trajectories.forEach(trajectory => trajectory.dispose());
      return pullback(members.map(() => ({q: [0, 0, 1, 2]}))).params.k as Float64Array;
    });
    expect(sums[0]).to.deep.equal(sums[1]);
  });

  it('leave no tensors behind', () => {
    const before = tf.memory().numTensors;
    const {trajectory, pullback} = simulate.vjp(
      swing,
      {q: [1, 0.7], v: [0, 0]},
      {...histories['jumps and noted events'], params: {k: [3, 5], c: 0.4, e: 0.7}, adjoint: forwardSensitivity()},
    );
    pullback({q: trajectory.values('q')});
    trajectory.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });
});
