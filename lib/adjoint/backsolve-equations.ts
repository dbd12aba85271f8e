/**
 * The continuous adjoint as a separate system. Along a solution of y' = f(y, t; p) a cotangent satisfies
 * ȳ' = −f_yᵀȳ, and that of the parameters p̄' = −f_pᵀȳ (Chen, Rubanova, Bettencourt & Duvenaud 2018).
 * With time reversed, s = −t, the three are one ode
 *
 *     d/ds (y, ȳ, p̄) = (−f, f_yᵀȳ, f_pᵀȳ)
 *
 * whose derivative is made from the traced f and its transpose, so that every scheme that integrates an
 * ode integrates it. For a run backwards in time, the backward pass goes along t itself, with the opposite derivative.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {concat, constant, input, neg, reshape, slice} from '../graph/build.js';
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {settled} from '../graph/newton-matrix.js';
import {replaceNodes} from '../graph/simplify.js';
import type {Scheme} from '../scheme/index.js';
import {joinBlocks, splitBlocks} from '../step/blocks.js';
import type {TimeDirection} from '../step/time-direction.js';
import {Layout} from '../step/layout.js';
import type {System} from '../step/formulation.js';
import type {TracedParameter} from '../step/traced-step.js';
import {equationsOf, hasMassMatrix, isConstrained, partOf} from '../step/formulation.js';
import type {UserBlock} from '../system/equations.js';
import type {Blocks, Equations} from '../system/equations.js';
import {linalg} from '../linalg/index.js';
import {sameShape} from '../graph/node.js';
import {atStage, duringStep, stepNow} from '../system/breaks.js';
import type {OdeSystem} from '../system/ode.js';
import {ode} from '../system/ode.js';
import type {Leaf, Params} from '../system/params.js';
import {typedTree} from '../system/params.js';
import {nodeOf, tensorOf, trace} from '../trace/trace.js';

/** The ode of (y, ȳ, p̄) in the time of the backward pass, flat. */
export interface AdjointSystem {
  readonly system: OdeSystem;
  /** Numbers in y. */
  readonly states: number;
  /** Numbers in (y, ȳ, p̄). */
  readonly size: number;
  /**
   * The parameters in p̄, by their place among those given, each with its place in p̄; what f does not depend on is
   * left out.
   */
  readonly parameters: readonly {readonly index: number; readonly offset: number; readonly size: number}[];
}

/**
 * @param parameters of the run: leaves first, then captured tensors
 * @throws TraceError where f has a derivative that cannot be taken
 */
