/** Runs routines as JavaScript: a closure for every operation, on numbers in one array, without allocating. */
import type {Condition, Element, ArraySlice, Routine, Statement, Value} from './routine.js';

type Effect = () => void;
type Test = () => boolean;
/** How a statement ends. */
type Code = () => Ending;
type Ending = 0 | 1 | 2 | 3;
const [goesOn, breaks, continues, returns] = [0, 1, 2, 3] as const;

export function interpret(routine: Routine): (...given: number[]) => number {
  const run = new Interpreter(routine);
  return (...given) => run.call(given);
}

class Interpreter {
  /** Locals, then constants and intermediate values. */
  private slots: Float64Array;
  private count: number;
  private readonly constants = new Map<number, number>();
  private readonly body: Code;
  private result = 0;

  constructor(private readonly routine: Routine) {
    this.count = routine.locals;
    this.slots = new Float64Array(this.count);
    const known = sizeOf(routine.body);
    this.slots = new Float64Array(this.count + known);
    this.body = this.block(routine.body);
  }

  call(given: readonly number[]): number {
    for (let i = 0; i < this.routine.parameters; i++) this.slots[i] = given[i];
    this.result = 0;
    this.body();
    return this.result;
  }

  private slot(value?: number): number {
    if (value !== undefined) this.slots[this.count] = value;
    return this.count++;
  }

  private constant(value: number): number {
    // A map takes −0 for 0.
    if (Object.is(value, -0)) return this.slot(value);
    let slot = this.constants.get(value);
    if (slot === undefined) this.constants.set(value, (slot = this.slot(value)));
    return slot;
  }

  /** The slot where the value lies once `before` has run. */
  private value(value: Value, before: Effect[]): number {
    if (typeof value === 'number') return this.constant(value);
    const {slots} = this;
    switch (value.kind) {
      case 'local':
        return value.slot;
      case 'element': {
        const [at, to] = [this.index(value, before), this.slot()];
        const {array} = value;
        before.push(() => void (slots[to] = array[at()]));
        return to;
      }
      case 'unary': {
        const a = this.value(value.a, before);
        const to = this.slot();
        const apply = Math[value.operation];
        before.push(() => void (slots[to] = apply(slots[a])));
        return to;
      }
      case 'binary': {
        const [a, b] = [this.value(value.a, before), this.value(value.b, before)];
        const to = this.slot();
        const operations: {readonly [operation in typeof value.operation]: Effect} = {
          add: () => void (slots[to] = slots[a] + slots[b]),
          sub: () => void (slots[to] = slots[a] - slots[b]),
          mul: () => void (slots[to] = slots[a] * slots[b]),
          div: () => void (slots[to] = slots[a] / slots[b]),
          min: () => void (slots[to] = Math.min(slots[a], slots[b])),
          max: () => void (slots[to] = Math.max(slots[a], slots[b])),
        };
        before.push(operations[value.operation]);
        return to;
      }
      case 'choose': {
        const [a, b] = [this.value(value.a, before), this.value(value.b, before)];
        const [when, to] = [this.condition(value.when, before), this.slot()];
        before.push(() => void (slots[to] = when() ? slots[a] : slots[b]));
        return to;
      }
    }
  }

  private index({index}: Pick<Element, 'index'>, before: Effect[]): () => number {
    if (typeof index === 'number') return () => index;
    const {slots} = this;
    const slot = this.value(index, before);
    return () => slots[slot];
  }

  private condition(condition: Condition, before: Effect[]): Test {
    if (typeof condition === 'boolean') return () => condition;
    const {slots} = this;
    switch (condition.kind) {
      case 'compare': {
        const [a, b] = [this.value(condition.a, before), this.value(condition.b, before)];
        const tests: {readonly [operation in typeof condition.operation]: Test} = {
          lt: () => slots[a] < slots[b],
          le: () => slots[a] <= slots[b],
          eq: () => slots[a] === slots[b],
          ne: () => slots[a] !== slots[b],
        };
        return tests[condition.operation];
      }
      case 'not': {
        const a = this.condition(condition.a, before);
        return () => !a();
      }
      default: {
        const [a, b] = [this.condition(condition.a, before), this.condition(condition.b, before)];
        return condition.kind === 'and' ? () => a() && b() : () => a() || b();
      }
    }
  }

