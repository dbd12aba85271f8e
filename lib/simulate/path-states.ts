/** States of rest as functions of a load and of the arc length along their path, with what is known of them there. */
import {NewtonError, OptionError, SingularMatrixError} from '../errors.js';
import {noCounts, type Counters} from '../integrate/counters.js';
import {StepSystem} from '../integrate/step-system.js';
import {dot, type Factor} from '../linear/index.js';
import {EigenvalueCount} from '../linear/eigenvalue-count.js';
import {randomize} from '../linear/null-space.js';
import {BorderedSystem, NewtonIteration, type ParametricSystem} from '../newton/index.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {loadParameters} from '../step/context.js';
import type {Block} from '../step/layout.js';
import type {PreparedRun} from './prepare.js';

/** ∂R/∂λ is a difference over this share of the first step's load: exact for linear loads, 1e-7 for smooth ones. */
const differenceShare = 1e-3;
/** Critical points are located to this share of a step: the load of a limit point to its square. */
const locatedShare = 1e-8;
/**
 * Where the stiffness is singular to rounding, states this share of a step on either side are not: slender bodies have
 * singular ones within 1e-4. Between them a point is located to the square of this.
 */
const singularShare = 1e-3;
/** Halvings of a step to that share are 27; false position takes a dozen at most. */
const maxLocations = 60;
/** Inverse iterations for the eigenvalue nearest to zero: near a critical point each gains digits, from noise. */
const inverseIterations = 4;

/** A state of rest on a path. */
export interface PathPoint {
  readonly load: number;
  /** Row-major, as `Equilibrium.values`. */
  readonly q: Float64Array;
  readonly lambda?: Float64Array;
  /**
   * How many directions lower the energy: negative eigenvalues of the stiffness −∂f/∂q, in what constraints leave
   * free. 0 is stable; undefined where the stiffness is not symmetric.
   */
  readonly unstable: number | undefined;
}

/** A state of rest with its tangent, of unit length. */
export interface PathState {
  /** [z, load] */
  readonly z: Float64Array;
  readonly tangent: Float64Array;
  readonly point: PathPoint;
  /** The eigenvalue of ∂R/∂z nearest to zero, and its vector. */
  readonly softest: Softest;
}

interface Softest {
  readonly value: number;
  readonly vector: Float64Array;
}

/** A state at a distance s from another one along that one's tangent. */
interface Located {
  readonly s: number;
  readonly state: PathState;
}

/** The equations of rest as a function of the unknown and the load, which is the time of their step. */
class LoadedSystem extends StepSystem implements ParametricSystem {
  private readonly load: Float64Array;
  private readonly programs: ForwardExecutable;

  constructor(prepared: PreparedRun) {
    super(prepared);
    const {compiled, options, initialValues} = prepared;
    this.programs = compiled.forward(options.newton.linear);
    loadParameters(this.programs, prepared);
    const load = this.programs.optionalBuffer('t');
    if (load === undefined)
      throw new OptionError(
        'no-load',
        'equilibrium.path: nothing depends on the load. Make a load or a support a function of t, or name the '
          + 'parameter that is the load: {parameter}.',
      );
    this.load = load;
    this.programs.optionalBuffer('h')?.fill(1);
    this.programs.optionalBuffer('x')?.fill(0).set(initialValues);
    this.setParameter(prepared.t0);
  }

  setParameter(value: number): void {
    this.load[0] = value;
    // It also makes what depends on the time alone.
    this.programs.run('guess');
  }

  /** Compiled factors solve in the memory of their programs alone. */
  override factor(first: boolean, model: boolean): Factor {
    const factor = super.factor(first, model);
    const [from, to] = [this.programs.buffer('delta'), this.programs.buffer('nextDelta')];
    const inMemory = (solve: (b: Float64Array, x: Float64Array) => void) => (b: Float64Array, x: Float64Array) => {
      from.set(b);
      solve(from, to);
      x.set(to);
    };
    return {
      n: factor.n,
      kind: factor.kind,
      size: factor.size,
      linearIterations: factor.linearIterations,
      refactor: values => factor.refactor(values),
      solve: inMemory((b, x) => factor.solve(b, x)),
      solveTransposed: inMemory((b, x) => factor.solveTransposed(b, x)),
    };
  }

  /** The state at z. */
  get next(): Float64Array {
    this.programs.run('update');
    return this.programs.buffer('next');
  }
}

const isRising = ({tangent}: PathState): boolean => tangent[tangent.length - 1] > 0;

/** Whether a critical point lies between two states of a path. */
export const differs = (a: PathState, b: PathState): boolean =>
  isRising(a) !== isRising(b) || (a.point.unstable ?? b.point.unstable) !== (b.point.unstable ?? a.point.unstable);

