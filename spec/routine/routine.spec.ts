/** Routines run as WebAssembly and as JavaScript: the same numbers, whatever they are made of. */
import {expect} from 'chai';
import fc from 'fast-check';
import {vectorKernels} from '../../lib/engine/wasm/kernels.js';
import {compile} from '../../lib/routine/compile.js';
import {interpret} from '../../lib/routine/interpret.js';
import type {Condition, RoutineLocal, Callee, Routine, Value, Variable} from '../../lib/routine/routine.js';
import {
  abs,
  add,
  and,
  asFlag,
  atMost,
  choose,
  div,
  element,
  equal,
  floor,
  isSet,
  less,
  max,
  min,
  mul,
  not,
  notEqual,
  or,
  place,
  RoutineBuilder,
  sqrt,
  sub,
} from '../../lib/routine/routine.js';
import {runs} from '../property.js';

const memory = new WebAssembly.Memory({initial: 1});
const kernels = vectorKernels(memory);
const [numbers, other] = [new Float64Array(memory.buffer, 64, 8), new Float64Array(memory.buffer, 256, 8)];

type Op = (a: Value, b: Value) => Value;
type Test = (a: Value, b: Value) => Condition;
const operations: readonly Op[] = [add, sub, mul, div, min, max, a => abs(a), a => sqrt(a), a => floor(a)];
const tests: readonly Test[] = [less, atMost, equal, notEqual];
const scaled: Callee = {run: (x, y) => 3 * x - y, returns: true};

/** A random routine of three parameters: it ends, as its loops count, and tells all its variables. */
class Random {
  readonly b = new RoutineBuilder(3);
  private readonly variables: Variable[];

  constructor(private readonly next: (below: number) => number) {
    const {b} = this;
    const locals = [0, 1, 2].map(i => b.local(i - 1.5));
    this.variables = [...[0, 1, 2].map(i => b.parameter(i)), ...locals, element(numbers, 1), element(other, 3)];
  }

  private variable(): Variable {
    return this.variables[this.next(this.variables.length)];
  }

  private value(depth: number): Value {
    const {next} = this;
    const kind = next(depth > 0 ? 5 : 2);
    if (kind === 0) return [0, -0, 1, -2.5, NaN, Infinity, 1e-300][next(7)];
    if (kind === 1) return this.variable();
    if (kind === 2) return choose(this.condition(depth - 1), this.value(depth - 1), this.value(depth - 1));
    return operations[next(operations.length)](this.value(depth - 1), this.value(depth - 1));
  }

  private condition(depth: number): Condition {
    const {next} = this;
    const kind = next(depth > 0 ? 5 : 1);
    if (kind === 1) return not(this.condition(depth - 1));
    if (kind === 2) return and(this.condition(depth - 1), this.condition(depth - 1));
    if (kind === 3) return or(this.condition(depth - 1), isSet(asFlag(this.condition(depth - 1))));
    return tests[next(tests.length)](this.value(depth - 1), this.value(depth - 1));
  }

  statements(depth: number): void {
    for (let count = 1 + this.next(4); count > 0; count--) this.statement(depth);
  }

  private statement(depth: number): void {
    const {b, next} = this;
    const kind = next(depth > 0 ? 7 : 4);
    const within = (): void => this.statements(depth - 1);
    if (kind <= 1) b.set(this.variable(), this.value(2));
    else if (kind === 2) b.call(scaled, [this.value(1), this.value(1)], this.variable());
    else if (kind === 3) this.move();
    else if (kind === 4) b.if(this.condition(2), within, next(2) === 0 ? undefined : within);
    else this.loop(within);
  }

  private move(): void {
    const {b, next} = this;
    const at: RoutineLocal = b.local(next(4));
    const [to, from] = [place(numbers, add(at, next(2))), place(other, next(4))];
    if (next(2) === 0) b.copy(to, from, 3, kernels);
    else b.accumulate(to, from, 3, kernels);
  }

  private loop(within: () => void): void {
    const {b, next} = this;
    const turns = b.local(0);
    b.loop(() => {
      b.increment(turns);
      b.if(less(4, turns), () => b.break());
      within();
      if (next(3) === 0) b.if(this.condition(1), () => (next(2) === 0 ? b.continue() : b.break()));
      if (next(6) === 0) b.if(this.condition(1), () => b.return(this.value(1)));
    });
  }

  get routine(): Routine {
    const {b} = this;
    this.variables.forEach((variable, i) => b.set(element(other, i), variable));
    b.return(this.value(2));
    return b.routine;
  }
}

function outcome(run: (...given: number[]) => number, given: readonly number[]): unknown {
  numbers.forEach((_, i) => (numbers[i] = i / 3 - 1));
  other.forEach((_, i) => (other[i] = 2 - i));
  const result = run(...given);
  return {result, numbers: Array.from(numbers), other: Array.from(other)};
}

describe('routine', () => {
  it('runs alike as WebAssembly and as JavaScript', () => {
    fc.assert(
      fc.property(fc.nat(), fc.tuple(fc.double(), fc.double(), fc.double()), (seed, given) => {
        let state = seed;
        const random = new Random(below => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return (state >>> 8) % below;
        });
        random.statements(3);
        const {routine} = random;
        expect(outcome(compile(routine, memory), given)).to.deep.equal(outcome(interpret(routine), given));
      }),
      runs(60),
    );
  });

  it('sums by a loop that is left and begun again', () => {
    const b = new RoutineBuilder(1);
    const [i, sum] = [b.local(0), b.local(0)];
    b.loop(() => {
      b.increment(i);
      b.if(less(b.parameter(0), i), () => b.break());
      // Odd numbers alone.
      b.if(equal(mul(floor(div(i, 2)), 2), i), () => b.continue());
      b.set(sum, add(sum, i));
    });
    b.return(sum);
    for (const run of [interpret(b.routine), compile(b.routine, memory)]) {
      expect(run(9)).to.equal(25);
      expect(run(0)).to.equal(0);
    }
  });

  it('an error of a function in JavaScript leaves a routine', () => {
    const b = new RoutineBuilder();
    b.set(element(numbers), 1);
    b.call({
      run: () => {
        throw new RangeError('no factor');
      },
    });
    b.set(element(numbers), 2);
    for (const run of [interpret(b.routine), compile(b.routine, memory)]) {
      expect(() => run()).to.throw(RangeError, 'no factor');
      expect(numbers[0]).to.equal(1);
    }
  });
});
