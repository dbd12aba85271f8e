/** What a simulation leaves in memory once it runs: nothing, however many steps it takes. */
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';
import type {Steady} from './steady-program.js';

const mebibyte = 2 ** 20;

describe('steady state', () => {
  // In a process of its own: what other tests left to be collected, and made V8 forget, does not count.
  const program = fileURLToPath(new URL('steady-program.ts', import.meta.url));
  let steady: Steady;

  before(() => {
    const output = execFileSync(
      process.execPath,
      ['--expose-gc', '--no-concurrent-recompilation', '--import', 'tsx', program],
      {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']},
    );
    steady = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Steady;
  });

  it('10,000 more compiled steps allocate less than 1 MiB, numbers put on the heap in between counted', () => {
    expect(steady.allocated).to.be.below(mebibyte);
  });

  it('10,000 steps with gradients leave less than 1 MiB, on either engine, and no tensor', () => {
    expect(steady.left.wasm).to.be.below(mebibyte);
    expect(steady.left.interpreter).to.be.below(mebibyte);
    expect(steady.tensors).to.deep.equal([0, 0, 0]);
  });
});
