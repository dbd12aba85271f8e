/** Steps over one long axis, taken for some rows at a time: the same bits in less memory. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {
  add,
  concat,
  constant,
  gather,
  input,
  matMul,
  mul,
  reshape,
  scatter,
  sum,
  unary,
} from '../../../lib/graph/build.js';
import type {Graph, Node} from '../../../lib/graph/node.js';
import {lower} from '../../../lib/engine/wasm/lower.js';
import {ordinary, placeValues} from '../../../lib/engine/wasm/memory.js';
import type {TiledSteps} from '../../../lib/engine/wasm/steps.js';
import {treatMemory} from '../../../lib/engine/wasm/wasm.js';
import {graphs} from '../../graph/programs.js';
import {runs} from '../../property.js';
import {agree} from './agreement.js';

/** Bars of a chain: gathered ends, products of matrices for each, sums within each, scattered and put into blocks. */
function bars(count: number): Graph {
  const x = input('x', [count + 1, 2]);
  const metric = input('metric', [count, 2, 2]);
  const ends = Int32Array.from({length: 4 * count}, (_, i) => 2 * Math.floor(i / 4) + (i % 4));
  const pairs = gather(x, ends, [count, 2, 2]);
  const turned = matMul(unary('sin', pairs), metric);
  const squares = matMul(turned, turned, true, false);
  const energy = sum(mul(squares, squares), [1, 2]);
  const weights = reshape(unary('exp', unary('neg', energy)), [count, 1, 1]);
  const forces = mul(turned, weights);
  const parts = concat([mul(forces, squares), add(forces, squares)], 1);
  return {
    inputs: [x, metric],
    outputs: [
      {name: 'force', node: scatter(reshape(forces, [4 * count]), ends, [count + 1, 2])},
      {name: 'energy', node: energy},
      {name: 'parts', node: sum(parts, [2])},
      {name: 'both', node: twoParts(forces, ends, count)},
      {name: 'read', node: unary('sin', scatter(reshape(forces, [4 * count]), backwards(4 * count), [count, 2, 2]))},
    ],
  };
}

/** A row that is complete only when all have been added. */
function backwards(size: number): Int32Array {
  return Int32Array.from({length: size}, (_, i) => size - 1 - i);
}

/** What is put together to be scattered: numbers of no row, then those of the rows. */
function twoParts(forces: Node, ends: Int32Array, count: number): Node {
  const first = constant(Float64Array.of(1, 2, 3), [3]);
  const all = concat([first, reshape(forces, [4 * count])], 0);
  return scatter(all, Int32Array.from([0, 1, 0, ...ends]), [2 * count + 2]);
}

function tilesOf(graph: Graph, limits = ordinary.tiles): TiledSteps[] {
  return lower(graph, false, limits).steps.filter((step): step is TiledSteps => step.kind === 'tiles');
}

const small = {leastSaved: 1, tileBytes: 1, fewestRows: 2, mostRows: 4, shortestAxis: 2};

describe('wasm engine: tiles', () => {
  for (const count of [30000, 30011])
    it(`have the bits of whole arrays, ${count} rows`, () => {
      const graph = bars(count);
      const [tiles, ...others] = tilesOf(graph);
      expect(others).to.deep.equal([]);
      expect(tiles.rows).to.equal(count);
      expect(count % tiles.atOnce === 0).to.equal(count === 30000);
      agree(graph, 3);
    });

  it('need memory for the rows of a tile alone', () => {
    const whole = {...ordinary.tiles, leastSaved: Infinity};
    const bytes = (count: number, limits = ordinary.tiles): number => {
      const {inputs, outputs} = bars(count);
      const graph = {inputs, outputs: outputs.filter(({name}) => name !== 'read')};
      return placeValues(lower(graph, false, limits)).size;
    };
    expect(bytes(60000)).to.equal(bytes(30000));
    expect(bytes(30000)).to.be.at.most(ordinary.tiles.tileBytes);
    expect(bytes(30000, whole)).to.be.greaterThan(8 * 10 * 30000);
  });

  it('are not made where little memory would be saved', () => {
    expect(tilesOf(bars(300))).to.deep.equal([]);
    expect(tilesOf(bars(300), small)).to.have.length(1);
  });

  it('have the bits of whole arrays in random programs', () => {
    treatMemory({tiles: small});
    try {
      fc.assert(
        fc.property(graphs(10), fc.nat(1000), (graph, seed) => agree(graph, seed)),
        runs(),
      );
    } finally {
      treatMemory({});
    }
  });
});
