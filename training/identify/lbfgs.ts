/**
 * L-BFGS: descent along −H g, where H is built from the last few steps and changes of the gradient (Nocedal &
 * Wright, algorithms 7.4 and 7.5). One gradient, one backward sweep, an evaluation, however many parameters
 * there are. Bounds are kept by the coordinates: a bounded parameter's is the logit of its place.
 */
import {
  positiveInteger,
  nonNegative,
  optional,
  readBy,
  readOptions,
  nonNegativeInteger,
  type Options,
} from '../../lib/checks.js';
import {along, descentStep, dot, endOfDescent, relativeGradient, relativeStep} from './descent.js';
import type {Evaluation} from './evaluation.js';
import {methodOf, type CostPoint, type Evaluator, type Search, type SearchState} from './iteration.js';
import type {EndStatus, LeastSquaresMethod} from './least-squares-problem.js';
import {wolfeSearch} from './wolfe.js';

const tolerances = {
  /** |gᵢ| max(|xᵢ|, 1) / cost; default 1e-8. */
  gradient: optional(nonNegative, 1e-8),
  /** Fall of the cost in one iteration, over the cost; default 1e-13: some hundred roundings. */
  cost: optional(nonNegative, 1e-13),
};

const methodOptions = {
  /** Number of stored steps; default 10 (Nocedal & Wright: 3 to 20). */
  memory: optional(positiveInteger, 10),
  /** Default 500. */
  maxIterations: optional(nonNegativeInteger, 500),
  tolerance: optional(
    readBy((given: Options<typeof tolerances>, name) => readOptions(given, tolerances, name)),
    {},
  ),
};

/** Options of `lbfgs`. @interface */
export type LbfgsOptions = Options<typeof methodOptions>;

/** `lbfgs` for `trainingStep`: the number of stored steps. */
export interface QuasiNewton {
  readonly memory: number;
  /** Given options that end a search: `trainingStep`, of which each call is one step, refuses them. */
  readonly searchOptions?: readonly string[];
}

/**
 * For `identify`, or by itself: for many parameters, when a Jacobian would be too expensive. Also for `trainingStep`,
 * which takes only its memory and refuses the options that end a search.
 */
export function lbfgs(options: LbfgsOptions = {}): LeastSquaresMethod & QuasiNewton {
  const {memory, maxIterations, tolerance} = readOptions(options, methodOptions, 'lbfgs');
  const settings: Settings = {memory, maxIterations, ...tolerance};
  const ends = (['maxIterations', 'tolerance'] as const).filter(name => options[name] !== undefined);
  return {
    ...methodOf('lbfgs', settings, searchBy(settings)),
    memory,
    ...(ends.length === 0 ? {} : {searchOptions: ends}),
  };
}

interface Settings {
  readonly memory: number;
  readonly maxIterations: number;
  readonly gradient: number;
  readonly cost: number;
}

/** A step s and the change y of the gradient along it. */
export interface CurvaturePair {
  readonly s: Float64Array;
  readonly y: Float64Array;
}

interface State extends SearchState {
  readonly point: CostPoint;
  readonly pairs: readonly CurvaturePair[];
}

