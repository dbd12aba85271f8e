/**
 * A system as a filter sees it: the state as one vector, where it goes in a span of time, and what is measured of it.
 * Each span's simulation is traced once; the time at which it begins is a parameter of the traced functions.
 */
import * as tf from '@tensorflow/tfjs';
import type {
  Initial,
  Inputs,
  Newton,
  Numeric,
  NumericParams,
  Observe,
  Params,
  Scheme,
  SimulateOptions,
  Simulation,
  System,
  Tangent,
} from '../../lib/index.js';
import {InputReads, type SeriesName, readNumeric} from '../../lib/internal.js';
import {OptionError, ShapeError, simulate} from '../../lib/index.js';
import {nested} from '../identify/nested.js';
import {startOfState, stateNames, type Channel} from '../identify/records.js';
import type {StateFunction} from './linearization.js';
import type {RowMatrix} from './roots.js';

/** A system and how it is simulated. */
export interface MotionSpec {
  readonly system: System;
  readonly params: NumericParams;
  readonly inputs: Inputs;
  readonly observe?: Observe;
  readonly dt: number;
  readonly scheme?: Scheme;
  readonly newton?: Newton;
  readonly engine?: SimulateOptions['engine'];
}

/** A part of the state by name: q, v and hidden states, or y. */
export interface StateBlock {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly size: number;
}

/** The mean at a start, by blocks; hidden states have the system's where they are left out. */
export type StartBlocks = {readonly [block: string]: Numeric | undefined};

/** A quotient of times that exceeds a whole number by less is that number: rounding of decimal times. */
const WHOLE = 1e-6;

/** No user's name has brackets in it: a place among the parameters for the time at which a run begins. */
const CLOCK = '(beginning)';

export class StateTransition {
  readonly blocks: readonly StateBlock[];
  /** Numbers of the state. */
  readonly size: number;
  private readonly reads: ShiftedReads;
  private readonly simulations = new Map<string, Simulation>();

  /** @param start its shapes are those of the state */
  constructor(
    private spec: MotionSpec,
    private readonly start: StartBlocks,
  ) {
    const {system} = spec;
    if (system.kind === 'ode' && system.delays !== undefined)
      throw new OptionError(
        'wrong-system',
        'A filter knows only the present state, but a dde also depends on its past: write the delay with delayLine '
          + '(stiffgrad/models) in an ode, or fit with identify.',
      );
    let offset = 0;
    this.blocks = stateNames(system).map(name => {
      const {shape, values} = readNumeric(blockOf(system, start, name), `initial.${name}`);
      const block = {name, shape, offset, size: values.length};
      offset += values.length;
      return block;
    });
    this.size = offset;
    this.reads = new ShiftedReads(spec.inputs);
  }

  /** Sets other values of the parameters, of the same shapes; nothing is traced again. */
  setParams(params: NumericParams): void {
    this.spec = {...this.spec, params};
  }

  /** The numbers of a start, block by block. */
  flat(start: StartBlocks): Float64Array {
    const x = new Float64Array(this.size);
    for (const {name, shape, offset, size} of this.blocks) {
      const given = readNumeric(blockOf(this.spec.system, start, name), `initial.${name}`);
      if (given.values.length !== size)
        throw new ShapeError(
          'initial-shape',
          `initial.${name} has shape [${given.shape.join(', ')}], but that of the first record has `
            + `[${shape.join(', ')}].`,
        );
      x.set(given.values, offset);
    }
    return x;
  }

  /** How many equal steps of at most dt lead from one time to another. */
  steps(from: number, to: number): number {
    return Math.max(1, Math.ceil((to - from) / this.spec.dt - WHOLE));
  }

  /** The state after a span of time that begins at `from`, in so many steps. */
  transition(from: number, length: number, steps: number): StateFunction {
    const dt = length / steps;
    const simulation = this.simulation(`${dt.toPrecision(9)} ${steps}`, {dt, steps, saveAt: 'end'});
    return this.function(simulation, from, series =>
      this.blocks.flatMap(({name, size}) => [...series(name).subarray(size)]),
    );
  }

  /** The simulated outputs at one time, channel after channel. */
  observation(t: number, channels: readonly Channel[]): StateFunction {
    const parts = channels.map(channel => {
      const block = this.blocks.find(({name}) => name === channel.simulated);
      if (block !== undefined && block.size !== channel.outputs)
        throw outputShape(channel.name, channel.outputs, block.size);
      return block;
    });
    const outputs = channels.reduce((sum, channel) => sum + channel.outputs, 0);
    const linear = parts.every(part => part !== undefined);
    if (linear) return selection(parts, outputs);
    const {dt, observe} = this.spec;
    const simulation = this.simulation('observe', {
      dt,
      steps: 1,
      saveAt: [0],
      observe: observe && this.reads.of(observe),
    });
    return this.function(simulation, t, at =>
      channels.flatMap(({name, outputs: wanted, simulated}) => {
        const values = at(simulated);
        if (values.length !== wanted) throw outputShape(name, wanted, values.length);
        return [...values];
      }),
    );
  }

