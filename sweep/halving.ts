/**
 * Successive halving (Jamieson & Talwalkar 2016): all cases with a small budget, the better part of them with a greater
 * one, and so on.
 */
import {callable, optional, positive, readOptions, text, typed, type Check, type Options} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import type {Case} from './cases.js';
import type {CaseGenerator} from './sweep.js';

const factorOption: Check<number> = {
  what: 'a whole number of at least 2',
  test: value => Number.isSafeInteger(value) && (value as number) >= 2,
};

const halvingOptions = {
  cases: typed<Iterable<Case>>(),
  /** The first budget; each case has its budget under `name`. */
  from: positive,
  /** The last budget. */
  to: positive,
  /**
   * One in `factor` cases continues, with `factor` times the budget; default 3, near the optimum of the authors'
   * analysis.
   */
  factor: optional(factorOption, 3),
  /** Name of the budget in a case; default 'budget'. */
  name: optional(text, 'budget'),
  loss: callable,
};

/** Options of `successiveHalving`. @interface */
export type HalvingOptions<C extends Case, R> = Omit<Options<typeof halvingOptions>, 'cases' | 'loss'> & {
  readonly cases: Iterable<C>;
  /** The loss of a result; smaller is better. */
  readonly loss: (result: R, one: C) => number;
};

/**
 * Cases for `sweep`, in rungs; ties go to the earlier case, and failed cases and losses that are not numbers are
 * dropped first. @throws OptionError
 */
export function successiveHalving<C extends Case, R = unknown>(options: HalvingOptions<C, R>): CaseGenerator<C, R> {
  const {factor, from, name, to} = readOptions(options, halvingOptions, 'successiveHalving');
  const {cases, loss} = options;
  if (to < from)
    throw new OptionError(
      'bad-budget',
      `successiveHalving needs budgets from a smaller to a larger one, not from ${from} to ${to}.`,
    );
  return async function* (outcome) {
    let going = [...cases];
    for (let budget = from; going.length > 0; budget = Math.min(budget * factor, to)) {
      const rung = going.map(one => ({...one, [name]: budget}));
      yield* rung;
      if (budget === to) return;
      const losses = await Promise.all(
        rung.map(async (one, place) => {
          const ended = await outcome(one);
          const value = ended.status === 'done' ? loss(ended.result, one) : NaN;
          return {place, value: Number.isNaN(value) ? Infinity : value};
        }),
      );
      losses.sort((a, b) => (a.value === b.value ? a.place - b.place : a.value - b.value));
      going = losses.slice(0, Math.ceil(going.length / factor)).map(({place}) => going[place]);
    }
  };
}
