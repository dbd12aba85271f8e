/**
 * Eigenvalues of a real matrix: balanced, Hessenberg form by reflections, then Francis's QR steps with double shifts
 * (EISPACK's balanc, orthes and hqr; Golub & Van Loan, Matrix Computations, §7.5).
 */
import {SingularMatrixError} from '../errors.js';

/** A complex number. */
export interface Eigenvalue {
  readonly real: number;
  readonly imaginary: number;
}

/** QR steps for one eigenvalue, after which EISPACK gives up; two or three are usual. */
const maxSteps = 60;

/** By falling real part; of a pair the one with the positive imaginary part first. */
export function eigenvaluesOf(matrix: readonly (readonly number[])[]): Eigenvalue[] {
  const {alone, rest} = apart(matrix);
  // In the unit of the largest entry, a power of two: squares of entries neither overflow nor underflow.
  const most = rest.flat().reduce((size, x) => Math.max(size, Math.abs(x)), 0);
  const unit = most > 0 && Number.isFinite(most) ? 2 ** Math.floor(Math.log2(most)) : 1;
  const scaled = rest.map(row => row.map(x => x / unit));
  const found = [
    ...alone.map(real => ({real, imaginary: 0})),
    ...qr(hessenberg(balanced(scaled))).map(({real, imaginary}) => ({real: real * unit, imaginary: imaginary * unit})),
  ];
  return found.sort((a, b) => b.real - a.real || b.imaginary - a.imaginary);
}

/**
 * Eigenvalues that stand on the diagonal, as nothing else is in their row or in their column, and the matrix without
 * those rows and columns.
 */
function apart(matrix: readonly (readonly number[])[]): {readonly alone: number[]; readonly rest: number[][]} {
  const alone: number[] = [];
  let left = [...matrix.keys()];
  for (;;) {
    const found = left.find(i =>
      [(j: number) => matrix[i][j], (j: number) => matrix[j][i]].some(entry =>
        left.every(j => j === i || entry(j) === 0),
      ),
    );
    if (found === undefined) return {alone, rest: left.map(i => left.map(j => matrix[i][j]))};
    alone.push(matrix[found][found]);
    left = left.filter(i => i !== found);
  }
}

/** A scaling ends where it gains less than this (EISPACK). */
const gain = 0.95;

/**
 * D⁻¹ A D with powers of two in D, so that what is beside the diagonal is about as large in each row as in its column
 * (Parlett & Reinsch 1969): eigenvalues do not lose digits to the units of the states.
 */
function balanced(a: number[][]): number[][] {
  const beside = (i: number, entry: (j: number) => number): number =>
    a.reduce((sum, _, j) => (j === i ? sum : sum + Math.abs(entry(j))), 0);
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < a.length; i++) {
      const [column, row] = [beside(i, j => a[j][i]), beside(i, j => a[i][j])];
      if (!(column > 0 && row > 0 && Number.isFinite(column + row))) continue;
      // The power of two nearest to the root of row over column.
      const f = 2 ** Math.round(Math.log2(row / column) / 2);
      if (!(column * f + row / f < gain * (column + row))) continue;
      changed = true;
      for (let j = 0; j < a.length; j++) a[i][j] /= f;
      for (const other of a) other[i] *= f;
    }
  }
  return a;
}

/**
 * By reflections (EISPACK's orthes): elimination would turn a symmetric matrix into one whose close eigenvalues lose
 * half of their digits.
 */
function hessenberg(a: number[][]): number[][] {
  const n = a.length;
  for (let m = 1; m < n - 1; m++) {
    if (a.every((row, i) => i <= m || row[m - 1] === 0)) continue;
    const size = a.slice(m).reduce((most, row) => Math.max(most, Math.abs(row[m - 1])), 0);
    // I − v vᵀ/(v·v / 2) takes column m − 1 below the diagonal to a multiple of its first unit vector.
    const v = a.map((row, i) => (i < m ? 0 : row[m - 1] / size));
    const length = Math.hypot(...v);
    v[m] += v[m] < 0 ? -length : length;
    const half = v.reduce((sum, x) => sum + x * x, 0) / 2;
    for (let j = m - 1; j < n; j++) {
      const along = v.reduce((sum, x, i) => sum + x * a[i][j], 0) / half;
      for (let i = m; i < n; i++) a[i][j] -= along * v[i];
    }
    for (const row of a) {
      const along = row.reduce((sum, x, j) => sum + x * v[j], 0) / half;
      for (let j = m; j < n; j++) row[j] -= along * v[j];
    }
    for (let i = m + 1; i < n; i++) a[i][m - 1] = 0;
  }
  return a;
}

