/**
 * A lowering says what one tfjs kernel means in our primitives: nodes and attributes in, nodes out.
 * The files of `kernels/` hold one table for each family of kernels.
 */
import type {TensorInfo} from '@tensorflow/tfjs';
import {TraceError} from '../errors.js';
import type {DType, Node, Shape} from '../graph/node.js';

/** Type of a tensor in a traced function. */
export type TensorType = TensorInfo['dtype'];
export type Lowered = Node | readonly Node[];
export type Lowering = (operands: unknown, attributes: unknown) => Lowered;
export interface Lowerings {
  readonly [kernel: string]: Lowering;
}

/** Gives a lowering the types of its kernel's inputs and attributes, which the op before it has checked. */
export function lower<Inputs, Attributes = unknown>(f: (inputs: Inputs, attributes: Attributes) => Lowered): Lowering {
  return (operands, attributes) => f(operands as Inputs, attributes as Attributes);
}

/** A kernel over a list of tensors (Concat, Pack, AddN, Einsum), whose inputs tfjs passes as an array. */
export function lowerList<Attributes = unknown>(
  f: (parts: readonly Node[], attributes: Attributes) => Lowered,
): Lowering {
  return (operands, attributes) =>
    f(Object.values(operands as Readonly<Record<string, Node>>), attributes as Attributes);
}

export interface Unary {
  readonly x: Node;
}

export interface Binary {
  readonly a: Node;
  readonly b: Node;
}

/** tfjs's element type as ours; text and complex numbers have none. */
export function typeOf(dtype: TensorType): DType {
  switch (dtype) {
    case 'float32':
      return 'float';
    case 'int32':
      return 'int';
    case 'bool':
      return 'bool';
    default:
      throw new TraceError(
        'unsupported-type',
        `Tensors of type ${dtype} cannot be traced: a simulation computes with real numbers.`,
        {dtype},
      );
  }
}

const tensorTypes: {readonly [T in DType]: 'float32' | 'int32' | 'bool'} = {
  float: 'float32',
  int: 'int32',
  bool: 'bool',
};

export function tensorTypeOf(dtype: DType): 'float32' | 'int32' | 'bool' {
  return tensorTypes[dtype];
}

/** An axis counted from the front. */
export function axisOf(axis: number, shape: Shape): number {
  return axis < 0 ? axis + shape.length : axis;
}
