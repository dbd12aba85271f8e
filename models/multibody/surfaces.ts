/**
 * Balls on surfaces f = 0: the nearest point of the surface to the ball's centre by Newton's iteration for the
 * conditions of Lagrange, p − c + λ ∇f = 0 and f(p) = 0, a fixed number of times; the signed distance is λ |∇f|. And
 * surfaces as heights on a grid.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readBy, readOptions, typed, type Check, type Options} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError, ShapeError} from '../../lib/index.js';
import {coefficient, type Coefficient} from '../coefficient.js';
import {vector} from './numbers.js';
import {ballCentres, ballRadii, centreIn, type Meet, type Pair} from './pairs.js';
import type {Shape, SurfaceFunction} from './shapes.js';
import {constants, pointOf} from './state.js';
import {add, cross, dot, length, rotate, rotateBack, scale, sub, times, type Matrix3, type Vec} from './vectors.js';

/** Newton doubles the digits: from the one or two that the first step gives near a surface to sixteen. */
const iterations = 4;
/** Further off than so many radii, the distance is that of the first step. */
const near = 4;
/** Smallest slope at the end of the first step, squared and relative to |∇f|². */
const flattest = 0.01;

type Field = (at: Vec) => tf.Tensor;

/** f with its first and second derivatives. */
interface Jet {
  readonly value: tf.Tensor;
  readonly slope: Vec;
  readonly bend: Matrix3;
}

/**
 * ∂f/∂x of functions of each point by itself; zero where f does not depend on a coordinate, which tfjs would refuse.
 */
function gradient(f: Field, at: Vec): Vec {
  const all = tf.grads((x: tf.Tensor, y: tf.Tensor, z: tf.Tensor) =>
    tf.add(f([x, y, z]), tf.mul(0, tf.add(x, tf.add(y, z)))),
  )(at.map(x => tf.clone(x)));
  return [all[0], all[1], all[2]];
}

const jetOf = (f: Field, at: Vec): Jet => ({
  value: f(at),
  slope: gradient(f, at),
  bend: [0, 1, 2].map(i => gradient(x => gradient(f, x)[i], at)) as unknown as Matrix3,
});

/** I + λ H of a symmetric H, inverted by its adjugate. */
function inverseOf(h: Matrix3, lambda: tf.Tensor): Matrix3 {
  const rows = h.map((row, i) =>
    row.map((x, j) => (i === j ? tf.add(1, tf.mul(lambda, x)) : tf.mul(lambda, x))),
  ) as unknown as Matrix3;
  const adjugate: Matrix3 = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])];
  const determinant = dot(rows[0], adjugate[0]);
  return adjugate.map(row => scale(tf.div(1, determinant), row)) as unknown as Matrix3;
}

export function ballOnSurface(pairs: readonly Pair[], value: SurfaceFunction): Meet {
  const known = jets.get(value);
  return (under, over, params) => {
    const origin = pointOf(under, constants(pairs.map(pair => centreIn(pair.under, pair.on))));
    const centre = pointOf(over, ballCentres(pairs));
    const c = rotateBack(under.rotation, sub(centre, origin));
    const jet = (at: Vec): Jet => known?.(at, params) ?? jetOf(fieldOf(value, params, pairs.length), at);
    const radius = ballRadii(pairs);
    const {value: start, slope, bend: bending} = jet(c);
    // Along the gradient to the zero of f − |∇f| s + ½ f″ s²: without f″ a ball that nearly fills a bowl would be far
    // off.
    const square = dot(slope, slope);
    const steep = tf.sqrt(square);
    const curved = tf.div(dot(slope, times(bending, slope)), square);
    const ends = tf.maximum(tf.sub(square, tf.mul(2, tf.mul(start, curved))), tf.mul(flattest, square));
    const first = tf.div(tf.mul(2, start), tf.add(steep, tf.sqrt(ends)));
    const far = tf.greater(tf.abs(first), tf.mul(near, radius));
    const step = tf.div(first, steep);
    let p = sub(c, scale(step, slope));
    let lambda = step;
    for (let i = 0; i < iterations; i++) {
      const {value: left, slope: g, bend} = jet(p);
      const inverse = inverseOf(bend, tf.where(far, tf.zerosLike(lambda), lambda));
      const r = sub(c, p);
      const [ofG, ofR] = [times(inverse, g), times(inverse, r)];
      lambda = tf.div(tf.add(dot(g, ofR), left), dot(g, ofG));
      p = add(p, sub(ofR, scale(lambda, ofG)));
    }
    const {slope: g} = jet(p);
    const size = length(g);
    const away = scale(tf.div(1, size), g);
    const plain = scale(tf.div(1, steep), slope);
    const local = [0, 1, 2].map(i => tf.where(far, plain[i], away[i])) as unknown as Vec;
    const normal = rotate(under.rotation, local);
    return {
      gap: tf.sub(tf.where(far, first, tf.mul(lambda, size)), radius),
      normal,
      point: sub(centre, scale(radius, normal)),
    };
  };
}

