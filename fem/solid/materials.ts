/**
 * Energies of hyperelastic materials, by reference volume (Bonet & Wood, Nonlinear Continuum Mechanics for Finite
 * Element Analysis, 2nd ed., chapter 6; Holzapfel, Nonlinear Solid Mechanics, 2000, chapter 6). Elastic constants are
 * Young's modulus E and Poisson's ratio nu, or the shear modulus mu with Lamé's lambda or the bulk modulus kappa.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, requireValue} from '../../lib/checks.js';
import {OptionError, traced, type Params} from '../../lib/index.js';
import {ranges, type FieldCoefficient} from '../body/coefficient.js';
import type {Deformation} from './deformation.js';
import {contracted, number} from './deformation.js';
import {stretchPowers} from './stretch-powers.js';

/** Coefficients at the points of a deformation, or without axes where they are one number. */
export interface PointCoefficients {
  readonly [name: string]: tf.Tensor;
}

/** A law of elasticity: what `linearElastic`, `neoHookean` and the others return. */
export interface Material {
  readonly name: string;
  readonly coefficients: {readonly [name: string]: FieldCoefficient};
  readonly ranges: {readonly [name: string]: {readonly test: (x: number) => boolean; readonly what: string}};
  /** Energy by volume at each point. */
  readonly energy: (deformation: Deformation, coefficients: PointCoefficients, params: Params) => tf.Tensor;
  /** Whether the energy is one of small strains: rotations count as strains. */
  readonly isLinear: boolean;
  /** H₂₂ that makes the stress across the plane vanish; left out where plane stress is refused. */
  readonly thinning?: (deformation: Deformation, coefficients: PointCoefficients) => tf.Tensor;
}

/** An energy of F [points, 3, 3], by volume, that returns [points]. */
export type EnergyOfF = (at: {readonly F: tf.Tensor; readonly params: Params}) => tf.Tensor;

/** Two constants of an isotropic material. */
export type ElasticConstants =
  | {readonly E: FieldCoefficient; readonly nu: FieldCoefficient}
  | {readonly mu: FieldCoefficient; readonly lambda: FieldCoefficient}
  | {readonly mu: FieldCoefficient; readonly kappa: FieldCoefficient};

function constantsOf(name: string, given: ElasticConstants): Pick<Material, 'name' | 'coefficients' | 'ranges'> {
  const names = Object.keys(given).sort().join();
  if (!['E,nu', 'lambda,mu', 'kappa,mu'].includes(names))
    throw new OptionError(
      'bad-material',
      `${name}: give {E, nu}, {mu, lambda} or {mu, kappa}, not {${Object.keys(given).join(', ')}}.`,
    );
  return {
    name,
    coefficients: {...given},
    ranges: {E: ranges.positive, nu: ranges.poisson, mu: ranges.positive, kappa: ranges.positive, lambda: ranges.any},
  };
}

/** Lamé's constants. */
function lame({E, nu, mu, lambda, kappa}: PointCoefficients): {mu: tf.Tensor; lambda: tf.Tensor} {
  if (E !== undefined) {
    const shear = tf.div(E, tf.mul(2, tf.add(1, nu)));
    return {mu: shear, lambda: tf.div(tf.mul(tf.mul(2, shear), nu), tf.sub(1, tf.mul(2, nu)))};
  }
  return {mu, lambda: lambda ?? tf.sub(kappa, tf.mul(2 / 3, mu))};
}

/** λ/2 (tr ε)² + μ ε : ε */
function quadratic(strain: readonly (tf.Tensor | undefined)[], coefficients: PointCoefficients): tf.Tensor {
  const {mu, lambda} = lame(coefficients);
  const trace = strain
    .slice(0, 3)
    .flatMap(e => e ?? [])
    .reduce((sum, e) => tf.add(sum, e));
  return tf.add(tf.mul(tf.mul(0.5, lambda), tf.square(trace)), tf.mul(mu, contracted(strain)));
}

/** The strain across a plane without stress there: −λ/(λ + 2 μ) (ε₀₀ + ε₁₁). */
function strainAcross(strain: readonly (tf.Tensor | undefined)[], coefficients: PointCoefficients): tf.Tensor {
  const {mu, lambda} = lame(coefficients);
  const share = tf.div(lambda, tf.add(lambda, tf.mul(2, mu)));
  return tf.neg(tf.mul(share, tf.add(strain[0]!, strain[1]!)));
}

