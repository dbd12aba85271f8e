/**
 * What an iteration does with whole vectors: norms, comparisons with a unit, corrections. Addresses
 * are bytes, lengths count doubles. Sums add even and odd elements apart, then both.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';

/** Address behind the last of n doubles. */
function endOf(w: Writer, start: Local, n: Local): Local {
  return w.keep('i32', w.element(w.get(start), w.get(n)));
}

/** Reduces pairs of values by one instruction; pairs are taken in four chains, as an addition waits for the one before. */
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
    this.broken = w.keep('v128', w.pair(0));
    this.value = w.local('v128');
  }

  enter(chain: number, value: Push): void {
    const {w, broken} = this;
    const most = this.chains[chain];
    w.set(this.value, value);
    w.set(most, w.op('f64x2.pmax', w.get(most), w.get(this.value)));
    w.set(broken, w.op('v128.or', w.get(broken), w.op('f64x2.ne', w.get(this.value), w.get(this.value))));
  }

  /** `largest`, or NaN where one was met. */
  orNaN(largest: Push): Push {
    const {w} = this;
    return w.choose(w.op('v128.any_true', w.get(this.broken)), w.number(NaN), largest);
  }
}

/**
 * Σ or max over elements: `value` gives the term at a byte offset from the pointers, as a pair or a number; for max none is negative.
 */
function reduce(
  w: Writer,
  pointers: readonly Local[],
  n: Local,
  join: 'add' | 'max',
  value: (offset: number, paired: boolean) => Push,
): Local {
  const end = endOf(w, pointers[0], n);
  const sums = Array.from({length: chains}, () => w.keep('v128', w.pair(0)));
  const total = w.keep('f64', w.number(0));
  const advance = (bytes: number): void => {
    for (const pointer of pointers) w.set(pointer, w.plus(w.get(pointer), w.int(bytes)));
  };
  const maximum = join === 'max' ? new LargestPair(w, sums) : undefined;
  const paired = join === 'add' ? 'f64x2.add' : 'f64x2.pmax';
  const enter = (chain: number): void => {
    const sum = sums[chain];
    const term = value(16 * chain, true);
    if (maximum === undefined) w.set(sum, w.op('f64x2.add', w.get(sum), term));
    else maximum.enter(chain, term);
  };
  const single = join === 'add' ? 'f64.add' : 'f64.max';
  const block = 16 * chains;
  const inBlocks = w.keep('i32', w.op('i32.sub', w.get(end), w.int(block)));
  w.while(w.op('i32.le_s', w.get(pointers[0]), w.get(inBlocks)), () => {
    for (let c = 0; c < chains; c++) enter(c);
    advance(block);
  });
  w.pairs(
    pointers,
    w.get(end),
    () => enter(0),
    () => w.set(total, w.op(single, w.get(total), value(0, false))),
  );
  const [a, b, c, d] = sums.map(sum => w.get(sum));
  w.set(sums[0], w.op(paired, w.op(paired, a, b), w.op(paired, c, d)));
  const whole = w.op(single, w.get(total), w.op(single, w.lane(a, 0), w.lane(a, 1)));
  w.set(total, maximum === undefined ? whole : maximum.orNaN(whole));
  return total;
}

const at = (w: Writer, pointer: Local, offset: number, paired: boolean): Push =>
  paired ? w.loadPair(w.get(pointer), offset) : w.load(w.get(pointer), offset);
const times = (w: Writer, paired: boolean, a: Push, b: Push): Push => w.op(paired ? 'f64x2.mul' : 'f64.mul', a, b);
const size = (w: Writer, paired: boolean, a: Push): Push => w.op(paired ? 'f64x2.abs' : 'f64.abs', a);

/** sumOfSquares(x, n) */
export function sumOfSquares(w: Writer): void {
  const [x, n] = [0, 1].map(i => w.parameter(i));
  w.get(
    reduce(w, [x], n, 'add', (offset, paired) => times(w, paired, at(w, x, offset, paired), at(w, x, offset, paired))),
  )();
}

/** largest(x, n): max |xᵢ|, NaN where one is; finite exactly when all are. */
export function largest(w: Writer): void {
  const [x, n] = [0, 1].map(i => w.parameter(i));
  w.get(reduce(w, [x], n, 'max', (offset, paired) => size(w, paired, at(w, x, offset, paired))))();
}

/** Where |x| is 0 the ratio is 0, whatever the unit. */
function ratio(w: Writer, paired: boolean, x: Push, unit: Push): Push {
  if (paired) {
    const kept = w.local('v128');
    return () => {
      w.set(kept, w.op('f64x2.abs', x));
      w.op('v128.and', w.op('f64x2.div', w.get(kept), unit), w.op('f64x2.ne', w.get(kept), w.pair(0)))();
      w.body.release(kept);
    };
  }
  const kept = w.local('f64');
  return () => {
    w.set(kept, w.op('f64.abs', x));
    w.choose(w.op('f64.ne', w.get(kept), w.number(0)), w.op('f64.div', w.get(kept), unit), w.number(0))();
    w.body.release(kept);
  };
}

