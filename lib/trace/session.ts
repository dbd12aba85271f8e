/**
 * The state of one trace: which node every tensor stands for, what was captured from outside, and
 * the part of the model that is running. Traces nest; the innermost is current.
 */
import type * as tf from '@tensorflow/tfjs';
import type {DataId, TensorInfo} from '@tensorflow/tfjs';
import {TraceError} from '../errors.js';
import {constant, input} from '../graph/build.js';
import type {Node} from '../graph/node.js';
import {internals} from './internals.js';
import {comparisonUnread, disposed} from './failures.js';
import type {Lift} from './lifts.js';
import {tensorTypeOf, typeOf} from './lowering.js';
import {isKnown} from './positions.js';

export interface Captured {
  /** captured.0, captured.1, … in the order of first use. */
  readonly name: string;
  /** The very object the function used: a tf.Variable, whose value is to be read at each run, or a tensor. */
  readonly tensor: tf.Tensor;
  readonly node: Node<'input'>;
}

/** The node that a data id stands for. */
interface Entry {
  readonly node: Node;
  /** The kernel that made it, for error messages. */
  readonly kernel: string;
  references: number;
  /** The part of the model with a comparison that nothing has read yet. */
  unread?: string;
}

/**
 * JavaScript takes every object for true and gives no way to notice, so a tensor in `?:`, `if` or `&&` is known by what
 * follows: nothing reads it. Reductions (any, all) are left out, since masking layers of tfjs make some for nobody.
 */
const comparisons: ReadonlySet<string> = new Set([
  'Equal',
  'Greater',
  'GreaterEqual',
  'Less',
  'LessEqual',
  'LogicalAnd',
  'LogicalNot',
  'LogicalOr',
  'NotEqual',
]);

export class Session {
  readonly captured: Captured[] = [];
  readonly lifts: Lift[] = [];
  /** A fault found where it could not be thrown; the trace ends with it. */
  failure: TraceError | undefined;
  private readonly entries = new Map<DataId, Entry>();
  private readonly known = new Map<TensorInfo, Node>();
  private readonly terms: string[] = [];
  private ignored: TraceError | undefined;

  constructor(readonly outer: Session | undefined) {}

  get term(): string {
    return this.terms.join('.');
  }

  enter(term: string): void {
    this.terms.push(term);
  }

  leave(): void {
    this.terms.pop();
  }

  /** A new value of a traced tensor. */
  add(node: Node, kernel: string): DataId {
    const dataId = {};
    this.entries.set(dataId, {node, kernel, references: 1, unread: comparisons.has(kernel) ? this.term : undefined});
    return dataId;
  }

  /** The description of a tensor that stands for a node. */
  describe(node: Node, kernel: string): TensorInfo {
    return {dataId: this.add(node, kernel), shape: [...node.shape], dtype: tensorTypeOf(node.dtype)};
  }

  /** The node a tensor stands for; one from outside becomes an input, whole numbers a constant. */
  nodeOf(tensor: TensorInfo): Node {
    const entry = this.entries.get(tensor.dataId);
    if (entry !== undefined) {
      entry.unread = undefined;
      return entry.node;
    }
    let node = this.known.get(tensor);
    if (node === undefined) {
      node = this.capture(tensor as tf.Tensor);
      this.known.set(tensor, node);
    }
    return node;
  }

  private capture(tensor: tf.Tensor): Node {
    const owner = internals().state.tensorInfo.get(tensor.dataId);
    if (owner === undefined) throw disposed(this.term);
    const dtype = typeOf(tensor.dtype);
    if (dtype !== 'float' && !isVariable(tensor)) {
      const node = this.outer?.constantOf(tensor) ?? readWhole(owner.backend, tensor);
      if (node !== undefined) return node;
    }
    const node = input(`captured.${this.captured.length}`, tensor.shape, dtype);
    this.captured.push({name: node.attributes.name, tensor, node});
    return node;
  }

  /** The constant that a tensor of this trace, or of one around it, stands for. */
  private constantOf(tensor: TensorInfo): Node | undefined {
    const entry = this.entries.get(tensor.dataId);
    if (entry === undefined) return this.outer?.constantOf(tensor);
    const {node} = entry;
    entry.unread = undefined;
    return isKnown(node) ? node : undefined;
  }

  kernelOf(dataId: DataId): string | undefined {
    return this.entries.get(dataId)?.kernel;
  }

  retain(dataId: DataId): void {
    const entry = this.entries.get(dataId);
    if (entry !== undefined) entry.references++;
  }

  referencesTo(dataId: DataId): number {
    return this.entries.get(dataId)?.references ?? 0;
  }

  /** True once nothing refers to the data any more. */
  release(dataId: DataId, force: boolean): boolean {
    const entry = this.entries.get(dataId);
    if (entry === undefined) return true;
    if (--entry.references > 0 && !force) return false;
    this.note(entry);
    this.entries.delete(dataId);
    return true;
  }

  private note({kernel, unread}: Entry): void {
    if (unread !== undefined) this.ignored ??= comparisonUnread(unread, kernel);
  }

  /** A comparison that nothing has read, once the function is through. */
  get unreadComparison(): TraceError | undefined {
    for (const entry of this.entries.values()) this.note(entry);
    return this.ignored;
  }

  get size(): number {
    return this.entries.size;
  }

  /** Removes tensors that were not disposed (kept ones, tapes cut off by an error) from tfjs's counts. */
  clear(): void {
    const {state} = internals();
    for (const [dataId, {references}] of this.entries) {
      const info = state.tensorInfo.get(dataId);
      if (info === undefined) continue;
      state.tensorInfo.delete(dataId);
      state.numTensors -= references;
      state.numBytes -= references * info.bytes;
      state.numDataBuffers--;
    }
    this.entries.clear();
  }
}

export function isVariable(tensor: tf.Tensor): tensor is tf.Variable {
  return 'assign' in tensor;
}

/** Index tables and masks are read from their own backend, without moving them. */
function readWhole(backend: tf.KernelBackend, tensor: tf.Tensor): Node | undefined {
  try {
    const values = backend.readSync(tensor.dataId) as Int32Array | Uint8Array;
    return constant(Float64Array.from(values), tensor.shape, typeOf(tensor.dtype));
  } catch {
    // A trace around this one has no value for it, some backends cannot read at once: then it is an input.
    return undefined;
  }
}

let innermost: Session | undefined;

export function currentSession(): Session | undefined {
  return innermost;
}

export function requireSession(): Session {
  if (innermost === undefined)
    throw new TraceError('not-tracing', 'A tensor of a traced function was used outside the trace.');
  return innermost;
}

export function openSession(): Session {
  innermost = new Session(innermost);
  return innermost;
}

export function closeSession(session: Session): void {
  innermost = session.outer;
}
