/**
 * Many adaptive steps of an explicit scheme in one call: what integrate/history/ does with a step (trials.ts,
 * error-estimate.ts, pace.ts, step-lengths.ts, saver.ts) as one routine with its programs, operation by operation, to
 * the same bits. If something happens that it does not handle, the block ends before that attempt.
 */
import type {Local} from '../../wasm/assembler.js';
import type {Push} from '../../wasm/writer.js';
import type {Routines} from '../../engine/routines.js';
import {routinesOf} from '../../engine/routines.js';
import type {RoutineWriter} from '../../engine/wasm/routine.js';
import {routine} from '../../engine/wasm/routine.js';
import type {BlockNumber} from '../../step/adaptive-block.js';
import {blockPlace, smallestError, stretch, timeRounding} from '../../step/adaptive-block.js';
import type {BufferName, StepExecutable} from '../../step/buffers.js';
import {rowStart} from '../../step/rows.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

type Arithmetic = 'add' | 'sub' | 'mul' | 'div' | 'min' | 'max';

/** The numbers of a block in locals. */
class Numbers {
  private readonly locals = new Map<BlockNumber, Local>();

  /** @param control where they lie */
  constructor(
    private readonly w: RoutineWriter,
    private readonly control: number,
  ) {}

  /** As it lies there. */
  given(name: BlockNumber): Push {
    return this.w.load(this.w.int(this.control), bytes * blockPlace[name]);
  }

  /** In a local from now on, from where it lies or as given. */
  keep(name: BlockNumber, value = this.given(name)): Local {
    const local = this.w.keep('f64', value);
    this.locals.set(name, local);
    return local;
  }

  /** Puts those in locals back. */
  leave(): void {
    for (const [name, local] of this.locals)
      this.w.store(this.w.int(this.control), this.w.get(local), bytes * blockPlace[name]);
  }
}

/** Addresses of the arrays of a block (step/adaptive-block.ts), and how many rows there are. */
export interface AdaptiveRoom {
  readonly control: number;
  readonly rows: number;
  readonly states: number;
  readonly theta: number;
  readonly after: number;
  readonly times: number;
  readonly absolute: number;
  readonly judged: number;
  /** Absent where nobody looks at it. */
  readonly stiffness?: number;
  readonly capacity: number;
  /** Numbers that the error is estimated of. */
  readonly absolutes: number;
}

/**
 * Attempts, as many as the numbers in `blockControl` say, and what was done is left there. Of programs in memory with `adaptiveBuffers`;
 * undefined where they are not compiled.
 */
export function adaptiveRoutine(
  executable: StepExecutable<'update' | 'between' | 'dense'>,
): (() => undefined) | undefined {
  const routines = routinesOf(executable);
  return routines?.once('adaptive', () => {
    const at = (name: BufferName): number => executable.buffer(name).byteOffset;
    const {length: size} = executable.buffer('x');
    const {length: capacity} = executable.buffer('blockTheta');
    return attemptsRoutine(executable, routines, {
      control: at('blockControl'),
      rows: at('block'),
      states: at('block') + bytes * capacity * (rowStart + size),
      theta: at('blockTheta'),
      after: at('blockAfter'),
      times: at('blockTimes'),
      absolute: at('blockAbsolute'),
      judged: at('blockJudged'),
      stiffness: at('blockStiffness'),
      capacity,
      absolutes: executable.buffer('blockAbsolute').length,
    });
  });
}

