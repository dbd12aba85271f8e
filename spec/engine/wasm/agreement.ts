/** Runs one program on two engines with the same random inputs and compares all outputs, which agree to the bit. */
import {expect} from 'chai';
import type {Engine, Executable, Programs} from '../../../lib/engine/engine.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import {wasm} from '../../../lib/engine/wasm/wasm.js';
import type {Graph} from '../../../lib/graph/node.js';

/** Numbers in [−2, 2) from a linear congruence (Numerical Recipes' constants), the same for every engine. */
export function fill(array: Float64Array, seed: number): void {
  let state = (seed * 2654435761) >>> 0;
  for (let i = 0; i < array.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    array[i] = state / 2 ** 30 - 2;
  }
}

export function execute(
  engine: Engine,
  programs: Programs,
  seed: number,
  write?: (executable: Executable) => void,
): Executable {
  const executable = engine.compile(programs);
  for (const graph of Object.values(programs)) {
    graph.inputs.forEach((node, i) => fill(executable.buffer(node.attributes.name), seed + i));
  }
  write?.(executable);
  for (const name of Object.keys(programs)) executable.run(name);
  return executable;
}

/** Equal numbers, or both NaN; zeros of either sign are equal. */
function same(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

/** To the bit; or relative to the largest number of the output. */
export type Tolerance = 'exact' | number;

export function compare(name: string, actual: Float64Array, expected: Float64Array, tolerance: Tolerance): void {
  expect(actual.length, `length of ${name}`).to.equal(expected.length);
  let scale = 1;
  for (const value of expected) if (Number.isFinite(value)) scale = Math.max(scale, Math.abs(value));
  for (let i = 0; i < expected.length; i++) {
    const ok =
      same(actual[i], expected[i])
      || (typeof tolerance === 'number' && Math.abs(actual[i] - expected[i]) <= tolerance * scale);
    if (!ok) expect.fail(`${name}[${i}] is ${actual[i]}, should be ${expected[i]}`);
  }
}

export function agree(graph: Graph, seed: number, write?: (executable: Executable) => void): void {
  const expected = execute(interpreter, {main: graph}, seed, write);
  const actual = execute(wasm, {main: graph}, seed, write);
  for (const {name} of graph.outputs) compare(name, actual.buffer(name), expected.buffer(name), 'exact');
}