  /** A simulation as a function of its start. @param read takes what is wanted from the saved series */
  private function(
    simulation: Simulation,
    t: number,
    read: (series: (name: string) => Float64Array) => number[],
  ): StateFunction {
    const params = {...this.spec.params, [CLOCK]: t};
    return {
      value: x => {
        const trajectory = simulation.run({initial: this.initial(x), params});
        try {
          return Float64Array.from(read(name => trajectory.values(name as SeriesName)));
        } finally {
          trajectory.dispose();
        }
      },
      jvp: (x, {count, columns, values}) => {
        const directions = Array.from({length: count}, (_, k): Tangent => {
          return {initial: this.initial(values.subarray(k * columns, (k + 1) * columns)) as Tangent['initial']};
        });
        const {trajectory, tangents} = simulation.jvps(directions, {initial: this.initial(x), params});
        try {
          return {
            value: Float64Array.from(read(name => trajectory.values(name as SeriesName))),
            pushed: Float64Array.from(tangents.flatMap(tangent => read(name => tangent[name]))),
          };
        } finally {
          trajectory.dispose();
        }
      },
    };
  }

  /** Traced once for each key, to begin at any time. */
  private simulation(
    key: string,
    options: Pick<SimulateOptions, 'dt' | 'saveAt' | 'observe'> & {steps: number},
  ): Simulation {
    const known = this.simulations.get(key);
    if (known !== undefined) return known;
    const {system, params, scheme, newton, engine} = this.spec;
    const start = Object.fromEntries(this.blocks.map(({name}) => [name, blockOf(system, this.start, name)]));
    const made = simulate.prepare(this.reads.system(system), {...start, t: 0} as Initial, {
      ...options,
      scheme,
      newton,
      engine,
      params: {...params, [CLOCK]: 0},
      // A filter's correction does not know of constraints: the nearest state that keeps them is where the run begins.
      consistent: 'project',
    });
    this.simulations.set(key, made);
    return made;
  }

  /** A state, or a direction in which it moves, by its blocks. */
  private initial(x: Float64Array): {[block: string]: Numeric} & Initial {
    const blocks = this.blocks.map(({name, shape, offset, size}) => [
      name,
      nested(x.slice(offset, offset + size), shape),
    ]);
    return Object.fromEntries(blocks) as {[block: string]: Numeric} & Initial;
  }
}

/** Gives functions the time since a run began plus that at which it began, and the inputs there. */
class ShiftedReads extends InputReads {
  override of<At extends {readonly t: tf.Tensor; readonly params: Params}, R>(f: (at: At) => R): (at: At) => R {
    const read = super.of(f);
    return at => {
      const {[CLOCK]: beginning, ...params} = at.params;
      // Getters stay getters: a force's lambda is computed when it is read, and a mass that does not read its time is
      // constant.
      const own = Object.getOwnPropertyDescriptors(at) as PropertyDescriptorMap;
      const time = (): tf.Tensor => tf.add(at.t, beginning as tf.Tensor);
      return read(
        Object.create(null, {
          ...own,
          params: {value: params, enumerable: true},
          t: {get: time, enumerable: true},
        }) as At,
      );
    };
  }
}

/** Parts of the state as they are. */
function selection(parts: readonly (StateBlock | undefined)[], outputs: number): StateFunction {
  const from = Int32Array.from(
    parts.flatMap(part => (part === undefined ? [] : Array.from({length: part.size}, (_, i) => part.offset + i))),
  );
  return {
    value: x => Float64Array.from(from, i => x[i]),
    jvp(x, {count, columns, values}: RowMatrix) {
      const pushed = new Float64Array(count * outputs);
      for (let k = 0; k < count; k++) from.forEach((i, j) => (pushed[k * outputs + j] = values[k * columns + i]));
      return {value: this.value(x), pushed};
    },
  };
}

function blockOf(system: System, start: StartBlocks, name: string): Numeric {
  const value = start[name] ?? startOfState(system, name);
  if (value !== undefined) return value;
  throw new OptionError('missing-option', `The filter needs the mean of the initial state: give initial.${name}.`, {
    option: `initial.${name}`,
  });
}

const outputShape = (name: string, wanted: number, given: number): ShapeError =>
  new ShapeError(
    'data-shape',
    `A sample of ${name} has ${wanted} numbers, but the model gives ${given}. To compare a part of the state, or `
      + 'another quantity, use observe and y.',
    {series: name, measured: wanted, simulated: given},
  );
