/**
 * Noise by a density of one's own: −ln of the likelihood of independent measurements is the cost. The density is
 * traced, and differentiated by the residual and by the parameters that it reads. Uncertainty is judged by the outer
 * product of the scores, which is Fisher's information also where the density has kinks (Berndt, Hall, Hall & Hausman,
 * Annals of Economic and Social Measurement 3, 1974).
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../../lib/index.js';
import {type Executable, compilePrograms} from '../../lib/internal.js';
import {callable, refuseUnknownOptions, requireValue} from '../../lib/checks.js';
import {densityNoise, white, type Noise} from './noise.js';
import type {Parameters} from './parameters.js';
import {withLeaf} from './nested.js';

/** The data that a density may read beside the residual, [n] each; a row is one number of one sample. */
export interface MeasuredRows {
  /** The measured values, unweighted. */
  readonly measured: tf.Tensor1D;
  /** The simulated values, unweighted; derivatives go through them. */
  readonly simulated: tf.Tensor1D;
  /** The samples' times. */
  readonly t: tf.Tensor1D;
  /** Which number of its sample a row is, from 0. */
  readonly output: tf.Tensor1D;
}

/** Noise of a density of one's own. P are the parameters of the problem that it reads. */
export interface NoiseDensity<P = never> {
  /**
   * ln of the density of each measurement, [n], row by row: a function of the weighted residuals weight · (simulated −
   * measured), [n], of parameters, and of what else is known of the rows. It is traced like a force. Parameters of the
   * problem that it reads are those of the noise alone, and numbers: as they stand here they have a value for each row,
   * [n].
   */
  readonly logDensity: (residual: tf.Tensor1D, params: P, rows: MeasuredRows) => tf.Tensor;
}

/** A model of the noise, or a density. */
export type NoiseModel = Noise | NoiseDensity;

export const isDensity = (noise: NoiseModel | undefined): noise is NoiseDensity =>
  typeof noise === 'object' && (noise as NoiseDensity | null) !== null && 'logDensity' in noise;

/** The model of the noise, or that of a density. */
export const modelOf = (noise: NoiseModel = white()): Noise => (isDensity(noise) ? densityNoise : noise);

/** @throws OptionError */
export function requireDensity(noise: NoiseDensity): void {
  refuseUnknownOptions(noise, {logDensity: callable}, 'identify: noise', 'bad-option');
  requireValue(noise.logDensity, callable, 'identify: noise.logDensity');
}

/** The arguments of a density, row by row of a record. */
export interface DensityRows {
  readonly residuals: Float64Array;
  readonly measured: Float64Array;
  readonly weights: Float64Array;
  readonly t: Float64Array;
  readonly output: Float64Array;
}

/** −ln of the density of each row with its derivatives by the residual and each parameter; 0 if not measured. */
export interface RowLosses {
  readonly loss: Float64Array;
  readonly slope: Float64Array;
  readonly byParameter: readonly Float64Array[];
}

const inputs = ['residuals', 'measured', 'weights', 't', 'output'] as const;

/** The names of the parameters that a density reads. @throws OptionError where one is no single number */
export function readNames({logDensity}: NoiseDensity, parameters: Parameters): string[] {
  const names = Object.keys(parameters);
  const read = new Set<string>();
  let one: tf.Tensor1D | undefined;
  const note = (path: string): object =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        names
          .filter(name => name.startsWith(path))
          .map(name => name.slice(path.length).split('.'))
          .map(([key, ...rest]) => [
            key,
            {
              enumerable: true,
              configurable: true,
              get: () => {
                if (rest.length > 0) return note(`${path}${key}.`);
                read.add(`${path}${key}`);
                return one;
              },
            },
          ]),
      ),
    );
  tf.tidy(() => {
    one = tf.tensor1d([1]);
    logDensity(one, note('') as never, {measured: one, simulated: one, t: one, output: one});
  });
  const several = [...read].find(name => parameters[name].shape.length > 0);
  if (several !== undefined)
    throw new OptionError(
      'bad-noise',
      `identify: noise.logDensity reads ${several}, which has several numbers: define a parameter for each.`,
      {parameter: several},
    );
  return [...read];
}

/** A density, compiled for each number of rows. */
export class Density {
  private readonly compiled = new Map<number, Executable>();

  constructor(
    private readonly noise: NoiseDensity,
    readonly names: readonly string[],
  ) {}

  /** @param params values, in the order of `names` */
  at(rows: DensityRows, params: readonly number[]): RowLosses {
    const n = rows.residuals.length;
    let executable = this.compiled.get(n);
    if (executable === undefined) this.compiled.set(n, (executable = this.compile(n)));
    // Inputs that the density does not read may be missing.
    for (const name of inputs) executable.optionalBuffer(name)?.set(rows[name]);
    params.forEach((value, i) => executable.optionalBuffer(`p${i}`)?.fill(value));
    executable.run('losses');
    const masked = (name: string): Float64Array =>
      executable.buffer(name).map((value, i) => (rows.weights[i] === 0 ? 0 : value));
    return {loss: masked('loss'), slope: masked('slope'), byParameter: params.map((_, i) => masked(`by${i}`))};
  }

  private compile(n: number): Executable {
    const {names, noise} = this;
    const places = names.map((_, i) => `p${i}`);
    const shapes = Object.fromEntries([...inputs, ...places].map(name => [name, [n]]));
    return compilePrograms<string, string, string>(
      {
        losses: at => {
          const loss = (residual: tf.Tensor, ...values: tf.Tensor[]): tf.Tensor => {
            const params = names.reduce<object>((tree, name, i) => withLeaf(tree, name, values[i]), {});
            const {measured, weights, t, output} = at;
            const weight = tf.where(tf.equal(weights, 0), tf.onesLike(weights), weights);
            const simulated = tf.add(measured, tf.div(residual, weight));
            const given = {measured, simulated, t, output} as unknown as MeasuredRows;
            const found = noise.logDensity(residual as tf.Tensor1D, params as never, given);
            if (found.shape.length !== 1 || found.shape[0] !== n)
              throw new ShapeError(
                'density-shape',
                `identify: noise.logDensity must return a value for each of ${n} residuals, [${n}], not `
                  + `[${found.shape.join(', ')}].`,
                {shape: found.shape},
              );
            return tf.neg(found);
          };
          const arguments_ = [at.residuals, ...places.map(place => at[place])];
          const [slope, ...by] = tf.grads((residual: tf.Tensor, ...rest: tf.Tensor[]) =>
            tf.sum(loss(residual, ...rest)),
          )(arguments_);
          return {
            loss: loss(at.residuals, ...arguments_.slice(1)),
            slope,
            ...Object.fromEntries(by.map((one, i) => [`by${i}`, one])),
          };
        },
      },
      shapes,
    );
  }
}
