/**
 * How a system is drawn: what its state says about points, and what joins them. `animate` of stiffgrad/plot reads it.
 */
import * as tf from '@tensorflow/tfjs';
import type {MechanicalSystem, Params} from '../lib/index.js';
import type {Edge} from './edges.js';

/** The arguments of a figure's forces: a saved state. */
export interface DrawnState {
  /** For an ode: y. */
  readonly q: tf.Tensor;
  /** Empty, like lambda, if the run has none. */
  readonly v: tf.Tensor;
  /**
   * Multipliers of the constraints [rows]: their mean over time since the previous frame, so that the impulse of an
   * impact between two frames is included.
   */
  readonly lambda: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** Forces as arrows: points of application and force vectors, both [forces, 2] or [forces, 3], like the points. */
export interface DrawnForces {
  readonly at: tf.Tensor;
  readonly force: tf.Tensor;
}

/** A line in the plane, or a plane in space: normal·x = offset, seen from the side of the normal; default offset 0. */
export interface Ground {
  readonly normal: readonly [number, number] | readonly [number, number, number];
  readonly offset?: number;
}

/** The colours of a figure's faces. */
export interface FigureField {
  readonly values: Figure['points'];
  readonly name: string;
  readonly unit?: string;
  /** Values of the lowest and the highest colour; default those of all frames. */
  readonly range?: readonly [number, number];
}

/** Points of a system in the plane or in space, and what is drawn between them. */
export interface Figure {
  /**
   * Positions of the points, [points, 2] or [points, 3]: x to the right, y upwards in the plane, z upwards in space.
   */
  readonly points: (at: {readonly q: tf.Tensor; readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor;
  /** Pairs of points with a bar between them. */
  readonly rods?: readonly Edge[];
  /** Pairs of points with a spring between them. */
  readonly springs?: readonly Edge[];
  /** Points that do not move: drawn as squares. */
  readonly fixed?: readonly number[];
  /** Radii of points drawn as balls [length], one number or one per point; 0 is a dot. */
  readonly radius?: number | readonly number[];
  /**
   * Walls and floors, normal·x = offset, with as many numbers as the points have: lines in the plane, in space a grid
   * where the motion is.
   */
  readonly ground?: readonly Ground[];
  /** Points whose way is drawn behind them. */
  readonly trails?: readonly number[];
  /**
   * Polygons of points, filled: in space with light, from far to near; two points make a line. Their points are not
   * drawn as dots.
   */
  readonly faces?: readonly (readonly number[])[];
  /** A number for each point or each face, which gives its colour; with a colour bar. */
  readonly field?: FigureField;
  /** A sentence below the picture, such as how much displacements are enlarged. */
  readonly note?: string;
  /** Forces of contacts, drives or springs, drawn as arrows from where they act. */
  readonly forces?: (at: DrawnState) => DrawnForces;
  /** Length of an arrow for a unit of force; default so that the longest has a quarter of the picture's longer side. */
  readonly forceScale?: number;
}

/** A system that can be drawn. */
export interface Drawn {
  readonly figure: Figure;
}

/** A system with a picture of it, for `animate`. */
export function withFigure<S extends MechanicalSystem>(system: S, figure: Figure): S & Drawn {
  return {...system, figure};
}

/** Rows of q, or numbers of q along a line one apart, with fixed points after them. */
export function pointsAndFixed(fixed: readonly (readonly number[])[] = []): Figure['points'] {
  return ({q}) => (fixed.length === 0 ? q : tf.concat([q, tf.tensor2d(fixed.map(point => [...point]))]));
}

export const range = (from: number, count: number): number[] => Array.from({length: count}, (_, i) => from + i);
