/** Masses as users give them: one number, one for each coordinate, a matrix, full or sparse, or one for each row. */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {reshape, sparseSolve} from '../graph/build.js';
import {sameShape, sizeOf, type Shape} from '../graph/node.js';
import {linalg} from '../linalg/index.js';
import {tensorFrom} from '../trace/tape.js';
import {constantTensor} from '../trace/trace.js';
import {readNumeric, type Numeric} from './numeric.js';
import type {Bivariant, Params} from './params.js';
import {returned} from './returned.js';
import {withSwitches} from './switches.js';

/** The mass as a tensor in the running trace, in double precision. */
export function massTensor<At extends object>(mass: Numeric | ((at: At) => tf.Tensor), at: At): tf.Tensor {
  if (typeof mass === 'function')
    return returned('mass', () => withSwitches('mass', at, mass), {
      code: 'mass-shape',
      must: 'a tensor',
      data: {term: 'mass'},
    });
  if (mass instanceof tf.Tensor) return mass;
  const {values, shape} = readNumeric(mass, 'mass');
  return constantTensor(values, shape);
}

/** How a mass multiplies a velocity: 'blocks' are one matrix for each row. */
export type MassKind = 'scalar' | 'lumped' | 'blocks' | 'consistent';

/**
 * @param shape of what it multiplies
 * @throws ShapeError 'mass-shape'
 */
export function massKind(mass: Shape, shape: Shape): MassKind {
  const n = sizeOf(shape);
  if (sizeOf(mass) === 1) return 'scalar';
  if (sameShape(mass, shape)) return 'lumped';
  if (sameShape(mass, [n, n])) return 'consistent';
  const blocks = [...shape, shape[shape.length - 1]];
  if (shape.length > 1 && sameShape(mass, blocks)) return 'blocks';
  throw new ShapeError(
    'mass-shape',
    `mass has shape [${mass.join(', ')}]: give a number, one mass per coordinate [${shape.join(', ')}], `
      + `or a matrix [${n}, ${n}]${shape.length > 1 ? `, or one a row, [${blocks.join(', ')}]` : ''}.`,
    {term: 'mass', mass: [...mass], state: [...shape]},
  );
}

/** By the kind of the mass, a matrix in the shape that its products with columns need, and the column. */
function columns(mass: tf.Tensor, x: tf.Tensor): [matrix: tf.Tensor, column: tf.Tensor] | undefined {
  const kind = massKind(mass.shape, x.shape);
  if (kind === 'blocks') return [mass, tf.expandDims(x, -1)];
  return kind === 'consistent' ? [mass, tf.reshape(x, [x.size, 1])] : undefined;
}

const diagonalOf = (mass: tf.Tensor): tf.Tensor => (mass.size === 1 ? tf.reshape(mass, []) : mass);

/** M w, of the shape of w. */
export function timesMass(mass: tf.Tensor, w: tf.Tensor): tf.Tensor {
  const full = columns(mass, w);
  return full === undefined ? tf.mul(diagonalOf(mass), w) : tf.reshape(tf.matMul(full[0], full[1]), w.shape);
}

/** M⁻¹ f, of the shape of f. */
export function solveMass(mass: tf.Tensor, f: tf.Tensor): tf.Tensor {
  const full = columns(mass, f);
  return full === undefined ? tf.div(f, diagonalOf(mass)) : tf.reshape(linalg.solve(full[0], full[1]), f.shape);
}

/** What a mass is a function of. */
interface MassPlace<P> {
  readonly q: tf.Tensor;
  readonly params: P;
}

/** A symmetric positive definite mass matrix by its entries, for many coordinates: that of finite elements, say. */
export interface SparseMass<P = Params> {
  /**
   * Rows and columns of entries, numbers of coordinates in the order of v. One beside the diagonal is given once, and
   * counts for (i, j) and (j, i); entries of one place add up.
   */
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  /** [entries], or a function of q and params that returns them. */
  readonly values: Numeric | Bivariant<MassPlace<P>, tf.Tensor>;
}

