/**
 * MINRES (Paige & Saunders 1975) for symmetric matrices, definite or not, such as KKT systems: the
 * smallest residual by a three-term recurrence, so no vectors are stored. The preconditioner must be
 * symmetric positive definite; the residual is then smallest in its norm. The recurrence follows the
 * preconditioned form of Elman, Silvester & Wathen (2014), algorithm 4.1.
 */
import {dot, krylovSolver, norm, type Cycle, type KrylovMethod, type KrylovOptions, type SolverOf} from './krylov.js';
import {throwIndefinite} from './krylov-errors.js';

/** MINRES, for symmetric matrices that may be indefinite (Paige & Saunders 1975). */
export function minres<Options extends KrylovOptions = KrylovOptions>(options?: Options): SolverOf<Options>;
export function minres(options: KrylovOptions = {}): SolverOf<KrylovOptions> {
  return krylovSolver('minres', n => new Minres(n), options);
}

class Minres implements KrylovMethod {
  readonly name = 'minres';
  readonly diagonal = 'absolute';
  readonly size: number;
  /** Lanczos vectors v (unnormalized) and their preconditioned z = M⁻¹ v; search directions w. */
  private readonly vectors: Float64Array[];
  private readonly product: Float64Array;

  constructor(private readonly n: number) {
    this.vectors = Array.from({length: 7}, () => new Float64Array(n));
    this.product = new Float64Array(n);
    this.size = 8 * n;
  }

  cycle({system, residual, correction}: Cycle, target: number, budget: number): number {
    const {n, product} = this;
    let [vOld, v, vNew, z, zNew, wOld, w] = this.vectors;
    correction.fill(0);
    vOld.fill(0);
    wOld.fill(0);
    w.fill(0);
    v.set(residual);
    system.precondition(v, z);
    let gamma = length(dot(z, v), 0);
    if (gamma === 0) return 0;
    // The 2-norm asked for, as a share of the norm the recurrence knows.
    const share = target / norm(residual);
    const first = gamma;
    let gammaOld = 1;
    let eta = gamma;
    let sineOld = 0;
    let sine = 0;
    let cosineOld = 1;
    let cosine = 1;
    let used = 0;
    while (used < budget) {
      for (let i = 0; i < n; i++) z[i] /= gamma;
      system.multiply(z, product);
      used++;
      const delta = dot(product, z);
      for (let i = 0; i < n; i++) vNew[i] = product[i] - (delta / gamma) * v[i] - (gamma / gammaOld) * vOld[i];
      system.precondition(vNew, zNew);
      const gammaNew = length(dot(zNew, vNew), used);
      const alpha0 = cosine * delta - cosineOld * sine * gamma;
      const alpha1 = Math.hypot(alpha0, gammaNew);
      const alpha2 = sine * delta + cosineOld * cosine * gamma;
      const alpha3 = sineOld * gamma;
      // Only a singular matrix closes its Lanczos space with nothing left to divide by.
      if (alpha1 === 0) break;
      cosineOld = cosine;
      sineOld = sine;
      cosine = alpha0 / alpha1;
      sine = gammaNew / alpha1;
      const step = cosine * eta;
      for (let i = 0; i < n; i++) {
        const direction = (z[i] - alpha3 * wOld[i] - alpha2 * w[i]) / alpha1;
        wOld[i] = direction;
        correction[i] += step * direction;
      }
      eta *= -sine;
      [wOld, w] = [w, wOld];
      [vOld, v, vNew] = [v, vNew, vOld];
      [z, zNew] = [zNew, z];
      gammaOld = gamma;
      gamma = gammaNew;
      if (Math.abs(eta) <= share * first || gamma === 0) break;
    }
    return used;
  }
}

function length(square: number, iterations: number): number {
  if (square < 0) throwIndefinite('minres', 'the preconditioner has vᵀM⁻¹v < 0', {method: 'minres', iterations});
  return Math.sqrt(square);
}
