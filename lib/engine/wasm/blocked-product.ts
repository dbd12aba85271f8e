/**
 * Large products of matrices, blocked for the caches after Goto & van de Geijn (Anatomy of high-performance matrix
 * multiplication, ACM TOMS 34, 2008): blocks of both operands are packed into panels as they are read, and a
 * kernel keeps a tile of the result in registers while the inner index runs. Every element is summed one term
 * after another from its first to its last: a tile that was begun by an earlier block goes on where it stands.
 */
import type {Local} from '../../wasm/assembler.js';
import type {Defined, ModuleBuilder, ValueType} from '../../wasm/assembler.js';
import type {Push} from '../../wasm/writer.js';
import {Writer} from '../../wasm/writer.js';
import type {Format} from './format.js';
import {multiplyAdd} from './format.js';

/**
 * Rows and columns of a tile: eight sums, two vectors of the right operand and one of the left are eleven of the
 * sixteen vector registers of x64.
 */
const tileRows = 4;
const tileVectors = 2;
/** Inner indices of a block: a panel of the right operand, 16 KiB, stays in the first-level cache. */
const innerBlock = 256;
/** Rows of the left operand's block, 128 KiB in double precision, for the second level. */
const rowBlock = 64;
/** Columns of the right operand's, 512 KiB: read once for all rows of a block. Twice as many were no faster. */
export const columnBlock = 256;

/** Bytes in which the blocks are packed, and the tile at an edge. */
export function workspaceBytes({bytes, lanes}: Format): number {
  return bytes * (innerBlock * (rowBlock + columnBlock) + tileRows * tileVectors * lanes);
}

const integers = (count: number): ValueType[] => new Array<ValueType>(count).fill('i32');

/** What a product is called with: addresses, strides, sizes and the address of `workspaceBytes`. */
export const productParameters: readonly ValueType[] = new Array<ValueType>(12).fill('i32');

/**
 * Defines product(a, aRow, aColumn, b, bRow, bColumn, c, cRow, m, k, n, workspace): addresses, strides in bytes (columns of
 * the result are contiguous) and sizes, all at least 1.
 */
export function defineBlockedProduct(builder: ModuleBuilder, format: Format): Defined {
  const pack = (width: number): number => {
    const {index, body} = builder.define({parameters: integers(6), results: []});
    writePack(new Writer(body), format, width);
    return index;
  };
  const [packRows, packColumns] = [pack(tileRows), pack(tileVectors * format.lanes)];
  const kernel = builder.define({parameters: integers(6), results: []});
  writeKernel(new Writer(kernel.body), format);
  const copy = builder.define({parameters: integers(6), results: []});
  writeCopy(new Writer(copy.body), format);
  const product = builder.define({parameters: productParameters, results: []});
  new Blocks(new Writer(product.body), format, {
    packRows,
    packColumns,
    kernel: kernel.index,
    copy: copy.index,
  }).write();
  return product;
}

/**
 * pack(from, across, along, count, length, to): panels of `width` rows (or columns) that are `across` bytes apart,
 * index by index along them; the last panel is filled up with zeros.
 */
function writePack(w: Writer, {load, store, bytes}: Format, width: number): void {
  const {body} = w;
  const [from, across, along, count, length, to] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const [at, one, left] = [w.local('i32'), w.local('i32'), w.local('i32')];
  w.while(w.op('i32.gt_s', w.get(count), w.int(0)), () => {
    w.set(one, w.get(from));
    w.set(left, w.get(length));
    const panel = (number: (i: number) => void): void =>
      w.while(w.op('i32.gt_s', w.get(left), w.int(0)), () => {
        w.set(at, w.get(one));
        for (let i = 0; i < width; i++) {
          body.get(to);
          number(i);
          body.memory(store, bytes * i);
          if (i + 1 < width) w.set(at, w.plus(w.get(at), w.get(across)));
        }
        w.set(to, w.plus(w.get(to), w.int(bytes * width)));
        w.set(one, w.plus(w.get(one), w.get(along)));
        w.set(left, w.op('i32.sub', w.get(left), w.int(1)));
      });
    const number = (): void => void body.get(at).memory(load, 0);
    // What lies side by side is copied in vectors.
    const vectors = (): void =>
      w.while(w.op('i32.gt_s', w.get(left), w.int(0)), () => {
        for (let offset = 0; offset < bytes * width; offset += 16)
          w.storePair(w.get(to), w.loadPair(w.get(one), offset), offset);
        w.set(to, w.plus(w.get(to), w.int(bytes * width)));
        w.set(one, w.plus(w.get(one), w.get(along)));
        w.set(left, w.op('i32.sub', w.get(left), w.int(1)));
      });
    w.if(
      w.op('i32.ge_s', w.get(count), w.int(width)),
      () => w.if(w.op('i32.eq', w.get(across), w.int(bytes)), vectors, () => panel(number)),
      () =>
        panel(i => {
          const value = body.local(load === 'f64.load' ? 'f64' : 'f32');
          body[value.type === 'f64' ? 'f64' : 'f32'](0).set(value);
          w.if(w.op('i32.gt_s', w.get(count), w.int(i)), () => {
            number();
            body.set(value);
          });
          body.get(value);
          body.release(value);
        }),
    );
    w.set(from, w.plus(w.get(from), w.op('i32.mul', w.get(across), w.int(width))));
    w.set(count, w.op('i32.sub', w.get(count), w.int(width)));
  });
}

