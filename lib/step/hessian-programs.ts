/**
 * The tangent of a step's implicit adjoint, for products with a Hessian. From
 *
 *     Jᵀw = U_zᵀx̄⁺,    x̄ = U_xᵀx̄⁺ − R_xᵀw,    p̄ likewise
 *
 * follows, with a dot for the derivative along a direction of (x, z, p, x̄⁺),
 *
 *     Jᵀẇ = (U_zᵀx̄⁺)˙ − J̇ᵀw,    x̄˙ = (U_xᵀx̄⁺ − R_xᵀw)˙
 *
 * where the right-hand side is the tangent of U_zᵀx̄⁺ − R_zᵀw at fixed w: pushforwards of the transposed graphs.
 */
import {neg} from '../graph/build.js';
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Graph, Node} from '../graph/node.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import type {JacobianProgram} from './jacobian-program.js';
import {directionName, secondOrderName} from './parameter-names.js';
import type {AdjointProgram} from './programs.js';
import {adjointPrograms, tangentsAlong, tangentPrograms} from './programs.js';
import type {TracedStep} from './traced-step.js';

export type HessianProgram = AdjointProgram | 'pushResidual' | 'sequentialUnknown' | 'sequentialStep';

/**
 * Beside the adjoint's programs (pullUnknown, jacobian, pullStep) and the tangents' (pushResidual), along `count`
 * directions: sequentialUnknown: dx, dz, dp.i, nextCotangent, dNextCotangent, w → dZCotangent = (U_zᵀx̄⁺)˙ − J̇ᵀw;
 * sequentialStep: and dw → dXCotangent, dPCotangent.i.
 */
export function hessianPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  count: number,
): ProgramsOf<HessianProgram> {
  const {
    functions: {residual, update},
    inputs: {x, z},
  } = step;
  const nextCotangent = bufferInput('nextCotangent', update.shape);
  const parameters = step.parameters.map(({node}) => node);
  const wrt = [x, ...parameters];
  const many = tangentSeed(count);
  const seeds = new Map([
    many(x, 'dx'),
    many(nextCotangent, 'dNextCotangent'),
    ...parameters.map(node => many(node, directionName(node))),
  ]);
  const turned = (outputs: readonly Node[], cotangents: readonly Node[], all: ReadonlyMap<Node, Node>): Graph => {
    const pulled = pullback(outputs, wrt, cotangents);
    const changes = tangentsAlong(
      pulled.map((cotangent, i) => orZeros(cotangent, wrt[i])),
      all,
      count,
    );
    return graphOf(
      Object.fromEntries(
        changes.map((change, i) => [i === 0 ? 'dXCotangent' : secondOrderName(parameters[i - 1]), change]),
      ),
    );
  };
  const adjoint = adjointPrograms(step, jacobian, false);
  if (residual === undefined || jacobian === undefined)
    return {...adjoint, sequentialStep: turned([update], [nextCotangent], seeds)};
  const w = bufferInput('w', z.shape);
  const moving = new Map(seeds).set(...many(z, 'dz'));
  const unknown = orZeros(pullback([update, residual], [z], [nextCotangent, neg(w)])[0], z);
  return {
    ...adjoint,
    pushResidual: tangentPrograms(step, jacobian, count).pushResidual,
    sequentialUnknown: graphOf({dZCotangent: tangentsAlong([unknown], moving, count)[0]}),
    sequentialStep: turned([update, residual], [nextCotangent, neg(w)], new Map(moving).set(...many(w, 'dw'))),
  };
}
