/** The plan of the memory: values that are alive at once never share room. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {add, concat, input, mul, scalar, slice, sub, unary} from '../../lib/graph/build.js';
import type {Graph, Node} from '../../lib/graph/node.js';
import type {Programs} from '../../lib/engine/engine.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {lower} from '../../lib/engine/wasm/lower.js';
import {Region, placeValues} from '../../lib/engine/wasm/memory.js';
import {bare} from '../../lib/engine/wasm/view.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {compare, execute} from './agreement.js';
import {buildProgram, steps} from './random-programs.js';

describe('wasm engine: memory plan', () => {
  it('hands out blocks that never overlap and takes them back', () => {
    fc.assert(fc.property(fc.array(fc.record({bytes: fc.integer({min: 1, max: 200}), give: fc.nat(20)}), {maxLength: 60}), list => {
      const region = new Region();
      const held: {at: number; bytes: number}[] = [];
      for (const {bytes, give} of list) {
        const at = region.take(bytes);
        expect(at % 16).to.equal(0);
        expect(at + bytes).to.be.at.most(region.size);
        for (const other of held) expect(at >= other.at + other.bytes || other.at >= at + bytes, 'apart').to.equal(true);
        held.push({at, bytes});
        if (give < held.length) for (const {at: from, bytes: room} of held.splice(give, 1)) region.give(from, room);
      }
    }));
  });

  it('keeps values apart from the step that writes them to the last that reads them', () => {
    fc.assert(fc.property(steps(20), list => {
      const graph = buildProgram(list);
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
      const placed = [...offsets].map(([node, at]) => ({node, at, end: at + 8 * node.size, ...life.get(node) ?? {from: 0, to: 0}}));
      for (const a of placed) {
        for (const b of placed) {
          if (a === b || a.end <= b.at || b.end <= a.at || a.to < b.from || b.to < a.from) continue;
          // The one exception: a loop that writes a value where it reads, for the last time, another.
          const [first, second] = a.from <= b.from ? [a, b] : [b, a];
          expect(first.to === second.from && first.at === second.at && overwriting.has(lowered.steps[second.from]), 'overwritten in place').to.equal(true);
        }
      }
    }), {numRuns: 200});
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
    const inPlace: Graph = {inputs: [z, d], outputs: [{name: 'z', node: sub(z, d)}, {name: 'd', node: mul(z, d)}]};
    const shifted: Graph = {inputs: [z, d], outputs: [{name: 'z', node: sub(d, concat([slice(z, [1], [32]), slice(z, [0], [1])], 0))}, {name: 'd', node: mul(z, scalar(2))}]};
    expect([...placeValues(lower(inPlace)).direct.values()].sort()).to.deep.equal(['d', 'z']);
    expect([...placeValues(lower(shifted)).direct.values()]).to.not.include('z');
    const several: readonly Programs[] = [{inPlace}, {shifted}, {inPlace, shifted}];
    for (const programs of several) {
      const [expected, actual] = [interpreter, wasm].map(engine => execute(engine, programs, 3));
      for (const name of ['z', 'd']) compare(name, actual.buffer(name), expected.buffer(name), 'exact');
    }
  });

  it('agrees with the interpreter when outputs are inputs as well', () => {
    fc.assert(fc.property(steps(12), fc.nat(1000), (list, seed) => {
      const graph = buildProgram(list);
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
    }), {numRuns: 300});
  });
});
