/** Sums of terms of one form as one term over an axis: the same values and derivatives, from a shorter program. */
import {expect} from 'chai';
import fc from 'fast-check';
import {
  add,
  binary,
  broadcastTo,
  constant,
  gather,
  input,
  matMul,
  mul,
  neg,
  reshape,
  scalar,
  select,
  slice,
  sub,
  unary,
  zeros,
} from '../../lib/graph/build.js';
import {orZeros, pullback} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {rerolled, stacked} from '../../lib/graph/reroll.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import {Choices, draws} from './choices.js';
import {evaluate, largest, vectors} from './evaluate.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const n = 6;
const [x, y] = ['x', 'y'].map(name => input(name, [n]));
const scalars = Array.from({length: 40}, (_, i) => input(`k${i}`, []));
const inputs = [x, y, ...scalars];
const everywhere = (value: Node): Node => broadcastTo(value, [n]);

type Maker = (values: readonly Node[], i: number, random: () => number) => Node;

/** One form: which operation follows which is drawn once, and what it reads is another for each term. */
function formOf(choices: Choices): Maker {
  const length = choices.integer(1, 6);
  const steps = Array.from({length}, (): Maker => {
    const [a, b] = [choices.integer(0, 9), choices.integer(0, 9)];
    const of = (values: readonly Node[], at: number): Node => values[at % values.length];
    return choices.pick<Maker>([
      (values, _, random) => sub(of(values, a), everywhere(scalar(Math.round(4 * random()) / 4))),
      values => unary('tanh', of(values, a)),
      (values, i) => mul(everywhere(scalars[(i + a) % 40]), of(values, b)),
      values => mul(of(values, a), of(values, b)),
      (values, i) =>
        gather(
          of(values, a),
          Int32Array.from({length: n}, (_, j) => (i + 2 * j) % n),
          [n],
        ),
      (values, i) => everywhere(slice(of(values, a), [i % n], [1])),
      (values, _, random) => mul(of(values, a), constant(Float64Array.from({length: n}, random), [n])),
      values => select(binary('less', of(values, a), of(values, b)), of(values, a), y),
      values => everywhere(reshape(matMul(reshape(of(values, a), [1, 1, n]), reshape(of(values, b), [1, n, 1])), [])),
    ]);
  });
  return (given, i, random) => {
    const values = [...given];
    for (const step of steps) values.push(step(values, i, random));
    return unary('tanh', values[values.length - 1]);
  };
}

