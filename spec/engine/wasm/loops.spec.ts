/** How many loops a program takes, and what they store: passes over memory are what long vectors cost. */
import {expect} from 'chai';
import {add, concat, input, mul, neg, place, scale, slice, sub, unary, zeros} from '../../../lib/graph/build.js';
import type {Graph, Node} from '../../../lib/graph/node.js';
import {simplify} from '../../../lib/graph/simplify.js';
import {lower} from '../../../lib/engine/wasm/lower.js';
import {placeValues} from '../../../lib/engine/wasm/memory.js';
import {agree} from './agreement.js';

const n = 40;
const graphOf = (inputs: readonly Node<'input'>[], outputs: {readonly [name: string]: Node}): Graph =>
  simplify({inputs, outputs: Object.entries(outputs).map(([name, node]) => ({name, node}))});
const shifted = (x: Node): Node => concat([zeros([1]), slice(x, [0], [n - 1])], 0);
const loops = (graph: Graph): number => lower(graph).steps.length;

describe('wasm engine: loops', () => {
  const [x, y] = [input('x', [n]), input('y', [n])];

  it('that have nothing in common meet in one that reads both', () => {
    // Each read twice, so that it is stored; the third shares nothing with the fourth.
    const [a, b] = [unary('sin', x), unary('cos', y)];
    const both = graphOf([x, y], {p: mul(a, b), q: sub(add(a, b), mul(a, a)), r: mul(b, add(b, a))});
    expect(loops(both)).to.equal(1);
    agree(both, 1);
  });

  it('stay apart where one reads what the other computes at another point', () => {
    const a = unary('sin', x);
    const graph = graphOf([x], {p: sub(mul(a, a), shifted(a))});
    expect(loops(graph)).to.equal(2);
    agree(graph, 2);
  });

  it('compute a cheap value of one array where it is read, in however many ways', () => {
    const h = input('h', []);
    const a = unary('sin', x);
    const scaled = mul(a, neg(concat([zeros([1]), mul(add(h, zeros([n - 1])), zeros([n - 1]))], 0)));
    const graph = graphOf([x, h], {p: sub(scale(a, 3), shifted(scale(a, 3))), q: add(scaled, shifted(scale(a, 3)))});
    const lowered = lower(graph);
    // sin x, and the two results: nothing else is stored.
    expect([...new Set(lowered.steps.flatMap(step => [...step.writes]))]).to.have.length(3);
    agree(graph, 3);
  });

  it('compute a cheap value of two arrays where it is read, if these are wanted there anyway', () => {
    const a = unary('sin', x);
    const total = add(a, y);
    const stored = (graph: Graph): string[] =>
      lower(graph)
        .steps.flatMap(step => [...step.writes].map(({op}) => op))
        .sort();
    // The sine is stored and the sum of it is not; the sine for the sum alone is not, and the sum is.
    const shared = graphOf([x, y], {p: unary('cos', sub(mul(total, mul(a, y)), shifted(total)))});
    expect(stored(shared)).to.deep.equal(['unary', 'unary']);
    const own = graphOf([x, y], {p: unary('cos', sub(mul(total, total), shifted(total)))});
    expect(stored(own)).to.deep.equal(['binary', 'unary']);
    for (const graph of [shared, own]) agree(graph, 8);
  });

  it('are not kept apart by a scalar that is computed between them', () => {
    const h = input('h', []);
    const a = unary('sin', x);
    const loop = (factor: Node): number =>
      loops(graphOf([x, y, h], {p: sub(mul(a, a), y), q: mul(mul(a, add(a, y)), factor)}));
    const scalar = unary('sqrt', h);
    // One more, of one number.
    expect(loop(add(zeros([n]), scalar))).to.equal(loop(scale(y, 2)) + 1);
  });

  it('put the parts of a sum of placed values side by side, over what they are made from', () => {
    const cotangent = input('cotangent', [2 * n]);
    const [upper, lowerHalf] = [slice(cotangent, [0], [n]), slice(cotangent, [n], [n])];
    const graph = graphOf([cotangent, x], {
      cotangent: add(place(mul(lowerHalf, x), [n], [2 * n]), place(add(upper, shifted(x)), [0], [2 * n])),
    });
    expect(graph.outputs[0].node.op).to.equal('concat');
    expect([...placeValues(lower(graph)).direct.values()]).to.deep.equal(['cotangent']);
    agree(graph, 4);
    // The halves exchanged: at a point both are read before they are written.
    const exchanged = graphOf([cotangent, x], {cotangent: concat([mul(lowerHalf, x), add(upper, shifted(x))], 0)});
    expect([...placeValues(lower(exchanged)).direct.values()]).to.deep.equal(['cotangent']);
    agree(exchanged, 5);
    // A left neighbour would have been overwritten.
    const neighbours = graphOf([cotangent, x], {cotangent: concat([shifted(upper), mul(lowerHalf, x)], 0)});
    expect([...placeValues(lower(neighbours)).direct.values()]).to.deep.equal([]);
    agree(neighbours, 6);
  });

  it('leave sums of placed values that do not lie side by side as they are', () => {
    const [overlapping, gap] = [
      [0, n - 1],
      [0, n + 1],
    ].map(([first, second]) => add(place(x, [first], [3 * n]), place(y, [second], [3 * n])));
    for (const sum of [overlapping, gap]) {
      const graph = graphOf([x, y], {sum});
      expect(graph.outputs[0].node.op).to.equal('binary');
      agree(graph, 6);
    }
    const three = graphOf([x, y], {
      sum: add(place(x, [2 * n], [3 * n]), add(place(y, [n], [3 * n]), place(x, [0], [3 * n]))),
    });
    expect(three.outputs[0].node.op).to.equal('concat');
    expect(three.outputs[0].node.operands).to.have.length(3);
    agree(three, 7);
  });
});
