/** What graphics.spec.ts runs in a page: the tensor engine on tfjs's webgl and webgpu backends, before and after their device is lost. */
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import {ode, rk4, simulate} from '../../lib/index.js';

export interface Graphics {
  readonly backend: string;
  /** Ends and gradients: by the tensor engine on the graphics processor, by the compiled one, and by that of a parameter that lies there. */
  readonly numbers: readonly (readonly number[])[];
  /** Names and codes of errors after the loss: a run there, and a compiled one of a parameter that lay there. */
  readonly lost: readonly string[];
  /** Of a compiled run of arrays, after the loss. */
  readonly after: readonly number[];
  /** The error of a run with a parameter that lies there while another backend is the current one. */
  readonly elsewhere: string;
  /** How many tensors the runs before the loss left behind. */
  readonly tensors: number;
}

const size = 40;
const rows = 4;

export const webgl = (): Promise<Graphics> => graphics('webgl');
export const webgpu = (): Promise<Graphics> => graphics('webgpu');

async function graphics(backend: 'webgl' | 'webgpu'): Promise<Graphics> {
  const none = {backend: '', numbers: [], lost: [], after: [], tensors: 0, elsewhere: ''};
  if (!(await tf.setBackend(backend).catch(() => false))) return none;
  await tf.ready();
  // Without a canvas that shows what webgpu computed, tfjs reads zeros of it.
  if (tf.tidy(() => tf.fill([1], 2).dataSync())[0] !== 2) return none;
  const system = ode<{w: tf.Tensor2D}>({derivative: ({y, params}) => tf.tanh(tf.matMul(y as tf.Tensor2D, params.w))});
  const table = (of: (i: number, j: number) => number, height: number): number[][] =>
    Array.from({length: height}, (_, i) => Array.from({length: size}, (_x, j) => of(i, j)));
  const y = table((i, j) => Math.cos(i + j), rows);
  const w = table((i, j) => 0.1 * Math.sin(3 * i + 5 * j), size);
  const run = (engine: 'auto' | 'tensor', params: {w: number[][] | tf.Tensor}): number[] => {
    const options = {
      scheme: rk4(),
      dt: 0.1,
      steps: 5,
      saveAt: 'end',
      engine,
      params: params as {w: number[][]},
    } as const;
    const {trajectory, pullback} = simulate.vjp(system, {y}, options);
    const end = trajectory.values('y').slice(rows * size);
    const cotangent = Float64Array.from({length: 2 * rows * size}, (_, i) => (i < rows * size ? 0 : 1));
    trajectory.dispose();
    return [...end, ...(pullback({y: cotangent}).params.w as Float64Array)];
  };
  const before = tf.memory().numTensors;
  const numbers = [run('tensor', {w}), run('auto', {w})];

  // Computed there, and not read before stiffgrad does; large enough that tfjs does not compute it on the processor itself.
  const [onDevice, other, unread] = [0, 1, 2].map(() => tf.tidy(() => tf.matMul(tf.tensor2d(w), tf.eye(size))));
  numbers.push(run('auto', {w: onDevice}));
  const outcome = (work: () => unknown): string => {
    try {
      work();
      return 'nothing was thrown';
    } catch (error) {
      return `${(error as Error).name} ${(error as {code?: string}).code ?? ''}`;
    }
  };
  await tf.setBackend('cpu');
  const elsewhere = outcome(() => run('auto', {w: other}));
  await tf.setBackend(backend);
  const tensors = tf.memory().numTensors - before - 3;
  if (tf.getBackend() !== backend) return none;
  lose();
  const lost = [outcome(() => run('tensor', {w})), outcome(() => run('auto', {w: unread}))];
  return {backend, numbers, lost, after: run('auto', {w}), tensors, elsewhere};
}

/** Takes the device away, as the browser does. */
function lose(): void {
  const {gpgpu, device} = tf.backend() as unknown as {
    readonly gpgpu?: {readonly gl: WebGL2RenderingContext};
    readonly device?: {destroy(): void};
  };
  gpgpu?.gl.getExtension('WEBGL_lose_context')?.loseContext();
  device?.destroy();
}
