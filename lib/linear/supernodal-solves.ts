/**
 * The solves of supernodal-kernels.ts: supernode by supernode, forwards with its rows as dot products,
 * backwards with them as multiples added to its unknowns. Each number of the factor is read once in
 * either sweep; with four right-hand sides at once it serves all of them.
 */
import type {Local} from '../wasm/assembler.js';
import type {Push, Writer} from '../wasm/writer.js';

/** What a sweep knows of the supernode it is at. */
interface Node {
  /** Address of the first unknown of its own. */
  readonly own: Local;
  readonly width: Local;
  /** Bytes of a row of the block. */
  readonly stride: Local;
  readonly block: Local;
  /** Address of the numbers of the rows below, and how many. */
  readonly list: Local;
  readonly below: Local;
  readonly x: Local;
}

const plus = (w: Writer, pointer: Local, bytes: Push): void => w.set(pointer, w.plus(w.get(pointer), bytes));
const times = (w: Writer, one: Local, other: Push): Push => w.op('i32.mul', w.get(one), other);
const subtract = (w: Writer, from: Push, a: Push, b: Push): Push => w.op('f64x2.sub', from, w.op('f64x2.mul', a, b));

/** Runs over all supernodes; `shift` is the logarithm of the bytes an unknown has. */
function sweep(w: Writer, shift: number, backwards: boolean, visit: (node: Node) => void): void {
  const [count, first, pointers, rows, starts, x] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const [own, width, stride, block, list, below, s] = [0, 1, 2, 3, 4, 5, 6].map(() => w.local('i32'));
  const node = {own, width, stride, block, list, below, x};
  const four = (k: Push): Push => w.op('i32.shl', k, w.int(2));
  const at = (table: Local, next: 0 | 1): Push => w.loadInt(w.plus(w.get(table), four(w.get(s))), 4 * next);
  const step = (): void => {
    w.set(width, w.op('i32.sub', at(first, 1), at(first, 0)));
    w.set(own, w.plus(w.get(x), w.op('i32.shl', at(first, 0), w.int(shift))));
    w.set(stride, w.op('i32.shl', w.get(width), w.int(3)));
    w.set(block, at(starts, 0));
    w.set(list, w.plus(w.get(rows), four(w.plus(at(pointers, 0), w.get(width)))));
    w.set(below, w.op('i32.sub', w.op('i32.sub', at(pointers, 1), at(pointers, 0)), w.get(width)));
    visit(node);
  };
  if (!backwards) {
    w.for(s, w.int(0), w.get(count), step);
    return;
  }
  w.set(s, w.op('i32.sub', w.get(count), w.int(1)));
  w.while(w.op('i32.ge_s', w.get(s), w.int(0)), () => {
    step();
    plus(w, s, w.int(-1));
  });
}

const loadOne =
  (w: Writer, address: Local, offset = 0): Push =>
  () => {
    w.get(address)();
    w.body.memory('v128.load64_zero', offset);
  };
const loadTwice =
  (w: Writer, address: Local, offset = 0): Push =>
  () => {
    w.get(address)();
    w.body.memory('v128.load64_splat', offset);
  };

/** Address of the unknown with the number at `list` + 4 i. */
function unknown(w: Writer, {list, x}: Node, i: number, shift: number): Push {
  return w.plus(w.get(x), w.op('i32.shl', w.loadInt(w.get(list), 4 * i), w.int(shift)));
}

/** code(4) while four rows are left, then code(1). Moves the list on. */
function byRows(w: Writer, {list, below}: Node, code: (rows: number) => void): void {
  for (const rows of [4, 1]) {
    w.while(w.op('i32.ge_s', w.get(below), w.int(rows)), () => {
      code(rows);
      plus(w, list, w.int(4 * rows));
      plus(w, below, w.int(-rows));
    });
  }
}

