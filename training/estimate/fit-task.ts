/** A problem as the task of a sweep: any process that loads its module computes parts of its analyses (part.ts). */
import {OptionError} from '../../lib/errors.js';
import type {AnySystem, ParamsOf} from '../../lib/internal.js';
import {replicate, type ReplicateData} from './bootstrap.js';
import {fold, type FoldData} from './cross-validation.js';
import type {IdentificationProblem} from '../identify/identify.js';
import type {FitProblem, PartCase} from '../identify/solve.js';
import type {Parameters} from '../identify/parameters.js';
import {heldProblem, requireSameProblem, startPart, type HeldProblem, type StartData} from '../identify/part.js';
import {posteriorChain, type ChainData} from './posterior.js';
import {profileSide, type ProfileSide} from './profile.js';

/** By `PartCase.part`. */
const parts: {readonly [part: string]: (held: HeldProblem, data: unknown) => Promise<unknown>} = {
  start: (held, data) => startPart(held, data as StartData),
  side: (held, data) => profileSide(held, data as ProfileSide),
  replicate: (held, data) => replicate(held, data as ReplicateData),
  fold: (held, data) => fold(held, data as FoldData),
  chain: (held, data) => posteriorChain(held, data as ChainData),
};

/** The task that `fitTask` makes. */
export type FitTask = (part: PartCase, context: {readonly signal: AbortSignal}) => Promise<unknown>;

/**
 * The task of a module whose problem is analysed in many processes, as its default export in addition to the problem:
 * `export default fitTask(problem)`. `fitSweep` of stiffgrad/sweep refers to this module.
 * @param problem that of `identify`, or a function that returns it, which is called once per process
 */
export function fitTask<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem:
    IdentificationProblem<T, S, Q> | (() => IdentificationProblem<T, S, Q> | Promise<IdentificationProblem<T, S, Q>>),
): FitTask {
  let made: Promise<HeldProblem> | undefined;
  const make = async (): Promise<HeldProblem> => {
    const given = (typeof problem === 'function' ? await problem() : problem) as unknown as FitProblem;
    // The whole of a sweep is this one's caller: parts are computed one after another, in this thread.
    return heldProblem({...given, sweep: undefined, starts: undefined, onProgress: undefined, workers: 0});
  };
  return async (part, {signal}) => {
    const held = await (made ??= make());
    await requireSameProblem(held, part);
    if (!Object.hasOwn(parts, part.part))
      throw new OptionError('bad-part', `fitTask has no part '${part.part}'; it has ${Object.keys(parts).join(', ')}.`);
    return parts[part.part]({...held, problem: {...held.problem, signal}}, part);
  };
}