export class PathStates {
  readonly counters: Counters = noCounts();
  private readonly inner: LoadedSystem;
  private readonly bordered: BorderedSystem;
  private readonly iteration: NewtonIteration;
  private readonly eigenvalues: EigenvalueCount;
  /** Squares of the units of all unknowns and of the load; infinite where one counts for nothing. */
  private readonly units: Float64Array;
  private readonly coordinates: Block;

  constructor(
    private readonly prepared: PreparedRun,
    private readonly step: number,
  ) {
    const {blocks} = prepared.traced.unknown;
    this.inner = new LoadedSystem(prepared);
    this.bordered = new BorderedSystem(this.inner, differenceShare * Math.abs(step));
    this.iteration = new NewtonIteration(prepared.options.newton, this.bordered, this.counters);
    [this.coordinates] = blocks;
    const multipliers = blocks.filter(block => block.isMultiplier === true);
    const rows = multipliers.flatMap(({offset, size}) => Array.from({length: size}, (_, i) => offset + i));
    this.eigenvalues = new EigenvalueCount(this.inner.pattern, rows);
    this.units = new Float64Array(this.bordered.z.length).fill(Infinity);
  }

  /** The first state, at the load of the start, or with a direction the start itself. */
  first(direction: Float64Array | undefined): PathState {
    const {bordered, inner, prepared, units, step} = this;
    const {offset, size} = this.coordinates;
    const n = inner.z.length;
    bordered.z.set(inner.z);
    bordered.z[n] = prepared.t0;
    const along = new Float64Array(n + 1);
    let softest: Softest;
    let unstable: number | undefined;
    if (direction === undefined) {
      this.solveAtLoad();
      const {inner: factor, column} = bordered.factor();
      column.forEach((a, i) => (along[i] = -a * step));
      along[n] = step;
      softest = softestOf(factor);
      unstable = this.unstable;
    } else {
      if (direction.length !== size)
        throw new OptionError(
          'bad-path',
          `equilibrium.path: direction has ${direction.length} numbers, and the system moves by ${size}.`,
        );
      bordered.moveInner();
      along.set(direction, offset);
      softest = {value: 0, vector: along.slice(0, n)};
    }
    const moved = this.ofCoordinates(along);
    if (!(dot(moved, moved) > 0))
      throw new OptionError('no-load', 'equilibrium.path: the load, or the direction, moves nothing at the start.');
    units.fill(dot(moved, moved), offset, offset + size);
    units[n] = step * step;
    return {z: bordered.z.slice(), tangent: this.unit(along, along), point: this.pointWith(unstable), softest};
  }

  /** The numbers of an unknown that move the system. */
  ofCoordinates(z: Float64Array): Float64Array {
    const {offset, size} = this.coordinates;
    return z.subarray(offset, offset + size);
  }

  /** Newton's method at a load that stays. @throws NewtonError, SingularMatrixError */
  private solveAtLoad(): void {
    const {bordered, inner, prepared, counters} = this;
    const iteration = new NewtonIteration(prepared.options.newton, inner, counters);
    bordered.moveInner();
    const status = iteration.solve();
    const load = bordered.z[inner.z.length];
    if (status !== 'converged')
      throw (
        iteration.cause
        ?? new NewtonError(status, `equilibrium.path: no state of rest was found at the load ${load}.`, {load})
      );
    bordered.z.set(inner.z);
  }

  private get unstable(): number | undefined {
    const {matrixValues} = this.inner;
    return matrixValues === undefined ? undefined : this.eigenvalues.unstable(matrixValues);
  }

  product(a: Float64Array, b: Float64Array): number {
    return a.reduce((sum, x, i) => sum + (x * b[i]) / this.units[i], 0);
  }

  /** A tangent of unit length that does not turn back from another one. */
  private unit(tangent: Float64Array, along: Float64Array): Float64Array {
    const length = Math.sqrt(this.product(tangent, tangent)) * (this.product(tangent, along) < 0 ? -1 : 1);
    return tangent.map(x => x / length);
  }

  private pointWith(unstable: number | undefined): PathPoint {
    const {next, z} = this.inner;
    const part = (name: string): Float64Array | undefined => {
      const block = this.prepared.traced.state.block(name);
      return block === undefined ? undefined : next.slice(block.offset, block.offset + block.size);
    };
    const lambda = part('lambda');
    const load = this.bordered.z[z.length];
    return {load, q: part('q') as Float64Array, ...(lambda === undefined ? {} : {lambda}), unstable};
  }

  /** The state where the system stands, whose tangent goes on along another one. */
  private stateAlong(along: Float64Array): PathState {
    const {bordered} = this;
    const {inner: factor, column} = bordered.factor();
    const softest = softestOf(factor);
    const {unstable} = this;
    const tangent = this.unit(Float64Array.of(...column.map(a => -a), 1), along);
    return {z: bordered.z.slice(), tangent, point: this.pointWith(unstable), softest};
  }

