import {expect} from 'chai';
import fc from 'fast-check';
import {eliminate} from '../../lib/linear/elimination.js';
import {
  amd,
  bandwidth,
  type AdjacencyGraph,
  inverse,
  ordering,
  reverseCuthillMcKee,
  symmetricGraph,
} from '../../lib/linear/ordering.js';
import {nestedDissection} from '../../lib/linear/nested-dissection.js';
import {structureOf} from '../../lib/linear/structure.js';
import {supernodes} from '../../lib/linear/supernodes.js';
import {
  arrow,
  banded,
  fromEntries,
  grid,
  type Matrix,
  permuted,
  random,
  randomMatrix,
  saddle,
  shuffle,
} from './matrices.js';
import {elasticity} from './meshes.js';
import {pairedOrdering} from '../../lib/linear/kkt-ordering.js';
import {runs} from '../property.js';

const graphOf = (matrix: Matrix): AdjacencyGraph => symmetricGraph(matrix.pattern);

function neighbours({n, pointers, adjacent}: AdjacencyGraph): Set<number>[] {
  return Array.from({length: n}, (_, i) => new Set(adjacent.slice(pointers[i], pointers[i + 1])));
}

/** Entries below the diagonal, by playing the elimination with sets. */
function playElimination(graph: AdjacencyGraph, order: Int32Array): Int32Array {
  const sets = neighbours(graph);
  return order.map(i => {
    const around = [...sets[i]];
    for (const a of around) {
      sets[a].delete(i);
      for (const b of around) if (a !== b) sets[a].add(b);
    }
    return around.length;
  });
}

/** Exact minimum degree, the first of equals: what AMD approximates. */
function minimumDegree(graph: AdjacencyGraph): number {
  const sets = neighbours(graph);
  const left = new Set(sets.keys());
  let fill = 0;
  while (left.size > 0) {
    let best = -1;
    for (const i of left) if (best < 0 || sets[i].size < sets[best].size) best = i;
    left.delete(best);
    fill += sets[best].size;
    for (const a of sets[best]) {
      sets[a].delete(best);
      for (const b of sets[best]) if (a !== b) sets[a].add(b);
    }
  }
  return fill;
}

const sum = (counts: Int32Array): number => counts.reduce((a, b) => a + b, 0);

/** The path 0 − 1 − … − n−1. */
const path = (n: number): Matrix => banded(n, 1, 1, random(1), 4);

