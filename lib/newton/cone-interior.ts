/**
 * Impulses of contacts by a primal–dual interior-point method: Mehrotra's predictor and corrector (1992) in the scaling of Nesterov & Todd (1998; formulas of
 * Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010), with De Saxcé's correction μ|z_T| in the equation of the slack, whose
 * derivative is damped where steps become short. Each iteration is one matrix A + GᵀDG. It comes near in some twenty iterations, also where impulses of wedged
 * bodies have far to go, which costs methods of first order thousands.
 */
import {invert, type ConeContacts} from './cone-contacts.js';
import type {Contact} from './cone-matrix.js';

/** Of the way to the border. */
const fraction = 0.995;
/**
 * The derivative of the correction becomes less where the last step was shorter than this, and more otherwise, by these factors. They were chosen by hand
 * on 40 heaps of 64 balls: in a hundred iterations 20 were solved without damping, 22 without the derivative, 27 with factors of a half and two, 30 with these.
 */
const [short, less, more, leastDamping] = [0.3, 0.25, 1.4, 0.05];
const leastCentering = 1e-4;
/** A way that the method goes. */
export interface InteriorRun {
  /** Products of impulses and slacks do not fall below this share of what residuals make of them: next to the border steps would become short. */
  readonly caution: number;
  /** The share of the approach that slacks begin with, and impulses give themselves. */
  readonly begin: number;
  /**
   * The regularization is proximal (Friedlander & Orban 2012): contacts yield to the change of their impulses in an iteration, and the laws themselves are
   * what it converges to. Otherwise contacts yield to their impulses, which is more robust where bodies are jammed, and errors of that size are left.
   */
  readonly proximal: boolean;
}

/**
 * Regularization of redundant contacts: the share that they yield of the velocity that an impulse gives by itself. Proximal, 1e-6 to 1e-8 took about the same
 * number of iterations.
 */
const softness = {proximal: 1e-7, plain: 1e-6} as const;

/** A contact in coordinates in which Coulomb's cone and its dual are |x_T| ≤ x_0: (μ p_N, p_T) and (z_N/μ, z_T). */
interface Cone {
  readonly contact: Contact;
  readonly rows: number;
  /** 1 without friction. */
  readonly mu: number;
  readonly p: Float64Array;
  readonly z: Float64Array;
  readonly dp: Float64Array;
  readonly dz: Float64Array;
  /** W = scale (a reflection by `axis`) with W p = W⁻¹ z = `middle`; W⁻². */
  readonly axis: Float64Array;
  scale: number;
  /** u of changes of impulses without their effect on velocities, and of impulses in the laws. */
  readonly yields: number;
  readonly yielding: number;
  readonly middle: Float64Array;
  readonly inverse: Float64Array;
  /** −∂p/∂u, [rows, rows], and the share of p's direction without yielding that is left with it. */
  readonly stiff: Float64Array;
  readonly share: Float64Array;
  /** What W dp + W⁻¹ dz is to be. */
  readonly aim: Float64Array;
  /** Of |z_T|, by z_T. */
  readonly slope: Float64Array;
  /** What the slack lacks of being u with its correction. */
  readonly lack: Float64Array;
}

export class ConeInterior {
  private readonly v: Float64Array;
  private readonly dv: Float64Array;
  private readonly right: Float64Array;
  private readonly gradient: Float64Array;
  private readonly slips: Float64Array;
  private readonly p: Float64Array;
  private readonly forces: Float64Array;
  private all: readonly Cone[] = [];
  private caution = 0;
  private damping = 1;
  private last = 1;
  private readonly d = new Float64Array(9);
  private readonly x = new Float64Array(3);
  private readonly y = new Float64Array(3);
  private readonly w = new Float64Array(3);

  constructor(private readonly cones: ConeContacts) {
    const {structure, p} = cones;
    [this.v, this.dv, this.right, this.gradient] = [0, 1, 2, 3].map(() => new Float64Array(structure.n));
    [this.slips, this.p, this.forces] = [0, 1, 2].map(() => new Float64Array(p.length));
  }

  begin({caution, begin, proximal}: InteriorRun): void {
    const {cones} = this;
    const speed = begin * cones.approach;
    const soft = proximal ? softness.proximal : softness.plain;
    this.caution = caution;
    this.all = cones.contacts.map(contact => {
      const friction = cones.friction[contact.rows[0]];
      const rows = friction > 0 ? contact.rows.length : 1;
      const [p, z, dp, dz, axis, middle, aim, slope, lack] = Array.from({length: 9}, () => new Float64Array(rows));
      p[0] = speed / contact.w[0];
      z[0] = speed;
      const give = rows === 1 ? cones.give : 0;
      const yields = soft * contact.w[0] + give;
      const yielding = proximal ? give : yields;
      const [inverse, stiff, share] = Array.from({length: 3}, () => new Float64Array(rows * rows));
      return {contact, rows, mu: rows === 1 ? 1 : friction, p, z, dp, dz, axis, scale: 1, yields, yielding, middle, inverse, stiff, share, aim, slope, lack}; // prettier-ignore
    });
    [this.damping, this.last] = [1, 1];
    // Those of contacts that counted in an earlier run.
    this.p.fill(0);
    this.forces.fill(0);
    this.give();
    cones.accelerate();
    this.v.set(cones.v);
  }

