/**
 * What an iteration does with whole vectors: norms, comparisons with a unit, corrections. Addresses
 * are bytes, lengths count doubles. Sums add even and odd elements apart, then both.
 */
import type {Local} from '../../../wasm/assembler.js';
import {Elements, type Operand, type Push, type Writer} from '../../../wasm/writer.js';

/** Address behind the last of n doubles. */
function endOf(w: Writer, start: Local, n: Local): Local {
  return w.keep('i32', w.element(start, n));
}

/**
 * Reduces pairs of values by one instruction; pairs are taken in four chains, as an addition waits for the one before.
 */
const chains = 4;

/**
 * The largest of pairs that are not negative. `f64x2.max` takes eight instructions, each waiting for the one before, to
 * tell NaN and −0 apart; `pmax` takes one and passes over NaN, which is remembered beside it.
 */
class LargestPair {
  private readonly broken: Local;
  private readonly value: Local;

  constructor(
    private readonly w: Writer,
    private readonly chains: readonly Local[],
  ) {
    this.broken = w.keep('v128', 0);
    this.value = w.local('v128');
  }

  enter(chain: number, value: Push): void {
    const {w, broken} = this;
    const most = this.chains[chain];
    w.set(this.value, value);
    w.set(most, w.op('f64x2.pmax', most, this.value));
    w.set(broken, w.op('v128.or', broken, w.op('f64x2.ne', this.value, this.value)));
  }

  /** `largest`, or NaN where one was met. */
  orNaN(largest: Push | Local): Push {
    const {w} = this;
    return w.choose(w.op('v128.any_true', this.broken), w.number(NaN), largest);
  }
}

/**
 * Σ or max over elements: `value` gives the term at a byte offset from the pointers, as a pair or a number; for max
 * none is negative.
 */
function reduce(
  w: Writer,
  pointers: readonly Local[],
  n: Local,
  join: 'add' | 'max',
  value: (v: Elements, offset: number) => Push,
): Local {
  const end = endOf(w, pointers[0], n);
  const sums = Array.from({length: chains}, () => w.keep('v128', 0));
  const total = w.keep('f64', 0);
  const maximum = join === 'max' ? new LargestPair(w, sums) : undefined;
  const paired = join === 'add' ? 'f64x2.add' : 'f64x2.pmax';
  const single = join === 'add' ? 'f64.add' : 'f64.max';
  const enter = (v: Elements, chain: number): void => {
    const term = value(v, 16 * chain);
    if (!v.paired) w.set(total, w.op(single, total, term));
    else if (maximum === undefined) w.set(sums[chain], w.op('f64x2.add', sums[chain], term));
    else maximum.enter(chain, term);
  };
  const block = 16 * chains;
  const inBlocks = w.keep('i32', w.op('i32.sub', end, block));
  w.while(w.op('i32.le_s', pointers[0], inBlocks), () => {
    for (let c = 0; c < chains; c++) enter(new Elements(w, true), c);
    for (const pointer of pointers) w.move(pointer, block);
  });
  w.each(pointers, end, v => enter(v, 0));
  const [a, b, c, d] = sums;
  w.set(sums[0], w.op(paired, w.op(paired, a, b), w.op(paired, c, d)));
  const whole = w.op(single, total, w.op(single, w.lane(a, 0), w.lane(a, 1)));
  w.set(total, maximum === undefined ? whole : maximum.orNaN(whole));
  return total;
}

/** sumOfSquares(x, n) */
export function sumOfSquares(w: Writer): void {
  const [x, n] = w.parameters();
  w.push(reduce(w, [x], n, 'add', (v, offset) => v.op('mul', v.load(x, offset), v.load(x, offset))));
}

/** largest(x, n): max |xᵢ|, NaN where one is; finite exactly when all are. */
export function largest(w: Writer): void {
  const [x, n] = w.parameters();
  w.push(reduce(w, [x], n, 'max', (v, offset) => v.op('abs', v.load(x, offset))));
}

/** Where |x| is 0 the ratio is 0, whatever the unit. */
function ratio(w: Writer, v: Elements, x: Operand, unit: Operand): Push {
  return () => {
    const kept = v.keep(v.op('abs', x));
    const quotient = v.op('div', kept, unit);
    if (v.paired) w.op('v128.and', quotient, w.op('f64x2.ne', kept, 0))();
    else w.choose(w.op('f64.ne', kept, 0), quotient, w.number(0))();
    w.release(kept);
  };
}

