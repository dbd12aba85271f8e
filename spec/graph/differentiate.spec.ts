/** Derivatives against closed forms: high orders, intermediate values, ties, matrices. */
import {expect} from 'chai';
import {
  add,
  binary,
  cast,
  cholesky,
  constant,
  declared,
  full,
  input,
  lu,
  matMul,
  max,
  mul,
  neg,
  reshape,
  scalar,
  scale,
  select,
  solve,
  sub,
  sum,
  transpose,
  unary,
} from '../../lib/graph/build.js';
import {orZeros, pullback, pushforward, transposeLinear} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import {topological} from '../../lib/graph/node.js';
import {evaluate} from './evaluate.js';

const x = input('x', []);

function derivative(y: Node, by: Node = x): Node {
  const [tangent] = pushforward([y], new Map([[by, full(1, by.shape)]]));
  return orZeros(tangent, y);
}

function gradient(y: Node, by: Node = x): Node {
  const [found] = pullback([y], [by], [full(1, y.shape)]);
  return orZeros(found, by);
}

const at = (node: Node, value: number): number => evaluate([node], [x], [Float64Array.of(value)])[0][0];

/** The n-th derivative, each order forward or backward by the bits of `modes`, simplified in between. */
function repeated(y: Node, n: number, modes: number): Node {
  let result = y;
  for (let k = 0; k < n; k++) [result] = simplifyNodes([(modes >> k) & 1 ? gradient(result) : derivative(result)], [x]);
  return result;
}

