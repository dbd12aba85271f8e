/**
 * The runs of a prepared batch and the way back through them: side by side in the lanes of one program where the scheme
 * is explicit (integrate/lanes/), else one after another by the loops of single runs. Which it is changes the rounding
 * alone.
 */
import {notFinitePart, gradientNotFinite} from '../adjoint/not-finite.js';
import {addTo} from '../adjoint/add-to.js';
import type {LaneGradients, LaneWays} from '../adjoint/pull-lanes.js';
import {pullLanes} from '../adjoint/pull-lanes.js';
import {runLanes} from '../integrate/lanes/run-lanes.js';
import {bytesPerNumber, withinMachine} from '../integrate/memory.js';
import type {Run} from '../integrate/path.js';
import {run} from '../integrate/run.js';
import {compileStep} from '../step/compiled.js';
import type {LaneStep} from '../step/lanes.js';
import {batchStep} from '../step/lanes.js';
import type {PreparedRun} from './prepare.js';
import type {SeriesCotangents} from './series.js';
import {pullChecked} from './derivatives.js';
import {checkIsDue} from './gradient-check.js';
import {pullSeries, seriesOf, seriesValues, throughObserved} from './series.js';
import {inMember} from './workers/serialize-error.js';

/** A member's run. */
export interface MemberRun {
  readonly prepared: PreparedRun;
  readonly run: Run;
  /** The saved series (series.ts). */
  readonly matrix: Float64Array;
  /** The step and the records of all members, for a run in lanes. */
  readonly step?: LaneStep;
  readonly ways?: LaneWays;
}

/**
 * Lanes at most, where their number is not given. Steps of networks 2–32–32–2 and 2–64–64–2 with gradient took per
 * member, in units of those of one state of 32 rows: 1.5 and 1.2 with 8 lanes, 1.4 and 1.15 with 16, 1.3 and 1.15 with
 * 32.
 */
const mostLanes = 32;

/** Numbers of a recorded step beside its state: its time and length. */
const stepNumbers = 2;

export class Members {
  /** Parameters that members were given of their own so far, by number; what was once so has a program for it. */
  readonly own = new Set<number>();
  private readonly steps = new Map<string, LaneStep>();
  /** Lanes of the largest batch so far: shorter ones leave some idle, and nothing is compiled for them. */
  private width = 1;

  /** @param lanes as the user gave it */
  constructor(
    private readonly base: PreparedRun,
    private readonly lanes: number | undefined,
  ) {}

  /** Whether the scheme's steps can be taken in lanes. */
  get inLanes(): boolean {
    const {
      base: {traced, start, compiled, options, engine},
    } = this;
    const {functions} = traced;
    return (
      this.lanes !== 1
      && !compiled.implicit
      && !start.compiled.implicit
      && start.traced.functions.positions === undefined
      && start.traced.usesTrialStep !== true
      && functions.touching === undefined
      && options.events.length === 0
      && (options.plan?.control.kind !== 'adaptive'
        || (functions.error !== undefined && functions.filter === undefined))
      && options.plan?.control.sensitivities !== true
      && options.onProgress === undefined
      && engine.remote !== true
    );
  }

  /**
   * @param members each at its times
   * @param keep for a gradient
   */
  run(members: readonly PreparedRun[], keep: boolean): MemberRun[] {
    this.noteOwn(members);
    const {base} = this;
    const isHere =
      this.inLanes
      && members.every(
        ({options: {plan}, traced}) => plan !== undefined && !restarts(plan) && traced.switches === undefined,
      );
    const memory = keep ? this.memory : undefined;
    if (isHere && (!keep || (memory !== undefined && statesOf(members) <= memory))) {
      const step = this.stepFor(members.length);
      const {runs, ways} = runLanes(step, members, memory, inMember);
      return runs.map((result, i) => ({
        prepared: members[i],
        run: result,
        step,
        ways,
        matrix: seriesValues(members[i], result),
      }));
    }
    return members.map((prepared, i) => {
      try {
        const result = keep ? base.adjoint.run(prepared) : run(prepared);
        return {prepared, run: result, matrix: seriesValues(prepared, result)};
      } catch (error) {
        throw inMember(error, i);
      }
    });
  }

