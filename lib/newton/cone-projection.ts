/** The nearest point of Coulomb's cone |x_T| ≤ μ x_N, with which p = projection of p − ρ (u + μ|u_T| e_N) is De Saxcé's form of the laws of contact. */

/** x, [rows], normal component first, to its projection in place. @returns whether it is on the border of the cone, and not at its tip */
export function ontoCone(x: Float64Array, rows: number, mu: number): boolean {
  if (rows === 1) {
    x[0] = Math.max(0, x[0]);
    return false;
  }
  let size = 0;
  for (let i = 1; i < rows; i++) size += x[i] * x[i];
  size = Math.sqrt(size);
  if (mu * size <= -x[0]) {
    x.fill(0, 0, rows);
    return false;
  }
  if (size <= mu * x[0]) return false;
  x[0] = (x[0] + mu * size) / (1 + mu * mu);
  for (let i = 1; i < rows; i++) x[i] *= (mu * x[0]) / size;
  return true;
}
