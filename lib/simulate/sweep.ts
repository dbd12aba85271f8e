/**
 * Gradients of a run: the cotangents of the saved states go back step by step (implicit or unrolled
 * adjoint), or tangents go forward with it. One transposed solve and one product a step (equations.md §5).
 */
import type {Executable} from '../engine/engine.js';
import {OptionError} from '../errors.js';
import type {Factor} from '../linear/index.js';
import {auto} from '../linear/index.js';
import type {Prepared} from './prepare.js';
import {loadParameters} from './prepare.js';
import type {IterationRecord, StepRecord, TakenStep} from './record.js';
import {isMatrixFree, solverKey} from './step-system.js';

export interface Gradient {
  /** Cotangents of the user's initial blocks, flat: q and v, or y. */
  readonly initial: Float64Array;
  /** One for each parameter of the traced step. */
  readonly parameters: readonly Float64Array[];
}

/** One solver value for every sweep whose own solver works without a matrix: the adjoint has the matrix. */
const directSolver = auto();

function jacobianFactor(prepared: Prepared, executable: Executable): {refresh(program: string): Factor} | undefined {
  const {compiled, options} = prepared;
  if (compiled.jacobian === undefined) return undefined;
  const {linear} = options.newton;
  const solver = isMatrixFree(linear) ? directSolver : linear;
  const analysis = compiled.analysis(solver, solverKey(solver));
  const values = executable.buffer('J');
  return {
    refresh(program) {
      executable.run(program);
      return analysis.factor(values);
    },
  };
}

/** Adds up one step's cotangents of the parameters. */
class ParameterBars {
  readonly totals: Float64Array[];
  private readonly sources: (Float64Array | undefined)[];

  constructor(prepared: Prepared, executable: Executable) {
    this.totals = prepared.parameterValues.map(values => new Float64Array(values.length));
    this.sources = this.totals.map((_, i) => executable.find(`pBar.${i}`));
  }

  add(): void {
    for (let p = 0; p < this.totals.length; p++) {
      const total = this.totals[p];
      const source = this.sources[p];
      if (source !== undefined) for (let i = 0; i < total.length; i++) total[i] += source[i];
    }
  }
}

function load(executable: Executable, step: TakenStep): void {
  executable.find('x')?.set(step.x);
  executable.find('t')?.fill(step.t);
  executable.find('h')?.fill(step.h);
}

function addTo(x: Float64Array, y: Float64Array, at: number): void {
  for (let i = 0; i < x.length; i++) x[i] += y[at + i];
}

/**
 * The gradient for cotangents of the saved states ([saved, state], row-major).
 * @throws OptionError where the unrolled adjoint cannot follow the iteration that was run
 */
export function sweepBack(prepared: Prepared, record: StepRecord, cotangents: Float64Array): Gradient {
  const unrolled = prepared.options.adjoint.kind === 'unrolled' && prepared.compiled.jacobian !== undefined;
  const executable = unrolled ? prepared.compiled.unrolled : prepared.compiled.adjoint;
  loadParameters(executable, prepared);
  const bars = new ParameterBars(prepared, executable);
  const pull = unrolled ? unrolledStep(prepared, executable, bars) : implicitStep(prepared, executable, bars);
  const size = record.start.length;
  const xBar = new Float64Array(size);
  for (let k = record.steps.length; k > 0; k--) {
    const saved = record.savedAfter.get(k);
    if (saved !== undefined) addTo(xBar, cotangents, saved * size);
    pull(record.steps[k - 1], xBar);
  }
  const first = record.savedAfter.get(0);
  if (first !== undefined) addTo(xBar, cotangents, first * size);
  return {initial: pullStart(prepared, xBar, bars.totals), parameters: bars.totals};
}

/** Replaces the cotangent of a step's end by that of its beginning. */
type StepPull = (step: TakenStep, xBar: Float64Array) => void;

function implicitStep(prepared: Prepared, executable: Executable, bars: ParameterBars): StepPull {
  const jacobian = jacobianFactor(prepared, executable);
  const nextBar = executable.find('nextBar');
  const z = executable.find('z');
  const w = executable.find('w');
  return (step, xBar) => {
    load(executable, step);
    nextBar?.set(xBar);
    if (jacobian !== undefined && step.z !== undefined) {
      z?.set(step.z);
      executable.run('pullUnknown');
      const factor = jacobian.refresh('jacobian');
      if (w !== undefined) factor.solveTransposed(executable.buffer('zBar'), w);
    }
    executable.run('pullStep');
    xBar.set(executable.buffer('xBar'));
    bars.add();
  };
}

