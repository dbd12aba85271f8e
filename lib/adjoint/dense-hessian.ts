/** Derivatives, first and second, along several directions: of states within a step, and of events and jumps. */
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {DenseHessianProgram} from '../step/dense-hessian-programs.js';
import {denseHessianPrograms} from '../step/dense-hessian-programs.js';
import type {InstantHessianProgram} from '../step/hessian-programs.js';
import {instantHessianPrograms} from '../step/hessian-programs.js';
import {denseWithoutInterpolant} from '../step/interpolant.js';
import {cotangentName, secondOrderName} from '../step/parameter-names.js';
import {addTo} from './add-to.js';
import {parameterNames, setDirections} from './derived-cotangents.js';
import type {SecondOrderCotangent} from './directions.js';
import type {ParameterPair, StepMoves} from './hessian.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {JacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './directions.js';
import {TangentResidual} from './tangent-residual.js';

/** A step with both its ends, and how they move. */
export interface SteppedPair extends StepMoves {
  readonly record: StepRecord;
  readonly row: number;
  readonly next: Float64Array;
  readonly dNext: Float64Array;
}

/** Programs with cotangents and their changes, as the arrays of an executable. */
class Programs<Name extends string> {
  constructor(
    readonly executable: StepExecutable<Name>,
    private readonly context: StepContext,
    directions: Directions,
  ) {
    loadParameters(executable, context);
    setDirections(context, executable, directions);
  }

  set(values: {readonly [name in BufferName]?: Float64Array}): void {
    for (const [name, array] of Object.entries(values) as [BufferName, Float64Array][])
      this.executable.optionalBuffer(name)?.set(array);
  }

  pair(cotangent: BufferName, change: BufferName): SecondOrderCotangent {
    return {cotangent: this.executable.buffer(cotangent), change: this.executable.buffer(change)};
  }

  /** Adds what the last pull has left for the parameters. */
  addTo({cotangents, changes}: ParameterPair): void {
    const {executable} = this;
    parameterNames(this.context).forEach((name, i) => {
      addTo(cotangents[i], executable.optionalBuffer(cotangentName(name)));
      addTo(changes[i], executable.optionalBuffer(secondOrderName(name)));
    });
  }
}

/** What a cotangent of a state within a step asks: arrays of the executable. */
export type WithinCotangents = {readonly [name in 'next' | 'z' | 'x' | 't' | 'h' | 'time']: SecondOrderCotangent};

export class SecondOrderDense {
  private readonly programs: Programs<DenseHessianProgram>;
  private readonly jacobian: JacobianFactor | undefined;
  private readonly remainder: TangentResidual;
  private readonly asked: WithinCotangents;

  constructor(
    context: StepContext,
    private readonly directions: Directions,
  ) {
    const {compiled} = context;
    const {step} = compiled.derived;
    const {count} = directions;
    const dense = denseWithoutInterpolant(step);
    if (dense === undefined) throw new Error('a run with states within its steps has their dense output');
    const executable: StepExecutable<DenseHessianProgram> = compiled.group(
      `denseHessian.${count}`,
      () => denseHessianPrograms(step, dense, compiled.matrices.jacobian, count),
      {analysis: compiled.matrices.analysisOf(compiled.matrices.sweepSolver(context.linear), 'jacobian')},
    );
    this.programs = new Programs(executable, context, directions);
    this.jacobian = jacobianFactor(context, executable);
    const [dx, dt, dh, dz] = (['dx', 'dt', 'dh', 'dz'] as const).map(name => executable.optionalBuffer(name));
    this.remainder = new TangentResidual(context, count, {dx, dt, dh, dz}, directions);
    const {programs} = this;
    this.asked = {
      next: programs.pair('nextCotangent', 'dNextCotangent'),
      z: programs.pair('zCotangent', 'dZCotangent'),
      x: programs.pair('xCotangent', 'dXCotangent'),
      t: programs.pair('tCotangent', 'dTCotangent'),
      h: programs.pair('hCotangent', 'dHCotangent'),
      time: programs.pair('timeCotangent', 'dTimeCotangent'),
    };
  }