/** A mass in any of the forms that `mechanics` takes. */
export type AnyMass<P = Params> = Numeric | Bivariant<MassPlace<P>, tf.Tensor> | SparseMass<P>;

/** Whether a mass is one of entries. */
export const isSparseMass = <P>(mass: AnyMass<P>): mass is SparseMass<P> =>
  typeof mass === 'object' && !(mass instanceof tf.Tensor) && !ArrayBuffer.isView(mass) && 'rows' in mass;

/** @throws OptionError 'bad-mass' where rows and columns are not as many whole numbers each */
export function checkSparseMass({rows, columns}: SparseMass<never>): void {
  const whole = rows instanceof Int32Array && columns instanceof Int32Array;
  if (whole && rows.length === columns.length && rows.every((row, k) => row >= 0 && columns[k] >= 0)) return;
  throw new OptionError(
    'bad-mass',
    'mass: rows and columns of a sparse mass must be Int32Arrays of one length, without negative numbers.',
  );
}

/** Products with a mass at a position. */
export interface MassAction {
  /** M as it was given; of a sparse mass the diagonal, of the shape of v. */
  readonly value: (v: tf.Tensor) => tf.Tensor;
  /** M w, of the shape of w. */
  readonly times: (w: tf.Tensor) => tf.Tensor;
  /** M⁻¹ f, of the shape of f; of a sparse mass inside a trace only. */
  readonly solve: (f: tf.Tensor) => tf.Tensor;
}

/** @throws ShapeError 'mass-shape'; OptionError 'no-mass' where there is none */
export function massAction<P>(mass: AnyMass<P> | undefined, at: MassPlace<P>): MassAction {
  if (mass === undefined)
    throw new OptionError(
      'no-mass',
      'This system has no mass: equilibrium finds where it rests, and nothing else can be done without one. Give it a '
        + 'mass, or if it is a body a density.',
    );
  if (!isSparseMass(mass)) {
    const value = (): tf.Tensor => massTensor<MassPlace<P>>(mass, at);
    return {value, times: w => timesMass(value(), w), solve: f => solveMass(value(), f)};
  }
  const {rows, columns} = mass;
  const entries = (like: tf.Tensor): tf.Tensor => {
    const value = massTensor<MassPlace<P>>(mass.values, at);
    if (value.size === rows.length && rows.every((row, k) => row < like.size && columns[k] < like.size))
      return tf.reshape(value, [value.size]);
    throw new ShapeError(
      'mass-shape',
      `mass has ${value.size} values for ${rows.length} entries of a matrix [${like.size}, ${like.size}]: give one `
        + 'value for each entry, and rows and columns below the number of coordinates.',
      {term: 'mass', values: value.size, entries: rows.length, state: [...like.shape]},
    );
  };
  const whole = (places: Iterable<number>): tf.Tensor1D => tf.tensor1d(Int32Array.from(places), 'int32');
  const places = Array.from(rows.keys());
  const beside = places.filter(k => rows[k] !== columns[k]);
  return {
    value: v => {
      const own = places.filter(k => rows[k] === columns[k]);
      const diagonal = tf.gather(entries(v), whole(own));
      return tf.reshape(tf.unsortedSegmentSum(diagonal, whole(own.map(k => rows[k])), v.size), v.shape);
    },
    times: w => {
      const values = tf.gather(entries(w), whole([...places, ...beside]));
      const parts = tf.gather(tf.reshape(w, [w.size]), whole([...columns, ...beside.map(k => rows[k])]));
      const to = whole([...rows, ...beside.map(k => columns[k])]);
      return tf.reshape(tf.unsortedSegmentSum(tf.mul(values, parts), to, w.size), w.shape);
    },
    solve: f => {
      const count = rows.length;
      return tensorFrom([entries(f), f], ([a, b]) =>
        reshape(sparseSolve(reshape(a, [1, count]), reshape(b, [1, f.size]), {rows, columns}), f.shape),
      );
    },
  };
}
