/**
 * The programs of a step, derived from its residual and update by differentiation. Each group is
 * compiled when first needed: a run without gradients never builds an adjoint. Buffer names are the
 * contract (buffers.ts): x, z, t, h, p.i in; R, J, next, … out (see each group).
 */
import {add, gather, input, mul, neg, sub, zeros} from '../graph/build.js';
import {batch} from '../graph/batch.js';
import {orZeros, pullback, pushforward, transposeLinear} from '../graph/differentiate.js';
import type {Graph, Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {replaceNodes} from '../graph/simplify.js';
import type {BufferName, ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, hasLifetime, tangentSeed} from './buffers.js';
import type {JacobianProgram} from './jacobian-program.js';
import {jacobianProgram} from './jacobian-program.js';
import {cotangentName, directionName} from './parameter-names.js';
import type {TracedStep} from './traced-step.js';

export type ObserveProgram = 'observe' | 'pullObserved' | 'pushObserved';
export type ForwardProgram =
  | 'checks'
  | 'touching'
  | 'contactLaws'
  | 'guess'
  | 'extrapolate'
  | 'residual'
  | 'startResidual'
  | 'jacobian'
  | 'startJacobian'
  | 'exactJacobian'
  | 'update'
  | 'estimate'
  | 'filter';
/** `pullStepAndUnknown` stands in place of `pullStep` where it also serves the step before (`adjointPrograms`). */
export type AdjointProgram = 'jacobian' | 'pullUnknown' | 'pullStep' | 'pullStepAndUnknown';
export type UnrolledProgram =
  'jacobian' | 'startJacobian' | 'pullUnknown' | 'pullUpdate' | 'pullIteration' | 'pullGuess' | 'pullFirst';
export type TangentProgram = 'jacobian' | 'pushResidual' | 'pushUpdate';

/** Named nodes, for `graphOf`. */
type Outputs = {[Name in BufferName]?: Node};

/**
 * Observations of many states at once: xs [count, state], ts [count], p.i → observed [count, k];
 * pullObserved: observedCotangent → xsCotangent, tsCotangent, pCotangent.i; pushObserved: dxs, dts, dp.i → dObserved,
 * for one direction.
 */
export function observePrograms(step: TracedStep, count: number): ProgramsOf<ObserveProgram> {
  const {
    functions: {observed: one},
    inputs: {x, t},
  } = step;
  if (one === undefined) return {};
  const xs = bufferInput('xs', [count, ...x.shape]);
  const ts = bufferInput('ts', [count]);
  const parameters = step.parameters.map(({node}) => node);
  const [observed] = batch(
    [one],
    new Map<Node, Node>([
      [x, xs],
      [t, ts],
    ]),
    count,
  );
  const [xsCotangent, tsCotangent, ...cotangents] = pullback(
    [observed],
    [xs, ts, ...parameters],
    [bufferInput('observedCotangent', observed.shape)],
  );
  const seeds = new Map<Node, Node>([
    [xs, bufferInput('dxs', xs.shape)],
    [ts, bufferInput('dts', ts.shape)],
  ]);
  for (const node of parameters) seeds.set(node, bufferInput(directionName(node), node.shape));
  const [tangent] = pushforward([observed], seeds);
  return {
    observe: graphOf({observed}),
    pullObserved: graphOf({
      ...cotangentOutputs('xsCotangent', [xs, ...parameters], [xsCotangent, ...cotangents]),
      tsCotangent: orZeros(tsCotangent, ts),
    }),
    pushObserved: graphOf({dObserved: orZeros(tangent, observed)}),
  };
}

/**
 * guess → z, defect; residual → R; jacobian → J, Newton's matrix; update → next, E, inside, stiffness, possibleEvents;
 * extrapolate: lastUnknown, lastTheta, lengthRatio → z; of a filtered error estimate E by estimate, from shift, and
 * filter → filterJ, its matrix where shift is zero; startResidual, startJacobian → R, J at the guess; of a start,
 * checks → mass, rightHandSide, rightHandSideAlong, rightHandSideRate, positions, velocities, depths, coefficients,
 * delays, seed, kinematics; with contacts, touching → touching.
 * @param exact the Jacobian itself, where Newton's matrix is a model: exactJacobian → exactJ
 */
export function forwardPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  exact?: JacobianProgram,
  filter?: JacobianProgram,
): ProgramsOf<ForwardProgram> {
  const {
    functions: {
      residual,
      guess,
      defect,
      update,
      mass,
      rightHandSide,
      rightHandSideAlong,
      rightHandSideRate,
      positions,
      velocities,
      depths,
      coefficients,
      delays,
      seed,
      kinematics,
      touching,
      contactLaws,
      error,
      stiffness,
      inside,
      extrapolated,
      possibleEvents,
    },
    inputs: {z},
  } = step;
  const checks = {
    mass,
    rightHandSide,
    rightHandSideAlong,
    rightHandSideRate,
    positions,
    velocities,
    depths,
    coefficients,
    delays,
    seed,
    kinematics,
  };
  const programs: {[Name in ForwardProgram]?: Graph} = Object.values(checks).some(node => node !== undefined)
    ? {checks: graphOf(checks)}
    : {};
  if (touching !== undefined) programs.touching = graphOf({touching});
  if (contactLaws !== undefined) programs.contactLaws = graphOf({contactLaws});
  programs.update = graphOf({
    next: update,
    E: filter === undefined ? error : undefined,
    inside,
    stiffness,
    possibleEvents,
  });
  if (extrapolated !== undefined) programs.extrapolate = graphOf({z: extrapolated});
  if (filter !== undefined)
    Object.assign(programs, {estimate: graphOf({E: error}), filter: graphOf({filterJ: filter.values})});
  if (residual === undefined || guess === undefined || jacobian === undefined) return programs;
  Object.assign(programs, {
    guess: graphOf({z: guess, defect}),
    residual: graphOf({R: residual}),
    jacobian: graphOf({J: jacobian.values}),
  });
  if (exact !== undefined) programs.exactJacobian = graphOf({exactJ: exact.values});
  const first = residualOfGuess(step);
  if (first !== undefined) {
    programs.startResidual = graphOf({R: first.residual});
    programs.startJacobian = graphOf({
      J: first.jacobianOf === residual ? jacobian.values : jacobianInPattern(first.matrixOf, z, jacobian),
    });
  }
  return programs;
}

