/**
 * Runs a user's tfjs function once, on tensors without values, and records what it computes as a
 * graph. tf.grad, tf.tidy, customGrad and tf.layers inside the function run as they always do; the
 * kernels they end in are lowered to our primitives by a tfjs backend of our own.
 */
import * as tf from '@tensorflow/tfjs';
import {constant, input} from '../graph/build.js';
import type {Graph, Node, Output, Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {backendName, tensorOf, traceBackend} from './backend.js';
import {runDeclared} from './custom-gradients.js';
import {useDoubles} from './doubles.js';
import {
  asynchronous,
  backendChanged,
  located,
  notTensors,
  randomNumbers,
  valueRead,
  variableAssigned,
  variableCreated,
} from './failures.js';
import type {Guards} from './internals.js';
import {takeEngine} from './internals.js';
import {lowered, type Lifted} from './lifts.js';
import type {TensorType} from './lowering.js';
import {typeOf} from './lowering.js';
import type {Captured, Session} from './session.js';
import {closeSession, currentSession, openSession, requireSession} from './session.js';

export type {Captured} from './session.js';
export {refusals} from './refusals.js';
export type {Refusal} from './refusals.js';
export {supportedKernels, tensorOf} from './backend.js';

export interface TraceInput {
  readonly name: string;
  readonly shape: Shape;
  readonly dtype?: 'float32' | 'int32' | 'bool';
}

export interface Trace {
  /** Its inputs are the declared ones, in order, then the captured ones. */
  readonly graph: Graph;
  readonly captured: readonly Captured[];
  /** There where the function declared values that solve equations. */
  readonly lifted?: Lifted;
}

export type Traced = (inputs: {readonly [name: string]: tf.Tensor}) => {readonly [output: string]: tf.Tensor};

/**
 * Runs `f` once on abstract tensors of the given shapes.
 * @throws {TraceError} where f reads a value, is asynchronous, or uses a kernel that is refused
 * @throws {ShapeError} where tfjs finds that shapes do not fit
 */
export function trace(f: Traced, given: readonly TraceInput[]): Trace {
  const session = openSession();
  const putBack = [takeEngine(guards(session)), useDoubles()];
  try {
    const declared = given.map(({name, shape, dtype}) => input(name, shape, typeOf(dtype ?? 'float32')));
    const outputs = outputsOf(f(tensorsFor(declared)), session);
    if (session.failure !== undefined) throw session.failure;
    const ignored = session.unreadComparison;
    if (ignored !== undefined) throw ignored;
    const {captured, lifts} = session;
    const inputs = [...declared, ...captured.map(({node}) => node)];
    if (lifts.length === 0) return {graph: {inputs, outputs}, captured};
    const low = lowered(outputs, lifts);
    return {graph: {inputs, outputs: low.outputs}, captured, lifted: {outputs, lifts: low.lifts}};
  } catch (error) {
    throw located(error, session.term);
  } finally {
    for (const put of putBack) put();
    session.clear();
    closeSession(session);
  }
}

function tensorsFor(declared: readonly Node<'input'>[]): {readonly [name: string]: tf.Tensor} {
  return Object.fromEntries(declared.map(node => [node.attributes.name, tensorOf(node)]));
}

function outputsOf(result: unknown, session: Session): Output[] {
  if (isPromise(result)) {
    // The abandoned promise's result is of no interest, but may not go unhandled.
    result.then(undefined, () => undefined);
    throw asynchronous(session.term);
  }
  if (typeof result !== 'object' || result === null) throw notTensors(session.term, 'returned no tensors.');
  return Object.entries(result).map(([name, tensor]: [string, unknown]) => ({
    name,
    node: outputNode(name, tensor, session),
  }));
}

function outputNode(name: string, tensor: unknown, session: Session): Node {
  if (isPromise(tensor)) {
    tensor.then(undefined, () => undefined);
    throw asynchronous(name);
  }
  if (!(tensor instanceof tf.Tensor))
    throw notTensors(
      name,
      `must be a tensor, but is ${tensor === null ? 'null' : typeof tensor}. Return the result of a tfjs operation.`,
      {output: name},
    );
  if (tensor.isDisposed)
    throw notTensors(name, 'was disposed inside the function. Return it from tf.tidy.', {output: name});
  return session.nodeOf(tensor);
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function guards(session: Session): Guards {
  const random = Math.random;
  const producer = (dataId: tf.DataId): string => session.kernelOf(dataId) ?? 'one captured from outside';
  return {
    backendName,
    backend: traceBackend,
    readSync(dataId) {
      throw valueRead(session.term, producer(dataId));
    },
    read(dataId) {
      // Thrown here the error would only reject a promise nobody waits for.
      session.failure ??= valueRead(session.term, producer(dataId));
      return new Promise(() => undefined);
    },
    makeVariable() {
      throw variableCreated(session.term);
    },
    setBackend() {
      throw backendChanged(session.term);
    },
    assign(this: tf.Variable) {
      throw variableAssigned(session.term, this.name);
    },
    custom: runDeclared,
    random() {
      // A layer that is built in the function draws its weights first; that it is built there is the better error.
      session.failure ??= randomNumbers(session.term);
      return random();
    },
  };
}

export function isTracing(): boolean {
  return currentSession() !== undefined;
}

/** Names the part of the user's model that runs in `f`, for errors: 'forces[1]'. Names nest by dots. */
export function within<T>(term: string, f: () => T): T {
  const session = currentSession();
  if (session === undefined) return f();
  session.enter(term);
  try {
    return f();
  } catch (error) {
    throw located(error, session.term);
  } finally {
    session.leave();
  }
}

/**
 * What a term returned, unless that is still to come.
 * @throws {TraceError} 'asynchronous' for a promise
 */
export function immediate<T>(result: T): T {
  if (!isPromise(result)) return result;
  result.then(undefined, () => undefined);
  throw asynchronous(currentSession()?.term ?? '');
}

/** The node a tensor stands for in the current trace. */
export function nodeOf(tensor: tf.Tensor): Node {
  return requireSession().nodeOf(tensor);
}

/** How many values of the current trace are declared to solve equations (lifted.ts). */
export const tracedLifts = (): number => requireSession().lifts.length;

/** A constant in double precision: exact in a trace, an ordinary tensor outside. */
export function constantTensor(
  values: Float64Array | readonly number[] | number,
  shape: Shape,
  dtype: TensorType = 'float32',
): tf.Tensor {
  const numbers = typeof values === 'number' ? new Float64Array(sizeOf(shape)).fill(values) : Float64Array.from(values);
  if (isTracing()) return tensorOf(constant(numbers, shape, typeOf(dtype)));
  return tf.tensor(Array.from(numbers), [...shape], dtype);
}
