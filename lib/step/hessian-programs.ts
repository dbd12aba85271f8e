/**
 * The tangent of a step's implicit adjoint, for products with a Hessian. From
 *
 *     Jᵀw = U_zᵀx̄⁺,    x̄ = U_xᵀx̄⁺ − R_xᵀw,    p̄ likewise
 *
 * follows, with a dot for the derivative along a direction of (x, z, p, x̄⁺),
 *
 *     Jᵀẇ = (U_zᵀx̄⁺)˙ − J̇ᵀw,    x̄˙ = (U_xᵀx̄⁺ − R_xᵀw)˙
 *
 * where the right-hand side is the tangent of U_zᵀx̄⁺ − R_zᵀw at fixed w: pushforwards of the transposed graphs. Where
 * times vary, t and h are further arguments.
 */
import {neg} from '../graph/build.js';
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import type {BufferName, ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import type {JacobianProgram} from './jacobian-program.js';
import {cotangentName, directionName, secondOrderName} from './parameter-names.js';
import type {AdjointProgram} from './programs.js';
import {adjointPrograms, tangentsAlong} from './programs.js';
import type {TracedStep} from './traced-step.js';

export type HessianProgram = AdjointProgram | 'pushResidual' | 'sequentialUnknown' | 'sequentialStep';
export type InstantHessianProgram =
  'pullEvents' | 'sequentialEvents' | `${'push' | 'pull' | 'sequential'}Jump.${number}`;

const parametersOf = ({parameters}: TracedStep): Node<'input'>[] => parameters.map(({node}) => node);

/** Cotangents of arguments and parameters, and how they change along `count` directions, each under its name. */
export interface PulledNames {
  /** Names of the arguments' cotangents and of their changes, in order; those of the parameters follow from theirs. */
  readonly names: readonly (readonly [cotangent: BufferName, change: BufferName])[];
  readonly cotangents: readonly Node[];
}

/** Such cotangents as a program, and their changes along seeds as another. */
export function pullAndChange(
  step: TracedStep,
  {names, cotangents}: PulledNames,
  seeds: ReadonlyMap<Node, Node>,
  count: number,
): {readonly pull: ReturnType<typeof graphOf>; readonly sequential: ReturnType<typeof graphOf>} {
  const all = [...names, ...parametersOf(step).map(node => [cotangentName(node), secondOrderName(node)] as const)];
  const changes = tangentsAlong(cotangents, seeds, count);
  return {
    pull: graphOf(Object.fromEntries(all.map(([name], i) => [name, cotangents[i]]))),
    sequential: graphOf(Object.fromEntries(all.map(([, name], i) => [name, changes[i]]))),
  };
}

/** Cotangents of the arguments, then of the parameters, of functions of a step. */
export function pulledBy(
  step: TracedStep,
  outputs: readonly Node[],
  inputs: readonly Node[],
  cotangents: readonly Node[],
): Node[] {
  const wrt = [...inputs, ...parametersOf(step)];
  return pullback(outputs, wrt, cotangents).map((cotangent, i) => orZeros(cotangent, wrt[i]));
}

/**
 * Beside the adjoint's programs (pullUnknown, jacobian, pullStep) and the tangents' (pushResidual), along `count`
 * directions: sequentialUnknown: dx, dz, dp.i, nextCotangent, dNextCotangent, w → dZCotangent = (U_zᵀx̄⁺)˙ − J̇ᵀw;
 * sequentialStep: and dw → dXCotangent, dPCotangent.i.
 * @param timed with dt, dh → tCotangent, hCotangent, dTCotangent, dHCotangent; sequentialUnknown gives dHCotangent at
 *   fixed w
 */
export function hessianPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  count: number,
  timed: boolean,
): ProgramsOf<HessianProgram> {
  const {
    functions: {residual, update},
    inputs: {x, z, t, h},
  } = step;
  const nextCotangent = bufferInput('nextCotangent', update.shape);
  const many = tangentSeed(count);
  const place = [
    many(x, 'dx'),
    ...(timed ? [many(t, 'dt'), many(h, 'dh')] : []),
    ...parametersOf(step).map(node => many(node, directionName(node))),
  ];
  const seeds = new Map([...place, many(nextCotangent, 'dNextCotangent')]);
  const names: PulledNames['names'] = [
    ['xCotangent', 'dXCotangent'],
    ...(timed
      ? ([
          ['tCotangent', 'dTCotangent'],
          ['hCotangent', 'dHCotangent'],
        ] as const)
      : []),
  ];
  const whole = (outputs: readonly Node[], cotangents: readonly Node[], along: ReadonlyMap<Node, Node>) => {
    const pulled = pulledBy(step, outputs, timed ? [x, t, h] : [x], cotangents);
    const {pull, sequential} = pullAndChange(step, {names, cotangents: pulled}, along, count);
    return {pullStep: pull, sequentialStep: sequential};
  };
  /** Changes of the cotangents of unknown and length. */
  const ofUnknown = (outputs: readonly Node[], cotangents: readonly Node[], along: ReadonlyMap<Node, Node>) => {
    const wrt = [...(residual === undefined ? [] : [z]), ...(timed ? [h] : [])];
    const pulled = pullback(outputs, wrt, cotangents).map((cotangent, i) => orZeros(cotangent, wrt[i]));
    const changes = tangentsAlong(pulled, along, count);
    return graphOf(
      Object.fromEntries(changes.map((change, i) => [wrt[i] === z ? 'dZCotangent' : 'dHCotangent', change])),
    );
  };
  if (residual === undefined || jacobian === undefined) {
    const explicit = whole([update], [nextCotangent], seeds);
    return timed ? {...explicit, sequentialUnknown: ofUnknown([update], [nextCotangent], seeds)} : explicit;
  }
  const w = bufferInput('w', z.shape);
  const moving = new Map(seeds).set(...many(z, 'dz'));
  const [outputs, cotangents] = [
    [update, residual],
    [nextCotangent, neg(w)],
  ];
  return {
    ...adjointPrograms(step, jacobian, false),
    pushResidual: graphOf({rhs: neg(tangentsAlong([residual], new Map(place), count)[0])}),
    sequentialUnknown: ofUnknown(outputs, cotangents, moving),
    ...whole(outputs, cotangents, new Map(moving).set(...many(w, 'dw'))),
  };
}