/** Hooke's law for small strains and rotations, λ/2 (tr ε)² + μ ε : ε. @throws OptionError for other constants */
export const linearElastic = (constants: ElasticConstants): Material => ({
  ...constantsOf('linearElastic', constants),
  isLinear: true,
  energy: (deformation, coefficients) => quadratic(deformation.smallStrain, coefficients),
  thinning: (deformation, coefficients) => strainAcross(deformation.smallStrain, coefficients),
});

/** Hooke's law for Green's strain: large rotations with small strains. @throws OptionError for other constants */
export const stVenantKirchhoff = (constants: ElasticConstants): Material => ({
  ...constantsOf('stVenantKirchhoff', constants),
  isLinear: false,
  energy: (deformation, coefficients) => quadratic(deformation.greenStrain, coefficients),
  // E₂₂ = h + h²/2
  thinning: (deformation, coefficients) =>
    tf.sub(tf.sqrt(tf.add(1, tf.mul(2, strainAcross(deformation.greenStrain, coefficients)))), 1),
});

/** μ/2 (I₁ − 3) − μ ln J + λ/2 (ln J)². @throws OptionError for other constants */
export const neoHookean = (constants: ElasticConstants): Material => ({
  ...constantsOf('neoHookean', constants),
  isLinear: false,
  energy: (deformation, coefficients) => {
    const {mu, lambda} = lame(coefficients);
    const logJ = tf.log1p(deformation.volumeChange);
    const shear = tf.mul(mu, tf.sub(tf.mul(0.5, deformation.firstInvariant), logJ));
    return tf.add(shear, tf.mul(tf.mul(0.5, lambda), tf.square(logJ)));
  },
  // With s = ln F₂₂ the stress across is zero where μ (e²ˢ − 1) + λ (ln J₂ + s) = 0: five steps of Newton's method.
  thinning: (deformation, coefficients) => {
    const {mu, lambda} = lame(coefficients);
    const inPlane = tf.log1p(deformation.volumeChange);
    let s = tf.neg(tf.mul(tf.div(lambda, tf.add(lambda, tf.mul(2, mu))), inPlane));
    for (let iteration = 0; iteration < 5; iteration++) {
      const value = tf.add(tf.mul(mu, tf.expm1(tf.mul(2, s))), tf.mul(lambda, tf.add(inPlane, s)));
      const slope = tf.add(tf.mul(tf.mul(2, mu), tf.exp(tf.mul(2, s))), lambda);
      s = tf.sub(s, tf.div(value, slope));
    }
    return tf.expm1(s);
  },
});

/** J^(−2/3) I₁ − 3 and J^(−4/3) I₂ − 3, of a change J − 1. */
function isochoric(deformation: Deformation, change: tf.Tensor): {first: tf.Tensor; second: tf.Tensor} {
  const logJ = tf.log1p(change);
  /** J^(−n/3) (I + 3) − 3 of I − 3. */
  const scaled = (invariant: tf.Tensor, n: number): tf.Tensor => {
    const power = tf.expm1(tf.mul(number(-n / 3), logJ));
    return tf.add(tf.mul(tf.add(power, 1), invariant), tf.mul(3, power));
  };
  return {first: scaled(deformation.firstInvariant, 2), second: scaled(deformation.secondInvariant, 4)};
}

/**
 * c₁₀ (J^(−2/3) I₁ − 3) + c₀₁ (J^(−4/3) I₂ − 3) + κ/2 (J − 1)²; its shear modulus is 2 (c₁₀ + c₀₁).
 */
export const mooneyRivlin = (constants: {
  readonly c10: FieldCoefficient;
  readonly c01: FieldCoefficient;
  readonly kappa: FieldCoefficient;
}): Material => ({
  name: 'mooneyRivlin',
  coefficients: {...constants},
  ranges: {c10: ranges.any, c01: ranges.any, kappa: ranges.positive},
  isLinear: false,
  energy: (deformation, {c10, c01, kappa}) => {
    const change = deformation.volumeChange;
    const {first: I1, second: I2} = isochoric(deformation, change);
    return tf.add(tf.add(tf.mul(c10, I1), tf.mul(c01, I2)), tf.mul(tf.mul(0.5, kappa), tf.square(change)));
  },
});

/** A term of `ogden`. */
export interface OgdenTerm {
  readonly mu: FieldCoefficient;
  readonly alpha: FieldCoefficient;
}

