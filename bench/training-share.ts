/**
 * The share of a training step that is spent outside compiled programs, by V8's sampling profiler, and the least and the
 * median time of a step:
 *
 *     npx tsc -p bench/tsconfig.json && node reports/bench/build/bench/training-share.js [part of a name]
 */
import {Session} from 'node:inspector/promises';
import {trainingRows} from './training-rows.js';

/** Until V8 has optimised what it will. */
const warmUpSeconds = 2;
const seconds = 4;
/** Microseconds between samples: some ten a step of the smallest row, and little beside it. */
const interval = 100;

function train(step: () => void, length: number): number[] {
  const times: number[] = [];
  const end = performance.now() + 1000 * length;
  while (performance.now() < end) {
    const begin = performance.now();
    step();
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b);
}

/** Of the samples in which the process did something: of V8's own pseudo-functions the collector of garbage counts. */
async function outside(step: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', {interval});
  await session.post('Profiler.start');
  train(step, seconds);
  const {profile} = await session.post('Profiler.stop');
  session.disconnect();
  const frames = new Map(profile.nodes.map(({id, callFrame}) => [id, callFrame]));
  let [all, compiled] = [0, 0];
  for (const id of profile.samples ?? []) {
    const {functionName, url} = frames.get(id) ?? {functionName: '(program)', url: ''};
    if (functionName === '(program)' || functionName === '(idle)') continue;
    all++;
    if (url.startsWith('wasm')) compiled++;
  }
  return 1 - compiled / all;
}

for (const [name, make] of Object.entries(trainingRows)) {
  if (!name.includes(process.argv[2] ?? '')) continue;
  const {step} = make().prepare('double');
  if (step === undefined) continue;
  train(step, warmUpSeconds);
  const times = train(step, seconds);
  const share = await outside(step);
  console.log(
    `${name.padEnd(24)} least ${times[0].toFixed(3)} ms, median ${times[times.length >> 1].toFixed(3)} ms, outside compiled programs ${(100 * share).toFixed(1)} %`,
  );
}
