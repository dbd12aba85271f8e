/**
 * The two formats of numbers in compiled loops and products: double precision, two to a vector, and single, four.
 * The names are those of WebAssembly's instructions, which differ by the format alone.
 */
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import {ModuleBuilder} from '../../wasm/assembler.js';
import type {Instruction} from '../../wasm/instructions.js';

export interface Format {
  readonly name: 'double' | 'single';
  /** Bytes of a number in memory. */
  readonly bytes: 8 | 4;
  /** Numbers in a vector. */
  readonly lanes: 2 | 4;
  readonly vector: 'f64x2' | 'f32x4';
  readonly number: 'f64' | 'f32';
  readonly mantissaBits: 52 | 23;
  readonly exponentBias: 1023 | 127;
  readonly load: 'f64.load' | 'f32.load';
  readonly store: 'f64.store' | 'f32.store';
  /** Loads one number into all lanes; into the first, with zeros behind; into or from one lane. */
  readonly loadSplat: 'v128.load64_splat' | 'v128.load32_splat';
  readonly loadZero: 'v128.load64_zero' | 'v128.load32_zero';
  readonly loadLane: 'v128.load64_lane' | 'v128.load32_lane';
  readonly storeLane: 'v128.store64_lane' | 'v128.store32_lane';
  /** a·b + c in one instruction, where the runtime has it and the last bit is free. */
  readonly fused: Instruction | undefined;
}

export const double: Format = {
  name: 'double',
  bytes: 8,
  lanes: 2,
  vector: 'f64x2',
  number: 'f64',
  mantissaBits: 52,
  exponentBias: 1023,
  load: 'f64.load',
  store: 'f64.store',
  loadSplat: 'v128.load64_splat',
  loadZero: 'v128.load64_zero',
  loadLane: 'v128.load64_lane',
  storeLane: 'v128.store64_lane',
  // Engines agree to the bit in double precision.
  fused: undefined,
};

export const single: Format = {
  name: 'single',
  bytes: 4,
  lanes: 4,
  vector: 'f32x4',
  number: 'f32',
  mantissaBits: 23,
  exponentBias: 127,
  load: 'f32.load',
  store: 'f32.store',
  loadSplat: 'v128.load32_splat',
  loadZero: 'v128.load32_zero',
  loadLane: 'v128.load32_lane',
  storeLane: 'v128.store32_lane',
  get fused() {
    return relaxedSimd() ? 'f32x4.relaxed_madd' : undefined;
  },
};

let relaxed: boolean | undefined;

/** Whether the runtime has relaxed SIMD: Chrome from 114, Node from 21, and Node 20 when asked to. */
export function relaxedSimd(): boolean {
  if (relaxed === undefined) {
    const builder = new ModuleBuilder();
    const {body} = builder.define({parameters: ['v128'], results: ['v128']});
    const x = body.parameter(0);
    body.get(x).get(x).get(x).op('f32x4.relaxed_madd');
    relaxed = WebAssembly.validate(builder.finish());
  }
  return relaxed;
}

/** sum ← sum + left·right, all vectors. */
export function multiplyAdd(body: FunctionBody, format: Format, sum: Local, left: Local, right: Local): void {
  if (format.fused !== undefined) body.get(left).get(right).get(sum).op(format.fused).set(sum);
  else body.get(sum).get(left).get(right).op(`${format.vector}.mul`, `${format.vector}.add`).set(sum);
}

/** Leaves the sum of the numbers of each vector, of as many as a vector has, in a lane of the first. */
export function joinVectors(
  body: FunctionBody,
  format: Format,
  [first, second, third, fourth]: readonly Local[],
): void {
  if (format.lanes === 2) {
    body.get(first).get(second).shuffle(0, 2).get(first).get(second).shuffle(1, 3).op('f64x2.add').set(first);
    return;
  }
  const join = (x: Local, y: Local): void => {
    body.get(x).get(y).shuffle32(0, 4, 1, 5).get(x).get(y).shuffle32(2, 6, 3, 7).op('f32x4.add').set(x);
  };
  join(first, second);
  join(third, fourth);
  body.get(first).get(third).shuffle32(0, 1, 4, 5).get(first).get(third).shuffle32(2, 3, 6, 7);
  body.op('f32x4.add').set(first);
}

