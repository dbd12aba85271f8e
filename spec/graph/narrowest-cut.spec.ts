import {expect} from 'chai';
import fc from 'fast-check';
import {add, concat, input, slice, unary} from '../../lib/graph/build.js';
import {minimumCutPrecomputation} from '../../lib/graph/minimum-cut-precomputation.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const total = (nodes: readonly Node[]): number => nodes.reduce((sum, node) => sum + node.size, 0);

/** No way leads from a source to what is asked for but through the cut. */
function separates(cut: ReadonlySet<Node>, outputs: readonly Node[], sources: readonly Node[], later: Node): boolean {
  const behind = new Set<Node>();
  const open = new Set<Node>();
  for (const node of topological(outputs)) {
    if (node === later || node.operands.some(operand => behind.has(operand))) behind.add(node);
    if (!cut.has(node) && (sources.includes(node) || node.operands.some(operand => open.has(operand)))) open.add(node);
  }
  // What depends on the later input is computed after the cut; of the cut's own nodes none does.
  return !outputs.some(node => open.has(node)) && ![...cut].some(node => behind.has(node));
}

/** A random program over two sources, a parameter and an input that comes later. */
function program(choices: readonly number[]): {outputs: Node[]; sources: Node[]; later: Node} {
  const sources = [input('x', [4]), input('z', [2])];
  const later = input('w', [2]);
  const nodes: Node[] = [...sources, input('p', [2]), later];
  const pick = (choice: number): Node => nodes[choice % nodes.length];
  for (let i = 0; i + 2 < choices.length; i += 3) {
    const [a, b] = [pick(choices[i + 1]), pick(choices[i + 2])];
    const kind = choices[i] % 4;
    if (kind === 0) nodes.push(unary('sin', a));
    else if (kind === 1 && a.size > 1) nodes.push(slice(a, [0], [a.size >> 1]));
    else if (kind === 2 && a.size + b.size <= 8) nodes.push(concat([a, b], 0));
    else if (a.size === b.size) nodes.push(add(unary('cos', a), b));
  }
  return {outputs: nodes.slice(-2), sources, later};
}

/** Where computing costs nothing, what is worth keeping of the sources is the fewest numbers. */
const narrowestCut = (outputs: readonly Node[], past: readonly Node[], later: readonly string[]): readonly Node[] =>
  minimumCutPrecomputation(outputs, new Set(later), {runs: 1, store: ({size}) => size, work: () => 0, past}).values;

describe('graph: the fewest numbers to keep', () => {
  slow('is as small as the best of all cuts, and a cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), {minLength: 6, maxLength: 30}), choices => {
        const {outputs, sources, later} = program(choices);
        const found = narrowestCut(outputs, sources, ['w']);
        expect(separates(new Set(found), outputs, sources, later)).to.equal(true);
        const nodes = topological(outputs);
        let best = Infinity;
        for (let mask = 0; mask < 2 ** nodes.length; mask++) {
          const cut = nodes.filter((_, i) => (mask >> i) % 2 === 1);
          if (total(cut) < best && separates(new Set(cut), outputs, sources, later)) best = total(cut);
        }
        expect(total(found)).to.equal(best);
      }),
      runs(300),
    );
  });

  it('lies as near the outputs as it may', () => {
    const x = input('x', [3]);
    const middle = unary('sin', x);
    const end = unary('exp', middle);
    expect(narrowestCut([end], [x], [])).to.deep.equal([end]);
    const later = input('w', [3]);
    expect(narrowestCut([add(end, later)], [x], ['w'])).to.deep.equal([end]);
  });

  it('is empty where nothing depends on the sources', () => {
    const [x, p] = [input('x', [3]), input('p', [3])];
    expect(narrowestCut([unary('sin', p)], [x], [])).to.deep.equal([]);
  });
});
