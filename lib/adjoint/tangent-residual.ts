/**
 * The residual of the tangents of a recorded step's equation, for the refinement of their solve (jacobian-factor.ts).
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import {setDirections} from './derived-cotangents.js';
import type {ResidualFunction} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './directions.js';

export class TangentResidual {
  private executable: StepExecutable<'tangentLeft'> | undefined;
  private record: StepRecord | undefined;
  private k = 0;
  /** For the refinement. */
  readonly residual: ResidualFunction;

  /**
   * @param tangents what the tangents are called in the programs, and where they stand; with dt and dh where the step's
   *   time is among its arguments
   * @param directions of the parameters; undefined for the derivative by the step's length alone
   */
  constructor(
    context: StepContext,
    count: number,
    tangents: {readonly [Name in 'dx' | 'dz' | 'dt' | 'dh']?: Float64Array},
    directions?: Directions,
  ) {
    const entries = Object.entries(tangents) as ['dx' | 'dz' | 'dt' | 'dh', Float64Array | undefined][];
    this.residual = () => {
      const executable = (this.executable ??= this.compile(context, count, 'dh' in tangents, directions));
      this.record?.load(this.k, stepBuffers(executable));
      for (const [name, values] of entries) if (values !== undefined) executable.optionalBuffer(name)?.set(values);
      executable.run('tangentLeft');
      return executable.buffer('left');
    };
  }

  private compile(
    context: StepContext,
    count: number,
    timed: boolean,
    directions?: Directions,
  ): StepExecutable<'tangentLeft'> {
    const {compiled} = context;
    const executable = directions === undefined ? compiled.lengthResidual : compiled.tangentResidual(count, timed);
    loadParameters(executable, context);
    if (directions !== undefined) setDirections(context, executable, directions);
    return executable;
  }

  /** Step k of a record from now on. */
  setStep(record: StepRecord, k: number): void {
    this.record = record;
    this.k = k;
  }
}
