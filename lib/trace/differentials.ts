/**
 * Derivatives of tensor functions inside a trace, taken on the graph: the function is traced by
 * itself, differentiated there, and put back at the place asked for. tfjs's tape has no forward mode,
 * and its second derivatives are not to be relied on; these may be nested in any order.
 */
import type * as tf from '@tensorflow/tfjs';
import {orZeros, pullback, pushforward, transposeLinear} from '../graph/differentiate.js';
import {add, gather, input, mul, sum, zeros} from '../graph/build.js';
import {jacobian} from '../graph/jacobian.js';
import {settled} from '../graph/newton-matrix.js';
import type {Node} from '../graph/node.js';
import {topological} from '../graph/node.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import {sparsityPattern} from '../graph/sparsity.js';
import type {Captured} from './trace.js';
import {tensorFrom} from './tape.js';
import {isTracing, trace} from './trace.js';

/** Tensors by name. */
export interface Tensors {
  readonly [name: string]: tf.Tensor;
}

/** A function of named tensors, as a graph of its own whose inputs stand for them. */
interface Isolated {
  readonly inputs: {readonly [name: string]: Node};
  readonly output: Node;
  readonly captured: readonly Captured[];
  /** Whether it declares values that solve equations, which are unknowns of the surrounding trace. */
  readonly lifts: boolean;
}

/**
 * A node of an isolated function in the current trace, where its inputs and what it has captured stand for.
 * @param more inputs of the node beside those of the function, by their tensors
 */
function placed(node: Node, {inputs, captured}: Isolated, at: Tensors, more: readonly Placed[] = []): tf.Tensor {
  const all = [...captured, ...Object.entries(inputs).map(([name, own]) => ({node: own, tensor: at[name]})), ...more];
  return tensorFrom(
    all.map(({tensor}) => tensor),
    nodes => replaceNodes([node], new Map(all.map(({node: own}, i) => [own, nodes[i]])))[0],
  );
}

/** An input and the tensor that it stands for. */
interface Placed {
  readonly node: Node;
  readonly tensor: tf.Tensor;
}

const stoodFor = (name: string, tensor: tf.Tensor): Placed => ({node: input(name, tensor.shape), tensor});

function isolate(f: (at: Tensors) => tf.Tensor, at: Tensors): Isolated {
  const names = Object.keys(at);
  const {graph, captured, lifted} = trace(
    inputs => ({value: f(inputs)}),
    names.map(name => ({name, shape: at[name].shape})),
  );
  const inputs = Object.fromEntries(names.map((name, i) => [name, graph.inputs[i]]));
  // Derivatives of derivatives are those of the value itself.
  const [output] = settled([graph.outputs[0].node], 'value');
  return {inputs, output, captured, lifts: lifted !== undefined};
}

/** Functions that were traced by themselves, by owner and name; none where they have to be traced each time. */
const functions = new WeakMap<object, Map<string, Isolated | undefined>>();

/**
 * f(at) in the current trace, by a graph that f is traced to once for an owner: a thousand operations are put in
 * another place in a hundredth of the time that tfjs takes for them. f reads only `at`, of the same shapes each time,
 * and tensors that outlive the owner.
 * @param isSteady whether f, which has just been traced, gives the same wherever it is called
 */
export function tracedOnce(
  owner: object,
  name: string,
  f: (at: Tensors) => tf.Tensor,
  at: Tensors,
  isSteady: () => boolean,
): tf.Tensor {
  if (!isTracing()) return f(at);
  let known = functions.get(owner);
  if (known === undefined) functions.set(owner, (known = new Map<string, Isolated | undefined>()));
  if (!known.has(name)) {
    const made = isolate(f, at);
    known.set(name, made.lifts || !isSteady() ? undefined : made);
  }
  const isolated = known.get(name);
  if (isolated === undefined) return f(at);
  return placed(isolated.output, isolated, at);
}

/**
 * d/ds f(at + s·direction) at s = 0, of the shape of f: a product with the Jacobian; tfjs's tape has only products with
 * its transpose. Tensors without a direction are constant. Only in traced functions: forces, derivatives, losses.
 * @throws TraceError 'not-tracing' outside a traced function
 */
export function derivativeAlong(f: (at: Tensors) => tf.Tensor, at: Tensors, direction: Tensors): tf.Tensor {
  const isolated = isolate(f, at);
  const {inputs, output} = isolated;
  const seeds = Object.entries(direction).map(([name, tensor]) => ({name, ...stoodFor('direction', tensor)}));
  const [tangent] = pushforward([output], new Map<Node, Node>(seeds.map(({name, node}) => [inputs[name], node])));
  return placed(orZeros(tangent, output), isolated, at, seeds);
}

