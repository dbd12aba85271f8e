/**
 * Control flow as data: what a run does between the calls of compiled functions. A routine is written once and runs as
 * WebAssembly (compile.ts), where programs and kernels are compiled, or as JavaScript (interpret.ts) elsewhere.
 *
 * Every value is a double; truth values are conditions, which only branches and `choose` read. Expressions are pure,
 * effects are statements.
 */
import type {VectorKernels} from '../engine/wasm/kernels.js';
import type {RoutineWriter} from '../engine/wasm/routine.js';
import type {Local as WasmLocal} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';

/** A variable of a routine. */
export interface RoutineLocal {
  readonly kind: 'local';
  readonly slot: number;
}

/** An element of an array, `index` from its beginning. */
export interface Element {
  readonly kind: 'element';
  readonly array: Float64Array;
  readonly index: Value;
}

export type BinaryOperation = 'add' | 'sub' | 'mul' | 'div' | 'min' | 'max';
export type UnaryOperation = 'abs' | 'sqrt' | 'floor';
export type ComparisonOperation = 'lt' | 'le' | 'eq' | 'ne';

/** A double. */
export type Value =
  | number
  | RoutineLocal
  | Element
  | {readonly kind: 'unary'; readonly operation: UnaryOperation; readonly a: Value}
  | {readonly kind: 'binary'; readonly operation: BinaryOperation; readonly a: Value; readonly b: Value}
  | {readonly kind: 'choose'; readonly when: Condition; readonly a: Value; readonly b: Value};

/** Both sides of `and` and `or` may be evaluated: neither guards the other. */
export type Condition =
  | boolean
  | {readonly kind: 'compare'; readonly operation: ComparisonOperation; readonly a: Value; readonly b: Value}
  | {readonly kind: 'and' | 'or'; readonly a: Condition; readonly b: Condition}
  | {readonly kind: 'not'; readonly a: Condition};

/** A variable or an element that can be set. */
export type Variable = RoutineLocal | Element;

/** A function that routines call: a compiled program, a kernel on arrays, or one of JavaScript's. */
export interface Callee {
  /** May throw: the error leaves the routine. */
  readonly run: (...given: number[]) => number | void;
  /** Whether `run` gives a number; default: no. */
  readonly returns?: boolean;
  /** WebAssembly in place of a call of `run`: pushes the result, where there is one. */
  readonly write?: (w: RoutineWriter, given: readonly WasmLocal[]) => Push;
}

/** Numbers of an array from `offset` on. */
export interface ArraySlice {
  readonly array: Float64Array;
  readonly offset: Value;
}

