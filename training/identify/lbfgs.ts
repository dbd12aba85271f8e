/**
 * L-BFGS: descent along −H g, where H is built from the last few steps and changes of the gradient (Nocedal &
 * Wright, algorithms 7.4 and 7.5). One gradient, one backward sweep, an evaluation, however many parameters
 * there are. Bounds are kept by the coordinates: a bounded parameter's is the logit of its place.
 */
import {OptionError} from '../../lib/errors.js';
import type {CostPoint} from './descent.js';
import {along, Cost, descentIteration, dot, relativeGradient, relativeStep} from './descent.js';
import type {Evaluation} from './evaluation.js';
import type {
  EvaluatedProblem,
  LeastSquaresMethod,
  LeastSquaresResult,
  LeastSquaresStatus,
  Report,
} from './least-squares-problem.js';
import {methodOf} from './least-squares-problem.js';
import {any, nonNegative, object, refuseUnknownOptions, whole} from '../../lib/checks.js';
import {wolfeSearch} from './wolfe.js';

/** Options of `lbfgs`. */
export interface LbfgsOptions {
  /** Number of stored steps; default 10 (Nocedal & Wright: 3 to 20). */
  readonly memory?: number;
  /** Default 500. */
  readonly maxIterations?: number;
  readonly tolerance?: {
    /** |gᵢ| max(|xᵢ|, 1) / cost; default 1e-8. */
    readonly gradient?: number;
    /** Fall of the cost in one iteration, over the cost; default 1e-13: some hundred roundings. */
    readonly cost?: number;
  };
}

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
  refuseUnknownOptions(options, {memory: any, maxIterations: whole, tolerance: object}, 'lbfgs');
  refuseUnknownOptions(options.tolerance ?? {}, {gradient: any, cost: any}, 'lbfgs: tolerance');
  const settings = {
    memory: options.memory ?? 10,
    maxIterations: options.maxIterations ?? 500,
    gradient: options.tolerance?.gradient ?? 1e-8,
    cost: options.tolerance?.cost ?? 1e-13,
  };
  for (const [name, value] of Object.entries(settings)) {
    if (!nonNegative.test(value) || (name === 'memory' && !(Number.isInteger(value) && value > 0)))
      throw new OptionError(
        'least-squares-option',
        `lbfgs: ${name} is ${value}, but must be `
          + `${name === 'memory' ? 'a whole number of at least 1' : 'finite and not negative'}.`,
        {name, value},
      );
  }
  return {
    ...methodOf('lbfgs', settings, (problem, start, report) =>
      iterate(problem, Float64Array.from(start), settings, report),
    ),
    memory: settings.memory,
    ...searchOptionsOf(options),
  };
}

function searchOptionsOf({maxIterations, tolerance}: LbfgsOptions): Pick<QuasiNewton, 'searchOptions'> {
  const given = Object.entries({maxIterations, tolerance}).filter(([, value]) => value !== undefined);
  return given.length === 0 ? {} : {searchOptions: given.map(([name]) => name)};
}

interface Settings {
  readonly memory: number;
  readonly maxIterations: number;
  readonly gradient: number;
  readonly cost: number;
}

/** A step s and the change y of the gradient along it. */
export interface Pair {
  readonly s: Float64Array;
  readonly y: Float64Array;
}

function* iterate(
  problem: EvaluatedProblem,
  x: Float64Array,
  settings: Settings,
  report: Report,
): Evaluation<LeastSquaresResult> {
  const cost = new Cost(problem);
  let point = yield* cost.start(x);
  let pairs: Pair[] = [];
  const history = [descentIteration(0, point, 0)];
  yield* report(history[0]);
  let status: LeastSquaresStatus | undefined = relativeGradient(point) <= settings.gradient ? 'gradient' : undefined;
  while (status === undefined && history.length <= settings.maxIterations) {
    const direction = descentDirection(point, pairs);
    const next = yield* wolfeSearch(trial => cost.at(trial), point, direction, firstLength(point, pairs));
    if (next === undefined && pairs.length > 0) {
      pairs = []; // the memory misled; from here along the gradient
      continue;
    }
    if (next !== undefined)
      pairs = remembered(
        pairs,
        {s: along(next.x, -1, point.x), y: along(next.gradient, -1, point.gradient)},
        settings.memory,
      );
    const before = point;
    const isStalled = (): boolean => before.cost - point.cost <= settings.cost * Math.abs(point.cost);
    point = next ?? point;
    if (isStalled() && problem.kinked === true) {
      point = (yield* alongCoordinate(cost, point)) ?? point;
      pairs = [];
    }
    if (point !== before) {
      history.push(descentIteration(history.length, point, relativeStep(before.x, point.x)));
      yield* report(history[history.length - 1]);
    }
    if (relativeGradient(point) <= settings.gradient) status = 'gradient';
    else if (isStalled()) status = 'cost';
  }
  return yield* cost.result(point, {status: status ?? 'max-iterations', message: messageOf(status, settings)}, history);
}

/** In a kink of the cost the gradient leads nowhere, but along some coordinate there may be a way down. */
function* alongCoordinate(cost: Cost, point: CostPoint): Evaluation<CostPoint | undefined> {
  let best: CostPoint | undefined;
  for (const [i, slope] of point.gradient.entries()) {
    if (slope === 0) continue;
    const direction = new Float64Array(point.x.length);
    direction[i] = -Math.sign(slope);
    const next = yield* wolfeSearch(trial => cost.at(trial), point, direction, Math.min(1, 1 / Math.abs(slope)));
    if (next !== undefined && next.cost < (best ?? point).cost) best = next;
  }
  return best;
}

/** The two-loop recursion, H₀ = sᵀy / yᵀy of the last pair. */
export function descentDirection({gradient}: Pick<CostPoint, 'gradient'>, pairs: readonly Pair[]): Float64Array {
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

/** Of a line search. Without a memory the gradient's length means nothing: the first trial then moves by 1 in all. */
export const firstLength = ({gradient}: Pick<CostPoint, 'gradient'>, pairs: readonly Pair[]): number =>
  pairs.length === 0 ? Math.min(1, 1 / gradient.reduce((sum, g) => sum + Math.abs(g), 0)) : 1;

/** Wolfe's conditions make sᵀy positive; where roundoff does not, the pair is left out. */
export function remembered(pairs: readonly Pair[], pair: Pair, memory: number): Pair[] {
  return dot(pair.s, pair.y) > Number.EPSILON * dot(pair.y, pair.y) ? [...pairs, pair].slice(-memory) : [...pairs];
}

function messageOf(status: LeastSquaresStatus | undefined, settings: Settings): string {
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
