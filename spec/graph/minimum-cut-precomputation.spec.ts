/** What is computed ahead is the cheapest choice: compared with all choices tried one by one. */
import {expect} from 'chai';
import fc from 'fast-check';
import {readPrecomputed, addOutputs, minimumCutPrecomputation} from '../../lib/graph/minimum-cut-precomputation.js';
import {add, broadcastTo, constant, input, mul, slice, unary} from '../../lib/graph/build.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {workOf} from '../../lib/graph/work.js';
import {graphOf} from '../../lib/step/buffers.js';
import {runs} from '../property.js';

const changing = new Set(['z']);
const prices = {runs: 1, store: ({size}: Node): number => 3 * size};

/**
 * What a run pays where exactly these values are stored: their price, and the work of every steady value that is
 * then still computed in it.
 */
function cost(outputs: readonly Node[], steady: ReadonlySet<Node>, stored: ReadonlySet<Node>): number {
  let total = 0;
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (stored.has(node)) {
      total += prices.store(node);
      return;
    }
    if (steady.has(node)) total += workOf(node);
    node.operands.forEach(visit);
  };
  outputs.forEach(visit);
  return total;
}

describe('ahead', () => {
  const [x, z] = [input('x', [4]), input('z', [4])];

  it('takes what is dear, and leaves what is not', () => {
    const dear = unary('exp', mul(x, x));
    const cheap = add(x, x);
    expect(minimumCutPrecomputation([add(mul(dear, z), mul(cheap, z))], changing, prices)).to.deep.equal({
      values: [dear],
      saved: 4 * (21 - 3),
    });
    expect(minimumCutPrecomputation([mul(cheap, z)], changing, prices)).to.deep.equal({values: [], saved: 0});
  });

  it('stores a value where it is narrowest: before a repetition, after a part is taken', () => {
    const wide = broadcastTo(unary('exp', slice(x, [0], [1])), [4]);
    expect(minimumCutPrecomputation([mul(wide, z)], changing, prices).values.map(({shape}) => shape)).to.deep.equal([
      [1],
    ]);
    const part = slice(unary('exp', x), [1], [2]);
    const narrow = mul(part, slice(z, [0], [2]));
    expect(minimumCutPrecomputation([narrow], changing, prices).values).to.deep.equal([part]);
  });

  it('stores nothing of what no input changes, nor of what is given', () => {
    const known = unary('exp', constant(Float64Array.of(1, 2, 3, 4), [4]));
    expect(
      minimumCutPrecomputation([mul(known, z), mul(slice(x, [2], [1]), slice(z, [0], [1]))], changing, prices),
    ).to.deep.equal({
      values: [],
      saved: 0,
    });
  });

  it('is the cheapest of all choices', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('exp', 'neg', 'add', 'mul', 'part', 'repeat'), fc.nat(), fc.nat()), {
          minLength: 3,
          maxLength: 9,
        }),
        terms => {
          const nodes: Node[] = [x, z];
          const at = (i: number): Node => nodes[i % nodes.length];
          const grown = (node: Node): Node => (node.size === 4 ? node : broadcastTo(slice(node, [0], [1]), [4]));
          for (const [kind, i, j] of terms) {
            const [a, b] = [at(i), at(j)];
            if (kind === 'exp' || kind === 'neg') nodes.push(unary(kind, a));
            else if (kind === 'part') nodes.push(slice(a, [0], [1]));
            else if (kind === 'repeat') nodes.push(grown(a));
            else nodes.push((kind === 'add' ? add : mul)(grown(a), grown(b)));
          }
          const outputs = nodes.slice(-2).map(node => mul(grown(node), z));
          const order = topological(outputs);
          const changes = new Set<Node>();
          for (const node of order)
            if (node === z || node.operands.some(operand => changes.has(operand))) changes.add(node);
          const steady = order.filter(node => !changes.has(node) && node.op !== 'input');
          if (steady.length > 10) return;
          const none = cost(outputs, new Set(steady), new Set());
          let least = none;
          for (let bits = 0; bits < 2 ** steady.length; bits++) {
            least = Math.min(
              least,
              cost(outputs, new Set(steady), new Set(steady.filter((_, k) => (bits >> k) % 2 === 1))),
            );
          }
          const {values, saved} = minimumCutPrecomputation(outputs, changing, prices);
          expect(cost(outputs, new Set(steady), new Set(values))).to.equal(least);
          expect(none - saved).to.equal(least);
        },
      ),
      runs(300),
    );
  });

  it('splits a program in two by names', () => {
    const dear = unary('exp', x);
    const graph = graphOf({R: mul(dear, z)});
    const value = graph.outputs[0].node.operands[0];
    const buffer = input('ahead', [4]);
    const reading = readPrecomputed(graph, new Map([[value, buffer]]));
    expect(reading.inputs.map(({attributes: {name}}) => name)).to.have.members(['ahead', 'z']);
    expect(addOutputs({inputs: [], outputs: []}, new Map([[value, buffer]]))).to.deep.equal({
      inputs: [x],
      outputs: [{name: 'ahead', node: value}],
    });
  });
});