function fieldOf(value: SurfaceFunction, params: Params, points: number): Field {
  return ([x, y, z]) => {
    const result = value({x, y, z, params});
    if (result instanceof tf.Tensor && result.rank === 1 && result.shape[0] === points) return result;
    const got = result instanceof tf.Tensor ? `shape [${result.shape.join(', ')}]` : typeof result;
    throw new ShapeError(
      'surface-shape',
      `a surface's value must be one number for each of the ${points} points [${points}], but has ${got}.`,
    );
  };
}

const sizes: Check<readonly [number, number]> = readBy((value, name) => {
  if (Array.isArray(value) && value.length === 2 && value.every(x => Number.isFinite(x) && x > 0)) return value;
  throw new OptionError('bad-multibody', `${name} must be two positive lengths, along x and along y.`);
});

const heightOptions = {
  /** [rows, columns], at least 2 × 2: rows along y, columns along x [length]. */
  heights: typed<Coefficient | readonly (readonly number[])[]>(),
  /** Size of the grid along x and y [length]; its middle is at `at`. */
  size: sizes,
  /** In world coordinates at the start; default the centre of the body. */
  at: optional(vector),
};

/**
 * Ground whose height over a grid is known: solid below z = H(x, y) in the axes of its body, with H the cubic of
 * Catmull & Rom through the heights (Keys, IEEE Trans. ASSP 29, 1981), which has a continuous gradient. Beyond its
 * edges it goes on level.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'; ShapeError 'surface-shape' when traced
 */
export function heightField(spec: Options<typeof heightOptions>): Shape {
  const {size, at} = readOptions(spec, heightOptions, 'heightField', 'bad-multibody');
  const heights = coefficient(spec.heights, 'heightField: heights');
  /** z − H with its derivatives. */
  const jet = ([x, y, z]: Vec, params: Params): Jet => {
    const grid = heights(params);
    const [rows, columns] = grid.shape;
    if (grid.rank !== 2 || rows < 2 || columns < 2)
      throw new ShapeError(
        'surface-shape',
        `heightField: heights have shape [${grid.shape.join(', ')}]; give [rows, columns], at least [2, 2].`,
        {heights: grid.shape},
      );
    const [inX, inY] = [along(x, size[0], columns), along(y, size[1], rows)];
    const flat = tf.reshape(grid, [rows * columns]);
    const nodes = inY.map(row =>
      inX.map(column => tf.gather(flat, tf.cast(tf.add(tf.mul(row.index, columns), column.index), 'int32'))),
    );
    const derivative = (byX: 0 | 1 | 2, byY: 0 | 1 | 2): tf.Tensor =>
      tf.addN(
        nodes.map((row, j) => {
          const acrossRow = tf.addN(row.map((height, i) => tf.mul(inX[i].weights[byX], height)));
          return tf.mul(inY[j].weights[byY], acrossRow);
        }),
      );
    const none = tf.zerosLike(x);
    const [xx, xy, yy] = [derivative(2, 0), derivative(1, 1), derivative(0, 2)].map(h => tf.neg(h));
    return {
      value: tf.sub(z, derivative(0, 0)),
      slope: [tf.neg(derivative(1, 0)), tf.neg(derivative(0, 1)), tf.onesLike(z)],
      bend: [
        [xx, xy, none],
        [xy, yy, none],
        [none, none, none],
      ],
    };
  };
  const value: SurfaceFunction = ({x, y, z, params}) => jet([x, y, z], params).value;
  jets.set(value, jet);
  return {kind: 'heightField', balls: () => [], value, at};
}

/** Derivatives of surfaces that are known in closed form. */
const jets = new WeakMap<SurfaceFunction, (at: Vec, params: Params) => Jet>();

interface Node {
  readonly index: tf.Tensor;
  /** The weight and its derivatives along the axis. */
  readonly weights: readonly tf.Tensor[];
}

/** Powers 0 to 3 of the way into the cell, of twice the weights of the four nodes around it. */
const cubics = [
  [0, -1, 2, -1],
  [2, 0, -5, 3],
  [0, 1, 4, -3],
  [0, 0, -1, 1],
];

/** The four nodes around each place along an axis of the grid. */
function along(x: tf.Tensor, size: number, nodes: number): readonly Node[] {
  const perLength = (nodes - 1) / size;
  const wished = tf.mul(tf.add(x, size / 2), perLength);
  const place = tf.maximum(tf.minimum(wished, nodes - 1), 0);
  const beyond = tf.logicalOr(tf.less(wished, 0), tf.greater(wished, nodes - 1));
  const rate = tf.where(beyond, tf.zerosLike(place), tf.fill(place.shape, perLength));
  const cell = tf.minimum(tf.floor(place), nodes - 2);
  const u = tf.sub(place, cell);
  return cubics.map(([a, b, c, d], k) => ({
    index: tf.maximum(tf.minimum(tf.add(cell, k - 1), nodes - 1), 0),
    weights: [
      tf.mul(0.5, tf.add(a, tf.mul(u, tf.add(b, tf.mul(u, tf.add(c, tf.mul(u, d))))))),
      tf.mul(tf.mul(0.5, rate), tf.add(b, tf.mul(u, tf.add(2 * c, tf.mul(u, 3 * d))))),
      tf.mul(tf.mul(0.5, tf.square(rate)), tf.add(2 * c, tf.mul(u, 6 * d))),
    ],
  }));
}
