/** Updates of a training step by a gradient: a compiled update rule, or a line search. */
import * as tf from '@tensorflow/tfjs';
import {type Executable, compilePrograms} from '../../lib/internal.js';
import {StiffgradError} from '../../lib/errors.js';
import type {CostPoint} from '../identify/iteration.js';
import type {CurvaturePair} from '../identify/lbfgs.js';
import {descentDirection, firstLength, remembered} from '../identify/lbfgs.js';
import {along} from '../identify/descent.js';
import {isFailedSimulation} from '../identify/failed-simulation.js';
import {wolfeStep} from '../identify/wolfe.js';
import type {Clip} from './gradients.js';
import type {UpdateRule} from './update-rules.js';

/** One step: its number from 1, its rate, and what evaluates the loss and leaves its gradient in `gradient`. */
export interface Taking {
  readonly count: number;
  readonly rate: number;
  readonly evaluate: () => number;
}

export interface StepUpdate {
  /** The trained values, which every step changes, and where their gradient is put. */
  readonly values: Float64Array;
  readonly gradient: Float64Array;
  take(step: Taking): {readonly loss: number; readonly norm: number};
  save(): {readonly [name: string]: Float64Array};
  fits(state: {readonly [name: string]: Float64Array}): boolean;
  restore(state: {readonly [name: string]: Float64Array}): void;
}

/** By a first-order rule: norm, clipping and update as one program, values and what is remembered in its memory. */
export class RuleUpdate implements StepUpdate {
  readonly values: Float64Array;
  readonly gradient: Float64Array;
  private readonly executable: Executable;
  private readonly norm: Float64Array;
  /** The rate and the rule's numbers; undefined where the rule does not read them. */
  private readonly scalars: {readonly [name: string]: Float64Array | undefined};
  /** The next values and state, and what they replace. */
  private readonly moves: readonly {readonly to: Float64Array; readonly from: Float64Array}[];
  private readonly update: () => void;

  constructor(
    private readonly rule: UpdateRule,
    private readonly size: number,
    clip: Clip,
  ) {
    const numbers = Object.keys(rule.numbers(1));
    const scalars = Object.fromEntries(['rate', ...numbers].map(name => [name, []]));
    const vectors = Object.fromEntries(
      ['value', 'gradient', ...rule.state.map(name => `state.${name}`)].map(name => [name, [size]]),
    );
    const pick = (at: {readonly [name: string]: tf.Tensor}, names: readonly string[], prefix = '') =>
      Object.fromEntries(names.map(name => [name, at[`${prefix}${name}`]]));
    this.executable = compilePrograms<string, string, string>(
      {
        update: at => {
          const norm = tf.sqrt(tf.sum(tf.square(at.gradient)));
          const {value, state} = rule.update({
            value: at.value,
            gradient: clipped(at.gradient, norm, clip),
            rate: at.rate,
            numbers: pick(at, numbers),
            state: pick(at, rule.state, 'state.'),
          });
          return {norm, nextValue: value, ...Object.fromEntries(rule.state.map(name => [`next.${name}`, state[name]]))};
        },
      },
      {...scalars, ...vectors},
    );
    this.values = this.executable.buffer('value');
    this.gradient = this.executable.buffer('gradient');
    this.norm = this.executable.buffer('norm');
    this.scalars = Object.fromEntries(Object.keys(scalars).map(name => [name, this.executable.optionalBuffer(name)]));
    this.moves = [['value', 'nextValue'], ...rule.state.map(name => [`state.${name}`, `next.${name}`])].map(
      ([to, from]) => ({to: this.executable.buffer(to), from: this.executable.buffer(from)}),
    );
    this.update = this.executable.program('update');
  }