/** NaN becomes ∞: a vector with such a number is larger than any. */
function orInfinity(w: Writer, value: Local): void {
  w.choose(w.op('f64.eq', w.get(value), w.get(value)), w.get(value), w.number(Infinity))();
}

/** largestRatio(x, unit, n): max |xᵢ|/unitᵢ; 0/0 is 0; ∞ where a number is not one. */
export function largestRatio(w: Writer): void {
  const [x, unit, n] = [0, 1, 2].map(i => w.parameter(i));
  orInfinity(
    w,
    reduce(w, [x, unit], n, 'max', (offset, paired) =>
      ratio(w, paired, at(w, x, offset, paired), at(w, unit, offset, paired)),
    ),
  );
}

/** weigh(weights, z, base, x, n, absolute, relative): weightsᵢ = absolute + relative·max(|zᵢ|, |baseᵢ|) → max |xᵢ|/weightsᵢ, as largestRatio. */
export function weigh(w: Writer): void {
  const [weights, z, base, x, n, absolute, relative] = [0, 1, 2, 3, 4, 5, 6].map(i => w.parameter(i));
  const end = endOf(w, weights, n);
  const [a, r] = [w.keep('v128', w.splat(w.get(absolute))), w.keep('v128', w.splat(w.get(relative)))];
  const [pair, single, worst, most] = [
    w.local('v128'),
    w.local('f64'),
    w.keep('v128', w.pair(0)),
    w.keep('f64', w.number(0)),
  ];
  const maximum = new LargestPair(w, [worst]);
  w.pairs(
    [weights, z, base, x],
    w.get(end),
    () => {
      // Of a z that is NaN it is NaN; where the base is, so is z, which was reached from there.
      const greater = w.op(
        'f64x2.pmax',
        w.op('f64x2.abs', w.loadPair(w.get(z))),
        w.op('f64x2.abs', w.loadPair(w.get(base))),
      );
      w.set(pair, w.op('f64x2.add', w.get(a), w.op('f64x2.mul', w.get(r), greater)));
      w.storePair(w.get(weights), w.get(pair));
      maximum.enter(0, ratio(w, true, w.loadPair(w.get(x)), w.get(pair)));
    },
    () => {
      const greater = w.op('f64.max', w.op('f64.abs', w.load(w.get(z))), w.op('f64.abs', w.load(w.get(base))));
      w.set(single, w.op('f64.add', w.get(absolute), w.op('f64.mul', w.get(relative), greater)));
      w.store(w.get(weights), w.get(single));
      w.set(most, ratio(w, false, w.load(w.get(x)), w.get(single)));
    },
  );
  w.set(
    most,
    maximum.orNaN(w.op('f64.max', w.get(most), w.op('f64.max', w.lane(w.get(worst), 0), w.lane(w.get(worst), 1)))),
  );
  orInfinity(w, most);
}

/** depart(z, base, delta, n): base = z, then z = z − delta. */
export function depart(w: Writer): void {
  const [z, base, delta, n] = [0, 1, 2, 3].map(i => w.parameter(i));
  const end = endOf(w, z, n);
  const [pair, single] = [w.local('v128'), w.local('f64')];
  w.pairs(
    [z, base, delta],
    w.get(end),
    () => {
      w.set(pair, w.loadPair(w.get(z)));
      w.storePair(w.get(base), w.get(pair));
      w.storePair(w.get(z), w.op('f64x2.sub', w.get(pair), w.loadPair(w.get(delta))));
    },
    () => {
      w.set(single, w.load(w.get(z)));
      w.store(w.get(base), w.get(single));
      w.store(w.get(z), w.op('f64.sub', w.get(single), w.load(w.get(delta))));
    },
  );
}

/** advance(z, base, delta, n, s): z = base − s·delta; base may be z. */
export function advance(w: Writer): void {
  const [z, base, delta, n, s] = [0, 1, 2, 3, 4].map(i => w.parameter(i));
  const end = endOf(w, z, n);
  const length = w.keep('v128', w.splat(w.get(s)));
  w.pairs(
    [z, base, delta],
    w.get(end),
    () => {
      w.storePair(
        w.get(z),
        w.op('f64x2.sub', w.loadPair(w.get(base)), w.op('f64x2.mul', w.get(length), w.loadPair(w.get(delta)))),
      );
    },
    () => {
      w.store(w.get(z), w.op('f64.sub', w.load(w.get(base)), w.op('f64.mul', w.get(s), w.load(w.get(delta)))));
    },
  );
}

/** copy(to, from, n) */
export function copy(w: Writer): void {
  const [to, from, n] = [0, 1, 2].map(i => w.parameter(i));
  const end = endOf(w, to, n);
  w.pairs(
    [to, from],
    w.get(end),
    () => w.storePair(w.get(to), w.loadPair(w.get(from))),
    () => w.store(w.get(to), w.load(w.get(from))),
  );
}
