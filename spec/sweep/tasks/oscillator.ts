/** A small identification: the stiffness of a spring from its motion with noise, and what goes wrong on demand. */
'use stiffgrad task';

import type {TaskContext} from 'stiffgrad/sweep';

/** A trajectory's stiffness by Newton's method on the sum of squares: q = cos(√k t), without a simulation, for speed. */
export function identifyStiffness(
  {k, noise = 0}: {k: number; noise?: number},
  {seed}: TaskContext,
): {k: number; cost: number} {
  // A linear congruential generator (Knuth's MMIX), enough for noise that a seed repeats.
  let state = BigInt(seed);
  const random = (): number => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & (2n ** 64n - 1n);
    return Number(state >> 11n) / 2 ** 53 - 0.5;
  };
  const t = Array.from({length: 50}, (_, i) => 0.02 * i);
  const data = t.map(time => Math.cos(Math.sqrt(k) * time) + noise * random());
  let w = Math.sqrt(k) * 1.05;
  let cost = 0;
  for (let iteration = 0; iteration < 20; iteration++) {
    let [gradient, hessian] = [0, 0];
    cost = 0;
    t.forEach((time, i) => {
      const residual = Math.cos(w * time) - data[i];
      const slope = -time * Math.sin(w * time);
      cost += residual ** 2;
      gradient += slope * residual;
      hessian += slope ** 2;
    });
    w -= gradient / hessian;
  }
  return {k: w * w, cost};
}

export function square({x}: {x: number}): number {
  return x * x;
}

/** What each case names. */
export async function misbehave({how, x}: {how: string; x: number}, {signal}: TaskContext): Promise<number> {
  switch (how) {
    case 'throw':
      throw new RangeError(`no result for ${x}`);
    case 'hang':
      for (;;);
    case 'wait':
      await new Promise(resolve => signal.addEventListener('abort', resolve));
      return x;
    case 'heap': {
      const kept: object[] = [];
      for (;;) kept.push({x, more: Array.from({length: 1000}, () => ({x}))});
    }
    case 'buffers': {
      const kept: Uint8Array[] = [];
      for (;;) kept.push(new Uint8Array(2 ** 24).fill(1));
    }
    case 'exit':
      process.exit(3);
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    case 'function':
      return (() => x) as unknown as number;
    default:
      return x;
  }
}

/** Waits, as a run of that many milliseconds would keep its processor. */
export async function slow({x, ms}: {x: number; ms: number}): Promise<number> {
  await new Promise(resolve => setTimeout(resolve, ms));
  return x;
}

/** Keeps its processor busy. */
export function busy({x, ms}: {x: number; ms: number}): number {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return x;
}

/** How good a learning rate is after so many steps of descent on ½x². */
export function descent({rate, budget}: {rate: number; budget: number}): number {
  return (1 - rate) ** (2 * budget);
}
