/** What is taken for equal: arrays, nodes and programs by their contents, whatever their hashes say. */
import {expect} from 'chai';
import fc from 'fast-check';
import {binary, constant, gather, input, matMul, reshape, slice, sub, sum, transpose} from '../../lib/graph/build.js';
import type {Contents} from '../../lib/graph/contents.js';
import {contentsHash, ContentsTable, sameContents} from '../../lib/graph/contents.js';
import {KeyedCache, programKey, sameKey} from '../../lib/graph/key.js';
import type {Node} from '../../lib/graph/node.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import {runs} from '../property.js';

/** The bytes, as the specification of equality reads them. */
const bytes = (array: Contents): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex');

const length = fc.constantFrom(1, 2, 3, 26, 64, 255, 256, 1000, 4096);

/** An array and a change of it that multiplicative hashes are weak at: most leave the sum, the set or the low bits of its numbers as they are. */
const pairs = fc
  .tuple(length, fc.nat(), fc.nat(), fc.constantFrom('mask', 'shift', 'swap', 'sign', 'power', 'zero', 'nan', 'none'))
  .map(([n, p, q, change]) => {
    const a = Float64Array.from({length: n}, (_, i) =>
      change === 'mask'
        ? Number(i >= n / 2)
        : change === 'sign'
          ? (i * p) % 3 === 0
            ? -0.25
            : 0.25
          : 2 ** ((i + p) % 9),
    );
    const b = a.slice();
    const [i, j] = [p % n, q % n];
    switch (change) {
      case 'mask':
        b.set(a.map((_, at) => Number((at + p) % n >= n / 2)));
        break;
      case 'shift':
        b.set(a.map((_, at) => a[(at + 1) % n]));
        break;
      case 'swap':
        [b[i], b[j]] = [b[j], b[i]];
        break;
      case 'sign':
        [b[i], b[j]] = [-b[i], -b[j]];
        break;
      case 'power':
        b[i] *= 2 ** 32;
        break;
      case 'zero':
        [a[i], b[i]] = [0, -0];
        break;
      case 'nan':
        new BigUint64Array(b.buffer)[i] = 0x7ff8_0000_0000_0001n;
        [a[i]] = [NaN];
        break;
      case 'none':
    }
    return [a, b] as const;
  });

