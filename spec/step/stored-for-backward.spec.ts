import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ParameterCotangents} from '../../lib/adjoint/parameter-cotangents.js';
import {implicitPull} from '../../lib/adjoint/implicit-pull.js';
import {StepRecord} from '../../lib/adjoint/record.js';
import type {SimulateOptions} from '../../lib/index.js';
import {
  explicitEuler,
  rk4,
  implicitAdjoint,
  implicitMidpoint,
  kvaerno3,
  mechanics,
  newmark,
  ode,
  simulate,
} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {Stepper} from '../../lib/integrate/stepper.js';
import {loadParameters} from '../../lib/step/context.js';
import {directSolver} from '../../lib/step/solvers.js';
import {mlp, springMesh} from '../../models/index.js';
import {slow} from '../tiers.js';

/** Unit masses in a row on springs k(d + d³/2). */
const chain = (n: number) =>
  mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(tf.mul(tf.mul(d, d), d), 0.5)));
      return tf.sub(tf.sub(tf.concat([tf.slice(tension, [1], [n - 1]), tf.zeros([1])]), tension), tf.mul(v, 0.1));
    },
  });

const start = (n: number) => ({
  q: Array.from({length: n}, (_, i) => 0.1 * Math.sin(i + 1)),
  v: new Array<number>(n).fill(0.2),
});