/** Pushes the sum of a vector's numbers, in this format. */
export function sumOfLanes(body: FunctionBody, {lanes, number}: Format, vector: Local): void {
  for (let lane = 0; lane < lanes; lane++) {
    body.get(vector);
    if (number === 'f64') body.extractLane(lane);
    else body.extractLane32(lane);
    if (lane > 0) body.op(`${number}.add`);
  }
}

/** The instruction on vectors of doubles, in this format. */
export function inFormat(format: Format, instruction: Instruction): Instruction {
  // Each that loops use is there in both.
  return format.lanes === 2 ? instruction : (instruction.replace('f64x2', 'f32x4') as Instruction);
}

/** Takes a double from the stack and pushes a vector of it. */
export function splat(body: FunctionBody, format: Format): void {
  if (format.lanes === 2) body.op('f64x2.splat');
  else {
    const vector = body.local('v128');
    demote(body);
    body.set(vector).get(vector).get(vector).shuffle32(0, 0, 0, 0);
    body.release(vector);
  }
}

/**
 * Takes a double and pushes a vector that has it in single precision in its first two lanes, zeros behind. Conversions
 * here are those of vectors: x64's of single numbers keep the rest of a register, and so wait for what was in it.
 */
function demote(body: FunctionBody): void {
  body.op('f64x2.splat', 'f32x4.demote_f64x2_zero');
}

/** Pushes a vector of equal numbers. */
export function constantVector(body: FunctionBody, format: Format, value: number): void {
  if (format.lanes === 2) body.f64x2(value, value);
  else body.f32x4(value);
}

/** Takes a vector and pushes one of its numbers, as a double. */
export function extract(body: FunctionBody, format: Format, lane: number): void {
  if (format.lanes === 2) {
    body.extractLane(lane);
    return;
  }
  if (lane > 0) {
    const vector = body.local('v128');
    body.set(vector).get(vector).get(vector).shuffle32(lane, lane, lane, lane);
    body.release(vector);
  }
  body.op('f64x2.promote_low_f32x4').extractLane(0);
}

/** Takes a vector and a double, and pushes the vector with that in a lane. */
export function replace(body: FunctionBody, format: Format, lane: number): void {
  if (format.lanes === 2) {
    body.replaceLane(lane);
    return;
  }
  demote(body);
  const from = (own: number): number => (own === lane ? 4 : own);
  body.shuffle32(from(0), from(1), from(2), from(3));
}

/** Takes an address and pushes the number there, as a double. */
export function loadNumber(body: FunctionBody, format: Format, offset: number): void {
  if (format.lanes === 2) body.memory('f64.load', offset);
  else body.memory('v128.load32_zero', offset).op('f64x2.promote_low_f32x4').extractLane(0);
}

/** Takes an address and a double, and stores it there. */
export function storeNumber(body: FunctionBody, format: Format, offset: number): void {
  if (format.lanes === 2) {
    body.memory('f64.store', offset);
    return;
  }
  demote(body);
  body.laneMemory('v128.store32_lane', offset, 0);
}

/** Takes two vectors of doubles and pushes their four numbers in single precision. */
export function narrow(body: FunctionBody): void {
  const second = body.local('v128');
  body.op('f32x4.demote_f64x2_zero').set(second).op('f32x4.demote_f64x2_zero').get(second).shuffle32(0, 1, 4, 5);
  body.release(second);
}

/** Pushes two of the four numbers of a vector in single precision, as doubles. */
export function widen(body: FunctionBody, vector: Local, half: 0 | 1): void {
  body.get(vector);
  if (half === 1) body.get(vector).shuffle32(2, 3, 2, 3);
  body.op('f64x2.promote_low_f32x4');
}