  take({count, rate, evaluate}: Taking): {loss: number; norm: number} {
    const {rule, scalars, moves} = this;
    const loss = evaluate();
    if (scalars.rate !== undefined) scalars.rate[0] = rate;
    const numbers = rule.numbers(count);
    for (const name in numbers) {
      const place = scalars[name];
      if (place !== undefined) place[0] = numbers[name];
    }
    this.update();
    const norm = this.norm[0];
    if (!Number.isFinite(norm))
      throw new StiffgradError(
        'not-finite',
        `trainingStep: in step ${count - 1} the norm of the gradient is ${norm}. Lower the learning rate, or shorten `
          + 'the run.',
        {step: count - 1},
      );
    for (let i = 0; i < moves.length; i++) moves[i].to.set(moves[i].from);
    return {loss, norm};
  }

  save(): {[name: string]: Float64Array} {
    return Object.fromEntries(this.rule.state.map(name => [name, this.executable.buffer(`state.${name}`).slice()]));
  }

  fits(state: {readonly [name: string]: Float64Array}): boolean {
    const {state: names} = this.rule;
    return (
      Object.keys(state).sort().join() === [...names].sort().join()
      && names.every(name => state[name].length === this.size)
    );
  }

  restore(state: {readonly [name: string]: Float64Array}): void {
    for (const name of this.rule.state) this.executable.buffer(`state.${name}`).set(state[name]);
  }
}

function clipped(gradient: tf.Tensor, size: tf.Tensor, {norm, value}: Clip): tf.Tensor {
  const shortened =
    norm === undefined ? gradient : tf.mul(gradient, tf.where(tf.greater(size, norm), tf.div(norm, size), 1));
  return value === undefined ? shortened : tf.clipByValue(shortened, -value, value);
}

/**
 * Along L-BFGS's direction to a point of Wolfe's conditions, all on one batch (Nocedal & Wright, algorithm 7.5). Where
 * no length is better than none the memory is given up; a second time so, the values stay.
 */
export class LineSearchUpdate implements StepUpdate {
  readonly values: Float64Array;
  readonly gradient: Float64Array;
  private pairs: readonly CurvaturePair[] = [];

  constructor(
    private readonly memory: number,
    private readonly size: number,
  ) {
    this.values = new Float64Array(size);
    this.gradient = new Float64Array(size);
  }

  take({evaluate}: Taking): {loss: number; norm: number} {
    const {values, gradient, memory} = this;
    const from: CostPoint = {x: values.slice(), cost: evaluate(), gradient: gradient.slice()};
    const at = (x: Float64Array): CostPoint | undefined => {
      values.set(x);
      try {
        return {x, cost: evaluate(), gradient: gradient.slice()};
      } catch (error) {
        if (isFailedSimulation(error)) return undefined;
        throw error;
      }
    };
    const search = () => wolfeStep(at, from, descentDirection(from, this.pairs), firstLength(from, this.pairs));
    try {
      let next = search();
      if (next === undefined && this.pairs.length > 0) {
        this.pairs = []; // the memory misled; from here along the gradient
        next = search();
      }
      if (next !== undefined)
        this.pairs = remembered(
          this.pairs,
          {s: along(next.x, -1, from.x), y: along(next.gradient, -1, from.gradient)},
          memory,
        );
      values.set(next?.x ?? from.x);
    } catch (error) {
      values.set(from.x);
      throw error;
    }
    return {loss: from.cost, norm: Math.sqrt(from.gradient.reduce((sum, g) => sum + g * g, 0))};
  }

  save(): {[name: string]: Float64Array} {
    return Object.fromEntries(
      this.pairs.flatMap(({s, y}, i) => [
        [`s.${i}`, s.slice()],
        [`y.${i}`, y.slice()],
      ]),
    );
  }

  fits(state: {readonly [name: string]: Float64Array}): boolean {
    const pairs = Object.keys(state).length / 2;
    return (
      pairs <= this.memory
      && Array.from({length: pairs}, (_, i) => [state[`s.${i}`], state[`y.${i}`]] as (Float64Array | undefined)[])
        .flat()
        .every(vector => vector?.length === this.size)
    );
  }

  restore(state: {readonly [name: string]: Float64Array}): void {
    this.pairs = Array.from({length: Object.keys(state).length / 2}, (_, i) => ({
      s: state[`s.${i}`].slice(),
      y: state[`y.${i}`].slice(),
    }));
  }
}