describe('graph: derivatives', () => {
  it('of any order, in any mixture of modes', () => {
    const p = 0.7;
    for (const modes of [0b0000, 0b1111, 0b0101, 0b1010, 0b0011]) {
      expect(at(repeated(unary('sin', x), 4, modes), p)).to.be.closeTo(Math.sin(p), 1e-14);
      expect(at(repeated(unary('exp', scale(x, 2)), 4, modes), p)).to.be.closeTo(16 * Math.exp(2 * p), 1e-12);
      expect(at(repeated(binary('pow', x, scalar(5)), 4, modes), p)).to.be.closeTo(120 * p, 1e-12);
      expect(at(repeated(unary('log', x), 4, modes), p)).to.be.closeTo(-6 / p ** 4, 1e-11);
      // (x tanh x)″ = 2 s − 2 x t s with t = tanh x, s = 1 − t²: what tfjs's own tape has wrong.
      const [t, s] = [Math.tanh(p), 1 - Math.tanh(p) ** 2];
      expect(at(repeated(mul(x, unary('tanh', x)), 2, modes), p)).to.be.closeTo(2 * s - 2 * p * t * s, 1e-14);
    }
  });

  it('of polynomials end in zero, and the graph knows it', () => {
    const third = repeated(add(unary('square', x), scale(x, 3)), 3, 0b010);
    expect(topological([third])).to.not.include(x);
    expect(at(third, 1)).to.equal(0);
  });

  it('by an intermediate value, as if it were given', () => {
    const inner = unary('sin', x);
    const y = mul(inner, x);
    expect(at(derivative(y, inner), 2)).to.equal(2);
    expect(at(gradient(y, inner), 2)).to.equal(2);
    expect(at(derivative(y), 2)).to.be.closeTo(Math.sin(2) + 2 * Math.cos(2), 1e-15);
  });

  it('of what does not depend are undefined, and of an input by itself are the seed', () => {
    const y = input('y', [3]);
    const seed = input('dx', []);
    expect(pushforward([y, x], new Map([[x, seed]]))).to.deep.equal([undefined, seed]);
    expect(pullback([y], [x], [full(1, [3])])).to.deep.equal([undefined]);
    expect(pullback([x, unary('exp', x)], [x], [seed, undefined])).to.deep.equal([seed]);
    expect(pullback([x, y], [x, y], [undefined, undefined])).to.deep.equal([undefined, undefined]);
  });

  it('share an extreme in equal parts', () => {
    const z = input('z', [4]);
    const [g] = evaluate([gradient(max(z, [0]), z)], [z], [Float64Array.of(2, 5, 5, 1)]);
    expect(Array.from(g)).to.deep.equal([0, 0.5, 0.5, 0]);
  });

  it('pass only through the branch that was taken, also where the other is not finite', () => {
    // where(x > 0, √x, 0) at x = −1, where the square root is not a number, and at 0, where its slope is infinite.
    const y = select(binary('greater', x, scalar(0)), unary('sqrt', x), scalar(0));
    expect(at(derivative(y), -1)).to.equal(0);
    expect(at(derivative(y), 4)).to.equal(0.25);
    for (const order of [1, 2])
      for (let modes = 0; modes < 2 ** order; modes++)
        for (const place of [-1, 0]) expect(at(repeated(y, order, modes), place)).to.equal(0);
    // A chosen branch keeps what it has.
    const chosen = select(binary('greaterEqual', x, scalar(0)), unary('sqrt', x), scalar(0));
    for (const modes of [0, 1]) expect(at(repeated(chosen, 1, modes), 0)).to.equal(Infinity);
  });

  it('of a factor of a declared value are that value', () => {
    const p = input('p', []);
    const y = mul(
      p,
      declared(unary('sin', x), [x], c => [scale(c, 7)]),
    );
    const [byFactor, byArgument] = evaluate(
      [derivative(y, p), derivative(y, x)],
      [p, x],
      [Float64Array.of(3), Float64Array.of(0.5)],
    );
    expect(byFactor[0]).to.equal(evaluate([unary('sin', x)], [x], [Float64Array.of(0.5)])[0][0]);
    expect(byArgument[0]).to.equal(21);
  });

  it('of a declared value along one argument leave out what was declared of the others', () => {
    const [p, q] = [input('p', []), input('q', [])];
    // c/q is not finite at q = 0, and nothing along p.
    const y = declared(mul(p, q), [p, q], c => [scale(c, 7), binary('div', c, q)]);
    const [alongP, alongQ] = evaluate(
      [derivative(y, p), derivative(y, q)],
      [p, q],
      [Float64Array.of(3), Float64Array.of(0)],
    );
    expect(alongP[0]).to.equal(7);
    expect(alongQ[0]).to.equal(Infinity);
  });

  it('of a scaled truth value are zero, and of a product with one the factor', () => {
    const step = cast(binary('greater', x, scalar(0)), 'float');
    expect(at(derivative(scale(step, 3)), 1)).to.equal(0);
    expect(at(derivative(mul(step, x)), 1)).to.equal(1);
    expect(at(gradient(mul(step, x)), -1)).to.equal(0);
  });

  it("of matrices are the textbook's: A⁻¹, log det through Cholesky and LU", () => {
    const a = input('a', [1, 3, 3]);
    const values = Float64Array.of(4, 1, 0.5, 1, 3, -1, 0.5, -1, 5);
    const identity = constant(Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1), [1, 3, 3]);
    const inverse = solve(a, identity);
    const diagonal = (m: Node): Node => sum(mul(m, identity), [2]);
    const byCholesky = scale(sum(unary('log', diagonal(cholesky(a))), [0, 1]), 2);
    const byLu = sum(unary('log', unary('abs', diagonal(lu(a)))), [0, 1]);
    // d log det A = tr(A⁻¹ dA), so the gradient is A⁻ᵀ; Cholesky reads the lower triangle: the entries of both go there.
    const [inverseT, viaLu, viaCholesky] = evaluate(
      [transpose(inverse, [0, 2, 1]), gradient(byLu, a), gradient(byCholesky, a)],
      [a],
      [values],
    );
    viaLu.forEach((value, i) => expect(value).to.be.closeTo(inverseT[i], 1e-15));
    viaCholesky.forEach((value, i) => {
      const [row, column] = [Math.floor(i / 3), i % 3];
      expect(value).to.be.closeTo(row < column ? 0 : row === column ? inverseT[i] : 2 * inverseT[i], 1e-15);
    });
    // dA⁻¹ = −A⁻¹ dA A⁻¹.
    const da = input('da', [1, 3, 3]);
    const [tangent] = pushforward([inverse], new Map([[a, da]]));
    const direction = Float64Array.from({length: 9}, (_, i) => Math.sin(i));
    const [found, expected] = evaluate(
      [orZeros(tangent, inverse), neg(matMul(matMul(inverse, da), inverse))],
      [a, da],
      [values, direction],
    );
    found.forEach((value, i) => expect(value).to.be.closeTo(expected[i], 1e-15));
  });

  it('transposition refuses what is not linear, by name', () => {
    const seed = input('s', []);
    const cotangent = full(1, []);
    expect(() => transposeLinear([unary('exp', seed)], [seed], [cotangent])).to.throw('exp is not linear');
    expect(() => transposeLinear([mul(seed, seed)], [seed], [cotangent])).to.throw('mul is not linear');
    expect(() => transposeLinear([binary('div', x, seed)], [seed], [cotangent])).to.throw('div is not linear');
    expect(() => transposeLinear([max(reshape(seed, [1]), [0])], [seed], [cotangent])).to.not.throw();
    expect(() => transposeLinear([max(input('t', [2]), [0])], [input('u', [])], [cotangent])).to.not.throw();
    const vector = input('v', [2]);
    expect(() => transposeLinear([max(vector, [0])], [vector], [cotangent])).to.throw(
      'max stands in a linear map but has no transpose',
    );
    expect(() => transposeLinear([sub(seed, x)], [seed], [cotangent])).to.not.throw();
  });
});
