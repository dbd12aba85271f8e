/** The function of one program: its steps in order, then the outputs that are not yet in their buffers. */
import type {BinaryName, Node, Op} from '../../graph/node.js';
import {isBlocked, sumsApart} from '../../graph/primitives/contraction.js';
import {isOp} from '../../graph/node.js';
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import type {Product} from './contraction-block.js';
import {emitProduct} from './contraction.js';
import type {Format} from './format.js';
import {double} from './format.js';
import type {FunctionName} from './functions.js';
import type {Held} from './held.js';
import type {HostKernel, HostOp} from './host.js';
import {repeat} from './counting.js';
import type {LoopSurroundings, TilePointers} from './loops.js';
import {emitNest, tileSteps} from './loops.js';
import type {LoweredProgram} from './lower.js';
import type {KernelStep, PlainStep, TiledSteps} from './steps.js';
import type {MemoryUse, Placement} from './memory.js';
import type {LoopOperand} from './operands.js';
import {bare} from './view.js';
import type {ValueLocation} from './point.js';
import {emitArgExtreme, emitCumsum, emitSearchSorted} from './scans.js';
import type {KernelOp} from './storage.js';
import type {TileRun} from './tiles.js';
import {loopOfTile, productsOfTile, tileRuns} from './tiles.js';

/** Writes the code of a kernel that works on whole arrays at these addresses. */
type Write<O extends Op> = (
  body: FunctionBody,
  node: Node<O>,
  arrays: {readonly from: readonly number[]; readonly to: number},
) => void;

/** The kernels that are compiled, beside products; others run in JavaScript (host.ts). */
const writers: {readonly [O in Exclude<KernelOp, 'matMul' | HostOp>]: Write<O>} = {
  cumsum: (body, node, {from, to}) => emitCumsum(body, node, from[0], to),
  argMax: (body, node, {from, to}) => emitArgExtreme(body, node, from[0], to),
  argMin: (body, node, {from, to}) => emitArgExtreme(body, node, from[0], to),
  searchSorted: (body, node, {from, to}) => emitSearchSorted(body, node, from[0], from[1], to),
};

/**
 * What a program asks of the module that it is part of: addresses, other functions, and code that all programs share.
 */
export interface ModuleSurroundings {
  readonly memory: MemoryUse;
  bufferAddress(name: string): number;
  sharedAddress(offset: number): number;
  constantAddress(values: Float64Array, format: Format): number;
  tableAddress(table: Int32Array, bytes: 4 | 8): number;
  /** Room for an input in single precision. */
  convertedAddress(node: Node<'input'>): number;
  /** Room that is nobody's between two steps. */
  scratch(bytes: number): number;
  callIndex(fn: FunctionName | BinaryName, format: Format): number;
  /** Index of the import that computes this step in JavaScript. */
  hostIndex(step: KernelStep, operands: HostKernel['operands'], address: number): number;
  /** The function for products of this shape, called with the addresses of their operands and of their results. */
  product(product: Product, format: Format): number;
  /**
   * The function for a large product: this module's own, with room to work in, or one that is given parts to other
   * threads.
   */
  blockedProduct(format: Format, operations: number): {readonly index: number; readonly workspace?: number};
  emitZero(body: FunctionBody, address: number, bytes: number): void;
  emitPoison(body: FunctionBody, address: number, bytes: number): void;
  /** From doubles to single precision and back. */
  emitNarrow(body: FunctionBody, from: number, to: number, count: number): void;
  emitWiden(body: FunctionBody, from: number, to: number, count: number): void;
  emitCopy(body: FunctionBody, from: number, to: number, count: number): void;
}

/**
 * From so many products of numbers on, a product of matrices is a function of its own, which all of its shape share, as
 * those of the stages and layers of a network are: their code is written and compiled once (a neural ODE 2–64–64–2 by
 * tsit5: half the bytes), and optimised code replaces it between two calls, where a loop goes on as it was. A call
 * takes some 2 ns, of these a microsecond.
 */