export type Statement =
  | {readonly kind: 'set'; readonly to: Variable; readonly value: Value}
  | {readonly kind: 'call'; readonly part: Callee; readonly given: readonly Value[]; readonly to?: Variable}
  /** `to` becomes `from`, or `to` plus `from`. */
  | {
      readonly kind: 'copy' | 'accumulate';
      readonly to: ArraySlice;
      readonly from: ArraySlice;
      readonly size: number;
      readonly kernels?: MoveKernels | undefined;
    }
  | {
      readonly kind: 'if';
      readonly when: Condition;
      readonly then: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  /** Runs again and again, until it is left by `break` or `return`. */
  | {readonly kind: 'loop'; readonly body: readonly Statement[]}
  /** Leaves the innermost loop, or begins its next turn. */
  | {readonly kind: 'break' | 'continue'}
  | {readonly kind: 'return'; readonly value: Value};

/** The kernels of a memory for these. */
export type MoveKernels = Pick<VectorKernels, 'copy' | 'axpy'>;

export interface Routine {
  readonly parameters: number;
  readonly locals: number;
  readonly body: readonly Statement[];
}

const binary =
  (operation: BinaryOperation) =>
  (a: Value, b: Value): Value => ({kind: 'binary', operation, a, b});
const unary =
  (operation: UnaryOperation) =>
  (a: Value): Value => ({kind: 'unary', operation, a});
const comparison =
  (operation: ComparisonOperation) =>
  (a: Value, b: Value): Condition => ({kind: 'compare', operation, a, b});

export const add = binary('add');
export const sub = binary('sub');
export const mul = binary('mul');
export const div = binary('div');
export const min = binary('min');
export const max = binary('max');
export const abs = unary('abs');
export const sqrt = unary('sqrt');
export const floor = unary('floor');
/** Comparisons with NaN do not hold, `notEqual` does. */
export const less = comparison('lt');
export const atMost = comparison('le');
export const equal = comparison('eq');
export const notEqual = comparison('ne');
export const greater = (a: Value, b: Value): Condition => less(b, a);
export const atLeast = (a: Value, b: Value): Condition => atMost(b, a);
export const and = (...conditions: readonly Condition[]): Condition =>
  conditions.reduce((a, b) => (a === true ? b : b === true ? a : {kind: 'and', a, b}), true);
export const or = (...conditions: readonly Condition[]): Condition =>
  conditions.reduce((a, b) => (a === false ? b : b === false ? a : {kind: 'or', a, b}), false);
export const not = (a: Condition): Condition => (typeof a === 'boolean' ? !a : {kind: 'not', a});
export const choose = (when: Condition, a: Value, b: Value): Value => ({kind: 'choose', when, a, b});
/** The beginning of an array, or what lies `offset` numbers behind it. */
export const place = (array: Float64Array, offset: Value = 0): ArraySlice => ({array, offset});
export const element = (array: Float64Array, index: Value = 0): Element => ({kind: 'element', array, index});
/** A flag holds 1 or 0. */
export const isSet = (flag: Value): Condition => notEqual(flag, 0);
export const asFlag = (condition: Condition): Value => choose(condition, 1, 0);

/** Writes routines, statement by statement. */
export class RoutineBuilder {
  private locals: number;
  private here: Statement[] = [];
  private readonly body = this.here;

  constructor(private readonly parameters = 0) {
    this.locals = parameters;
  }

  /** The parameter of this number. */
  parameter(index: number): RoutineLocal {
    return {kind: 'local', slot: index};
  }

  /** A new variable; without a value it is undefined at first. */
  local(value?: Value): RoutineLocal {
    const local: RoutineLocal = {kind: 'local', slot: this.locals++};
    if (value !== undefined) this.set(local, value);
    return local;
  }

  set(to: Variable, value: Value): void {
    this.here.push({kind: 'set', to, value});
  }

  increment(to: Variable, by: Value = 1): void {
    this.set(to, add(to, by));
  }

  /** @param to takes what the part returns */
  call(part: Callee, given: readonly Value[] = [], to?: Variable): void {
    this.here.push({kind: 'call', part, given, to});
  }

  /** A new variable that takes what the part returns. */
  result(part: Callee, ...given: readonly Value[]): RoutineLocal {
    const local = this.local();
    this.call(part, given, local);
    return local;
  }

  /** @param kernels where both arrays lie in their memory */
  copy(to: ArraySlice, from: ArraySlice, size: number, kernels?: MoveKernels): void {
    if (size > 0) this.here.push({kind: 'copy', to, from, size, kernels});
  }

  /** Adds numbers to those of another place. */
  accumulate(to: ArraySlice, from: ArraySlice, size: number, kernels?: MoveKernels): void {
    if (size > 0) this.here.push({kind: 'accumulate', to, from, size, kernels});
  }

  private within(write: () => void): Statement[] {
    const outer = this.here;
    const inner: Statement[] = (this.here = []);
    write();
    this.here = outer;
    return inner;
  }

  if(when: Condition, then: () => void, otherwise?: () => void): void {
    if (typeof when === 'boolean') {
      if (when) then();
      else otherwise?.();
      return;
    }
    this.here.push({
      kind: 'if',
      when,
      then: this.within(then),
      otherwise: otherwise === undefined ? [] : this.within(otherwise),
    });
  }

  unless(when: Condition, then: () => void): void {
    this.if(not(when), then);
  }

  loop(body: () => void): void {
    this.here.push({kind: 'loop', body: this.within(body)});
  }

  while(when: Condition, body: () => void): void {
    this.loop(() => {
      this.unless(when, () => this.break());
      body();
    });
  }

  break(): void {
    this.here.push({kind: 'break'});
  }

  continue(): void {
    this.here.push({kind: 'continue'});
  }

  return(value: Value): void {
    this.here.push({kind: 'return', value});
  }

  /** Ends with 0 where nothing was returned. */
  get routine(): Routine {
    return {parameters: this.parameters, locals: this.locals, body: this.body};
  }
}
