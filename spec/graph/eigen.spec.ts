/** Jacobi rotations against eigenvalues in closed form, and what becomes of matrices that are no ordinary ones. */
import {expect} from 'chai';
import {input, semidefinite} from '../../lib/graph/build.js';
import {diagonalize} from '../../lib/graph/primitives/eigen.js';
import {evaluate} from './evaluate.js';

const ascending = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);

function eigenvalues(a: Float64Array, n: number): {values: number[]; vectors: Float64Array} {
  const [matrix, vectors] = [a.slice(), new Float64Array(n * n)];
  diagonalize(matrix, vectors, n);
  return {values: Array.from({length: n}, (_, i) => matrix[i * n + i]), vectors};
}

const project = (a: Float64Array, n: number, absolute = false): Float64Array => {
  const node = input('a', [1, n, n]);
  return evaluate([semidefinite(node, absolute ? 'turned' : 'zero')], [node], [a])[0];
};

describe('symmetric eigenvalues', () => {
  it('of the second difference are 2 − 2 cos(πk/(n + 1)), n up to 12', () => {
    for (let n = 1; n <= 12; n++) {
      const a = new Float64Array(n * n);
      for (let i = 0; i < n; i++) {
        a[i * n + i] = 2;
        if (i > 0) a[i * n + i - 1] = a[(i - 1) * n + i] = -1;
      }
      const found = ascending(eigenvalues(a, n).values);
      // A few ε of the largest, 4.
      found.forEach((value, k) => expect(value).to.be.closeTo(2 - 2 * Math.cos((Math.PI * (k + 1)) / (n + 1)), 4e-15));
    }
  });

  it('of a Hilbert matrix are there to ε of the largest, with orthonormal vectors that give it back', () => {
    const n = 6;
    const a = Float64Array.from({length: n * n}, (_, at) => 1 / (Math.floor(at / n) + (at % n) + 1));
    const {values, vectors} = eigenvalues(a, n);
    // Eigenvalues of the 6×6 Hilbert matrix: Gregory & Karney, A Collection of Matrices for Testing Computational Algorithms (1969).
    [
      1.08279948456555e-7, 1.257075712262519e-5, 6.157483541826578e-4, 1.63215213198758e-2, 2.423608705752096e-1,
      1.618899858924339,
    ].forEach((expected, k) => expect(ascending(values)[k]).to.be.closeTo(expected, 2e-15));
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let [inner, back] = [0, 0];
        for (let k = 0; k < n; k++) {
          inner += vectors[k * n + i] * vectors[k * n + j];
          back += vectors[i * n + k] * values[k] * vectors[j * n + k];
        }
        expect(inner).to.be.closeTo(i === j ? 1 : 0, 1e-14);
        expect(back).to.be.closeTo(a[i * n + j], 1e-14);
      }
    }
  });

  it('are found at any scale, and where they are equal', () => {
    for (const size of [1e-150, 1e150]) {
      const {values} = eigenvalues(Float64Array.of(size, 2 * size, 2 * size, size), 2);
      // 1 ± 2.
      ascending(values).forEach((value, k) => expect(value / size).to.be.closeTo([-1, 3][k], 1e-15));
    }
    expect(eigenvalues(new Float64Array(9), 3).values).to.deep.equal([0, 0, 0]);
    expect(eigenvalues(Float64Array.of(5, 0, 0, 0, 5, 0, 0, 0, 5), 3).values).to.deep.equal([5, 5, 5]);
  });
});

describe('the projection to semidefinite', () => {
  it('of a compressed spring leaves its axis and drops what is across, in closed form', () => {
    // k (nnᵀ + (1 − L/l)(I − nnᵀ)), n = (3, 4)/5, L/l = 1.5.
    const [k, across] = [7, 7 * (1 - 1.5)];
    const along = [
      [0.36, 0.48],
      [0.48, 0.64],
    ];
    const block = along.map((row, i) => row.map((value, j) => k * value + across * ((i === j ? 1 : 0) - value)));
    const flat = Float64Array.from(block.flat());
    project(flat, 2).forEach((value, i) => expect(value).to.be.closeTo(k * along.flat()[i], 1e-15 * 20));
    const turned = along
      .map((row, i) => row.map((value, j) => k * value - across * ((i === j ? 1 : 0) - value)))
      .flat();
    project(flat, 2, true).forEach((value, i) => expect(value).to.be.closeTo(turned[i], 1e-15 * 20));
  });

  it('leaves a semidefinite block as it is to the bit, singular ones and zeros too', () => {
    for (const kept of [
      [4, 2, 2, 1],
      [0, 0, 0, 0],
      [0, 0, 0, 3],
      [2, -1, -1, 2],
    ])
      expect(Array.from(project(Float64Array.from(kept), 2))).to.deep.equal(kept);
  });

  it('makes nothing of a negative definite block, and its negative when turned over', () => {
    project(Float64Array.of(-4, 1, 1, -2), 2).forEach(value => expect(value).to.be.closeTo(0, 2e-15));
    project(Float64Array.of(-4, 1, 1, -2), 2, true).forEach((value, i) =>
      expect(value).to.be.closeTo([4, -1, -1, 2][i], 4e-15),
    );
  });

  it('hands on what is not a number', () => {
    expect(Array.from(project(Float64Array.of(NaN, 0, 0, 1), 2)).some(Number.isNaN)).to.equal(true);
    expect(Array.from(project(Float64Array.of(1, Infinity, Infinity, 1), 2)).every(Number.isFinite)).to.equal(false);
  });
});
