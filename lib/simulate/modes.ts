/**
 * Natural frequencies and modes of a mechanical system about a state: K φ = ω² M φ with K = −∂f/∂q and M of that state,
 * both sparse where the system is. Derivatives are those of simple eigenvalues, dω² = φᵀ(dK − ω² dM)φ (Fox & Kapoor,
 * AIAA J. 6, 1968).
 */
import * as tf from '@tensorflow/tfjs';
import {addTo} from '../adjoint/add-to.js';
import {any, finite, object, optional, positiveInteger, readOptions, refuseUnknownOptions, typed} from '../checks.js';
import type {Options} from '../checks.js';
import {chooseEngine} from '../engine/index.js';
import {OptionError, ShapeError, SingularMatrixError} from '../errors.js';
import {full} from '../graph/build.js';
import {CsrOperator, type Pattern} from '../linear/index.js';
import {lanczos, type EigenPairs} from '../linear/lanczos.js';
import {analyzeLdlt, type SparseLdltFactor} from '../linear/sparse-ldlt.js';
import {isGeneral, type MechanicalSystem} from '../system/mechanics.js';
import {readNumeric, type Numeric} from '../system/numeric.js';
import {readParams, toTree, type NumericParams, type NumericParamsOf, type Params} from '../system/params.js';
import {derivativeAlong} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import type {ParamsOf, Pullback} from './kinds.js';
import {readCaptured} from './prepare.js';
import {equationsAt, matricesAt, type MechanicalPlace} from './stiffness-and-mass.js';
import {traceFunction, type TracedFunction} from './traced-function.js';

const modesOptions = {
  params: optional(typed<NumericParams>(object)),
  /** How many modes. Default 6. */
  count: optional(positiveInteger, 6),
  /**
   * The modes whose ω² is nearest to this number are found. Default 0, or for a system that can move freely a little
   * less than 0, where K − shift · M has an inverse.
   */
  shift: optional(finite),
};

/** Options of `modes`. @interface */
export type ModesOptions<P = Params> = Omit<Options<typeof modesOptions>, 'params'> & {
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
};

/** Natural frequencies and modes, by growing ω². */
export interface NaturalModes {
  /** ω in radians by unit of time, [count]; NaN where ω² < 0, a mode that grows. */
  readonly frequencies: Float64Array;
  /** ω², [count]: 0 of rigid motions. */
  readonly eigenvalues: Float64Array;
  /** The displacement of each mode, of the shape of q, row-major: φᵀMφ = 1, and 0 of two modes. */
  readonly shapes: readonly Float64Array[];
  /** An eigenvalue of the matrices lies within this share of |ω² − shift| of each ω². */
  readonly residuals: Float64Array;
  /** Rigid motions, instability, repeated frequencies, and a state that is not at rest. */
  readonly warnings: readonly string[];
}

/** Modes, and the pullback of their frequencies. */
export interface ModesVjp<S extends MechanicalSystem<never> = MechanicalSystem> {
  readonly modes: NaturalModes;
  /**
   * The gradient of Σ cotangent · frequency (or ω²) with respect to q, params and variables. Where the state is an
   * equilibrium that depends on params, add the pullback of `equilibrium.vjp` of the gradient for q.
   * @throws OptionError 'repeated-frequency' where modes of one frequency have different cotangents
   */
  pullback(cotangent: {
    readonly frequencies?: Numeric;
    readonly eigenvalues?: Numeric;
  }): {readonly q: Float64Array} & Pick<Pullback<S>, 'params' | 'variables' | 'tensors'>;
}

/** The type of `modes`. */
export interface FindModes {
  /**
   * The modes of small undamped vibrations about a state, those of smallest ω² in size or nearest to `shift`: block
   * Lanczos iterations with a sparse factor of K − shift · M, and a count of eigenvalues by the signs of pivots, so
   * that none is missed. K is the stiffness at the state, with prestress; damping has no part.
   * @param state q, and the time (default 0)
   * @throws OptionError 'bad-modes' for constraints, hidden states, kinematics, and forces whose stiffness is not
   *   symmetric; StiffgradError 'not-converged'
   */
  <S extends MechanicalSystem<never>>(
    system: S,
    state: {readonly q: Numeric; readonly t?: number},
    options?: ModesOptions<ParamsOf<S>>,
  ): NaturalModes;
  /** The modes, and the map from a cotangent of their frequencies to that of q, params and variables. */
  vjp<S extends MechanicalSystem<never>>(
    system: S,
    state: {readonly q: Numeric; readonly t?: number},
    options?: ModesOptions<ParamsOf<S>>,
  ): ModesVjp<S>;
}

