/**
 * Programs of runs whose times are not a grid: dense output, events and jumps, and the derivatives of
 * steps by their time and length, which an event's time makes variable. Derived from the trace as those
 * of programs.ts are.
 */
import type {Programs} from '../engine/engine.js';
import {add, full, input, mul, neg} from '../graph/build.js';
import {orZeros, pullback, pushforward} from '../graph/differentiate.js';
import type {Graph, Node} from '../graph/node.js';
import {simplifyNodes, substitute} from '../graph/simplify.js';
import type {TracedAlong} from './traced-along.js';
import type {JacobianProgram} from './jacobian-program.js';
import {graphOf, pushMany} from './programs.js';
import type {TracedStep} from './trace-step.js';

const parametersOf = (step: TracedStep): Node[] => step.parameters.map(({node}) => node);

/**
 * dense: x, z, next, t, h, theta → D; watch: the same → g, dg, the events on the dense output and their
 * derivatives by θ; events: x, t → e, rates; jump.i: x, t → given.
 */
export function coursePrograms(step: TracedStep): Programs {
  const {along, x, t, h} = step;
  const programs: Record<string, Graph> = {};
  if (along === undefined) return programs;
  const {dense, events, rates, theta, jumps} = along;
  if (dense !== undefined) programs.dense = graphOf({D: dense});
  if (events !== undefined) programs.events = graphOf({e: events, rates});
  if (dense !== undefined && events !== undefined) {
    const [g] = simplifyNodes(substitute([events], new Map<Node, Node>([[x, dense], [t, add(t, mul(theta, h))]])));
    const [dg] = pushforward([g], new Map([[theta, full(1, [])]]));
    programs.watch = graphOf({g, dg: orZeros(dg, g)});
  }
  jumps.forEach((jump, i) => {
    if (jump !== undefined) programs[`jump.${i}`] = graphOf({given: jump});
  });
  return programs;
}

/** Cotangents of x, t, …, under other names than those of the step's own, and of the parameters, under the same. */
function barsOf(step: TracedStep, outputs: readonly Node[], cotangents: readonly Node[], others: {readonly [name: string]: Node}): Graph {
  const names = Object.keys(others);
  const wrt = [...Object.values(others), ...parametersOf(step)];
  const bars = pullback(outputs, wrt, cotangents);
  const named: {[name: string]: Node} = {};
  wrt.forEach((node, i) => (named[i < names.length ? names[i] : `pBar.${i - names.length}`] = orZeros(bars[i], node)));
  return graphOf(named);
}

/**
 * The adjoint of a step with its time (programs.ts has it without):
 * pullUnknown: nextBar → zBar; jacobian → J; pullStep: nextBar, w → xBar, tBar, hBar, pBar.i;
 * pushLength: → rhsH = −R_h; pushLengthUpdate: dzH → dNextH, the derivative of the step's end by its length;
 * pullDense: denseBar → dNextBar, dZBar, dXBar, dTBar, dHBar, dThetaBar, pBar.i;
 * pullEvents: eBar → eXBar, eTBar, pBar.i; pullJump.i: givenBar → jXBar, jTBar, pBar.i.
 */
export function courseAdjointPrograms(step: TracedStep, jacobian: JacobianProgram | undefined): Programs {
  const {residual, update, x, z, t, h, along} = step;
  const nextBar = input('nextBar', update.shape);
  const one = full(1, []);
  const lengths = new Map<Node, Node>([[h, one]]);
  const programs: Record<string, Graph> = {};
  if (residual === undefined || jacobian === undefined) {
    programs.pullStep = barsOf(step, [update], [nextBar], {xBar: x, tBar: t, hBar: h});
    programs.pushLengthUpdate = graphOf({dNextH: orZeros(pushforward([update], lengths)[0], update)});
  } else {
    const w = input('w', z.shape);
    programs.pullUnknown = graphOf({zBar: orZeros(pullback([update], [z], [nextBar])[0], z)});
    programs.jacobian = graphOf({J: jacobian.values});
    programs.pullStep = barsOf(step, [update, residual], [nextBar, neg(w)], {xBar: x, tBar: t, hBar: h});
    programs.pushLength = graphOf({rhsH: neg(orZeros(pushforward([residual], lengths)[0], residual))});
    const moved = pushforward([update], new Map<Node, Node>([[h, one], [z, input('dzH', z.shape)]]))[0];
    programs.pushLengthUpdate = graphOf({dNextH: orZeros(moved, update)});
  }
  return along === undefined ? programs : {...programs, ...alongAdjoint(step, along)};
}

function alongAdjoint(step: TracedStep, {dense, events, jumps, theta, next}: TracedAlong): Programs {
  const {x, z, t, h} = step;
  const programs: Record<string, Graph> = {};
  if (dense !== undefined) {
    programs.pullDense = barsOf(step, [dense], [input('denseBar', dense.shape)], {dNextBar: next, dZBar: z, dXBar: x, dTBar: t, dHBar: h, dThetaBar: theta});
  }
  if (events !== undefined) programs.pullEvents = barsOf(step, [events], [input('eBar', events.shape)], {eXBar: x, eTBar: t});
  jumps.forEach((jump, i) => {
    if (jump !== undefined) programs[`pullJump.${i}`] = barsOf(step, [jump], [input('givenBar', jump.shape)], {jXBar: x, jTBar: t});
  });
  return programs;
}

/**
 * Tangents along `count` directions, times among them:
 * jacobian → J; pushResidual: dx, dt, dh, dp.i → rhs; pushUpdate: and dz → dNext; pushDense: and dNext,
 * dtheta → dD; pushEvents: dx, dt, dp.i → de; pushJump.i: the same → dGiven; pushLength and
 * pushLengthUpdate as above.
 */
export function courseTangentPrograms(step: TracedStep, jacobian: JacobianProgram | undefined, count: number): Programs {
  const {residual, update, x, z, t, h, along} = step;
  const seed = (node: Node, name: string): [Node, Node] => [node, input(name, [count, ...node.shape])];
  const parameters = parametersOf(step).map((node, i) => seed(node, `dp.${i}`));
  const place = [seed(x, 'dx'), seed(t, 'dt'), ...parameters];
  const whole = [...place, seed(h, 'dh')];
  const push = (node: Node, seeds: readonly [Node, Node][]): Node => pushMany([node], new Map(seeds), count)[0];
  const withUnknown = residual === undefined ? whole : [...whole, seed(z, 'dz')];
  const {pushLength, pushLengthUpdate} = courseAdjointPrograms({...step, along: undefined}, jacobian);
  const programs: Record<string, Graph> = {pushUpdate: graphOf({dNext: push(update, withUnknown)}), pushLengthUpdate};
  if (residual !== undefined && jacobian !== undefined) {
    programs.jacobian = graphOf({J: jacobian.values});
    programs.pushResidual = graphOf({rhs: neg(push(residual, whole))});
    programs.pushLength = pushLength;
  }
  if (along === undefined) return programs;
  const {dense, events, jumps, theta, next} = along;
  if (dense !== undefined) programs.pushDense = graphOf({dD: push(dense, [...withUnknown, seed(next, 'dNext'), seed(theta, 'dtheta')])});
  if (events !== undefined) programs.pushEvents = graphOf({de: push(events, place)});
  jumps.forEach((jump, i) => {
    if (jump !== undefined) programs[`pushJump.${i}`] = graphOf({dGiven: push(jump, place)});
  });
  return programs;
}
