/**
 * The share of a training step that is spent outside compiled programs, by V8's sampling profiler, and the least and the
 * median time of a step:
 *
 *     npx tsc -p bench/tsconfig.json && node reports/bench/build/bench/training-share.js [part of a name] [double | single]
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

/** Steps between two looks at the clock. */
const steps = 64;

function isTrainingStep({functionName, url}: {readonly functionName: string; readonly url: string}): boolean {
  return functionName === 'step' && url.endsWith('/training/train/training-step.js');
}

/**
 * Of the samples within training steps, and of those of the collector of garbage: not those of the loop around them, which
 * looks at the clock and begins anew now and then.
 */
async function outside(step: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', {interval});
  await session.post('Profiler.start');
  const end = performance.now() + 1000 * seconds;
  while (performance.now() < end) for (let i = 0; i < steps; i++) step();
  const {profile} = await session.post('Profiler.stop');
  session.disconnect();
  /** By node of the tree of calls: whether it counts, and is compiled. */
  const kinds = new Map<number, 'compiled' | 'outside' | undefined>();
  const nodes = new Map(profile.nodes.map(node => [node.id, node]));
  const visit = (id: number, within: boolean): void => {
    const node = nodes.get(id);
    if (node === undefined) return;
    const {callFrame, children = []} = node;
    const counts = within || isTrainingStep(callFrame) || callFrame.functionName === '(garbage collector)';
    kinds.set(id, !counts ? undefined : callFrame.url.startsWith('wasm') ? 'compiled' : 'outside');
    for (const child of children) visit(child, counts);
  };
  visit(profile.nodes[0].id, false);
  const counts = {compiled: 0, outside: 0};
  for (const id of profile.samples ?? []) {
    const kind = kinds.get(id);
    if (kind !== undefined) counts[kind]++;
  }
  return counts.outside / (counts.compiled + counts.outside);
}

for (const [name, make] of Object.entries(trainingRows)) {
  if (!name.includes(process.argv[2] ?? '')) continue;
  const {step} = make().prepare(process.argv[3] === 'single' ? 'single' : 'double');
  if (step === undefined) continue;
  train(step, warmUpSeconds);
  const times = train(step, seconds);
  const share = await outside(step);
  console.log(
    `${name.padEnd(24)} least ${times[0].toFixed(3)} ms, median ${times[times.length >> 1].toFixed(3)} ms, outside compiled programs ${(100 * share).toFixed(1)} %`,
  );
}
