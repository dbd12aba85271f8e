/**
 * The Silverbox without its equations: a neural state-space model of two states learns the circuit from its input and
 * output voltage alone. The last tenth of the multisine's first three quarters is held out to choose the weights by;
 * the multisine's last quarter and the arrow are tests.
 *
 *     npx tsx examples/silverbox-black-box.ts [SNLS80mV.csv]      columns V1 and V2; without it a record is made here
 */
import {mkdir, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {neuralStateSpace, reports, type NeuralStateSpace} from '../training/index.js';
import {part} from './benchmarks/protocol.js';
import {printTable, progress, script, type ScriptArguments} from './script.js';
import {dt, made, measured, type Silverbox} from './silverbox.js';

/** The trained model. */
export function learn({train}: Silverbox, epochs: number, show: (text: string) => void): Promise<NeuralStateSpace> {
  const held = Math.floor(0.9 * train.t.length);
  return neuralStateSpace({
    data: part(train, 0, held),
    validation: part(train, held),
    states: 2,
    past: 8,
    section: 50,
    timeConstant: 1.5 * dt, // the circuit's resonance, 70 Hz, is 1/ω = 1.4 samples
    rate: 1e-2,
    epochs,
    batches: 150,
    onProgress: ({epoch, loss, validation}) =>
      show(`epoch ${epoch} of ${epochs}, loss ${loss.toPrecision(3)}, free run ${validation.toPrecision(3)}`),
  });
}

export async function main({path: file, report, short}: ScriptArguments): Promise<void> {
  const box = file === undefined ? made(short ? 1200 : 20_000) : await measured(file);
  const {update, finish} = progress('Learning');
  const model = await learn(box, short ? 2 : 60, update);
  finish();
  const {tests} = box;
  const judged = {multisine: model.validate(tests.multisine), arrow: model.validate(tests.arrow)};
  const volts = (value: number): string => `${(1e3 * value).toFixed(3)} mV`;
  printTable([
    ['root mean square error', 'multisine, test', 'arrow'],
    ['neural state space, 2 states', volts(judged.multisine.rmse), volts(judged.arrow.rmse)],
  ]);
  const page = reports.page({
    title: box.title,
    description: "x' = f(x, u)/τ, y = h(x) by networks, the state at the start from 8 samples by another.",
    parameters: [],
    fits: Object.entries(tests).map(([name, {t, y}]) => ({
      name,
      unit: 'V',
      t: t.subarray(model.past),
      measured: y.subarray(model.past),
      simulated: model.simulate(tests[name as keyof typeof tests]),
    })),
    history: model.history.map(({epoch, loss}) => ({iteration: epoch, cost: loss})),
    notes: [
      `Weights of epoch ${model.best} of ${model.history.length}, whose free run over the validation part was best.`,
    ],
  });
  await mkdir(path.dirname(report), {recursive: true});
  await writeFile(report, page);
  model.dispose();
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'silverbox-black-box',
  'A neural state-space model of the Silverbox, from its voltages alone. Columns of a record: V1, V2.',
  main,
);
