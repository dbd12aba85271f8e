/**
 * The start of a run as a step of its own: (a, λ) of the instant where there are constraints, and what a scheme
 * carries of a past that there was not.
 *
 * Taylor's series backwards would make that past of a₀ = M⁻¹f and a₀', which off the slow manifold are ω²q and
 * ω³q: what stiffness takes out in one step would come in multiplied by (hω)³. Bounded for hω → ∞, and Taylor's
 * for what is smooth, are the differences over a step that damps. So the scheme's own first step is taken on
 * trial, from a past that lies as far from its end as a second difference h²x'' says; start and trial are one
 * system of equations, and so differentiable. Where x'' at the start is needed it is filtered by the resolvent of
 * the step, (1 − hJ)⁻² x'' = x'' + O(h), which is O(x/h²) for hJ → ∞; on linear systems that is the jerk two steps of
 * implicit Euler ahead (Hairer & Wanner, Solving ODEs II, §IV.8, filter error estimates alike). The unfiltered
 * starts are those of Arnold & Brüls (2007) and Jay & Negrut (2007).
 */
import * as tf from '@tensorflow/tfjs';
import {derivativeAlong} from '../trace/differentials.js';
import type {Tensors} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import type {PhasePoint} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {constraintsOf, instantBalance, onto, projected, rowScale} from './constrained.js';
import {unknownRank} from './unknown-rank.js';
import {carried, usesTrialStep, type TrialStep, type Formulation, type StepPoint} from './scheme.js';

/**
 * A block of the first step on trial, among the unknowns of the start. All of these have the names that messages give
 * them.
 */
const ahead = (name: string): string => `the first step's ${name}`;
const jerk = 'the initial jerk';
const jerkRate = "the initial lambda'";
const rate = "the initial y'";
const normalJerk = 'the initial jerk of the constraints';
const toNormal = 'lambda of the initial jerk';

const named = (
  names: readonly string[],
  blocks: Blocks,
  inner: (name: string) => string,
  outer: (name: string) => string,
): Blocks => Object.fromEntries(names.map(name => [outer(name), blocks[inner(name)]]));
const own = (name: string): string => name;

/** Unknowns at the start of a run besides the blocks that the scheme carries. */
export interface Beginning {
  /** The system has constraints, which (a, λ) of the start obey: [M −Gᵀ; G 0](a, λ) = (f, −Ġv − …). */
  readonly held: boolean;
  /** It is M y' = f, whose algebraic components `project` finds. */
  readonly withMass: boolean;
  /** These may be of index 2: there is `at.projection`. */
  readonly hiddenEquations?: boolean;
  /** q and v are first moved onto the constraints by the least displacement, in the metric of the mass. */
  readonly project: boolean;
  /** The scheme damps what its steps do not resolve: the jerk is filtered. */
  readonly dissipative?: boolean | undefined;
}