  private statement(statement: Statement): Code {
    const {slots} = this;
    const before: Effect[] = [];
    const ends = (last: Effect, ending: Ending = goesOn): Code => {
      const all = together([...before, last]);
      return () => {
        all();
        return ending;
      };
    };
    switch (statement.kind) {
      case 'set': {
        const from = this.value(statement.value, before);
        return ends(this.store(statement.to, from, before));
      }
      case 'call': {
        const {part, given, to} = statement;
        const [a, b, c, ...more] = given.map(value => this.value(value, before));
        if (more.length > 0) throw new Error('a routine calls functions of at most three numbers');
        const {run} = part;
        const calls = [
          run,
          () => run(slots[a]),
          () => run(slots[a], slots[b]),
          () => run(slots[a], slots[b], slots[c]),
        ] as const;
        const call = calls[given.length];
        if (to === undefined) return ends(() => void call());
        const found = this.slot();
        const store = this.store(to, found, before);
        return ends(() => {
          slots[found] = call() as number;
          store();
        });
      }
      case 'copy':
      case 'accumulate': {
        const {kind, to, from, size} = statement;
        const place = ({array, offset}: ArraySlice): [Float64Array, () => number] => [
          array,
          this.index({index: offset}, before),
        ];
        const [[target, start], [source, begin]] = [place(to), place(from)];
        if (kind === 'accumulate')
          return ends(() => {
            const [i, k] = [start(), begin()];
            for (let j = 0; j < size; j++) target[i + j] += source[k + j];
          });
        return ends(() => {
          const [i, k] = [start(), begin()];
          for (let j = 0; j < size; j++) target[i + j] = source[k + j];
        });
      }
      case 'if': {
        const when = this.condition(statement.when, before);
        const [first, then, otherwise] = [
          together(before),
          this.block(statement.then),
          this.block(statement.otherwise),
        ];
        return () => {
          first();
          return when() ? then() : otherwise();
        };
      }
      case 'loop': {
        const body = this.block(statement.body);
        return () => {
          for (;;) {
            const ending = body();
            if (ending === breaks) return goesOn;
            if (ending === returns) return returns;
          }
        };
      }
      case 'return': {
        const value = this.value(statement.value, before);
        return ends(() => void (this.result = slots[value]), returns);
      }
      default: {
        const ending = statement.kind === 'break' ? breaks : continues;
        return () => ending;
      }
    }
  }

  private store(to: Extract<Statement, {kind: 'set'}>['to'], from: number, before: Effect[]): Effect {
    const {slots} = this;
    if (to.kind === 'local') {
      const {slot} = to;
      return () => void (slots[slot] = slots[from]);
    }
    const [{array}, at] = [to, this.index(to, before)];
    return () => void (array[at()] = slots[from]);
  }

  private block(statements: readonly Statement[]): Code {
    const codes = statements.map(statement => this.statement(statement));
    const [a, b] = codes;
    if (codes.length === 0) return () => goesOn;
    if (codes.length === 1) return a;
    if (codes.length === 2)
      return () => {
        const ending = a();
        return ending === goesOn ? b() : ending;
      };
    return () => {
      for (const code of codes) {
        const ending = code();
        if (ending !== goesOn) return ending;
      }
      return goesOn;
    };
  }
}

function together(effects: readonly Effect[]): Effect {
  const [a, b, c] = effects;
  if (effects.length === 0) return () => undefined;
  if (effects.length === 1) return a;
  if (effects.length === 2)
    return () => {
      a();
      b();
    };
  if (effects.length === 3)
    return () => {
      a();
      b();
      c();
    };
  return () => {
    for (const effect of effects) effect();
  };
}

/** At least as many slots as constants and intermediate values take: one for every node. */
function sizeOf(node: unknown): number {
  if (typeof node === 'number') return 1;
  if (typeof node !== 'object' || node === null || ArrayBuffer.isView(node)) return 0;
  let size = 1;
  for (const part of Array.isArray(node) ? node : Object.values(node)) size += sizeOf(part);
  return size;
}
