/** What a run would keep is estimated before it is allocated, and counted beyond 2³²; what has no room in WebAssembly runs elsewhere. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {BatchOptions, SimulateOptions} from '../../lib/index.js';
import type {Span} from '../../lib/simulate/options.js';
import {
  adaptive,
  batch,
  event,
  forwardSensitivity,
  implicitAdjoint,
  MemoryError,
  mechanics,
  ode,
  OptionError,
  rk4,
  simulate,
} from '../../lib/index.js';
import {readGrid, savedSteps} from '../../lib/integrate/grid.js';
import {slow} from '../tiers.js';

const spring = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
const start = {q: 1, v: 0};
const decay = ode(({y}) => tf.neg(y));

describe('memory of a run', () => {
  const refused = (f: () => unknown, ...words: RegExp[]): void => {
    const before = tf.memory().numTensors;
    for (const word of words)
      expect(f, String(word)).to.throw(MemoryError, word).with.property('code', 'out-of-memory');
    expect(tf.memory().numTensors).to.equal(before);
  };

  slow('is refused at once where there is no such machine, with how much it is and what to change', () => {
    for (const steps of [1e12, 1e15])
      refused(
        () => simulate(spring, start, {dt: 1e-3, steps}),
        new RegExp(`${steps + 1} saved steps`),
        /about 8(\.0)? [TP]B are needed/,
        /saveAt: 'end', \{every: n\}/,
      );
    refused(() => simulate(spring, start, {dt: 1e-15, t1: 1}), /saved steps/);
    // 10⁷ times of 10⁵ numbers, and what is made of them: 20 bytes a number.
    refused(
      () => simulate(decay, {y: new Float64Array(1e5)}, {scheme: rk4(), dt: 1e-6, steps: 1e7 - 1}),
      /10000000 saved states of 100000 numbers: about 20 TB/,
    );
    refused(
      () =>
        simulate(
          decay,
          {y: new Float64Array(1e6)},
          {scheme: rk4(), dt: 1e-6, t1: 1, control: adaptive(), saveAt: Array.from({length: 1e5}, (_, i) => i * 1e-5)},
        ),
      /100000 saved states/,
    );
    refused(
      () => simulate.jvp(spring, start, {dt: 1e-3, steps: 1e12, saveAt: 'end'}, {initial: {q: 1}}),
      /record of 1000000000000 steps/,
      /implicitAdjoint\(\{memory\}\)/,
    );
    const options: BatchOptions = {scheme: rk4(), dt: 1e-6, steps: 2e4, workers: 0};
    refused(
      () =>
        batch(
          decay,
          Array.from({length: 1000}, () => ({y: new Float64Array(1e4)})),
          options,
        ),
      /in each of 1000 runs/,
    );
  });

  it('counts what gradients keep of adaptive steps', () => {
    const options = {dt: 1e-3, steps: 1e12, saveAt: 'end', control: adaptive()} as const;
    // Two numbers a step.
    refused(() => simulate.vjp(spring, start, options), /times and lengths of 1000000000000 steps/, /about 16 TB/);
    refused(
      () => simulate.vjp(spring, start, {...options, adjoint: forwardSensitivity()}),
      /times and lengths of 1000000000000 steps/,
    );
    refused(() => simulate.jvp(spring, start, options, {initial: {q: 1}}), /1000000000000 steps/);
    refused(() => simulate(spring, start, {...options, saveAt: 'all'}), /1000000000001 saved states/);
    // 20,000 saved states of 10,000 numbers, along 10,000 directions, 8 bytes each.
    refused(
      () =>
        simulate.vjp(
          decay,
          {y: new Float64Array(1e4)},
          {scheme: rk4(), dt: 1e-3, steps: 19_999, adjoint: forwardSensitivity()},
        ),
      /tangents of 20000 saved states along 10000 directions: about 16 TB/,
    );
  });

  it('is not known where an event may end the run; a budget beyond the machine is cut to what it has', () => {
    const fallen = [event({when: ({q}) => tf.sub(q, 0.5), then: 'stop'})];
    for (const control of [adaptive(), undefined]) {
      const {trajectory, pullback} = simulate.vjp(spring, start, {
        dt: 1e-2,
        steps: 1e9,
        saveAt: 'end',
        control,
        events: fallen,
        adjoint: implicitAdjoint({memory: 1e18}),
      });
      expect(trajectory.status).to.equal('event');
      // q = cos t at the event is 0.5 whatever the start: only its time moves.
      expect((pullback({q: [0, 1]}).initial.q as Float64Array)[0]).to.be.closeTo(0, 1e-12);
      trajectory.dispose();
    }
  });

  it('is none of a run that is gone through state by state', () => {
    const states = simulate.steps(spring, start, {dt: 1e-3, steps: 1e15});
    for (const t of [0, 1e-3, 2e-3]) expect((states.next().value as {t: number}).t).to.equal(t);
    states.return('completed');
  });

  it('counts steps to 2⁵³ − 1', () => {
    for (const steps of [2 ** 31, 2 ** 32, 2 ** 32 + 5, 1e12, Number.MAX_SAFE_INTEGER]) {
      expect([...savedSteps('end', readGrid({dt: 1e-9, steps}, 0))]).to.deep.equal([0, steps]);
      expect([...savedSteps({every: steps}, readGrid({dt: 1e-9, steps}, 0))]).to.deep.equal([0, steps]);
    }
    for (const options of [{steps: 2 ** 53}, {t1: 1e30}] as Span[]) {
      expect(() => simulate(spring, start, {dt: 1e-3, saveAt: 'end', ...options})).to.throw(
        OptionError,
        /more than can be counted/,
      );
    }
  });
});

describe('a memory of WebAssembly that cannot be had', () => {
  it('lets auto go on by the interpreter, to the same bits, and is an error of wasm', () => {
    const {Memory} = WebAssembly;
    const system = ode(({y}) => tf.neg(tf.sin(tf.mul(y, 1.25))));
    const run = (engine: SimulateOptions['engine']): {values: Float64Array; engine: string} => {
      const path = simulate(system, {y: [1, 2]}, {dt: 0.1, steps: 5, engine});
      path.dispose();
      return {values: path.values('y'), engine: path.stats.engine};
    };
    const here = run('interpreter');
    let found;
    try {
      WebAssembly.Memory = function refuse() {
        throw new RangeError('could not allocate memory');
      } as unknown as typeof Memory;
      found = run('auto');
      expect(() => run('wasm')).to.throw(
        MemoryError,
        /do not fit into WebAssembly's memory: could not allocate memory\. Use engine 'auto'/,
      );
    } finally {
      WebAssembly.Memory = Memory;
    }
    expect(found).to.deep.equal(here);
    expect(here.engine).to.equal('interpreter');
    expect(run('wasm')).to.deep.equal({values: here.values, engine: 'wasm'});
  });
});