describe('graph: equality by contents', () => {
  it('numbers arrays alike exactly where their bytes are', () => {
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        const equal = bytes(a) === bytes(b);
        expect(sameContents(a, b)).to.equal(equal);
        const table = new ContentsTable();
        expect(table.numberOf(a) === table.numberOf(b)).to.equal(equal);
        if (equal) expect(contentsHash(a)).to.equal(contentsHash(b));
      }),
      runs(500),
    );
  });

  it('needs no hash for being right: with one for all arrays it numbers them the same', () => {
    fc.assert(
      fc.property(fc.array(pairs, {maxLength: 20}), list => {
        const [hashed, blind] = [new ContentsTable(), new ContentsTable(() => 7)];
        for (const array of list.flat()) expect(blind.numberOf(array)).to.equal(hashed.numberOf(array));
      }),
      runs(50),
    );
  });

  it('spreads arrays that differ in one bit, one place or their signs over all hashes', () => {
    const hashes = new Set<number>();
    const n = 1024;
    let count = 0;
    const note = (array: Float64Array): void => {
      hashes.add(contentsHash(array));
      count++;
    };
    for (let at = 0; at < n; at++) {
      note(Float64Array.from({length: n}, (_, i) => Number(i === at)));
      note(Float64Array.from({length: n}, (_, i) => Number(i < at)));
      note(Float64Array.from({length: 26}, (_, i) => ((at >> (i % 10)) & 1 ? 0.25 : -0.25) * (i < 10 ? 1 : -1)));
      note(Float64Array.of(0, 2 ** (at - 512)));
    }
    // Of N random hashes of 32 bits N²/2³³ pairs are expected to meet: 0.002 here. The last of the second kind is the first of the third.
    expect(hashes.size).to.be.at.least(count - 2);
  });

  it('shares nodes and programs exactly where the contents of constants and tables are equal', () => {
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        const equal = bytes(a) === bytes(b);
        const x = input('x', [a.length]);
        const of = (values: Float64Array): Node => binary('atan2', x, constant(values, [values.length]));
        const [one, other] = simplifyNodes([of(a), of(b)], [x]);
        expect(one === other).to.equal(equal);
        const key = (node: Node): ReturnType<typeof programKey> =>
          programKey('', [{inputs: [x], outputs: [{name: 'y', node}]}]);
        expect(sameKey(key(of(a)), key(of(b)))).to.equal(equal);
        const table = (values: Float64Array): Int32Array =>
          new Int32Array(values.buffer).map(word => Math.abs(word) % a.length);
        const [first, second] = simplifyNodes(
          [gather(x, table(a), [2 * a.length]), gather(x, table(b), [2 * a.length])],
          [x],
        );
        expect(first === second).to.equal(bytes(table(a)) === bytes(table(b)));
      }),
      runs(200),
    );
  });

  it('shares sums and products with their operands exchanged, and nothing that differs', () => {
    const [x, y] = [input('x', [2, 2]), input('y', [2, 2])];
    const shared = (a: Node, b: Node): boolean => {
      const [one, other] = simplifyNodes([a, b], [x, y]);
      return one === other;
    };
    const t = (node: Node): Node => transpose(node, [1, 0]);
    const over = (axis: number): Node => sum(x, [axis]);
    const product = (transposed: boolean): Node => matMul(reshape(x, [1, 2, 2]), reshape(y, [1, 2, 2]), transposed);
    for (const fn of ['add', 'mul'] as const) {
      expect(shared(binary(fn, x, y), binary(fn, y, x))).to.equal(true);
      expect(shared(binary(fn, t(x), y), binary(fn, y, t(x)))).to.equal(true);
      expect(shared(binary(fn, x, x), binary(fn, x, y))).to.equal(false);
    }
    expect(shared(sub(x, y), sub(x, y))).to.equal(true);
    expect(shared(sub(x, y), sub(y, x))).to.equal(false);
    expect(shared(binary('add', x, y), binary('mul', x, y))).to.equal(false);
    expect(shared(reshape(x, [4]), reshape(x, [4, 1]))).to.equal(false);
    expect(shared(over(0), over(1))).to.equal(false);
    expect(shared(over(1), over(1))).to.equal(true);
    expect(shared(slice(x, [0, 0], [1, 2]), slice(x, [1, 0], [1, 2]))).to.equal(false);
    expect(shared(slice(x, [1, 0], [1, 2]), slice(x, [1, 0], [1, 2]))).to.equal(true);
    expect(shared(product(false), product(true))).to.equal(false);
    expect(shared(product(true), product(true))).to.equal(true);
    expect(shared(constant(Float64Array.of(0), []), constant(Float64Array.of(-0), []))).to.equal(false);
    expect(shared(constant(Float64Array.of(1), [], 'int'), constant(Float64Array.of(1), [], 'float'))).to.equal(false);
  });

  it('sees disjoint masks of a long array as two', () => {
    const n = 16384;
    const mask = (k: number): Node => constant(new Float64Array(n).fill(1, (k * n) / 4, ((k + 1) * n) / 4), [n]);
    const masks = Array.from({length: 4}, (_, k) => mask(k));
    expect(new Set(simplifyNodes([...masks, ...masks.map((_, k) => mask(k))])).size).to.equal(4);
    const [difference] = simplifyNodes([sub(mask(0), mask(1))]);
    expect(difference.op).to.not.equal('broadcast');
  });

  it('a cache of programs compares contents where hashes agree, and drops the least recently used', () => {
    const keyed = (text: string, ...numbers: number[]): ReturnType<typeof programKey> => ({
      text,
      arrays: [Float64Array.from(numbers)],
    });
    const cache = new KeyedCache<string>(3);
    cache.add(keyed('a', 1), 'a1');
    cache.add(keyed('a', 2), 'a2');
    // Each answer makes its entry the last of its text: so the second is looked for behind the first, too.
    expect([cache.get(keyed('a', 2)), cache.get(keyed('a', 2))]).to.deep.equal(['a2', 'a2']);
    expect([
      cache.get(keyed('a', 1)),
      cache.get(keyed('a', 2)),
      cache.get(keyed('a', 3)),
      cache.get(keyed('a', -0)),
    ]).to.deep.equal(['a1', 'a2', undefined, undefined]);
    cache.add(keyed('b', 1), 'b1');
    expect(cache.get(keyed('a', 1))).to.equal('a1');
    cache.add(keyed('c', 1), 'c1');
    cache.add(keyed('d', 1), 'd1');
    const left = [keyed('a', 1), keyed('a', 2), keyed('b', 1), keyed('c', 1), keyed('d', 1)].map(key => cache.get(key));
    expect(left.filter(value => value !== undefined))
      .to.have.length(3)
      .and.include.members(['a1', 'c1', 'd1']);
  });
});