describe('step: what is kept of a step', () => {
  const n = 5;
  const options: SimulateOptions = {scheme: implicitMidpoint(), dt: 0.1, steps: 4, params: {k: [3, 4, 5, 6, 7]}};

  it('is twice the positions at the midpoint, of a chain: n numbers for 3n', () => {
    const prepared = {...prepare(chain(n), start(n), options), storage: 'narrow' as const};
    expect(prepared.compiled.storage.size).to.equal(n);
    const {q, v} = start(n);
    const stepper = new Stepper(prepared, Float64Array.from([...q, ...v]), false, true);
    stepper.recorder.record = new StepRecord(n, 0, 1);
    expect(stepper.attempt(0, 0.1)).to.equal('completed');
    const kept = new Float64Array(n);
    stepper.recorder.record.load(0, {x: kept});
    kept.forEach((twice, i) => expect(twice).to.be.closeTo(q[i] + stepper.state[i], 1e-15));
  });

  it('is left by a program that replaces the update of an explicit step, which is all of its work', () => {
    const network = mlp({sizes: [2, 16, 2], seed: 1});
    const prepared = prepare(
      ode(({y}) => network.apply(tf.reshape(y, [1, 2]))),
      {y: [[1, 2]]},
      {scheme: rk4(), dt: 0.1, steps: 3},
    );
    const {
      compiled,
      options: {newton},
    } = prepared;
    const keeping = compiled.forward(newton.linear, 'narrow');
    expect([keeping.has('keep'), keeping.has('update')]).to.deep.equal([true, false]);
    expect(compiled.forward(newton.linear).has('update')).to.equal(true);
    // Steps with and without a record are one step, to the last bit.
    const ends = [undefined, 'narrow' as const].map(storage => {
      const stepper = new Stepper({...prepared, storage}, Float64Array.of(1, 2), false, true);
      for (let k = 0; k < 3; k++) expect(stepper.attempt(0.1 * k, 0.1)).to.equal('completed');
      return [...stepper.state];
    });
    expect(ends[1]).to.deep.equal(ends[0]);
    // Of an implicit one it goes along with its other programs, which are compiled once for both.
    const midpoint = prepare(chain(n), start(n), options);
    const implicit = midpoint.compiled.forward(midpoint.options.newton.linear, 'narrow');
    expect([implicit.has('keep'), implicit.has('update')]).to.deep.equal([true, true]);
  });

  it('is nothing where the way back needs nothing: a linear system, of its initial state', () => {
    const prepared = prepare(
      ode(({y}) => tf.mul(y, -2)),
      {y: [1, 2]},
      {scheme: explicitEuler(), dt: 0.1, steps: 3},
    );
    expect(prepared.compiled.storage.size).to.equal(0);
    const {pullback, trajectory} = simulate.vjp(
      ode(({y}) => tf.mul(y, -2)),
      {y: [1, 2]},
      {scheme: explicitEuler(), dt: 0.1, steps: 3, saveAt: 'end'},
    );
    const {initial} = pullback({
      y: [
        [0, 0],
        [1, 3],
      ],
    });
    expect([...(initial.y ?? [])].map((cotangent, i) => cotangent / [1, 3][i])).to.satisfy((cotangents: number[]) =>
      cotangents.every(cotangent => Math.abs(cotangent - 0.8 ** 3) < 1e-15),
    );
    trajectory.dispose();
  });

  for (const engine of ['interpreter', 'wasm'] as const) {
    for (const scheme of [implicitMidpoint(), newmark()]) {
      it(`gives the gradient that state and unknown give, to the bit: ${scheme.name}, ${engine}`, () => {
        const prepared = prepare(chain(n), start(n), {...options, scheme, engine});
        const {compiled, traced, linear} = prepared;
        const {q, v} = start(n);
        const state = new Float64Array(traced.state.size);
        state.set([...q, ...v]);
        const pulled = ([true, false] as const).map(narrow => {
          const context = {...prepared, storage: narrow ? ('narrow' as const) : undefined};
          const stepper = new Stepper(context, state, false, true);
          stepper.recorder.record = narrow
            ? new StepRecord(compiled.storage.size, 0, 1)
            : new StepRecord(traced.state.size, traced.unknown.size, 1);
          expect(stepper.attempt(0, 0.1)).to.equal('completed');
          const executable = narrow
            ? compiled.adjoint(directSolver(linear))
            : compiled.fullAdjoint(directSolver(linear));
          loadParameters(executable, context);
          const cotangents = new ParameterCotangents(context, executable, compiled.canAccumulate);
          const xCotangent = Float64Array.from(state, (_, i) => Math.cos(i));
          implicitPull(context, executable, cotangents)(stepper.recorder.record, 0, xCotangent, true);
          return [...xCotangent, ...cotangents.finish()[0]];
        });
        expect(pulled[0]).to.deep.equal(pulled[1]);
        expect(pulled[0].some(value => value !== 0)).to.equal(true);
      });
    }
  }

  for (const activation of ['softplus', 'tanh', 'sigmoid'] as const) {
    for (const engine of ['interpreter', 'wasm'] as const) {
      it(`is every layer of a network; the gradient is the same to the bit: ${activation}, ${engine}`, () => {
        const [rows, hidden] = [3, 8];
        const network = mlp({sizes: [2, hidden, hidden, 2], activation, seed: 4});
        const y = Array.from({length: rows}, (_, i) => [Math.sin(i), Math.cos(2 * i)]);
        const prepared = prepare(
          ode(({y}) => network.apply(y)),
          {y},
          {scheme: rk4(), dt: 0.1, steps: 4, engine},
        );
        const {compiled, traced, linear} = prepared;
        // Of four stages, what goes into three layers, and of the hidden ones what their derivative is made of beside that.
        const beside = activation === 'softplus' ? 2 * hidden : 0;
        expect(compiled.storage.size).to.equal(4 * rows * (2 + 2 * hidden + beside));
        const pulled = ([true, false] as const).map(narrow => {
          const context = {...prepared, storage: narrow ? ('narrow' as const) : undefined};
          const stepper = new Stepper(context, Float64Array.from(y.flat()), false, true);
          stepper.recorder.record = new StepRecord(narrow ? compiled.storage.size : traced.state.size, 0, 1);
          expect(stepper.attempt(0, 0.1)).to.equal('completed');
          const executable = narrow
            ? compiled.adjoint(directSolver(linear))
            : compiled.fullAdjoint(directSolver(linear));
          loadParameters(executable, context);
          const cotangents = new ParameterCotangents(context, executable, compiled.canAccumulate);
          const xCotangent = Float64Array.from(y.flat(), (_, i) => Math.cos(i));
          implicitPull(context, executable, cotangents)(stepper.recorder.record, 0, xCotangent, true);
          return [...xCotangent, ...cotangents.finish().flatMap(part => [...part])];
        });
        expect(pulled[0]).to.deep.equal(pulled[1]);
        expect(pulled[0].every(value => value !== 0)).to.equal(true);
        for (const variable of network.variables) variable.dispose();
      });
    }
  }

  it('lets three times the steps fit into the same memory', () => {
    const bytes = 8 * (2 + n) * 4;
    const vjp = (memory: number) => {
      const {trajectory, pullback} = simulate.vjp(chain(n), start(n), {
        ...options,
        adjoint: implicitAdjoint({memory}),
        saveAt: 'end',
      });
      const cotangents = pullback({q: [new Array<number>(n).fill(0), new Array<number>(n).fill(1)]});
      trajectory.dispose();
      return cotangents.params.k as Float64Array;
    };
    expect([...vjp(bytes)]).to.deep.equal([...vjp(2 ** 30)]);
    expect([...vjp(bytes - 1)]).to.deep.equal([...vjp(2 ** 30)]);
  });

  slow('does not change the step: states, and gradients from states or from records, are the same to the bit', () => {
    // Of this step what is kept costs less with factors late, the update does not.
    const cloth = springMesh({
      rows: 3,
      columns: 4,
      spacing: 0.3,
      mass: 0.1,
      g: 9.81,
      drag: 0.02,
      stiffness: params => params.k as tf.Tensor,
    });
    const initial = {q: cloth.positions, v: cloth.positions.map(() => [0, 0, 0])};
    const run: SimulateOptions = {scheme: kvaerno3(), dt: 0.02, steps: 12, saveAt: 'end', params: {k: 100}};
    const cotangent = {q: Float64Array.from({length: 2 * 3 * cloth.positions.length}, (_, i) => Math.cos(i))};
    const alone = simulate(cloth, initial, run);
    const [roomy, tight] = [2 ** 26, 6000].map(memory => {
      const {trajectory, pullback} = simulate.vjp(cloth, initial, {...run, adjoint: implicitAdjoint({memory})});
      for (const name of ['q', 'v'] as const) expect(trajectory.values(name)).to.deep.equal(alone.values(name));
      trajectory.dispose();
      const {initial: cotangents, params} = pullback(cotangent);
      return {cotangents, params};
    });
    alone.dispose();
    expect(tight).to.deep.equal(roomy);
  });
});