  /**
   * The state at a distance s from another one along its tangent, and the iterations that it took; undefined where
   * Newton's method does not get there.
   */
  advance(from: PathState, s: number): {readonly state: PathState; readonly iterations: number} | undefined {
    const {bordered, counters, iteration, units} = this;
    from.z.forEach((z, i) => (bordered.z[i] = bordered.point[i] = z + s * from.tangent[i]));
    from.tangent.forEach((t, i) => (bordered.normal[i] = t / units[i]));
    const before = counters.newtonIterations;
    iteration.discardFactor();
    if (iteration.solve() !== 'converged') return undefined;
    const iterations = counters.newtonIterations - before;
    try {
      return {state: this.stateAlong(from.tangent), iterations};
    } catch (error) {
      if (error instanceof SingularMatrixError) return undefined;
      throw error;
    }
  }

  /** The state at a load between those of two states. */
  at(load: number, a: PathState, b: PathState): PathState {
    const {bordered} = this;
    const share = (load - a.point.load) / (b.point.load - a.point.load);
    a.z.forEach((z, i) => (bordered.z[i] = z + share * (b.z[i] - z)));
    bordered.z[a.z.length - 1] = load;
    this.solveAtLoad();
    return this.stateAlong(a.tangent);
  }

  /**
   * The first critical point between two states at distances from `from`, and the state behind it: where the eigenvalue
   * nearest to zero changes its sign, by false position with Illinois' rule (Dowell & Jarratt, BIT 11, 1971), or by
   * bisection. Undefined where it is not found.
   */
  critical(
    from: PathState,
    before: Located,
    after: Located,
  ): {readonly state: PathState; readonly behind: Located; readonly turns: boolean} | undefined {
    let [a, b] = [before, after].map(place => ({...place, value: place.state.softest.value}));
    const small = locatedShare * Math.abs(b.value);
    let nearest = b;
    let last: 'a' | 'b' | undefined;
    for (let tries = 0; tries < maxLocations && b.s - a.s > locatedShare * after.s; tries++) {
      const secant = (a.s * b.value - b.s * a.value) / (b.value - a.value);
      const s = a.value * b.value < 0 ? secant : (a.s + b.s) / 2;
      const found = this.advance(from, s);
      if (found === undefined) return this.across(from, s, singularShare * after.s);
      nearest = {s, state: found.state, value: found.state.softest.value};
      // Where rounding hides the sign of a pivot the eigenvalue itself tells the side.
      const isHidden = found.state.point.unstable === undefined && from.point.unstable !== undefined;
      if (isHidden ? nearest.value * b.value > 0 : differs(a.state, found.state)) {
        if (last === 'b') a = {...a, value: a.value / 2};
        [b, last] = [nearest, 'b'];
      } else {
        if (last === 'a') b = {...b, value: b.value / 2};
        [a, last] = [nearest, 'a'];
      }
      if (Math.abs(nearest.value) <= small) break;
    }
    return this.located(nearest, a, b);
  }

  /** A critical point so near to s that the stiffness is singular to rounding there, from states on either side. */
  private across(from: PathState, s: number, distance: number): ReturnType<PathStates['critical']> {
    const [a, b] = [s - distance, s + distance].map(at => this.advance(from, at)?.state);
    if (a === undefined || b === undefined || !(a.softest.value * b.softest.value < 0)) return undefined;
    const share = a.softest.value / (a.softest.value - b.softest.value);
    const between = (x: Float64Array, y: Float64Array): Float64Array =>
      x.map((value, i) => value + share * (y[i] - value));
    const {lambda} = a.point;
    const point = {
      ...a.point,
      load: a.point.load + share * (b.point.load - a.point.load),
      q: between(a.point.q, b.point.q),
      ...(lambda === undefined ? {} : {lambda: between(lambda, b.point.lambda!)}),
    };
    return this.located({s, state: {...a, point}}, {s, state: a}, {s: s + distance, state: b});
  }

  private located({state}: Located, a: Located, b: Located): ReturnType<PathStates['critical']> {
    return {state, behind: {s: b.s, state: b.state}, turns: isRising(a.state) !== isRising(b.state)};
  }
}

/** By inverse iterations from a vector without symmetries, which would keep those without out of sight. */
function softestOf(factor: Factor): Softest {
  let vector = new Float64Array(factor.n);
  randomize(vector, 0);
  let value = NaN;
  for (let k = 0; k < inverseIterations; k++) {
    const next = new Float64Array(vector.length);
    factor.solve(vector, next);
    value = dot(vector, vector) / dot(vector, next);
    const size = next.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    vector = next.map(x => x / size);
  }
  return {value, vector};
}
