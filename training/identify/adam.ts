/**
 * Adam on all records at once (Kingma & Ba, ICLR 2015, algorithm 1), in double precision. It needs no line search
 * and is not held up by small steep valleys of the cost; it ends near a minimum, not in it. The estimate is the
 * best point it met. For mini-batches there are `train` and `trainingStep`, which takes the same optimizer as an update
 * rule.
 */
import {OptionError} from '../../lib/errors.js';
import {Cost, descentIteration, relativeStep} from './descent.js';
import type {Evaluation} from './evaluation.js';
import type {EvaluatedProblem, LeastSquaresMethod, LeastSquaresResult, Report} from './least-squares-problem.js';
import {methodOf} from './least-squares-problem.js';
import type {UpdateRule} from '../train/update-rules.js';
import {adamRule} from '../train/update-rules.js';
import {any, count, positive, refuseUnknownOptions} from '../../lib/checks.js';

/** Options of `adam`. */
export interface AdamOptions {
  /** Approximate change of a coordinate per iteration; default 0.01. It decays by half a cosine to 0 at the end. */
  readonly rate?: number;
  /** Default 500. */
  readonly iterations?: number;
  /** Defaults of the paper: 0.9 and 0.999. */
  readonly beta1?: number;
  readonly beta2?: number;
  /** Default 1e-8, that of the paper. */
  readonly epsilon?: number;
}

/**
 * Adam (Kingma & Ba 2015) on the gradient of the cost, for fits of many parameters by `identify`; and for
 * `trainingStep`, where the rate is constant unless a schedule changes it, and `iterations` is an error: each call is
 * one.
 */
export function adam(options: AdamOptions = {}): LeastSquaresMethod & UpdateRule {
  refuseUnknownOptions(options, {rate: any, iterations: count, beta1: any, beta2: any, epsilon: any}, 'adam');
  const {rate = 0.01, iterations = 500, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8} = options;
  const settings = {rate, iterations, beta1, beta2, epsilon};
  for (const [name, value] of Object.entries(settings))
    if (!positive.test(value))
      throw new OptionError('least-squares-option', `adam: ${name} is ${value}, but must be positive.`, {name, value});
  return {
    ...adamRule({name: 'adam', rate, beta1, beta2, epsilon, decay: 0}),
    ...(options.iterations === undefined ? {} : {searchOptions: ['iterations']}),
    ...methodOf('adam', settings, (problem, start, report) =>
      iterate(problem, Float64Array.from(start), settings, report),
    ),
  };
}

function* iterate(
  problem: EvaluatedProblem,
  x: Float64Array,
  {rate, iterations, beta1, beta2, epsilon}: Required<AdamOptions>,
  report: Report,
): Evaluation<LeastSquaresResult> {
  const cost = new Cost(problem);
  let point = yield* cost.start(x);
  let best = point;
  let shrink = 1;
  const mean = new Float64Array(x.length);
  const square = new Float64Array(x.length);
  const history = [descentIteration(0, point, 0)];
  yield* report(history[0]);
  for (let n = 1; n <= iterations; n++) {
    const {gradient} = point;
    const length = (shrink * rate * (1 + Math.cos((Math.PI * (n - 1)) / iterations))) / 2;
    const next = yield* cost.at(
      point.x.map((value, i) => {
        mean[i] = beta1 * mean[i] + (1 - beta1) * gradient[i];
        square[i] = beta2 * square[i] + (1 - beta2) * gradient[i] ** 2;
        return value - (length * (mean[i] / (1 - beta1 ** n))) / (Math.sqrt(square[i] / (1 - beta2 ** n)) + epsilon);
      }),
    );
    // Where the model cannot be simulated, the way goes on from the best point in smaller steps.
    if (next === undefined) shrink /= 2;
    const from = point;
    point = next ?? best;
    if (point.cost < best.cost) best = point;
    history.push(
      descentIteration(n, point, relativeStep(from.x, point.x), {
        accepted: next !== undefined,
        failure: next === undefined ? cost.failure : undefined,
      }),
    );
    yield* report(history[n]);
  }
  return yield* cost.result(
    best,
    {
      status: 'max-iterations',
      message: `Adam made its ${iterations} iterations; the estimate is the best point it found.`,
    },
    history,
  );
}
