/**
 * The cotangents of the parameters, summed over a backward pass: by its programs themselves if they can, otherwise
 * after each of them.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {CotangentProgram} from '../step/parameter-names.js';
import {cotangentName, parameterCotangent} from '../step/parameter-names.js';
import {parameterNames, throughDerived, zeroCotangents} from './derived-cotangents.js';

/** Programs that share parameter cotangents, as they run for every step. */
const ofSteps: ReadonlySet<CotangentProgram> = new Set<CotangentProgram>(['pullStep', 'pullDense']);

type Sources = readonly (Float64Array | undefined)[];

/**
 * Where programs leave their cotangents, by executable: every gradient asks, and a name is put together and looked up
 * for each.
 */
const known = new WeakMap<StepExecutable, Map<CotangentProgram | 'shared', Sources>>();

export class ParameterCotangents {
  private readonly totals: readonly Float64Array[];
  private readonly sources: Map<CotangentProgram | 'shared', Sources>;
  /** All programs add to one cotangent: nothing is left to do after them. */
  readonly untouched: boolean;

  /**
   * @param byPrograms those that run for every step add to their cotangents themselves
   * @param apart each program has cotangents of its own (`parameterCotangent`); else they share those of their
   *   executable
   * @param totals they are added to these, of a step that derives no values from the parameters; absent, to zeros
   */
  constructor(
    private readonly context: StepContext,
    private readonly executable: StepExecutable,
    private readonly byPrograms: boolean,
    private readonly apart = false,
    totals?: readonly Float64Array[],
  ) {
    this.totals = totals ?? zeroCotangents(context);
    let sources = known.get(executable);
    if (sources === undefined) known.set(executable, (sources = new Map<CotangentProgram | 'shared', Sources>()));
    this.sources = sources;
    this.untouched = byPrograms && !apart;
    if (byPrograms) for (const source of this.of('pullStep')) source?.fill(0);
  }

  /** After this program ran. */
  add(program: CotangentProgram = 'pullStep', factor = 1): void {
    if (this.untouched || (this.byPrograms && ofSteps.has(program))) return;
    this.addAll(program, factor);
  }

  /** The cotangents of the parameters, after the last program ran. */
  finish(): Float64Array[] {
    if (this.byPrograms) this.addAll('pullStep', 1);
    return throughDerived(this.context, this.totals);
  }

  private of(program: CotangentProgram): Sources {
    const {apart, executable, sources} = this;
    const key = apart ? program : 'shared';
    let found = sources.get(key);
    if (found === undefined)
      sources.set(
        key,
        (found = parameterNames(this.context).map(name =>
          executable.optionalBuffer(apart ? parameterCotangent(program, name) : cotangentName(name)),
        )),
      );
    return found;
  }

  private addAll(program: CotangentProgram, factor: number): void {
    const {totals} = this;
    const sources = this.of(program);
    for (let p = 0; p < totals.length; p++) {
      const source = sources[p];
      if (source === undefined) continue;
      const total = totals[p];
      for (let i = 0; i < total.length; i++) total[i] += factor * source[i];
    }
  }
}