/** The Jacobian of a variant of the residual, in the pattern of the residual's own. */
function jacobianInPattern(variant: Node, z: Node, own: JacobianProgram): Node {
  const other = jacobianProgram(variant, z);
  const table = new Int32Array(own.pattern.columns.length).fill(-1);
  for (let row = 0; row < own.pattern.n; row++) {
    for (let k = own.pattern.rowPointers[row]; k < own.pattern.rowPointers[row + 1]; k++) {
      for (let j = other.pattern.rowPointers[row]; j < other.pattern.rowPointers[row + 1]; j++) {
        if (other.pattern.columns[j] === own.pattern.columns[k]) table[k] = j;
      }
    }
  }
  return gather(other.values, table, [table.length]);
}

/**
 * The right-hand side of the first iteration where the guess breaks the kinematics or chooses its
 * force: R₀ − R_δ δ, so that J Δz = R₀ − R_δ δ also removes the defect (equations.md §3, the term
 * −hθK R_q). The Jacobian is that of the residual at the guess, its forces evaluated there.
 */
export function residualOfGuess({
  functions,
  inputs: {defect},
}: TracedStep): {residual: Node; jacobianOf: Node; matrixOf: Node} | undefined {
  const {
    residual,
    residualBlocks,
    residualModel,
    frozen,
    defectResidual: broken,
    defectBlocks = broken,
    defectModel = defectBlocks,
  } = functions;
  if (residual === undefined || frozen === undefined) return undefined;
  if (defect === undefined || broken === undefined || defectModel === undefined)
    return {residual: frozen, jacobianOf: residual, matrixOf: residualModel ?? residualBlocks ?? residual};
  const [byDefect] = pushforward([broken], new Map([[defect, neg(defect)]]));
  return {residual: byDefect === undefined ? frozen : add(frozen, byDefect), jacobianOf: broken, matrixOf: defectModel};
}

