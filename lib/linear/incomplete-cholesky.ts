/**
 * Incomplete Cholesky without fill, IC(0): L has the entries of the matrix's lower triangle, and L Lᵀ agrees with the
 * matrix there (Meijerink & van der Vorst 1977). A pivot may fail though the matrix is definite; then A + α diag(A) is
 * factored, α growing until it has pivots (Manteuffel 1980; the increments are those of Lin & Moré 1999).
 */
import {blockPattern, type BlockPattern, type BlockRows} from './block-rows.js';
import {throwIndefinite, throwNotFinite} from './krylov-errors.js';
import type {MatrixPreconditioner, PreconditionerFactor} from './preconditioner.js';

/** First shift, and the one at which the diagonal dominates any definite matrix that shifts can help. */
const [FIRST_SHIFT, LARGEST_SHIFT] = [1e-3, 1e3];

/** IC(0), shifted where a pivot fails. */
export const incompleteCholesky: MatrixPreconditioner = {
  name: 'incomplete-cholesky',
  isSymmetric: true,
  blocks: pattern => blockPattern(pattern, 1),
  analyzeBlocks(blocks) {
    const lower = lowerTriangle(blocks);
    return () => new IncompleteCholesky(lower);
  },
};

/** Rows of L, each ending with its diagonal entry, and where the numbers are in the matrix. */
interface Lower {
  readonly n: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
  readonly source: Int32Array;
}

function lowerTriangle({count: n, rowPointers, columns}: BlockPattern): Lower {
  const pointers = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) {
    let below = 1;
    for (let p = rowPointers[i]; p < rowPointers[i + 1] && columns[p] < i; p++) below++;
    pointers[i + 1] = pointers[i] + below;
  }
  const [own, source] = [new Int32Array(pointers[n]), new Int32Array(pointers[n]).fill(-1)];
  for (let i = 0, end = 0; i < n; i++) {
    let p = rowPointers[i];
    for (; p < rowPointers[i + 1] && columns[p] < i; p++, end++) [own[end], source[end]] = [columns[p], p];
    own[end] = i;
    source[end++] = p < rowPointers[i + 1] && columns[p] === i ? p : -1;
  }
  return {n, rowPointers: pointers, columns: own, source};
}

class IncompleteCholesky implements PreconditionerFactor {
  private readonly l: Float64Array;
  /** The shift of the last matrix, as a share of its diagonal. */
  shift = 0;

  constructor(private readonly lower: Lower) {
    this.l = new Float64Array(lower.columns.length);
  }

  get size(): number {
    return this.l.length;
  }

  refactor({values}: BlockRows): void {
    const {n, rowPointers, source} = this.lower;
    for (let i = 0; i < n; i++) {
      const place = source[rowPointers[i + 1] - 1];
      const entry = place < 0 ? 0 : values[place];
      if (!Number.isFinite(entry))
        throwNotFinite('incomplete-cholesky', `its diagonal entry ${i} is ${entry}`, {rows: [i]});
      if (!(entry > 0)) throwIndefinite('incomplete-cholesky', `its diagonal entry ${i} is ${entry}`, {rows: [i]});
    }
    this.shift = 0;
    while (!this.tryFactor(values)) {
      this.shift = this.shift === 0 ? FIRST_SHIFT : 2 * this.shift;
      if (this.shift > LARGEST_SHIFT)
        throwIndefinite('incomplete-cholesky', 'no shift of its diagonal gives it positive pivots', {});
    }
  }

  /** Row by row; the diagonal of L is kept as its reciprocal. False where a pivot is not positive. */
  private tryFactor(values: Float64Array): boolean {
    const {l, shift} = this;
    const {n, rowPointers, columns, source} = this.lower;
    for (let i = 0; i < n; i++) {
      const begin = rowPointers[i];
      const last = rowPointers[i + 1] - 1;
      const diagonal = values[source[last]];
      let pivot = diagonal * (1 + shift);
      for (let p = begin; p < last; p++) {
        const k = columns[p];
        let sum = values[source[p]];
        const end = rowPointers[k + 1] - 1;
        for (let q = begin, s = rowPointers[k]; q < p && s < end;) {
          const difference = columns[q] - columns[s];
          if (difference === 0) sum -= l[q++] * l[s++];
          else if (difference < 0) q++;
          else s++;
        }
        l[p] = sum * l[end];
        pivot -= l[p] * l[p];
      }
      if (!(pivot > Number.EPSILON * diagonal)) return false;
      l[last] = 1 / Math.sqrt(pivot);
    }
    return true;
  }

  solve(r: Float64Array, z: Float64Array): void {
    const {l} = this;
    const {n, rowPointers, columns} = this.lower;
    for (let i = 0; i < n; i++) {
      const last = rowPointers[i + 1] - 1;
      let sum = r[i];
      for (let p = rowPointers[i]; p < last; p++) sum -= l[p] * z[columns[p]];
      z[i] = sum * l[last];
    }
    for (let i = n - 1; i >= 0; i--) {
      const last = rowPointers[i + 1] - 1;
      const value = (z[i] *= l[last]);
      for (let p = rowPointers[i]; p < last; p++) z[columns[p]] -= l[p] * value;
    }
  }
}
