/** The plan of the memory: values that are alive at once never share room. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {
  add,
  concat,
  input,
  matMul,
  mul,
  place,
  reshape,
  scalar,
  scatter,
  slice,
  sub,
  unary,
} from '../../../lib/graph/build.js';
import type {Graph, Node} from '../../../lib/graph/node.js';
import {replaceNodes} from '../../../lib/graph/simplify.js';
import {link} from '../../../lib/engine/wasm/link.js';
import type {Step} from '../../../lib/engine/wasm/steps.js';
import type {Programs} from '../../../lib/engine/engine.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import {lower} from '../../../lib/engine/wasm/lower.js';
import {Region, ordinary, placeValues} from '../../../lib/engine/wasm/memory.js';
import {bare} from '../../../lib/engine/wasm/view.js';
import {wasm} from '../../../lib/engine/wasm/wasm.js';
import {agree, compare, execute} from './agreement.js';
import {graphs} from '../../graph/programs.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

describe('wasm engine: memory plan', () => {
  it('hands out blocks that never overlap and takes them back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({bytes: fc.integer({min: 1, max: 200}), give: fc.nat(20)}), {maxLength: 60}),
        list => {
          const region = new Region();
          const held: {at: number; bytes: number}[] = [];
          for (const {bytes, give} of list) {
            const at = region.take(bytes);
            expect(at % 16).to.equal(0);
            expect(at + bytes).to.be.at.most(region.size);
            for (const other of held)
              expect(at >= other.at + other.bytes || other.at >= at + bytes, 'apart').to.equal(true);
            held.push({at, bytes});
            if (give < held.length) for (const {at: from, bytes: room} of held.splice(give, 1)) region.give(from, room);
          }
        },
      ),
      runs(),
    );
  });

  slow('keeps values apart from the step that writes them to the last that reads them', () => {
    fc.assert(
      fc.property(graphs(12), graph => {
        const lowered = lower(graph);
        const {offsets, overwriting} = placeValues(lowered);
        const life = new Map<Node, {from: number; to: number}>();
        lowered.steps.forEach((step, i) => {
          for (const node of step.writes) if (!life.has(node)) life.set(node, {from: i, to: i});
          for (const node of [...step.reads, ...step.writes]) {
            const known = life.get(node);
            if (known !== undefined) known.to = i;
          }
        });
        for (const {node} of graph.outputs) {
          const known = life.get(bare(node));
          if (known !== undefined) known.to = lowered.steps.length;
        }
        const placed = [...offsets].map(([node, at]) => ({
          node,
          at,
          end: at + 8 * node.size,
          ...(life.get(node) ?? {from: 0, to: 0}),
        }));
        for (const a of placed) {
          for (const b of placed) {
            if (a === b || a.end <= b.at || b.end <= a.at || a.to < b.from || b.to < a.from) continue;
            // The one exception: a loop that writes a value where it reads, for the last time, another.
            const [first, second] = a.from <= b.from ? [a, b] : [b, a];
            expect(
              first.to === second.from && first.at === second.at && overwriting.has(lowered.steps[second.from]),
              'overwritten in place',
            ).to.equal(true);
          }
        }
      }),
      runs(200),
    );
  });

  /** A chain of n values: what a program needs at once does not grow with its length. */
  it('gives room back', () => {
    const x = input('x', [100]);
    let y: Node = x;
    // The shift by one keeps each value in a loop of its own.
    for (let i = 0; i < 50; i++) y = unary('sin', mul(y, add(concat([slice(y, [1], [99]), slice(y, [0], [1])], 0), y)));
    const graph: Graph = {inputs: [x], outputs: [{name: 'y', node: y}]};
    expect(placeValues(lower(graph)).size).to.be.at.most(3 * 800);
  });

  it('writes an update over its own input, and waits while the old value is still read', () => {
    const [z, d] = [input('z', [33]), input('d', [33])];
    const inPlace: Graph = {
      inputs: [z, d],
      outputs: [
        {name: 'z', node: sub(z, d)},
        {name: 'd', node: mul(z, d)},
      ],
    };
    const shifted: Graph = {
      inputs: [z, d],
      outputs: [
        {name: 'z', node: sub(d, concat([slice(z, [1], [32]), slice(z, [0], [1])], 0))},
        {name: 'd', node: mul(z, scalar(2))},
      ],
    };
    expect([...placeValues(lower(inPlace)).direct.values()].sort()).to.deep.equal(['d', 'z']);
    expect([...placeValues(lower(shifted)).direct.values()]).to.not.include('z');
    const several: readonly Programs[] = [{inPlace}, {shifted}, {inPlace, shifted}];
    for (const programs of several) {
      const [expected, actual] = [interpreter, wasm].map(engine => execute(engine, programs, 3));
      for (const name of ['z', 'd']) compare(name, actual.buffer(name), expected.buffer(name), 'exact');
    }
  });

  slow('agrees with the interpreter when outputs are inputs as well', () => {
    fc.assert(
      fc.property(graphs(8), fc.nat(1000), (graph, seed) => {
        const taken = new Set<string>();
        const outputs = graph.outputs.map(output => {
          const same = graph.inputs.find(node => node.size === output.node.size && !taken.has(node.attributes.name));
          if (same === undefined) return output;
          taken.add(same.attributes.name);
          return {name: same.attributes.name, node: output.node};
        });
        const programs = {main: {inputs: graph.inputs, outputs}};
        const [expected, actual] = [interpreter, wasm].map(engine => execute(engine, programs, seed));
        for (const {name} of outputs) compare(name, actual.buffer(name), expected.buffer(name), 'exact');
      }),
      runs(300),
    );
  });

  it('does not write a value over what it reads where it is zeroed first, turned round or a part', () => {
    const x = input('x', [7]);
    // Written to the very places that are read, among zeros: the transpose of a slice, of what the slice gave.
    const among = (begin: number, size: number, stride: number): Node =>
      place(unary('tanh', slice(x, [begin], [size], [stride])), [begin], [7], [stride]);
    const parts: readonly Node[] = [
      among(6, 6, -1),
      among(0, 4, 2),
      scatter(x, Int32Array.from([6, 5, 4, 3, 2, 1, -1]), [7]),
      concat([slice(x, [3], [4]), slice(x, [0], [3])], 0),
    ];
    for (const node of parts) {
      const over: Graph = {inputs: [x], outputs: [{name: 'x', node}]};
      expect(placeValues(lower(over)).direct.size).to.equal(0);
      const within: Graph = {
        inputs: [x],
        outputs: [{name: 'y', node: add(replaceNodes([node], new Map([[x, unary('square', x)]]))[0], x)}],
      };
      for (const main of [over, within]) agree(main, 5);
    }
  });

  it('poisoned for tests: dead values are NaN, and a value read before it is written shows', () => {
    const x = input('x', [9]);
    const first = unary('tanh', x);
    const graph: Graph = {
      inputs: [x],
      outputs: [{name: 'y', node: matMul(reshape(first, [1, 3, 3]), reshape(first, [1, 3, 3]))}],
    };
    const lowered = lower(graph);
    expect(lowered.steps.length).to.equal(2);
    const run = (steps: readonly Step[], poisoned: boolean): {y: Float64Array; region: Float64Array} => {
      const {bytes, layout} = link(
        new Map([['main', {...lowered, steps}]]),
        new Map([
          ['x', 9],
          ['y', 9],
        ]),
        {...ordinary, poisoned},
      );
      const memory = new WebAssembly.Memory({initial: layout.pages, maximum: layout.pages});
      const math = Object.fromEntries(layout.calls.map(fn => [fn, Math.tanh]));
      const {exports} = new WebAssembly.Instance(new WebAssembly.Module(bytes), {env: {memory}, math});
      for (const {address, values} of layout.data) new Float64Array(memory.buffer, address, values.length).set(values);
      const buffer = (name: string): Float64Array =>
        new Float64Array(memory.buffer, layout.buffers.get(name)?.address, 9);
      buffer('x').fill(0.5);
      (exports['p0'] as () => void)();
      // The region lies behind the buffers, each of 80 bytes.
      return {y: buffer('y'), region: new Float64Array(memory.buffer, (layout.buffers.get('y')?.address ?? 0) + 80, 9)};
    };
    const right = run(lowered.steps, true);
    for (const value of right.y) expect(value).to.be.closeTo(3 * Math.tanh(0.5) ** 2, 1e-15);
    expect([...right.region].every(Number.isNaN)).to.equal(true);
    const early = [...lowered.steps].reverse();
    expect([...run(early, true).y].every(Number.isNaN)).to.equal(true);
    expect([...run(early, false).y].some(Number.isNaN)).to.equal(false);
  });

  it('never written in place, every value has room of its own while it is read', () => {
    const [z, d] = [input('z', [33]), input('d', [33])];
    const graph: Graph = {inputs: [z, d], outputs: [{name: 'z', node: sub(z, d)}]};
    const {direct, overwriting} = placeValues(lower(graph), {inPlace: false});
    expect([direct.size, overwriting.size]).to.deep.equal([0, 0]);
  });
});
