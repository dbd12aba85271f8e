/** Splitting a program by what changes, on both engines. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {add, broadcastTo, concat, input, mul, reshape, slice, sum, transpose, unary} from '../../lib/graph/build.js';
import {hoist} from '../../lib/graph/hoist.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {compare, execute} from '../engine/wasm/agreement.js';
import {graphs} from './programs.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

describe('hoist', () => {
  it('leaves nothing in `each` that depends on no changing input but views', () => {
    const [x, p] = [input('x', [4]), input('p', [4])];
    const stiffness = unary('softplus', p);
    const graph = {
      inputs: [x, p],
      outputs: [{name: 'f', node: mul(unary('sin', stiffness), add(x, sum(stiffness, [0])))}],
    };
    const {before, each} = hoist(graph, new Set(['x']));
    const left = topological(each.outputs.map(output => output.node)).map(
      node => node.op === 'unary' || node.op === 'sum',
    );
    expect(left).to.not.include(true);
    expect(before.inputs).to.deep.equal([p]);
    expect(before.outputs.map(output => output.name)).to.deep.equal(['hoisted.0', 'hoisted.1']);
    expect(each.inputs.map(node => node.attributes.name)).to.deep.equal(['x', 'hoisted.0', 'hoisted.1']);
  });

  it('keeps the least of what does not change', () => {
    const [x, p, c] = [input('x', [2, 3]), input('p', [3, 2]), input('c', [])];
    const q = unary('softplus', p);
    const one = unary('softplus', c);
    const between = (...parts: readonly Node[]): Node[] => {
      const outputs = parts.map((part, i) => ({name: `f${i}`, node: mul(x, part)}));
      const {before, each} = hoist({inputs: [x, p, c], outputs}, new Set(['x']));
      // Whatever is not kept is computed from what was given or kept.
      expect(topological(each.outputs.map(({node}) => node)).some(({op}) => op === 'unary')).to.equal(false);
      return before.outputs.map(({node}) => node);
    };
    const row = (of: Node): Node => slice(of, [1, 0], [1, 2]);
    // Shapes only, of p and of a number: no buffer.
    expect(
      between(
        reshape(p, [2, 3]),
        transpose(p, [1, 0]),
        broadcastTo(c, [2, 3]),
        broadcastTo(reshape(transpose(row(p), [1, 0]), [2, 1]), [2, 3]),
      ),
    ).to.deep.equal([]);
    expect(between(broadcastTo(one, [2, 3]), broadcastTo(reshape(one, [1, 1]), [2, 3]))).to.deep.equal([one]);
    expect(between(reshape(q, [2, 3]))).to.deep.equal([q]);
    // Neighbours in memory for the loop that reads them.
    const turned = transpose(q, [1, 0]);
    const part = reshape(row(q), [2, 1]);
    expect(between(turned)).to.deep.equal([turned]);
    expect(between(broadcastTo(part, [2, 3]))).to.deep.equal([part.operands[0]]);
    // What is computed of a view is a value.
    const joined = concat([row(p), row(p), row(p)], 1);
    expect(between(reshape(joined, [2, 3]))).to.deep.equal([joined]);
  });

  for (const engine of [interpreter, wasm]) {
    slow(`gives the program's outputs when both parts run, whatever changes (${engine.name})`, () => {
      fc.assert(
        fc.property(graphs(8), fc.subarray(['x0', 'x1', 'x2']), fc.nat(1000), (graph, changing, seed) => {
          const whole = execute(engine, {main: graph}, seed);
          const {before, each} = hoist(graph, new Set(changing));
          const parts = engine.compile({before, each});
          for (const node of graph.inputs) parts.buffer(node.attributes.name).set(whole.buffer(node.attributes.name));
          parts.run('before');
          parts.run('each');
          for (const {name} of graph.outputs) compare(name, parts.buffer(name), whole.buffer(name), 'exact');
        }),
        runs(150),
      );
    });
  }
});
