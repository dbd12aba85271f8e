/**
 * The modes of a run's switches: found where it starts, changed where a border is crossed, and made to fit one another.
 * A border that the motion is pushed to from both sides is released: its comparison is evaluated as it stands.
 */
import {EventError} from '../../errors.js';
import {modeBlock, releasedMode, slidingMode} from '../../graph/switches.js';
import type {Block} from '../../step/layout.js';
import {toUserTime} from '../../step/time-direction.js';
import type {TracedStep} from '../../step/traced-step.js';
import type {SwitchEvent} from '../../system/switches.js';

/** What the modes are read from. */
export interface ModeReader {
  /** The whole state, whose modes are changed. */
  readonly state: Float64Array;
  /** Event functions at the state, and their rates along the motion; the borders of switches are the last of them. */
  events(x: Float64Array, t: number): {readonly e: Float64Array; readonly rates: Float64Array};
  /** The modes that the borders have at the state. */
  outcomes(x: Float64Array, t: number): Float64Array;
}

/** Borders that a run starts on, by their events. */
export interface BordersAtStart {
  /** The motion is pushed to them from both sides, and slides along them. */
  readonly sliding: readonly number[];
  /** It cannot: the comparison is evaluated as it stands. */
  readonly released: readonly number[];
  /** It goes to one side, whichever it starts on; or to the side that it starts on. */
  readonly left: readonly number[];
  readonly eitherWay: readonly number[];
}

/** A border is at zero where a state starts within this share of the function's change in a unit of its rate. */
const startRounding = 16 * Number.EPSILON;

/** A border that has moved by less has not jumped: motion along it leaves no more by rounding. */
const jumpRounding = 1e-9;

/** Modes that no border sets. */
const isFree = (mode: number): boolean => mode === releasedMode || mode === slidingMode;

export class Modes {
  private readonly block: Block;

  /** @param first the number of the first border among the events */
  constructor(
    private readonly traced: TracedStep,
    private readonly reader: ModeReader,
    private readonly switches: readonly SwitchEvent[],
    private readonly first: number,
  ) {
    const block = traced.state.block(modeBlock);
    if (block === undefined) throw new Error('a step with switches has modes');
    this.block = block;
  }

  /** The present modes, a view of the state. */
  get values(): Float64Array {
    const {offset, size} = this.block;
    return this.reader.state.subarray(offset, offset + size);
  }

  /** The mode that the border of an event changes. */
  modeOf(event: number): number {
    return this.switches[event - this.first].mode;
  }

  /**
   * Whether an event may happen: its border is looked at while its switch is held, and left while a motion slides. A
   * motion that has left a border is on its side already, though rounding may show it on the other one.
   */
  isActive(event: number, rising: boolean): boolean {
    const {mode, change} = this.switches[event - this.first];
    const value = this.values[mode];
    if (value === releasedMode) return false;
    if (value === slidingMode) return change.startsWith('leaves');
    return change === 'side' ? value !== (rising ? 1 : 0) : change === 'falls' || change === 'rises';
  }

  /** Whether the share of a motion that slides is none: below 0 or above 1. @param value of the event's function */
  isBeyond(event: number, value: number): boolean {
    const {mode, change} = this.switches[event - this.first];
    if (this.values[mode] !== slidingMode) return false;
    return change === 'leaves below' ? value < 0 : change === 'leaves above' && value > 0;
  }

  /** Whether the motion may be pushed to the border of an event: whole numbers and sides that the state changes. */
  isPushed(event: number): boolean {
    return this.switches[event - this.first].course.state;
  }

  /** Crosses a border: its mode becomes that of the side it goes to. */
  cross(event: number, rising: boolean): void {
    const {mode, change} = this.switches[event - this.first];
    const {values} = this;
    if (change === 'side') values[mode] = rising ? 1 : 0;
    else if (change === 'leaves below' || change === 'leaves above') values[mode] = change === 'leaves above' ? 1 : 0;
    else values[mode] += change === 'rises' ? 1 : -1;
  }

  /**
   * Stays on a border that the motion is pushed to from both sides.
   * @returns false where it cannot: the switch is evaluated as it stands from here
   */
  stay(event: number): boolean {
    const slides = this.maySlide(event);
    this.values[this.modeOf(event)] = slides ? slidingMode : releasedMode;
    return slides;
  }

  /** Whether the motion slides along any border. */
  get areSliding(): boolean {
    return this.values.includes(slidingMode);
  }

