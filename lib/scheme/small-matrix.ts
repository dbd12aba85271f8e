/** Dense matrices of a few rows, for the coefficients of methods: solved once, when a scheme is made. */
export type SmallMatrix = readonly (readonly number[])[];

/** X with A X = B, by Gauss's elimination with partial pivoting. */
export function solved(a: SmallMatrix, b: SmallMatrix): number[][] {
  const n = a.length;
  const rows = a.map((row, i) => [...row, ...b[i]]);
  for (let k = 0; k < n; k++) {
    const pivot = rows
      .slice(k)
      .reduce((best, row, i) => (Math.abs(row[k]) > Math.abs(rows[best][k]) ? k + i : best), k);
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let i = k + 1; i < n; i++) {
      const share = rows[i][k] / rows[k][k];
      if (share !== 0) for (let j = k; j < rows[i].length; j++) rows[i][j] -= share * rows[k][j];
    }
  }
  for (let k = n - 1; k >= 0; k--) {
    for (let j = n; j < rows[k].length; j++) {
      for (let i = k + 1; i < n; i++) rows[k][j] -= rows[k][i] * rows[i][j];
      rows[k][j] /= rows[k][k];
    }
  }
  return rows.map(row => row.slice(n));
}

export const identity = (n: number): number[][] =>
  Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => (i === j ? 1 : 0)));

export const times = (a: SmallMatrix, x: readonly number[]): number[] =>
  a.map(row => row.reduce((sum, value, j) => sum + value * x[j], 0));