const fewestProducts = 2048;

export class ProgramEmitter implements LoopSurroundings {
  readonly format: Format;
  private readonly locals = new Map<Node, Local>();
  /** Addresses of inputs in the programs' format. */
  private readonly converted = new Map<Node, number>();

  constructor(
    private readonly linker: ModuleSurroundings,
    private readonly body: FunctionBody,
    private readonly lowered: LoweredProgram,
    private readonly placement: Placement,
    private readonly held: Held,
  ) {
    this.format = held.format;
  }

  emit(): void {
    const {poisoned} = this.linker.memory;
    if (poisoned) this.poisonAll();
    for (const node of this.held.converted) {
      const address = this.linker.convertedAddress(node);
      this.linker.emitNarrow(this.body, this.linker.bufferAddress(node.attributes.name), address, node.size);
      this.converted.set(node, address);
    }
    for (const step of this.lowered.steps) {
      if (step.kind === 'tiles') this.tiles(step);
      else if (step.kind === 'loop')
        emitNest(this.body, step, this.placement.overwriting.has(step), step.precise ? this.precise : this);
      else this.kernel(step);
      if (poisoned)
        for (const node of this.placement.dead.get(step) ?? [])
          this.linker.emitPoison(this.body, this.addressOf(node), this.formatOf(node).bytes * node.size);
    }
    this.outputs();
  }

  /** Everything that the program writes before it reads it. */
  private poisonAll(): void {
    const {inputs, outputs} = this.lowered.graph;
    this.linker.emitPoison(this.body, this.linker.sharedAddress(0), this.placement.size);
    const given = new Set(inputs.map(node => node.attributes.name));
    for (const {name, node} of outputs)
      if (!given.has(name)) this.linker.emitPoison(this.body, this.linker.bufferAddress(name), 8 * node.size);
  }

  // ---------------------------------------------------------------- surroundings of loops

  place(of: Node): ValueLocation {
    if (this.placement.locals.has(of)) {
      let local = this.locals.get(of);
      if (local === undefined) this.locals.set(of, (local = this.body.local('f64')));
      return {local};
    }
    return {address: this.addressOf(of)};
  }

  formatOf(of: Node): Format {
    return isOp(of, 'input') || this.placement.direct.has(of) ? double : this.held.own(of);
  }

  private addressOf(of: Node, format = this.formatOf(of)): number {
    if (isOp(of, 'input')) return this.linker.bufferAddress(of.attributes.name);
    if (isOp(of, 'constant')) return this.linker.constantAddress(of.attributes.values, format);
    const output = this.placement.direct.get(of);
    if (output !== undefined) return this.linker.bufferAddress(output);
    const offset = this.placement.offsets.get(of);
    if (offset === undefined) throw new Error(`${of.op} has no place`);
    return this.linker.sharedAddress(offset);
  }

  table(table: Int32Array, bytes: 4 | 8): number {
    return this.linker.tableAddress(table, bytes);
  }

  call(fn: FunctionName | BinaryName): number {
    return this.linker.callIndex(fn, this.format);
  }

  zero(body: FunctionBody, address: number, of: Node): void {
    this.linker.emitZero(body, address, this.formatOf(of).bytes * of.size);
  }

  /** Surroundings of loops in double precision, whose values are held so, except for single numbers. */
  private get precise(): LoopSurroundings {
    return {
      format: double,
      formatOf: of => (isOp(of, 'constant') ? double : this.formatOf(of)),
      place: of => (isOp(of, 'constant') ? {address: this.addressOf(of, double)} : this.place(of)),
      table: (table, bytes) => this.table(table, bytes),
      call: fn => this.linker.callIndex(fn, double),
      zero: (body, address, of) => this.zero(body, address, of),
    };
  }

  // ---------------------------------------------------------------- tiles