/** NaN becomes ∞: a vector with such a number is larger than any. */
function orInfinity(w: Writer, value: Local): void {
  w.choose(w.op('f64.eq', value, value), value, w.number(Infinity))();
}

/** largestRatio(x, unit, n): max |xᵢ|/unitᵢ; 0/0 is 0; ∞ where a number is not one. */
export function largestRatio(w: Writer): void {
  const [x, unit, n] = w.parameters();
  orInfinity(
    w,
    reduce(w, [x, unit], n, 'max', (v, offset) => ratio(w, v, v.load(x, offset), v.load(unit, offset))),
  );
}

/**
 * weigh(weights, z, base, x, n, absolute, relative): weightsᵢ = absolute + relative·max(|zᵢ|, |baseᵢ|) → max
 * |xᵢ|/weightsᵢ, as largestRatio.
 */
export function computeWeights(w: Writer): void {
  const [weights, z, base, x, n, absolute, relative] = w.parameters();
  const end = endOf(w, weights, n);
  const [a, r] = [w.spread(absolute), w.spread(relative)];
  const [worst, most] = [w.keep('v128', 0), w.keep('f64', 0)];
  const maximum = new LargestPair(w, [worst]);
  w.each([weights, z, base, x], end, v => {
    // A NaN in z makes it NaN; where the base has one, so has z, which was reached from there.
    const greater = w.op(v.paired ? 'f64x2.pmax' : 'f64.max', v.op('abs', v.load(z)), v.op('abs', v.load(base)));
    const weight = v.keep(v.op('add', v.all(a), v.op('mul', v.all(r), greater)));
    v.store(weights, weight);
    const share = ratio(w, v, v.load(x), weight);
    if (v.paired) maximum.enter(0, share);
    else w.set(most, share);
    w.release(weight);
  });
  w.set(most, maximum.orNaN(w.op('f64.max', most, w.op('f64.max', w.lane(worst, 0), w.lane(worst, 1)))));
  orInfinity(w, most);
}

/** depart(z, base, delta, n): base = z, then z = z − delta. */
export function saveAndStep(w: Writer): void {
  const [z, base, delta, n] = w.parameters();
  w.each([z, base, delta], endOf(w, z, n), v => {
    const kept = v.keep(v.load(z));
    v.store(base, kept);
    v.store(z, v.op('sub', kept, v.load(delta)));
    w.release(kept);
  });
}

/** advance(z, base, delta, n, s): z = base − s·delta; base may be z. */
export function axpy(w: Writer): void {
  const [z, base, delta, n, s] = w.parameters();
  const length = w.spread(s);
  w.each([z, base, delta], endOf(w, z, n), v =>
    v.store(z, v.op('sub', v.load(base), v.op('mul', v.all(length), v.load(delta)))),
  );
}

/** copy(to, from, n) */
export function copy(w: Writer): void {
  const [to, from, n] = w.parameters();
  w.each([to, from], endOf(w, to, n), v => v.store(to, v.load(from)));
}

/**
 * errorShare(error, x, next, absolute, judged, n, rtol, count): √(Σ (errorᵢ/(absoluteᵢ + rtol max(|xᵢ|,
 * |nextᵢ|)))²/count) over components whose `judged` is not zero; nothing that is zero has a share.
 */
export function errorShare(w: Writer): void {
  const [error, x, next, absolute, judged, n, rtol, count] = [0, 1, 2, 3, 4, 5, 6, 7].map(i => w.parameter(i));
  const [i, end, share] = [w.local('i32'), w.local('i32'), w.local('f64')];
  const sum = w.keep('f64', w.number(0));
  const number = (array: Local): Push => w.load(w.plus(w.get(array), w.get(i)));
  w.set(end, w.op('i32.shl', w.get(n), w.int(3)));
  w.for(
    i,
    w.int(0),
    w.get(end),
    () =>
      w.if(w.op('f64.ne', number(judged), w.number(0)), () => {
        const larger = w.op('f64.max', w.op('f64.abs', number(x)), w.op('f64.abs', number(next)));
        w.set(share, w.op('f64.add', number(absolute), w.op('f64.mul', w.get(rtol), larger)));
        w.if(w.op('f64.ne', number(error), w.number(0)), () => {
          w.set(share, w.op('f64.div', number(error), w.get(share)));
          w.set(sum, w.op('f64.add', w.get(sum), w.op('f64.mul', w.get(share), w.get(share))));
        });
      }),
    8,
  );
  w.op('f64.sqrt', w.op('f64.div', w.get(sum), w.get(count)))();
}
