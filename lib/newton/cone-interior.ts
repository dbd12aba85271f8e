/**
 * Impulses of contacts by a primal–dual interior-point method: Mehrotra's predictor and corrector (1992) in the scaling
 * of Nesterov & Todd (1998; formulas of Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010), with
 * De Saxcé's correction μ|z_T| in the equation of the slack, whose derivative is damped where steps become short. Each
 * iteration is one matrix A + GᵀDG. It comes near in some twenty iterations, also where impulses of wedged bodies have
 * far to go, which costs methods of first order thousands.
 */
import {invert} from './block-diagonal.js';
import type {ConeContacts} from './cone-contacts.js';

/** Share of the way to the cone's border that a step takes. */
const fraction = 0.995;
/**
 * The derivative of the correction becomes less where the last step was shorter than this, and more otherwise, by these
 * factors. They were chosen by hand on 40 heaps of 64 balls: in a hundred iterations 20 were solved without damping, 22
 * without the derivative, 27 with factors of a half and two, 30 with these.
 */
const [short, less, more, leastDamping] = [0.3, 0.25, 1.4, 0.05];
const leastCentering = 1e-4;
/** A way that the method goes. */
export interface InteriorRun {
  /**
   * Products of impulses and slacks do not fall below this share of what residuals make of them: next to the border
   * steps would become short.
   */
  readonly caution: number;
  /** The share of the approach that slacks begin with, and impulses give themselves. */
  readonly begin: number;
  /**
   * The regularization is proximal (Friedlander & Orban 2012): contacts yield to the change of their impulses in an
   * iteration, and the laws themselves are what it converges to. Otherwise contacts yield to their impulses, which is
   * more robust where bodies are jammed, and errors of that size are left.
   */
  readonly proximal: boolean;
}

/**
 * Regularization of redundant contacts: the share that they yield of the velocity that an impulse gives by itself.
 * Proximal, 1e-6 to 1e-8 took about the same number of iterations.
 */
const softness = {proximal: 1e-7, plain: 1e-6} as const;

/**
 * Contacts are in coordinates in which Coulomb's cone and its dual are |x_T| ≤ x_0: (μ p_N, p_T) and (z_N/μ, z_T).
 * Arrays are [contacts], [contacts, 3] and [contacts, 3, 3].
 */
export class ConeInterior {
  private readonly v: Float64Array;
  private readonly dv: Float64Array;
  private readonly right: Float64Array;
  private readonly gradient: Float64Array;
  private readonly impulses: Float64Array;
  private readonly forces: Float64Array;
  /** Rows that impulses have, 1 without friction. */
  private readonly sizes: Int32Array;
  /** 1 without friction. */
  private readonly mu: Float64Array;
  private readonly p: Float64Array;
  private readonly z: Float64Array;
  private readonly dp: Float64Array;
  private readonly dz: Float64Array;
  /** W = scale (a reflection by `axis`) with W p = W⁻¹ z = `middle`; W⁻². */
  private readonly axis: Float64Array;
  private readonly scale: Float64Array;
  private readonly middle: Float64Array;
  private readonly inverse: Float64Array;
  /** u of changes of impulses without their effect on velocities, and of impulses in the laws. */
  private readonly yields: Float64Array;
  private readonly yielding: Float64Array;
  /** −∂p/∂u, and the share of p's direction without yielding that is left with it. */
  private readonly stiff: Float64Array;
  private readonly share: Float64Array;
  /** What W dp + W⁻¹ dz is to be. */
  private readonly aim: Float64Array;
  /** Derivative of |z_T| by z_T. */
  private readonly slope: Float64Array;
  /** What the slack lacks of being u with its correction. */
  private readonly lack: Float64Array;
  private caution = 0;
  private damping = 1;
  private last = 1;
  private readonly slips = new Float64Array(3);
  private readonly x = new Float64Array(3);
  private readonly y = new Float64Array(3);
  private readonly w = new Float64Array(3);
  private readonly whole = new Float64Array(9);
  private readonly sum = new Float64Array(9);
  private readonly inverted = new Float64Array(9);

