/** What graphics.spec.ts runs in a page: the tensor engine on tfjs's webgl backend, before and after its context is lost. */
import * as tf from '@tensorflow/tfjs';
import {ode, rk4, simulate} from '../../lib/index.js';

export interface Graphics {
  readonly backend: string;
  /** Ends and gradients, by the tensor engine on the graphics processor and by the compiled one. */
  readonly numbers: readonly (readonly number[])[];
  /** Names and codes of errors after the loss: a run there, and a compiled one of a parameter that lay there. */
  readonly lost: readonly string[];
  /** Of a compiled run of arrays, after the loss. */
  readonly after: readonly number[];
}

const size = 40;
const rows = 4;

export async function graphics(): Promise<Graphics> {
  const none = {backend: '', numbers: [], lost: [], after: []};
  if (!(await tf.setBackend('webgl').catch(() => false))) return none;
  await tf.ready();
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
  const numbers = [run('tensor', {w}), run('auto', {w})];

  // Computed there, and not read yet; large enough that tfjs does not compute it on the processor itself.
  const onDevice = tf.tidy(() => tf.matMul(tf.tensor2d(w), tf.eye(size)));
  const {gl} = (tf.backend() as unknown as {gpgpu: {gl: WebGL2RenderingContext}}).gpgpu;
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  const outcome = (work: () => unknown): string => {
    try {
      work();
      return 'nothing was thrown';
    } catch (error) {
      return `${(error as Error).name} ${(error as {code?: string}).code ?? ''}`;
    }
  };
  const lost = [outcome(() => run('tensor', {w})), outcome(() => run('auto', {w: onDevice}))];
  return {backend: tf.getBackend(), numbers, lost, after: run('auto', {w})};
}
