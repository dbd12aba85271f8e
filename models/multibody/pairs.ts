/** Two shapes that may touch, and their numbers in the axes of their bodies. */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import type {BodyPose} from './bodies.js';
import {local, turned, type V3} from './numbers.js';
import type {Ball, Shape} from './shapes.js';
import {constants, numbers, type SomePose} from './state.js';
import type {Vec} from './vectors.js';

/** Two bodies by name and a shape of each. */
export interface TouchingShapes {
  readonly a: string;
  readonly b: string;
  readonly shapes: readonly [Shape, Shape];
}

/** A shape of one body, or one of its balls, on a shape of another. */
export interface Pair<C extends TouchingShapes = TouchingShapes> {
  readonly contact: C;
  readonly on: BodyPose;
  readonly of: BodyPose;
  readonly under: Shape;
  readonly over: Shape;
  readonly ball: Ball | undefined;
}

/** Points of contact [points], in the world. */
export interface Meeting {
  readonly gap: tf.Tensor;
  /** Direction of length one, from the body below to the one above. */
  readonly normal: Vec;
  /** Where forces act. */
  readonly point: Vec;
  /** Share of the stiffness of contacts that yield; default 1. */
  readonly share?: Share;
}

/** Shares of a stiffness [points]. */
export interface Share {
  readonly weight: tf.Tensor;
  /** Its derivative where the body above turns, world axes. */
  readonly slope: Vec;
}

/** Where pairs meet, those of the first point of all of them first; of the poses of what is below and above. */
export type Meet = (under: SomePose, over: SomePose, params: Params) => Meeting;

export const ballOf = ({ball}: Pair): Ball => ball as Ball;
/** Centres of the upper bodies' balls. */
export const ballCentres = (pairs: readonly Pair[]): Vec =>
  constants(pairs.map(pair => local(pair.of, ballOf(pair).centre)));
export const ballRadii = (pairs: readonly Pair[]): tf.Tensor => numbers(pairs.map(pair => ballOf(pair).radius));

/** The balls of a shape, in the axes of its body. */
export function ballsIn(shape: Shape, place: BodyPose): readonly {readonly centre: V3; readonly radius: number}[] {
  return shape
    .balls(place.position, axis => turned(place.rotation, axis))
    .map(({centre, radius}) => ({centre: local(place, centre), radius}));
}

/** Where a box or an ellipsoid has its centre, in the axes of its body. */
export const centreIn = ({at}: Shape, place: BodyPose): V3 => (at === undefined ? [0, 0, 0] : local(place, at));

/** Points of contact of the same pairs, one after another. */
export function joined(slots: readonly Meeting[]): Meeting {
  return {
    gap: tf.concat(slots.map(({gap}) => gap)),
    normal: vectorsOf(slots.map(({normal}) => normal)),
    point: vectorsOf(slots.map(({point}) => point)),
  };
}

export function joinedShares(slots: readonly Share[]): Share {
  return {weight: tf.concat(slots.map(({weight}) => weight)), slope: vectorsOf(slots.map(({slope}) => slope))};
}

const vectorsOf = (all: readonly Vec[]): Vec => [0, 1, 2].map(i => tf.concat(all.map(x => x[i]))) as unknown as Vec;
