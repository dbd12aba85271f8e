/** The derivatives of states saved within a step, first and second, along several directions. */
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {DenseHessianProgram} from '../step/dense-hessian-programs.js';
import {denseHessianPrograms} from '../step/dense-hessian-programs.js';
import {denseWithoutInterpolant} from '../step/interpolant.js';
import type {ParameterName} from '../step/parameter-names.js';
import {cotangentName, secondOrderName} from '../step/parameter-names.js';
import {addTo} from './add-to.js';
import {parameterNames, setDirections} from './derived-cotangents.js';
import type {SecondOrderCotangent} from './directions.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {JacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './directions.js';
import {TangentResidual} from './tangent-residual.js';

/** A step with both its ends, and the tangents [count, state] of these. */
export interface SteppedPair {
  readonly record: StepRecord;
  readonly row: number;
  readonly dx: Float64Array;
  readonly next: Float64Array;
  readonly dNext: Float64Array;
}

/** What a cotangent of a state within a step asks of the step's end, of its unknown, and of its beginning. */
export interface WithinCotangents {
  readonly next: SecondOrderCotangent;
  readonly z: SecondOrderCotangent;
  readonly x: SecondOrderCotangent;
}

export class SecondOrderDense {
  private readonly executable: StepExecutable<DenseHessianProgram>;
  private readonly jacobian: JacobianFactor | undefined;
  private readonly remainder: TangentResidual;
  private readonly names: readonly ParameterName[];

  constructor(
    context: StepContext,
    private readonly directions: Directions,
  ) {
    const {compiled} = context;
    const {step} = compiled.derived;
    const dense = denseWithoutInterpolant(step);
    if (dense === undefined) throw new Error('a run with states within its steps has their dense output');
    this.executable = compiled.group(
      `denseHessian.${directions.count}`,
      () => denseHessianPrograms(step, dense, compiled.matrices.jacobian, directions.count),
      {analysis: compiled.matrices.analysisOf(compiled.matrices.sweepSolver(context.linear), 'jacobian')},
    );
    loadParameters(this.executable, context);
    setDirections(context, this.executable, directions);
    this.names = parameterNames(context);
    this.jacobian = jacobianFactor(context, this.executable);
    this.remainder = new TangentResidual(
      context,
      directions.count,
      {dx: this.executable.optionalBuffer('dx'), dz: this.executable.optionalBuffer('dz')},
      directions,
    );
  }

  /** Loads a step, the tangents of its unknown with it. */
  load({record, row, dx, next, dNext}: SteppedPair): void {
    const {executable, jacobian, directions} = this;
    record.load(row, stepBuffers(executable));
    const set = (name: BufferName, values: Float64Array): void => void executable.optionalBuffer(name)?.set(values);
    set('dx', dx);
    set('next', next);
    set('dNext', dNext);
    const dz = executable.optionalBuffer('dz');
    if (jacobian === undefined || dz === undefined) return;
    jacobian.refresh();
    executable.run('pushResidual');
    this.remainder.setStep(record, row);
    jacobian.solve(executable.buffer('rhs'), dz, directions.count, this.remainder.residual);
  }

  /** Tangents [count, state] of the state at θ of the step that is loaded; the executable's own buffer. */
  push(theta: number): Float64Array {
    this.executable.optionalBuffer('theta')?.fill(theta);
    this.executable.run('pushDense');
    return this.executable.buffer('dD');
  }

  /** Its cotangents, the parameters' added to `cotangents` and `changes`; the executable's own buffers. */
  pull(
    theta: number,
    {cotangent, change}: SecondOrderCotangent,
    cotangents: readonly Float64Array[],
    changes: readonly Float64Array[],
  ): WithinCotangents {
    const {executable, names} = this;
    executable.optionalBuffer('theta')?.fill(theta);
    executable.optionalBuffer('denseCotangent')?.set(cotangent);
    executable.optionalBuffer('dDenseCotangent')?.set(change);
    executable.run('pullDense');
    executable.run('secondOrderDense');
    const of = (cotangentName: BufferName, secondOrderName: BufferName): SecondOrderCotangent => ({
      cotangent: executable.buffer(cotangentName),
      change: executable.buffer(secondOrderName),
    });
    cotangents.forEach((total, i) => addTo(total, executable.optionalBuffer(cotangentName(names[i]))));
    changes.forEach((total, i) => addTo(total, executable.optionalBuffer(secondOrderName(names[i]))));
    return {
      next: of('nextCotangent', 'dNextCotangent'),
      z: of('zCotangent', 'dZCotangent'),
      x: of('xCotangent', 'dXCotangent'),
    };
  }
}
