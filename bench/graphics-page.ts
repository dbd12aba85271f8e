/** What graphics.ts shows in a browser: one gradient of a neural ODE by the tensor engine on webgl and on webgpu, and by the compiled engine. */
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import {ode, rk4, simulate} from '../lib/index.js';

const steps = 10;
const batches = [1, 32, 512];
const widths = [64, 256, 1024];
/** Layers of each network by width. */
const networks = {
  '8 → width → 8': (width: number) => [8, width, 8],
  'width → width': (width: number) => [width, width],
};
const graphics = ['webgl', 'webgpu'] as const;
/** Repetitions end here: what takes longer varies little. */
const enoughMs = 2000;

/** The least of at most three, in ms: a gradient of the sum of the end states by all weights. */
function gradientTime(
  engine: 'auto' | 'tensor',
  precision: 'single' | undefined,
  layers: readonly number[],
  batch: number,
): number {
  const params: {[layer: string]: tf.Tensor} = {};
  layers.slice(1).forEach((columns, i) => {
    const [rows, seed] = [layers[i], layers[i] + columns];
    params[`layer${i}`] = tf.randomNormal([rows, columns], 0, 1 / Math.sqrt(rows), 'float32', seed);
  });
  const system = ode<typeof params>({
    derivative: ({y, params: weights}) =>
      Object.values(weights).reduce<tf.Tensor>((x, w) => tf.tanh(tf.matMul(x, w)), y),
  });
  const initial = {y: tf.ones([batch, layers[0]])};
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
  const cotangent = new Float64Array(2 * batch * layers[0]).fill(1);
  const once = (): number => {
    const begin = performance.now();
    const {trajectory, pullback} = prepared.vjp({initial, params});
    pullback({y: cotangent});
    trajectory.dispose();
    return performance.now() - begin;
  };
  let least = Infinity;
  const end = performance.now() + enoughMs;
  once(); // Compiles.
  for (let i = 0; i < 3 && (i === 0 || performance.now() < end); i++) least = Math.min(least, once());
  tf.dispose([params, initial]);
  return least;
}

/** What the browser says of the processor that each backend runs on; only of those that it has and that can be read at once. */
async function processors(): Promise<Map<(typeof graphics)[number], string>> {
  const found = new Map<(typeof graphics)[number], string>();
  for (const name of graphics) {
    if (!(await tf.setBackend(name).catch(() => false))) continue;
    await tf.ready();
    const {gpgpu, adapterInfo} = tf.backend() as unknown as {
      gpgpu?: {gl: WebGL2RenderingContext};
      adapterInfo?: {vendor: string; architecture: string};
    };
    const info = gpgpu?.gl.getExtension('WEBGL_debug_renderer_info');
    // Some browsers cannot show at once what webgpu computed: tfjs then reads something else.
    if (tf.tidy(() => tf.fill([1], 2).dataSync())[0] !== 2) continue;
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
  for (const [network, layers] of Object.entries(networks)) {
    await show(network);
    await show('width  batch   webgl ms  webgpu ms  wasm double ms  wasm single ms');
    for (const width of widths) {
      for (const batch of batches) {
        const times: string[] = [];
        for (const name of graphics) {
          if (!backends.has(name)) times.push('-');
          else if (!(await tf.setBackend(name))) throw new Error(`${name} is gone.`);
          else times.push(gradientTime('tensor', undefined, layers(width), batch).toFixed(1));
        }
        await tf.setBackend('cpu');
        for (const precision of [undefined, 'single'] as const)
          times.push(gradientTime('auto', precision, layers(width), batch).toFixed(1));
        const cells = [width, batch, ...times];
        await show(cells.map((cell, i) => String(cell).padStart([5, 6, 10, 10, 15, 15][i])).join(' '));
      }
    }
  }
}
