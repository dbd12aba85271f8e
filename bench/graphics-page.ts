/** What graphics.ts shows in a browser: one gradient of a neural ODE by the tensor engine on webgl, and by the compiled engine. */
import * as tf from '@tensorflow/tfjs';
import {ode, rk4, simulate} from '../lib/index.js';

const steps = 10;
const widths = [64, 256, 1024];
const batches = [1, 32, 512];

/** The least of three, in ms: a gradient of the sum of the end states by both layers' weights. */
function gradientTime(
  engine: 'auto' | 'tensor',
  precision: 'single' | undefined,
  width: number,
  batch: number,
): number {
  const weights = (rows: number, columns: number): tf.Tensor2D =>
    tf.randomNormal([rows, columns], 0, 1 / Math.sqrt(rows), 'float32', rows + columns);
  const system = ode<{a: tf.Tensor2D; b: tf.Tensor2D}>({
    derivative: ({y, params}) => tf.matMul(tf.tanh(tf.matMul(y as tf.Tensor2D, params.a)), params.b),
  });
  const params = {a: weights(8, width), b: weights(width, 8)};
  const initial = {y: tf.ones([batch, 8])};
  const options = {
    scheme: rk4(),
    dt: 0.1,
    steps,
    saveAt: 'end',
    engine,
    params,
    ...(precision && {precision}),
  } as const;
  const prepared = simulate.prepare(system, initial, options);
  const cotangent = new Float64Array(2 * batch * 8).fill(1);
  const once = (): number => {
    const begin = performance.now();
    const {trajectory, pullback} = prepared.vjp({initial, params});
    pullback({y: cotangent});
    trajectory.dispose();
    return performance.now() - begin;
  };
  once();
  const least = Math.min(once(), once(), once());
  tf.dispose([params, initial]);
  return least;
}

/** Rows of a table, one as soon as it is there. */
export async function measure(show: (row: string) => void | Promise<void>): Promise<void> {
  if (!(await tf.setBackend('webgl'))) throw new Error('This browser has no WebGL.');
  await tf.ready();
  const {gl} = (tf.backend() as unknown as {gpgpu: {gl: WebGL2RenderingContext}}).gpgpu;
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  await show(`graphics: ${info === null ? 'not told' : String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL))}`);
  await show('width  batch  webgl ms  wasm double ms  wasm single ms  wasm single / webgl');
  for (const width of widths) {
    for (const batch of batches) {
      const [graphics, double, single] = [
        gradientTime('tensor', undefined, width, batch),
        gradientTime('auto', undefined, width, batch),
        gradientTime('auto', 'single', width, batch),
      ];
      const cells = [
        width,
        batch,
        graphics.toFixed(1),
        double.toFixed(1),
        single.toFixed(1),
        (single / graphics).toFixed(3),
      ];
      await show(cells.map((cell, i) => String(cell).padStart([5, 6, 9, 15, 15, 20][i])).join(' '));
    }
  }
}
