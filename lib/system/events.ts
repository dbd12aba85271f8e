/** Events: where a function of the state crosses zero, and what happens there (equations.md §7). */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import {callable, oneOf, optional, positive, readOptions, text, typed} from '../checks.js';
import {immediate, within} from '../trace/trace.js';
import type {Blocks} from './equations.js';
import type {Bivariant, Params, ParamsLike} from './params.js';
import {returned} from './returned.js';

/** A state at its time: q, v and hidden states Z of a mechanical system, y of an ode. */
export type EventPlace<P = Params, Z extends string = never> = OwnPlace<P> & {readonly [K in Z]: tf.Tensor};

/** A state at its time without hidden states. */
export interface OwnPlace<P = Params> {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly y: tf.Tensor;
  /** [] */
  readonly t: tf.Tensor;
  readonly params: P;
}

/** The state after an event: {q, v} and hidden states, or {y}; blocks that are left out do not jump. */
export type Jump<P = Params, Z extends string = never> = Bivariant<
  EventPlace<P, Z>,
  {readonly q?: tf.Tensor; readonly v?: tf.Tensor; readonly y?: tf.Tensor} & {readonly [K in Z]?: tf.Tensor}
>;

/** The argument of `event`. */
export interface EventSpec<P = Params, Z extends string = never> {
  /** A scalar function of the state, traced like a force; the event is where it crosses zero. */
  readonly when: Bivariant<EventPlace<P, Z>, tf.Tensor>;
  /** Which crossings count: from below, from above, or both (default). */
  readonly direction?: 'rising' | 'falling' | 'both';
  /** Allowed error of the event's time, in the system's unit of time; default: the rounding of the time. */
  readonly tolerance?: number;
  /**
   * End the run, record the event and continue, or change the state by a differentiable function that returns the state
   * after the event.
   */
  readonly then: 'stop' | 'record' | Jump<P, Z>;
  /** Its name in the trajectory's `events`. */
  readonly name?: string;
}

/** Made by `event`. P are the parameters that its functions read. */
export type Event<P = Params, Z extends string = never> = EventSpec<P, Z> & Required<Pick<EventSpec, 'direction'>>;

const eventOptions = {
  when: typed<(at: never) => tf.Tensor>({
    ...callable,
    what: 'a function of {q, v, t, params} giving a scalar tensor',
  }),
  direction: optional(oneOf('rising', 'falling', 'both'), 'both'),
  tolerance: optional(positive),
  then: typed<'stop' | 'record' | ((at: never) => object)>({
    what: "'stop', 'record' or a function giving the state after the event",
    test: value => value === 'stop' || value === 'record' || typeof value === 'function',
  }),
  name: optional(text),
};

/**
 * An event of a run: a zero crossing of `when`, located on the dense output of the scheme; a step that a
 * 'stop' or a jump ends early is repeated up to the time where `when` is zero in the scheme's own
 * state. An event function that is zero at the start of the run has not crossed zero.
 * @throws OptionError 'bad-event'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {adaptive, event, ode, simulate, tsit5} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const half = event({when: ({y}) => tf.sub(y, 0.5), then: 'stop'});
 * const path = simulate(decay, {y: 1}, {scheme: tsit5(), control: adaptive(), dt: 0.1, t1: 2, events: [half]});
 * console.log(path.status); // → event
 * console.log(path.events[0].t); // → 0.693
 * ```
 */
export function event<P extends ParamsLike<P> = Params, Z extends string = never>(spec: EventSpec<P, Z>): Event<P, Z> {
  return readOptions(spec, eventOptions, 'event', 'bad-event');
}

/** The event's function as a scalar, in a trace. */
export function eventValue(given: Event, index: number, at: EventPlace): tf.Tensor {
  const value = returned(`events[${index}].when`, () => given.when(at), {
    code: 'event-shape',
    must: 'one number as a tensor: write one event for each number that may cross zero',
    fits: ({size}) => size === 1,
    data: {event: index},
  });
  return tf.reshape(value, []);
}

/** The state's own blocks after the jump, in a trace. */
export function jumped(jump: Jump, index: number, at: EventPlace, own: Blocks): Blocks {
  return within(`events[${index}].then`, () => {
    const after: Readonly<Record<string, tf.Tensor | undefined>> = immediate(jump(at));
    if (typeof after !== 'object' || after === null || after instanceof tf.Tensor) {
      throw new ShapeError(
        'event-shape',
        `events[${index}]: then must give the state after the event, {${Object.keys(own).join(', ')}}.`,
        {event: index},
      );
    }
    const unexpected = Object.keys(after).find(name => !(name in own));
    if (unexpected !== undefined)
      throw new ShapeError(
        'event-shape',
        `events[${index}]: then gave '${unexpected}'; the state has ${Object.keys(own).join(' and ')}.`,
        {event: index},
      );
    return Object.fromEntries(
      Object.entries(own).map(([name, before]) => {
        const value = after[name] ?? before;
        if (!(value instanceof tf.Tensor) || value.size !== before.size)
          throw new ShapeError(
            'event-shape',
            `events[${index}]: then must give ${name} of shape [${before.shape.join(', ')}].`,
            {event: index},
          );
        return [name, tf.reshape(value, before.shape)];
      }),
    );
  });
}
