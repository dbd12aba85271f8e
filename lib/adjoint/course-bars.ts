/** The cotangents of the parameters along a course, added up: by the programs of its steps where they may, else after each of them. */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import {parameterBar} from '../step/course-programs.js';

/** Programs that share one cotangent where they add to it themselves. */
const ofSteps: ReadonlySet<string> = new Set(['pullStep', 'pullDense']);

export class CourseBars {
  readonly totals: Float64Array[];
  private readonly sources = new Map<string, (Float64Array | undefined)[]>();
  private readonly byPrograms: boolean;

  /** @param executable the context's courseAdjoint */
  constructor({parameterValues, compiled}: StepContext, private readonly executable: Executable) {
    this.byPrograms = compiled.addsUp;
    this.totals = parameterValues.map(values => new Float64Array(values.length));
    if (this.byPrograms) for (const source of this.of('pullStep')) source?.fill(0);
  }

  /** After this program ran. */
  add(program: string, factor = 1): void {
    if (!this.byPrograms || !ofSteps.has(program)) this.addAll(program, factor);
  }

  /** After the last program ran. */
  finish(): readonly Float64Array[] {
    if (this.byPrograms) this.addAll('pullStep', 1);
    return this.totals;
  }

  private of(program: string): (Float64Array | undefined)[] {
    let known = this.sources.get(program);
    if (known === undefined) {
      known = this.totals.map((_, i) => this.executable.find(parameterBar(program, i)));
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