  constructor(private readonly cones: ConeContacts) {
    const {structure, p, table} = cones;
    const {count} = table;
    const arrays = (size: number) => (): Float64Array => new Float64Array(size);
    [this.v, this.dv, this.right, this.gradient] = [0, 1, 2, 3].map(arrays(structure.a.n));
    [this.impulses, this.forces] = [0, 1].map(arrays(p.length));
    this.sizes = new Int32Array(count);
    [this.mu, this.scale] = [0, 1].map(arrays(count));
    const vectors = arrays(3 * count);
    [this.p, this.z, this.dp, this.dz] = [0, 1, 2, 3].map(vectors);
    [this.axis, this.middle, this.aim, this.slope] = [0, 1, 2, 3].map(vectors);
    [this.lack, this.yields, this.yielding] = [0, 1, 2].map(vectors);
    [this.inverse, this.stiff, this.share] = [0, 1, 2].map(arrays(9 * count));
  }

  begin({caution, begin, proximal}: InteriorRun): void {
    const {cones, sizes, mu, p, z, slope, yields, yielding} = this;
    const {table} = cones;
    const speed = begin * cones.approach;
    const soft = proximal ? softness.proximal : softness.plain;
    this.caution = caution;
    for (const array of [p, z, slope]) array.fill(0);
    for (const i of cones.contacts) {
      const friction = cones.friction[table.rows[3 * i]];
      const own = table.w[9 * i];
      sizes[i] = friction > 0 ? table.sizes[i] : 1;
      mu[i] = sizes[i] === 1 ? 1 : friction;
      p[3 * i] = speed / own;
      z[3 * i] = speed;
      const give = cones.give[table.rows[3 * i]] / mu[i] ** 2;
      for (let j = 0; j < sizes[i]; j++) {
        const lasting = j === 0 ? give : 0;
        yields[3 * i + j] = soft * own + lasting;
        yielding[3 * i + j] = proximal ? lasting : yields[3 * i + j];
      }
    }
    [this.damping, this.last] = [1, 1];
    // Those of contacts that counted in an earlier run.
    this.impulses.fill(0);
    this.forces.fill(0);
    this.give();
    cones.accelerate();
    this.v.set(cones.v);
  }

  /**
   * One iteration; p and v of the contacts become what it has come to, p in its cones.
   * @returns false where it goes no further
   */
  step(): boolean {
    const {cones, sizes, p, z, dp, dz, slope, aim, middle} = this;
    const {contacts} = cones;
    let between = 0;
    for (const i of contacts) for (let j = 3 * i; j < 3 * i + sizes[i]; j++) between += p[j] * z[j];
    between /= contacts.length;
    const off = this.residual();
    const damping = this.damping * (this.last < short ? less : more);
    this.damping = Math.min(1, Math.max(leastDamping, damping));
    for (const i of contacts) {
      this.rescale(i);
      for (let j = 1; j < sizes[i]; j++) slope[3 * i + j] *= this.damping;
      this.soften(i);
    }
    if (!cones.factor()) return false;
    for (const i of contacts) for (let j = 3 * i; j < 3 * i + sizes[i]; j++) aim[j] = -middle[j];
    this.direction();
    const sigma = Math.max(leastCentering, (1 - this.room(1)) ** 3);
    const aimed = Math.max(sigma * between, Math.min(between, this.caution * this.energy(off)));
    for (const i of contacts) this.correct(i, aimed);
    this.direction();
    const share = this.room(fraction);
    if (!(share > 0)) return false;
    for (const i of contacts)
      for (let j = 3 * i; j < 3 * i + sizes[i]; j++) {
        p[j] += share * dp[j];
        z[j] += share * dz[j];
      }
    for (let i = 0; i < this.v.length; i++) this.v[i] += share * this.dv[i];
    this.last = share;
    this.give();
    return this.impulses.every(Number.isFinite);
  }

  /** Impulses to the contacts. */
  private give(): void {
    const {impulses, cones, sizes, mu, p} = this;
    const {rows} = cones.table;
    for (const i of cones.contacts) {
      impulses[rows[3 * i]] = p[3 * i] / mu[i];
      for (let j = 1; j < sizes[i]; j++) impulses[rows[3 * i + j]] = p[3 * i + j];
    }
    cones.p.set(impulses);
  }

  /** What a velocity and the impulse that gives it make, in the mean of contacts. */
  private energy(velocity: number): number {
    const {contacts, table} = this.cones;
    let sum = 0;
    for (const i of contacts) sum += velocity ** 2 / table.w[9 * i];
    return sum / contacts.length;
  }

