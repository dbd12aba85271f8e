/** Many runs of one system: traced once, each with its own Newton iterations. */
import {OptionError} from '../errors.js';
import type {System} from '../step/trace-step.js';
import type {SimulateOptions} from './options.js';
import type {Initial} from './prepare.js';
import type {Values} from './simulate.js';
import {simulate} from './simulate.js';
import type {Trajectory} from './trajectory.js';

/** A start, or a start with parameters of its own (in place of those of the options). */
export type BatchMember = Initial | (Values & {readonly initial: Initial});

const valuesOf = (member: BatchMember): Values & {readonly initial: Initial} => ('initial' in member ? member : {initial: member});

/**
 * Runs the system from every start, one after another; the results do not depend on one another, and
 * each is what `simulate` gives. Differentiable on tfjs's tape like single runs.
 * @throws as `simulate`; with `throw: false` every member has its own status
 */
export function batch(system: System, members: readonly BatchMember[], options: SimulateOptions): Trajectory[] {
  if (members.length === 0) return [];
  const [first] = members.map(valuesOf);
  if (first.initial === undefined) throw new OptionError('bad-initial', 'batch: every member is an initial state, or {initial, params}.');
  const prepared = simulate.prepare(system, first.initial, first.params === undefined ? options : {...options, params: first.params});
  const done: Trajectory[] = [];
  try {
    for (const {initial, params} of members.map(valuesOf)) done.push(prepared.run({initial, params: params ?? options.params}));
  } catch (error) {
    // Nothing half-done is left behind.
    for (const trajectory of done) trajectory.dispose();
    throw error;
  }
  return done;
}