describe('graph: sums of terms of one form', () => {
  slow('have the same values and gradients rerolled, whatever the terms are', () => {
    let shorter = 0;
    fc.assert(
      fc.property(draws(60), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const forms = Array.from({length: choices.integer(1, 3)}, () => formOf(choices));
        const shared = [x, y, unary('sin', x)];
        let total: Node = choices.flag() ? y : neg(x);
        const count = choices.integer(10, 70);
        for (let i = 0; i < count; i++) {
          const term = forms[choices.integer(0, 5) % forms.length](shared, i, random);
          total = choices.integer(0, 3) === 0 ? sub(total, term) : choices.flag() ? add(total, term) : add(term, total);
        }
        const plain = simplifyNodes([total, mul(total, x)], inputs);
        const short = simplifyNodes(rerolled(plain), inputs);
        if (topological(short).length < topological(plain).length) shorter++;
        const gradients = (outputs: readonly Node[]): Node[] =>
          pullback(outputs, [x, y, scalars[3]], [x, y]).map((node, k) => orZeros(node, [x, y, scalars[3]][k]));
        const values = vectors(inputs, random);
        const expected = evaluate([...plain, ...gradients(plain)], inputs, values);
        evaluate([...short, ...gradients(short)], inputs, values).forEach((value, k) =>
          value.forEach((number, j) =>
            // A gradient is a product of up to six factors of at most some tens.
            expect(number).to.be.closeTo(expected[k][j], 1e-11 * (count + largest(expected[k]))),
          ),
        );
      }),
      runs(60),
    );
    expect(shorter).to.be.above(5);
  });

  it('become one term and a sum, of as many nodes however many terms there are', () => {
    const lengths = [40, 400, 3000].map(count => {
      let total: Node = zeros([n]);
      for (let i = 0; i < count; i++)
        total = sub(total, mul(everywhere(scalars[0]), unary('tanh', sub(x, everywhere(scalar(i / count))))));
      return topological(simplifyNodes(rerolled(simplifyNodes([total], inputs)), inputs)).length;
    });
    // Of 3000 terms of six numbers, at most 4096 numbers stand on one axis.
    expect(lengths[0]).to.equal(lengths[1]).and.to.be.below(20);
    expect(lengths[2]).to.be.below(5 * lengths[0]);
  });

  it('tell a constant of one term from the same number that all terms read', () => {
    // Term i is tanh(cᵢ x) + tanh(c₀ y): c₀ is one node, in two places of the first term.
    const numbers = Array.from({length: 20}, (_, i) => 0.1 + i / 7);
    const values = [Float64Array.of(0.3, -1, 2, 0.7, -0.2, 1.1), Float64Array.of(1, 2, -0.5, 0.1, 0.9, -3)];
    const terms = numbers.map(c =>
      mul(unary('tanh', mul(everywhere(scalar(c)), x)), unary('tanh', mul(everywhere(scalar(numbers[0])), y))),
    );
    const plain = simplifyNodes([terms.reduce((total, term) => add(total, term))], [x, y]);
    const short = rerolled(plain);
    const expected = values[0].map((a, j) =>
      numbers.reduce((total, c) => total + Math.tanh(c * a) * Math.tanh(numbers[0] * values[1][j]), 0),
    );
    evaluate(short, [x, y], values)[0].forEach((value, j) => expect(value).to.be.closeTo(expected[j], 1e-13 * 20));
  });

  it('of which each is made of the same nodes anew are one, as often as they are', () => {
    const term = (): Node => unary('tanh', mul(x, y));
    const total = Array.from({length: 20}, term).reduce((all, each) => add(all, each));
    const values = [Float64Array.of(0.3, -1, 2, 0.7, -0.2, 1.1), Float64Array.of(1, 2, -0.5, 0.1, 0.9, -3)];
    evaluate(rerolled([total]), [x, y], values)[0].forEach((value, j) =>
      expect(value).to.be.closeTo(20 * Math.tanh(values[0][j] * values[1][j]), 1e-13),
    );
  });

  it('stay as they are where they are few, are only read, or are long vectors or programs', () => {
    const few = Array.from({length: 15}, (_, i) => unary('sin', mul(x, everywhere(scalar(i + 2)))));
    const read = Array.from({length: 40}, (_, i) => everywhere(scalars[i]));
    const long = input('long', [5000]);
    const vector = Array.from({length: 40}, (_, i) => unary('sin', mul(long, broadcastTo(scalar(i + 2), [5000]))));
    const deep = Array.from({length: 16}, (_, i) => {
      let value: Node = mul(x, everywhere(scalar(i + 2)));
      for (let k = 0; k < 6000; k++) value = unary('tanh', value);
      return value;
    });
    for (const terms of [few, read, vector, deep]) {
      const total = terms.reduce((sum, term) => add(sum, term));
      expect(rerolled([total])[0]).to.equal(total);
    }
  });
});

describe('graph: values of several forms one after another', () => {
  it('are those of each, in their order, whatever their forms are', () => {
    fc.assert(
      fc.property(draws(60), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const forms = Array.from({length: choices.integer(1, 3)}, () => formOf(choices));
        const nodes = Array.from({length: choices.integer(1, 60)}, (_, i) =>
          forms[choices.integer(0, 5) % forms.length]([x, y, unary('sin', x)], i, random),
        );
        const values = vectors(inputs, random);
        const expected = evaluate(nodes, inputs, values).flatMap(value => [...value]);
        const whole = stacked(nodes);
        expect(whole.shape).to.deep.equal([nodes.length, n]);
        evaluate([whole], inputs, values)[0].forEach((value, i) => expect(value).to.be.closeTo(expected[i], 1e-12));
      }),
      runs(20),
    );
  });

  it('take as many nodes however many they are', () => {
    const lengths = [40, 400].map(count => {
      const nodes = Array.from({length: count}, (_, i) => sub(unary('tanh', slice(x, [i % n], [1])), scalar(i / 3)));
      return topological(simplifyNodes([stacked(nodes)], inputs)).length;
    });
    expect(lengths[0]).to.equal(lengths[1]).and.to.be.below(10);
  });
});
