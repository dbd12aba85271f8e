/** What constructors refuse, what they build instead of what they are asked for, and shapes at the edge. */
import {expect} from 'chai';
import fc from 'fast-check';
import {ShapeError} from '../../lib/errors.js';
import {batch} from '../../lib/graph/batch.js';
import {
  add,
  argExtreme,
  binary,
  broadcastTo,
  cast,
  concat,
  constant,
  cumsum,
  div,
  full,
  gather,
  gatherAt,
  input,
  make,
  matMul,
  max,
  mul,
  neg,
  place,
  reshape,
  scalar,
  scale,
  scatter,
  scatterAt,
  select,
  slice,
  solve,
  sub,
  sum,
  transpose,
  unary,
  uniformValue,
  zeros,
} from '../../lib/graph/build.js';
import {pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {DType, Node, Op} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {cases} from './cases.js';
import {Choices, draws} from './choices.js';
import {expectDefined} from './definitions.js';
import {evaluate} from './evaluate.js';
import {runs} from '../property.js';

function refused(build: () => Node): void {
  expect(build).to.throw(ShapeError);
}
const x = input('x', [2, 3]);
const six = Float64Array.of(1, -2, 3, -4, 5, -6);
const values = (node: Node): number[] => Array.from(evaluate([node], [x], [six])[0], value => value + 0);

describe('graph: constructors', () => {
  it('refuse what does not fit', () => {
    refused(() => constant(Float64Array.of(1, 2), [3]));
    refused(() => binary('add', x, input('y', [2, 2])));
    refused(() => select(input('c', [4]), x, x));
    refused(() => broadcastTo(x, [3, 3]));
    refused(() => broadcastTo(x, [3]));
    refused(() => reshape(x, [5]));
    refused(() => slice(x, [0, 1], [2, 3]));
    refused(() => slice(x, [0, 0], [2, 2], [1, 3]));
    refused(() => slice(x, [0, 0], [2, 2], [1, 0]));
    refused(() => slice(x, [0, -1], [1, 1]));
    refused(() => slice(x, [0], [2]));
    refused(() => place(x, [0, 1], [2, 3]));
    refused(() => place(x, [0, 0], [2, 5], [1, 0]));
    refused(() => place(x, [0, 2], [2, 5], [1, -2]));
    refused(() => concat([x, input('y', [3, 3])], 1));
    refused(() => gather(x, Int32Array.of(6), [1]));
    refused(() => gather(x, Int32Array.of(-2), [1]));
    refused(() => gather(x, Int32Array.of(1), [2]));
    refused(() => scatter(x, Int32Array.of(0, 1, 2), [6]));
    refused(() => scatter(x, Int32Array.of(0, 1, 2, 3, 4, 6), [6]));
    refused(() => scatterAt(x, input('p', [6]), [6]));
    refused(() => matMul(x, x));
    refused(() => solve(input('a', [1, 2, 3]), input('b', [1, 2, 1])));
  });

  it('build nothing for what changes nothing', () => {
    for (const same of [
      add(x, scalar(0)),
      add(scalar(0), x),
      sub(x, zeros([2, 3])),
      mul(x, scalar(1)),
      mul(full(1, [2, 3]), x),
      div(x, scalar(1)),
      neg(neg(x)),
      binary('pow', x, scalar(1)),
      reshape(reshape(x, [6]), [2, 3]),
      transpose(transpose(x, [1, 0]), [1, 0]),
      broadcastTo(x, [2, 3]),
      slice(x, [0, 0], [2, 3]),
      place(x, [0, 0], [2, 3]),
      concat([x], 0),
      concat([input('e', [0, 3]), x], 0),
      sum(x, []),
      max(x, []),
      select(scalar(1, 'bool'), x, zeros([2, 3])),
      gather(x, Int32Array.of(0, 1, 2, 3, 4, 5), [2, 3]),
      cast(x, 'float'),
    ])
      expect(same).to.equal(x);
    expect(uniformValue(mul(x, scalar(0)))).to.equal(0);
    expect(uniformValue(binary('pow', x, scalar(0)))).to.equal(1);
    expect(uniformValue(sum(zeros([2, 3]), [1]))).to.equal(0);
    expect(uniformValue(matMul(zeros([1, 2, 3]), input('b', [1, 3, 4])))).to.equal(0);
  });

  it('join factors only where that rounds no differently', () => {
    const half = scale(scale(x, 2), 0.5);
    expect(half).to.equal(x);
    const third = scale(scale(x, 1 / 3), 4);
    expect(third.operands).to.include(x);
    expect(scale(scale(x, 1 / 3), 3).operands).to.not.include(x);
    expect(scale(scale(x, 1e-300), 2 ** -100).operands).to.not.include(x);
    const exactly = six.map(value => 4 * (value * (1 / 3)));
    expect(values(third)).to.deep.equal(Array.from(exactly));
  });

  it('work on what is repeated before it is repeated', () => {
    const row = input('row', [1, 3]);
    const tall = broadcastTo(row, [4, 3]);
    const wide = broadcastTo(reshape(sum(row, [1]), [1, 1]), [4, 3]);
    for (const node of [
      unary('exp', tall),
      mul(tall, scalar(2)),
      mul(tall, wide),
      add(tall, add(tall, tall)),
      select(unary('nonzero', tall), tall, wide),
    ]) {
      expect(node.op).to.equal('broadcast');
      expect(node.operands[0].shape).to.deep.equal([1, 3]);
    }
    // Repeated along different axes: nothing in common.
    expect(mul(tall, broadcastTo(input('column', [4, 1]), [4, 3])).op).to.equal('binary');
  });

  it('a scalar meets any shape, on either side', () => {
    const s = scalar(2);
    const r = reshape(sum(x, [0, 1]), []);
    expect(values(sub(x, s))).to.deep.equal([-1, -4, 1, -6, 3, -8]);
    expect(values(sub(s, x))).to.deep.equal([1, 4, -1, 6, -3, 8]);
    expect(values(sub(x, r))).to.deep.equal([4, 1, 6, -1, 8, -3]);
    expect(values(sub(r, x))).to.deep.equal([-4, -1, -6, 1, -8, 3]);
    expect(values(select(binary('less', x, scalar(0)), s, r))).to.deep.equal([-3, 2, -3, 2, -3, 2]);
    expect(values(select(binary('less', r, scalar(0)), x, s))).to.deep.equal([1, -2, 3, -4, 5, -6]);
    expect(values(binary('maximum', reshape(s, [1, 1, 1]), x))).to.deep.equal([2, 2, 3, 2, 5, 2]);
  });

  it('reshapes and slices of what is repeated are what they should be', () => {
    const column = broadcastTo(sum(x, [1]), [3, 2]);
    expect(values(reshape(column, [2, 3]))).to.deep.equal([2, -5, 2, -5, 2, -5]);
    expect(values(reshape(column, [1, 3, 1, 2, 1]))).to.deep.equal([2, -5, 2, -5, 2, -5]);
    expect(values(slice(column, [2, 1], [2, 2], [-1, -1]))).to.deep.equal([-5, 2, -5, 2]);
    expect(values(transpose(column, [1, 0]))).to.deep.equal([2, 2, 2, -5, -5, -5]);
    expect(values(broadcastTo(reshape(column, [3, 1, 2]), [3, 2, 2]))).to.deep.equal([
      2, -5, 2, -5, 2, -5, 2, -5, 2, -5, 2, -5,
    ]);
  });

  it('strides of either sign, places with gaps, repeated and missing positions', () => {
    expect(values(slice(x, [1, 2], [2, 2], [-1, -2]))).to.deep.equal([-6, -4, 3, 1]);
    expect(values(place(slice(x, [0, 0], [1, 3]), [1, 4], [2, 5], [1, -2]))).to.deep.equal([
      0, 0, 0, 0, 0, 3, 0, -2, 0, 1,
    ]);
    expect(values(gather(x, Int32Array.of(5, -1, 5, 0), [2, 2]))).to.deep.equal([-6, 0, -6, 1]);
    expect(values(scatter(x, Int32Array.of(1, 1, -1, 1, 0, 0), [4]))).to.deep.equal([-1, -5, 0, 0]);
    const positions = constant(Float64Array.of(5, -1, 6, 0, NaN, 2), [6], 'int');
    expect(values(gatherAt(x, positions))).to.deep.equal([-6, 0, 0, 1, 0, 3]);
    expect(values(scatterAt(x, reshape(positions, [2, 3]), [6]))).to.deep.equal([-4, 0, -6, 0, 0, 1]);
  });

  it('factors that are zero by construction take the dependence with them', () => {
    const y = mul(mul(x, scalar(0)), unary('exp', x));
    expect(topological([y])).to.not.include(x);
    expect(pushforward([y], new Map([[x, input('dx', [2, 3])]]))[0]).to.equal(undefined);
  });

  it("a column of zeros leaves PA = LU and a zero on U's diagonal, and a solution that is not finite", () => {
    const a = constant(Float64Array.of(0, 1, 0, 2), [1, 2, 2]);
    const [factors, solution] = evaluate([node('lu', a), solve(a, constant(Float64Array.of(1, 1), [1, 2, 1]))], [], []);
    expect(Array.from(factors)).to.deep.equal([0, 1, 0, 2]);
    expect(solution.every(Number.isFinite)).to.equal(false);
  });
});

function node(op: 'lu', a: Node): Node {
  return make(op, [a], {}, a.shape, 'float');
}

describe('graph: types', () => {
  const types: readonly DType[] = ['float', 'int', 'bool'];
  const of = (dtype: DType): Node<'input'> => input(dtype, [4], dtype);

  it('whole numbers stay whole where the function keeps them so', () => {
    expect(add(of('int'), of('bool')).dtype).to.equal('int');
    expect(mul(of('bool'), of('bool')).dtype).to.equal('int');
    expect(div(of('int'), of('int')).dtype).to.equal('float');
    expect(binary('floorDiv', of('int'), of('int')).dtype).to.equal('int');
    expect(mul(of('int'), scalar(0, 'int')).dtype).to.equal('int');
    expect(binary('pow', of('int'), scalar(1)).dtype).to.equal('float');
    expect(binary('pow', of('int'), scalar(2, 'int')).dtype).to.equal('int');
    expect(neg(neg(of('bool'))).dtype).to.equal('int');
    expect(sum(of('bool'), [0]).dtype).to.equal('int');
    expect(sum(input('one', [1], 'bool'), [0]).dtype).to.equal('int');
    expect(cumsum(of('bool'), 0, false, false).dtype).to.equal('int');
    expect(select(scalar(1), of('int'), of('float')).dtype).to.equal('float');
    expect(select(of('bool'), of('bool'), of('int')).dtype).to.equal('int');
    expect(concat([of('bool'), input('none', [0], 'float')], 0).dtype).to.equal('float');
    expect(argExtreme('argMax', of('float'), 0).dtype).to.equal('int');
  });

  it('a cast truncates to int, asks for zero to bool, and keeps the value it is of', () => {
    for (const from of types) {
      for (const to of types) {
        const source = of(from);
        const given = from === 'bool' ? [0, 1, 1, 0] : from === 'int' ? [-2, 0, 3, 1] : [-1.5, 0, 2.5, 0.5];
        const [found] = evaluate([cast(source, to)], [source], [Float64Array.from(given)]);
        const expected = given.map(value =>
          to === 'bool' ? Number(value !== 0) : to === 'int' ? Math.trunc(value) : value,
        );
        expect(cast(source, to).dtype).to.equal(to);
        expect(Array.from(found), `${from} to ${to}`).to.deep.equal(expected);
      }
    }
  });

  it('survives reshapes, gathers and casts back', () => {
    const asFloat = cast(of('int'), 'float');
    expect(reshape(asFloat, [2, 2]).dtype).to.equal('float');
    expect(gather(asFloat, Int32Array.of(0), [1]).dtype).to.equal('float');
    expect(transpose(reshape(asFloat, [2, 2]), [1, 0]).dtype).to.equal('float');
    expect(cast(reshape(asFloat, [2, 2]), 'int').op).to.equal('unary');
    expect(cast(broadcastTo(of('int'), [3, 4]), 'float').op).to.equal('broadcast');
  });

  it('a derivative goes through a cast of what has one, and not through whole numbers', () => {
    const y = mul(cast(binary('greater', x, scalar(0)), 'float'), x);
    const [gradient] = pullback([y], [x], [full(1, [2, 3])]);
    expect(gradient === undefined ? [] : values(gradient)).to.deep.equal([1, 0, 1, 0, 1, 0]);
    expect(pushforward([cast(cast(x, 'int'), 'float')], new Map([[x, input('dx', [2, 3])]]))[0]).to.equal(undefined);
  });
});

/** Primitives whose shapes come from `Choices.shape`, and mean something with an empty axis. */
const withEmptyAxes: readonly Op[] = [
  'input',
  'constant',
  'unary',
  'binary',
  'select',
  'reshape',
  'transpose',
  'broadcast',
  'slice',
  'place',
  'concat',
  'gather',
  'scatter',
  'gatherAt',
  'scatterAt',
  'sum',
  'max',
  'min',
  'cumsum',
];

describe('graph: empty axes', () => {
  for (const op of withEmptyAxes) {
    it(`${op}: value, tangent, transpose and batch`, () => {
      fc.assert(
        fc.property(draws(24), list => {
          const choices = new Choices(list, 0);
          const applied = cases[op](choices);
          const random = choices.random();
          const inputs = applied.inputs.map(({node}) => node);
          const given = applied.inputs.map(({draw}) => draw(random));
          const [result, ...operands] = evaluate([applied.node, ...applied.node.operands], inputs, given);
          expectDefined(applied.node, operands, result);
          const wrt = inputs.filter(({dtype}) => dtype === 'float');
          const tangents = wrt.map((input, i) => full(i + 1, input.shape));
          const cotangent = full(1, applied.node.shape);
          const [tangent] = pushforward([applied.node], new Map(wrt.map((input, i) => [input, tangents[i]])));
          const gradients = pullback([applied.node], wrt, [cotangent]);
          if (tangent !== undefined) expect(tangent.shape).to.deep.equal(applied.node.shape);
          gradients.forEach(
            (gradient, i) => gradient !== undefined && expect(gradient.shape).to.deep.equal(wrt[i].shape),
          );
          for (const derivative of [tangent, ...gradients])
            if (derivative !== undefined) evaluate([derivative], inputs, given);
          const batched = inputs.map((node, k) => input(`batch${k}`, [2, ...node.shape], node.dtype));
          const [many] = batch([applied.node], new Map(inputs.map((node, k) => [node, batched[k]])), 2);
          const twice = given.map(values => Float64Array.from([...values, ...values]));
          expect(Array.from(evaluate([many], batched, twice)[0])).to.deep.equal([...result, ...result]);
        }),
        runs(60),
      );
    });
  }
});
