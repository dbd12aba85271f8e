/** What the browser's test runs, in a browser and on Node: one gradient through implicit steps, on both engines and on tfjs's tape. */
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, simulate} from '../../lib/index.js';
import {chain, mlp, neuralForce} from '../../models/index.js';
import {readTable} from '../../training/index.js';
import {lineChart} from '../../training/report/plot.js';

export interface Answer {
  readonly engines: readonly string[];
  /** Loss and gradient in double precision: by 'auto', then by the interpreter. */
  readonly numbers: readonly (readonly number[])[];
  /** The gradient on tfjs's tape, in single precision. */
  readonly tape: readonly number[];
  readonly chart: boolean;
  /** What readTable says. */
  readonly table: string;
  /** Of a file that a user chose. */
  readonly rows: readonly number[];
}

const size = 6;
const steps = 50;

export async function answer(): Promise<Answer> {
  const physical = chain({count: size, mass: 1, stiffness: ({k}) => k as tf.Tensor, cubic: 0.5, damping: 0.1, g: 1});
  const network = neuralForce(mlp({sizes: [2 * size, 4, size], seed: 3}));
  const system = {...physical, forces: [...physical.forces, network]};
  const start = {q: new Array<number>(size).fill(0), v: new Array<number>(size).fill(0)};
  const options = {scheme: implicitMidpoint(), dt: 0.01, steps, saveAt: 'end'} as const;
  const k = new Array<number>(size).fill(100);

  const engines: string[] = [];
  const numbers = (['auto', 'interpreter'] as const).map(engine => {
    const {trajectory, pullback} = simulate.vjp(system, start, {...options, params: {k}, engine});
    engines.push(trajectory.stats.engine);
    const end = trajectory.values('q').slice(size);
    const cotangent = Float64Array.from({length: 2 * size}, (_, i) => (i < size ? 0 : 2 * end[i - size]));
    return [end.reduce((sum, q) => sum + q * q, 0), ...(pullback({q: cotangent}).params.k as Float64Array)];
  });

  const gradient = tf.grad(x =>
    tf.sum(tf.square(tf.slice(simulate(system, start, {...options, params: {k: x}}).q, [1, 0]))),
  )(tf.tensor1d(k));
  const table = await readTable('no such file').then(
    () => '',
    (error: unknown) => String((error as Error).message),
  );
  const chosen = await readTable(new Blob(['\ufefft;"q, m"\n0;1.5\n\n"0.5";-2\n']));
  return {
    engines,
    rows: [...chosen.column('t'), ...chosen.column('q, m')],
    numbers,
    tape: Array.from(gradient.dataSync()),
    table,
    chart: lineChart({
      title: 'q',
      x: {label: 't'},
      y: {label: 'q'},
      series: [{name: 'q', x: [0, 1], y: [0, 1]}],
    }).startsWith('<svg'),
  };
}
