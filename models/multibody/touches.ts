/**
 * Where shapes of two bodies touch: balls (a box has its corners, a capsule the ends of its axis) on planes and on balls,
 * the signed distance and its direction, and how the point of contact moves. All contacts of one sort are one batch of tensors.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/index.js';
import type {Place} from './bodies.js';
import type {Instant} from './force-groups.js';
import {minus, turned, turnedBack, type V3} from './numbers.js';
import type {Ball, Shape} from './shapes.js';
import {Choice, constants, difference, pointOf, pointVelocity} from './state.js';
import {dot, length, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** Two bodies by name and a shape of each. */
export interface TouchingShapes {
  readonly a: string;
  readonly b: string;
  readonly shapes: readonly [Shape, Shape];
}

/** A ball of one body on a plane, or on a ball, of another. */
export interface Touch<C extends TouchingShapes> {
  readonly contact: C;
  readonly on: Place;
  readonly of: Place;
  readonly ball: Ball;
  /** A plane's point and normal, or a ball's centre, in the world at the start; its radius, 0 for a plane. */
  readonly at: V3;
  readonly normal: V3 | undefined;
  readonly radius: number;
}

/**
 * The touches of contacts by their sort, planes before balls.
 * @throws OptionError 'unknown-body'
 */
export function touchesOf<C extends TouchingShapes>(
  contacts: readonly C[],
  places: (name: string, asked: string) => Place,
): Touch<C>[][] {
  const touches = contacts.flatMap((given): Touch<C>[] => {
    const [a, b] = [places(given.a, 'a contact'), places(given.b, 'a contact')];
    const first = given.shapes[1].kind === 'plane';
    const [on, of] = first ? [b, a] : [a, b];
    const [under, over] = first ? [given.shapes[1], given.shapes[0]] : given.shapes;
    const ballsOf = (shape: Shape, place: Place): readonly Ball[] =>
      shape.balls(place.position, axis => turned(place.rotation, axis));
    const [ball] = ballsOf(under, on);
    return ballsOf(over, of).map(own => ({
      contact: given,
      on,
      of,
      ball: own,
      at: under.at ?? ball.centre,
      normal: under.normal,
      radius: under.normal === undefined ? ball.radius : 0,
    }));
  });
  return [
    touches.filter(({normal}) => normal !== undefined),
    touches.filter(({normal}) => normal === undefined),
  ].filter(list => list.length > 0);
}

/** The gap [touches] and its direction, in the world. */
export interface Gap {
  readonly gap: tf.Tensor;
  readonly normal: Vec;
  /** Where forces act, from the centres of `of` and `on`, in their body axes. */
  readonly arms: readonly [Vec, Vec];
}

/** Touches of one sort as functions of where bodies are. */
export class Touches {
  readonly on: Choice;
  readonly of: Choice;

  /** @param ground its number */
  constructor(
    private readonly touches: readonly Touch<TouchingShapes>[],
    ground: number,
  ) {
    this.on = new Choice(
      touches.map(touch => touch.on.index),
      ground,
    );
    this.of = new Choice(
      touches.map(touch => touch.of.index),
      ground,
    );
  }

  gapAt({pose}: Pick<Instant, 'pose'>): Gap {
    const {touches} = this;
    const local = ({position, rotation}: Place, point: V3): V3 => turnedBack(rotation, minus(point, position));
    const numbers = (values: number[]): tf.Tensor => constantTensor(Float64Array.from(values), [values.length]);
    const [under, over] = [this.on.pose(pose), this.of.pose(pose)];
    const centre = pointOf(over, constants(touches.map(touch => local(touch.of, touch.ball.centre))));
    const foot = pointOf(under, constants(touches.map(touch => local(touch.on, touch.at))));
    const apart = sub(centre, foot);
    const reach = numbers(touches.map(({ball, radius}) => ball.radius + radius));
    const flat = touches[0].normal !== undefined;
    const normal = flat
      ? rotate(under.rotation, constants(touches.map(touch => turnedBack(touch.on.rotation, touch.normal as V3))))
      : scale(tf.div(1, length(apart)), apart);
    const gap = tf.sub(flat ? dot(normal, apart) : length(apart), reach);
    const point = sub(centre, scale(numbers(touches.map(({ball}) => ball.radius)), normal));
    const arm = ({position, rotation}: ReturnType<Choice['pose']>): Vec =>
      rotateBack(rotation, position === undefined ? point : sub(point, position));
    return {gap, normal, arms: [arm(over), arm(under)]};
  }

  /** Of the first bodies' points of contact against the others', world axes. */
  velocity({pose, twist}: Pick<Instant, 'pose' | 'twist'>, {arms}: Gap): Vec {
    return difference(
      pointVelocity(this.of.pose(pose), this.of.twist(twist), arms[0]),
      pointVelocity(this.on.pose(pose), this.on.twist(twist), arms[1]),
    );
  }
}
