/**
 * Gradients that tfjs 4.22 lacks or has wrong, registered when this file is first imported. Simulations are
 * differentiated as graphs; these gradients matter where a user's function calls `tf.grad`, and wherever tfjs's tape
 * runs through ordinary code. Most are derived: a kernel that can be traced has a graph, whose derivative is replayed
 * by tfjs, or goes into the graph of a trace. Those of `tfjs/gradients/` are written by hand, as they take fewer
 * operations or have no graph. Gradients save inputs only and have gradients themselves, of any order and on any
 * backend.
 *
 * Two of tfjs's gradients stay as they are, since the operation brings its own past the registry (`tf.customGrad`):
 * logSoftmax, whose second derivative is wrong on the tape (take `tf.log(tf.softmax(x))` or differentiate a traced
 * graph), and losses.softmaxCrossEntropy, whose gradient by the labels is wrong.
 */
import * as tf from '@tensorflow/tfjs';
import {input} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import {simplify} from '../../graph/simplify.js';
import {backends} from '../../linalg/kernels.js';
import {comparison} from '../../tfjs/gradients/comparison.js';
import {convolution} from '../../tfjs/gradients/convolution.js';
import {indexing} from '../../tfjs/gradients/indexing.js';
import {pooling} from '../../tfjs/gradients/pooling.js';
import {sigmoid} from '../../tfjs/gradients/sigmoid.js';
import {mappedKernel} from '../../trace/define-primitive.js';
import {gradientKernel, type GradientAttributes} from '../../trace/kernels/gradient.js';
import {lowerings} from '../../trace/kernels/index.js';
import {typeOf} from '../../trace/lowering.js';
import {toFloat} from './functions.js';
import {computation} from './index.js';
import {held} from './replay.js';

/** Kernels of tfjs whose gradients are derived, with the names of their inputs; 'list' where these are one list. */
const derived: Readonly<Record<string, readonly string[] | 'list'>> = {
  BatchMatMul: ['a', 'b'],
  Cumprod: ['x'],
  Cumsum: ['x'],
  DepthToSpace: ['x'],
  Diag: ['x'],
  Einsum: 'list',
  Elu: ['x'],
  Exp: ['x'],
  LRN: ['x'],
  Max: ['x'],
  Maximum: ['a', 'b'],
  Min: ['x'],
  Minimum: ['a', 'b'],
  MirrorPad: ['x'],
  Pow: ['a', 'b'],
  Prelu: ['x', 'alpha'],
  Prod: ['x'],
  ResizeBilinear: ['images'],
  ResizeNearestNeighbor: ['images'],
  Select: ['condition', 't', 'e'],
  Selu: ['x'],
  Softmax: ['logits'],
  SplitV: ['x'],
  SquaredDifference: ['a', 'b'],
  StridedSlice: ['x'],
  Tanh: ['x'],
  Tile: ['x'],
  Unpack: ['value'],
};

/** Kernels of our own whose gradients are derived. */
const derivedOfOwn: typeof derived = {
  LinalgCholesky: ['a'],
  LinalgEigh: ['a'],
  LinalgLeastSquares: ['a', 'b'],
  LinalgLu: ['a'],
  LinalgSolve: ['a', 'b'],
  LinalgSvd: ['a'],
  LinalgTriangularSolve: ['a', 'b'],
  [gradientKernel]: 'list',
  [mappedKernel]: 'list',
};

const asList = <T>(values: T | T[]): T[] => (Array.isArray(values) ? values : [values]);

function derivedGradient(kernelName: string, inputs: readonly string[] | 'list'): tf.GradConfig {
  return {
    kernelName,
    ...(inputs === 'list' ? {saveAllInputs: true} : {inputsToSave: [...inputs]}),
    gradFunc: (dys, saved, attributes) => {
      const names = inputs === 'list' ? saved.map((_, i) => String(i)) : inputs;
      const gradient = (wrt: number) => (): tf.Tensor => {
        const {shape, dtype} = saved[wrt];
        if (dtype !== 'float32') return tf.zeros(shape, 'float32');
        const given = [...saved, ...asList(dys)] as unknown as tf.NamedTensorMap;
        return tf.engine().runKernel(gradientKernel, given, {kernel: kernelName, attributes, names, wrt});
      };
      return Object.fromEntries(names.map((name, i) => [name, gradient(i)]));
    },
  };
}

type Program = (inputs: readonly tf.Tensor[]) => tf.Tensor[];

/** Programs by kernel, attributes and shapes; the oldest make room for new ones. */
const programs = new Map<string, Program>();
const mostPrograms = 1000;

function programOf(kernel: string, inputs: readonly tf.Tensor[], attributes: unknown): Program {
  const shapes = inputs.map(({shape, dtype}) => [shape, dtype]);
  const key = JSON.stringify([kernel, attributes, Float32Array.BYTES_PER_ELEMENT, shapes]);
  let program = programs.get(key);
  if (program === undefined) {
    const nodes = inputs.map(({shape, dtype}, i) => input(String(i), shape, typeOf(dtype)));
    const node = lowerings[kernel](Object.fromEntries(nodes.entries()), attributes) as Node;
    program = computation(simplify({inputs: nodes, outputs: [{name: 'value', node}]}));
    if (programs.size === mostPrograms) programs.delete([...programs.keys()][0]);
    programs.set(key, program);
  }
  return program;
}

/** A kernel of our own over a list of tensors, as its graph replayed; the result has the shape of one of them. */
function replayed(kernel: string, inputs: readonly tf.Tensor[], attributes: unknown, {shape}: tf.Tensor): tf.Tensor {
  return tf.tidy(() => {
    const given = inputs.map(x => tf.reshape(toFloat(x), held(x.shape)));
    return tf.reshape(programOf(kernel, inputs, attributes)(given)[0], shape);
  });
}

/** The input that a result has the shape of, by kernel. */
const replayedKernels: Readonly<Record<string, (inputs: readonly tf.Tensor[], attributes: unknown) => tf.Tensor>> = {
  [gradientKernel]: (inputs, attributes) => inputs[(attributes as GradientAttributes).wrt],
  [mappedKernel]: ([first]) => first,
};

const gradientsOf = (kernels: typeof derived): tf.GradConfig[] =>
  Object.entries(kernels).map(([kernel, inputs]) => derivedGradient(kernel, inputs));

const gradients: readonly tf.GradConfig[] = [
  ...gradientsOf(derived),
  ...comparison,
  ...convolution,
  ...indexing,
  ...pooling,
  sigmoid,
];
const gradientsOfOwn = gradientsOf(derivedOfOwn);

/** The kernels of tfjs whose gradient is ours. */
export const repaired: readonly string[] = gradients.map(({kernelName}) => kernelName);

/** Registers what is not registered yet; a second call does nothing. */
export function repairGradients(): void {
  for (const backendName of backends) {
    for (const [kernelName, like] of Object.entries(replayedKernels)) {
      if (tf.getKernel(kernelName, backendName) !== undefined) continue;
      tf.registerKernel({
        kernelName,
        backendName,
        kernelFunc: ({inputs, attrs}) => {
          // The engine gives kernels the tensors themselves.
          const tensors = Object.values(inputs) as tf.Tensor[];
          return replayed(kernelName, tensors, attrs, like(tensors, attrs));
        },
      });
    }
  }
  for (const gradient of [...gradients, ...gradientsOfOwn]) {
    if (tf.getGradient(gradient.kernelName) !== gradient) tf.registerGradient(gradient);
  }
}

repairGradients();
