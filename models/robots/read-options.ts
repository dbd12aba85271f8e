/** Options that the readers of all formats take. */
import {boolean, object, oneOf, optional, positive, text, typed} from '../../lib/checks.js';
import type {Options, OptionValues} from '../../lib/checks.js';
import type {Coefficient} from '../coefficient.js';

export const robotOptions = {
  /** Default 'minimal', the joints' own coordinates, in which joints may have armature and all else. */
  coordinates: optional(oneOf('maximal', 'minimal'), 'minimal'),
  /** Values by the names of drives (MJCF's actuators): numbers, variables, or functions of params; default 0. */
  controls: optional(typed<{readonly [name: string]: Coefficient}>(object), {}),
  /** Limits of joints as hard stops; default true. */
  limits: optional(boolean, true),
  /** The scale in tanh(v/scale), by which dry friction is smoothed [radians/s, or length/s]; default 0.01. */
  frictionScale: optional(positive, 0.01),
  /**
   * Inertias that break the triangle inequality A + B ≥ C of rigid bodies take the mean of their moments for each, as
   * MuJoCo does with `balanceinertia`; default false, by which they are an error.
   */
  balanceInertia: optional(boolean, false),
  /** Treatment of unsupported parts: an error that names all of them (default), or `notes`. */
  unsupported: optional(oneOf('refuse', 'note'), 'refuse'),
  /** The file's name, for errors. */
  file: optional(text),
};

/** Options that the readers of all formats take. @interface */
export type ReadOptions = Options<typeof robotOptions>;
/** These options as they are read. */
export type BuildOptions = Omit<OptionValues<typeof robotOptions>, 'file'>;