describe('linear: orderings', () => {
  it('AMD returns a permutation of any graph, also with dense rows and no edges at all', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 60}),
        fc.double({min: 0, max: 0.5, noNaN: true}),
        fc.integer(),
        (n, density, seed) => {
          const order = amd(graphOf(randomMatrix(n, density, random(seed))));
          expect([...order].sort((a, b) => a - b)).to.deep.equal([...order.keys()]);
        },
      ),
      runs(200),
    );
    expect([...amd(graphOf(arrow(400)))].pop()).to.equal(0);
  });

  it('AMD makes no fill where none is needed: paths, trees, arrows', () => {
    for (const n of [2, 10, 57]) expect(sum(playElimination(graphOf(path(n)), amd(graphOf(path(n)))))).to.equal(n - 1);
    for (const n of [5, 80]) expect(sum(playElimination(graphOf(arrow(n)), amd(graphOf(arrow(n)))))).to.equal(n - 1);
    fc.assert(
      fc.property(fc.integer({min: 2, max: 80}), fc.integer(), (n, seed) => {
        const next = random(seed);
        const edges = Array.from({length: n - 1}, (_, i) => [i + 1, Math.floor(next() * (i + 1)), 1] as const);
        const tree = graphOf(fromEntries(n, edges));
        expect(sum(playElimination(tree, amd(tree)))).to.equal(n - 1);
      }),
      runs(100),
    );
  });

  it('AMD fills a cycle with the n − 3 edges that it must have', () => {
    for (const n of [4, 11, 30]) {
      const cycle = graphOf(
        fromEntries(
          n,
          Array.from({length: n}, (_, i) => [i, (i + 1) % n, 1] as const),
        ),
      );
      expect(sum(playElimination(cycle, amd(cycle)))).to.equal(n + (n - 3));
    }
  });

  it('AMD stays near exact minimum degree on grids and random graphs', () => {
    // The paper reports approximate degrees to cost a few per cent of fill; ties alone move it by ten.
    for (const [k, l] of [
      [8, 8],
      [15, 15],
      [5, 40],
      [24, 24],
    ]) {
      const graph = graphOf(grid(k, l));
      expect(sum(playElimination(graph, amd(graph))) / minimumDegree(graph)).to.be.below(1.15);
    }
    let ratios = 0;
    for (let seed = 0; seed < 20; seed++) {
      const graph = graphOf(randomMatrix(60, 0.05, random(seed)));
      ratios += sum(playElimination(graph, amd(graph))) / minimumDegree(graph) / 20;
    }
    expect(ratios).to.be.below(1.05);
  });

  it('AMD has the fill of other programs on k × k grids', () => {
    // Entries of L with its diagonal from SuperLU in SciPy 1.17, MMD on A + Aᵀ, symmetric mode: by hand, once.
    for (const [k, mmd] of [
      [10, 630],
      [20, 3672],
      [30, 10098],
      [50, 35943],
    ] as const) {
      const graph = graphOf(grid(k));
      const entries = eliminate(graph, amd(graph)).below + k * k;
      // Its bounds of degrees cost three per cent at most; where overlaps of elements are not counted out they cost
      // six.
      expect(entries / mmd).to.be.within(0.85, 1.035);
    }
  });

  it('AMD is not led astray by the numbering: a shuffled grid fills as much, within ties', () => {
    const plain = graphOf(grid(20));
    const shuffled = graphOf(permuted(grid(20), shuffle(400, random(3))));
    const ratio = eliminate(shuffled, amd(shuffled)).below / eliminate(plain, amd(plain)).below;
    expect(ratio).to.be.within(0.85, 1.15);
  });

  it('nested dissection returns a permutation of any graph, also with parts, dense rows and no edges at all', () => {
    fc.assert(
      fc.property(fc.integer({min: 0, max: 300}), fc.integer({min: 0, max: 8}), fc.integer(), (n, density, seed) => {
        const graph = graphOf(randomMatrix(n, density / Math.max(1, n), random(seed)));
        expect([...nestedDissection(graph)].sort((a, b) => a - b)).to.deep.equal([...Array(n).keys()]);
      }),
      runs(25),
    );
    for (const matrix of [arrow(400), grid(25)])
      expect(new Set(nestedDissection(graphOf(matrix))).size).to.equal(matrix.pattern.n);
  });

  it('nested dissection has half the work of AMD on a mesh in space, and is taken for it there alone', () => {
    const matrix = elasticity([20, 10, 10]);
    const graph = graphOf(matrix);
    const dissected = eliminate(graph, nestedDissection(graph));
    expect(dissected.squares).to.be.below(0.7 * eliminate(graph, amd(graph)).squares);
    // A plane grid: n log₂ n · 31/4 entries (George 1973), and AMD has no more.
    const plane = graphOf(grid(60));
    expect(eliminate(plane, nestedDissection(plane)).below).to.be.below((31 / 4) * 3600 * Math.log2(60));
    const {pattern} = grid(60);
    expect(structureOf(pattern, 'auto').order).to.deep.equal(structureOf(pattern, 'amd').order);
  });

  it('the elimination tree counts what playing the elimination counts', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 40}),
        fc.double({min: 0, max: 0.3, noNaN: true}),
        fc.integer(),
        (n, density, seed) => {
          const graph = graphOf(randomMatrix(n, density, random(seed)));
          for (const name of ['amd', 'rcm', 'natural'] as const) {
            const {order, counts, below, squares} = eliminate(graph, ordering(graph, name));
            const played = playElimination(graph, order);
            expect([...counts]).to.deep.equal([...played]);
            expect(below).to.equal(sum(played));
            expect(squares).to.equal(played.reduce((total, c) => total + c * c, 0));
          }
        },
      ),
      runs(60),
    );
  });

  it('supernodes hold every entry of the factor, and few zeros more', () => {
    for (const matrix of [grid(12), path(30), arrow(30), randomMatrix(40, 0.1, random(2))]) {
      const graph = graphOf(matrix);
      const elimination = eliminate(graph, amd(graph));
      const nodes = supernodes(graph, elimination);
      let stored = 0;
      for (let s = 0; s < nodes.count; s++) {
        const height = nodes.rowPointers[s + 1] - nodes.rowPointers[s];
        for (let t = 0; t < nodes.first[s + 1] - nodes.first[s]; t++) {
          const entries = height - t;
          expect(entries).to.be.greaterThan(elimination.counts[nodes.first[s] + t]);
          stored += entries;
        }
      }
      // At most 40 % of a block are zeros.
      expect(stored).to.be.at.most((elimination.below + graph.n) / 0.6);
    }
  });

  it('RCM finds the path in a shuffled path: bandwidth 1', () => {
    for (const n of [2, 9, 100]) {
      const graph = graphOf(permuted(path(n), shuffle(n, random(n))));
      expect(bandwidth(graph, inverse(reverseCuthillMcKee(graph)))).to.equal(1);
    }
  });

  it('RCM finds the short side of a shuffled grid, and orders every component', () => {
    const graph = graphOf(permuted(grid(4, 30), shuffle(120, random(5))));
    // A k × l grid, k ≤ l, has bandwidth k (Chvátalová 1975); from a corner RCM may need one more.
    expect(bandwidth(graph, inverse(reverseCuthillMcKee(graph)))).to.be.within(4, 5);
    const parts = graphOf(
      fromEntries(9, [
        [0, 5, 1],
        [5, 8, 1],
        [1, 3, 1],
        [3, 7, 1],
      ]),
    );
    const order = reverseCuthillMcKee(parts);
    expect([...order].sort((a, b) => a - b)).to.deep.equal([...order.keys()]);
    expect(bandwidth(parts, inverse(order))).to.equal(1);
  });

  it('the order for KKT matrices puts a neighbour of its own before every multiplier', () => {
    fc.assert(
      fc.property(fc.integer({min: 2, max: 40}), fc.integer(), (n, seed) => {
        const next = random(seed);
        const m = 1 + Math.floor(next() * (n - 1));
        const {pattern} = permuted(saddle(n, m, next), shuffle(n + m, next));
        const graph = symmetricGraph(pattern);
        const order = pairedOrdering(pattern, graph, 'amd');
        const place = inverse(order);
        const sets = neighbours(graph);
        const hasDiagonal = (i: number): boolean =>
          pattern.columns.subarray(pattern.rowPointers[i], pattern.rowPointers[i + 1]).includes(i);
        const bare = [...order].filter(i => !hasDiagonal(i));
        expect(bare).to.have.length(m);
        for (const i of bare) {
          const partner = order[place[i] - 1];
          expect(hasDiagonal(partner)).to.equal(true);
          expect(sets[i].has(partner)).to.equal(true);
        }
      }),
      runs(60),
    );
  });
});