  /** A v − b − Gᵀp, what slacks lack, and slopes. @returns the largest, a velocity */
  private residual(): number {
    const {cones, v, gradient, slips, impulses, sizes, mu, p, z, yielding, slope, lack} = this;
    const {apart, table} = cones;
    const {rows} = table;
    cones.multiply(v, gradient);
    for (let i = 0; i < gradient.length; i++) gradient[i] -= cones.b[i];
    cones.push(impulses, -1, gradient);
    let most = cones.largestMove(gradient, 0);
    for (const i of cones.contacts) {
      table.along(i, v, slips);
      let size = 0;
      for (let j = 1; j < sizes[i]; j++) size += z[3 * i + j] ** 2;
      size = Math.sqrt(size);
      lack[3 * i] = z[3 * i] - size - (slips[0] + apart[rows[3 * i]]) / mu[i] - yielding[3 * i] * p[3 * i];
      for (let j = 1; j < sizes[i]; j++) {
        const at = 3 * i + j;
        slope[at] = size === 0 ? 0 : z[at] / size;
        lack[at] = z[at] - slips[j] - apart[rows[at]] - yielding[at] * p[at];
      }
      for (let j = 3 * i; j < 3 * i + sizes[i]; j++) most = Math.max(most, Math.abs(lack[j]));
    }
    return most;
  }

  /** Newton's direction to `aim` and without residuals, in dv, dp and dz. */
  private direction(): void {
    const {cones, right, dv, gradient, slips, forces, x, sizes, mu, stiff, share, aim, lack, dp, dz, yields, slope} =
      this;
    const {table} = cones;
    for (let i = 0; i < right.length; i++) right[i] = -gradient[i];
    for (const i of cones.contacts) {
      this.byScaling(i, aim, 3 * i, x, -1);
      for (let r = 0; r < sizes[i]; r++) {
        let sum = 0;
        for (let c = 0; c < sizes[i]; c++)
          sum += share[9 * i + 3 * r + c] * x[c] + stiff[9 * i + 3 * r + c] * lack[3 * i + c];
        dp[3 * i + r] = sum;
        forces[table.rows[3 * i + r]] = r === 0 ? sum / mu[i] : sum;
      }
    }
    cones.push(forces, 1, right);
    cones.solve(right, dv);
    for (const i of cones.contacts) {
      table.along(i, dv, slips);
      slips[0] /= mu[i];
      for (let r = 0; r < sizes[i]; r++) {
        const at = 3 * i + r;
        for (let c = 0; c < sizes[i]; c++) dp[at] -= stiff[9 * i + 3 * r + c] * slips[c];
        dz[at] = slips[r] + yields[at] * dp[at] - lack[at];
      }
      for (let j = 1; j < sizes[i]; j++) dz[3 * i] += slope[3 * i + j] * dz[3 * i + j];
    }
  }

  /** The point of the central path that the direction aims at, with its own term of second order. */
  private correct(i: number, between: number): void {
    const {x, y, w, sizes, middle, aim, dp, dz} = this;
    const [n, at] = [sizes[i], 3 * i];
    this.byScaling(i, dp, at, x, 1);
    this.byScaling(i, dz, at, y, -1);
    w[0] = between;
    for (let j = 0; j < n; j++) w[0] -= middle[at + j] ** 2 + x[j] * y[j];
    for (let j = 1; j < n; j++) w[j] = -2 * middle[at] * middle[at + j] - x[0] * y[j] - x[j] * y[0];
    // The inverse of the product with `middle`.
    if (n === 1) {
      aim[at] = w[0] / middle[at];
      return;
    }
    let first = middle[at] * w[0];
    for (let j = 1; j < n; j++) first -= middle[at + j] * w[j];
    aim[at] = first / determinant(middle, at, n);
    for (let j = 1; j < n; j++) aim[at + j] = (w[j] - aim[at] * middle[at + j]) / middle[at];
  }

  /** The share of the direction that leaves all in their cones, 1 at most. */
  private room(of: number): number {
    const {cones, p, z, dp, dz, sizes} = this;
    let most = 1;
    for (const i of cones.contacts)
      most = Math.min(most, of * toBorder(p, dp, 3 * i, sizes[i]), of * toBorder(z, dz, 3 * i, sizes[i]));
    return most;
  }