/** The equations of a start, as those of a step. */
export function startOfRun(
  formulation: Formulation,
  {held, withMass, hiddenEquations = false, project, dissipative}: Beginning,
): Formulation {
  const startsAhead = usesTrialStep(formulation, 'first');
  const across = held && usesTrialStep(formulation, 'normalJerk');
  const passes = !across && !usesTrialStep(formulation, 'jerk') ? [] : dissipative === true ? filter : exact;
  const jerks = passes.map(({jerk}) => jerk);
  const moved = held && project;
  const settled = withMass && project;
  const trial = startsAhead ? [...formulation.unknown, ...(formulation.multipliers ?? [])] : [];
  const unknown = [
    ...(moved ? projected.unknown : []),
    ...(settled ? ['y'] : []),
    ...(settled && hiddenEquations ? [rate] : []),
    ...(held ? ['a'] : []),
    ...jerks,
    ...(across ? [normalJerk] : []),
    ...(startsAhead ? formulation.unknown.map(ahead) : []),
  ];
  const multipliers = !held
    ? []
    : [
        ...(moved ? projected.multipliers : []),
        'lambda',
        ...jerks.map((_, i) => passes[i].lambdaRate),
        ...(across ? [toNormal] : []),
        ...(startsAhead ? (formulation.multipliers ?? []).map(ahead) : []),
      ];
  /** The step's point at the start, from the start's unknown. */
  const point = (z: Blocks, at: StepPoint): StepPoint => ({
    ...at,
    x: moved ? {q: at.unknownPosition.at(at.x.q, z.q), v: z.v} : settled ? {y: z.y} : at.x,
    ...(held ? {acceleration: () => z.a} : {}),
  });
  const seen = (z: Blocks, {x}: StepPoint): TrialStep => ({
    first: named(trial, z, ahead, own),
    jerk: z[jerks[jerks.length - 1]],
    normalJerk: () => (across ? z[normalJerk] : tf.zerosLike(x.v)),
  });
  /** The state that the run begins with. */
  const begun = (z: Blocks, at: StepPoint): Blocks => {
    const here = point(z, at);
    return {...here.x, ...(held ? {lambda: z.lambda} : {}), ...carried(formulation, here, seen(z, here))};
  };
  const update = begun;
  if (unknown.length === 0) return {unknown, update};
  return {
    unknown,
    derivatives: {
      ...formulation.derivatives,
      [rate]: 1,
      ...Object.fromEntries([...jerks.slice(-1), normalJerk].map(name => [name, 3])),
    },
    multipliers,
    update,
    residual: (z, at) => {
      const here = point(z, at);
      return {
        ...(held ? instantBalance(at, {...here.x, t: at.t} as unknown as PhasePoint, z.a, z.lambda) : {}),
        ...(passes.length === 0 ? {} : jerkRows(z, here, held, passes)),
        ...(across ? normalPart(here, z, jerks[jerks.length - 1]) : {}),
        ...(settled ? (hiddenEquations ? hiddenRows(z, at) : {y: algebraicRows(z.y, at)}) : {}),
        ...(moved ? onto(z, {q: at.x.q, v: at.x.v, t: at.t}, at) : {}),
        ...(startsAhead
          ? named(
              trial,
              formulation.residual?.(named(trial, z, ahead, own), {...at, x: begun(z, at)}) ?? {},
              own,
              ahead,
            )
          : {}),
      };
    },
    guess: at => {
      // As the first step itself would begin: from the state's own blocks.
      const start: Blocks = at.kind === 'ode' || held ? at.x : {...at.x, a: at.acceleration(at.x.q, at.x.v, at.t)};
      return {z: Object.fromEntries(trial.flatMap(name => (name in start ? [[ahead(name), start[name]]] : [])))};
    },
  };
}

/** M(y − y₀) = 0, and 0 = f beside the range of M: algebraic components of index 1. */
function algebraicRows(y: tf.Tensor, {x, t, h, mass, rightHandSide, rangeComplement}: StepPoint): tf.Tensor {
  if (rangeComplement === undefined) throw unknownRank();
  return tf.add(mass(y, tf.sub(y, x.y), t), tf.mul(h, rangeComplement(rightHandSide({y}, t).y, y, t)));
}

/**
 * Algebraic components of index 1 and 2 by the derivative array (f, d/dt f) in y and w = y' (Leimkuhler,
 * Petzold & Gear, SIAM J. Numer. Anal. 28 (1991); what IDACalcIC does for index 1: Brown, Hindmarsh & Petzold, SIAM J.
 * Sci. Comput. 19 (1998)). With E Zᵀ, the complement of the range of M, and Π onto the components of index 2:
 *
 *     M(y − y₀) = (1 − EZᵀ) J Π w,   0 = Zᵀ f;      M w = (1 − EZᵀ) f,   0 = Zᵀ (J w + f_t)
 *
 * The last is the hidden equation. It leaves Π w free, which is the impulse that y₀ needs to obey 0 = Zᵀ f: what one
 * step of implicit Euler makes of it as its length goes to zero. For multipliers it is the least change of velocities
 * in the metric of the mass.
 */
function hiddenRows({y, [rate]: w}: Blocks, {x, t, h, mass, rightHandSide, projection}: StepPoint): Blocks {
  if (projection === undefined) throw new Error('a start with hidden equations needs its projection');
  const n = y.size;
  const part = (k: number) => {
    const matrix = tf.reshape(tf.slice(projection, [k, 0, 0], [1, n, n]), [n, n]);
    return (v: tf.Tensor): tf.Tensor => tf.reshape(tf.matMul(matrix, tf.reshape(v, [n, 1])), v.shape);
  };
  const [impulse, complement] = [part(0), part(1)];
  const range = (v: tf.Tensor): tf.Tensor => tf.sub(v, complement(v));
  const f = (place: Tensors): tf.Tensor => rightHandSide({y: place.y}, place.t).y;
  const here = {y, t};
  const slope = f(here);
  const along = (direction: Tensors): tf.Tensor => derivativeAlong(f, here, direction);
  const [pushed, change] = [along({y: impulse(w), t: tf.zerosLike(t)}), along({y: w, t: constantTensor(1, [])})];
  return {
    y: tf.add(tf.sub(mass(y, tf.sub(y, x.y), t), tf.mul(h, range(pushed))), tf.mul(h, complement(slope))),
    [rate]: tf.add(tf.sub(mass(y, w, t), range(slope)), tf.mul(h, complement(change))),
  };
}

