/**
 * Branches that are not chosen, with partials that are not finite there: gradients, tangents and second
 * derivatives against those of the chosen branch alone, and random programs against differences.
 */
import {expect} from 'chai';
import fc from 'fast-check';
import {
  add,
  binary,
  broadcastTo,
  cast,
  concat,
  constant,
  div,
  gather,
  input,
  matMul,
  mul,
  reshape,
  scalar,
  scale,
  scatter,
  select,
  slice,
  solve,
  sub,
  sum,
  transpose,
  unary,
  zeros,
} from '../../lib/graph/build.js';
import {orZeros, pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {generator} from './choices.js';
import {asFunction, differences, dot} from './evaluate.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const n = 4;
const x = input('x', [n]);
const u = input('u', [n]);
const w = input('w', [n]);
/** Chosen at the two last of these, and at none of the first two: zero and negative. */
const at = Float64Array.of(0, -1.5, 0.8, 2.1);
const positive = binary('greater', x, scalar(0));
const nothing = zeros([n]);
/** The same choice, known beforehand. */
const table = constant(Float64Array.of(0, 0, 1, 1), [n], 'bool');
const keep = (value: Node): Node => select(positive, value, nothing);

/** Not finite, or with derivatives that are not, for arguments at or below zero. */
const singular: Readonly<Record<string, (y: Node) => Node>> = {
  sqrt: y => unary('sqrt', y),
  rsqrt: y => unary('rsqrt', y),
  reciprocal: y => unary('reciprocal', y),
  log: y => unary('log', y),
  'y log y': y => mul(y, unary('log', y)),
  'sin y / y': y => div(unary('sin', y), y),
  power: y => binary('pow', y, scalar(1.5)),
  'power of itself': y => binary('pow', y, y),
  acosh: y => unary('acosh', add(y, scalar(1))),
  'sqrt of a product': y => unary('sqrt', mul(y, unary('exp', y))),
};

/** What chooses, or leaves out: each gives f(x) where x > 0, else 0, and no more. */
const choosers: Readonly<Record<string, (f: (y: Node) => Node) => Node>> = {
  where: f => keep(f(x)),
  'where not': f => select(binary('lessEqual', x, scalar(0)), nothing, f(x)),
  'where within where': f => keep(select(binary('greater', x, scalar(-1)), f(x), nothing)),
  'where around more': f => keep(unary('tanh', scale(f(x), 0.5))),
  'where after rows': f => keep(reshape(sum(broadcastTo(reshape(f(x), [1, n]), [3, n]), [0]), [n])),
  'where after a gather': f =>
    gather(keep(gather(f(x), Int32Array.of(0, 1, 2, 3), [n])), Int32Array.of(3, 2, 1, 0), [n]),
  'where around a solution': f => keep(reshape(solve(diagonal(scale(x, 2)), reshape(f(x), [n, 1, 1])), [n])),
  'where around a product': f =>
    keep(reshape(matMul(reshape(add(x, scalar(3)), [n, 1, 1]), reshape(f(x), [n, 1, 1])), [n])),
  'where around a product by columns': f =>
    reshape(
      select(
        reshape(positive, [1, 1, n]),
        matMul(broadcastTo(scalar(0.3), [1, 1, 2]), broadcastTo(reshape(f(x), [1, 1, n]), [1, 2, n])),
        zeros([1, 1, n]),
      ),
      [n],
    ),
  'where by a table': f => select(table, f(x), nothing),
  'where by a table around rows': f =>
    select(table, reshape(sum(broadcastTo(reshape(f(x), [1, n]), [3, n]), [0]), [n]), nothing),
  'where by a table around a product by columns': f =>
    reshape(
      select(
        reshape(table, [1, 1, n]),
        matMul(broadcastTo(scalar(0.3), [1, 1, 2]), broadcastTo(reshape(f(x), [1, 1, n]), [1, 2, n])),
        zeros([1, 1, n]),
      ),
      [n],
    ),
  'where by a table around a gather': f =>
    select(table, gather(gather(f(x), Int32Array.of(3, 2, 1, 0), [n]), Int32Array.of(3, 2, 1, 0), [n]), nothing),
  'what is not read': f => scatter(slice(f(x), [2], [2]), Int32Array.of(2, 3), [n]),
  'what is put back': f => concat([zeros([2]), gather(f(x), Int32Array.of(2, 3), [2])], 0),
};

function diagonal(values: Node): Node {
  return reshape(values, [n, 1, 1]);
}

interface Derivatives {
  readonly gradient: Float64Array;
  readonly tangent: Float64Array;
  readonly forwardOverReverse: Float64Array;
  readonly reverseOverForward: Float64Array;
  readonly reverseOverReverse: Float64Array;
}

function derivatives(y: Node, point: Float64Array, along: Float64Array, weights: Float64Array): Derivatives {
  const moved = (f: Node): Node => orZeros(pushforward([f], new Map([[x, u]]))[0], f);
  const pulled = (f: Node, c: Node): Node => orZeros(pullback([f], [x], [c])[0], x);
  const gradient = pulled(y, w);
  const nodes = [gradient, moved(y), moved(gradient), pulled(moved(y), w), pulled(gradient, u)];
  const [first, tangent, forwardOverReverse, reverseOverForward, reverseOverReverse] = asFunction(nodes, [x, u, w])([
    point,
    along,
    weights,
  ]);
  return {gradient: first, tangent, forwardOverReverse, reverseOverForward, reverseOverReverse};
}

describe('graph: derivatives of what is not chosen', () => {
  const along = Float64Array.of(0.3, -0.7, 1.1, 0.4);
  const weights = Float64Array.of(1.3, 0.2, -0.6, 0.9);

  for (const [chooser, choose] of Object.entries(choosers)) {
    it(`${chooser}: zero, in every order and mode, and the others as they are`, () => {
      for (const [name, f] of Object.entries(singular)) {
        const found = derivatives(choose(f), at, along, weights);
        // At a point where all are chosen, elements 2 and 3 have the derivatives they have here.
        const inside = derivatives(choose(f), Float64Array.of(0.5, 0.6, at[2], at[3]), along, weights);
        for (const key of Object.keys(found) as (keyof Derivatives)[]) {
          const [values, others] = [found[key], inside[key]];
          const turned = chooser === 'where after a gather' && key === 'tangent';
          const places = turned ? [3, 2, 1, 0] : [0, 1, 2, 3];
          const own = places.map(i => values[i]);
          expect(own.slice(0, 2).map(Math.abs), `${name}: ${key}`).to.deep.equal([0, 0]);
          // The weights of a gather are exchanged with the elements; all else is to the bit.
          if (chooser !== 'where after a gather')
            expect(own.slice(2), `${name}: ${key}`).to.deep.equal([others[2], others[3]]);
          else expect(own.slice(2).every(Number.isFinite), `${name}: ${key}`).to.equal(true);
        }
      }
    });
  }

  it('relu, maximum, minimum, clips and products with truth values choose too', () => {
    const truth = cast(positive, 'float');
    const y = [
      unary('sqrt', unary('relu', x)),
      unary('sqrt', binary('maximum', x, scalar(0.25))),
      binary('minimum', unary('sqrt', unary('abs', x)), scalar(-1)),
      mul(truth, unary('sqrt', unary('abs', x))),
      mul(scale(truth, 3), unary('log', add(unary('abs', x), scalar(0)))),
    ];
    for (const value of y.slice(0, 3)) {
      const {gradient, tangent} = derivatives(value, Float64Array.of(-1, -1, -1, 0), along, weights);
      // The slope of relu at 0 is 0, that of a maximum with a constant below it too.
      expect([...gradient, ...tangent].map(Math.abs)).to.deep.equal(new Array(8).fill(0));
    }
    for (const value of y.slice(3)) {
      const {gradient, tangent, forwardOverReverse} = derivatives(value, at, along, weights);
      for (const found of [gradient, tangent, forwardOverReverse])
        expect([found[0], found[1]].map(Math.abs)).to.deep.equal([0, 0]);
      for (const found of [gradient, tangent, forwardOverReverse]) expect(found.every(Number.isFinite)).to.equal(true);
    }
  });

  it('a guarded norm, one for all and one a row', () => {
    const square = sum(unary('square', x), [0]);
    const norm = select(binary('greater', square, scalar(0)), unary('sqrt', square), scalar(0));
    const zero = new Float64Array(n);
    const all = derivatives(broadcastTo(norm, [n]), zero, along, weights);
    for (const values of Object.values(all) as Float64Array[])
      expect([...values].map(Math.abs)).to.deep.equal([0, 0, 0, 0]);
  });

  it('what is chosen keeps an infinite slope, and a zero that is only a number does not hide it', () => {
    const y = unary('sqrt', x);
    const {gradient, tangent} = derivatives(y, Float64Array.of(0, 1, 1, 1), along, weights);
    expect([gradient[0], tangent[0]]).to.deep.equal([Infinity, Infinity]);
    expect(derivatives(y, Float64Array.of(0, 1, 1, 1), along, new Float64Array(n)).gradient[0]).to.deep.equal(NaN);
  });

  it('programs without choices are as they were', () => {
    const y = mul(unary('sqrt', add(unary('square', x), scalar(1))), unary('log', x));
    const gradient = orZeros(pullback([y], [x], [w])[0], x);
    expect(topological([gradient]).some(node => node.op === 'select')).to.equal(false);
  });

  slow('random compositions of choices have finite derivatives, those that differences give', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({max: 1e6}), {minLength: 12, maxLength: 12}), fc.integer(), (draws, seed) => {
        const random = generator(seed);
        const point = Float64Array.from({length: n}, (_, i) => (i % 2 === 0 ? -1 : 1) * (0.5 + random()));
        const names = Object.keys(singular);
        let value: Node = x;
        for (let k = 0; k < 3; k++) {
          const [fn, form, mix] = draws.slice(3 * k, 3 * k + 3);
          const f = singular[names[fn % names.length]];
          // Shifted by a bounded part of what is there, so that either sign comes up.
          const inner: Node = add(x, scale(unary('tanh', value), 0.3));
          const chosen = binary('greater', inner, scalar(0));
          const other = unary('sin', inner);
          const result =
            form % 3 === 0
              ? select(chosen, f(inner), other)
              : form % 3 === 1
                ? keepWhere(chosen, f(inner))
                : f(binary('maximum', inner, scalar(0.3)));
          value = mix % 2 === 0 ? result : transposeTwice(add(result, gather(result, Int32Array.of(1, 0, 3, 2), [n])));
        }
        const program = asFunction([value], [x]);
        const [d, c] = [
          Float64Array.from({length: n}, () => 2 * random() - 1),
          Float64Array.from({length: n}, () => 2 * random() - 1),
        ];
        const found = derivatives(value, point, d, c);
        for (const values of Object.values(found) as Float64Array[])
          expect([...values].every(Number.isFinite)).to.equal(true);
        const expected = differences(program, [point], [d]);
        const scaleOf = 1 + Math.max(...expected.values[0].map(Math.abs));
        expected.reliable[0].forEach((trusted, i) => {
          if (trusted) expect(found.tangent[i]).to.be.closeTo(expected.values[0][i], 1e-7 * scaleOf);
        });
        expect(dot([found.gradient], [d])).to.be.closeTo(dot([c], [found.tangent]), 1e-11 * scaleOf);
        const size = 1 + Math.max(...[...found.forwardOverReverse].map(Math.abs));
        found.forwardOverReverse.forEach((value_, i) =>
          expect(value_).to.be.closeTo(found.reverseOverForward[i], 1e-10 * size),
        );
      }),
      runs(40, 7),
    );
  });
});

const keepWhere = (condition: Node, value: Node): Node => select(condition, value, zeros(value.shape));
const transposeTwice = (value: Node): Node => reshape(sub(transpose(reshape(value, [2, 2]), [1, 0]), scalar(0)), [n]);
