/** Routines as WebAssembly, in the memory of the programs and kernels that they call. */
import type {RoutineWriter} from '../engine/wasm/routine.js';
import {routine as assemble} from '../engine/wasm/routine.js';
import type {Local as WasmLocal} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';
import type {Condition, Element, ArraySlice, Routine, Statement, Value, Variable} from './routine.js';

/** @param memory that of all arrays that the routine names */
export function compile(routine: Routine, memory: WebAssembly.Memory): (...given: number[]) => number {
  const parameters = new Array<'f64'>(routine.parameters).fill('f64');
  return assemble(memory, {parameters, results: ['f64']}, w => {
    new Compiler(w, routine).body();
    w.number(0)();
  });
}

/** The local and the number that an index is the sum of, where it is one. */
function sumOf(index: Value): {readonly slot: number; readonly more: number} | undefined {
  if (typeof index === 'number') return undefined;
  if (index.kind === 'local') return {slot: index.slot, more: 0};
  if (index.kind !== 'binary' || index.operation !== 'add') return undefined;
  const {a, b} = index;
  return typeof a === 'object' && a.kind === 'local' && typeof b === 'number' ? {slot: a.slot, more: b} : undefined;
}

/** Calls `found` with every local that an index is made of. */
function indices(node: unknown, found: (slot: number) => void): void {
  if (typeof node !== 'object' || node === null || ArrayBuffer.isView(node)) return;
  if (Array.isArray(node)) return node.forEach(part => indices(part, found));
  for (const [name, part] of Object.entries(node)) {
    if (name === 'kernels' || name === 'part') continue;
    const sum = name === 'index' || name === 'offset' ? sumOf(part as Value) : undefined;
    if (sum !== undefined) found(sum.slot);
    else indices(part, found);
  }
}

class Compiler {
  private readonly locals: readonly WasmLocal[];
  /** Locals that arrays are indexed with, in bytes: a conversion for each value in place of one for each use. */
  private readonly bytes = new Map<number, WasmLocal>();

  constructor(
    private readonly w: RoutineWriter,
    private readonly routine: Routine,
  ) {
    const {parameters, locals} = routine;
    this.locals = Array.from({length: locals}, (_, i) => (i < parameters ? w.parameter(i) : w.local('f64')));
  }

  body(): void {
    const {w, bytes} = this;
    indices(this.routine.body, slot => {
      if (!bytes.has(slot)) bytes.set(slot, w.local('i32'));
    });
    for (let slot = 0; slot < this.routine.parameters; slot++) this.follow(slot);
    this.block(this.routine.body, 0);
  }

  private inBytes(index: Push): Push {
    const {w} = this;
    return w.op('i32.shl', w.op('i32.trunc_sat_f64_s', index), w.int(3));
  }

  /** After a local was set. */
  private follow(slot: number): void {
    const bytes = this.bytes.get(slot);
    if (bytes !== undefined) this.w.set(bytes, this.inBytes(this.w.get(this.locals[slot])));
  }

  private value(value: Value): Push {
    const {w} = this;
    if (typeof value === 'number') return w.number(value);
    switch (value.kind) {
      case 'local':
        return w.get(this.locals[value.slot]);
      case 'element': {
        const {base, offset} = this.address(value);
        return w.load(base, offset);
      }
      case 'unary':
        return w.op(`f64.${value.operation}`, this.value(value.a));
      case 'binary':
        return w.op(`f64.${value.operation}`, this.value(value.a), this.value(value.b));
      case 'choose':
        return w.choose(this.condition(value.when), this.value(value.a), this.value(value.b));
    }
  }

  private address({array, index}: Pick<Element, 'array' | 'index'>): {readonly base: Push; readonly offset: number} {
    const {w} = this;
    if (typeof index === 'number') return {base: w.int(0), offset: array.byteOffset + 8 * index};
    const sum = sumOf(index);
    const bytes = sum && this.bytes.get(sum.slot);
    if (sum !== undefined && bytes !== undefined) return {base: w.get(bytes), offset: array.byteOffset + 8 * sum.more};
    return {base: this.inBytes(this.value(index)), offset: array.byteOffset};
  }

  private condition(condition: Condition): Push {
    const {w} = this;
    if (typeof condition === 'boolean') return w.int(condition ? 1 : 0);
    switch (condition.kind) {
      case 'compare':
        return w.op(`f64.${condition.operation}`, this.value(condition.a), this.value(condition.b));
      case 'not':
        return w.op('i32.eqz', this.condition(condition.a));
      default:
        return w.op(`i32.${condition.kind}`, this.condition(condition.a), this.condition(condition.b));
    }
  }

  private set(to: Variable, value: Push): void {
    const {w} = this;
    if (to.kind === 'local') {
      w.set(this.locals[to.slot], value);
      return this.follow(to.slot);
    }
    const {base, offset} = this.address(to);
    w.store(base, value, offset);
  }

  /** @param depth blocks between the statement and the innermost loop's own */
  private statement(statement: Statement, depth: number): void {
    const {w} = this;
    switch (statement.kind) {
      case 'set':
        return this.set(statement.to, this.value(statement.value));
      case 'call':
        return this.call(statement);
      case 'copy':
      case 'accumulate': {
        const {kind, size, kernels} = statement;
        const [to, from] = [this.pointer(statement.to), this.pointer(statement.from)];
        if (kind === 'copy') w.run(kernels?.copy, to, from, size);
        else w.run(kernels?.axpy, to, to, from, size, {number: -1});
        for (const pointer of [to, from]) if (typeof pointer !== 'number') w.body.release(pointer);
        return;
      }
      case 'if': {
        const {then, otherwise} = statement;
        const rest = otherwise.length === 0 ? undefined : () => this.block(otherwise, depth + 1);
        return w.if(this.condition(statement.when), () => this.block(then, depth + 1), rest);
      }
      case 'loop':
        // The loop repeats its body, a block around it is what is left.
        w.body.block(() =>
          w.body.loop(() => {
            this.block(statement.body, 0);
            w.body.branch(0);
          }),
        );
        return;
      case 'break':
        w.body.branch(depth + 1);
        return;
      case 'continue':
        w.body.branch(depth);
        return;
      case 'return':
        return w.return(this.value(statement.value));
    }
  }

  private call({part, given, to}: Extract<Statement, {kind: 'call'}>): void {
    const {w} = this;
    const values = given.map(value => w.keep('f64', this.value(value)));
    const push = part.write?.(w, values) ?? w.call(part.run, values, part.returns === true ? 'f64' : undefined);
    if (to !== undefined) this.set(to, push);
    else {
      push();
      if (part.returns === true) w.body.op('drop');
    }
    for (const value of values) w.body.release(value);
  }

  private pointer({array, offset}: ArraySlice): number | WasmLocal {
    const {w} = this;
    if (typeof offset === 'number') return array.byteOffset + 8 * offset;
    const {base, offset: constant} = this.address({array, index: offset});
    return w.keep('i32', w.plus(base, w.int(constant)));
  }

  private block(statements: readonly Statement[], depth: number): void {
    for (const statement of statements) this.statement(statement, depth);
  }
}
