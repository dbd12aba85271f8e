/** What a body rests on and bumps into: a signed distance, positive outside. */
import * as tf from '@tensorflow/tfjs';
import {finite, listOf, requireValue} from '../../lib/checks.js';
import {OptionError, traced, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';

/** Current positions of points [points, axes], the time and the parameters. */
export interface ObstacleAt {
  readonly x: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** An obstacle that does not deform. */
export interface RigidObstacle {
  /** Distances of points from its surface, [points]; negative inside. */
  readonly distance: Bivariant<ObstacleAt, tf.Tensor>;
  /**
   * The velocity of its surface, [axes] or [points, axes], for friction. Default: it is at rest; obstacles of this
   * module move as their point or centre does.
   */
  readonly velocity?: Bivariant<ObstacleAt, tf.Tensor>;
}

/** Numbers, or a function of time and parameters that returns a tensor. */
export type ObstacleValue<T> = T | Bivariant<Omit<ObstacleAt, 'x'>, tf.Tensor>;

const vectorOf = (value: ObstacleValue<readonly number[]>, at: ObstacleAt, owner: string): tf.Tensor => {
  const d = at.x.shape[1]!;
  if (typeof value === 'function') return tf.reshape(value(at), [1, d]);
  if (value.length !== d)
    throw new OptionError('bad-obstacle', `${owner} must have ${d} components here, not ${value.length}.`);
  return constantTensor(value, [1, d]);
};

function requireVector(value: ObstacleValue<readonly number[]>, owner: string): void {
  if (typeof value !== 'function')
    requireValue(value, listOf('a list of finite numbers', finite), owner, 'bad-obstacle');
}

/** How a place that is a function of time moves; obstacles that turn give a velocity of their own. */
const moving = (place: ObstacleValue<readonly number[]>, owner: string): Pick<RigidObstacle, 'velocity'> =>
  typeof place !== 'function'
    ? {}
    : {
        velocity: at =>
          traced.derivativeAlong(({t}) => vectorOf(place, {...at, t}, owner), {t: at.t}, {t: tf.onesLike(at.t)}),
      };

/**
 * The half-space below a plane (a line in the plane).
 * @param spec.point a point of the plane
 * @param spec.normal points out of the ground; of any length
 * @throws OptionError 'bad-obstacle'
 */
export function halfSpace(spec: {
  readonly point: ObstacleValue<readonly number[]>;
  readonly normal: ObstacleValue<readonly number[]>;
}): RigidObstacle {
  requireVector(spec.point, 'halfSpace: point');
  requireVector(spec.normal, 'halfSpace: normal');
  return {
    distance: at => {
      const normal = vectorOf(spec.normal, at, 'halfSpace: normal');
      const height = tf.sum(tf.mul(tf.sub(at.x, vectorOf(spec.point, at, 'halfSpace: point')), normal), 1);
      return tf.div(height, tf.sqrt(tf.sum(tf.square(normal))));
    },
    ...moving(spec.point, 'halfSpace: point'),
  };
}

/**
 * A ball (a disk in the plane).
 * @throws OptionError 'bad-obstacle'
 */
export function ball(spec: {
  readonly centre: ObstacleValue<readonly number[]>;
  readonly radius: ObstacleValue<number>;
}): RigidObstacle {
  requireVector(spec.centre, 'ball: centre');
  const {radius} = spec;
  return {
    distance: at => {
      const way = tf.sub(at.x, vectorOf(spec.centre, at, 'ball: centre'));
      return tf.sub(
        tf.sqrt(tf.sum(tf.square(way), 1)),
        typeof radius === 'function' ? tf.reshape(radius(at), []) : radius,
      );
    },
    ...moving(spec.centre, 'ball: centre'),
  };
}