interface Place extends MechanicalPlace {
  readonly count: number;
  readonly shift: number | undefined;
}

function read(
  given: MechanicalSystem<never>,
  state: {readonly q: Numeric; readonly t?: number},
  options: object,
): Place {
  const system = given as MechanicalSystem;
  refuseUnknownOptions(state, {q: any, t: finite, v: any}, 'modes: the state', 'bad-initial');
  const {params, count, shift} = readOptions(options as ModesOptions, modesOptions, 'modes');
  const what =
    (system as {kind: string}).kind !== 'mechanics'
      ? 'mechanical systems'
      : system.constraints.length > 0
        ? 'systems without constraints'
        : isGeneral(system)
          ? 'systems without hidden states and kinematics'
          : undefined;
  if (what !== undefined)
    throw new OptionError('bad-modes', `modes takes ${what}; linearize has the eigenvalues of others.`);
  return {system, q: readNumeric(state.q, 'modes: q'), t: state.t ?? 0, leaves: readParams(params), count, shift};
}

/** A free system is shifted by this share of the largest Kᵢᵢ/Mᵢᵢ: far above rounding, far below other modes. */
const freeShift = 1e-10;
/** Those of a free body in space. */
const rigidMotions = 6;
/** ω² this small beside the largest Kᵢᵢ/Mᵢᵢ is rounding, and 0. */
const roundingShare = 1e-13;
/** Frequencies whose ω² differ by this share or less count as repeated: meshes split them by their rounding alone. */
const repeatedShare = 1e-6;
/** A force this large beside the stiffest entry is not what an equilibrium leaves of it. */
const restShare = 1e-8;

interface FoundModes extends NaturalModes {
  /** Numbers of the modes of each frequency that is repeated. */
  readonly repeated: readonly (readonly number[])[];
}

function find(place: Place): FoundModes {
  const {pattern, K, M, force} = matricesAt(place);
  const {n} = pattern;
  const factor = analyzeLdlt(pattern).createFactor();
  const shifted = (by: number): Float64Array => K.map((k, p) => k - by * M[p]);
  const largest = diagonalRatio(pattern, K, M);
  let shift = place.shift ?? 0;
  if (!isRegular(factor, shifted(shift))) {
    if (place.shift === undefined) shift = -freeShift * largest;
    if (place.shift !== undefined || !isRegular(factor, shifted(shift)))
      throw new OptionError(
        'bad-modes',
        `modes: K − shift · M has no inverse at shift ${shift}: it is an eigenvalue, or some coordinates have neither `
          + 'stiffness nor mass. Take another shift.',
        {shift},
      );
  }
  const mass = new CsrOperator(pattern);
  mass.load(M);
  const nearest = (count: number): EigenPairs =>
    lanczos({
      n,
      count: Math.min(n, count),
      shift,
      solve: (x, y) => factor.solve(x, y),
      mass: (x, y) => mass.apply(x, y),
    });
  if (place.shift === undefined && shift < 0) {
    // Beside 1/(λ − σ) of rigid motions that of other modes loses digits: they are found from a shift of their size.
    const elastic = nearest(rigidMotions + 1).values.find(value => Math.abs(value) > roundingShare * largest);
    if (elastic !== undefined && isRegular(factor, shifted(-Math.abs(elastic)))) shift = -Math.abs(elastic);
    else isRegular(factor, shifted(shift));
  }
  const below = factor.negativePivots;
  // One more than is asked for tells whether the last is one of a repeated frequency.
  const found = nearest(place.count + 1);
  requireAll(found.values, shift, below, by => (isRegular(factor, shifted(by)) ? factor.negativePivots : undefined));
  const order = Array.from(found.values.keys())
    .slice(0, place.count)
    .sort((a, b) => found.values[a] - found.values[b]);
  const eigenvalues = Float64Array.from(order, k => {
    const value = found.values[k];
    return Math.abs(value) <= roundingShare * largest ? 0 : value;
  });
  const groups = groupsOf(eigenvalues);
  const last = found.values[place.count];
  const isCut = last !== undefined && isRepeated(last, found.values[place.count - 1]);
  return {
    frequencies: eigenvalues.map(Math.sqrt),
    eigenvalues,
    shapes: order.map(k => found.vectors[k]),
    residuals: Float64Array.from(order, k => found.residuals[k]),
    repeated: groups,
    warnings: warningsOf(place, eigenvalues, groups, isCut, force, K),
  };
}

