/** What an engine promises beside right values: shared buffers, outputs that change at once, no allocation. */
import {expect} from 'chai';
import fc from 'fast-check';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {interpreter} from '../../lib/engine/interpreter.js';
import {add, broadcastTo, constant, full, input, mul, reshape, scalar, scale, sub, sum, unary} from '../../lib/graph/build.js';
import type {Graph, Node, Op} from '../../lib/graph/node.js';
import {binaryNames, topological, unaryNames} from '../../lib/graph/node.js';
import {primitiveOf, primitives} from '../../lib/graph/primitives/index.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import type {Case} from '../graph/cases.js';
import {binaryCase, cases, unaryCase} from '../graph/cases.js';
import {Choices, draws, generator, runs} from '../graph/choices.js';
import {vectors} from '../graph/evaluate.js';
import {program, programDraws} from '../graph/programs.js';

const graph = (inputs: readonly Node<'input'>[], outputs: {readonly [name: string]: Node}): Graph => ({
  inputs,
  outputs: Object.entries(outputs).map(([name, node]) => ({name, node})),
});

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

  it('updates a value in place, and two by each other at once', () => {
    const [x, y] = [input('x', [2]), input('y', [2])];
    const executable = interpreter.compile({
      advance: graph([x], {x: scale(x, 2)}),
      exchange: graph([x, y], {x: y, y: x}),
      rotate: graph([x, y], {x: sub(scalar(0), y), y: x, old: x}),
      both: graph([x, y], {x: add(x, y), y: sub(x, y), same: reshape(x, [1, 2])}),
    });
    const buffer = (name: string): number[] => Array.from(executable.buffer(name));
    executable.buffer('x').set([1, 2]);
    executable.buffer('y').set([30, 40]);
    executable.run('advance');
    expect(buffer('x')).to.deep.equal([2, 4]);
    executable.run('exchange');
    expect([buffer('x'), buffer('y')]).to.deep.equal([[30, 40], [2, 4]]);
    executable.run('rotate');
    expect([buffer('x'), buffer('y'), buffer('old')]).to.deep.equal([[-2, -4], [30, 40], [30, 40]]);
    executable.run('both');
    expect([buffer('x'), buffer('y'), buffer('same')]).to.deep.equal([[28, 36], [-32, -44], [-2, -4]]);
  });

  it('hands values from one program to the next by name, and keeps its arrays for life', () => {
    const [x, z] = [input('x', [3]), input('z', [3])];
    const executable = interpreter.compile({first: graph([x], {z: unary('square', x)}), second: graph([z, x], {total: sum(mul(z, x), [0])})});
    const [bufferX, total] = [executable.buffer('x'), executable.buffer('total')];
    bufferX.set([1, 2, 3]);
    executable.run('first');
    executable.run('second');
    expect(total[0]).to.equal(36);
    expect(executable.buffer('total')).to.equal(total);
    expect(() => interpreter.compile({first: graph([x], {z: x}), second: graph([input('z', [2])], {})})).to.throw('buffer z is 3 numbers');
    expect(() => executable.buffer('w')).to.throw('no buffer is called w');
    expect(() => executable.run('third')).to.throw('no program is called third');
  });

  it('writes one value to several outputs, constants, and values nothing computes', () => {
    const x = input('x', [2]);
    const y = unary('exp', x);
    const table = constant(Float64Array.of(1, 2), [2]);
    const executable = interpreter.compile({run: graph([x], {a: y, b: y, c: reshape(y, [1, 2]), d: table, e: unary('neg', table), f: full(7, [2]), g: x, h: broadcastTo(sum(x, [0]), [2])})});
    executable.buffer('x').set([0, 1]);
    // What a program wrote may be overwritten by whoever holds the buffer, and is right again after the next run.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) executable.buffer(name).fill(NaN);
    executable.run('run');
    const found = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(name => [name, Array.from(executable.buffer(name))]));
    expect(found).to.deep.equal({a: [1, Math.E], b: [1, Math.E], c: [1, Math.E], d: [1, 2], e: [-1, -2], f: [7, 7], g: [0, 1], h: [1, 1]});
  });

  it('names an input that is missing from the graph\'s list', () => {
    expect(() => interpreter.compile({run: graph([], {y: unary('exp', input('x', [2]))})})).to.throw('is an input missing');
  });

  describe('allocates nothing while it runs', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
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
        // V8 keeps every intermediate number on the heap until it has compiled a loop, which takes it some thousand runs.
        let each = Infinity;
        for (let block = 0; block < 200 && each >= 12; block++) {
          collect();
          const before = process.memoryUsage().heapUsed;
          // So few that nothing is collected in between, so many that one number for each run would be seen.
          const count = 500;
          for (let i = 0; i < count; i++) executable.run('run');
          each = (process.memoryUsage().heapUsed - before) / count;
        }
        // A number on the heap takes 12 or 16 bytes; the measurement itself some thousand, once.
        expect(each, 'bytes for each run').to.be.below(12);
      });
    }
  });
});
