/**
 * Functions of one's own in traced functions, element by element: a value in double precision that is plain JavaScript,
 * and derivatives in tfjs operations, so that derivatives of any order follow. Outside a trace they are tfjs operations
 * like others, on every backend that can be read at once.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError, TraceError} from '../errors.js';
import {callable, list, refuseUnknownOptions, requireValue, text} from '../checks.js';
import type {Node} from '../graph/node.js';
import {addMapped} from '../graph/primitives/mapped.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import type {TraceInput} from './trace.js';
import {immediate, trace, within} from './trace.js';

/** ∂y/∂xᵢ of arguments and value, all of one shape, in tfjs operations: of that shape, or a scalar. */
export type PrimitiveDerivative = (x: readonly tf.Tensor[], y: tf.Tensor) => tf.Tensor;

/** A function of numbers, and its partial derivatives in operations of tfjs. */
export interface PrimitiveSpec {
  readonly name: string;
  /** y of the arguments, in double precision; a pure function. */
  readonly value: (...x: number[]) => number;
  /** One per argument; undefined if it is zero. They may use this primitive and others. */
  readonly derivatives: readonly (PrimitiveDerivative | undefined)[];
}

/** The kernel of all of them; `fn` is the function's number. */
export const mappedKernel = 'StiffgradMapped';

/**
 * A function of numbers as an operation on tensors, with the usual broadcasting: in a trace in double precision, on
 * every engine. Define it once, at the top of a module: every definition is kept.
 * @throws OptionError 'bad-primitive'; TraceError if a derivative captures a tensor; ShapeError if it has another shape
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {definePrimitive} from 'stiffgrad';
 *
 * const cube = definePrimitive({name: 'cube', value: x => x ** 3, derivatives: [([x]) => tf.mul(3, tf.square(x))]});
 * console.log(cube(2).dataSync()[0]); // → 8
 * ```
 */
export function definePrimitive(spec: PrimitiveSpec): (...x: (tf.Tensor | number)[]) => tf.Tensor {
  refuseUnknownOptions(spec, {name: text, value: callable, derivatives: list}, 'definePrimitive', 'bad-primitive');
  const {name, value, derivatives} = spec;
  for (const [option, check] of [
    ['name', text],
    ['value', callable],
    ['derivatives', list],
  ] as const)
    requireValue(spec[option], check, `definePrimitive: ${option}`, 'bad-primitive');
  if (
    derivatives.length === 0
    || !derivatives.every(derivative => derivative === undefined || typeof derivative === 'function')
  ) {
    throw new OptionError(
      'bad-primitive',
      `definePrimitive: derivatives of ${name} must be a list of functions, one for each argument; undefined `
        + 'means zero.',
    );
  }
  const fn = addMapped({
    name,
    value,
    derivatives: derivatives.map((derivative, k) =>
      derivative === undefined ? undefined : (x, y) => traced(name, k, derivative, x, y),
    ),
  });
  return (...x) => {
    if (x.length !== derivatives.length)
      throw new OptionError('bad-primitive', `${name} takes ${derivatives.length} arguments, not ${x.length}.`);
    const shape = x.reduce<number[]>(
      (common, each) =>
        each instanceof tf.Tensor ? tf.broadcast_util.assertAndGetBroadcastShape(common, each.shape) : common,
      [],
    );
    const operands = x.map(each =>
      tf.broadcastTo(each instanceof tf.Tensor ? tf.cast(each, 'float32') : tf.scalar(each), shape),
    );
    return tf.engine().runKernel(mappedKernel, operands as unknown as tf.NamedTensorMap, {fn});
  };
}

/** The derivative as nodes, of the nodes x and y. */
function traced(name: string, argument: number, derivative: PrimitiveDerivative, x: readonly Node[], y: Node): Node {
  const inputs: TraceInput[] = [...x, y].map((node, i) => ({name: `x${i}`, shape: node.shape}));
  const {graph, captured} = trace(at => {
    const tensors = inputs.map(input => at[input.name]);
    return {
      derivative: within(`the derivative of ${name}`, () =>
        immediate(derivative(tensors.slice(0, -1), tensors[x.length])),
      ),
    };
  }, inputs);
  if (captured.length > 0)
    throw new TraceError(
      'captured',
      `The derivative of ${name} with respect to argument ${argument} captures a tensor from outside: make it an `
        + 'argument.',
      {primitive: name, argument},
    );
  const [found] = replaceNodes([graph.outputs[0].node], new Map(graph.inputs.map((input, i) => [input, [...x, y][i]])));
  if (found.size !== 1 && found.size !== y.size)
    throw new ShapeError(
      'primitive-shape',
      `The derivative of ${name} with respect to argument ${argument} has shape [${found.shape.join(', ')}], its `
        + `value [${y.shape.join(', ')}].`,
      {primitive: name, argument},
    );
  return found;
}
