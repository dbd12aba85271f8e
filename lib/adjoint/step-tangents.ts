/** Tangents of one step along several directions, with t and h among its arguments. */
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {HistoryTangentProgram} from '../step/history-programs.js';
import {historyTangentPrograms} from '../step/history-programs.js';
import {firstNotFinite} from '../system/places.js';
import {setDirections} from './derived-cotangents.js';
import type {Directions} from './directions.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {JacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import {TangentResidual} from './tangent-residual.js';

/**
 * The first step's tangents where the initial state does not move and a slope by it is infinite, as that of √y at 0:
 * these slopes count for nothing then. undefined where all is finite, or the initial state moves.
 * @param pushed what the step's own programs have found
 */
export function heldTangents(
  context: StepContext,
  directions: Directions,
  pushed: Float64Array,
): StepTangents | undefined {
  const {initial} = directions;
  if (firstNotFinite(pushed) < 0 || initial.some(value => value !== 0)) return undefined;
  return new StepTangents(context, directions, initial.length / directions.count);
}

export const negated = (values: Float64Array): Float64Array => values.map(value => -value);

/** A step's tangent programs for `count` directions, loaded. */
export class StepTangents {
  readonly executable: StepExecutable<HistoryTangentProgram>;
  readonly jacobian: JacobianFactor | undefined;
  readonly dz?: Float64Array;
  private remainder: TangentResidual | undefined;

  /** @param held so many numbers of the state have tangents of zero by construction, those that come first */
  constructor(
    readonly context: StepContext,
    private readonly directions: Directions,
    held = 0,
  ) {
    const {compiled, traced} = context;
    const {count} = directions;
    this.executable = compiled.group(`historyTangent.${count}${held === 0 ? '' : `.held.${held}`}`, () =>
      historyTangentPrograms(compiled.derived.step, compiled.matrices.jacobian, count, held),
    );
    loadParameters(this.executable, context);
    setDirections(context, this.executable, directions);
    this.jacobian = jacobianFactor(context, this.executable);
    if (this.jacobian !== undefined)
      this.dz = this.executable.optionalBuffer('dz') ?? new Float64Array(count * traced.unknown.size);
  }

  set(name: BufferName, values: Float64Array): void {
    this.executable.optionalBuffer(name)?.set(values);
  }

  /** Adds s times a vector to direction d of the tangents of what dense output reads inside the step. */
  addInside(d: number, vector: Float64Array, s: number): void {
    const tangents = this.executable.optionalBuffer('dInside');
    if (tangents !== undefined)
      for (let i = 0; i < vector.length; i++) tangents[d * vector.length + i] += s * vector[i];
  }

  /** ẋ of the step's end, for dx, dt and dh; the executable's own buffer. */
  push(record: StepRecord, k: number, dx: Float64Array, dt: Float64Array, dh: Float64Array): Float64Array {
    const {executable, jacobian, dz, directions} = this;
    record.load(k, stepBuffers(executable));
    this.set('dx', dx);
    this.set('dt', dt);
    this.set('dh', dh);
    if (jacobian !== undefined && dz !== undefined) {
      jacobian.refresh();
      executable.run('pushResidual');
      this.remainder ??= new TangentResidual(
        this.context,
        directions.count,
        {
          dx: executable.optionalBuffer('dx'),
          dt: executable.optionalBuffer('dt'),
          dh: executable.optionalBuffer('dh'),
          dz,
        },
        directions,
      );
      this.remainder.setStep(record, k);
      jacobian.solve(executable.buffer('rhs'), dz, directions.count, this.remainder.residual);
    }
    executable.run('pushUpdate');
    return executable.buffer('dNext');
  }
}
