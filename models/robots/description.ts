/**
 * A mechanism as files describe it, in one form for all formats: a tree of links, each placed in the axes of its
 * parent, with inertias and degrees of freedom. Angles are in radians.
 */
import type {Q4, V3} from '../multibody/numbers.js';
import type {ParsedElement} from './xml.js';

/** A 3 × 3 matrix by rows. */
export type M3 = readonly [V3, V3, V3];

/** Axes of a link relative to those of another. */
export interface LinkPose {
  readonly position: V3;
  readonly rotation: Q4;
}

/** Mass, centre of mass and the inertia about it, in the axes of a link. */
export interface Weight {
  readonly mass: number;
  readonly centre: V3;
  readonly inertia: M3;
}

/** A degree of freedom of a link relative to its parent, in the link's own axes. */
export interface LinkFreedom {
  readonly name: string;
  readonly element: ParsedElement;
  readonly kind: 'turn' | 'slide' | 'ball' | 'free';
  readonly axis: V3;
  readonly at: V3;
  /** The file's value of the coordinate at which the model's is zero. */
  readonly reference: number;
  readonly range: readonly [number, number] | undefined;
  /** Limits of the sum of all drives' forces. */
  readonly effort: readonly [number, number] | undefined;
  readonly armature: number;
  /** [a, b, c] of the force a v + b v |v| + c v³; what is left out is zero. */
  readonly damping: readonly number[];
  readonly friction: number;
  /** [a, b, c] of the force a x + b x² + c x³; what is left out is zero. */
  readonly stiffness: readonly number[];
  /** Rest position of the spring, in the file's coordinate. */
  readonly rest: number;
}

/** A degree of freedom that nothing limits, slows or drives back. */
export const still = {
  reference: 0,
  range: undefined,
  effort: undefined,
  armature: 0,
  damping: [0],
  friction: 0,
  stiffness: [0],
  rest: 0,
} as const;

/** A solid of a link, for pictures. */
export interface Solid {
  readonly kind: 'sphere' | 'capsule' | 'cylinder' | 'box' | 'ellipsoid' | 'plane';
  /** Half lengths: radius; radius and half the axis; half the edges. */
  readonly size: readonly number[];
  readonly place: LinkPose;
  readonly colour: readonly number[] | undefined;
}

/** A rigid part. */
export interface Link {
  readonly name: string;
  readonly element: ParsedElement;
  /** In `links`; undefined for the world. */
  readonly parent: number | undefined;
  readonly place: LinkPose;
  readonly weights: readonly Weight[];
  readonly freedoms: readonly LinkFreedom[];
  readonly solids: readonly Solid[];
}

/**
 * An actuator of a joint, with the force gear · (gain · control + bias₀ + bias₁ · gear · position + bias₂ · gear ·
 * rate).
 */
export interface JointDrive {
  readonly name: string;
  readonly element: ParsedElement;
  readonly joint: string;
  readonly gear: number;
  readonly gain: number;
  readonly bias: readonly [number, number, number];
  readonly controlRange: readonly [number, number] | undefined;
  readonly forceRange: readonly [number, number] | undefined;
}

/** A point at which two links are held together, or their whole poses. */
export interface Closure {
  readonly name: string;
  readonly element: ParsedElement;
  readonly kind: 'point' | 'all';
  readonly links: readonly [string, string];
  readonly at: V3;
  /** In whose axes `at` is given: those of the first or the second link. */
  readonly axesOf: 0 | 1;
}

/** The content of a file. */
export interface Description {
  /** Parents before their children. */
  readonly links: readonly Link[];
  readonly drives: readonly JointDrive[];
  readonly closures: readonly Closure[];
  readonly gravity: V3;
  /** Inertias that break the triangle inequality take the mean of their moments for each. */
  readonly balance: boolean;
}

/** The name of the world in the file. */
export const world = 'world';