  /**
   * Lets go of borders that are elsewhere now, since what they read has jumped.
   * @returns whether there are any
   */
  letGo(t: number): boolean {
    const {e, rates} = this.reader.events(this.reader.state, t);
    const left = this.letGoWhere(i => this.isElsewhere(i, e, rates));
    this.settle(t, new Set());
    return left;
  }

  /** Whether border i, that of a comparison, is not where the state is. */
  private isElsewhere(i: number, e: Float64Array, rates: Float64Array): boolean {
    const event = this.first + i;
    return this.switches[i].change === 'side' && Math.abs(e[event]) > jumpRounding * (1 + Math.abs(rates[event]));
  }

  /** Sets modes 0 of borders along which the motion slides no more. @returns whether there are any */
  private letGoWhere(hasLeft: (i: number) => boolean): boolean {
    const {values, switches} = this;
    const left = switches.filter(({mode}, i) => values[mode] === slidingMode && hasLeft(i));
    for (const {mode} of left) values[mode] = 0;
    return left.length > 0;
  }

  private maySlide(event: number): boolean {
    const {mode, change} = this.switches[event - this.first];
    return change === 'side' && this.switches.some(one => one.mode === mode && one.change === 'leaves below');
  }

  /**
   * Sets modes by their borders until they fit one another; those in `kept` are left.
   * @throws EventError 'modes' where none do
   */
  settle(t: number, kept: ReadonlySet<number>): void {
    const {values, reader, traced, switches} = this;
    // Each round settles those that read only settled ones.
    for (let round = 0; round <= values.length; round++) {
      const outcomes = reader.outcomes(reader.state, t);
      let changed = -1;
      for (let i = 0; i < values.length; i++) {
        if (kept.has(i) || isFree(values[i]) || values[i] === outcomes[i]) continue;
        values[i] = outcomes[i];
        changed = i;
      }
      if (changed < 0) return;
      if (round === values.length) {
        const {name} = switches.find(({mode}) => mode === changed) as SwitchEvent;
        throw new EventError(
          'modes',
          `The switches at t = ${Number(toUserTime(traced, t).toPrecision(12))} do not fit one another: '${name}' has `
            + 'one outcome where it is true, and the other where it is false. Let no comparison depend on its own '
            + 'outcome.',
          {t: toUserTime(traced, t), name},
        );
      }
    }
  }

  /**
   * The modes of a start: by the borders, and at a border by where the motion goes. A motion that will slide along one
   * has the mode above it.
   * @param goesOn with the modes that there are, where they are those of a side of the border
   */
  start(t: number, goesOn = false): BordersAtStart {
    const {values, reader, switches, first} = this;
    const isAtBorder = (i: number): boolean => {
      const {e, rates} = reader.events(reader.state, t);
      return Math.abs(e[first + i]) <= startRounding * Math.abs(rates[first + i]) * Math.max(1, Math.abs(t));
    };
    const begins = reader.events(reader.state, t);
    this.letGoWhere(i => this.isBeyond(first + i, begins.e[first + i]) || this.isElsewhere(i, begins.e, begins.rates));
    values.forEach((mode, i) => {
      if (!goesOn || mode === releasedMode) values[i] = 0;
    });
    this.settle(t, new Set(goesOn ? switches.flatMap(({mode}, i) => (isAtBorder(i) ? [mode] : [])) : []));
    const found: {[name in keyof BordersAtStart]: number[]} = {sliding: [], released: [], left: [], eitherWay: []};
    const kept = new Set<number>();
    const {e} = reader.events(reader.state, t);
    switches.forEach(({mode, change}, i) => {
      if (change.startsWith('leaves') || isFree(values[mode])) return;
      const event = first + i;
      if (!Number.isFinite(e[event]) || kept.has(mode) || !isAtBorder(i)) return;
      const below = change === 'side' ? 0 : values[mode] - (change === 'falls' ? 1 : 0);
      const rateIn = (value: number): number => {
        values[mode] = value;
        this.settle(t, new Set([...kept, mode]));
        return reader.events(reader.state, t).rates[event];
      };
      const before = values[mode];
      const [fromBelow, fromAbove] = [rateIn(below), rateIn(below + 1)];
      kept.add(mode);
      if (fromBelow > 0 && fromAbove < 0) found[this.maySlide(event) ? 'sliding' : 'released'].push(event);
      else found[fromBelow < 0 && fromAbove > 0 ? 'eitherWay' : 'left'].push(event);
      const goesTo = fromAbove > 0 && fromBelow >= 0 ? below + 1 : fromBelow < 0 && fromAbove <= 0 ? below : before;
      rateIn(goesTo);
    });
    for (const event of found.released) this.stay(event);
    for (const event of found.sliding) values[this.modeOf(event)] = 1;
    return found;
  }
}