  private rescale(i: number): void {
    const {sizes, p, z, axis, scale, middle, inverse} = this;
    const [n, at] = [sizes[i], 3 * i];
    const [ofZ, ofP] = [Math.sqrt(determinant(z, at, n)), Math.sqrt(determinant(p, at, n))];
    scale[i] = Math.sqrt(ofZ / ofP);
    let product = 0;
    for (let j = at; j < at + n; j++) product += (z[j] / ofZ) * (p[j] / ofP);
    const length = 2 * Math.sqrt((1 + product) / 2);
    for (let j = at; j < at + n; j++) axis[j] = (z[j] / ofZ + (j === at ? 1 : -1) * (p[j] / ofP)) / length;
    this.byScaling(i, p, at, middle, 1, at);
    const square = 1 / scale[i] ** 2;
    for (let r = 0; r < n; r++)
      for (let c = 0; c < n; c++) {
        const sign = (r === 0 ? 1 : -1) * (c === 0 ? 1 : -1);
        inverse[9 * i + 3 * r + c] =
          square * (2 * sign * axis[at + r] * axis[at + c] + (r !== c ? 0 : r === 0 ? -1 : 1));
      }
  }

  /**
   * `stiff` and `share`: W⁻² after the correction's inverse derivative, of a contact that yields so much to the change
   * of its impulse. D in its own coordinates.
   */
  private soften(i: number): void {
    const {sizes, yields, mu, inverse, slope, stiff, share, whole, sum, inverted} = this;
    const d = this.cones.stiffness;
    const [n, at] = [sizes[i], 9 * i];
    for (let r = 0; r < n; r++)
      for (let c = 0; c < n; c++) {
        const entry = inverse[at + 3 * r + c] + (c > 0 ? inverse[at + 3 * r] * slope[3 * i + c] : 0);
        whole[3 * r + c] = entry;
        sum[r * n + c] = (r === c ? 1 : 0) + yields[3 * i + c] * entry;
      }
    invert(sum, inverted, 0, n);
    for (let j = 0; j < 9; j++) d[at + j] = 0;
    for (let r = 0; r < n; r++)
      for (let c = 0; c < n; c++) {
        let product = 0;
        for (let l = 0; l < n; l++) product += inverted[r * n + l] * whole[3 * l + c];
        stiff[at + 3 * r + c] = product;
        share[at + 3 * r + c] = inverted[r * n + c];
        d[at + 3 * r + c] = product / ((r === 0 ? mu[i] : 1) * (c === 0 ? mu[i] : 1));
      }
  }

  /** W x, or W⁻¹ x, of what lies in an array from a place on. */
  private byScaling(i: number, x: Float64Array, from: number, product: Float64Array, sign: 1 | -1, to = 0): void {
    const {axis, scale, sizes} = this;
    const [n, at] = [sizes[i], 3 * i];
    let along = 0;
    for (let j = 1; j < n; j++) along += axis[at + j] * x[from + j];
    const first = x[from];
    const factor = sign === 1 ? scale[i] : 1 / scale[i];
    const share = sign * first + along / (1 + axis[at]);
    for (let j = 1; j < n; j++) product[to + j] = factor * (x[from + j] + share * axis[at + j]);
    product[to] = factor * (axis[at] * first + sign * along);
  }
}

/** x_0² − |x_T|² of n numbers from a place on. */
function determinant(x: Float64Array, at: number, n: number): number {
  let size = 0;
  for (let j = at + 1; j < at + n; j++) size += x[j] * x[j];
  size = Math.sqrt(size);
  return (x[at] - size) * (x[at] + size);
}

/** The least t > 0 at which x + t d is on the border of the cone. */
function toBorder(x: Float64Array, d: Float64Array, at: number, n: number): number {
  let least = d[at] < 0 ? -x[at] / d[at] : Infinity;
  if (n === 1) return least;
  let [a, b] = [d[at] * d[at], x[at] * d[at]];
  for (let j = at + 1; j < at + n; j++) {
    a -= d[j] * d[j];
    b -= x[j] * d[j];
  }
  const c = determinant(x, at, n);
  const inside = b * b - a * c;
  if (inside < 0) return least;
  const q = -(b + (b >= 0 ? 1 : -1) * Math.sqrt(inside));
  const [one, other] = [q / a, c / q];
  if (one > 0) least = Math.min(least, one);
  if (other > 0) least = Math.min(least, other);
  return least;
}