/**
 * Whether each number of f, of the shape of y, depends on that number of y alone, or each row of `size` numbers on that
 * row, by the dependence of operations. Only inside a trace.
 */
export function isElementwise(f: (at: Tensors) => tf.Tensor, y: tf.Tensor, size = 1): boolean {
  const {inputs, output} = isolate(f, {y});
  const {pointers, indices, rows} = sparsityPattern(
    pushforward([output], new Map([[inputs.y, inputs.y]]))[0],
    inputs.y,
    output.size,
  );
  for (let row = 0; row < rows; row++)
    for (let k = pointers[row]; k < pointers[row + 1]; k++)
      if (Math.floor(indices[k] / size) !== Math.floor(row / size)) return false;
  return true;
}

/**
 * Whether a function's value, not its shape, depends on one of its tensors after simplification. Only inside a trace.
 */
export function dependsOn(f: (at: Tensors) => tf.Tensor, at: Tensors, name: string): boolean {
  const {inputs, output} = isolate(f, at);
  return topological(simplifyNodes([output])).includes(inputs[name]);
}

/** Jᵀ·cotangent with J = ∂f/∂name: of the shape of `at[name]`. Only inside a trace. */
export function transposedProduct(
  f: (at: Tensors) => tf.Tensor,
  at: Tensors,
  name: string,
  cotangent: tf.Tensor,
): tf.Tensor {
  const isolated = isolate(f, at);
  const {inputs, output} = isolated;
  const seed = stoodFor('cotangent', cotangent);
  const [product] = pullback([output], [inputs[name]], [seed.node]);
  return placed(orZeros(product, inputs[name]), isolated, at, [seed]);
}

/** Whether a function is affine in one of its tensors, or does not read it, by its operations. Only inside a trace. */
export function isAffineIn(f: (at: Tensors) => tf.Tensor, at: Tensors, name: string): boolean {
  const {inputs, output} = isolate(f, at);
  const x = inputs[name];
  const [tangent] = pushforward([output], new Map([[x, input('direction', x.shape)]]));
  return tangent === undefined || !topological([tangent]).includes(x);
}

/** An affine function of one tensor, f(x) = f(0) + J x, with J as numbers. */
export interface AffineFunction {
  /** f(x), [rows]. */
  at(x: tf.Tensor): tf.Tensor;
  /** Jᵀ·cotangent, of the shape of x. */
  transposed(cotangent: tf.Tensor): tf.Tensor;
}

/**
 * A function that is affine in one of its tensors, with the entries of its Jacobian that are not zero: they are
 * computed once for all x, and each f(x) and Jᵀ·cotangent is then a product with them, where derivatives of f are as
 * long as f. Undefined where f is not affine by its operations, or does not read the tensor. Only inside a trace.
 * @param f [rows]
 */
export function affineIn(f: (at: Tensors) => tf.Tensor, at: Tensors, name: string): AffineFunction | undefined {
  const isolated = isolate(f, at);
  const {inputs, output} = isolated;
  const x = inputs[name];
  const {pattern, values, tangent} = jacobian(output, x);
  if (tangent === undefined || topological([tangent]).includes(x)) return undefined;
  const rows = output.size;
  const {pointers, indices} = pattern;
  let width = 0;
  for (let row = 0; row < rows; row++) width = Math.max(width, pointers[row + 1] - pointers[row]);
  // Rows have their entries side by side, and nothing after the last.
  const [from, to] = [new Int32Array(rows * width).fill(-1), new Int32Array(rows * width).fill(-1)];
  for (let row = 0; row < rows; row++)
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      const at = row * width + k - pointers[row];
      from[at] = k;
      to[at] = indices[k];
    }
  const shape = [rows, width];
  // The entries and f(0) do not depend on x.
  const [fixed, still] = replaceNodes([gather(values, from, shape), output], new Map([[x, zeros(x.shape)]]));
  const moved = (entries: Node, by: Node): Node => sum(mul(entries, gather(by, to, shape)), [1]);
  const weights = input('weights', [rows]);
  const [pulled] = transposeLinear([moved(fixed, x)], [x], [weights]);
  return {
    at: by => placed(add(still, moved(fixed, x)), isolated, {...at, [name]: by}),
    transposed: cotangent => placed(orZeros(pulled, x), isolated, at, [{node: weights, tensor: cotangent}]),
  };
}
