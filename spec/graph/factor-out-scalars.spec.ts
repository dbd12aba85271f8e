/** Signs and scalar factors as late as they go: the same values, from less work. */
import {expect} from 'chai';
import fc from 'fast-check';
import {
  add,
  broadcastTo,
  concat,
  div,
  input,
  matMul,
  mul,
  neg,
  place,
  reshape,
  scalar,
  scale,
  slice,
  sub,
  sum,
  transpose,
  unary,
  zeros,
} from '../../lib/graph/build.js';
import {withoutDeclarations} from '../../lib/graph/declarations.js';
import {pullback} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import {isOp, topological} from '../../lib/graph/node.js';
import {factorOutScalars, withLateScales} from '../../lib/graph/factor-out-scalars.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import {countWork} from '../../lib/graph/work.js';
import {Choices, draws} from './choices.js';
import {evaluate, largest, vectors} from './evaluate.js';
import {program, programDraws} from './programs.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const n = 12;
const shifted = (x: Node): Node => concat([zeros([1]), slice(x, [0], [n - 1])], 0);
const everywhere = (x: Node): Node => broadcastTo(x, [n]);

/** Programs that are mostly linear, where scales have far to go. */
function linearProgram(choices: Choices, inputs: readonly Node<'input'>[], scalars: readonly Node<'input'>[]): Node[] {
  const values: Node[] = [...inputs];
  const makers: readonly ((x: Node, y: Node) => Node)[] = [
    neg,
    x => scale(x, choices.pick([0.5, 2, -3, 0.1, -0.25])),
    x => mul(x, everywhere(choices.pick(scalars))),
    x => mul(everywhere(neg(mul(choices.pick(scalars), scalar(0.5)))), x),
    add,
    add,
    sub,
    sub,
    mul,
    (x, y) => div(x, add(unary('square', y), scalar(1))),
    x => unary('abs', x),
    x => unary('square', x),
    x => unary('sin', x),
    shifted,
    x => place(slice(x, [2], [n - 2]), [0], [n]),
    x => slice(x, [n - 1], [n], [-1]),
    x => add(everywhere(sum(x, [0])), x),
    x => reshape(transpose(reshape(x, [3, 4]), [1, 0]), [n]),
    (x, y) => concat([slice(x, [0], [5]), slice(y, [5], [n - 5])], 0),
    (x, y) =>
      reshape(matMul(reshape(x, [1, 3, 4]), reshape(y, [1, 4, 3])), [9]).size === 9
        ? concat([reshape(matMul(reshape(x, [1, 3, 4]), reshape(y, [1, 4, 3])), [9]), slice(x, [0], [3])], 0)
        : x,
  ];
  const length = choices.integer(1, 25);
  for (let i = 0; i < length; i++) {
    const [x, y] = [choices.pick(values), choices.pick(values)];
    const made = choices.pick(makers)(x, y);
    // Large values would leave nothing of the small ones they are added to.
    values.push(choices.integer(0, 5) === 0 ? unary('tanh', made) : made);
  }
  return values.slice(-3);
}

