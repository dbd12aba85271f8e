/** What graphics.ts shows in a browser: one gradient of a neural ODE by the tensor engine on webgl and on webgpu, and by the compiled engine. */
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import {ode, rk4, simulate} from '../lib/index.js';

const steps = 10;
const widths = [64, 256, 1024, 4096];
const batches = [1, 32, 512, 4096];

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

/** What the browser says of the processor that each backend runs on; only those it has. */
async function processors(): Promise<Map<'webgl' | 'webgpu', string>> {
  const found = new Map<'webgl' | 'webgpu', string>();
  for (const name of ['webgl', 'webgpu'] as const) {
    if (!(await tf.setBackend(name).catch(() => false))) continue;
    await tf.ready();
    const {gpgpu, adapterInfo} = tf.backend() as unknown as {
      gpgpu?: {gl: WebGL2RenderingContext};
      adapterInfo?: {vendor: string; architecture: string};
    };
    const info = gpgpu?.gl.getExtension('WEBGL_debug_renderer_info');
    found.set(
      name,
      info
        ? String(gpgpu?.gl.getParameter(info.UNMASKED_RENDERER_WEBGL))
        : `${adapterInfo?.vendor ?? ''} ${adapterInfo?.architecture ?? ''}`,
    );
  }
  return found;
}

/** Rows of a table, one as soon as it is there; backends take turns within a row. */
export async function measure(show: (row: string) => void | Promise<void>): Promise<void> {
  const backends = await processors();
  for (const [name, processor] of backends) await show(`${name}: ${processor}`);
  if (backends.size === 0) throw new Error('This browser has neither WebGL nor WebGPU.');
  await show('width  batch   webgl ms  webgpu ms  wasm double ms  wasm single ms');
  for (const width of widths) {
    for (const batch of batches) {
      const times: string[] = [];
      for (const name of ['webgl', 'webgpu'] as const) {
        if (!backends.has(name)) times.push('-');
        else if (!(await tf.setBackend(name))) throw new Error(`${name} is gone.`);
        else times.push(gradientTime('tensor', undefined, width, batch).toFixed(1));
      }
      await tf.setBackend('cpu');
      times.push(...([undefined, 'single'] as const).map(x => gradientTime('auto', x, width, batch).toFixed(1)));
      await show([width, batch, ...times].map((cell, i) => String(cell).padStart([5, 6, 10, 10, 15, 15][i])).join(' '));
    }
  }
}
