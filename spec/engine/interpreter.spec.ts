/** What the interpreter promises beside what every engine does: memory used twice changes nothing, and none is allocated in a run. */
import {expect} from 'chai';
import fc from 'fast-check';
import {interpreter} from '../../lib/engine/interpreter.js';
import type {Node, Op} from '../../lib/graph/node.js';
import {binaryNames, topological, unaryNames} from '../../lib/graph/node.js';
import {primitiveOf, primitives} from '../../lib/graph/primitives/index.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import type {Case} from '../graph/cases.js';
import {binaryCase, cases, unaryCase} from '../graph/cases.js';
import {Choices, draws, generator, runs} from '../graph/choices.js';
import {vectors} from '../graph/evaluate.js';
import {program, programDraws} from '../graph/programs.js';
import {graph} from './contract.js';

/** Every node on its own, each into an array of its own: no memory is used twice. */
function plainly(outputs: readonly Node[], values: ReadonlyMap<Node, Float64Array>): Float64Array[] {
  const results = new Map<Node, Float64Array>(values);
  const of = (node: Node): Float64Array => results.get(node) ?? new Float64Array(0);
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const out = new Float64Array(node.size);
    primitiveOf(node).evaluate(node)(node.operands.map(of), out);
    results.set(node, out);
  }
  return outputs.map(of);
}

describe('engine: interpreter', () => {
  it('gives with reused memory what every node gives on its own, and the same again', () => {
    fc.assert(fc.property(draws(programDraws), list => {
      const choices = new Choices(list);
      const random = choices.random();
      const {inputs, outputs} = program(choices, 20);
      const all = [...outputs, ...simplifyNodes(outputs, inputs)];
      const executable = interpreter.compile({run: graph(inputs, Object.fromEntries(all.map((node, i) => [`y${i}`, node])))});
      const first = vectors(inputs, random);
      for (const values of [first, vectors(inputs, random), first]) {
        inputs.forEach((node, k) => executable.buffer(node.attributes.name).set(values[k]));
        executable.run('run');
        const expected = plainly(all, new Map(inputs.map((node, k) => [node, values[k]])));
        // Copied into arrays, so that a difference is shown; the two zeros count as one.
        expected.forEach((x, i) => expect(Array.from(executable.buffer(`y${i}`), value => value + 0)).to.deep.equal(Array.from(x, value => value + 0)));
        inputs.forEach((node, k) => expect(executable.buffer(node.attributes.name)).to.deep.equal(values[k]));
      }
    }), runs(120));
  });

  describe('allocates nothing while it runs', () => {
    const rows: readonly (readonly [name: string, build: (choices: Choices) => Case])[] = [
      ...(Object.keys(primitives) as Op[]).map(op => [op, cases[op]] as const),
      ...unaryNames.map(fn => [`unary ${fn}`, (choices: Choices) => unaryCase(fn, choices)] as const),
      ...binaryNames.map(fn => [`binary ${fn}`, (choices: Choices) => binaryCase(fn, choices)] as const),
    ];
    for (const [name, build] of rows) {
      it(name, () => {
        // Choices that give every case some elements and more than one axis.
        const {inputs, node} = build(new Choices(Array.from({length: 24}, (_, k) => 3 + 10 * k)));
        const executable = interpreter.compile({run: graph(inputs.map(input => input.node), {y: node})});
        const random = generator(1);
        for (const {node: {attributes}, draw} of inputs) executable.buffer(attributes.name).set(draw(random));
        expect(leastAllocation(() => executable.run('run')), 'bytes for each run').to.be.below(12);
      });
    }
  });
});

/**
 * Bytes on the heap for each call, in the best of many blocks of calls: V8 keeps every intermediate number
 * on the heap until it has compiled a loop, which takes it some thousand calls and, on a busy machine, seconds.
 * A number there takes 12 or 16 bytes; a block is so long that the measurement itself, some thousand bytes, is less.
 */
function leastAllocation(call: () => void): number {
  const end = performance.now() + 20000;
  let least = Infinity;
  while (least >= 12 && performance.now() < end) {
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 1000; i++) call();
    const each = (process.memoryUsage().heapUsed - before) / 1000;
    // Less than nothing: what was there before has been collected in between.
    if (each >= 0) least = Math.min(least, each);
  }
  return least;
}
