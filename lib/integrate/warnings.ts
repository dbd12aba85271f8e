/**
 * Warnings of a run: nothing failed, but something was decided that the user should
 * know about. Sentences, each once per run, in `trajectory.warnings`; nothing is printed.
 */
import {breakingPoints, crowdedSteps, meetings} from '../system/breaking-points.js';
import {toUserTime} from '../step/time-direction.js';
import {loadParameters, startContext} from '../step/context.js';
import type {TracedStep} from '../step/traced-step.js';
import {listed} from '../text.js';
import {ContactBorders} from './contact-borders.js';
import type {Counters} from './counters.js';
import type {RunContext} from './run-context.js';

/** Warning for a run whose gradients are those of the continuous adjoint. */
export const backsolveWarning = ({name, order}: Pick<TracedStep, 'name' | 'order'>): string =>
  `backsolveAdjoint: gradients of this run are approximate, with an error of order ${order} in the length of `
  + `steps (${name}), and of no use where the motion cannot be run backwards, as that of stiff and of strongly `
  + 'damped systems. implicitAdjoint() is exact.';

/**
 * Warnings for a delay equation whose steps have more breaking points than are located (scheme/delayed.ts), or
 * coinciding ones.
 */
export function delayWarnings(prepared: RunContext): string[] {
  const {
    traced: {stepDivision, state, name, order},
    options: {grid},
  } = prepared;
  if (stepDivision === undefined) return [];
  const context = startContext(prepared);
  const start = context.compiled.forward(context.linear);
  loadParameters(start, context);
  start.run('checks');
  const began = prepared.resumed === true ? prepared.initialValues[state.block('began')?.offset ?? 0] : prepared.t0;
  const points = breakingPoints(stepDivision, start.buffer('delays').subarray(1), began);
  const [crowded, met] = [crowdedSteps(points, stepDivision.cuts, grid), meetings(points, grid)];
  const text = (t: number): string => String(Number(toUserTime(grid, t).toPrecision(6)));
  const sentences: string[] = [];
  if (crowded !== undefined) {
    const {count, first} = crowded;
    sentences.push(
      `dde: ${count === 1 ? 'a step' : `${count} steps`}, the first from t = ${text(first)}, `
        + `${count === 1 ? 'holds' : 'hold'} more breaking points than the ${stepDivision.cuts} at which a step is `
        + `divided. Derivatives of y jump within, and ${name} may have a lower order there, and a wrong derivative `
        + 'by a delay: take a smaller dt, below the differences of the delays.',
    );
  }
  if (met !== undefined) {
    const {count, first, own} = met;
    const jumping =
      " y' jumps at one delay after the start, if y does at the start: y there has two derivatives, which "
      + 'differ by this jump; with equal delays so may all that follows.';
    sentences.push(
      `dde: at t = ${text(first)}${count === 1 ? '' : ` and ${count - 1} more times`} a breaking point that `
        + 'moves with a delay lies at the end of a step, or on another one. The run is right; its derivative by '
        + `the delay is another one to either side, by the error of a step, of order ${order} in its length, and a `
        + `gradient is one of these or between them.${own ? jumping : ''} With other delays, or a dt of which no `
        + 'sum of them is a multiple, there is one derivative.',
    );
  }
  return sentences;
}

/** Below the default rtol, steps of order 2 are ten times those of order 5 and more. */
const TIGHT = 1e-6;

/** A tight tolerance with the scheme that nobody chose for it. */
function orderWarnings({traced: {name, order}, options: {plan, isDefaultScheme}}: RunContext): string[] {
  const control = plan?.control;
  if (isDefaultScheme !== true || control?.kind !== 'adaptive' || control.rtol >= TIGHT || order > 2) return [];
  return [
    `The default scheme, ${name}, has order ${order}, and needs many short steps for rtol ${control.rtol}. `
      + 'Choose a scheme of higher order: tsit5() if the system is not stiff, kvaerno5() if it is stiff or has '
      + 'constraints.',
  ];
}

/** Steps by which a drift of the energy matters. */
const MANY = 10_000;

/** Warning for a long run by a scheme that damps nothing, with constraints that make its energy drift. */
function energyWarnings({traced: {name, energyDrifts}, options: {grid, plan}}: RunContext): string[] {
  if (energyDrifts !== true || plan?.control?.kind === 'adaptive' || grid.steps < MANY) return [];
  return [
    `${name} damps nothing, but with these constraints and this stabilization it is not symplectic: over `
      + `${grid.steps} steps the energy of a motion that conserves it may drift. verlet() and gaussLegendre() hold `
      + 'bilateral constraints without a drift, see docs/schemes.md.',
  ];
}

