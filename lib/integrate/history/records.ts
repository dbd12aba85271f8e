/** Events in a trajectory, and the check for events that repeat without time passing. */
import {EventError} from '../../errors.js';
import type {TimeDirection} from '../../step/time-direction.js';
import {toUserTime} from '../../step/time-direction.js';
import type {Block} from '../../step/layout.js';
import type {PlannedEvent} from './plan.js';

/** An event that happened in a run. */
export interface EventRecord {
  readonly t: number;
  /** Index of the event in `options.events`. */
  readonly index: number;
  readonly name?: string;
  /** In the direction of the run, which may go backwards in time. */
  readonly direction: 'rising' | 'falling';
  /** Blocks of the state, q and v or y, flat; before and after a jump, equal if there is none. */
  readonly before: {readonly [block: string]: Float64Array};
  readonly after: {readonly [block: string]: Float64Array};
}

/**
 * So many times may the jump of one event cut steps short within dt: a ball of restitution 0.8 keeps
 * 0.8¹⁰⁰ = 2·10⁻¹⁰ of its speed by then, and would go on for ever.
 */
export const chatterLimit = 100;

/**
 * Times this close, in shares of themselves, are told apart by rounding alone: a few units of it for each end of a
 * step.
 */
const resolution = 64 * Number.EPSILON;

export class EventLog {
  readonly records: EventRecord[] = [];
  readonly warnings: string[] = [];
  private readonly told = new Set<string>();
  private readonly recent: number[][];

  constructor(
    private readonly events: readonly PlannedEvent[],
    private readonly blocks: readonly Block[],
    private readonly way: TimeDirection,
  ) {
    this.recent = events.map(() => []);
  }

  note(t: number, index: number, rising: boolean, before: Float64Array, after: Float64Array): void {
    const {name} = this.events[index];
    const parts = (x: Float64Array): {[block: string]: Float64Array} =>
      Object.fromEntries(this.blocks.map(({name: block, offset, size}) => [block, x.slice(offset, offset + size)]));
    this.records.push({
      t,
      index,
      name,
      direction: rising ? 'rising' : 'falling',
      before: parts(before),
      after: parts(after),
    });
  }

  /** The function of an event is not a finite number at t; told once. */
  lose(event: number, t: number): void {
    this.tell(
      'lost',
      event,
      `The function of ${this.title(event)} is not a finite number at t = ${this.short(t)}: there it crosses `
        + 'nothing, and nothing is looked for until it is finite again. Write it so that it is finite wherever the '
        + 'motion goes, as q in place of sqrt(q).',
    );
  }

  /** The jump of an event in both directions made its function go back to where it came from; told once. */
  turnsBack(event: number, t: number): void {
    this.tell(
      'turned',
      event,
      `The jump of ${this.title(event)} at t = ${this.short(t)} turned its function back: it reaches zero and `
        + `leaves on the side it came from, which counted as one event, though its direction is 'both'. Give its `
        + `direction as 'rising' or 'falling' if that is meant, as for a bounce. If the jump switches a mode, the `
        + 'motion pushes towards the border from both sides: the true motion stays on it, and the run leaves it in '
        + 'the mode of the other side. Make the border a constraint, or give the mode a hysteresis.',
    );
  }

  /** The motion is pushed to the border of a switch from both sides; told once. */
  slides(event: number, t: number): void {
    this.tell(
      'slides',
      event,
      `The motion is pushed to the border of '${this.events[event].name}' from both sides at t = ${this.short(t)} and `
        + 'stays on it. From there the comparison is evaluated as it stands, the state is right to about the step '
        + 'length, and derivatives do not know the border. Make the border a constraint, smooth it, or give it a '
        + 'hysteresis.',
    );
  }

  /** The function of a switch turns back where it is zero; told once. */
  touches(event: number, t: number): void {
    this.tell(
      'touched',
      event,
      `The border of '${this.events[event].name}' is touched at t = ${this.short(t)} and not crossed: with slightly `
        + 'other parameters it is crossed, and derivatives do not know that.',
    );
  }

  /** A switch changes at a time that is saved, whatever the parameters; told once. */
  changesWhereSaved(event: number, t: number): void {
    this.tell(
      'saved',
      event,
      `The switch '${this.events[event].name}' changes at t = ${this.short(t)}, a time at which the state is saved: `
        + 'derivatives of that state depend on the side from which parameters are varied, and are those of one side. '
        + 'Save beside it, or use a loss that does not depend on this state.',
    );
  }

