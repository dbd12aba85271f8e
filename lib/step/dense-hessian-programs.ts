/**
 * States within a step, for products with a Hessian: the dense output D(θ, x, z, next, t, h; p), its tangent, its
 * transpose, and the tangent of that. The place θ is an unknown, of one condition: the time t + θh there is given, or
 * the function of an event is zero. With θ̄ = D_θᵀD̄ the multiplier of the time is −θ̄/h, for both.
 */
import {add, div, mul, neg} from '../graph/build.js';
import type {Node} from '../graph/node.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import {pullAndChange, pulledBy} from './hessian-programs.js';
import type {JacobianProgram} from './jacobian-program.js';
import {directionName} from './parameter-names.js';
import {tangentsAlong} from './programs.js';
import type {TracedStep} from './traced-step.js';

export type DenseHessianProgram = 'jacobian' | 'pushResidual' | 'pushDense' | 'pullDense' | 'sequentialDense';

/**
 * Along `count` directions: jacobian → J; pushResidual: dx, dt, dh, dp.i → rhs; pushDense: these, dz, dNext and dtheta
 * → D, dD; pullDense: denseCotangent → nextCotangent, zCotangent, xCotangent, tCotangent, hCotangent, pCotangent.i, and
 * timeCotangent, the multiplier of the time; sequentialDense: and dDenseCotangent → how they change.
 */
export function denseHessianPrograms(
  step: TracedStep,
  dense: Node,
  jacobian: JacobianProgram | undefined,
  count: number,
): ProgramsOf<DenseHessianProgram> {
  const {
    functions: {residual},
    inputs: {x, z, t, h, next, theta},
  } = step;
  if (next === undefined || theta === undefined) return {};
  const many = tangentSeed(count);
  const place = [
    many(x, 'dx'),
    many(t, 'dt'),
    many(h, 'dh'),
    ...step.parameters.map(({node}) => many(node, directionName(node))),
  ];
  const moving = new Map([...place, many(next, 'dNext'), many(z, 'dz'), many(theta, 'dtheta')]);
  const cotangent = bufferInput('denseCotangent', dense.shape);
  const [ofTheta, ofT, ofH, ...others] = pulledBy(step, [dense], [theta, t, h, next, z, x], [cotangent]);
  const time = neg(div(ofTheta, h));
  const {pull, sequential} = pullAndChange(
    step,
    {
      names: [
        ['timeCotangent', 'dTimeCotangent'],
        ['tCotangent', 'dTCotangent'],
        ['hCotangent', 'dHCotangent'],
        ['nextCotangent', 'dNextCotangent'],
        ['zCotangent', 'dZCotangent'],
        ['xCotangent', 'dXCotangent'],
      ],
      cotangents: [time, add(ofT, time), add(ofH, mul(theta, time)), ...others],
    },
    new Map(moving).set(...many(cotangent, 'dDenseCotangent')),
    count,
  );
  return {
    ...(residual === undefined || jacobian === undefined
      ? {}
      : {
          jacobian: graphOf({J: jacobian.values}),
          pushResidual: graphOf({rhs: neg(tangentsAlong([residual], new Map(place), count)[0])}),
        }),
    pushDense: graphOf({D: dense, dD: tangentsAlong([dense], moving, count)[0]}),
    pullDense: pull,
    sequentialDense: sequential,
  };
}
