/** The cotangents of the parameters, added up over the steps of a way back. */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import {cotangentName} from '../step/parameter-names.js';
import {parameterNames, throughDerived, zeroCotangents} from './derived.js';

/** Adds up the cotangents of the parameters, program by program, or lets the programs do it where they can. */
export class ParameterCotangents {
  private readonly totals: Float64Array[];
  private readonly sources: (Float64Array | undefined)[];

  /** @param byPrograms the executable's programs add to pCotangent.i themselves */
  constructor(private readonly context: StepContext, executable: Executable, private readonly byPrograms: boolean) {
    this.totals = zeroCotangents(context);
    this.sources = parameterNames(context).map(name => executable.find(cotangentName(name)));
    if (byPrograms) for (const source of this.sources) source?.fill(0);
  }

  add(factor = 1): void {
    if (!this.byPrograms) this.addAll(factor);
  }

  /** Those of the parameters, after the last step. */
  finish(): Float64Array[] {
    if (this.byPrograms) this.addAll(1);
    return throughDerived(this.context, this.totals);
  }

  private addAll(factor: number): void {
    for (let p = 0; p < this.totals.length; p++) {
      const source = this.sources[p];
      if (source === undefined) continue;
      const total = this.totals[p];
      for (let i = 0; i < total.length; i++) total[i] += factor * source[i];
    }
  }
}
