/**
 * The tfjs backend `stiffgradtrace`: it holds no numbers. Every kernel is lowered to nodes, and a
 * tensor's data is the node it stands for; only constants written into it are real.
 * It is never registered with tfjs's list of backends, so nothing but a trace can select it.
 */
import * as tf from '@tensorflow/tfjs';
import type {DataId, DataType, KernelFunc, NamedTensorInfoMap, TensorInfo} from '@tensorflow/tfjs';
import {constant} from '../graph/build.js';
import type {Node} from '../graph/node.js';
import {asList, lowerings} from './kernels/index.js';
import type {Lowering} from './lowering.js';
import {typeOf} from './lowering.js';
import {located, unsupportedKernel, valueRead} from './failures.js';
import {refusals} from './refusals.js';
import {currentSession, requireSession} from './session.js';

/** tfjs splits kernel keys at `_`, so a backend's name may not have one. */
export const backendName = 'stiffgradtrace';

class TraceBackend extends tf.KernelBackend {
  override write(values: tf.backend_util.BackendValues, shape: number[], dtype: DataType): DataId {
    return requireSession().add(
      constant(Float64Array.from(values as ArrayLike<number>), shape, typeOf(dtype)),
      'constant',
    );
  }

  override read(dataId: DataId): Promise<tf.backend_util.BackendValues> {
    return Promise.reject(valueRead('', currentSession()?.kernelOf(dataId)));
  }

  override readSync(dataId: DataId): tf.backend_util.BackendValues {
    const session = currentSession();
    throw valueRead(session?.term ?? '', session?.kernelOf(dataId));
  }

  override incRef(dataId: DataId): void {
    requireSession().retain(dataId);
  }

  override refCount(dataId: DataId): number {
    return currentSession()?.referencesTo(dataId) ?? 0;
  }

  override disposeData(dataId: DataId, force = false): boolean {
    return currentSession()?.release(dataId, force) ?? true;
  }

  override numDataIds(): number {
    return currentSession()?.size ?? 0;
  }

  override memory(): {unreliable: boolean; reasons: string[]} {
    return {unreliable: false, reasons: []};
  }

  override timerAvailable(): boolean {
    return false;
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  /** tfjs's own, so that formulas that use it (losses, layers) mean the same in and outside a trace. */
  override epsilon(): number {
    return 1e-7;
  }

  override dispose(): void {
    // Data belongs to sessions.
  }
}

export const traceBackend: tf.KernelBackend = new TraceBackend();

export const supportedKernels: readonly string[] = Object.keys(lowerings).sort();

function operandsOf(inputs: NamedTensorInfoMap): Record<string, Node> {
  const session = requireSession();
  const operands: Record<string, Node> = {};
  for (const name of Object.keys(inputs)) {
    const tensor = inputs[name];
    if (tensor != null) operands[name] = session.nodeOf(tensor);
  }
  return operands;
}

function kernelOf(kernel: string, lowering: Lowering): KernelFunc {
  return ({inputs, attrs}): TensorInfo | TensorInfo[] => {
    const session = requireSession();
    try {
      const lowered = lowering(operandsOf(inputs), attrs);
      const list = asList(lowered);
      return list === undefined
        ? session.describe(lowered as Node, kernel)
        : list.map(node => session.describe(node, kernel));
    } catch (error) {
      throw located(error, session.term);
    }
  };
}

function refuse(kernel: string): KernelFunc {
  return () => {
    throw unsupportedKernel(requireSession().term, kernel);
  };
}

/** Registers a kernel of the trace. */
function registerLowering(kernelName: string, lowering: Lowering): void {
  tf.registerKernel({kernelName, backendName, kernelFunc: kernelOf(kernelName, lowering)});
}

for (const [kernelName, lowering] of Object.entries(lowerings)) registerLowering(kernelName, lowering);
for (const {kernel} of refusals) tf.registerKernel({kernelName: kernel, backendName, kernelFunc: refuse(kernel)});

/** A tensor that stands for a node in the current trace. */
export function tensorOf(node: Node): tf.Tensor {
  const session = requireSession();
  return tf.engine().makeTensorFromTensorInfo(session.describe(node, node.op));
}
