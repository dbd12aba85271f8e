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

/** Parameters of a product: addresses, strides, sizes and the address of `workspaceBytes`. */
export const productParameters: readonly ValueType[] = new Array<ValueType>(12).fill('i32');

/**
 * Defines product(a, aRow, aColumn, b, bRow, bColumn, c, cRow, m, k, n, workspace): addresses, strides in bytes
 * (columns of the result are contiguous) and sizes, all at least 1.
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
function writePack(w: Writer, {load, store, bytes, number: type}: Format, width: number): void {
  const {body} = w;
  const [from, across, along, count, length, to] = w.parameters();
  const [at, one, left] = w.locals('i32', 3);
  w.while(w.op('i32.gt_s', count, 0), () => {
    w.set(one, from);
    w.set(left, length);
    const panel = (number: (i: number) => void): void =>
      w.while(w.op('i32.gt_s', left, 0), () => {
        w.set(at, one);
        for (let i = 0; i < width; i++) {
          body.get(to);
          number(i);
          body.memory(store, bytes * i);
          if (i + 1 < width) w.move(at, across);
        }
        w.move(to, bytes * width);
        w.move(one, along);
        w.move(left, -1);
      });
    const number = (): void => void body.get(at).memory(load, 0);
    // Contiguous numbers are copied in vectors.
    const vectors = (): void =>
      w.while(w.op('i32.gt_s', left, 0), () => {
        for (let offset = 0; offset < bytes * width; offset += 16) w.storePair(to, w.loadPair(one, offset), offset);
        w.move(to, bytes * width);
        w.move(one, along);
        w.move(left, -1);
      });
    w.if(
      w.op('i32.ge_s', count, width),
      () => w.if(w.op('i32.eq', across, bytes), vectors, () => panel(number)),
      () =>
        panel(i => {
          const value = body.local(type);
          body[type](0).set(value);
          w.if(w.op('i32.gt_s', count, i), () => {
            number();
            body.set(value);
          });
          body.get(value);
          body.release(value);
        }),
    );
    w.move(from, w.op('i32.mul', across, width));
    w.set(count, w.op('i32.sub', count, width));
  });
}

/** kernel(a, b, c, row, k, goesOn): a tile from one panel of each operand, begun anew or continued. */
function writeKernel(w: Writer, format: Format): void {
  const {body} = w;
  const {bytes, lanes} = format;
  const [a, b, c, row, k, goesOn] = w.parameters();
  const sums = Array.from({length: tileRows}, () => w.locals('v128', tileVectors));
  const right = w.locals('v128', tileVectors);
  const left = w.local('v128');
  const at = w.local('i32');
  const each = (code: (sum: Local, offset: number) => void): void => {
    w.set(at, c);
    for (const tile of sums) {
      tile.forEach((sum, s) => code(sum, 16 * s));
      w.move(at, row);
    }
  };
  w.if(
    goesOn,
    () => each((sum, offset) => w.set(sum, w.loadPair(at, offset))),
    () => sums.flat().forEach(sum => w.set(sum, 0)),
  );
  // The condition always holds. V8 puts loads where the effects of what follows the loop allow it: with two ways that
  // meet behind it, each is next to its products, and without, all come first (37.5 and 34 GFLOP/s in single precision,
  // 18.8 and 17 in double). One index at a time: with two or four in a row all loads go ahead until the registers do
  // not suffice.
  w.if(w.op('i32.gt_s', k, 0), () =>
    body.loop(() => {
      right.forEach((local, s) => w.set(local, w.loadPair(b, 16 * s)));
      sums.forEach((tile, r) => {
        body
          .get(a)
          .memory(format.loadSplat, bytes * r)
          .set(left);
        tile.forEach((sum, s) => multiplyAdd(body, format, sum, left, right[s]));
      });
      w.move(a, bytes * tileRows);
      w.move(b, bytes * lanes * tileVectors);
      w.move(k, -1);
      body.get(k).branchIf();
    }),
  );
  each((sum, offset) => w.storePair(at, sum, offset));
}

