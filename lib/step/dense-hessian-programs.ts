/**
 * States within a step, for products with a Hessian: the dense output D(θ, x, z, next, t, h; p), its tangent, its
 * transpose, and the tangent of that.
 */
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import type {BufferName, ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import type {JacobianProgram} from './jacobian-program.js';
import {cotangentName, directionName, secondOrderName} from './parameter-names.js';
import {tangentsAlong, tangentPrograms} from './programs.js';
import type {TracedStep} from './traced-step.js';

export type DenseHessianProgram = 'jacobian' | 'pushResidual' | 'pushDense' | 'pullDense' | 'secondOrderDense';

/**
 * Along `count` directions: jacobian → J; pushResidual: dx, dp.i → rhs; pushDense: dx, dz, dNext, dp.i → dD;
 * pullDense: denseCotangent → nextCotangent, zCotangent, xCotangent, pCotangent.i; secondOrderDense: and
 * dDenseCotangent → dNextCotangent, dZCotangent, dXCotangent, dPCotangent.i.
 */
export function denseHessianPrograms(
  step: TracedStep,
  dense: Node,
  jacobian: JacobianProgram | undefined,
  count: number,
): ProgramsOf<DenseHessianProgram> {
  const {x, z, next} = step.inputs;
  const parameters = step.parameters.map(({node}) => node);
  if (next === undefined) return {};
  const many = tangentSeed(count);
  const cotangent = bufferInput('denseCotangent', dense.shape);
  const wrt = {next, z, x};
  const sources = [...Object.values(wrt), ...parameters];
  const moving = new Map([
    many(next, 'dNext'),
    many(z, 'dz'),
    many(x, 'dx'),
    ...parameters.map(node => many(node, directionName(node))),
  ]);
  const cotangents = pullback([dense], sources, [cotangent]).map((part, i) => orZeros(part, sources[i]));
  const changes = tangentsAlong(cotangents, new Map(moving).set(...many(cotangent, 'dDenseCotangent')), count);
  const named = (names: readonly BufferName[], nodes: readonly Node[]): {[name: string]: Node} =>
    Object.fromEntries(nodes.map((node, i) => [names[i], node]));
  return {
    ...(jacobian === undefined
      ? {}
      : {jacobian: graphOf({J: jacobian.values}), pushResidual: tangentPrograms(step, jacobian, count).pushResidual}),
    pushDense: graphOf({dD: tangentsAlong([dense], moving, count)[0]}),
    pullDense: graphOf(
      named(['nextCotangent', 'zCotangent', 'xCotangent', ...parameters.map(cotangentName)], cotangents),
    ),
    secondOrderDense: graphOf(
      named(['dNextCotangent', 'dZCotangent', 'dXCotangent', ...parameters.map(secondOrderName)], changes),
    ),
  };
}
