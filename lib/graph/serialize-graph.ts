/**
 * Nodes as a flat list of plain values for messages to another thread. A message could contain the
 * nodes themselves, but cloning recurses into operands, and graphs are deep.
 */
import type {Attributes, DType, Node, Op, Shape} from './node.js';
import {make} from './build.js';
import {topological} from './node.js';

interface PlainNode {
  readonly op: Op;
  /** Places in the list, before this one. */
  readonly operands: readonly number[];
  readonly attributes: Attributes[Op];
  readonly shape: Shape;
  readonly dtype: DType;
}

export interface SerializedNodes {
  readonly nodes: readonly PlainNode[];
  /** Places of the nodes that were asked for, in their order. */
  readonly roots: readonly number[];
}

export function serializeNodes(roots: readonly Node[]): SerializedNodes {
  const places = new Map<Node, number>();
  const nodes = topological(roots).map((node, at): PlainNode => {
    places.set(node, at);
    const {op, operands, attributes, shape, dtype} = node;
    return {
      op,
      operands: operands.map(operand => places.get(operand) as number),
      attributes: withoutSharedMemory(attributes),
      shape,
      dtype,
    };
  });
  return {nodes, roots: roots.map(root => places.get(root) as number)};
}

/** Makes nodes anew; shared ones are shared again. */
export function deserializeNodes({nodes, roots}: SerializedNodes): Node[] {
  const made: Node[] = [];
  for (const {op, operands, attributes, shape, dtype} of nodes) {
    made.push(
      make(
        op,
        operands.map(at => made[at]),
        attributes,
        shape,
        dtype,
      ),
    );
  }
  return roots.map(at => made[at]);
}

/** A message carries all of the memory an array is a view of: what is a part of more becomes an array of its own. */
function withoutSharedMemory(attributes: Attributes[Op]): Attributes[Op] {
  const entries = Object.entries(attributes) as [string, unknown][];
  if (!entries.some(([, value]) => isPart(value))) return attributes;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isPart(value) ? value.slice() : value]),
  ) as unknown as Attributes[Op];
}

const isPart = (value: unknown): value is Float64Array | Int32Array =>
  (value instanceof Float64Array || value instanceof Int32Array) && value.byteLength !== value.buffer.byteLength;