/** copy(from, fromRow, to, toRow, rows, columns) */
function writeCopy(w: Writer, {load, store, bytes}: Format): void {
  const [from, fromRow, to, toRow, rows, columns] = w.parameters();
  const [column, offset] = w.locals('i32', 2);
  w.while(w.op('i32.gt_s', rows, 0), () => {
    w.for(column, 0, columns, () => {
      w.set(offset, w.op('i32.mul', column, bytes));
      w.plus(to, offset)();
      w.plus(from, offset)();
      w.body.memory(load, 0).memory(store, 0);
    });
    w.move(from, fromRow);
    w.move(to, toRow);
    w.move(rows, -1);
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
    const workspace = w.parameter(productParameters.length - 1);
    this.rowPanels = w.get(workspace);
    this.columnPanels = w.plus(workspace, bytes * innerBlock * rowBlock);
    this.edge = w.plus(workspace, bytes * innerBlock * (rowBlock + columnBlock));
  }

  write(): void {
    const {w, format, functions} = this;
    const [a, aRow, aColumn, b, bRow, bColumn, c, cRow, m, k, n] = w.parameters();
    const [width, depth, height] = w.locals('i32', 3);
    const [aBlock, aRows, bBlock, cRows] = w.locals('i32', 4);
    const [kLeft, mLeft, goesOn] = w.locals('i32', 3);
    this.blocks(n, width, columnBlock, () => {
      w.set(kLeft, k);
      w.set(aBlock, a);
      w.set(bBlock, b);
      w.set(goesOn, 0);
      this.blocks(kLeft, depth, innerBlock, () => {
        w.invoke(functions.packColumns, bBlock, bColumn, bRow, width, depth, this.columnPanels);
        w.set(mLeft, m);
        w.set(aRows, aBlock);
        w.set(cRows, c);
        this.blocks(mLeft, height, rowBlock, () => {
          w.invoke(functions.packRows, aRows, aRow, aColumn, height, depth, this.rowPanels);
          this.tiles(cRows, cRow, height, width, depth, goesOn);
          this.advance(aRows, aRow, rowBlock);
          this.advance(cRows, cRow, rowBlock);
        });
        w.set(goesOn, 1);
        this.advance(aBlock, aColumn, innerBlock);
        this.advance(bBlock, bRow, innerBlock);
      });
      this.advance(b, bColumn, columnBlock);
      w.move(c, format.bytes * columnBlock);
    });
  }

  /** Runs code while something is left, with the size of a block. */
  private blocks(left: Local, size: Local, most: number, code: () => void): void {
    const {w} = this;
    w.while(w.op('i32.gt_s', left, 0), () => {
      w.set(size, w.choose(w.op('i32.lt_s', left, most), left, w.int(most)));
      code();
      w.set(left, w.op('i32.sub', left, most));
    });
  }

  private advance(pointer: Local, stride: Local, steps: number): void {
    const {w} = this;
    w.move(pointer, w.op('i32.mul', stride, steps));
  }

  /** The tiles of one block of the result; those over its edges are computed aside. */
  private tiles(c: Local, cRow: Local, height: Local, width: Local, depth: Local, goesOn: Local): void {
    const {w, format, functions, tileColumns} = this;
    const [columns, rows, right, left] = w.locals('i32', 4);
    const [top, tile] = [w.keep('i32', c), w.local('i32')];
    const edgeRow = format.bytes * tileColumns;
    w.set(right, this.columnPanels);
    w.set(columns, width);
    w.while(w.op('i32.gt_s', columns, 0), () => {
      w.set(left, this.rowPanels);
      w.set(rows, height);
      w.set(tile, top);
      w.while(w.op('i32.gt_s', rows, 0), () => {
        const whole = w.op('i32.and', w.op('i32.ge_s', rows, tileRows), w.op('i32.ge_s', columns, tileColumns));
        w.if(
          whole,
          () => w.invoke(functions.kernel, left, right, tile, cRow, depth, goesOn),
          () => {
            const atMost = (local: Local, most: number): Push =>
              w.choose(w.op('i32.lt_s', local, most), local, w.int(most));
            const size = [atMost(rows, tileRows), atMost(columns, tileColumns)];
            w.if(goesOn, () => w.invoke(functions.copy, tile, cRow, this.edge, edgeRow, ...size));
            w.invoke(functions.kernel, left, right, this.edge, edgeRow, depth, goesOn);
            w.invoke(functions.copy, this.edge, edgeRow, tile, cRow, ...size);
          },
        );
        this.advance(tile, cRow, tileRows);
        this.advance(left, depth, format.bytes * tileRows);
        w.set(rows, w.op('i32.sub', rows, tileRows));
      });
      w.move(top, edgeRow);
      this.advance(right, depth, format.bytes * tileColumns);
      w.set(columns, w.op('i32.sub', columns, tileColumns));
    });
  }
}