  /**
   * @param cotangents one for each member
   * @throws GradientError
   */
  pull(runs: readonly MemberRun[], cotangents: readonly (SeriesCotangents | undefined)[]): LaneGradients {
    // Lanes do not find the derivative by t0, nor keep what another way back needs.
    const timed = cotangents.some(cotangent => cotangent?.asked?.t0 === true);
    const gradients =
      runs[0].step === undefined || timed ? this.pullSingly(runs, cotangents, timed) : this.pullLanes(runs, cotangents);
    // What is summed is looked at once, whoever it came from; the member by itself says where it began.
    const none = gradients.shared.map(() => new Float64Array(0));
    const check = (i: number, initial: Float64Array, parameters: readonly Float64Array[]): void => {
      const bad = notFinitePart(runs[i].prepared, {initial, parameters});
      if (bad === undefined) return;
      cotangents.forEach((cotangent, k) => {
        if (cotangent !== undefined) this.alone(runs[k], cotangent, k);
      });
      throw gradientNotFinite(bad);
    };
    check(0, none[0] ?? new Float64Array(0), gradients.shared);
    gradients.initial.forEach((initial, i) => {
      check(
        i,
        initial,
        none.map((empty, p) => gradients.own[i].get(p) ?? empty),
      );
    });
    return gradients;
  }

  /**
   * Parameters of which the gradients of these runs have a part for each member: those of its own when they went in
   * lanes, else by now.
   */
  ownOf([{step}]: readonly MemberRun[]): ReadonlySet<number> {
    return step?.perMember ?? this.own;
  }

  private alone({prepared}: MemberRun, cotangents: SeriesCotangents, i: number): void {
    try {
      pullSeries(prepared, this.base.adjoint.run(prepared), cotangents);
    } catch (error) {
      throw inMember(error, i);
    }
  }

  private pullLanes(runs: readonly MemberRun[], cotangents: readonly (SeriesCotangents | undefined)[]): LaneGradients {
    const members = runs.map(({prepared}) => prepared);
    const observed = runs.map(({prepared, run: result}, i) => {
      const cotangent = cotangents[i];
      // Runs with events do not go in lanes.
      return cotangent === undefined ? undefined : throughObserved(prepared, result, cotangent.series);
    });
    const gradients = pullLanes(
      runs[0].step as LaneStep,
      members,
      runs[0].ways as LaneWays,
      observed.map(part => part?.states),
    );
    observed.forEach((part, i) => {
      if (part?.parameters !== undefined) this.addParameters(gradients, i, part.parameters);
    });
    this.checkLanes(runs, cotangents);
    return gradients;
  }

  /** One member of a batch in lanes is checked by itself, if none with as many steps was. */
  private checkLanes(runs: readonly MemberRun[], cotangents: readonly (SeriesCotangents | undefined)[]): void {
    const first = cotangents.findIndex(cotangent => cotangent !== undefined);
    const cotangent = cotangents[first];
    if (cotangent === undefined || !checkIsDue(runs[first].prepared, runs[first].run)) return;
    const {warnings} = runs[first].run;
    const {prepared} = runs[first];
    pullChecked(prepared, {...this.base.adjoint.run(prepared), warnings}, cotangent);
  }

