/**
 * Routines that serve all runs of an executable. A routine is emitted once for all settings that it depends on. It is
 * interpreted at first, and compiled after some calls where programs are compiled. JavaScript functions that it calls
 * are those of its owner: the object of the run at hand, which is bound before every call.
 */
import type {Executable} from '../engine/engine.js';
import {routinesOf} from '../engine/routines.js';
import {compile} from './compile.js';
import {interpret} from './interpret.js';
import type {Routine} from './routine.js';

/** Tells a routine which object's JavaScript functions to call. */
export interface Host<Owner> {
  readonly owner: Owner;
}

export type RoutineCall = (...given: number[]) => number;

/**
 * What a routine depends on beside the arrays of its executable, in groups: plain values, and objects that count by
 * their identity. Groups are not joined to one object: a spread of so many properties takes V8 10 µs.
 */
export type RoutineSettings = readonly object[];

/** Routines of one kind. */
export interface RoutineKind<Owner, Settings extends RoutineSettings> {
  /**
   * @param owner the first object that calls the routine. Its arrays may be named, as all owners have the same ones;
   *   its functions are called through the host
   */
  emit(owner: Owner, host: Host<Owner>, settings: Settings): Routine;
  /** Calls that are interpreted before the routine is compiled; Infinity: it never is. */
  readonly interpretedCalls: number;
}

export class SharedRoutine<
  Owner extends object,
  Settings extends RoutineSettings = RoutineSettings,
> implements Host<Owner> {
  private bound: Owner | undefined;
  private calls = 0;
  private interpreted: RoutineCall | undefined;
  private compiled: RoutineCall | undefined;

  /** @param executable the one with the programs; undefined where the routine is only interpreted */
  constructor(
    private readonly kind: RoutineKind<Owner, Settings>,
    private readonly executable: Executable | undefined,
    private readonly settings: Settings,
  ) {}

  get owner(): Owner {
    if (this.bound === undefined) throw new Error('a routine is bound to the run that calls it');
    return this.bound;
  }

  /** The routine for a call, whose JavaScript functions are those of `owner` until another one is bound. */
  bind(owner: Owner): RoutineCall {
    this.bound = owner;
    return this.compiled ?? this.tier(owner);
  }

  /** Lets go of an owner that makes no more calls. */
  release(owner: Owner): void {
    if (this.bound === owner) this.bound = undefined;
  }

  hasSettings(settings: Settings): boolean {
    return settings.length === this.settings.length && settings.every((group, i) => isEqual(group, this.settings[i]));
  }

  private tier(owner: Owner): RoutineCall {
    const {kind, executable} = this;
    const isOften = this.calls++ >= kind.interpretedCalls;
    const routines = isOften && executable !== undefined ? routinesOf(executable) : undefined;
    if (routines === undefined) return (this.interpreted ??= interpret(this.emit(owner)));
    this.interpreted = undefined;
    return (this.compiled = compile(this.emit(owner), routines.memory));
  }

  private emit(owner: Owner): Routine {
    return this.kind.emit(owner, this, this.settings);
  }
}

function isEqual(a: object, b: object): boolean {
  let count = 0;
  for (const name in a) {
    const key = name as keyof typeof a;
    if (!Object.is(a[key], b[key])) return false;
    count++;
  }
  return count === Object.keys(b).length;
}

/**
 * Routines that an executable keeps: a sweep over tolerances has settings of its own in every run. Each holds what it
 * was first emitted for, and finding one takes as many comparisons.
 */
const cachedRoutines = 16;

/** The routines of one kind, by executable and settings. */
export class RoutineCache<Owner extends object, Settings extends RoutineSettings = RoutineSettings> {
  private readonly routines = new WeakMap<Executable, SharedRoutine<Owner, Settings>[]>();

  constructor(private readonly kind: RoutineKind<Owner, Settings>) {}

  /** @param executable undefined: a routine that is shared with nobody */
  of(executable: Executable | undefined, settings: Settings): SharedRoutine<Owner, Settings> {
    const made = executable === undefined ? [] : this.routines.get(executable);
    const known = made?.find(routine => routine.hasSettings(settings));
    if (known !== undefined) return known;
    const routine = new SharedRoutine(this.kind, executable, settings);
    if (made !== undefined) {
      made.push(routine);
      if (made.length > cachedRoutines) made.shift();
    } else if (executable !== undefined) this.routines.set(executable, [routine]);
    return routine;
  }
}
