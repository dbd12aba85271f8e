/**
 * A deformation at points, by the components of the displacement's gradient H = F − I: each is a tensor of the points'
 * shape. Components keep the digits of small strains, and compile to plain arithmetic.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';

/** Rows of components: 3 by 3, with undefined for what is zero because the problem is plane. */
export type Components = readonly (readonly (tf.Tensor | undefined)[])[];

const sumOf = (terms: readonly tf.Tensor[]): tf.Tensor => terms.reduce((total, term) => tf.add(total, term));
const productOf = (a: tf.Tensor | undefined, b: tf.Tensor | undefined): tf.Tensor[] =>
  a === undefined || b === undefined ? [] : [tf.mul(a, b)];
const axes = [0, 1, 2] as const;

/** The deformation at some points, as the energy of a material reads it. */
export class Deformation {
  /** @param H H[i][j] = ∂u_i/∂X_j */
  constructor(readonly H: Components) {}

  /** An entry of H, zero where it is left out. */
  private entry(i: number, j: number): tf.Tensor {
    return this.H[i][j] ?? tf.zerosLike(this.H[0][0]!);
  }

  /** tr H, the small change of volume. */
  get trace(): tf.Tensor {
    return sumOf(axes.flatMap(i => this.H[i][i] ?? []));
  }

  /** The symmetric part of H, entries (0,0), (1,1), (2,2), (0,1), (0,2), (1,2). */
  get smallStrain(): (tf.Tensor | undefined)[] {
    return pairs.map(([i, j]) => {
      const [a, b] = [this.H[i][j], this.H[j][i]];
      return i === j ? a : a === undefined || b === undefined ? undefined : tf.mul(0.5, tf.add(a, b));
    });
  }

  /** Green and Lagrange's strain (FᵀF − I)/2, entries as those of `smallStrain`. */
  get greenStrain(): (tf.Tensor | undefined)[] {
    const small = this.smallStrain;
    return pairs.map(([i, j], k) => {
      const products = axes.flatMap(m => productOf(this.H[m][i], this.H[m][j]));
      if (products.length === 0) return small[k];
      const half = tf.mul(0.5, sumOf(products));
      const linear = small[k];
      return linear === undefined ? half : tf.add(linear, half);
    });
  }

  /** I₁ − 3, the trace of FᵀF − I. */
  get firstInvariant(): tf.Tensor {
    const squares = this.H.flatMap(row => row.flatMap(h => (h === undefined ? [] : [tf.square(h)])));
    return tf.add(tf.mul(2, this.trace), sumOf(squares));
  }

  /** I₂ − 3 of FᵀF = I + 2 E: 4 tr E + 2 ((tr E)² − E : E). */
  get secondInvariant(): tf.Tensor {
    const strain = this.greenStrain;
    const trace = sumOf(strain.slice(0, 3).flatMap(e => e ?? []));
    return tf.add(tf.mul(4, trace), tf.mul(2, tf.sub(tf.square(trace), contracted(strain))));
  }

  /** J − 1 = tr H + the principal minors of H + det H. */
  get volumeChange(): tf.Tensor {
    const {H} = this;
    const signed = (sign: number, factors: readonly (tf.Tensor | undefined)[]): tf.Tensor[] => {
      if (factors.includes(undefined)) return [];
      const product = (factors as tf.Tensor[]).reduce((a, b) => tf.mul(a, b));
      return [sign > 0 ? product : tf.neg(product)];
    };
    const minors = [
      [0, 1],
      [0, 2],
      [1, 2],
    ].flatMap(([i, j]) => [
      // prettier-ignore
      ...signed(1, [H[i][i], H[j][j]]),
      ...signed(-1, [H[i][j], H[j][i]]),
    ]);
    const determinant = [
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ].flatMap(([i, j, k]) => [
      // prettier-ignore
      ...signed(1, [H[0][i], H[1][j], H[2][k]]),
      ...signed(-1, [H[0][i], H[1][k], H[2][j]]),
    ]);
    return sumOf([this.trace, ...minors, ...determinant]);
  }

  /** F as [..., 3, 3]. */
  get F(): tf.Tensor {
    const rows = axes.map(i =>
      tf.stack(
        axes.map(j => (i === j ? tf.add(this.entry(i, j), 1) : this.entry(i, j))),
        -1,
      ),
    );
    return tf.stack(rows, -2);
  }

  /** The deformation whose H is s·F − I, with the change s − 1; out of the plane as before where `dimension` is 2. */
  scaled(change: tf.Tensor, dimension: number): Deformation {
    const scale = tf.add(change, 1);
    return this.mapped(dimension, (h, i, j) => (i === j ? tf.add(tf.mul(scale, h), change) : tf.mul(scale, h)));
  }

  /** The deformation with this tensor added to the diagonal of H. */
  widened(by: tf.Tensor, dimension: number): Deformation {
    return this.mapped(dimension, (h, i, j) => (i === j ? tf.add(h, by) : h));
  }

  private mapped(dimension: number, map: (h: tf.Tensor, i: number, j: number) => tf.Tensor): Deformation {
    return new Deformation(
      this.H.map((row, i) =>
        row.map((h, j) => (h === undefined || i >= dimension || j >= dimension ? h : map(h, i, j))),
      ),
    );
  }

  /** The deformation with H₂₂ in the place of none. */
  thickened(h: tf.Tensor): Deformation {
    return new Deformation(this.H.map((row, i) => (i === 2 ? [row[0], row[1], h] : row)));
  }
}

/** Rows and columns of the six entries of a symmetric tensor. */
export const pairs = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]] as const; // prettier-ignore

/** A : A of a symmetric tensor's six entries. */
export function contracted(entries: readonly (tf.Tensor | undefined)[]): tf.Tensor {
  return sumOf(entries.flatMap((e, k) => (e === undefined ? [] : [k < 3 ? tf.square(e) : tf.mul(2, tf.square(e))])));
}

/** A constant of no axes, unrounded. */
export const number = (value: number): tf.Tensor => constantTensor(value, []);
