/**
 * Forward over reverse: the sweep back and its tangent, for the gradient of a loss and the product of its
 * Hessian with several directions. One Jacobian and one factor a step serve the solve of the tangent and
 * both transposed ones; what the discrete scheme does is differentiated, not the motion.
 */
import type {StepContext} from '../step/context.js';
import {loadParameters, startOf} from '../step/context.js';
import {hessianPrograms} from '../step/hessian-programs.js';
import type {Gradient} from './backward.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './tangent.js';

/** A cotangent of the state, and how it changes along every direction [count, state]. */
export interface TurningBar {
  readonly bar: Float64Array;
  readonly turn: Float64Array;
}

/** A step of the grid as it was taken: rows from..to−1 of a record, and the tangents [count, state] of the state before each. */
export interface TurningStep {
  readonly n: number;
  readonly record: StepRecord;
  readonly from: number;
  readonly to: number;
  tangent(row: number): Float64Array;
}

/** Shows all steps from last to first; returns how many had to be taken again. */
export type TurningBackwards = (visit: (step: TurningStep) => void) => number;

export interface SecondOrder {
  readonly gradient: Gradient;
  /** One for each direction. */
  readonly products: readonly Gradient[];
}

const addTo = (total: Float64Array, part: Float64Array): void => {
  for (let i = 0; i < total.length; i++) total[i] += part[i];
};

/** The step's adjoint with its tangent, loaded for a run. */
export class TurningPull {
  /** By parameter. */
  readonly bars: readonly Float64Array[];
  /** By parameter, [count, size]. */
  readonly turns: readonly Float64Array[];
  private readonly pullRow: (record: StepRecord, k: number, dx: Float64Array, x: TurningBar) => TurningBar;

  constructor(context: StepContext, {count, parameters}: Directions) {
    const {compiled, traced, parameterValues} = context;
    const executable = compiled.group(`hessian.${count}`, () => hessianPrograms(traced, compiled.jacobian, count));
    loadParameters(executable, context);
    parameters.forEach((dp, i) => executable.find(`dp.${i}`)?.set(dp));
    this.bars = parameterValues.map(({length}) => new Float64Array(length));
    this.turns = parameterValues.map(({length}) => new Float64Array(count * length));
    const jacobian = jacobianFactor(context, executable);
    const buffers = stepBuffers(executable);
    const find = (name: string): Float64Array | undefined => executable.find(name);
    const [nextBar, dNextBar, dxIn, dz, zBar, w, dw] = ['nextBar', 'dNextBar', 'dx', 'dz', 'zBar', 'w', 'dw'].map(find);
    const [xBar, dXBar] = ['xBar', 'dXBar'].map(name => executable.buffer(name));
    const sources = parameterValues.map((_, i) => ({bar: find(`pBar.${i}`), turn: find(`dPBar.${i}`)}));
    this.pullRow = (record, k, dx, {bar, turn}) => {
      record.load(k, buffers);
      dxIn?.set(dx);
      nextBar?.set(bar);
      dNextBar?.set(turn);
      if (jacobian !== undefined) {
        const factor = jacobian.refresh();
        executable.run('pushResidual');
        if (dz !== undefined) factor.solve(executable.buffer('rhs'), dz, count);
        executable.run('pullUnknown');
        if (w !== undefined && zBar !== undefined) factor.solveTransposed(zBar, w);
        executable.run('turnUnknown');
        if (dw !== undefined) factor.solveTransposed(executable.buffer('dZBar'), dw, count);
      }
      executable.run('pullStep');
      executable.run('turnStep');
      sources.forEach((source, i) => {
        if (source.bar !== undefined) addTo(this.bars[i], source.bar);
        if (source.turn !== undefined) addTo(this.turns[i], source.turn);
      });
      return {bar: xBar, turn: dXBar};
    };
  }

  /** The cotangent of the beginning of a recorded step, and its change, from those of its end; the executable's own buffers. */
  pull(record: StepRecord, k: number, dx: Float64Array, x: TurningBar): TurningBar {
    return this.pullRow(record, k, dx, x);
  }
}

/**
 * @param start the step that began the run
 * @param addSaved adds the loss's own cotangents, and their changes, of the state after n steps
 */
export function sweepBackTurning(context: StepContext, start: StepRecord, directions: Directions, backwards: TurningBackwards, addSaved: (n: number, x: TurningBar) => void, steps: number): SecondOrder {
  const {count, initial} = directions;
  const {size} = context.traced.state;
  const pull = new TurningPull(context, directions);
  const x = {bar: new Float64Array(size), turn: new Float64Array(count * size)};
  addSaved(steps, x);
  const recomputedSteps = backwards(({n, record, from, to, tangent}) => {
    for (let row = to - 1; row >= from; row--) {
      const {bar, turn} = pull.pull(record, row, tangent(row), x);
      x.bar.set(bar);
      x.turn.set(turn);
    }
    addSaved(n, x);
  });
  const totals = [...pull.bars];
  const turns = [...pull.turns];
  let began: TurningBar = x;
  if (context.resumed !== true) {
    const first = new TurningPull(startOf(context), directions);
    began = first.pull(start, 0, initial, x);
    first.bars.forEach((bar, i) => addTo(totals[i], bar));
    first.turns.forEach((turn, i) => addTo(turns[i], turn));
  }
  const given = context.given.length;
  return {
    gradient: {initial: began.bar.slice(), parameters: totals, recomputedSteps},
    products: Array.from({length: count}, (_, d) => ({
      initial: began.turn.slice(d * given, (d + 1) * given), parameters: turns.map(turn => turn.slice((d * turn.length) / count, ((d + 1) * turn.length) / count)), recomputedSteps,
    })),
  };
}
