/** Functions of numbers against published values, and at the special points. */
import {expect} from 'chai';
import {binary, input, scalar, unary} from '../../lib/graph/build.js';
import {pushforward} from '../../lib/graph/differentiate.js';
import type {BinaryName, Node, UnaryName} from '../../lib/graph/node.js';
import {binaryRules, unaryRules} from '../../lib/graph/primitives/elementwise.js';
import {binaryKernel, unaryKernel} from '../../lib/graph/primitives/loops.js';
import {evaluate} from './evaluate.js';

const ulp = Number.EPSILON;

/** Relative error of a few units of the last place: one for each rounding in the formulas, the exponential's of e^(−x²) growing with x². */
function expectRelative(name: UnaryName, table: readonly (readonly [x: number, y: number])[], ulps: number): void {
  for (const [x, y] of table)
    expect(unaryRules[name].value(x), `${name}(${x})`).to.be.closeTo(y, ulps * ulp * Math.abs(y));
}

describe('graph: functions of numbers', () => {
  it('erf agrees with mpmath to 40 digits, rounded', () => {
    expectRelative(
      'erf',
      [
        [1e-300, 1.1283791670955125739e-300],
        [1e-10, 1.1283791670955125739e-10],
        [0.1, 0.1124629160182848922],
        [0.5, 0.52049987781304653768],
        [1, 0.84270079294971486934],
        [1.5, 0.96610514647531072707],
        [2, 0.99532226501895273416],
        [2.5, 0.99959304798255504106],
        [2.9999, 0.99997789557351783912],
        [3, 0.99997790950300141456],
        [3.5, 0.99999925690162765859],
        [4, 0.99999998458274209972],
        [5, 0.99999999999846254021],
        [5.9, 0.9999999999999999281],
        [-0.7, -0.67780119383741847298],
        [-2.2, -0.99813715370201810856],
        [30, 1],
        [-30, -1],
      ],
      6,
    );
    expect(unaryRules.erf.value(0)).to.equal(0);
  });

  it('the logistic function and its integral keep relative precision on both tails (mpmath, 40 digits)', () => {
    expectRelative(
      'sigmoid',
      [
        [-745, 2.8223507304719370764e-324],
        [-100, 3.720075976020835963e-44],
        [-40, 4.2483542552915889773e-18],
        [-5, 0.0066928509242848555594],
        [-0.5, 0.37754066879814543536],
        [0, 0.5],
        [0.5, 0.62245933120185456464],
        [5, 0.99330714907571514444],
        [36, 0.99999999999999976805],
        [800, 1],
      ],
      2,
    );
    expectRelative(
      'softplus',
      [
        [-40, 4.2483542552915889863e-18],
        [-5, 0.0067153484891180686164],
        [-0.5, 0.47407698418010668087],
        [0, 0.69314718055994530942],
        [0.5, 0.97407698418010668087],
        [5, 5.0067153484891180686],
        [36, 36.000000000000000232],
        [100, 100],
        [1000, 1000],
      ],
      2,
    );
    expect(unaryRules.softplus.value(-Infinity)).to.equal(0);
    expect(unaryRules.softplus.value(Infinity)).to.equal(Infinity);
  });

  it('rounding goes to the nearest, halves to the even number', () => {
    const table = [
      [0.5, 0],
      [1.5, 2],
      [2.5, 2],
      [-0.5, 0],
      [-1.5, -2],
      [-2.5, -2],
      [0.49999999999999994, 0],
      [4503599627370495.5, 4503599627370496],
      [1e300, 1e300],
      [-Infinity, -Infinity],
    ];
    for (const [x, y] of table) expect(unaryRules.round.value(x) + 0, `round(${x})`).to.equal(y);
  });

  it("the remainder has the divisor's sign, and goes with the rounded-down quotient", () => {
    const table = [
      [7, 3, 1],
      [-7, 3, 2],
      [7, -3, -2],
      [-7, -3, -1],
      [6, 3, 0],
      [-6, 3, 0],
      [0, 5, 0],
      [5.5, 2, 1.5],
      [-0.25, 1, 0.75],
    ];
    for (const [a, b, rest] of table) {
      expect(binaryRules.mod.value(a, b) + 0, `${a} mod ${b}`).to.equal(rest);
      expect(b * binaryRules.floorDiv.value(a, b) + rest).to.equal(a);
    }
  });

  it('loops compute what the functions do, to the bit, with single numbers for arrays on either side', () => {
    const points = [0, -0, 0.5, -0.5, 1, -1, 2.5, -3.7, 7, 1e-9, 1e9, -1e300, 0.999, Infinity, -Infinity, NaN];
    const x = Float64Array.from(points);
    const [a, b] = [
      Float64Array.from(points.flatMap(value => points.map(() => value))),
      Float64Array.from(points.flatMap(() => points)),
    ];
    for (const name of Object.keys(unaryRules) as UnaryName[]) {
      const out = new Float64Array(x.length);
      unaryKernel(name)([x], out);
      expect(out, name).to.deep.equal(x.map(unaryRules[name].value));
    }
    for (const name of Object.keys(binaryRules) as BinaryName[]) {
      const expected = a.map((value, i) => binaryRules[name].value(value, b[i]));
      const kernel = binaryKernel(name);
      const out = new Float64Array(a.length);
      kernel([a, b], out);
      expect(out, name).to.deep.equal(expected);
      points.forEach((value, k) => {
        const row = new Float64Array(points.length);
        kernel([Float64Array.of(value), x], row);
        expect(row, name).to.deep.equal(expected.slice(k * points.length, (k + 1) * points.length));
        kernel([x, Float64Array.of(value)], row);
        expect(row, name).to.deep.equal(Float64Array.from(points, (_, i) => expected[i * points.length + k]));
      });
    }
  });

  it('what is not a number stays so, except where a truth value or a sign is asked', () => {
    const blind: readonly UnaryName[] = ['sign', 'positive', 'isNaN', 'isInf', 'isFinite', 'not', 'nonzero'];
    for (const name of Object.keys(unaryRules) as UnaryName[]) {
      expect(Number.isNaN(unaryRules[name].value(NaN)), name).to.equal(!blind.includes(name));
    }
    const asked: readonly BinaryName[] = [
      'equal',
      'notEqual',
      'less',
      'lessEqual',
      'greater',
      'greaterEqual',
      'and',
      'or',
      'bitwiseAnd',
    ];
    for (const name of Object.keys(binaryRules) as BinaryName[]) {
      expect(Number.isNaN(binaryRules[name].value(NaN, 1)), name).to.equal(!asked.includes(name));
      expect(Number.isNaN(binaryRules[name].value(1, NaN)), name).to.equal(!asked.includes(name));
    }
  });
});

