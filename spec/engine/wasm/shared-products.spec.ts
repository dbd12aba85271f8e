/** Products of one shape are one function of the module, in whatever programs and wherever their operands lie. */
import {expect} from 'chai';
import wabt from 'wabt';
import {generate, wasmSingle} from '../../../lib/engine/wasm/wasm.js';
import {double, single} from '../../../lib/engine/wasm/format.js';
import {add, input, matMul, slice} from '../../../lib/graph/build.js';
import type {Graph, Node} from '../../../lib/graph/node.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import {agree, compare, execute} from './agreement.js';
import {slow} from '../../tiers.js';

/** x·w, of that ·w and so on: so many products of the same shape. */
function chained(count: number, rows: number, size: number): Graph {
  const [x, w] = [input(`x${rows}`, [1, rows, size]), input('w', [1, size, size])];
  let node: Node = x;
  for (let i = 0; i < count; i++) node = add(matMul(node, w), x);
  return {inputs: [x, w], outputs: [{name: `y${rows}`, node}]};
}

async function functionsOf(programs: {readonly [name: string]: Graph}, format = double): Promise<number> {
  const module = (await wabt()).readWasm(generate(programs, {}, undefined, format).bytes, {readDebugNames: false});
  const count = module.toText({}).match(/\n {2}\(func /g)?.length ?? 0;
  module.destroy();
  return count;
}

describe('wasm engine: products of one shape', () => {
  for (const format of [double, single]) {
    slow(`are one function, however many there are, in ${format.name} precision`, async () => {
      const [one, five] = [
        await functionsOf({main: chained(1, 8, 16)}, format),
        await functionsOf({main: chained(5, 8, 16)}, format),
      ];
      expect(five).to.equal(one);
      // Of two programs too: one function more, that of the second program.
      expect(await functionsOf({main: chained(5, 8, 16), other: chained(3, 8, 16)}, format)).to.equal(one + 1);
      // Of another shape it is another function.
      expect(await functionsOf({main: chained(5, 8, 16), other: chained(3, 9, 16)}, format)).to.equal(one + 2);
    });
  }

  it('of few numbers are written where they are', async () => {
    expect(await functionsOf({main: chained(5, 1, 4)})).to.equal(1);
  });

  it('have the bits of the interpreter, transposed, of parts of others, and in batches', () => {
    agree(chained(4, 8, 16), 3);
    const [a, b] = [input('a', [2, 20, 30]), input('b', [2, 30, 20])];
    const product = (from: number, transposed: boolean): Node =>
      transposed
        ? matMul(slice(b, [0, from, 1], [2, 18, 17]), slice(a, [0, 1, from], [2, 17, 18]), true, true)
        : matMul(slice(a, [0, 1, from], [2, 17, 18]), slice(b, [0, from, 1], [2, 18, 17]));
    const outputs = [0, 3, 7].flatMap(from => [
      {name: `c${from}`, node: product(from, false)},
      {name: `d${from}`, node: product(from, true)},
    ]);
    agree({inputs: [a, b], outputs}, 4);
  });

  it('are near those of the interpreter in single precision', () => {
    const main = chained(3, 8, 16);
    const [expected, actual] = [interpreter, wasmSingle].map(engine => execute(engine, {main}, 2));
    // Three products of 16 terms each: 48 roundings of 6e-8, of numbers no larger than the result.
    compare('y8', actual.buffer('y8'), expected.buffer('y8'), 1e-5);
  });
});