describe('graph: late scales', () => {
  const [x, y, p] = ['x', 'y', 'p'].map(name => input(name, [n]));
  const [h, m] = [input('h', []), input('m', [])];

  const expectSame = (outputs: readonly Node[], inputs: readonly Node<'input'>[], values: Float64Array[]): void => {
    const before = simplifyNodes(outputs, inputs);
    const expected = evaluate(before, inputs, values);
    const found = evaluate(factorOutScalars(before, inputs), inputs, values);
    // Every value of the program bounds what rounding may leave of the last: 25 operations of a few digits each.
    const size =
      1
      + Math.max(
        ...evaluate(
          topological(withoutDeclarations(before)).filter(({dtype}) => dtype === 'float'),
          inputs,
          values,
        ).map(largest),
      );
    found.forEach((value, i) =>
      value.forEach((number, j) => expect(number).to.be.closeTo(expected[i][j], 1e-12 * size)),
    );
  };

  slow('leave the values of random programs as they are', () => {
    fc.assert(
      fc.property(draws(programDraws), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const {inputs, outputs} = program(choices);
        expectSame(outputs, inputs, vectors(inputs, random));
      }),
      runs(200),
    );
  });

  slow('leave the values of random linear programs as they are, and save work more often than not', () => {
    let [less, more] = [0, 0];
    const inputs = [x, y, p, h, m];
    fc.assert(
      fc.property(draws(120), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const outputs = simplifyNodes(linearProgram(choices, [x, y, p], [h, m]), inputs);
        expectSame(outputs, inputs, vectors(inputs, random));
        const [before, late] = [outputs, factorOutScalars(outputs, inputs)].map(nodes => countWork(nodes));
        if (late < before) less++;
        if (late > before) more++;
        const graph = withLateScales({inputs, outputs: outputs.map((node, i) => ({name: `${i}`, node}))});
        expect(countWork(graph.outputs.map(({node}) => node))).to.equal(Math.min(before, late));
      }),
      runs(300),
    );
    // More where a value is wanted both scaled and as a part of what is scaled later.
    expect(less).to.be.above(more);
  });

  it('difference what was scaled before it is scaled', () => {
    const force = mul(neg(scale(mul(x, everywhere(h)), 0.5)), p);
    const [found] = factorOutScalars([sub(shifted(force), force)]);
    // x·p, its difference, and one product with h/2: three operations for each number, two for the scalar.
    expect(countWork([found])).to.be.at.most(3 * n + 2 + n);
    expect(topological([found]).filter(({op}) => op === 'unary')).to.have.length(0);
  });

  it('collect multiples of one value, whatever their sum begins with', () => {
    const twice = mul(mul(x, y), y);
    // p + x y² + (x y) y + 0.5 x y² = p + 2.5 x y².
    const total = add(add(add(p, mul(x, mul(y, y))), twice), scale(twice, 0.5));
    const [found] = factorOutScalars(simplifyNodes([total]));
    expect(countWork([found])).to.equal(4 * n);
    const values = [1.5, -2, 0.25].map(value => new Float64Array(n).fill(value));
    expect(evaluate([found], [x, y, p], values)[0][3]).to.equal(0.25 + 2.5 * 1.5 * 4);
  });

  it('make the gradient of a hardening spring as one would by hand', () => {
    // The tension k(d + d³/2); its gradient k(1 + 1.5 d²) is d², a product, a sum and a product.
    const tension = mul(p, add(x, scale(mul(mul(x, x), x), 0.5)));
    const [cotangent] = pullback([tension], [x], [y]);
    const [found] = factorOutScalars(simplifyNodes([cotangent as Node]));
    // (y·p)·(1 + 1.5x²) with y·p + 1.5·(y·p)·x²: one product more than factored.
    expect(countWork([found])).to.equal(5 * n);
  });

  it('leave a product of matrices where that makes fewer numbers, and stay where it makes more', () => {
    const scaled = (name: string, shape: readonly number[]): {matrix: Node; scaled: Node} => {
      const matrix = input(name, shape);
      return {matrix, scaled: mul(matrix, broadcastTo(h, shape))};
    };
    const products = ([found]: readonly Node[]): (readonly number[])[] =>
      topological([found])
        .filter(node => isOp(node, 'binary') && node.attributes.fn === 'mul')
        .map(({shape}) => shape);
    // Fewer than either operand, as many as either, and more: the outer product of a column and a row.
    for (const [rows, inner, columns, expected] of [
      [2, 5, 3, [[], [2, 3]]],
      [3, 3, 3, [[], [3, 3]]],
      [
        4,
        1,
        4,
        [
          [4, 1],
          [1, 4],
        ],
      ],
    ] as const) {
      const [a, b] = [scaled('a', [1, rows, inner]), scaled('b', [1, inner, columns])];
      expect(products(factorOutScalars([matMul(a.scaled, b.scaled)])), `${rows} ${inner} ${columns}`).to.deep.equal(
        expected.map(shape => (shape.length === 0 ? [] : [1, ...shape])),
      );
    }
  });

  it('leave parts that are put together where all have the same, zeros aside', () => {
    const [two, three] = [scale(x, 3), scale(y, 3)];
    const scales = (parts: readonly Node[]): number =>
      topological(factorOutScalars(simplifyNodes([concat(parts, 0)], [x, y]), [x, y])).filter(({op}) => op === 'binary')
        .length;
    expect(scales([two, three])).to.equal(1);
    expect(scales([two, zeros([2]), three])).to.equal(1);
    expect(scales([two, scale(y, 4)])).to.equal(2);
    const [found] = factorOutScalars([concat([zeros([n]), neg(zeros([2]))], 0)]);
    expect([...evaluate([found], [], [])[0]].every(value => value === 0)).to.equal(true);
    const values = [2, 5].map(value => new Float64Array(n).fill(value));
    expect(
      [...evaluate(factorOutScalars([concat([two, zeros([1]), three], 0)]), [x, y], values)[0]].filter(
        (_, i) => i === 0 || i === n || i === 2 * n,
      ),
    ).to.deep.equal([6, 0, 15]);
  });

  it('keep a sign of its own only where nothing takes it', () => {
    const signs = (node: Node): number => topological([node]).filter(below => below.op === 'unary').length;
    const [difference] = factorOutScalars([neg(sub(x, y))]);
    expect(signs(difference)).to.equal(0);
    expect(signs(factorOutScalars([mul(neg(x), neg(y))])[0])).to.equal(0);
    expect(signs(factorOutScalars([add(neg(x), scale(neg(y), 3))])[0])).to.equal(1);
    expect(signs(factorOutScalars([unary('sin', neg(x))])[0])).to.equal(2);
  });

  it('do not push numbers out of their range', () => {
    const tiny = 2 ** -60;
    const small = scale(scale(scale(x, tiny), tiny), tiny);
    const [cube] = factorOutScalars([mul(small, mul(small, small))]);
    const at = 2 ** 300;
    expect(evaluate([cube], [x], [new Float64Array(n).fill(at)])[0][0]).to.equal(2 ** 360);
  });

  it('leave a number added and taken away again: so one rounds', () => {
    const shift = everywhere(scalar(1.5 * 2 ** 52));
    const values = Float64Array.from({length: n}, (_, i) => 0.7 * i - 3.1);
    const [rounded, lost] = factorOutScalars(
      simplifyNodes([sub(add(x, shift), shift), sub(sub(add(x, y), y), x)], [x, y]),
      [x, y],
    );
    expect([...evaluate([rounded], [x], [values])[0]]).to.deep.equal([...values].map(value => Math.round(value) + 0));
    // What an addition rounds away, here to halves, as compensated summation has it.
    expect(evaluate([lost], [x, y], [values, new Float64Array(n).fill(2 ** 52)])[0][1]).to.equal(-2.5 - values[1]);
  });

  it('leave a small part of a value to the small difference it was added to', () => {
    const [found] = factorOutScalars(simplifyNodes([add(sub(x, y), scale(y, 1e-9))], [x, y]), [x, y]);
    const values = [1 + 2 ** -30, 1].map(value => new Float64Array(n).fill(value));
    expect(evaluate([found], [x, y], values)[0][0]).to.equal(2 ** -30 + 1e-9);
  });

  it('leave what is no number', () => {
    const [found] = factorOutScalars([add(sub(x, x), y)]);
    expect(evaluate([found], [x, y], [new Float64Array(n).fill(NaN), new Float64Array(n)])[0][0]).to.be.NaN;
  });
});