function unrolledStep(prepared: Prepared, executable: Executable, bars: ParameterBars): StepPull {
  if (prepared.options.newton.jacobian !== 'fresh' || isMatrixFree(prepared.options.newton.linear)) {
    throw new OptionError('bad-adjoint', 'unrolledAdjoint differentiates iterations with a Jacobian of their own: use newton({jacobian: \'fresh\'}) and a direct linear solver, or implicitAdjoint().');
  }
  const jacobian = jacobianFactor(prepared, executable);
  const zBar = new Float64Array(prepared.traced.unknown.size);
  const total = new Float64Array(prepared.traced.state.size);
  const w = executable.find('w');
  const collect = (sign: number): void => {
    const xBar = executable.buffer('xBar');
    for (let i = 0; i < total.length; i++) total[i] += sign * xBar[i];
    bars.add();
  };
  const solveInto = (program: string, length: number): void => {
    const factor = jacobian?.refresh(program);
    if (w === undefined || factor === undefined) return;
    factor.solveTransposed(zBar, w);
    // The sign of −F_xᵀw is carried by w.
    for (let i = 0; i < w.length; i++) w[i] *= -length;
  };
  const pullIteration = ({z, delta, length}: IterationRecord): void => {
    executable.find('z')?.set(z);
    executable.find('delta')?.set(delta);
    solveInto('jacobian', length);
    executable.run('pullIteration');
    const moved = executable.buffer('zBar');
    for (let i = 0; i < zBar.length; i++) zBar[i] += moved[i];
    collect(1);
  };
  const pullFirst = (step: TakenStep, {z, delta}: IterationRecord): void => {
    executable.find('z')?.set(z);
    executable.find('delta')?.set(delta);
    if (prepared.traced.guess?.defect !== undefined) executable.find('defect')?.set(defectOf(prepared, step));
    solveInto('startJacobian', 1);
    executable.run('pullFirst');
    collect(1);
  };
  return (step, xBar) => {
    total.fill(0);
    load(executable, step);
    executable.find('nextBar')?.set(xBar);
    executable.find('z')?.set(step.z as Float64Array);
    executable.run('pullUnknown');
    zBar.set(executable.buffer('zBar'));
    executable.run('pullUpdate');
    collect(1);
    for (const iteration of [...(step.iterations ?? [])].reverse()) {
      if (iteration.first) pullFirst(step, iteration);
      else pullIteration(iteration);
    }
    executable.find('zBar')?.set(zBar);
    executable.run('pullGuess');
    collect(1);
    xBar.set(total);
  };
}

/** The defect of a step's guess, evaluated anew. */
function defectOf(prepared: Prepared, step: TakenStep): Float64Array {
  const {forward} = prepared.compiled;
  loadParameters(forward, prepared);
  load(forward, step);
  forward.run('guess');
  return forward.buffer('defect');
}

function pullStart(prepared: Prepared, xBar: Float64Array, totals: readonly Float64Array[]): Float64Array {
  const {compiled, initial, options} = prepared;
  const {startPull} = compiled;
  loadParameters(startPull, prepared);
  const given = startPull.find('given');
  let offset = 0;
  for (const {values} of initial) {
    given?.set(values, offset);
    offset += values.length;
  }
  startPull.find('t')?.fill(options.grid.t0);
  startPull.find('xBar')?.set(xBar);
  startPull.run('startPull');
  totals.forEach((total, i) => {
    const bar = startPull.find(`pBar.${i}`);
    if (bar !== undefined) addTo(total, bar, 0);
  });
  return startPull.buffer('givenBar').slice();
}

/** Directions in the space of initial state and parameters; each array holds `count` of them, one after another. */
export interface Directions {
  readonly count: number;
  readonly initial: Float64Array;
  readonly parameters: readonly Float64Array[];
}

/** Tangents of the saved states, [count, saved, state], along the given directions. */
export function sweepForward(prepared: Prepared, record: StepRecord, directions: Directions, saved: number): Float64Array {
  const {count} = directions;
  const size = record.start.length;
  const result = new Float64Array(count * saved * size);
  const executable = prepared.compiled.tangent(count);
  loadParameters(executable, prepared);
  directions.parameters.forEach((dp, i) => executable.find(`dp.${i}`)?.set(dp));
  const jacobian = jacobianFactor(prepared, executable);
  const dx = pushStart(prepared, directions);
  const keep = (steps: number): void => {
    const at = record.savedAfter.get(steps);
    if (at === undefined) return;
    for (let k = 0; k < count; k++) result.set(dx.subarray(k * size, (k + 1) * size), (k * saved + at) * size);
  };
  const dxIn = executable.find('dx');
  const dz = executable.find('dz');
  keep(0);
  record.steps.forEach((step, n) => {
    load(executable, step);
    dxIn?.set(dx);
    if (jacobian !== undefined && step.z !== undefined) {
      executable.find('z')?.set(step.z);
      const factor = jacobian.refresh('jacobian');
      executable.run('pushResidual');
      if (dz !== undefined) factor.solve(executable.buffer('rhs'), dz, count);
    }
    executable.run('pushUpdate');
    dx.set(executable.buffer('dNext'));
    keep(n + 1);
  });
  return result;
}

function pushStart(prepared: Prepared, {count, initial, parameters}: Directions): Float64Array {
  const startPush = prepared.compiled.startPush(count);
  loadParameters(startPush, prepared);
  const given = startPush.find('given');
  let offset = 0;
  for (const {values} of prepared.initial) {
    given?.set(values, offset);
    offset += values.length;
  }
  startPush.find('t')?.fill(prepared.options.grid.t0);
  startPush.find('dGiven')?.set(initial);
  parameters.forEach((dp, i) => startPush.find(`dp.${i}`)?.set(dp));
  startPush.run('startPush');
  return startPush.buffer('dx').slice();
}
