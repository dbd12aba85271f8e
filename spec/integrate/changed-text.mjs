/**
 * Started by one-text.slow.spec.ts: loads the sources with one text replaced, and runs one system on every engine, along
 * a grid and with adaptive steps, alone, in blocks, in batches, and in batches whose members have times of their own.
 * Prints what came of each.
 */
import {register} from 'node:module';

const hooks = `
let change;
export const initialize = given => void (change = given);
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.endsWith(change.file) || loaded.source == null) return loaded;
  const source = String(loaded.source);
  if (!source.includes(change.from)) throw new Error(change.file + ' has no ' + change.from);
  return {...loaded, source: source.replace(change.from, change.to)};
}`;
const change = JSON.parse(process.argv[2]);
if (change !== null)
  register(`data:text/javascript,${encodeURIComponent(hooks)}`, {data: change, parentURL: import.meta.url});

const lib = new URL('../../lib/', import.meta.url);
const {adaptive, batch, implicitMidpoint, mechanics, newmark, ode, simulate, tsit5} = await import(`${lib}index.ts`);
const {AdaptiveBlocks} = await import(`${lib}integrate/history/adaptive-blocks.ts`);
const tf = await import('@tensorflow/tfjs');
AdaptiveBlocks.after = 0;

const pendulum = mechanics({mass: 1, forces: ({q, params}) => tf.mul(tf.neg(params.k), tf.sin(q))});
const decay = ode(({y, params}) => tf.neg(tf.mul(params.k, tf.mul(y, y))));
const settings = {params: {k: 40}, dt: 0.05, steps: 24};
const cases = {
  grid: [pendulum, {q: [1, 0.4], v: [0, 0]}, {...settings, scheme: implicitMidpoint()}],
  adaptive: [pendulum, {q: [1, 0.4], v: [0, 0]}, {...settings, scheme: newmark(), control: adaptive({rtol: 1e-4})}],
  explicit: [decay, {y: [1, 0.4]}, {...settings, scheme: tsit5(), dt: 1e-3, control: adaptive({rtol: 1e-7})}],
};
const told = {};
for (const engine of ['wasm', 'interpreter', 'tensor'])
  for (const [name, [system, initial, given]] of Object.entries(cases)) {
    const options = {...given, engine, throw: false};
    const tell = ({status, stats, t}) => [status, stats.newtonIterations, stats.steps, t.dataSync().at(-1)];
    const {trajectory, pullback} = simulate.vjp(system, initial, options);
    const key = initial.y === undefined ? 'q' : 'y';
    const gradient = trajectory.status === 'completed' ? pullback({[key]: trajectory.values(key)}).params.k : [];
    told[`${engine}, ${name}`] = [tell(trajectory), Array.from(gradient, k => Number(k.toPrecision(5)))];
    told[`${engine}, ${name}, batch`] = batch(system, [initial, initial], options).map(tell)[1];
    // Members with times of their own, of which explicit ones go in lanes of one program.
    const {steps: _steps, ...members} = options;
    const prepared = batch.prepare(system, initial, {...members, t1: 1.2});
    const {trajectories, pullback: pull} = prepared.vjp([
      {params: {k: 40}, saveAt: [0.31, 1.17]},
      {params: {k: 37}, saveAt: [0.53, 0.71]},
    ]);
    const failed = trajectories.some(({status}) => status !== 'completed');
    const pulled = failed ? [] : pull(trajectories.map(one => ({[key]: one.values(key)}))).members;
    told[`${engine}, ${name}, members`] = [
      tell(trajectories[1]),
      pulled.flatMap(({params}) => Array.from(params.k, k => Number(k.toPrecision(5)))),
    ];
  }
// The gradient of a loss by a variable that it alone reads, from the second evaluation on in one memory where programs are compiled.
const {Calls} = await import(`${lib}simulate/loss-call.ts`);
Calls.after = 0;
const weight = tf.variable(tf.scalar(2));
for (const engine of ['wasm', 'interpreter', 'tensor'])
  for (const [name, [system, initial, {steps, control, ...given}]] of Object.entries(cases)) {
    const times = control === undefined ? {steps} : {control, t1: 0.5, saveAt: [0.2, 0.5]};
    const model = simulate.prepare(system, initial, {...given, ...times, engine});
    const loss = at => tf.mul(weight, tf.sum(tf.square(at.y ?? at.q)));
    for (const evaluation of ['first', 'second'])
      try {
        told[`${engine}, ${name}, loss, ${evaluation}`] = [
          ...(model.valueAndVariables(loss).variables.get(weight) ?? []),
        ];
      } catch (error) {
        told[`${engine}, ${name}, loss, ${evaluation}`] = error.code;
      }
  }
console.log(JSON.stringify(told));
