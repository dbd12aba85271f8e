/** Splitting a program by what changes, on both engines. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {add, input, mul, sum, unary} from '../../lib/graph/build.js';
import {hoist} from '../../lib/graph/hoist.js';
import {topological} from '../../lib/graph/node.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {compare, execute} from './agreement.js';
import {graphs} from '../graph/programs.js';

describe('hoist', () => {
  it('leaves nothing in `each` that depends on no changing input but views', () => {
    const [x, p] = [input('x', [4]), input('p', [4])];
    const stiffness = unary('softplus', p);
    const graph = {inputs: [x, p], outputs: [{name: 'f', node: mul(unary('sin', stiffness), add(x, sum(stiffness, [0])))}]};
    const {before, each} = hoist(graph, new Set(['x']));
    const left = topological(each.outputs.map(output => output.node)).map(node => node.op === 'unary' || node.op === 'sum');
    expect(left).to.not.include(true);
    expect(before.inputs).to.deep.equal([p]);
    expect(before.outputs.map(output => output.name)).to.deep.equal(['hoisted.0', 'hoisted.1']);
    expect(each.inputs.map(node => node.attributes.name)).to.deep.equal(['x', 'hoisted.0', 'hoisted.1']);
  });

  for (const engine of [interpreter, wasm]) {
    it(`gives the program's outputs when both parts run, whatever changes (${engine.name})`, () => {
      fc.assert(fc.property(graphs(8), fc.subarray(['x0', 'x1', 'x2']), fc.nat(1000), (graph, changing, seed) => {
        const whole = execute(engine, {main: graph}, seed);
        const {before, each} = hoist(graph, new Set(changing));
        const parts = engine.compile({before, each});
        for (const node of graph.inputs) parts.buffer(node.attributes.name).set(whole.buffer(node.attributes.name));
        parts.run('before');
        parts.run('each');
        for (const {name} of graph.outputs) compare(name, parts.buffer(name), whole.buffer(name), 'exact');
      }), {numRuns: 150});
    });
  }
});