/**
 * One application of the resolvent F = (1 − hJ)⁻¹, and the unknowns that it takes: J F k, and the λ' that goes with
 * it.
 */
interface Pass {
  readonly jerk: string;
  readonly lambdaRate: string;
  readonly implicit: boolean;
}

/** x'' = J x', and J F² x'. */
const exact: readonly Pass[] = [{jerk, lambdaRate: jerkRate, implicit: false}];
const filter: readonly Pass[] = [
  {jerk, lambdaRate: jerkRate, implicit: true},
  {jerk: `${jerk}, filtered`, lambdaRate: `${jerkRate}, filtered`, implicit: true},
];

/**
 * The derivatives of the equations of motion along x', or along F x' and F² x' in its place, where F k = k + h J F k.
 * With constraints these equations are M a = f + Gᵀλ and φ'' = 0.
 */
function jerkRows(z: Blocks, at: StepPoint, held: boolean, passes: readonly Pass[]): Blocks {
  const {x, t, h, kind} = at;
  const one = constantTensor(1, []);
  const further = (k: tf.Tensor, rate: tf.Tensor): tf.Tensor => tf.add(k, tf.mul(h, rate));
  const rows: {[name: string]: tf.Tensor} = {};
  if (kind === 'ode') {
    let k = at.rate(x, t).y;
    for (const {jerk, implicit} of passes) {
      if (implicit) k = further(k, z[jerk]);
      rows[jerk] = tf.sub(
        z[jerk],
        derivativeAlong(place => at.rate({y: place.y}, place.t).y, {y: x.y, t}, {y: k, t: one}),
      );
    }
    return rows;
  }
  const a = at.acceleration(x.q, x.v, t);
  const now: Tensors = {q: x.q, v: x.v, t, a, ...(held ? {lambda: z.lambda} : {})};
  const balance = (place: Tensors): Blocks =>
    held
      ? instantBalance(at, place as unknown as PhasePoint, place.a, place.lambda)
      : {a: tf.sub(at.mass(place.q, place.a), at.force(place.q, place.v, place.t))};
  let [q, v] = [x.v, a];
  for (const {jerk, lambdaRate, implicit} of passes) {
    if (implicit) {
      v = further(v, z[jerk]);
      q = further(q, v);
    }
    const direction = {
      q: at.positionRate(x.q, q, t),
      v,
      a: z[jerk],
      t: one,
      ...(held ? {lambda: z[lambdaRate]} : {}),
    };
    rows[jerk] = derivativeAlong(place => balance(place).a, now, direction);
    if (held) rows[lambdaRate] = derivativeAlong(place => balance(place).lambda, now, direction);
  }
  return rows;
}

/**
 * M w = Gᵀη with G w = G a': the part of the jerk that the constraints ask for. φ' is affine in v, so G is seen in
 * differences of it.
 */
function normalPart(at: StepPoint, z: Blocks, whole: string): Blocks {
  const [normal, multiplier] = [z[normalJerk], z[toNormal]];
  const {
    x: {q},
    t,
  } = at;
  const constraints = constraintsOf(at);
  const rate = (v: tf.Tensor, idle: tf.Tensor): tf.Tensor => constraints.velocities({q, v, t}, idle, false);
  const {stepCompliance} = rowScale(at, at.h, 1);
  const soft = tf.mul(tf.mul(at.regularization, tf.div(stepCompliance, tf.square(at.h))), multiplier);
  const {velocityJacobianProduct} = constraints;
  const rows =
    velocityJacobianProduct === undefined
      ? [rate(normal, multiplier), tf.neg(rate(z[whole], tf.zerosLike(multiplier)))]
      : [velocityJacobianProduct({q, v: at.x.v, t}, tf.sub(normal, z[whole]), multiplier)];
  return {
    [normalJerk]: tf.sub(
      at.mass(q, normal),
      constraints.reaction(
        {q, v: velocityJacobianProduct === undefined ? normal : at.x.v, t},
        multiplier,
        'heldPositions',
      ),
    ),
    [toNormal]: tf.addN([...rows, soft]),
  };
}
