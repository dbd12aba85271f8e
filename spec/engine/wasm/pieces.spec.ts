/** Results that join a nest which is built already: the same expressions as where all are built together. */
import {expect} from 'chai';
import {children, type Expression} from '../../../lib/engine/wasm/expression.js';
import {nestsOf, type Root} from '../../../lib/engine/wasm/nest.js';
import {buildPieces, type BuiltPiece} from '../../../lib/engine/wasm/pieces.js';
import {Views} from '../../../lib/engine/wasm/view-cache.js';
import {concat, input, mul, slice, unary} from '../../../lib/graph/build.js';
import type {Node} from '../../../lib/graph/node.js';

const x = input('x', [6]);
const y = input('y', [6]);
const a = unary('sin', x);
const b = mul(unary('cos', a), y);
/** Of two parts: its points are cut between them. */
const parts = concat([slice(x, [0], [2]), slice(a, [2], [4])], 0);
const joined = unary('exp', parts);

const c = unary('cos', y);

const stored = new Set<Node>([x, y, a, b, c, joined]);
const isStored = (node: Node): boolean => stored.has(node);
const rootsOf = (node: Node): readonly Root[] => nestsOf(node)[0].roots;

function built(...nodes: Node[]): BuiltPiece {
  const nest = {axes: [{size: 6, cuts: []}], roots: nodes.flatMap(rootsOf), flat: true};
  const found = buildPieces(nest, isStored, new Views());
  if ('store' in found) throw new Error('the nest cannot be built');
  return found;
}

function text(e: Expression): string {
  const own = e.kind === 'load' ? `${e.of === a ? 'sin' : e.of === x ? 'x' : 'y'}@${e.access.offset}` : e.kind;
  return `${own}${'fn' in e ? `.${e.fn}` : ''}(${children(e).map(text).join()})`;
}

const texts = ({pieces}: BuiltPiece): string[][] =>
  pieces.map(({assignments}) => assignments.map(({value}) => text(value)));

describe('a nest that is built', () => {
  it('is extended to what it is where all results are built together', () => {
    const extended = built(a).extended(rootsOf(b));
    expect(extended && texts(extended)).to.deep.equal(texts(built(a, b)));
    // The sine is not read from memory, where it is not yet.
    expect(texts(built(a, b))).to.deep.equal([['unary.sin(x@0())', 'binary.mul(unary.cos(unary.sin(x@0())),y@0())']]);
  });

  it('refuses what asks for other cuts, and is then as it was', () => {
    const first = built(a);
    expect(first.extended(rootsOf(joined))).to.equal(undefined);
    const extended = first.extended(rootsOf(b));
    expect(extended && texts(extended)).to.deep.equal(texts(built(a, b)));
  });

  it('takes what fits into its cuts, and no value that it reads from memory', () => {
    const first = built(joined);
    expect(first.extended(rootsOf(a))).to.equal(undefined);
    const extended = first.extended(rootsOf(c));
    expect(extended?.pieces.map(({sizes}) => sizes)).to.deep.equal([[2], [4]]);
    expect(extended && texts(extended)).to.deep.equal([
      ['unary.exp(x@0())', 'unary.cos(y@0())'],
      ['unary.exp(sin@2())', 'unary.cos(y@2())'],
    ]);
  });
});