function qr(a: number[][]): Eigenvalue[] {
  const found: Eigenvalue[] = [];
  const norm = a.reduce((sum, row, i) => sum + row.slice(Math.max(i - 1, 0)).reduce((s, x) => s + Math.abs(x), 0), 0);
  let last = a.length - 1;
  let shifted = 0;
  for (let steps = 0; last >= 0;) {
    const first = splitAt(a, last, norm);
    const x = a[last][last];
    if (first === last) {
      found.push({real: x + shifted, imaginary: 0});
      last--;
      steps = 0;
      continue;
    }
    const y = a[last - 1][last - 1];
    const w = a[last][last - 1] * a[last - 1][last];
    if (first === last - 1) {
      found.push(...pair(x + shifted, y + shifted, w));
      last -= 2;
      steps = 0;
      continue;
    }
    if (steps === maxSteps)
      throw new SingularMatrixError('no-eigenvalues', 'The eigenvalues were not found: is the matrix finite?', {
        rows: [],
      });
    let [sx, sy, sw] = [x, y, w];
    // An exceptional shift breaks a cycle.
    if (steps % 10 === 9) {
      shifted += x;
      for (let i = 0; i <= last; i++) a[i][i] -= x;
      const s = Math.abs(a[last][last - 1]) + Math.abs(a[last - 1][last - 2]);
      [sx, sy, sw] = [0.75 * s, 0.75 * s, -0.4375 * s * s];
    }
    steps++;
    francis(a, first, last, sx, sy, sw);
  }
  return found;
}

/** An entry that is zero beside the norm: products of two of them underflow, and the steps would not converge. */
const vanishing = 1e-150;

/** Where the last block that does not fall apart begins. */
function splitAt(a: number[][], last: number, norm: number): number {
  for (let l = last; l >= 1; l--) {
    const s = Math.abs(a[l - 1][l - 1]) + Math.abs(a[l][l]);
    if (Math.abs(a[l][l - 1]) <= Math.max(Number.EPSILON * (s === 0 ? norm : s), vanishing * norm)) {
      a[l][l - 1] = 0;
      return l;
    }
  }
  return 0;
}

/** The eigenvalues of [y, ·; ·, x] with w the product of its other entries. */
function pair(x: number, y: number, w: number): Eigenvalue[] {
  const p = 0.5 * (y - x);
  const q = p * p + w;
  const z = Math.sqrt(Math.abs(q));
  if (q < 0)
    return [
      {real: x + p, imaginary: z},
      {real: x + p, imaginary: -z},
    ];
  const far = p + (p >= 0 ? z : -z);
  return [
    {real: x + far, imaginary: 0},
    {real: far === 0 ? x : x - w / far, imaginary: 0},
  ];
}

/** One double step on the block from `first` to `last`. */
function francis(a: number[][], first: number, last: number, x: number, y: number, w: number): void {
  let [p, q, r] = [0, 0, 0];
  let m = last - 2;
  for (; m >= first; m--) {
    const z = a[m][m];
    const [u, v] = [x - z, y - z];
    p = (u * v - w) / a[m + 1][m] + a[m][m + 1];
    q = a[m + 1][m + 1] - z - u - v;
    r = a[m + 2][m + 1];
    const s = Math.abs(p) + Math.abs(q) + Math.abs(r);
    [p, q, r] = [p / s, q / s, r / s];
    if (m === first) break;
    const small = Math.abs(a[m][m - 1]) * (Math.abs(q) + Math.abs(r));
    const size = Math.abs(p) * (Math.abs(a[m - 1][m - 1]) + Math.abs(z) + Math.abs(a[m + 1][m + 1]));
    if (small <= Number.EPSILON * size) break;
  }
  for (let i = m + 2; i <= last; i++) {
    a[i][i - 2] = 0;
    if (i > m + 2) a[i][i - 3] = 0;
  }
  for (let k = m; k < last; k++) {
    let scale = 0;
    if (k > m) {
      [p, q, r] = [a[k][k - 1], a[k + 1][k - 1], k < last - 1 ? a[k + 2][k - 1] : 0];
      scale = Math.abs(p) + Math.abs(q) + Math.abs(r);
      if (scale === 0) continue;
      [p, q, r] = [p / scale, q / scale, r / scale];
    }
    const s = Math.hypot(p, q, r) * (p < 0 ? -1 : 1);
    if (s === 0) continue;
    if (k > m) a[k][k - 1] = -s * scale;
    else if (first !== m) a[k][k - 1] = -a[k][k - 1];
    p += s;
    const [fx, fy, fz] = [p / s, q / s, r / s];
    [q, r] = [q / p, r / p];
    for (let j = k; j <= last; j++) {
      const sum = a[k][j] + q * a[k + 1][j] + (k < last - 1 ? r * a[k + 2][j] : 0);
      if (k < last - 1) a[k + 2][j] -= sum * fz;
      a[k + 1][j] -= sum * fy;
      a[k][j] -= sum * fx;
    }
    for (let i = first; i <= Math.min(last, k + 3); i++) {
      const sum = fx * a[i][k] + fy * a[i][k + 1] + (k < last - 1 ? fz * a[i][k + 2] : 0);
      if (k < last - 1) a[i][k + 2] -= sum * r;
      a[i][k + 1] -= sum * q;
      a[i][k] -= sum;
    }
  }
}