export function attemptsRoutine(
  executable: StepExecutable<'update' | 'between' | 'dense'>,
  {memory, vectors}: Routines,
  room: AdaptiveRoom,
): () => undefined {
  const update = executable.program('update');
  const [between, dense] = (['between', 'dense'] as const).map(name =>
    executable.has(name) ? executable.program(name) : undefined,
  );
  const at = (name: BufferName): number => executable.buffer(name).byteOffset;
  const {length: size} = executable.buffer('x');
  const {control, absolutes} = room;
  const [x, next, estimate] = (['x', 'next', 'E'] as const).map(at);
  const stiffness = executable.find('stiffness');
  /** What the way back needs of a step beside its state. */
  const layers = executable.find('layers');
  const width = rowStart + size + (layers?.length ?? 0);
  return routine<() => undefined>(memory, {parameters: [], results: []}, w => {
    const f = (op: Arithmetic, a: Push, b: Push): Push => w.op(`f64.${op}`, a, b);
    const pow = (base: Push, exponent: Push): Push => {
      const locals = [w.local('f64'), w.local('f64')];
      return () => {
        w.set(locals[0], base);
        w.set(locals[1], exponent);
        // The function of step-lengths.ts; V8 calls it without a detour through JavaScript.
        w.call(Math.pow, locals, 'f64')();
      };
    };
    const numbers = new Numbers(w, control);
    const [t, length, last, older, rejected, taken, boundaries] = (
      ['t', 'length', 'lastError', 'olderError', 'rejected', 'taken', 'boundaries'] as const
    ).map(name => numbers.keep(name));
    const [attempts, rejections, rows, saved] = (['attempts', 'rejections', 'rows', 'saved'] as const).map(name =>
      numbers.keep(name, w.number(0)),
    );
    const [next1, end, h, stop, theta] = Array.from({length: 5}, () => w.local('f64'));
    const leave = (): void => {
      numbers.leave();
      w.return();
    };
    const whole = (value: Push): Push => w.op('i32.trunc_sat_f64_s', value);
    /** Address of row i of an array of rows this wide. */
    const element = (array: number, i: Local, each: number): Push =>
      w.plus(w.int(array), w.op('i32.mul', whole(w.get(i)), w.int(bytes * each)));
    const copy = (to: Push, from: Push, count = size): void => {
      const [a, b] = [w.keep('i32', to), w.keep('i32', from)];
      w.run(vectors.copy, a, b, count);
      w.body.release(a);
      w.body.release(b);
    };
    const increment = (count: Local): void => w.set(count, f('add', w.get(count), w.number(1)));
    const smallest = (time: Push): Push =>
      f('mul', w.number(timeRounding), f('max', w.op('f64.abs', time), w.number(Number.MIN_VALUE / timeRounding)));
    const fill = (name: BufferName, value: Push): void => {
      const address = executable.find(name)?.byteOffset;
      if (address !== undefined) w.store(w.int(address), value);
    };

    const propose = (): void => {
      const left = next1;
      w.set(end, numbers.given('end'));
      w.set(left, f('sub', w.get(end), w.get(t)));
      w.if(
        w.op('f64.ge', f('mul', w.get(length), w.number(stretch)), w.get(left)),
        () => {
          w.set(h, w.get(left));
          w.set(stop, w.get(end));
        },
        () => {
          w.if(w.op('f64.lt', w.get(length), f('max', numbers.given('least'), smallest(w.get(t)))), () => leave());
          const halved = w.op('f64.gt', f('mul', w.number(2), w.get(length)), w.get(left));
          w.set(stop, f('add', w.get(t), w.choose(halved, f('div', w.get(left), w.number(2)), w.get(length))));
          w.set(h, f('sub', w.get(stop), w.get(t)));
        },
      );
    };

    /** The weighted root mean square of the estimate (errorShare in history/error-estimate.ts). */
    const error = w.local('f64');
    const judge = (): void => {
      const [i, scale] = [w.local('i32'), w.local('f64')];
      const number = (array: number): Push => w.load(w.get(i), array);
      w.set(error, w.number(0));
      w.for(
        i,
        w.int(0),
        w.int(bytes * absolutes),
        () => {
          w.if(w.op('f64.ne', number(room.judged), w.number(0)), () => {
            const larger = f('max', w.op('f64.abs', number(x)), w.op('f64.abs', number(next)));
            w.set(scale, f('add', number(room.absolute), f('mul', numbers.given('rtol'), larger)));
            w.if(w.op('f64.ne', number(estimate), w.number(0)), () => {
              w.set(scale, f('div', number(estimate), w.get(scale)));
              w.set(error, f('add', w.get(error), f('mul', w.get(scale), w.get(scale))));
            });
          });
        },
        bytes,
      );
      w.set(error, w.op('f64.sqrt', f('div', w.get(error), numbers.given('judged'))));
    };

    const reject = (): void => {
      w.set(rejected, w.number(1));
      const shorter = f('mul', numbers.given('safety'), pow(w.get(error), numbers.given('rejecting')));
      const factor = f('max', numbers.given('shrinking'), f('min', numbers.given('safety'), shorter));
      w.set(length, f('min', f('mul', w.get(h), factor), numbers.given('max')));
      increment(rejections);
    };

    /** A saved state in the last step, at its end or at θ within. */
    const save = (from: Push, place: Push): void => {
      copy(element(room.states, saved, size), from);
      w.store(element(room.theta, saved, 1), place);
      w.store(element(room.after, saved, 1), f('add', w.get(rows), w.number(1)));
      increment(saved);
    };

    const saveTimes = (): void => {
      const [first, loaded, close] = [w.keep('f64', w.get(saved)), w.keep('i32', w.int(0)), w.local('f64')];
      const time = w.load(element(room.times, saved, 1));
      const more = w.op('f64.lt', w.get(saved), numbers.given('times'));
      w.set(close, smallest(w.get(stop)));
      const isInside = w.op('i32.and', more, w.op('f64.lt', time, f('sub', w.get(stop), w.get(close))));
      if (dense !== undefined)
        w.while(isInside, () => {
          w.set(theta, f('max', f('div', f('sub', time, w.get(t)), w.get(h)), w.number(0)));
          w.if(
            w.op('f64.eq', w.get(theta), w.number(0)),
            () => save(w.int(x), w.get(theta)),
            () => {
              if (between !== undefined)
                w.if(w.op('i32.eqz', w.get(loaded)), () => {
                  w.run(between);
                  w.set(loaded, w.int(1));
                });
              fill('theta', w.get(theta));
              w.run(dense);
              save(w.int(at('D')), w.get(theta));
            },
          );
        });
      w.while(w.op('i32.and', more, w.op('f64.le', time, f('add', w.get(stop), w.get(close)))), () =>
        save(w.int(next), w.number(1)),
      );
      // Those that lie here are used up, and the step may hold more.
      const usedUp = w.op('f64.ge', w.get(saved), numbers.given('times'));
      w.if(w.op('i32.and', usedUp, w.op('f64.ne', numbers.given('moreTimes'), w.number(0))), () => {
        w.set(saved, w.get(first));
        w.set(attempts, f('sub', w.get(attempts), w.number(1)));
        leave();
      });
    };

    const saveEnds = (): void => {
      increment(boundaries);
      const every = numbers.given('every');
      const count = w.op('f64.floor', f('div', w.get(boundaries), every));
      const isCounted = w.op('f64.eq', f('mul', count, every), w.get(boundaries));
      w.if(w.op('f64.gt', every, w.number(0)), () => w.if(isCounted, () => save(w.int(next), w.number(1))));
    };

    const accept = (): void => {
      const [e, aim, factor] = [w.local('f64'), w.local('f64'), w.local('f64')];
      w.set(e, f('max', w.get(error), w.number(smallestError)));
      w.set(aim, f('div', numbers.given('aimed'), w.get(e)));
      const isKnown = (one: Local): Push => w.op('f64.eq', w.get(one), w.get(one));
      const hasDerivative = w.op('f64.ne', numbers.given('derivative'), w.number(0));
      w.if(
        isKnown(last),
        () => {
          const integral = pow(w.get(aim), numbers.given('integral'));
          const change = f('div', w.get(last), w.get(e));
          w.set(factor, f('mul', integral, pow(change, numbers.given('proportional'))));
          w.if(w.op('i32.and', hasDerivative, isKnown(older)), () => {
            const second = f('mul', change, f('div', w.get(last), w.get(older)));
            w.set(factor, f('mul', w.get(factor), pow(second, numbers.given('derivative'))));
          });
        },
        () => w.set(factor, pow(w.get(aim), numbers.given('first'))),
      );
      const most = w.choose(w.op('f64.ne', w.get(rejected), w.number(0)), w.number(1), numbers.given('growth'));
      w.set(factor, f('min', f('max', w.get(factor), numbers.given('shrinking')), most));
      w.if(hasDerivative, () => w.set(older, w.get(last)));
      w.set(last, w.get(e));
      w.set(rejected, w.number(0));
      w.set(length, f('min', f('mul', w.get(h), w.get(factor)), numbers.given('max')));
    };

    const commit = (): void => {
      saveTimes();
      saveEnds();
      const to = w.keep('i32', element(room.rows, rows, width));
      w.store(w.get(to), w.get(t));
      w.store(w.get(to), w.get(h), bytes);
      copy(w.plus(w.get(to), w.int(rowStart * bytes)), w.int(x));
      if (layers !== undefined)
        copy(w.plus(w.get(to), w.int((rowStart + size) * bytes)), w.int(layers.byteOffset), layers.length);
      if (stiffness !== undefined && room.stiffness !== undefined)
        w.store(element(room.stiffness, rows, 1), w.load(w.int(stiffness.byteOffset)));
      copy(w.int(x), w.int(next));
      w.set(t, w.get(stop));
      increment(taken);
      increment(rows);
      accept();
    };

    w.while(w.int(1), () => {
      const isFull = w.op(
        'i32.or',
        w.op('f64.ge', w.get(attempts), numbers.given('mostAttempts')),
        w.op('f64.ge', w.get(rows), w.number(room.capacity)),
      );
      w.if(isFull, () => leave());
      const isOver = w.op(
        'i32.or',
        w.op('f64.ge', w.get(t), numbers.given('end')),
        w.op('f64.ge', w.get(taken), numbers.given('most')),
      );
      w.if(isOver, () => leave());
      propose();
      fill('t', w.get(t));
      fill('h', w.get(h));
      w.run(update);
      const isFinite = w.op('f64.lt', w.call(vectors.largest, [next, size], 'f64'), w.number(Infinity));
      w.if(w.op('i32.eqz', isFinite), () => leave());
      judge();
      w.if(w.op('i32.eqz', w.op('f64.lt', w.get(error), w.number(Infinity))), () => leave());
      increment(attempts);
      w.if(w.op('f64.le', w.get(error), w.number(1)), commit, reject);
    });
  });
}
