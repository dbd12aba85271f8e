/**
 * Impulses of contacts by the alternating direction method of multipliers (Boyd et al. 2011; for contacts Carpentier, Le Lidec & Montaut,
 * arXiv:2405.17020): min ½vᵀAv − bᵀv with z = G v + c + μ|z_T| e_N in the dual of Coulomb's cone, De Saxcé's correction from the iteration before. All iterations
 * share one matrix, A + ρ Gᵀ W⁻¹ G with W what impulses give themselves, so that one costs a solution. They come near from anywhere, by a digit in
 * some hundred where contacts are wedged.
 */
import type {Factor} from '../linear/index.js';
import type {ConeContacts} from './cone-contacts.js';
import {ontoCone} from './cone-projection.js';

/** On 23 steps of a pile of 100 balls, 1000 iterations of ρ = 1, 3, 10 left 1e-4, 1e-5, 1e-6 of the velocity; with 30 the correction did not settle. */
const firstRho = 10;
const leastRho = 1;

export class ConeSplitting {
  private rho = firstRho;
  private stale = true;
  private readonly factor: Factor;
  private readonly z: Float64Array;
  private readonly shift: Float64Array;
  private readonly slips: Float64Array;
  private readonly forces: Float64Array;
  private readonly right: Float64Array;
  private readonly d = new Float64Array(9);
  private readonly x = new Float64Array(3);

  constructor(private readonly cones: ConeContacts) {
    const {structure, p} = cones;
    this.factor = structure.analysis.createFactor();
    [this.z, this.shift, this.slips, this.forces] = [0, 1, 2, 3].map(() => new Float64Array(p.length));
    this.right = new Float64Array(structure.n);
  }

  /** Where A and G are new. */
  begin(): void {
    this.rho = firstRho;
    this.stale = true;
  }

  /** Where it went to and fro: slower, and more surely. @returns false where it is as slow already as it gets */
  slower(): boolean {
    if (this.rho <= leastRho) return false;
    this.rho = Math.max(leastRho, this.rho / 2);
    this.stale = true;
    return true;
  }

  /** Iterations from p, which they change, with v. @returns false where the matrix is refused */
  run(iterations: number): boolean {
    const {cones, factor, z, shift, slips, forces, right, x, rho} = this;
    const {contacts, v, p, b, apart, friction, give} = cones;
    if (this.stale && !this.refactor()) return false;
    cones.along(v, slips);
    for (const {rows} of contacts) {
      const normal = rows[0];
      for (const row of rows) z[row] = slips[row] + apart[row];
      shift[normal] = friction[normal] * tangential(z, rows);
      z[normal] = Math.max(0, z[normal] + shift[normal]);
    }
    for (let k = 0; k < iterations; k++) {
      for (const {rows, w} of contacts) {
        for (const row of rows) forces[row] = p[row] + (rho / w[0]) * (z[row] - apart[row]);
        forces[rows[0]] -= (rho / w[0]) * shift[rows[0]];
      }
      right.set(b);
      cones.push(forces, 1, right);
      factor.solve(right, v);
      cones.along(v, slips);
      for (const {rows, w} of contacts) {
        const [normal, size, stiff] = [rows[0], rows.length, rho / w[0]];
        slips[normal] += shift[normal];
        for (let i = 0; i < size; i++) {
          slips[rows[i]] += apart[rows[i]];
          x[i] = p[rows[i]] - stiff * slips[rows[i]];
        }
        x[0] /= 1 + stiff * give;
        ontoCone(x, size, friction[normal]);
        for (let i = 0; i < size; i++) {
          z[rows[i]] = slips[rows[i]] + (x[i] - p[rows[i]]) / stiff;
          p[rows[i]] = x[i];
        }
        shift[normal] = friction[normal] * tangential(z, rows);
      }
    }
    return true;
  }

  private refactor(): boolean {
    const {cones, d, rho} = this;
    this.stale = false;
    return cones.factor(this.factor, ({rows, w}) => {
      d.fill(0);
      for (let i = 0; i < rows.length; i++) d[i * (rows.length + 1)] = rho / w[0];
      return d;
    });
  }
}

/** |x_T| of a contact. */
export function tangential(x: Float64Array, rows: Int32Array): number {
  let sum = 0;
  for (let i = 1; i < rows.length; i++) sum += x[rows[i]] ** 2;
  return Math.sqrt(sum);
}