/** Whether a matrix has an inverse, and the factor is that of the matrix itself. */
function isRegular(factor: SparseLdltFactor, values: Float64Array): boolean {
  try {
    return factor.tryRefactor(values) && factor.enlargedPivots === 0;
  } catch (error) {
    if (error instanceof SingularMatrixError) return false;
    throw error;
  }
}

/** The largest Kᵢᵢ/Mᵢᵢ, about the largest ω² of a mesh. */
function diagonalRatio({n, rowPointers, columns}: Pattern, K: Float64Array, M: Float64Array): number {
  let most = 0;
  for (let i = 0; i < n; i++)
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++)
      if (columns[p] === i && M[p] > 0) most = Math.max(most, Math.abs(K[p]) / M[p]);
  return most;
}

/**
 * Compares the eigenvalues found nearer to the shift than the farthest with their number, which differences of the
 * numbers of negative pivots tell (Sylvester's law of inertia).
 * @param below eigenvalues below the shift
 * @param inertia eigenvalues below a number; undefined where pivots do not tell
 */
function requireAll(
  values: Float64Array,
  shift: number,
  below: number,
  inertia: (by: number) => number | undefined,
): void {
  if (values.length < 2) return;
  const distances = values.map(value => Math.abs(value - shift));
  const farthest = distances[distances.length - 1];
  // Between the farthest and the next that is clearly nearer.
  const near = Math.max(...distances.filter(distance => distance < (1 - repeatedShare) * farthest));
  if (near === -Infinity) return;
  const radius = (near + farthest) / 2;
  const inside = distances.filter(distance => distance < radius).length;
  const above = inertia(shift + radius);
  const under = below === 0 ? 0 : inertia(shift - radius);
  if (above === undefined || under === undefined || above - under === inside) return;
  throw new OptionError(
    'bad-modes',
    `modes: ${above - under} values of ω² lie within ${radius} of ${shift}, and ${inside} of them were found. Ask for `
      + 'more modes, or take another shift.',
    {expected: above - under, found: inside},
  );
}

const isRepeated = (a: number, b: number): boolean =>
  Math.abs(a - b) <= repeatedShare * Math.max(Math.abs(a), Math.abs(b));

function groupsOf(eigenvalues: Float64Array): number[][] {
  const groups: number[][] = [];
  eigenvalues.forEach((value, i) => {
    if (i > 0 && isRepeated(value, eigenvalues[i - 1])) groups[groups.length - 1].push(i);
    else groups.push([i]);
  });
  return groups.filter(group => group.length > 1);
}

function warningsOf(
  {q}: Place,
  eigenvalues: Float64Array,
  groups: readonly (readonly number[])[],
  isCut: boolean,
  force: Float64Array,
  K: Float64Array,
): string[] {
  const size = (x: Float64Array): number => x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const rigid = eigenvalues.filter(value => value === 0).length;
  const unstable = eigenvalues.filter(value => value < 0).length;
  const shared = groups.filter(([first]) => eigenvalues[first] !== 0);
  const push = size(force);
  return [
    ...(rigid > 0 ? [`${rigid} modes have ω² = 0, within rounding: the system can move freely.`] : []),
    ...(unstable > 0 ? [`${unstable} modes have ω² < 0: the state is unstable, and they grow.`] : []),
    ...shared.map(
      group => `Modes ${group.join(', ')} have one frequency: any combination of their shapes is a mode as well.`,
    ),
    ...(isCut
      ? [`Mode ${eigenvalues.length - 1} is one of a repeated frequency whose other modes were not asked for.`]
      : []),
    ...(push > restShare * size(K) * Math.max(1, size(q.values))
      ? [
          `The state is not at rest: forces are up to ${Number(push.toPrecision(3))}. The modes are those of the `
            + 'matrices at this state; take one of rest (equilibrium).',
        ]
      : []),
  ];
}

type Quotient = TracedFunction<'q' | 'shape' | 'square' | 'weight'>;

