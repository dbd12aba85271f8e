/**
 * The part of tfjs's engine a trace has to take hold of: which backend runs, the tape, the scopes,
 * and the four ways in which a function could reach past the trace (reading a value, creating or
 * assigning a variable, changing the backend). Fields are set directly: `tf.setBackend` is
 * asynchronous in its type and walks over every registered kernel. Checked against tfjs 4.22.
 */
import * as tf from '@tensorflow/tfjs';

type Engine = ReturnType<typeof tf.engine>;

interface Internals {
  readonly state: Engine['state'];
  backendName: string | undefined;
  backendInstance: tf.KernelBackend | null;
  pendingBackendInit: Promise<boolean> | null;
  readSync: Engine['readSync'];
  read: Engine['read'];
  makeVariable: Engine['makeVariable'];
  setBackend: Engine['setBackend'];
  runKernelFunc: RunKernelFunc;
  isTapeOn(): boolean;
  addTapeNode(
    name: string,
    inputs: tf.NamedTensorMap,
    outputs: tf.Tensor[],
    gradient: (cotangent: tf.Tensor) => {readonly [name: string]: () => tf.Tensor},
    saved: tf.Tensor[],
    attributes: object,
  ): void;
}

/** A kernel to run: by its name, or, by tf.customGrad, a function and its gradient. */
export interface CustomKernel {
  readonly kernelName?: undefined;
  readonly forwardFunc: (backend: tf.KernelBackend, save: tf.GradSaveFunc) => tf.Tensor | tf.Tensor[];
  readonly backwardsFunc?: (dy: tf.Tensor, saved: tf.Tensor[]) => {readonly [name: string]: () => tf.Tensor};
  readonly inputs: tf.NamedTensorMap;
}
export type RunKernelFunc = (kernel: CustomKernel | {readonly kernelName: string}) => tf.Tensor | tf.Tensor[];

export function internals(): Internals {
  return tf.engine() as unknown as Internals;
}

/** Whether operations are recorded for a gradient. */
export const isTapeOn = (): boolean => internals().isTapeOn();

/**
 * An entry of the tape: a value that no kernel has made of the tensors it depends on.
 * @param gradients by each of them, for a cotangent
 */
export function recordOnTape(
  from: readonly tf.Tensor[],
  output: tf.Tensor,
  gradients: (cotangent: tf.Tensor) => readonly tf.Tensor[],
): void {
  const named = Object.fromEntries(from.map((tensor, i) => [String(i), tensor]));
  const gradient = (cotangent: tf.Tensor): {[name: string]: () => tf.Tensor} => {
    const all = gradients(cotangent);
    return Object.fromEntries(all.map((tensor, i) => [String(i), () => tensor]));
  };
  internals().addTapeNode('StiffgradValue', named, [output], gradient, [], {});
}

/** Replacements of the engine's functions while a trace runs. */
export interface Guards {
  readonly backendName: string;
  readonly backend: tf.KernelBackend;
  readonly readSync: Engine['readSync'];
  readonly read: Engine['read'];
  readonly makeVariable: Engine['makeVariable'];
  readonly setBackend: Engine['setBackend'];
  readonly assign: tf.Variable['assign'];
  readonly random: () => number;
  /** A function with a gradient of its own, run in place of the engine's own way to run it. */
  readonly custom: (kernel: CustomKernel, run: RunKernelFunc) => ReturnType<RunKernelFunc>;
}

/**
 * Puts our backend and an empty tape in place of what is there, and opens a scope for the trace's
 * tensors; returns what disposes them and puts everything back.
 */
export function takeEngine(guards: Guards): () => void {
  const engine = internals();
  const restore = [replaceBackend(engine, guards), replaceTape(engine), guardEngine(engine, guards)];
  tf.engine().startScope('trace');
  return () => {
    // An error thrown past tf.tidy may leave scopes open.
    while (engine.state.scopeStack.length > 0) tf.engine().endScope();
    for (const put of restore) put();
  };
}

function replaceBackend(engine: Internals, {backendName, backend}: Guards): () => void {
  const before = {
    backendName: engine.backendName,
    backendInstance: engine.backendInstance,
    pendingBackendInit: engine.pendingBackendInit,
  };
  Object.assign(engine, {backendName, backendInstance: backend, pendingBackendInit: null});
  return () => Object.assign(engine, before);
}

function replaceTape({state}: Internals): () => void {
  const {activeTape, gradientDepth, kernelDepth, activeScope, scopeStack, profiling} = state;
  const flags = tf.env().features;
  const debug = flags['DEBUG'];
  const empty: Partial<Record<keyof typeof state, unknown>> = {
    activeTape: null,
    gradientDepth: 0,
    kernelDepth: 0,
    activeScope: null,
    scopeStack: [],
    profiling: false,
  };
  Object.assign(state, empty);
  // In debug mode tfjs reads every result.
  if (debug === true) flags['DEBUG'] = false;
  return () => {
    Object.assign(state, {activeTape, gradientDepth, kernelDepth, activeScope, scopeStack, profiling});
    if (debug === true) flags['DEBUG'] = debug;
  };
}

function guardEngine(engine: Internals, guards: Guards): () => void {
  const {readSync, read, makeVariable, setBackend} = engine;
  const runKernelFunc = engine.runKernelFunc.bind(engine);
  const own = Object.getOwnPropertyDescriptor(engine, 'runKernelFunc');
  const {assign} = tf.Variable.prototype;
  const {random} = Math;
  Object.assign(engine, {
    readSync: guards.readSync,
    read: guards.read,
    makeVariable: guards.makeVariable,
    setBackend: guards.setBackend,
  });
  engine.runKernelFunc = kernel =>
    kernel.kernelName === undefined ? guards.custom(kernel, runKernelFunc) : runKernelFunc(kernel);
  tf.Variable.prototype.assign = guards.assign;
  Math.random = guards.random;
  return () => {
    Object.assign(engine, {readSync, read, makeVariable, setBackend});
    if (own === undefined) Reflect.deleteProperty(engine, 'runKernelFunc');
    else Object.defineProperty(engine, 'runKernelFunc', own);
    tf.Variable.prototype.assign = assign;
    Math.random = random;
  };
}