  private tiles(tiles: TiledSteps): void {
    for (const step of tiles.steps)
      if (step.kind === 'loop')
        for (const {node, clear} of step.nest.roots)
          if (clear && !tiles.local.has(node)) this.zero(this.body, this.addressOf(node), node);
    for (const run of tileRuns(tiles)) this.tileRun(tiles, run);
  }

  private tileRun(tiles: TiledSteps, run: TileRun): void {
    const {body} = this;
    const made = new Map<number, Local>();
    const pointers: TilePointers = {
      pointer(bytes) {
        let local = made.get(bytes);
        if (local === undefined) made.set(bytes, (local = body.local('i32')));
        return local;
      },
    };
    const codes = tiles.steps.map(step => this.inTile(step, tiles, run, pointers));
    for (const local of made.values()) body.i32(0).set(local);
    const moves = [...made].map(([bytes, local]) => ({local, bytes}));
    repeat(body, run.tiles, moves, () => codes.forEach(emit => emit()));
    for (const local of made.values()) body.release(local);
  }

  /** The code of a step for one tile; its pointers are asked for at once. */
  private inTile(step: PlainStep, tiles: TiledSteps, run: TileRun, pointers: TilePointers): () => void {
    if (step.kind === 'kernel') return this.productInTile(step, tiles, run, pointers);
    const loop = loopOfTile(step, tiles, run);
    const around = this.aroundTile(step.precise ? this.precise : this, tiles, run);
    for (const bytes of tileSteps(loop.built.pieces, node => around.formatOf(node).bytes)) pointers.pointer(bytes);
    return () => emitNest(this.body, loop, this.placement.overwriting.has(step), around, pointers);
  }

  /** Surroundings of loops in a tile: what is local is zeroed there, everything else before the first tile. */
  private aroundTile(around: LoopSurroundings, {local, rows}: TiledSteps, run: TileRun): LoopSurroundings {
    return {
      format: around.format,
      formatOf: of => around.formatOf(of),
      place: of => around.place(of),
      table: (table, bytes) => around.table(table, bytes),
      call: fn => around.call(fn),
      zero: (body, address, of) => {
        if (local.has(of)) this.linker.emitZero(body, address, ((this.formatOf(of).bytes * of.size) / rows) * run.rows);
      },
    };
  }

  private productInTile(
    {node, operands}: KernelStep,
    tiles: TiledSteps,
    run: TileRun,
    pointers: TilePointers,
  ): () => void {
    if (!isOp(node, 'matMul')) throw new Error(`${node.op} does not run in tiles`);
    const format = this.held.productFormat(node);
    const product = this.productOf(node, operands);
    const {batch, begin, step} = productsOfTile(node, tiles, run);
    const result = {of: node, offset: 0, strides: [product.c.batch]};
    const places = [operands[0], operands[1], result].map((operand, i) => {
      const {address} = [product.a, product.b, product.c][i];
      const bytes = format.bytes * step(operand);
      return {
        address: address + format.bytes * begin(operand),
        pointer: bytes === 0 ? undefined : pointers.pointer(bytes),
      };
    });
    return () => {
      for (const {address, pointer} of places) {
        this.body.i32(address);
        if (pointer !== undefined) this.body.get(pointer).op('i32.add');
      }
      this.body.call(this.linker.product({...product, batch}, format));
    };
  }

  // ---------------------------------------------------------------- kernels

  private operandAddress({of, offset}: LoopOperand, format: Format): number {
    const converted = format === this.format ? this.converted.get(of) : undefined;
    return (converted ?? this.addressOf(of, format)) + format.bytes * offset;
  }

  private kernel(step: KernelStep): void {
    const {node, operands} = step;
    const arrays = {from: operands.map(operand => this.operandAddress(operand, double)), to: this.addressOf(node)};
    const write = (writers as {readonly [O in Op]?: Write<Op>})[node.op];
    // Each row takes the nodes of its own name, which the table guarantees and the type cannot say.
    if (isOp(node, 'matMul')) this.product(node, operands);
    else if (write !== undefined) write(this.body, node, arrays);
    else {
      const given = node.operands.map((operand, i) => ({address: arrays.from[i], size: operand.size}));
      this.body.call(this.linker.hostIndex(step, given, arrays.to));
    }
  }

