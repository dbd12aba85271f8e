/**
 * Opcodes of the WebAssembly instructions used here that take no immediate (core spec §5.4; SIMD
 * opcodes are those behind the prefix byte 0xfd, marked by `simd`).
 */

/** Added to the opcodes behind the vector prefix 0xfd. */
export const simd = 0x10000;
/** Added to the opcodes behind the prefix 0xfc. */
export const extended = 0x20000;

export const opcodes = {
  unreachable: 0x00,
  return: 0x0f,
  drop: 0x1a,
  select: 0x1b,
  'i32.eqz': 0x45,
  'i32.eq': 0x46,
  'i32.ne': 0x47,
  'i32.lt_s': 0x48,
  'i32.lt_u': 0x49,
  'i32.gt_s': 0x4a,
  'i32.gt_u': 0x4b,
  'i32.le_s': 0x4c,
  'i32.le_u': 0x4d,
  'i32.ge_s': 0x4e,
  'i32.ge_u': 0x4f,
  'f64.eq': 0x61,
  'f64.ne': 0x62,
  'f64.lt': 0x63,
  'f64.gt': 0x64,
  'f64.le': 0x65,
  'f64.ge': 0x66,
  'i32.add': 0x6a,
  'i32.sub': 0x6b,
  'i32.mul': 0x6c,
  'i32.and': 0x71,
  'i32.or': 0x72,
  'i32.xor': 0x73,
  'i32.shl': 0x74,
  'i32.shr_s': 0x75,
  'i32.shr_u': 0x76,
  'i64.add': 0x7c,
  'i64.shl': 0x86,
  'f64.abs': 0x99,
  'f64.neg': 0x9a,
  'f64.ceil': 0x9b,
  'f64.floor': 0x9c,
  'f64.trunc': 0x9d,
  'f64.nearest': 0x9e,
  'f64.sqrt': 0x9f,
  'f64.add': 0xa0,
  'f64.sub': 0xa1,
  'f64.mul': 0xa2,
  'f64.div': 0xa3,
  'f64.min': 0xa4,
  'f64.max': 0xa5,
  'f64.copysign': 0xa6,
  'f64.convert_i32_s': 0xb7,
  'f64.convert_i32_u': 0xb8,
  'i64.extend_i32_s': 0xac,
  'i64.reinterpret_f64': 0xbd,
  'f64.reinterpret_i64': 0xbf,
  'i32.trunc_sat_f64_s': extended + 0x02,
  'v128.any_true': simd + 0x53,
  'v128.not': simd + 0x4d,
  'v128.and': simd + 0x4e,
  'v128.andnot': simd + 0x4f,
  'v128.or': simd + 0x50,
  'v128.xor': simd + 0x51,
  'v128.bitselect': simd + 0x52,
  'f64x2.splat': simd + 0x14,
  'f64x2.eq': simd + 0x47,
  'f64x2.ne': simd + 0x48,
  'f64x2.lt': simd + 0x49,
  'f64x2.gt': simd + 0x4a,
  'f64x2.le': simd + 0x4b,
  'f64x2.ge': simd + 0x4c,
  'f64x2.ceil': simd + 0x74,
  'f64x2.floor': simd + 0x75,
  'f64x2.trunc': simd + 0x7a,
  'f64x2.nearest': simd + 0x94,
  'i64x2.shl': simd + 0xcb,
  'i64x2.shr_u': simd + 0xcd,
  'i64x2.add': simd + 0xce,
  'i64x2.sub': simd + 0xd1,
  'f64x2.abs': simd + 0xec,
  'f64x2.neg': simd + 0xed,
  'f64x2.sqrt': simd + 0xef,
  'f64x2.add': simd + 0xf0,
  'f64x2.sub': simd + 0xf1,
  'f64x2.mul': simd + 0xf2,
  'f64x2.div': simd + 0xf3,
  'f64x2.min': simd + 0xf4,
  'f64x2.max': simd + 0xf5,
  'f64x2.pmin': simd + 0xf6,
  'f64x2.pmax': simd + 0xf7,
} as const;

export type Instruction = keyof typeof opcodes;

/** Loads and stores: opcode and the logarithm of the natural alignment. */
export const memoryOpcodes = {
  'i32.load': [0x28, 2],
  'f64.load': [0x2b, 3],
  'i32.store': [0x36, 2],
  'f64.store': [0x39, 3],
  'v128.load': [simd + 0x00, 4],
  'v128.load64_splat': [simd + 0x0a, 3],
  'v128.load64_zero': [simd + 0x5d, 3],
  'v128.store': [simd + 0x0b, 4],
} as const;

export type MemoryInstruction = keyof typeof memoryOpcodes;

/** Loads and stores of one lane of a vector. */
export const laneMemoryOpcodes = {
  'v128.load64_lane': simd + 0x57,
  'v128.store64_lane': simd + 0x5b,
} as const;

export type LaneMemoryInstruction = keyof typeof laneMemoryOpcodes;
