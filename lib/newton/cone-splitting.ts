/**
 * Impulses of contacts by the alternating direction method of multipliers (Boyd et al. 2011; for contacts Carpentier, Le Lidec & Montaut,
 * arXiv:2405.17020): min ½vᵀAv − bᵀv with z = G v + c + μ|z_T| e_N in the dual of Coulomb's cone, De Saxcé's correction from the iteration before. All iterations
 * share one matrix, A + ρ Gᵀ W⁻¹ G with W what impulses give themselves, so that one costs a solution. They come near from anywhere, by a digit in
 * some hundred where contacts are wedged.
 */
import type {Factor} from '../linear/index.js';
import type {ConeContacts} from './cone-contacts.js';

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
  /** Of each contact, −1 where it has fewer than three. */
  private readonly rows: Int32Array;
  /** ρ over what an impulse gives itself, by row. */
  private readonly stiff: Float64Array;

  constructor(private readonly cones: ConeContacts) {
    const {structure, p} = cones;
    this.factor = structure.analysis.createFactor();
    [this.z, this.shift, this.slips, this.forces] = [0, 1, 2, 3].map(() => new Float64Array(p.length));
    this.right = new Float64Array(structure.n);
    this.stiff = new Float64Array(p.length);
    this.rows = new Int32Array(3 * cones.contacts.length);
  }

  /** Where A and G are new. */
  begin(): void {
    this.rho = firstRho;
    this.stale = true;
    this.rows.fill(-1);
    this.cones.contacts.forEach(({rows}, c) => this.rows.set(rows, 3 * c));
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
    const {cones, factor, z, shift, slips, forces, right, rows, stiff} = this;
    const {contacts, v, p, b, apart, friction, give} = cones;
    if (this.stale && !this.refactor()) return false;
    cones.along(v, slips);
    for (let i = 0; i < z.length; i++) z[i] = slips[i] + apart[i];
    for (let c = 0; c < contacts.length; c++) {
      const [normal, one, two] = [rows[3 * c], rows[3 * c + 1], rows[3 * c + 2]];
      shift[normal] = friction[normal] * Math.sqrt((one < 0 ? 0 : z[one] ** 2) + (two < 0 ? 0 : z[two] ** 2));
      z[normal] = Math.max(0, z[normal] + shift[normal]);
    }
    for (let k = 0; k < iterations; k++) {
      for (let i = 0; i < z.length; i++) forces[i] = p[i] + stiff[i] * (z[i] - apart[i] - shift[i]);
      right.set(b);
      cones.push(forces, 1, right);
      factor.solve(right, v);
      cones.along(v, slips);
      for (let c = 0; c < contacts.length; c++) {
        const [normal, one, two] = [rows[3 * c], rows[3 * c + 1], rows[3 * c + 2]];
        const [rho, mu] = [stiff[normal], friction[normal]];
        const along = slips[normal] + apart[normal] + shift[normal];
        const across = one < 0 ? 0 : slips[one] + apart[one];
        const aside = two < 0 ? 0 : slips[two] + apart[two];
        const x = (p[normal] - rho * along) / (1 + rho * give);
        const y = one < 0 ? 0 : p[one] - rho * across;
        const w = two < 0 ? 0 : p[two] - rho * aside;
        // Onto Coulomb's cone.
        const size = Math.sqrt(y * y + w * w);
        const open = mu * size <= -x;
        const inside = size <= mu * x;
        const push = open ? 0 : inside || one < 0 ? x : (x + mu * size) / (1 + mu * mu);
        const share = open ? 0 : inside ? 1 : (mu * push) / size;
        z[normal] = along + (push - p[normal]) / rho;
        p[normal] = push;
        if (one < 0) continue;
        const first = share * y;
        z[one] = across + (first - p[one]) / rho;
        p[one] = first;
        let slip = z[one] ** 2;
        if (two >= 0) {
          const second = share * w;
          z[two] = aside + (second - p[two]) / rho;
          p[two] = second;
          slip += z[two] ** 2;
        }
        shift[normal] = mu * Math.sqrt(slip);
      }
    }
    return true;
  }

  private refactor(): boolean {
    const {cones, d, rho, stiff} = this;
    this.stale = false;
    return cones.factor(this.factor, ({rows, w}) => {
      d.fill(0);
      for (let i = 0; i < rows.length; i++) d[i * (rows.length + 1)] = stiff[rows[i]] = rho / w[0];
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
