/**
 * The eigenpairs of K x = λ M x nearest to a shift σ, K symmetric and M positive semidefinite: block Lanczos iterations
 * of (K − σM)⁻¹ M, symmetric in the inner product of M, whose largest eigenvalues are 1/(λ − σ) (Grimes, Lewis & Simon,
 * SIAM J. Matrix Anal. Appl. 15, 1994). Each new vector is made orthogonal to all others, so that the projected matrix
 * is what was computed, and a full basis is restarted with the best Ritz vectors (Wu & Simon, SIAM J. Matrix Anal.
 * Appl. 22, 2000).
 */
import {StiffgradError} from '../errors.js';
import {EigenWorkspace, sortedEigen} from '../graph/primitives/eigen.js';
import {seeded} from '../random.js';
import {dot} from './krylov.js';

/** A product with a matrix: y ← A x. */
export type VectorProduct = (x: Float64Array, y: Float64Array) => void;

/** What `lanczos` solves. */
export interface ShiftedPencil {
  readonly n: number;
  /** How many eigenpairs are wanted. */
  readonly count: number;
  readonly shift: number;
  /** y ← (K − σM)⁻¹ x */
  readonly solve: VectorProduct;
  /** y ← M x */
  readonly mass: VectorProduct;
}

/** What `lanczos` found: fewer pairs than were wanted where M has a smaller rank. */
export interface EigenPairs {
  /** λ by growing distance from the shift. */
  readonly values: Float64Array;
  /** Of length 1 and orthogonal in the inner product of M. */
  readonly vectors: readonly Float64Array[];
  /** ‖(K − σM)⁻¹ M x − x/(λ − σ)‖ · |λ − σ|: an eigenvalue lies within so much of λ − σ, as a share of it. */
  readonly residuals: Float64Array;
  /** Systems that were solved. */
  readonly solves: number;
}

/** As many vectors in a block as a free body has rigid motions: eigenvalues repeated so often are found at once. */
const blockSize = 6;
/** Vectors of a basis beside those of the pairs that are wanted, after restarts by as many as were kept. */
const spare = 3 * blockSize;
/** Eigenvalues have twice as many digits as this residual, and vectors about as many. */
const tolerance = 1e-10;
/** Restarts at most; four suffice unless the shift is farther off than hundreds of eigenvalues from one another. */
const mostRestarts = 60;
/** A vector that loses all but this share of its length to others belongs to their space, within rounding. */
const insideShare = 1e-12;

/** @throws StiffgradError 'not-converged' where residuals stay above 1e-10 */
export function lanczos({n, count, shift, solve, mass}: ShiftedPencil): EigenPairs {
  const most = Math.min(n, 2 * count + spare);
  const basis = new MassBasis(n, mass);
  const start = new Float64Array(n);
  const random = seeded(0);
  /** A random vector without what M does not see; false where the basis has all of the space. */
  const addRandom = (): boolean => {
    for (let i = 0; i < n; i++) start[i] = random.next() / 2 ** 31;
    const fresh = new Float64Array(n);
    mass(start, fresh);
    solve(fresh, fresh);
    return basis.add(fresh) !== undefined;
  };
  for (let k = 0; k < Math.min(blockSize, n); k++) if (!addRandom()) break;
  /** Column j of the projected matrix, and the vectors of the basis that it has been computed with. */
  let columns: Float64Array[] = [];
  let solves = 0;
  const image = new Float64Array(n);
  for (let restart = 0; restart <= mostRestarts; restart++) {
    while (columns.length < basis.vectors.length && columns.length < most) {
      mass(basis.vectors[columns.length], image);
      solve(image, image);
      solves++;
      const room = basis.vectors.length < most + blockSize;
      const column = room ? basis.add(image.slice()) : undefined;
      columns.push(column ?? basis.coefficients(image));
      if (room && column === undefined) addRandom();
    }
    const done = columns.length;
    const {values, vectors} = ritzPairs(columns);
    const wanted = Math.min(count, done);
    /** What each Ritz vector's image has beside the space, by vector of the basis beyond it. */
    const beyond = vectors.map(s =>
      Float64Array.from({length: basis.vectors.length - done}, (_, k) =>
        s.reduce((sum, weight, j) => sum + weight * (columns[j][done + k] ?? 0), 0),
      ),
    );
    const residuals = Float64Array.from(values, (value, i) => Math.hypot(...beyond[i]) / Math.abs(value));
    const converged = residuals.subarray(0, wanted).every(residual => residual <= tolerance);
    if (converged || restart === mostRestarts) {
      if (!converged)
        throw new StiffgradError(
          'not-converged',
          `lanczos: of ${wanted} eigenpairs ${residuals.subarray(0, wanted).filter(r => r > tolerance).length} did not `
            + `converge in ${solves} solves. Take a shift nearer to the eigenvalues that you want, or fewer of them.`,
          {solves},
        );
      const found = vectors.slice(0, wanted).map(s => combined(basis.vectors, s, n));
      return {
        values: values.slice(0, wanted).map(value => shift + 1 / value),
        vectors: found,
        residuals: Float64Array.from(found, (x, i) => {
          mass(x, image);
          solve(image, image);
          for (let k = 0; k < n; k++) image[k] -= values[i] * x[k];
          return basis.lengthOf(image) / Math.abs(values[i]);
        }),
        solves: solves + wanted,
      };
    }
    const kept = Math.min(done - 1, count + Math.ceil(spare / 2));
    const next = [...vectors.slice(0, kept).map(s => combined(basis.vectors, s, n)), ...basis.vectors.slice(done)];
    columns = beyond.slice(0, kept).map((coupling, i) => {
      const column = new Float64Array(kept + coupling.length);
      column[i] = values[i];
      column.set(coupling, kept);
      return column;
    });
    basis.vectors = next;
  }
  throw new Error('unreachable');
}

