/** A new process to its first gradient: `node cold-start.js tfjs` imports tfjs and nothing else, `all` does W1 with n = 32. */
const sinceStart = (): number => performance.now();

if (process.argv[2] === 'tfjs') {
  await import('@tensorflow/tfjs');
  console.log(JSON.stringify({total: sinceStart()}));
} else {
  const {simulate} = await import('../lib/index.js');
  const {chainWorkload} = await import('./workloads.js');
  const imported = sinceStart();
  const gradient = (): number => {
    const begin = performance.now();
    const {system, initial, options} = chainWorkload(32);
    const {trajectory, pullback} = simulate.vjp(system, initial, options);
    const ends = (x: Float64Array): Float64Array => x.map((value, i) => (i < 32 ? 0 : 2 * value));
    pullback({q: ends(trajectory.values('q')), v: ends(trajectory.values('v'))});
    return performance.now() - begin;
  };
  const first = gradient();
  const total = sinceStart();
  // The least of a few: this is the cost of a system built anew, not of a processor that was away.
  const second = Math.min(...Array.from({length: 5}, gradient));
  console.log(JSON.stringify({total, imported, gradient: first, second}));
}
