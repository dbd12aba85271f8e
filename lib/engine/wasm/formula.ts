/** Formulas on vectors of numbers, written as they are read: each part is code that pushes its value. */
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import type {Instruction} from '../../wasm/instructions.js';
import type {Format} from './format.js';
import {double, inFormat} from './format.js';

/** Pushes a vector of numbers, or of truth masks. */
export type FormulaPart = () => void;

export class Formula {
  /**
   * @param pool address of a pair that holds these 64 bits twice. Constants are read from memory: V8
   * makes a vector constant from two general registers each time, which is dearer than a load.
   */
  constructor(
    readonly body: FunctionBody,
    private readonly pool: (bits: bigint) => number,
    readonly format: Format = double,
  ) {}

  constant(value: number): FormulaPart {
    return this.bits(this.format === double ? bitsOf(value) : singleBitsOf(value));
  }

  /** In every number's place. */
  bits(value: bigint): FormulaPart {
    const repeated = this.format === double ? value : BigInt.asUintN(32, value) * 0x1_0000_0001n;
    return () => this.body.i32(0).memory('v128.load', this.pool(BigInt.asUintN(64, repeated)));
  }

  of(local: Local): FormulaPart {
    return () => this.body.get(local);
  }

  /** Computes a part now, for use several times. */
  keep(part: FormulaPart): FormulaPart {
    const local = this.body.local('v128');
    part();
    this.body.set(local);
    return this.of(local);
  }

  /** An instruction on pairs of doubles as one on vectors of this format's numbers, or of integers of their size. */
  private named(instruction: Instruction): Instruction {
    return this.format === double
      ? instruction
      : inFormat(this.format, instruction.replace('i64x2', 'i32x4') as Instruction);
  }

  private apply(instruction: Instruction, ...parts: readonly FormulaPart[]): FormulaPart {
    return () => {
      for (const part of parts) part();
      this.body.op(this.named(instruction));
    };
  }

  add = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.add', a, b);
  sub = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.sub', a, b);
  mul = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.mul', a, b);
  div = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.div', a, b);
  /** b < a ? b : a, so a where that is not a number; one machine instruction, unlike min. */
  min = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.pmin', a, b);
  /** a < b ? b : a. */
  max = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.pmax', a, b);
  abs = (a: FormulaPart): FormulaPart => this.apply('f64x2.abs', a);
  neg = (a: FormulaPart): FormulaPart => this.apply('f64x2.neg', a);
  nearest = (a: FormulaPart): FormulaPart => this.apply('f64x2.nearest', a);
  floor = (a: FormulaPart): FormulaPart => this.apply('f64x2.floor', a);
  less = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.lt', a, b);
  equal = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.eq', a, b);
  notLess = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('f64x2.ge', a, b);
  and = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('v128.and', a, b);
  not = (a: FormulaPart): FormulaPart => this.apply('v128.not', a);
  or = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('v128.or', a, b);
  xor = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('v128.xor', a, b);
  addBits = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('i64x2.add', a, b);
  subBits = (a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('i64x2.sub', a, b);
  /** Where the mask's bits are set the first, else the second. */
  choose = (mask: FormulaPart, a: FormulaPart, b: FormulaPart): FormulaPart => this.apply('v128.bitselect', a, b, mask);

  shiftLeft(a: FormulaPart, by: number): FormulaPart {
    return () => {
      a();
      this.body.i32(by).op(this.named('i64x2.shl'));
    };
  }

  /** Number of bits of one number. */
  get bitsOfNumber(): number {
    return 8 * this.format.bytes;
  }

  get signBit(): FormulaPart {
    return this.bits(1n << BigInt(this.bitsOfNumber - 1));
  }

  /** 2^k for a whole k whose power is a normal number. */
  powerOfTwo(k: FormulaPart): FormulaPart {
    const {mantissaBits, exponentBias} = this.format;
    // 1.5·2^mantissaBits: what is added to it is rounded to a whole number, which stands in the last bits.
    const shifter = 1.5 * 2 ** mantissaBits;
    return this.shiftLeft(this.add(k, this.constant(shifter + exponentBias)), mantissaBits);
  }

  /** Zeros come in from the left. */
  shiftRight(a: FormulaPart, by: number): FormulaPart {
    return () => {
      a();
      this.body.i32(by).op(this.named('i64x2.shr_u'));
    };
  }

  /** One part where the mask has any bit set, else the other. */
  whereAny(mask: FormulaPart, then: FormulaPart, otherwise: FormulaPart): FormulaPart {
    const result = this.body.local('v128');
    mask();
    this.body.op('v128.any_true').if(
      () => {
        then();
        this.body.set(result);
      },
      () => {
        otherwise();
        this.body.set(result);
      },
    );
    return this.of(result);
  }

  /** c₀ + x(c₁ + x(c₂ + …)). */
  polynomial(x: FormulaPart, coefficients: readonly number[]): FormulaPart {
    const [first, ...rest] = coefficients;
    if (rest.length === 0) return this.constant(first);
    return this.add(this.constant(first), this.mul(x, this.polynomial(x, rest)));
  }

  /**
   * The same of ten coefficients, in the order that `graph/primitives/transcendental.ts` has for them: pairs of terms,
   * pairs of pairs, and the last two.
   */
  pairedPolynomial(x: FormulaPart, square: FormulaPart, c: readonly number[]): FormulaPart {
    const pair = (i: number): FormulaPart => this.add(this.mul(x, this.constant(c[i + 1])), this.constant(c[i]));
    const four = (i: number): FormulaPart => this.add(pair(i), this.mul(square, pair(i + 2)));
    const fourth = this.keep(this.mul(square, square));
    return this.add(four(0), this.mul(fourth, this.add(four(4), this.mul(fourth, pair(8)))));
  }
}

const scratch = new DataView(new ArrayBuffer(8));

function bitsOf(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

function singleBitsOf(value: number): bigint {
  scratch.setFloat32(0, value);
  return BigInt(scratch.getUint32(0));
}
