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
 * Routines of one kind. Their settings are what they depend on beside the arrays of their executable: plain values, and
 * objects that count by their identity.
 */
export interface RoutineKind<Owner, Settings extends object> {
  /**
   * @param owner the first object that calls the routine. Its arrays may be named, as all owners have the same ones;
   *   its functions are called through the host
   */
  emit(owner: Owner, host: Host<Owner>, settings: Settings): Routine;
  /** Calls that are interpreted before the routine is compiled; Infinity: it never is. */
  readonly interpretedCalls: number;
}

export class SharedRoutine<Owner extends object, Settings extends object = object> implements Host<Owner> {
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
    const names = Object.keys(settings) as (keyof Settings)[];
    return (
      names.length === Object.keys(this.settings).length
      && names.every(name => Object.is(this.settings[name], settings[name]))
    );
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

/** The routines of one kind, by executable and settings. */
export class RoutineCache<Owner extends object, Settings extends object = object> {
  private readonly routines = new WeakMap<Executable, SharedRoutine<Owner, Settings>[]>();

  constructor(private readonly kind: RoutineKind<Owner, Settings>) {}

  /** @param executable undefined: a routine that is shared with nobody */
  of(executable: Executable | undefined, settings: Settings): SharedRoutine<Owner, Settings> {
    const made = executable === undefined ? [] : this.routines.get(executable);
    const known = made?.find(routine => routine.hasSettings(settings));
    if (known !== undefined) return known;
    const routine = new SharedRoutine(this.kind, executable, settings);
    if (made !== undefined) made.push(routine);
    else if (executable !== undefined) this.routines.set(executable, [routine]);
    return routine;
  }
}