  /** Loads a step, the tangents of its unknown with it. */
  load({record, row, next, ...moves}: SteppedPair): void {
    const {
      programs,
      programs: {executable},
      jacobian,
      directions,
    } = this;
    record.load(row, stepBuffers(executable));
    programs.set({next, ...moves});
    const dz = executable.optionalBuffer('dz');
    if (jacobian === undefined || dz === undefined) return;
    jacobian.refresh();
    executable.run('pushResidual');
    this.remainder.setStep(record, row);
    jacobian.solve(executable.buffer('rhs'), dz, directions.count, this.remainder.residual);
  }

  /** The state at a place θ that moves by dθ, and its tangents [count, state]; the executable's own buffers. */
  push(theta: number, dtheta: Float64Array): {readonly state: Float64Array; readonly tangents: Float64Array} {
    const {executable} = this.programs;
    this.programs.set({theta: Float64Array.of(theta), dtheta});
    executable.run('pushDense');
    return {state: executable.buffer('D'), tangents: executable.buffer('dD')};
  }

  /** The cotangents of all that the state at a place depends on, of parameters by `addTo`. */
  pull(theta: number, dtheta: Float64Array, {cotangent, change}: SecondOrderCotangent): WithinCotangents {
    const {executable} = this.programs;
    this.programs.set({theta: Float64Array.of(theta), dtheta, denseCotangent: cotangent, dDenseCotangent: change});
    executable.run('pullDense');
    executable.run('sequentialDense');
    return this.asked;
  }

  /** Adds what the last pull has left for the parameters. */
  addTo(sums: ParameterPair): void {
    this.programs.addTo(sums);
  }
}

/** Functions of a state and a time: those of events, and jumps. */
export class SecondOrderInstant {
  private readonly programs: Programs<InstantHessianProgram>;

  constructor(context: StepContext, directions: Directions) {
    const {compiled} = context;
    const {count} = directions;
    const executable: StepExecutable<InstantHessianProgram> = compiled.group(`instantHessian.${count}`, () =>
      instantHessianPrograms(compiled.derived.step, count),
    );
    this.programs = new Programs(executable, context, directions);
  }

  /** Loads a state and a time, with their tangents. */
  load(x: Float64Array, t: number, dx: Float64Array, dt: Float64Array): void {
    this.programs.set({x, t: Float64Array.of(t), dx, dt});
  }

  /** The tangents of what jump i gives; the executable's own buffer. */
  pushJump(i: number): Float64Array {
    const {executable} = this.programs;
    executable.run(`pushJump.${i}`);
    return executable.buffer('dGiven');
  }

  /** The cotangents of state and time for those of what jump i gives, [count, state] each. */
  pullJump(i: number, {cotangent, change}: SecondOrderCotangent): {readonly [name in 'x' | 't']: SecondOrderCotangent} {
    const {programs} = this;
    programs.set({givenCotangent: cotangent, dGivenCotangent: change});
    programs.executable.run(`pullJump.${i}`);
    programs.executable.run(`sequentialJump.${i}`);
    return this.asked();
  }

  /** The cotangents of state and time for one of an event's function, with its change [count]. */
  pullEvent(
    event: number,
    cotangent: number,
    change: Float64Array,
  ): {readonly [name in 'x' | 't']: SecondOrderCotangent} {
    const {executable} = this.programs;
    const e = executable.buffer('eCotangent');
    const de = executable.buffer('dECotangent');
    e.fill(0);
    de.fill(0);
    e[event] = cotangent;
    change.forEach((value, d) => (de[d * e.length + event] = value));
    executable.run('pullEvents');
    executable.run('sequentialEvents');
    return this.asked();
  }

  /** Adds what the last pull has left for the parameters. */
  addTo(sums: ParameterPair): void {
    this.programs.addTo(sums);
  }

  private asked(): {readonly [name in 'x' | 't']: SecondOrderCotangent} {
    return {x: this.programs.pair('xCotangent', 'dXCotangent'), t: this.programs.pair('tCotangent', 'dTCotangent')};
  }
}