  /** One iteration; p and v of the contacts become what it has come to, p in its cones. @returns false where it goes no further */
  step(): boolean {
    const {cones, all, d} = this;
    let between = 0;
    for (const {rows, p, z} of all) for (let i = 0; i < rows; i++) between += p[i] * z[i];
    between /= all.length;
    const off = this.residual();
    for (const cone of all) rescale(cone);
    const damping = this.damping * (this.last < short ? less : more);
    this.damping = Math.min(1, Math.max(leastDamping, damping));
    for (const {slope} of all) for (let i = 1; i < slope.length; i++) slope[i] *= this.damping;
    for (const cone of all) soften(cone);
    if (!cones.factor((_, i) => stiffness(all[i], d))) return false;
    for (const {rows, aim, middle} of all) for (let i = 0; i < rows; i++) aim[i] = -middle[i];
    this.direction();
    const sigma = Math.max(leastCentering, (1 - this.room(1)) ** 3);
    const aimed = Math.max(sigma * between, Math.min(between, this.caution * this.energy(off)));
    for (const cone of all) this.correct(cone, aimed);
    this.direction();
    const share = this.room(fraction);
    if (!(share > 0)) return false;
    for (const {rows, p, z, dp, dz} of all)
      for (let i = 0; i < rows; i++) {
        p[i] += share * dp[i];
        z[i] += share * dz[i];
      }
    for (let i = 0; i < this.v.length; i++) this.v[i] += share * this.dv[i];
    this.last = share;
    this.give();
    return this.p.every(Number.isFinite);
  }

  /** Impulses to the contacts. */
  private give(): void {
    const {p} = this;
    for (const {contact, rows, mu, p: own} of this.all) {
      p[contact.rows[0]] = own[0] / mu;
      for (let i = 1; i < rows; i++) p[contact.rows[i]] = own[i];
    }
    this.cones.p.set(p);
  }

  /** What a velocity and the impulse that gives it make, in the mean of contacts. */
  private energy(velocity: number): number {
    let sum = 0;
    for (const {contact} of this.all) sum += velocity ** 2 / contact.w[0];
    return sum / this.all.length;
  }

  /** A v − b − Gᵀp, what slacks lack, and slopes. @returns the largest, a velocity */
  private residual(): number {
    const {cones, v, gradient, slips, p} = this;
    cones.multiply(v, gradient);
    for (let i = 0; i < gradient.length; i++) gradient[i] -= cones.b[i];
    cones.push(p, -1, gradient);
    cones.along(v, slips);
    let most = cones.largestMove(gradient, 0);
    for (const {contact, rows, mu, p: own, z, yielding, slope, lack} of this.all) {
      const of = contact.rows;
      let size = 0;
      for (let i = 1; i < rows; i++) size += z[i] ** 2;
      size = Math.sqrt(size);
      lack[0] = z[0] - size - (slips[of[0]] + cones.apart[of[0]]) / mu - yielding * own[0];
      for (let i = 1; i < rows; i++) {
        slope[i] = size === 0 ? 0 : z[i] / size;
        lack[i] = z[i] - slips[of[i]] - cones.apart[of[i]] - yielding * own[i];
      }
      for (let i = 0; i < rows; i++) most = Math.max(most, Math.abs(lack[i]));
    }
    return most;
  }

  /** Newton's direction to `aim` and without residuals, in dv, dp and dz. */
  private direction(): void {
    const {cones, right, dv, gradient, slips, forces, x} = this;
    for (let i = 0; i < right.length; i++) right[i] = -gradient[i];
    for (const cone of this.all) {
      const {contact, rows, mu, stiff, share, aim, lack, dp} = cone;
      byScaling(cone, aim, x, -1);
      for (let i = 0; i < rows; i++) {
        dp[i] = 0;
        for (let j = 0; j < rows; j++) dp[i] += share[i * rows + j] * x[j] + stiff[i * rows + j] * lack[j];
        forces[contact.rows[i]] = i === 0 ? dp[i] / mu : dp[i];
      }
    }
    cones.push(forces, 1, right);
    cones.solve(right, dv);
    cones.along(dv, slips);
    for (const {contact, rows, mu, yields, stiff, slope, lack, dp, dz} of this.all) {
      for (let i = 0; i < rows; i++) x[i] = slips[contact.rows[i]] / (i === 0 ? mu : 1);
      for (let i = 0; i < rows; i++) for (let j = 0; j < rows; j++) dp[i] -= stiff[i * rows + j] * x[j];
      for (let i = 0; i < rows; i++) dz[i] = x[i] + yields * dp[i] - lack[i];
      for (let i = 1; i < rows; i++) dz[0] += slope[i] * dz[i];
    }
  }

