/** Explicit pairs: their conditions of order, between the ends of a step too, and what a step makes of their weights. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {dopri5, ode, simulate, tsit5} from '../../lib/index.js';
import type {ExplicitPair} from '../../lib/scheme/explicit-pairs.js';
import {dormandPrince, tsitouras} from '../../lib/scheme/explicit-pairs.js';

/** A rooted tree as the trees that hang from its root. */
type Tree = readonly Tree[];
const leaf: Tree = [];
const size = (tree: Tree): number => tree.reduce((sum, branch) => sum + size(branch), 1);
/** γ: the product over all nodes of the sizes of what hangs from them. */
const density = (tree: Tree): number => tree.reduce((product, branch) => product * density(branch), size(tree));

/** All trees of up to `most` nodes: a root, and branches chosen among the smaller trees, their numbers not ascending. */
function treesUpTo(most: number): Tree[] {
  const all: Tree[] = [];
  const choose = (nodes: number, below: number): Tree[] =>
    nodes === 0
      ? [leaf]
      : all
          .slice(0, below)
          .flatMap((branch, i) =>
            size(branch) > nodes ? [] : choose(nodes - size(branch), i + 1).map(others => [branch, ...others]),
          );
  for (let n = 1; n <= most; n++) all.push(...choose(n - 1, all.length));
  return all;
}

/** Of each stage, the product over the branches of A times theirs; its weighted sum is the tree's elementary weight. */
function stageWeights(a: ExplicitPair['a'], tree: Tree): number[] {
  return tree.reduce<number[]>(
    (product, branch) => {
      const inner = stageWeights(a, branch);
      return product.map((value, i) => value * a[i].reduce((sum, weight, j) => sum + weight * inner[j], 0));
    },
    a.map(() => 1),
  );
}
const elementary = ({a}: ExplicitPair, weights: readonly number[], tree: Tree): number => {
  const phi = stageWeights(a, tree);
  return weights.reduce((sum, weight, i) => sum + weight * phi[i], 0);
};

describe('explicit pairs', () => {
  const trees = treesUpTo(6);

  it('as many rooted trees as there are (Butcher): 1, 1, 2, 4, 9, 20', () => {
    expect([1, 2, 3, 4, 5, 6].map(n => trees.filter(tree => size(tree) === n).length)).to.deep.equal([
      1, 1, 2, 4, 9, 20,
    ]);
  });

  for (const pair of [dormandPrince, tsitouras]) {
    const {name, a, b, c, error, between} = pair;
    // Weights up to 50 in products of five, in doubles of 1e-16.
    const rounding = 2e-14;

    it(`${name}: the conditions of order 5 for b, of order 4 for the embedded weights, and no more`, () => {
      for (const tree of trees) {
        const wanted = 1 / density(tree);
        if (size(tree) <= 5) expect(elementary(pair, b, tree)).to.be.closeTo(wanted, rounding);
        if (size(tree) <= 4) expect(elementary(pair, error, tree)).to.be.closeTo(0, rounding);
      }
      expect(Math.max(...trees.map(tree => Math.abs(elementary(pair, b, tree) - 1 / density(tree))))).to.be.above(1e-4);
      expect(
        Math.max(...trees.filter(tree => size(tree) === 5).map(tree => Math.abs(elementary(pair, error, tree)))),
      ).to.be.above(1e-5);
    });

    it(`${name}: rows sum up to c, and the last stage is the end of the step`, () => {
      a.forEach((row, i) => expect(row.reduce((sum, weight) => sum + weight, 0)).to.be.closeTo(c[i], 1e-14));
      expect(a[a.length - 1]).to.deep.equal(b);
      expect([b[b.length - 1], c[c.length - 1]]).to.deep.equal([0, 1]);
    });

    it(`${name}: between the ends, the conditions of order 4 at every place`, () => {
      // Weights of the cubic by slopes k₁, k₇ and the gain Σ bᵢkᵢ, and of the quartic.
      const at = (theta: number): number[] =>
        b.map((weight, i) => {
          const [first, last] = [i === 0 ? 1 : 0, i === b.length - 1 ? 1 : 0];
          return (
            theta * theta * (3 - 2 * theta) * weight
            + theta * (1 - theta) ** 2 * first
            - theta ** 2 * (1 - theta) * last
            + (theta * (1 - theta)) ** 2 * between[i]
          );
        });
      for (const theta of [0.1, 0.37, 0.5, 0.82]) {
        for (const tree of trees.filter(one => size(one) <= 4)) {
          expect(elementary(pair, at(theta), tree)).to.be.closeTo(theta ** size(tree) / density(tree), rounding);
        }
      }
    });
  }

  // Hairer & Wanner, Solving ODEs II, §IV.2, (2.12).
  it('dopri5 has the stability function 1 + z + … + z⁵/120 + z⁶/600', () => {
    const growth = ode(({y, params}) => tf.mul(y, params.z as tf.Tensor));
    for (const z of [-3, -0.5, 0.7]) {
      const path = simulate(growth, {y: 1}, {scheme: dopri5(), dt: 1, steps: 1, params: {z}});
      path.dispose();
      expect(path.values('y')[1]).to.be.closeTo(
        [1, 1, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 600].reduceRight((sum, coefficient) => sum * z + coefficient, 0),
        1e-13,
      );
    }
  });

  it('tsit5 has the weights that its author prints between the ends', () => {
    // The free interpolant of §4: b₁(θ) = −1.0530884977290216 θ (θ − 1.3299890189751412)(θ² − 1.4364028541716351 θ + 0.7139816917074209), y' = f(t) with f = 1 at the first stage alone.
    const printed = [
      (s: number) =>
        -1.0530884977290216 * s * (s - 1.3299890189751412) * (s * s - 1.4364028541716351 * s + 0.7139816917074209),
      (s: number) => 0.1017 * s * s * (s * s - 2.1966568338249754 * s + 1.2949852507374631),
      (s: number) => 2.490627285651252793 * s * s * (s * s - 2.38535645472061657 * s + 1.57803468208092486),
      (s: number) => -16.54810288924490272 * (s - 1.21712927295533244) * (s - 0.61620406037800089) * s * s,
      (s: number) => 47.37952196281928122 * (s - 1.203071208372362603) * (s - 0.658047292653547382) * s * s,
    ];
    // A right-hand side that is 1 about one stage's time and 0 at the others takes its weight out; the last two share their time.
    const places = [0.05, 0.31, 0.5, 0.77, 0.93];
    printed.forEach((weight, i) => {
      const pulse = ode(({y, t}) =>
        tf.add(tf.mul(y, 0), tf.cast(tf.less(tf.abs(tf.sub(t, tsitouras.c[i])), 1e-3), 'float32')),
      );
      const path = simulate(pulse, {y: 0}, {scheme: tsit5(), dt: 1, steps: 1, saveAt: places, switches: 'ignore'});
      path.dispose();
      path.values('y').forEach((value, k) => expect(value).to.be.closeTo(weight(places[k]), 1e-13));
    });
  });
});