/** φᵀ(K − ω²M)φ times a weight, with its derivative by q, params and variables. */
function quotient(place: Place): Quotient {
  const {q, leaves, t} = place;
  return traceFunction(
    'modes',
    chooseEngine('auto'),
    {params: leaves, data: []},
    [
      {name: 'q', shape: q.shape},
      {name: 'shape', shape: q.shape},
      {name: 'square', shape: []},
      {name: 'weight', shape: []},
    ],
    ({own, params}) => {
      const equations = equationsAt(place, params);
      const force = (at: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
        equations.force(at.q, tf.zerosLike(at.q), constantTensor(t, []));
      const pushed = derivativeAlong(force, {q: own.q}, {q: own.shape});
      const moved = tf.mul(own.square, equations.mass(own.q, own.shape));
      return {value: tf.neg(tf.mul(own.weight, tf.sum(tf.mul(own.shape, tf.add(pushed, moved)))))};
    },
    () => full(1, []),
  );
}

/** Cotangents of ω², [count]. */
function cotangentOf(
  {eigenvalues, frequencies, repeated}: FoundModes,
  given: {readonly frequencies?: Numeric; readonly eigenvalues?: Numeric},
): Float64Array {
  refuseUnknownOptions(given, {frequencies: any, eigenvalues: any}, 'modes: the cotangent', 'bad-cotangent');
  const sum = new Float64Array(eigenvalues.length);
  for (const name of ['frequencies', 'eigenvalues'] as const) {
    const value = given[name];
    if (value === undefined) continue;
    const {values} = readNumeric(value, `cotangent.${name}`);
    if (values.length !== sum.length)
      throw new ShapeError(
        'cotangent-shape',
        `modes: cotangent.${name} has ${values.length} numbers for ${sum.length} modes.`,
        {name},
      );
    values.forEach((x, i) => {
      if (x !== 0) sum[i] += name === 'eigenvalues' ? x : x / (2 * frequencies[i]);
    });
  }
  const bad = sum.findIndex(x => !Number.isFinite(x));
  if (bad >= 0)
    throw new OptionError(
      'bad-cotangent',
      `modes: mode ${bad} has ω² = ${eigenvalues[bad]}, where √ has no derivative: give a cotangent of eigenvalues.`,
      {mode: bad},
    );
  const uneven = repeated.find(group => group.some(i => Math.abs(sum[i] - sum[group[0]]) > 1e-9 * Math.abs(sum[i])));
  if (uneven !== undefined)
    throw new OptionError(
      'repeated-frequency',
      `modes: modes ${uneven.join(', ')} have one frequency; only functions symmetric in these have a derivative. `
        + 'Give them equal cotangents.',
      {modes: uneven},
    );
  return sum;
}

/**
 * Natural frequencies and modes about a state: see `FindModes`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, modes} from 'stiffgrad';
 *
 * // Two masses between walls: ω² = k/m and 3 k/m.
 * const K = [[2, -1], [-1, 2]];
 * const chain = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.dot(K, q))});
 * const {eigenvalues} = modes(chain, {q: [0, 0]}, {count: 2});
 * console.log(Array.from(eigenvalues, x => x.toFixed(6))); // → ['1.000000', '3.000000']
 * ```
 */
export const modes: FindModes = /* @__PURE__ */ Object.assign(
  (
    system: MechanicalSystem<never>,
    state: {readonly q: Numeric; readonly t?: number},
    options: object = {},
  ): NaturalModes => {
    const {repeated: _, ...found} = find(read(system, state, options));
    return found;
  },
  {
    vjp(
      system: MechanicalSystem<never>,
      state: {readonly q: Numeric; readonly t?: number},
      options: object = {},
    ): ModesVjp {
      const place = read(system, state, options);
      const found = find(place);
      const {repeated: _, ...own} = found;
      let traced: Quotient | undefined;
      return {
        modes: own,
        pullback(given) {
          const weights = cotangentOf(found, given);
          traced ??= quotient(place);
          traced.load({params: place.leaves, data: [], captured: tensor => readCaptured(tensor)});
          const sums = {
            params: place.leaves.map(({values}) => new Float64Array(values.length)),
            captured: new Map<tf.Tensor, Float64Array>(),
          };
          const q = new Float64Array(place.q.values.length);
          const {executable, buffers} = traced;
          weights.forEach((weight, i) => {
            if (weight === 0) return;
            const values = [place.q.values, found.shapes[i], [found.eigenvalues[i]], [weight]];
            buffers.own.forEach((buffer, k) => buffer?.set(values[k]));
            executable.run('pull');
            addTo(q, traced!.cotangentOf(0));
            traced!.addTo(sums);
          });
          const {params: gradients, captured} = sums;
          return {
            q,
            params: toTree(place.leaves, gradients),
            variables: new Map([...captured].filter(([tensor]) => tensor instanceof tf.Variable)) as never,
            tensors: new Map([...captured].filter(([tensor]) => !(tensor instanceof tf.Variable))),
          };
        },
      };
    },
  },
);
