/** Masses as users give them: one number, one for each coordinate, a matrix, or a matrix for each row. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import {sameShape, sizeOf, type Shape} from '../graph/node.js';
import {linalg} from '../linalg/index.js';
import {constantTensor} from '../trace/trace.js';
import {readNumeric, type Numeric} from './numeric.js';
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