  /** Where the direction aims at, on the central path, with its own term of second order. */
  private correct(cone: Cone, between: number): void {
    const {x, y, w} = this;
    const {rows, middle, aim, dp, dz} = cone;
    byScaling(cone, dp, x, 1);
    byScaling(cone, dz, y, -1);
    w[0] = between;
    for (let i = 0; i < rows; i++) w[0] -= middle[i] ** 2 + x[i] * y[i];
    for (let i = 1; i < rows; i++) w[i] = -2 * middle[0] * middle[i] - x[0] * y[i] - x[i] * y[0];
    // The inverse of the product with `middle`.
    if (rows === 1) {
      aim[0] = w[0] / middle[0];
      return;
    }
    let first = middle[0] * w[0];
    for (let i = 1; i < rows; i++) first -= middle[i] * w[i];
    aim[0] = first / determinant(middle);
    for (let i = 1; i < rows; i++) aim[i] = (w[i] - aim[0] * middle[i]) / middle[0];
  }

  /** The share of the direction that leaves all in their cones, 1 at most. */
  private room(of: number): number {
    let most = 1;
    for (const {p, z, dp, dz} of this.all) most = Math.min(most, of * toBorder(p, dp), of * toBorder(z, dz));
    return most;
  }
}

/** x_0² − |x_T|² */
function determinant(x: Float64Array): number {
  let size = 0;
  for (let i = 1; i < x.length; i++) size += x[i] * x[i];
  size = Math.sqrt(size);
  return (x[0] - size) * (x[0] + size);
}

/** The least t > 0 at which x + t d is on the border of the cone. */
function toBorder(x: Float64Array, d: Float64Array): number {
  let least = d[0] < 0 ? -x[0] / d[0] : Infinity;
  if (x.length === 1) return least;
  let [a, b] = [d[0] * d[0], x[0] * d[0]];
  for (let i = 1; i < x.length; i++) {
    a -= d[i] * d[i];
    b -= x[i] * d[i];
  }
  const c = determinant(x);
  const inside = b * b - a * c;
  if (inside < 0) return least;
  const q = -(b + (b >= 0 ? 1 : -1) * Math.sqrt(inside));
  for (const root of [q / a, c / q]) if (root > 0) least = Math.min(least, root);
  return least;
}

function rescale(cone: Cone): void {
  const {rows, p, z, axis, middle, inverse} = cone;
  const [ofZ, ofP] = [Math.sqrt(determinant(z)), Math.sqrt(determinant(p))];
  cone.scale = Math.sqrt(ofZ / ofP);
  let product = 0;
  for (let i = 0; i < rows; i++) product += (z[i] / ofZ) * (p[i] / ofP);
  const length = 2 * Math.sqrt((1 + product) / 2);
  for (let i = 0; i < rows; i++) axis[i] = (z[i] / ofZ + (i === 0 ? 1 : -1) * (p[i] / ofP)) / length;
  byScaling(cone, p, middle, 1);
  const square = 1 / cone.scale ** 2;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < rows; j++) {
      const sign = (i === 0 ? 1 : -1) * (j === 0 ? 1 : -1);
      inverse[i * rows + j] = square * (2 * sign * axis[i] * axis[j] + (i !== j ? 0 : i === 0 ? -1 : 1));
    }
}

const [whole, sum] = [new Float64Array(9), new Float64Array(9)];

/** `stiff` and `share`: W⁻² after the correction's inverse derivative, of contacts that yield so much to the change of their impulses. */
function soften({rows: n, yields, inverse, slope, stiff, share}: Cone): void {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      stiff[i * n + j] = inverse[i * n + j] + (j > 0 ? inverse[i * n] * slope[j] : 0);
      whole[i * n + j] = stiff[i * n + j];
      sum[i * n + j] = (i === j ? 1 : 0) + yields * stiff[i * n + j];
    }
  }
  invert(sum, share, n);
  stiff.fill(0);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) for (let l = 0; l < n; l++) stiff[i * n + j] += share[i * n + l] * whole[l * n + j];
}

/** In a contact's own coordinates. */
function stiffness({contact, rows, mu, stiff}: Cone, d: Float64Array): Float64Array {
  const k = contact.rows.length;
  d.fill(0);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < rows; j++) d[i * k + j] = stiff[i * rows + j] / ((i === 0 ? mu : 1) * (j === 0 ? mu : 1));
  return d;
}

/** W x, or W⁻¹ x. */
function byScaling({rows, axis, scale}: Cone, x: Float64Array, product: Float64Array, sign: 1 | -1): void {
  let along = 0;
  for (let i = 1; i < rows; i++) along += axis[i] * x[i];
  const first = x[0];
  const factor = sign === 1 ? scale : 1 / scale;
  const share = sign * first + along / (1 + axis[0]);
  for (let i = 1; i < rows; i++) product[i] = factor * (x[i] + share * axis[i]);
  product[0] = factor * (axis[0] * first + sign * along);
}