/** Matrix-free products with Newton's matrix: direction → Jd; direction → JTd. */
export function productPrograms({
  functions: {residual, residualModel = residual},
  inputs: {z},
}: TracedStep): ProgramsOf<'apply' | 'applyTransposed'> {
  if (residual === undefined || residualModel === undefined) return {};
  const direction = bufferInput('direction', z.shape);
  const [tangent] = pushforward([residualModel], new Map([[z, direction]]));
  const argument = input('argument', z.shape);
  const [cotangent] = transposeLinear(pushforward([residualModel], new Map([[z, argument]])), [argument], [direction]);
  return {apply: graphOf({Jd: orZeros(tangent, residual)}), applyTransposed: graphOf({JTd: orZeros(cotangent, z)})};
}

/**
 * transposedProduct: w → JTw = R_zᵀw, from the step's own functions: where masses stand beside stiffnesses, it keeps
 * digits that the sum of both in an entry of J has lost.
 */
export function transposedProductPrograms({
  functions: {residual, residualBlocks = residual},
  inputs: {z},
}: TracedStep): ProgramsOf<'transposedProduct'> {
  if (residualBlocks === undefined) return {};
  const argument = input('argument', z.shape);
  const [product] = transposeLinear(
    pushforward([residualBlocks], new Map([[z, argument]])),
    [argument],
    [bufferInput('w', z.shape)],
  );
  return {transposedProduct: graphOf({JTw: orZeros(product, z)})};
}

/**
 * What the tangent of a step's equation leaves, tangentResidual: dx, dz, dp.i, and where it is `timed` dt and dh,
 * → left = −(R_x ẋ + R_z ż + R_p ṗ), all in one: where they cancel, nothing of them is rounded by itself.
 */
export function tangentResidualPrograms(
  {functions: {residual}, inputs: {x, z, t, h}, parameters}: TracedStep,
  count: number,
  timed: boolean,
): ProgramsOf<'tangentLeft'> {
  if (residual === undefined) return {};
  const many = tangentSeed(count);
  const seeds = [
    many(x, 'dx'),
    many(z, 'dz'),
    ...(timed ? [many(t, 'dt'), many(h, 'dh')] : []),
    ...parameters.map(({node}) => many(node, directionName(node))),
  ];
  return {tangentLeft: graphOf({left: neg(tangentsAlong([residual], new Map(seeds), count)[0])})};
}

/**
 * The way back through a step whose end depends on its unknown with cotangents of zero: pullUnknown: nextCotangent →
 * zCotangent, which tells; pullStep: nextCotangent → xCotangent, pCotangent.i. What the unknown solves is not asked.
 */
export function directAdjointPrograms({
  functions: {update},
  inputs: {x, z},
  parameters,
}: TracedStep): ProgramsOf<'pullUnknown' | 'pullStep'> {
  const nextCotangent = bufferInput('nextCotangent', update.shape);
  const wrt = [x, ...parameters.map(({node}) => node)];
  return {
    pullUnknown: graphOf({zCotangent: orZeros(pullback([update], [z], [nextCotangent])[0], z)}),
    pullStep: graphOf(cotangentOutputs('xCotangent', wrt, pullback([update], wrt, [nextCotangent]))),
  };
}

function cotangentOutputs(
  first: BufferName,
  wrt: readonly Node<'input'>[],
  cotangents: readonly (Node | undefined)[],
): Outputs {
  const outputs: Outputs = {};
  wrt.forEach((node, i) => (outputs[i === 0 ? first : cotangentName(node)] = orZeros(cotangents[i], node)));
  return outputs;
}

/** The state's, and the sums of pCotangent.i so far with these: a parameter that nothing depends on has none. */
function accumulatedOutputs(
  first: BufferName,
  [x, ...parameters]: readonly Node<'input'>[],
  [xCotangent, ...cotangents]: readonly (Node | undefined)[],
): Outputs {
  const outputs: Outputs = {[first]: orZeros(xCotangent, x)};
  parameters.forEach((node, i) => {
    const cotangent = cotangents[i];
    if (cotangent !== undefined)
      outputs[cotangentName(node)] = add(bufferInput(cotangentName(node), node.shape), cotangent);
  });
  return outputs;
}