/** dy/dx of a function of scalars at a point. */
function slope(build: (x: Node) => Node, x: number): number {
  const node = input('x', []);
  const [tangent] = pushforward([build(node)], new Map([[node, scalar(1)]]));
  return tangent === undefined ? 0 : evaluate([tangent], [node], [Float64Array.of(x)])[0][0];
}

describe('graph: derivatives at special points', () => {
  it('powers have theirs at zero', () => {
    expect(slope(x => binary('pow', x, scalar(1)), 0)).to.equal(1);
    expect(slope(x => binary('pow', x, scalar(2)), 0)).to.equal(0);
    expect(slope(x => binary('pow', x, scalar(3)), 0)).to.equal(0);
    expect(slope(x => binary('pow', x, scalar(0)), 0)).to.equal(0);
    expect(slope(x => binary('pow', x, scalar(3)), -2)).to.equal(12);
    // x^(x − x) = 1, whose exponent is not known to be zero beforehand.
    expect(slope(x => binary('pow', x, binary('sub', x, x)), 0)).to.equal(0);
    expect(slope(x => binary('pow', scalar(0), x), 2)).to.equal(0);
    expect(slope(x => binary('pow', scalar(2), x), 3)).to.be.closeTo(8 * Math.LN2, 8 * ulp);
  });

  it('the third power is two products, at its special values too', () => {
    for (const x of [2, -3, 0.1, 1e-200, 1e103, -1e120, 0, -0, Infinity, -Infinity, NaN]) {
      const node = input('x', []);
      const cube = binary('pow', node, scalar(3));
      expect(cube.op === 'binary' && (cube as Node<'binary'>).attributes.fn).to.equal('mul');
      const value = evaluate([cube], [node], [Float64Array.of(x)])[0][0];
      const power = Math.pow(x, 3);
      if (Number.isFinite(power) && power !== 0) expect(value / power).to.be.closeTo(1, 2 * ulp);
      else expect(value).to.deep.equal(power);
    }
  });

  it('|x|² has the second derivative 2 at zero too, so that norms have theirs', () => {
    const square = (x: Node): Node => binary('mul', unary('abs', x), unary('abs', x));
    const first = (x: Node): Node => pushforward([square(x)], new Map([[x, scalar(1)]]))[0] as Node;
    for (const x of [-1, 0, 1]) expect(slope(first, x)).to.equal(2);
  });

  it('at a kink: the left slope for |x| and the positive part, the first operand at a tie', () => {
    expect(slope(x => unary('abs', x), 0)).to.equal(-1);
    expect(slope(x => unary('relu', x), 0)).to.equal(0);
    expect(slope(x => binary('maximum', x, scalar(0)), 0)).to.equal(1);
    expect(slope(x => binary('maximum', scalar(0), x), 0)).to.equal(0);
    expect(slope(x => binary('minimum', x, scalar(0)), 0)).to.equal(1);
    expect(slope(x => binary('minimum', scalar(0), x), 0)).to.equal(0);
  });

  it('inverse functions keep relative precision next to the ends of their domains', () => {
    // With e = 2⁻⁴⁰ and x = 1 − e, which is a double: (1 − x)(1 + x) = e (2 − e), where 1 − x² would be off by 2⁻¹⁴ of itself.
    const e = 2 ** -40;
    const gap = e * (2 - e);
    expect(slope(x => unary('asin', x), 1 - e)).to.be.closeTo(1 / Math.sqrt(gap), (4 * ulp) / Math.sqrt(gap));
    expect(slope(x => unary('acos', x), 1 - e)).to.be.closeTo(-1 / Math.sqrt(gap), (4 * ulp) / Math.sqrt(gap));
    expect(slope(x => unary('atanh', x), 1 - e)).to.be.closeTo(1 / gap, (4 * ulp) / gap);
    expect(slope(x => unary('acosh', x), 1 + e)).to.be.closeTo(
      1 / Math.sqrt(e * (2 + e)),
      (4 * ulp) / Math.sqrt(2 * e),
    );
  });
});
