/**
 * Adam on all records at once (Kingma & Ba, ICLR 2015, algorithm 1), in double precision. It needs no line search
 * and is not held up by small steep valleys of the cost; it ends near a minimum, not in it. The estimate is the
 * best point it met. For mini-batches there are `train` and `trainingStep`, which takes the same optimizer as an update
 * rule.
 */
import {positiveInteger, optional, positive, readOptions, type Options, type OptionValues} from '../../lib/checks.js';
import {adamRule, type UpdateRule} from '../train/update-rules.js';
import {descentStep, endOfDescent, relativeStep} from './descent.js';
import {methodOf, type CostPoint, type Search, type SearchState} from './iteration.js';
import type {LeastSquaresMethod} from './least-squares-problem.js';

const methodOptions = {
  /** Approximate change of a coordinate per iteration; default 0.01. It decays by half a cosine to 0 at the end. */
  rate: optional(positive, 0.01),
  /** Default 500. */
  iterations: optional(positiveInteger, 500),
  /** Defaults of the paper: 0.9 and 0.999. */
  beta1: optional(positive, 0.9),
  beta2: optional(positive, 0.999),
  /** Default 1e-8, that of the paper. */
  epsilon: optional(positive, 1e-8),
};

/** Options of `adam`. @interface */
export type AdamOptions = Options<typeof methodOptions>;

/**
 * Adam (Kingma & Ba 2015) on the gradient of the cost, for fits of many parameters by `identify`; and for
 * `trainingStep`, where the rate is constant unless a schedule changes it, and `iterations` is an error: each call is
 * one.
 */
export function adam(options: AdamOptions = {}): LeastSquaresMethod & UpdateRule {
  const settings = readOptions(options, methodOptions, 'adam');
  const {rate, beta1, beta2, epsilon} = settings;
  return {
    ...adamRule({name: 'adam', rate, beta1, beta2, epsilon, decay: 0}),
    ...(options.iterations === undefined ? {} : {searchOptions: ['iterations']}),
    ...methodOf('adam', settings, searchBy(settings)),
  };
}

interface State extends SearchState {
  readonly point: CostPoint;
  readonly best: CostPoint;
  /** Number of steps so far. */
  readonly count: number;
  /** Moving averages of the gradient and of its squares. */
  readonly mean: Float64Array;
  readonly square: Float64Array;
  /** Factor of the step length. */
  readonly shrink: number;
}

const searchBy = ({rate, iterations, beta1, beta2, epsilon}: OptionValues<typeof methodOptions>): Search<State> => ({
  maxSteps: iterations,

  *init(evaluator, x) {
    const point = yield* evaluator.start(x, evaluator.costPoint(x));
    const zeros = new Float64Array(x.length);
    return {point, best: point, count: 0, mean: zeros, square: zeros, shrink: 1, taken: descentStep(point, 0)};
  },

  *step(evaluator, state) {
    const {point: from, best} = state;
    const {gradient} = from;
    const count = state.count + 1;
    const length = (state.shrink * rate * (1 + Math.cos((Math.PI * (count - 1)) / iterations))) / 2;
    const mean = state.mean.map((value, i) => beta1 * value + (1 - beta1) * gradient[i]);
    const square = state.square.map((value, i) => beta2 * value + (1 - beta2) * gradient[i] ** 2);
    const x = from.x.map((value, i) => {
      const spread = Math.sqrt(square[i] / (1 - beta2 ** count)) + epsilon;
      return value - (length * (mean[i] / (1 - beta1 ** count))) / spread;
    });
    const next = yield* evaluator.trial(evaluator.costPoint(x));
    const point = next ?? best;
    const taken = descentStep(point, relativeStep(from.x, point.x));
    return {
      point,
      best: point.cost < best.cost ? point : best,
      count,
      mean,
      square,
      // Where the model cannot be simulated, the way goes on from the best point in smaller steps.
      shrink: next === undefined ? state.shrink / 2 : state.shrink,
      taken: next === undefined ? {...taken, accepted: false, failure: evaluator.failure} : taken,
    };
  },

  *end(evaluator, {best}, [{cost}]) {
    const message = `Adam made its ${iterations} iterations; the estimate is the best point it found.`;
    return yield* endOfDescent(evaluator, best, {status: 'max-iterations', message}, cost);
  },
});
