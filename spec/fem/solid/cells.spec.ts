/** Shape functions and quadrature against what defines them. */
import {expect} from 'chai';
import {quadrature} from '../../../fem/cells/quadrature.js';
import {isSimplex, referenceNodes, shapeFunctions} from '../../../fem/cells/shape-functions.js';
import {cellShape, cellShapes} from '../../../fem/mesh/cell-types.js';

const types = cellShapes.filter(({dimension}) => dimension > 0).map(({type}) => type);
const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

/** The integral of Π x_kᵃᵏ over a reference cell. */
function monomial(type: (typeof types)[number], powers: readonly number[]): number {
  if (isSimplex(cellShape(type)))
    return powers.reduce((product, a) => product * factorial(a), 1) / factorial(sum(powers) + powers.length);
  return powers.reduce((product, a) => product * (a % 2 === 1 ? 0 : 2 / (a + 1)), 1);
}

/** All exponents whose sum is at most the degree. */
function exponents(dimension: number, degree: number): number[][] {
  if (dimension === 0) return [[]];
  return Array.from({length: degree + 1}, (_, a) => a).flatMap(a =>
    exponents(dimension - 1, degree - a).map(rest => [a, ...rest]),
  );
}

describe('shape functions', () => {
  for (const type of types)
    it(`of ${type} are one at their own node, sum to one, and have the derivatives given`, () => {
      const N = shapeFunctions(type);
      const {dimension, nodes} = cellShape(type);
      referenceNodes(type).forEach((node, i) => {
        N(node).values.forEach((value, j) => expect(value).to.be.closeTo(i === j ? 1 : 0, 1e-14));
      });
      const at = [0.21, 0.13, 0.32].slice(0, dimension);
      const {values, derivatives} = N(at);
      expect(values).to.have.length(nodes);
      expect(sum(values)).to.be.closeTo(1, 1e-14);
      for (let k = 0; k < dimension; k++) {
        const h = 1e-5;
        const [after, before] = [h, -h].map(s => N(at.map((x, i) => (i === k ? x + s : x))).values);
        expect(sum(derivatives.map(row => row[k]))).to.be.closeTo(0, 1e-14);
        derivatives.forEach((row, i) => expect(row[k]).to.be.closeTo((after[i] - before[i]) / (2 * h), 1e-9));
      }
    });
});

describe('quadrature', () => {
  for (const type of types.filter(one => cellShape(one).order === 1))
    for (const degree of [1, 2, 3, 4, 5, 6])
      it(`on ${type} is exact to degree ${degree}`, () => {
        const {points, weights} = quadrature(type, degree);
        for (const powers of exponents(cellShape(type).dimension, degree)) {
          const value = sum(points.map((x, p) => weights[p] * powers.reduce((m, a, k) => m * x[k] ** a, 1)));
          expect(value, powers.join()).to.be.closeTo(monomial(type, powers), 2e-14);
        }
      });
});
