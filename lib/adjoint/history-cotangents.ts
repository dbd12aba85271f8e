/** The cotangents of the parameters along a step history, added up: by the programs of its steps where they may, else after each of them. */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import type {ParameterName} from '../step/parameter-names.js';
import {parameterCotangent} from '../step/parameter-names.js';
import {parameterNames, throughDerived, zeroCotangents} from './derived.js';

/** Programs that share one cotangent where they add to it themselves. */
const ofSteps: ReadonlySet<string> = new Set(['pullStep', 'pullDense']);

export class ParameterCotangentsOfSteps {
  private readonly totals: Float64Array[];
  private readonly names: readonly ParameterName[];
  private readonly sources = new Map<string, (Float64Array | undefined)[]>();
  private readonly byPrograms: boolean;

  /** @param executable the context's historyAdjoint */
  constructor(private readonly context: StepContext, private readonly executable: Executable) {
    this.byPrograms = context.compiled.addsUp;
    this.totals = zeroCotangents(context);
    this.names = parameterNames(context);
    if (this.byPrograms) for (const source of this.of('pullStep')) source?.fill(0);
  }

  /** After this program ran. */
  add(program: string, factor = 1): void {
    if (!this.byPrograms || !ofSteps.has(program)) this.addAll(program, factor);
  }

  /** After the last program ran. */
  finish(): readonly Float64Array[] {
    if (this.byPrograms) this.addAll('pullStep', 1);
    return throughDerived(this.context, this.totals);
  }

  private of(program: string): (Float64Array | undefined)[] {
    let known = this.sources.get(program);
    if (known === undefined) {
      known = this.names.map(name => this.executable.find(parameterCotangent(program, name)));
      this.sources.set(program, known);
    }
    return known;
  }

  private addAll(program: string, factor: number): void {
    this.of(program).forEach((source, p) => {
      if (source === undefined) return;
      const total = this.totals[p];
      for (let i = 0; i < total.length; i++) total[i] += factor * source[i];
    });
  }
}