export function solveForward(w: Writer): void {
  const pointers = [0, 1, 2, 3].map(() => w.local('i32'));
  const sums = [0, 1, 2, 3].map(() => w.local('v128'));
  const [factor, q, end, r, to] = [w.local('v128'), w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
  sweep(w, 3, false, node => {
    const {own, width, stride, block} = node;
    /** sums_i ← Σ_{t<length} pointer_i[t] own[t] */
    const dots = (count: number, length: Local): void => {
      for (const sum of sums.slice(0, count)) w.set(sum, w.pair(0));
      w.set(q, w.get(own));
      w.set(end, w.element(w.get(own), w.op('i32.and', w.get(length), w.int(~1))));
      const term = (load: (address: Local) => Push): void => {
        w.set(factor, load(q));
        sums
          .slice(0, count)
          .forEach((sum, i) =>
            w.set(sum, w.op('f64x2.add', w.get(sum), w.op('f64x2.mul', load(pointers[i]), w.get(factor)))),
          );
      };
      w.while(w.op('i32.lt_s', w.get(q), w.get(end)), () => {
        term(address => w.loadPair(w.get(address)));
        for (const pointer of [q, ...pointers.slice(0, count)]) plus(w, pointer, w.int(16));
      });
      w.if(w.op('i32.and', w.get(length), w.int(1)), () => term(address => loadOne(w, address)));
    };
    const take = (address: Push, sum: Local): void => {
      w.set(to, address);
      w.store(
        w.get(to),
        w.op('f64.sub', w.load(w.get(to)), w.op('f64.add', w.lane(w.get(sum), 0), w.lane(w.get(sum), 1))),
      );
    };
    w.for(r, w.int(1), w.get(width), () => {
      plus(w, block, w.get(stride));
      w.set(pointers[0], w.get(block));
      dots(1, r);
      take(w.element(w.get(own), w.get(r)), sums[0]);
    });
    plus(w, block, w.get(stride));
    byRows(w, node, rows => {
      pointers
        .slice(0, rows)
        .forEach((pointer, i) =>
          w.set(pointer, i === 0 ? w.get(block) : w.plus(w.get(pointers[i - 1]), w.get(stride))),
        );
      dots(rows, width);
      sums.slice(0, rows).forEach((sum, i) => take(unknown(w, node, i, 3), sum));
      plus(w, block, times(w, stride, w.int(rows)));
    });
  });
}

export function solveBackward(w: Writer): void {
  const pointers = [0, 1, 2, 3].map(() => w.local('i32'));
  const values = [0, 1, 2, 3].map(() => w.local('v128'));
  const [q, end, r, last] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
  sweep(w, 3, true, node => {
    const {own, width, stride, block} = node;
    /** own[t] −= Σ_i pointer_i[t] value_i for t < length */
    const add = (count: number, length: Local): void => {
      w.set(q, w.get(own));
      w.set(end, w.element(w.get(own), w.op('i32.and', w.get(length), w.int(~1))));
      const left = (load: (address: Local) => Push): Push =>
        values.slice(0, count).reduce((rest, value, i) => subtract(w, rest, load(pointers[i]), w.get(value)), load(q));
      w.while(w.op('i32.lt_s', w.get(q), w.get(end)), () => {
        w.storePair(
          w.get(q),
          left(address => w.loadPair(w.get(address))),
        );
        for (const pointer of [q, ...pointers.slice(0, count)]) plus(w, pointer, w.int(16));
      });
      w.if(w.op('i32.and', w.get(length), w.int(1)), () =>
        w.store(
          w.get(q),
          w.lane(
            left(address => loadOne(w, address)),
            0,
          ),
        ),
      );
    };
    // The reciprocal pivots lie a row and a number apart.
    w.set(q, w.get(own));
    w.set(r, w.get(block));
    w.set(end, w.element(w.get(own), w.get(width)));
    w.while(w.op('i32.lt_s', w.get(q), w.get(end)), () => {
      w.store(w.get(q), w.op('f64.mul', w.load(w.get(q)), w.load(w.get(r))));
      plus(w, q, w.int(8));
      plus(w, r, w.plus(w.get(stride), w.int(8)));
    });
    plus(w, block, times(w, stride, w.get(width)));
    w.set(last, w.op('i32.sub', w.get(block), w.get(stride)));
    byRows(w, node, rows => {
      for (let i = 0; i < rows; i++) {
        w.set(pointers[i], i === 0 ? w.get(block) : w.plus(w.get(pointers[i - 1]), w.get(stride)));
        w.set(values[i], w.splat(w.load(unknown(w, node, i, 3))));
      }
      add(rows, width);
      plus(w, block, times(w, stride, w.int(rows)));
    });
    w.set(r, w.op('i32.sub', w.get(width), w.int(1)));
    w.while(w.op('i32.gt_s', w.get(r), w.int(0)), () => {
      w.set(pointers[0], w.get(last));
      w.set(values[0], w.splat(w.load(w.element(w.get(own), w.get(r)))));
      add(1, r);
      plus(w, r, w.int(-1));
      w.set(last, w.op('i32.sub', w.get(last), w.get(stride)));
    });
  });
}

/** Bytes of an unknown with four right-hand sides, as a logarithm, and its two vectors. */
const fourShift = 5;
const halves = [0, 16] as const;

export function solveForwardFour(w: Writer): void {
  const sums = halves.map(() => w.local('v128'));
  const [q, p, end, r, to] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
  sweep(w, fourShift, false, node => {
    const {own, width, stride, block} = node;
    /** The unknown at `address` loses Σ_{t<length} block[t] own[t]. */
    const take = (address: Push, length: Local): void => {
      w.set(to, address);
      halves.forEach((half, i) => w.set(sums[i], w.loadPair(w.get(to), half)));
      w.set(q, w.get(own));
      w.set(p, w.get(block));
      w.set(end, w.element(w.get(block), w.get(length)));
      w.while(w.op('i32.lt_s', w.get(p), w.get(end)), () => {
        halves.forEach((half, i) =>
          w.set(sums[i], subtract(w, w.get(sums[i]), loadTwice(w, p), w.loadPair(w.get(q), half))),
        );
        plus(w, p, w.int(8));
        plus(w, q, w.int(32));
      });
      halves.forEach((half, i) => w.storePair(w.get(to), w.get(sums[i]), half));
      plus(w, block, w.get(stride));
    };
    w.for(r, w.int(0), w.get(width), () => take(w.plus(w.get(own), w.op('i32.shl', w.get(r), w.int(fourShift))), r));
    byRows(w, node, rows => {
      for (let i = 0; i < rows; i++) take(unknown(w, node, i, fourShift), width);
    });
  });
}

export function solveBackwardFour(w: Writer): void {
  const values = halves.map(() => w.local('v128'));
  const [q, p, end, r, from, last] = [
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
  ];
  sweep(w, fourShift, true, node => {
    const {own, width, stride, block} = node;
    /** own[t] −= row[t] times the unknown at `address`, for t < length. */
    const add = (row: Local, address: Push, length: Local): void => {
      w.set(from, address);
      halves.forEach((half, i) => w.set(values[i], w.loadPair(w.get(from), half)));
      w.set(q, w.get(own));
      w.set(p, w.get(row));
      w.set(end, w.element(w.get(row), w.get(length)));
      w.while(w.op('i32.lt_s', w.get(p), w.get(end)), () => {
        halves.forEach((half, i) =>
          w.storePair(w.get(q), subtract(w, w.loadPair(w.get(q), half), loadTwice(w, p), w.get(values[i])), half),
        );
        plus(w, p, w.int(8));
        plus(w, q, w.int(32));
      });
    };
    w.set(q, w.get(own));
    w.set(p, w.get(block));
    w.set(end, w.plus(w.get(own), w.op('i32.shl', w.get(width), w.int(fourShift))));
    w.while(w.op('i32.lt_s', w.get(q), w.get(end)), () => {
      for (const half of halves)
        w.storePair(w.get(q), w.op('f64x2.mul', w.loadPair(w.get(q), half), loadTwice(w, p)), half);
      plus(w, q, w.int(32));
      plus(w, p, w.plus(w.get(stride), w.int(8)));
    });
    plus(w, block, times(w, stride, w.get(width)));
    w.set(last, w.op('i32.sub', w.get(block), w.get(stride)));
    byRows(w, node, rows => {
      for (let i = 0; i < rows; i++) {
        add(block, unknown(w, node, i, fourShift), width);
        plus(w, block, w.get(stride));
      }
    });
    w.set(r, w.op('i32.sub', w.get(width), w.int(1)));
    w.while(w.op('i32.gt_s', w.get(r), w.int(0)), () => {
      add(last, w.plus(w.get(own), w.op('i32.shl', w.get(r), w.int(fourShift))), r);
      plus(w, r, w.int(-1));
      w.set(last, w.op('i32.sub', w.get(last), w.get(stride)));
    });
  });
}
