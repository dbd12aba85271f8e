/**
 * tf.customGrad in a trace. tfjs runs the function past its tape and asks for the gradient only where that
 * tape runs; here both are traced at once, and the value carries the gradient as its declared derivative
 * (graph/primitives/declared.ts). As on the tape, the declared gradient is all there is: what the function
 * captures beside its arguments gets none of it.
 */
import type * as tf from '@tensorflow/tfjs';
import {TraceError} from '../errors.js';
import {declared} from '../graph/build.js';
import {tensorOf} from './backend.js';
import type {CustomKernel, RunKernelFunc} from './internals.js';
import {internals} from './internals.js';
import {requireSession} from './session.js';

/**
 * tfjs's own operations that are written with customGrad (tfjs 4.22), as it names their scopes. Their gradients
 * are those of the primitives they become, which also have right second derivatives (see engine/tensor/gradients.ts).
 */
const tfjsScopes: ReadonlySet<string> = new Set([
  'fusedMatMul__op',
  'fusedConv2d__op',
  'fusedDepthwiseConv2d__op',
  'logSigmoid__op',
  'logSoftmax__op',
  'softmaxCrossEntropy__op',
]);

/** @throws {TraceError, ShapeError} where the gradient cannot be traced, or does not fit the arguments */
export function runDeclared(kernel: CustomKernel, run: RunKernelFunc): tf.Tensor | tf.Tensor[] {
  const {forwardFunc, backwardsFunc, inputs} = kernel;
  const scope = (internals().state.activeScope as {name?: string} | null)?.name;
  if (backwardsFunc === undefined || (scope !== undefined && tfjsScopes.has(scope))) return run(kernel);
  return run({
    ...kernel,
    forwardFunc(backend, save) {
      let saved: tf.Tensor[] = [];
      const value = forwardFunc(backend, tensors => {
        saved = tensors;
        save(tensors);
      });
      if (Array.isArray(value)) {
        throw new TraceError(
          'several-values',
          'A function with a custom gradient returns several tensors; tf.customGrad and a trace support only '
            + 'one. Write one function for each, or stack them.',
        );
      }
      const session = requireSession();
      const names = Object.keys(inputs);
      return tensorOf(
        declared(
          session.nodeOf(value),
          names.map(name => session.nodeOf(inputs[name])),
          cotangent => {
            const gradients = backwardsFunc(tensorOf(cotangent), saved);
            return names.map(name => session.nodeOf(gradients[name]()));
          },
        ),
      );
    },
  });
}