/** Warning for a run that takes switches as its stages meet them, though that was not asked for. */
function switchWarnings({traced: {ignoredSwitches = [], unlocatedJumps = []}}: RunContext): string[] {
  const quoted = (names: readonly string[]): string => listed([...new Set(names)].map(name => `'${name}'`));
  const effect = 'a step across one has order 1 at most, and derivatives do not know when it is crossed.';
  const sentences: string[] = [];
  if (ignoredSwitches.length > 0)
    sentences.push(
      `Switches of a system with noise or delays are not located (${quoted(ignoredSwitches)}): ${effect} `
        + "switches: 'ignore' says that this is meant, traced.noEvent(f) that f is continuous.",
    );
  if (unlocatedJumps.length > 0)
    sentences.push(
      `Jumps without a border are not located (${quoted(unlocatedJumps)}): ${effect} Write the jump with tf.where and `
        + "a comparison. traced.noEvent(f) or switches: 'ignore' says that this is meant.",
    );
  return sentences;
}

/** Looks at the contacts after every step: does a row neither press nor stand apart? */
export class ContactWatch {
  private readonly found = new Map<number, {readonly t: number; count: number}>();
  private readonly borders: ContactBorders | undefined;

  /** @param counters those of the run, with the notes of its starts */
  constructor(
    private readonly prepared: RunContext,
    private readonly counters: Pick<Counters, 'notes'>,
  ) {
    const {compiled, options} = prepared;
    this.borders = ContactBorders.of(prepared, () => compiled.forward(options.newton.linear, prepared.storage));
  }

  /** Whether there is anything to look at. */
  get looks(): boolean {
    return this.borders !== undefined;
  }

  /** At the state that lies in the programs' x, at time t. */
  at(t: number): void {
    const {borders} = this;
    if (borders === undefined) return;
    borders.look(t);
    for (let row = 0; row < borders.rows; row++) {
      if (!borders.isOn(row)) continue;
      const known = this.found.get(row);
      if (known === undefined) this.found.set(row, {t, count: 1});
      else known.count++;
    }
  }

  get warnings(): string[] {
    const {redundancy, traced} = this.prepared;
    const offset = traced.state.block('lambda')?.offset ?? 0;
    const sentences: string[] = [...(this.counters.notes ?? [])];
    if (redundancy.rows.length > 0)
      sentences.push(
        `Redundant constraints: ${listed(namedOnce(redundancy.rows))} depend on other rows; the multipliers `
          + 'are those of least norm. The motion does not depend on them.',
      );
    for (const [row, {t, count}] of this.found)
      sentences.push(
        `${traced.state.rowName(offset + row)}: at t = `
          + `${Number(toUserTime(traced, t).toPrecision(6))}${count === 1 ? '' : ` and ${count - 1} more times`} `
          + 'gap and multiplier are both 0, neither contact nor none (of a slip: at the border of sticking and '
          + 'sliding). The motion is right; its derivative there is one of several. unilateral(phi, {smoothing}) '
          + 'has one derivative everywhere.',
      );
    if (traced.positionLevelOnly === true)
      sentences.push(
        `stabilization 'none': with steps of changing length the multipliers of ${traced.name} are off by a `
          + `share of each change of length, at any tolerance. Leave the option out, or take 'ggl'.`,
      );
    sentences.push(...energyWarnings(this.prepared), ...orderWarnings(this.prepared), ...switchWarnings(this.prepared));
    if (traced.backwards === true && traced.dissipative === true)
      sentences.push(
        `Time runs backwards, and ${traced.name} takes out fast motion whichever way it goes: what damping `
          + 'forwards had taken out does not come back where steps are long for it. Compare with a shorter dt, or '
          + 'take a scheme that damps nothing, as trapezoid(), gaussLegendre() or an explicit one.',
      );
    sentences.push(...delayWarnings(this.prepared));
    return sentences;
  }
}

/**
 * A constraint that a step enforces on positions and velocities, or in stages, has a row for each: it is named once, by
 * its multiplier.
 */
export const namedOnce = (rows: readonly string[]): readonly string[] => [
  ...new Set(rows.map(row => row.replace(/^.*?lambda'?(\[[^\]]*\])?[^(]*/, 'lambda$1 ').trimEnd())),
];