/**
 * Functions of a state and a time, for products with a Hessian: those of events, and what jumps give. Along `count`
 * directions: pushJump.i: dx, dt, dp.i → dGiven; pullEvents: eCotangent → xCotangent, tCotangent, pCotangent.i;
 * sequentialEvents: and dECotangent → dXCotangent, dTCotangent, dPCotangent.i; pullJump.i and sequentialJump.i: the
 * same from givenCotangent and dGivenCotangent.
 */
export function instantHessianPrograms(step: TracedStep, count: number): ProgramsOf<InstantHessianProgram> {
  const {
    functions: {events, jump: jumps = []},
    inputs: {x, t},
  } = step;
  const many = tangentSeed(count);
  const place = [many(x, 'dx'), many(t, 'dt'), ...parametersOf(step).map(node => many(node, directionName(node)))];
  const names: PulledNames['names'] = [
    ['xCotangent', 'dXCotangent'],
    ['tCotangent', 'dTCotangent'],
  ];
  const back = (of: Node, name: BufferName, change: BufferName) => {
    const cotangent = bufferInput(name, of.shape);
    const seeds = new Map([...place, many(cotangent, change)]);
    return pullAndChange(step, {names, cotangents: pulledBy(step, [of], [x, t], [cotangent])}, seeds, count);
  };
  const programs: {[Name in InstantHessianProgram]?: ReturnType<typeof graphOf>} = {};
  if (events !== undefined) {
    const {pull, sequential} = back(events, 'eCotangent', 'dECotangent');
    Object.assign(programs, {pullEvents: pull, sequentialEvents: sequential});
  }
  jumps.forEach((jump, i) => {
    if (jump === undefined) return;
    const {pull, sequential} = back(jump, 'givenCotangent', 'dGivenCotangent');
    programs[`pushJump.${i}`] = graphOf({dGiven: tangentsAlong([jump], new Map(place), count)[0]});
    programs[`pullJump.${i}`] = pull;
    programs[`sequentialJump.${i}`] = sequential;
  });
  return programs;
}