/** Vectors of length 1 and orthogonal to one another in the inner product of M. */
class MassBasis {
  vectors: Float64Array[] = [];
  private readonly product: Float64Array;

  constructor(
    n: number,
    private readonly mass: VectorProduct,
  ) {
    this.product = new Float64Array(n);
  }

  /** Inner products of x with all vectors. */
  coefficients(x: Float64Array): Float64Array {
    this.mass(x, this.product);
    return Float64Array.from(this.vectors, v => dot(v, this.product));
  }

  /**
   * Adds what x has beside the vectors; x is changed.
   * @returns the inner products of x with all vectors, the new one the last; undefined where it has nothing beside them
   */
  add(x: Float64Array): Float64Array | undefined {
    const length = this.lengthOf(x);
    const total = new Float64Array(this.vectors.length + 1);
    // The second pass removes what rounding left of the first: "twice is enough" (Kahan, in Parlett 1980).
    for (let pass = 0; pass < 2; pass++) {
      const shares = this.coefficients(x);
      shares.forEach((share, k) => {
        const v = this.vectors[k];
        for (let i = 0; i < x.length; i++) x[i] -= share * v[i];
        total[k] += share;
      });
    }
    const left = this.lengthOf(x);
    if (!(left > insideShare * length)) return undefined;
    for (let i = 0; i < x.length; i++) x[i] /= left;
    total[total.length - 1] = left;
    this.vectors.push(x);
    return total;
  }

  lengthOf(x: Float64Array): number {
    this.mass(x, this.product);
    return Math.sqrt(Math.max(0, dot(x, this.product)));
  }
}

/** Eigenpairs of the symmetric matrix of these columns, largest size first. */
function ritzPairs(columns: readonly Float64Array[]): {values: Float64Array; vectors: Float64Array[]} {
  const m = columns.length;
  const T = new Float64Array(m * m);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < m; j++) T[i * m + j] = ((columns[j][i] ?? 0) + (columns[i][j] ?? 0)) / 2;
  const values = new Float64Array(m);
  const all = new Float64Array(m * m);
  sortedEigen(T, 0, new EigenWorkspace(m), values, 0, all, 0);
  const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  return {
    values: Float64Array.from(order, k => values[k]),
    vectors: order.map(k => Float64Array.from({length: m}, (_, i) => all[i * m + k])),
  };
}

function combined(vectors: readonly Float64Array[], weights: Float64Array, n: number): Float64Array {
  const sum = new Float64Array(n);
  weights.forEach((weight, k) => {
    const v = vectors[k];
    for (let i = 0; i < n; i++) sum[i] += weight * v[i];
  });
  return sum;
}