/**
 * The implicit adjoint of a step (equations.md §5), at the converged z:
 * pullUnknown: nextCotangent → zCotangent = U_zᵀ x̄⁺; jacobian → J;
 * pullStep: nextCotangent, w → xCotangent = U_xᵀ x̄⁺ − R_xᵀ w, pCotangent.i likewise; pullStepAndUnknown: these and the
 * zCotangent of the step before, if that is of the same length. It replaces pullStep in sweeps, where the update is
 * linear.
 * @param accumulates for a sweep over many steps: pCotangent.i is added to what is there
 */
export function adjointPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  accumulates: boolean,
): ProgramsOf<AdjointProgram> {
  const outputs = (cotangents: readonly (Node | undefined)[]): Outputs =>
    (accumulates ? accumulatedOutputs : cotangentOutputs)('xCotangent', wrt, cotangents);
  const {
    functions: {residual, update},
    inputs: {x, z},
  } = step;
  const nextCotangent = bufferInput('nextCotangent', update.shape);
  const wrt = [x, ...step.parameters.map(({node}) => node)];
  if (residual === undefined || jacobian === undefined)
    return {pullStep: graphOf(outputs(pullback([update], wrt, [nextCotangent])))};
  const w = bufferInput('w', z.shape);
  const zCotangent = orZeros(pullback([update], [z], [nextCotangent])[0], z);
  const named = outputs(pullback([update, residual], wrt, [nextCotangent, neg(w)]));
  const before = named.xCotangent;
  const solving = {pullUnknown: graphOf({zCotangent}), jacobian: graphOf({J: jacobian.values})};
  // No step goes before the one that begins a run, whose x is what the user gives.
  if (
    !accumulates
    || before?.size !== update.size
    || step.isInitialStep === true
    || !dependsOnCotangentOnly(zCotangent)
  )
    return {...solving, pullStep: graphOf(named)};
  const [ofStepBefore] = replaceNodes([zCotangent], new Map([[nextCotangent, before]]));
  return {...solving, pullStepAndUnknown: graphOf({...named, zCotangent: ofStepBefore})};
}

/**
 * A cotangent of the unknown that depends on that of the step's end, on the step's length and on what a run is given:
 * the update is linear.
 */
function dependsOnCotangentOnly(zCotangent: Node): boolean {
  return topological([zCotangent]).every(
    node =>
      !isOp(node, 'input') || node.attributes.name === 'nextCotangent' || dependsOnLengthOnly(node.attributes.name),
  );
}

/** Whether an input is the same in all steps of one length. */
export const dependsOnLengthOnly = (name: string): boolean => name === 'h' || hasLifetime(name, 'run');

/**
 * The adjoint of Newton's own iterations, for truncated steps. z' = z − sΔ with J(z)Δ = R(z):
 * its transposed derivative is z̄ − F_zᵀw, x̄ = −F_xᵀw with Jᵀw = s z̄' and F = R − JΔ at fixed Δ.
 * pullIteration: z, delta, w → zCotangent = F_zᵀ w, xCotangent, pCotangent.i;
 * pullGuess: zCotangent, delta, w → xCotangent, pCotangent.i of z₀(x) − F₀(x)ᵀw, the first iteration included where it
 * is special.
 */