/**
 * Σ μ/α (λ₁^α + λ₂^α + λ₃^α − 3) + κ/2 (J − 1)² with the stretches λ J^(−1/3); its shear modulus is Σ μ α/2 (Ogden,
 * Proc. R. Soc. Lond. A 326, 1972, for changing volumes as in Simo & Taylor, Comput. Methods Appl. Mech. Engng 85,
 * 1991). No μ α may be below zero for a stable material, and α not 0.
 * @throws OptionError without terms
 */
export function ogden({
  terms,
  kappa,
}: {
  readonly terms: readonly OgdenTerm[];
  readonly kappa: FieldCoefficient;
}): Material {
  if (!Array.isArray(terms) || terms.length === 0)
    throw new OptionError('bad-material', 'ogden: give terms, a list of {mu, alpha}, and kappa.');
  const named = terms.flatMap(({mu, alpha}, i) => [
    [`mu${i + 1}`, mu, ranges.any] as const,
    [`alpha${i + 1}`, alpha, ranges.nonZero] as const,
  ]);
  return {
    name: 'ogden',
    coefficients: {...Object.fromEntries(named.map(([name, given]) => [name, given])), kappa},
    ranges: {...Object.fromEntries(named.map(([name, , range]) => [name, range])), kappa: ranges.positive},
    isLinear: false,
    energy: (deformation, coefficients) => {
      const change = deformation.volumeChange;
      const {first, second} = isochoric(deformation, change);
      const [I1, I2] = [tf.add(first, 3), tf.add(second, 3)];
      const parts = terms.map((_, i) => {
        const [mu, alpha] = [coefficients[`mu${i + 1}`], coefficients[`alpha${i + 1}`]];
        return tf.mul(tf.div(mu, alpha), tf.sub(stretchPowers(I1, I2, alpha), 3));
      });
      const volume = tf.mul(tf.mul(0.5, coefficients.kappa), tf.square(change));
      return parts.reduce((sum, part) => tf.add(sum, part), volume);
    },
  };
}

/** Invariants [points] of a deformation: of FᵀF, and J = det F. */
export interface Invariants {
  readonly I1: tf.Tensor;
  readonly I2: tf.Tensor;
  readonly J: tf.Tensor;
  readonly params: Params;
}

/**
 * An energy of invariants, for example a network's: frame-indifferent and isotropic. From N(I₁, I₂, J) are subtracted
 * its value without deformation, and n (J − 1), n its slope there, so that without deformation there is no stress
 * (Linden et al., J. Mech. Phys. Solids 179, 2023). The energy is smooth, and bounded where det F > 0 is to be kept.
 */
export function neuralMaterial({energy}: {readonly energy: (at: Invariants) => tf.Tensor}): Material {
  requireValue(energy, callable, 'neuralMaterial: energy');
  return {
    name: 'neuralMaterial',
    coefficients: {},
    ranges: {},
    isLinear: false,
    energy: (deformation, _, params) => {
      const of = (at: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
        energy({I1: at.I1, I2: at.I2, J: at.J, params});
      const change = deformation.volumeChange;
      const {shape, size} = change;
      const flat = (x: tf.Tensor, from: number): tf.Tensor => tf.add(tf.reshape(x, [size]), from);
      const here = of({
        I1: flat(deformation.firstInvariant, 3),
        I2: flat(deformation.secondInvariant, 3),
        J: flat(change, 1),
      });
      const rest = {I1: tf.fill([1], 3), I2: tf.fill([1], 3), J: tf.fill([1], 1)};
      const along = {I1: tf.fill([1], 2), I2: tf.fill([1], 4), J: tf.fill([1], 1)};
      const slope = tf.reshape(traced.derivativeAlong(of, rest, along), []);
      const shifted = tf.sub(tf.reshape(here, shape), tf.reshape(of(rest), []));
      return tf.sub(shifted, tf.mul(slope, change));
    },
  };
}

/** A material of an energy of F, as a user writes it. */
export function materialOf(given: Material | EnergyOfF): Material {
  if (typeof given !== 'function') return given;
  return {
    name: 'the energy of F',
    coefficients: {},
    ranges: {},
    isLinear: false,
    energy: (deformation, _, params) => {
      const {F} = deformation;
      const shape = F.shape.slice(0, -2);
      return tf.reshape(given({F: tf.reshape(F, [-1, 3, 3]), params}), shape);
    },
  };
}