/** kernel(a, b, c, row, k, goesOn): a tile from one panel of each operand, begun anew or continued. */
function writeKernel(w: Writer, format: Format): void {
  const {body} = w;
  const {bytes, lanes} = format;
  const [a, b, c, row, k, goesOn] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const sums = Array.from({length: tileRows}, () => Array.from({length: tileVectors}, () => w.local('v128')));
  const right = Array.from({length: tileVectors}, () => w.local('v128'));
  const left = w.local('v128');
  const at = w.local('i32');
  const each = (code: (sum: Local, offset: number) => void): void => {
    w.set(at, w.get(c));
    for (const tile of sums) {
      tile.forEach((sum, s) => code(sum, 16 * s));
      w.set(at, w.plus(w.get(at), w.get(row)));
    }
  };
  w.if(
    w.get(goesOn),
    () => each((sum, offset) => w.set(sum, w.loadPair(w.get(at), offset))),
    () => sums.flat().forEach(sum => w.set(sum, w.pair(0))),
  );
  // The condition always holds. V8 puts loads where the effects of what follows the loop allow it: with two ways that meet behind it,
  // each is next to its products, and without, all come first (37.5 and 34 GFLOP/s in single precision, 18.8 and 17 in double).
  // One index at a time: with two or four in a row all loads go ahead until the registers do not suffice.
  w.if(w.op('i32.gt_s', w.get(k), w.int(0)), () =>
    body.loop(() => {
      right.forEach((local, s) => w.set(local, w.loadPair(w.get(b), 16 * s)));
      sums.forEach((tile, r) => {
        body
          .get(a)
          .memory(format.loadSplat, bytes * r)
          .set(left);
        tile.forEach((sum, s) => multiplyAdd(body, format, sum, left, right[s]));
      });
      w.set(a, w.plus(w.get(a), w.int(bytes * tileRows)));
      w.set(b, w.plus(w.get(b), w.int(bytes * lanes * tileVectors)));
      w.set(k, w.op('i32.sub', w.get(k), w.int(1)));
      body.get(k).branchIf();
    }),
  );
  each((sum, offset) => w.storePair(w.get(at), w.get(sum), offset));
}

/** copy(from, fromRow, to, toRow, rows, columns) */
function writeCopy(w: Writer, {load, store, bytes}: Format): void {
  const [from, fromRow, to, toRow, rows, columns] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const [column, offset] = [w.local('i32'), w.local('i32')];
  w.while(w.op('i32.gt_s', w.get(rows), w.int(0)), () => {
    w.for(column, w.int(0), w.get(columns), () => {
      w.set(offset, w.op('i32.mul', w.get(column), w.int(bytes)));
      w.plus(w.get(to), w.get(offset))();
      w.plus(w.get(from), w.get(offset))();
      w.body.memory(load, 0).memory(store, 0);
    });
    w.set(from, w.plus(w.get(from), w.get(fromRow)));
    w.set(to, w.plus(w.get(to), w.get(toRow)));
    w.set(rows, w.op('i32.sub', w.get(rows), w.int(1)));
  });
}

/** The loops over blocks and tiles. */
class Blocks {
  private readonly rowPanels: Push;
  private readonly columnPanels: Push;
  private readonly edge: Push;
  private readonly tileColumns: number;

  constructor(
    private readonly w: Writer,
    private readonly format: Format,
    private readonly functions: {
      readonly packRows: number;
      readonly packColumns: number;
      readonly kernel: number;
      readonly copy: number;
    },
  ) {
    const {bytes, lanes} = format;
    this.tileColumns = tileVectors * lanes;
    const workspace = w.get(w.parameter(productParameters.length - 1));
    this.rowPanels = workspace;
    this.columnPanels = w.plus(workspace, w.int(bytes * innerBlock * rowBlock));
    this.edge = w.plus(workspace, w.int(bytes * innerBlock * (rowBlock + columnBlock)));
  }