export function unrolledPrograms(step: TracedStep, jacobian: JacobianProgram): ProgramsOf<UnrolledProgram> {
  const {
    functions: {residual, guess, update, defect},
    inputs: {x, z, defect: defectInput},
  } = step;
  if (residual === undefined || guess === undefined) return {};
  const parameters = step.parameters.map(({node}) => node);
  const w = bufferInput('w', z.shape);
  const delta = bufferInput('delta', z.shape);
  const linearized = (value: Node, of: Node): Node => {
    const [moved] = pushforward([of], new Map([[z, delta]]));
    return moved === undefined ? value : sub(value, moved);
  };
  const [zCotangent, ...rest] = pullback([linearized(residual, residual)], [z, x, ...parameters], [w]);
  const programs: {[Name in UnrolledProgram]?: Graph} = {
    pullUnknown: graphOf({
      zCotangent: orZeros(pullback([update], [z], [bufferInput('nextCotangent', update.shape)])[0], z),
    }),
    pullUpdate: graphOf(
      cotangentOutputs(
        'xCotangent',
        [x, ...parameters],
        pullback([update], [x, ...parameters], [bufferInput('nextCotangent', update.shape)]),
      ),
    ),
    jacobian: graphOf({J: jacobian.values}),
    pullIteration: graphOf({
      zCotangent: orZeros(zCotangent, z),
      ...cotangentOutputs('xCotangent', [x, ...parameters], rest),
    }),
    pullGuess: graphOf(
      cotangentOutputs(
        'xCotangent',
        [x, ...parameters],
        pullback([guess], [x, ...parameters], [bufferInput('zCotangent', z.shape)]),
      ),
    ),
  };
  const first = residualOfGuess(step);
  if (first !== undefined) {
    const atGuess = new Map<Node, Node>([[z, guess]]);
    if (defect !== undefined && defectInput !== undefined) atGuess.set(defectInput, defect);
    const [f0] = replaceNodes([linearized(first.residual, first.jacobianOf)], atGuess);
    programs.startJacobian = graphOf({J: jacobianInPattern(first.matrixOf, z, jacobian)});
    programs.pullFirst = graphOf(
      cotangentOutputs('xCotangent', [x, ...parameters], pullback([f0], [x, ...parameters], [w])),
    );
  }
  return programs;
}

/**
 * Tangents along `count` directions at once.
 * @param supports constants by seeded node: 0 where its tangents are zero by construction, so that an infinite slope
 *   there counts for nothing (graph/masks.ts); 1 elsewhere
 */
export function tangentsAlong(
  outputs: readonly Node[],
  seeds: ReadonlyMap<Node, Node>,
  count: number,
  supports: ReadonlyMap<Node, Node> = noSupports,
): Node[] {
  const single = new Map<Node, Node>();
  const many = new Map<Node, Node>();
  // A node with a support moves by the support times a displacement, which is zero.
  const moved = new Map<Node, Node>();
  const still = new Map<Node, Node>();
  for (const [node, seed] of seeds) {
    const direction = input('direction', node.shape);
    const support = supports.get(node);
    if (support === undefined) {
      single.set(node, direction);
    } else {
      const displacement = input('displacement', node.shape);
      moved.set(node, add(node, mul(support, displacement)));
      still.set(displacement, zeros(node.shape));
      single.set(displacement, direction);
    }
    many.set(direction, seed);
  }
  const displaced = moved.size === 0 ? outputs : replaceNodes(outputs, moved);
  const tangents = pushforward(displaced, single).map((tangent, i) => orZeros(tangent, outputs[i]));
  return batch(moved.size === 0 ? tangents : replaceNodes(tangents, still), many, count);
}

const noSupports: ReadonlyMap<Node, Node> = new Map();

/**
 * Forward sensitivities along `count` directions (equations.md §5):
 * jacobian → J; pushResidual: dx, dp.i → rhs = −(R_x ẋ + R_p ṗ); pushUpdate: dx, dz, dp.i → dNext.
 */
export function tangentPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  count: number,
): ProgramsOf<TangentProgram> {
  const {
    functions: {residual, update},
    inputs: {x, z},
  } = step;
  const many = tangentSeed(count);
  const seeds = new Map([many(x, 'dx'), ...step.parameters.map(({node}) => many(node, directionName(node)))]);
  if (residual === undefined || jacobian === undefined)
    return {pushUpdate: graphOf({dNext: tangentsAlong([update], seeds, count)[0]})};
  const withUnknown = new Map(seeds).set(...many(z, 'dz'));
  return {
    jacobian: graphOf({J: jacobian.values}),
    pushResidual: graphOf({rhs: neg(tangentsAlong([residual], seeds, count)[0])}),
    pushUpdate: graphOf({dNext: tangentsAlong([update], withUnknown, count)[0]}),
  };
}