  private product(node: Node<'matMul'>, operands: readonly LoopOperand[]): void {
    const format = this.held.productFormat(node);
    const product = this.productOf(node, operands);
    const {batch, m, k, n} = product;
    if (k > 0 && isBlocked(node)) this.blockedProduct(product, format);
    else if (batch * m * k * n < fewestProducts) emitProduct(this.body, product, format);
    else
      this.body
        .i32(product.a.address)
        .i32(product.b.address)
        .i32(product.c.address)
        .call(this.linker.product(product, format));
  }

  private productOf(node: Node<'matMul'>, [a, b]: readonly LoopOperand[]): Product<number> {
    const {transposeA, transposeB} = node.attributes;
    const [batch, m, n] = node.shape;
    const k = node.operands[0].shape[transposeA ? 1 : 2];
    const format = this.held.productFormat(node);
    const place = (
      operand: LoopOperand,
      transposed: boolean,
    ): {address: number; batch: number; row: number; column: number} => {
      const [s, row, column] = operand.strides;
      return {
        address: this.operandAddress(operand, format),
        batch: s,
        row: transposed ? column : row,
        column: transposed ? row : column,
      };
    };
    return {
      apart: sumsApart(node),
      batch,
      m,
      k,
      n,
      a: place(a, transposeA),
      b: place(b, transposeB),
      c: {address: this.addressOf(node), batch: m * n, row: n, column: 1},
    };
  }

  private blockedProduct({batch, m, k, n, a, b, c}: Product<number>, format: Format): void {
    const {body, linker} = this;
    const {bytes} = format;
    const {index, workspace} = linker.blockedProduct(format, 2 * m * k * n);
    for (let s = 0; s < batch; s++) {
      for (const {address, batch: stride, row, column} of [a, b]) {
        body
          .i32(address + bytes * s * stride)
          .i32(bytes * row)
          .i32(bytes * column);
      }
      body
        .i32(c.address + bytes * s * c.batch)
        .i32(bytes * c.row)
        .i32(m)
        .i32(k)
        .i32(n);
      if (workspace !== undefined) body.i32(workspace);
      body.call(index);
    }
  }

  // ---------------------------------------------------------------- outputs

  /**
   * All outputs change at once: where one takes its value from an input's buffer that another
   * overwrites (an exchange), that value is set aside first.
   */
  private outputs(): void {
    const {body, linker} = this;
    const moves: {from: number; to: number; size: number}[] = [];
    const widened: {from: number; to: number; size: number}[] = [];
    const numbers: {local: Local; to: number}[] = [];
    for (const {name, node} of this.lowered.graph.outputs) {
      const value = bare(node);
      const to = linker.bufferAddress(name);
      const place = this.place(value);
      if ('local' in place) numbers.push({local: place.local, to});
      else if (this.formatOf(value) !== double && !isOp(value, 'constant'))
        widened.push({from: place.address, to, size: value.size});
      else {
        const from = this.addressOf(value, double);
        if (from !== to) moves.push({from, to, size: value.size});
      }
    }
    const overwritten = new Set(moves.map(({to}) => to));
    for (const move of moves) {
      if (!overwritten.has(move.from)) continue;
      const aside = linker.scratch(8 * move.size);
      linker.emitCopy(body, move.from, aside, move.size);
      move.from = aside;
    }
    for (const {from, to, size} of moves) linker.emitCopy(body, from, to, size);
    for (const {from, to, size} of widened) linker.emitWiden(body, from, to, size);
    for (const {local, to} of numbers) body.i32(0).get(local).memory('f64.store', to);
  }
}