  /** A run starts on the border of a switch; told once. */
  startsOnBorder(event: number, t: number): void {
    this.tell(
      'on border',
      event,
      `The run starts on the border of '${this.events[event].name}', t = ${this.short(t)}: derivatives by the start `
        + 'and by what moves the border depend on the side from which they are varied, and are those of the side that '
        + 'the motion goes to. Start beside the border.',
    );
  }

  /** A run starts on a border that the motion leaves to either side; told once. */
  leavesEitherWay(event: number, t: number): void {
    this.tell(
      'either way',
      event,
      `The run starts on the border of '${this.events[event].name}', t = ${this.short(t)}, which the motion leaves to `
        + 'either side: it was taken to start below, where the comparison is false. Start beside the border.',
    );
  }

  /** The motion is pushed to a border along which adaptive steps cannot go. */
  cannotSlide(event: number, t: number): EventError {
    const {name} = this.events[event];
    return new EventError(
      'chatter',
      `The motion is pushed to the border of '${name}' from both sides at t = ${this.short(t)}, and this run cannot `
        + 'slide along it: adaptive steps would become ever shorter. Give parameters with which it slides where the '
        + 'simulation is prepared, take constant steps, or make the border a constraint.',
      {event, t: toUserTime(this.way, t), ...(name === undefined ? {} : {name})},
    );
  }

  /** A zero where a run starts has not been crossed: a jump that the motion may ask for there is not made. */
  begins(event: number, t: number): void {
    this.tell(
      'begun',
      event,
      `The function of ${this.title(event)} is zero at the start, t = ${this.short(t)}, and goes on in the `
        + `event's direction: a zero at the start has not been crossed, and the state does not jump. If it should, `
        + 'start on the side that the event is reached from, or from the state after the jump. For a body that '
        + 'rests on a surface, use a unilateral constraint.',
    );
  }

  private tell(what: string, event: number, sentence: string): void {
    const key = `${what} ${event}`;
    if (!this.told.has(key)) this.warnings.push(sentence);
    this.told.add(key);
  }

  /** The title of an event in a sentence. */
  title(index: number): string {
    const {name, then} = this.events[index];
    if (then === 'switch') return `the switch '${name}'`;
    return name === undefined ? `events[${index}]` : `events[${index}] (${name})`;
  }

  /** Notes that an event's jump cut a step short at t, and says so where it did that too often. */
  chatters(index: number, t: number, length: number): EventError | undefined {
    const times = this.recent[index];
    times.push(t);
    if (times.length > chatterLimit) times.shift();
    return times.length === chatterLimit && t - times[0] < length ? this.chatter(index, t) : undefined;
  }

  /** A step after the last jump of this event it happens again, before the time has moved by more than its rounding. */
  unresolved(index: number, t: number, length: number): EventError | undefined {
    const times = this.recent[index];
    const apart = t - times[times.length - 1];
    return apart <= resolution * Math.max(Math.abs(t), length) ? this.chatter(index, t) : undefined;
  }

  chatter(index: number, t: number): EventError {
    const times = this.recent[index];
    return new EventError(
      'chatter',
      `${this.title(index)} happened ${times.length} times since t = ${this.short(times[0])}, ever faster, and `
        + `again at ${this.short(t)}. Something comes to rest by ever smaller jumps. Model its rest by a `
        + 'unilateral constraint, a jump that ends the motion, or an event that stops the run.',
      {event: index, t: toUserTime(this.way, t), first: toUserTime(this.way, times[0]), count: times.length},
    );
  }

  /** The jump left the event's function neither rising nor falling, and it goes on through zero. */
  sticks(index: number, t: number): EventError {
    return new EventError(
      'chatter',
      `After the jump of ${this.title(index)} at t = ${this.short(t)} its function stays at zero and then `
        + 'crosses it: the jump does not end the crossing. For a body that rests on a surface, use a unilateral '
        + 'constraint, or an event that stops the run.',
      {event: index, t: toUserTime(this.way, t)},
    );
  }

  /** A time by the clock as the user's, without the digits of its rounding. */
  private short(t: number): string {
    return String(Number(toUserTime(this.way, t).toPrecision(12)));
  }
}