const searchBy = (settings: Settings): Search<State> => ({
  maxSteps: settings.maxIterations,

  *init(evaluator, x) {
    const point = yield* evaluator.start(x, evaluator.costPoint(x));
    const status = relativeGradient(point) <= settings.gradient ? 'gradient' : undefined;
    return {point, pairs: [], taken: descentStep(point, 0), status};
  },

  *step(evaluator, {point: from, pairs: known}) {
    let pairs = known;
    let next = yield* lineSearch(evaluator, from, descentDirection(from, pairs), firstLength(from, pairs));
    if (next === undefined && pairs.length > 0) {
      pairs = []; // the memory misled; from here along the gradient
      next = yield* lineSearch(evaluator, from, descentDirection(from, pairs), firstLength(from, pairs));
    }
    if (next !== undefined) {
      const pair = {s: along(next.x, -1, from.x), y: along(next.gradient, -1, from.gradient)};
      pairs = remembered(pairs, pair, settings.memory);
    }
    const isStalled = (at: CostPoint): boolean => from.cost - at.cost <= settings.cost * Math.abs(at.cost);
    let point = next ?? from;
    if (isStalled(point) && evaluator.problem.kinked === true) {
      point = (yield* alongCoordinate(evaluator, point)) ?? point;
      pairs = [];
    }
    return {
      point,
      pairs,
      taken: point === from ? undefined : descentStep(point, relativeStep(from.x, point.x)),
      status: relativeGradient(point) <= settings.gradient ? 'gradient' : isStalled(point) ? 'cost' : undefined,
    };
  },

  *end(evaluator, {point, status = 'max-iterations'}, [{cost}]) {
    return yield* endOfDescent(evaluator, point, {status, message: messageOf(status, settings)}, cost);
  },
});

const lineSearch = (
  evaluator: Evaluator,
  from: CostPoint,
  direction: Float64Array,
  first: number,
): Evaluation<CostPoint | undefined> =>
  wolfeSearch(x => evaluator.trial(evaluator.costPoint(x)), from, direction, first);

/** In a kink of the cost the gradient leads nowhere, but along some coordinate there may be a way down. */
function* alongCoordinate(evaluator: Evaluator, point: CostPoint): Evaluation<CostPoint | undefined> {
  let best: CostPoint | undefined;
  for (const [i, slope] of point.gradient.entries()) {
    if (slope === 0) continue;
    const direction = new Float64Array(point.x.length);
    direction[i] = -Math.sign(slope);
    const next = yield* lineSearch(evaluator, point, direction, Math.min(1, 1 / Math.abs(slope)));
    if (next !== undefined && next.cost < (best ?? point).cost) best = next;
  }
  return best;
}

/** The two-loop recursion, H₀ = sᵀy / yᵀy of the last pair. */
export function descentDirection(
  {gradient}: Pick<CostPoint, 'gradient'>,
  pairs: readonly CurvaturePair[],
): Float64Array {
  let q: Float64Array = gradient.slice();
  const alphas = pairs.map(() => 0);
  for (let i = pairs.length - 1; i >= 0; i--) {
    const {s, y} = pairs[i];
    alphas[i] = dot(s, q) / dot(s, y);
    q = along(q, -alphas[i], y);
  }
  const last = pairs[pairs.length - 1];
  const scale = last === undefined ? 1 : dot(last.s, last.y) / dot(last.y, last.y);
  let r: Float64Array = q.map(value => scale * value);
  pairs.forEach(({s, y}, i) => {
    r = along(r, alphas[i] - dot(y, r) / dot(s, y), s);
  });
  return r.map(value => -value);
}

/** The first trial of a line search. Without a memory the gradient's length means nothing: it moves by 1 in all. */
export const firstLength = ({gradient}: Pick<CostPoint, 'gradient'>, pairs: readonly CurvaturePair[]): number =>
  pairs.length === 0 ? Math.min(1, 1 / gradient.reduce((sum, g) => sum + Math.abs(g), 0)) : 1;

/** Wolfe's conditions make sᵀy positive; where roundoff does not, the pair is left out. */
export function remembered(pairs: readonly CurvaturePair[], pair: CurvaturePair, memory: number): CurvaturePair[] {
  return dot(pair.s, pair.y) > Number.EPSILON * dot(pair.y, pair.y) ? [...pairs, pair].slice(-memory) : [...pairs];
}

function messageOf(status: EndStatus, settings: Settings): string {
  if (status === 'gradient')
    return (
      'Converged: no coordinate changes the cost to first order any more (relative gradient at most '
      + `${settings.gradient}).`
    );
  if (status === 'cost') return `Converged: the last step lowered the cost by at most ${settings.cost} of its value.`;
  return (
    `Not converged after ${settings.maxIterations} iterations: start nearer, or allow more, method: `
    + `lbfgs({maxIterations: ${2 * settings.maxIterations}}).`
  );
}