  write(): void {
    const {w, format, functions} = this;
    const [a, aRow, aColumn, b, bRow, bColumn, c, cRow, m, k, n] = Array.from({length: 11}, (_, i) => w.parameter(i));
    const [width, depth, height] = [w.local('i32'), w.local('i32'), w.local('i32')];
    const [aBlock, aRows, bBlock, cRows] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
    const [kLeft, mLeft, goesOn] = [w.local('i32'), w.local('i32'), w.local('i32')];
    this.blocks(n, width, columnBlock, () => {
      w.set(kLeft, w.get(k));
      w.set(aBlock, w.get(a));
      w.set(bBlock, w.get(b));
      w.set(goesOn, w.int(0));
      this.blocks(kLeft, depth, innerBlock, () => {
        this.call(functions.packColumns, bBlock, bColumn, bRow, width, depth, this.columnPanels);
        w.set(mLeft, w.get(m));
        w.set(aRows, w.get(aBlock));
        w.set(cRows, w.get(c));
        this.blocks(mLeft, height, rowBlock, () => {
          this.call(functions.packRows, aRows, aRow, aColumn, height, depth, this.rowPanels);
          this.tiles(cRows, cRow, height, width, depth, goesOn);
          this.advance(aRows, aRow, rowBlock);
          this.advance(cRows, cRow, rowBlock);
        });
        w.set(goesOn, w.int(1));
        this.advance(aBlock, aColumn, innerBlock);
        this.advance(bBlock, bRow, innerBlock);
      });
      this.advance(b, bColumn, columnBlock);
      w.set(c, w.plus(w.get(c), w.int(format.bytes * columnBlock)));
    });
  }

  /** Runs code while something is left, with the size of a block. */
  private blocks(left: Local, size: Local, most: number, code: () => void): void {
    const {w} = this;
    w.while(w.op('i32.gt_s', w.get(left), w.int(0)), () => {
      w.set(size, w.choose(w.op('i32.lt_s', w.get(left), w.int(most)), w.get(left), w.int(most)));
      code();
      w.set(left, w.op('i32.sub', w.get(left), w.int(most)));
    });
  }

  private advance(pointer: Local, stride: Local, steps: number): void {
    const {w} = this;
    w.set(pointer, w.plus(w.get(pointer), w.op('i32.mul', w.get(stride), w.int(steps))));
  }

  private call(index: number, ...parameters: readonly (Local | Push)[]): void {
    for (const parameter of parameters) {
      if (typeof parameter === 'function') parameter();
      else this.w.body.get(parameter);
    }
    this.w.body.call(index);
  }

  /** The tiles of one block of the result; those over its edges are computed aside. */
  private tiles(c: Local, cRow: Local, height: Local, width: Local, depth: Local, goesOn: Local): void {
    const {w, format, functions, tileColumns} = this;
    const [columns, rows, right, left] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
    const [top, tile] = [w.keep('i32', w.get(c)), w.local('i32')];
    const edgeRow = w.int(format.bytes * tileColumns);
    w.set(right, this.columnPanels);
    w.set(columns, w.get(width));
    w.while(w.op('i32.gt_s', w.get(columns), w.int(0)), () => {
      w.set(left, this.rowPanels);
      w.set(rows, w.get(height));
      w.set(tile, w.get(top));
      w.while(w.op('i32.gt_s', w.get(rows), w.int(0)), () => {
        const whole = w.op(
          'i32.and',
          w.op('i32.ge_s', w.get(rows), w.int(tileRows)),
          w.op('i32.ge_s', w.get(columns), w.int(tileColumns)),
        );
        w.if(
          whole,
          () => this.call(functions.kernel, left, right, tile, cRow, depth, goesOn),
          () => {
            const atMost = (local: Local, most: number): Push =>
              w.choose(w.op('i32.lt_s', w.get(local), w.int(most)), w.get(local), w.int(most));
            const size = [atMost(rows, tileRows), atMost(columns, tileColumns)];
            w.if(w.get(goesOn), () => this.call(functions.copy, tile, cRow, this.edge, edgeRow, ...size));
            this.call(functions.kernel, left, right, this.edge, edgeRow, depth, goesOn);
            this.call(functions.copy, this.edge, edgeRow, tile, cRow, ...size);
          },
        );
        this.advance(tile, cRow, tileRows);
        this.advance(left, depth, format.bytes * tileRows);
        w.set(rows, w.op('i32.sub', w.get(rows), w.int(tileRows)));
      });
      w.set(top, w.plus(w.get(top), edgeRow));
      this.advance(right, depth, format.bytes * tileColumns);
      w.set(columns, w.op('i32.sub', w.get(columns), w.int(tileColumns)));
    });
  }
}