export function adjointSystem(
  system: System,
  blocks: readonly UserBlock[],
  leaves: readonly Leaf[],
  parameters: readonly TracedParameter[],
  direction: TimeDirection,
): AdjointSystem {
  const own = new Layout(blocks.map(({name, shape}) => ({name, shape, partOf: partOf(system, {}, name)})));
  const {graph, captured} = trace(
    at => {
      const params = typedTree(
        leaves,
        leaves.map((_, i) => at[`p.${i}`]),
      );
      const rate = (): Blocks => rateOf(equationsOf(system, params, blocks), splitBlocks(own, at.x), at.t);
      // Inputs that jump are looked up inside a step, of which the way back has its own.
      const blocksOfRate = duringStep(at.begin, at.length, new Set(), () => atStage(at.t, rate));
      return {rate: joinBlocks(own, blocksOfRate, 'rate')};
    },
    [
      {name: 'x', shape: [own.size]},
      {name: 't', shape: []},
      {name: 'begin', shape: []},
      {name: 'length', shape: []},
      ...leaves.map((leaf, i) => ({name: `p.${i}`, shape: leaf.shape})),
    ],
  );
  const [rate] = settled([graph.outputs[0].node], 'value');
  const [x, t, begin, length, ...sources] = graph.inputs;
  const cotangent = input('cotangent', [own.size]);
  const [xCotangent, ...cotangents] = pullback([rate], [x, ...sources], [cotangent]);
  const tensors = [...leaves.map(() => undefined), ...captured.map(({tensor}) => tensor)];
  let size = 2 * own.size;
  const present = cotangents.flatMap((node, i) => {
    const index = i < leaves.length ? i : parameters.findIndex(({tensor}) => tensor === tensors[i]);
    if (node === undefined || index < 0) return [];
    const offset = size - 2 * own.size;
    size += node.size;
    return [{index, offset, size: node.size, node}];
  });
  const flat = (node: Node): Node => reshape(node, [node.size]);
  const back = concat([neg(rate), flat(orZeros(xCotangent, x)), ...present.map(({node}) => flat(node))], 0);
  const isBackwards = direction.backwards === true;
  const derivative = isBackwards ? neg(back) : back;
  const at = ({y, t: s, params}: {y: tf.Tensor; t: tf.Tensor; params: Params}): tf.Tensor => {
    const whole = nodeOf(y);
    const part = (from: number): Node => slice(whole, [from], [own.size]);
    const inUserTime = (time: Node): Node => (isBackwards ? time : neg(time));
    const step = stepNow();
    const place = new Map<Node, Node>([
      [x, part(0)],
      [cotangent, part(own.size)],
      [t, inUserTime(nodeOf(s))],
      [begin, inUserTime(nodeOf(step?.t ?? s))],
      [length, inUserTime(step === undefined ? constant(Float64Array.of(1), []) : nodeOf(step.h))],
    ]);
    leaves.forEach((leaf, i) => place.set(sources[i], nodeOf(leafOf(params, leaf))));
    captured.forEach(({node, tensor}) => place.set(node, nodeOf(tensor)));
    return tensorOf(replaceNodes([derivative], place)[0]);
  };
  return {
    system: ode(at),
    states: own.size,
    size,
    parameters: present.map(({index, offset, size: count}) => ({index, offset, size: count})),
  };
}

/** y', of M y' = f by M⁻¹. */
function rateOf(equations: Equations, x: Blocks, t: tf.Tensor): Blocks {
  if (!equations.hasMassMatrix) return equations.rate(x, t);
  const mass = equations.massAt(x.y, t);
  const f = equations.rightHandSide(x, t).y;
  if (mass.size === 1) return {y: tf.div(f, tf.reshape(mass, []))};
  if (sameShape(mass.shape, f.shape)) return {y: tf.div(f, mass)};
  return {y: tf.reshape(linalg.solve(mass, tf.reshape(f, [f.size, 1])), f.shape)};
}

const leafOf = (params: Params, {path}: Leaf): tf.Tensor =>
  path.reduce<tf.Tensor | Params>((tree, key) => (tree as Params)[key], params) as tf.Tensor;

/** @throws OptionError 'bad-adjoint' where the motion has no continuous adjoint that the scheme could integrate */
export function checkBacksolve(system: System, scheme: Scheme, events: number): void {
  const instead = 'use implicitAdjoint(), or forwardSensitivity() for few parameters.';
  if (isConstrained(system))
    throw new OptionError(
      'bad-adjoint',
      `backsolveAdjoint does not support constraints, because it does not integrate their multipliers: ${instead}`,
    );
  if (system.kind === 'ode' && system.noise !== undefined)
    throw new OptionError(
      'bad-adjoint',
      `backsolveAdjoint does not support an sde, because its paths are not smooth: ${instead}`,
    );
  if (system.kind === 'ode' && system.delays !== undefined)
    throw new OptionError(
      'bad-adjoint',
      'backsolveAdjoint does not support a dde, because it integrates back from the end, and the end does not '
        + `determine the past: ${instead}`,
    );
  if (system.kind === 'mechanics' && hasMassMatrix(system))
    throw new OptionError(
      'bad-adjoint',
      `backsolveAdjoint does not support coordinates without a mass, because it integrates y' = f: ${instead}`,
    );
  if (events > 0)
    throw new OptionError('bad-adjoint', `backsolveAdjoint does not support events and their jumps: ${instead}`);
  if (scheme.ode === undefined) {
    throw new OptionError(
      'bad-adjoint',
      `backsolveAdjoint integrates state and adjoint as an ode, which scheme ${scheme.name} does not support: `
        + `choose a scheme for odes, such as trapezoid() or rk4(); or ${instead}`,
      {scheme: scheme.name},
    );
  }
}