  private pullSingly(
    runs: readonly MemberRun[],
    cotangents: readonly (SeriesCotangents | undefined)[],
    timed: boolean,
  ): LaneGradients {
    const own = this.ownOf(runs);
    const {adjoint, parameterValues: values} = this.base;
    const gradients: LaneGradients = {
      ...(timed ? {t0: new Float64Array(runs.length)} : {}),
      initial: runs.map(({prepared: {initialValues}}) => new Float64Array(initialValues.length)),
      shared: values.map(({length}, p) => new Float64Array(own.has(p) ? 0 : length)),
      own: runs.map(() => new Map([...own].map(p => [p, new Float64Array(values[p].length)]))),
    };
    runs.forEach(({prepared, run: result, step}, i) => {
      const cotangent = cotangents[i];
      if (cotangent === undefined) return;
      try {
        const path = step === undefined ? result : {...adjoint.run(prepared), warnings: result.warnings};
        const {initial, parameters, t0} = pullChecked(prepared, path, cotangent);
        gradients.initial[i].set(initial);
        if (t0 !== undefined) gradients.t0?.fill(t0, i, i + 1);
        this.addParameters(gradients, i, parameters);
      } catch (error) {
        throw inMember(error, i);
      }
    });
    return gradients;
  }

  private addParameters({own, shared}: LaneGradients, i: number, parameters: readonly Float64Array[]): void {
    parameters.forEach((cotangent, p) => addTo(own[i].get(p) ?? shared[p], cotangent));
  }

  /** The step in lanes for a batch of this size; made once for what its members share. */
  private stepFor(count: number): LaneStep {
    const {base, own, steps} = this;
    // Of more members than lanes, no more rounds than are needed, and these equally full.
    this.width = Math.max(this.width, Math.ceil(count / Math.ceil(count / mostLanes)));
    const lanes = this.lanes ?? this.width;
    const key = `${lanes}/${[...own].sort((a, b) => a - b).join()}`;
    let known = steps.get(key);
    if (known === undefined) {
      const traced = batchStep(base.traced, lanes, own);
      const compiled = compileStep(traced, base.engine);
      known = {lanes, perMember: new Set(own), traced, compiled, start: this.startIn(lanes)};
      steps.set(key, known);
    }
    return known;
  }

  private startIn(lanes: number): LaneStep['start'] {
    const {
      base: {start, engine},
      own,
    } = this;
    const {mass, kinematics, delays, seed, update} = start.traced.functions;
    // What has to be checked at a start is checked of one member at a time (integrate/start.ts).
    if ([mass, kinematics, delays, seed].some(one => one !== undefined)) return 'one by one';
    if (update === start.traced.inputs.x) return 'given';
    const traced = batchStep(start.traced, lanes, own);
    return {traced, compiled: compileStep(traced, engine)};
  }

  private noteOwn(members: readonly PreparedRun[]): void {
    const {base, own} = this;
    base.leaves.forEach((_, p) => {
      const [first] = members;
      const others = members.some(({parameterValues}) => !sameNumbers(parameterValues[p], first.parameterValues[p]));
      if (!own.has(p) && others) own.add(p);
    });
  }

  /**
   * What the adjoint's budget allows the steps of all members in lanes, in bytes; undefined where it does not go with
   * lanes.
   */
  private get memory(): number | undefined {
    const {options, adjoint} = this.base;
    if (options.adjoint.name !== 'implicitAdjoint' || adjoint.threads === undefined) return undefined;
    return withinMachine(options.adjoint.secondOrder?.memory ?? Infinity);
  }
}

/** Bytes of the states that a record of all steps keeps, as far as their number is known. */
function statesOf(members: readonly PreparedRun[]): number {
  const steps = members.reduce((sum, {options: {grid}}) => sum + (Number.isFinite(grid.steps) ? grid.steps : 0), 0);
  return steps * (members[0].traced.state.size + stepNumbers) * bytesPerNumber;
}

const restarts = ({breaks}: NonNullable<PreparedRun['options']['plan']>): boolean => (breaks?.restarts.length ?? 0) > 0;

const sameNumbers = (a: Float64Array, b: Float64Array): boolean =>
  a === b || (a.length === b.length && a.every((value, i) => value === b[i]));

/** Numbers in a row of a member's saved series. */
export const widthOf = (prepared: PreparedRun): number => seriesOf(prepared).width;
