/**
 * Programs of runs whose times are not a grid: dense output, events and jumps, and derivatives of
 * steps with respect to their time and length, which vary with an event's time. Derived from the trace like those
 * of programs.ts.
 */
import {add, constant, full, neg} from '../graph/build.js';
import {orZeros, pullback, pushforward} from '../graph/differentiate.js';
import type {Graph, Node} from '../graph/node.js';
import type {JacobianProgram} from './jacobian-program.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import type {BufferName, ProgramsOf} from './buffers.js';
import {eventsOnDense} from './idle.js';
import type {CotangentProgram} from './parameter-names.js';
import {directionName, parameterCotangent} from './parameter-names.js';
import {partition} from './precomputation.js';
import type {AdjointProgram} from './programs.js';
import {tangentsAlong} from './programs.js';
import type {TracedStep} from './traced-step.js';

export type HistoryProgram =
  'inside' | 'between' | 'dense' | 'watch' | 'events' | 'outcomes' | 'slope' | `jump.${number}`;
export type HistoryAdjointProgram =
  AdjointProgram | 'pushLength' | 'pushLengthUpdate' | 'inside' | 'pullDense' | 'pullEvents' | `pullJump.${number}`;
export type HistoryTangentProgram =
  | 'jacobian'
  | 'pushResidual'
  | 'pushUpdate'
  | 'pushLength'
  | 'pushLengthUpdate'
  | 'inside'
  | 'pushDense'
  | 'pushEvents'
  | `pushJump.${number}`;

const parametersOf = (step: TracedStep): Node<'input'>[] => step.parameters.map(({node}) => node);

/** The part of a graph that makes some of its outputs. */
const withOutputsOf = ({outputs}: Graph, wanted: readonly BufferName[]): Graph =>
  graphOf(
    Object.fromEntries(
      outputs.flatMap(({name, node}) => ((wanted as readonly string[]).includes(name) ? [[name, node]] : [])),
    ),
  );

/**
 * inside: x, z, t, h → inside, see interpolant.ts; between: these, next and inside → what dense output needs at
 * every place; dense: theta → D; watch: theta → g, dg, the events on the dense output and their derivatives
 * by θ; events: x, t → e, rates; outcomes: x, t → outcomes; slope: x, t → slope; jump.i: x, t → given.
 */
export function denseAndEventPrograms(step: TracedStep): ProgramsOf<HistoryProgram> {
  const {inside, events, rates, outcomes, slope, jump: jumps = []} = step.functions;
  const programs: {[Name in HistoryProgram]?: Graph} = densePrograms(step);
  if (inside !== undefined) programs.inside = graphOf({inside});
  if (events !== undefined) programs.events = graphOf({e: events, rates});
  if (outcomes !== undefined) programs.outcomes = graphOf({outcomes});
  if (slope !== undefined) programs.slope = graphOf({slope});
  jumps.forEach((jump, i) => {
    if (jump !== undefined) programs[`jump.${i}`] = graphOf({given: jump});
  });
  return programs;
}

function densePrograms(step: TracedStep): ProgramsOf<'between' | 'dense' | 'watch'> {
  const {dense} = step.functions;
  if (dense === undefined || step.inputs.theta === undefined) return {};
  const {g, dg} = eventsOnDense(step) ?? {};
  const {before, each} = partition(graphOf({D: dense, g, dg}), 'iterate', 'between');
  return {
    ...(before.outputs.length === 0
      ? {}
      : {between: graphOf(Object.fromEntries(before.outputs.map(({name, node}) => [name, node])))}),
    dense: withOutputsOf(each, ['D']),
    ...(g === undefined ? {} : {watch: withOutputsOf(each, ['g', 'dg'])}),
  };
}

/**
 * Cotangents of x, t, …, under other names than those of the step's own, and of the parameters.
 * @param program the one that they are named after (`parameterCotangent`); those that nothing depends on have none
 * @param accumulates pCotangent is added to what is there
 */
export function cotangentsOf(
  step: TracedStep,
  outputs: readonly Node[],
  cotangents: readonly Node[],
  others: {readonly [Name in BufferName]?: Node},
  program: CotangentProgram,
  accumulates: boolean,
): Graph {
  const wrt = Object.entries(others) as [name: BufferName, node: Node][];
  const parameters = parametersOf(step);
  const pulled = pullback(outputs, [...wrt.map(([, node]) => node), ...parameters], cotangents);
  const named: {[name: string]: Node} = Object.fromEntries(
    wrt.map(([name, node], i) => [name, orZeros(pulled[i], node)]),
  );
  parameters.forEach((node, i) => {
    const cotangent = pulled[wrt.length + i];
    const name = parameterCotangent(program, node);
    if (cotangent !== undefined) named[name] = accumulates ? add(bufferInput(name, node.shape), cotangent) : cotangent;
  });
  return graphOf(named);
}

/**
 * The adjoint of a step with its time (programs.ts has it without), `inside` being an output beside next:
 * pullUnknown: nextCotangent, insideCotangent → zCotangent; jacobian → J; pullStep: nextCotangent, insideCotangent, w →
 * xCotangent, tCotangent, hCotangent; pushLength: → rhsH = −R_h; pushLengthUpdate: dzH → dNextH, dInsideH, the
 * derivatives of the step's end and inside by its length; inside: → inside, where pullDense reads it; pullDense:
 * denseCotangent → denseNextCotangent, denseInsideCotangent, denseZCotangent, denseXCotangent, denseTCotangent,
 * denseHCotangent, denseThetaCotangent; pullEvents: eCotangent → eXCotangent, eTCotangent; pullJump.i: givenCotangent →
 * jXCotangent, jTCotangent; and each the parameters' by `parameterCotangent`.
 * @param adding those of pullStep and pullDense are added to what is there
 */
export function historyAdjointPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  adding: boolean,
): ProgramsOf<HistoryAdjointProgram> {
  const {
    functions: {residual, update, inside},
    inputs: {x, z, t, h},
  } = step;
  const outputs = inside === undefined ? [update] : [update, inside];
  const cotangents = [
    bufferInput('nextCotangent', update.shape),
    ...(inside === undefined ? [] : [bufferInput('insideCotangent', inside.shape)]),
  ];
  const lengths = new Map<Node, Node>([[h, full(1, [])]]);
  const programs: {[Name in HistoryAdjointProgram]?: Graph} = {};
  const back = (of: readonly Node[], by: readonly Node[]): Graph =>
    cotangentsOf(step, of, by, {xCotangent: x, tCotangent: t, hCotangent: h}, 'pullStep', adding);
  const byLength = (seeds: ReadonlyMap<Node, Node>): Graph => {
    const [dNextH, dInsideH] = pushforward(outputs, seeds).map((tangent, i) => orZeros(tangent, outputs[i])) as (
      Node | undefined
    )[];
    return graphOf({dNextH, dInsideH});
  };
  if (residual === undefined || jacobian === undefined) {
    programs.pullStep = back(outputs, cotangents);
    programs.pushLengthUpdate = byLength(lengths);
  } else {
    const w = bufferInput('w', z.shape);
    programs.pullUnknown = graphOf({zCotangent: orZeros(pullback(outputs, [z], cotangents)[0], z)});
    programs.jacobian = graphOf({J: jacobian.values});
    programs.pullStep = back([...outputs, residual], [...cotangents, neg(w)]);
    programs.pushLength = graphOf({rhsH: neg(orZeros(pushforward([residual], lengths)[0], residual))});
    programs.pushLengthUpdate = byLength(new Map<Node, Node>([...lengths, [z, bufferInput('dzH', z.shape)]]));
  }
  return {...programs, ...alongAdjoint(step, adding)};
}

function alongAdjoint(step: TracedStep, adding: boolean): ProgramsOf<HistoryAdjointProgram> {
  const {
    functions: {dense, inside, events, jump: jumps = []},
    inputs: {x, z, t, h, theta, next, inside: insideInput},
  } = step;
  const programs: {[Name in HistoryAdjointProgram]?: Graph} = {};
  if (dense !== undefined && theta !== undefined && next !== undefined) {
    const places = {
      denseNextCotangent: next,
      denseZCotangent: z,
      denseXCotangent: x,
      denseTCotangent: t,
      denseHCotangent: h,
      denseThetaCotangent: theta,
      ...(insideInput === undefined ? {} : {denseInsideCotangent: insideInput}),
    };
    programs.pullDense = cotangentsOf(
      step,
      [dense],
      [bufferInput('denseCotangent', dense.shape)],
      places,
      adding ? 'pullStep' : 'pullDense',
      adding,
    );
    if (insideInput !== undefined && programs.pullDense.inputs.includes(insideInput))
      programs.inside = graphOf({inside});
  }
  if (events !== undefined)
    programs.pullEvents = cotangentsOf(
      step,
      [events],
      [bufferInput('eCotangent', events.shape)],
      {eXCotangent: x, eTCotangent: t},
      'pullEvents',
      false,
    );
  jumps.forEach((jump, i) => {
    const name = `pullJump.${i}` as const;
    if (jump !== undefined)
      programs[name] = cotangentsOf(
        step,
        [jump],
        [bufferInput('givenCotangent', jump.shape)],
        {jXCotangent: x, jTCotangent: t},
        name,
        false,
      );
  });
  return programs;
}

/**
 * Tangents along `count` directions, times among them:
 * jacobian → J; pushResidual: dx, dt, dh, dp.i → rhs; pushUpdate: and dz → dNext, dInside; inside → inside;
 * pushDense: these and dtheta → dD; pushEvents: dx, dt, dp.i → de; pushJump.i: the same → dGiven; pushLength and
 * pushLengthUpdate as above.
 * @param held so many numbers of the state have tangents of zero by construction, those that come first
 */
export function historyTangentPrograms(
  step: TracedStep,
  jacobian: JacobianProgram | undefined,
  count: number,
  held = 0,
): ProgramsOf<HistoryTangentProgram> {
  const {
    functions,
    inputs: {x, z, t, h, theta, next, inside: insideInput},
  } = step;
  const {residual, update, dense, inside, events, jump: jumps = []} = functions;
  const many = tangentSeed(count);
  const parameters = parametersOf(step).map(node => many(node, directionName(node)));
  const place = [many(x, 'dx'), many(t, 'dt'), ...parameters];
  const whole = [...place, many(h, 'dh')];
  const supports =
    held === 0
      ? undefined
      : new Map([
          [
            x,
            constant(
              new Float64Array(x.shape[0]).map((_, i) => (i < held ? 0 : 1)),
              x.shape,
            ),
          ],
        ]);
  const push = (node: Node, seeds: readonly [Node, Node][]): Node =>
    tangentsAlong([node], new Map(seeds), count, supports)[0];
  const withUnknown = residual === undefined ? whole : [...whole, many(z, 'dz')];
  const {pushLength, pushLengthUpdate} = historyAdjointPrograms(
    {...step, functions: {...functions, dense: undefined, events: undefined, jump: undefined}},
    jacobian,
    false,
  );
  const pushedUpdate = (): Graph => {
    const outputs = inside === undefined ? [update] : [update, inside];
    const [dNext, dInside] = tangentsAlong(outputs, new Map(withUnknown), count, supports) as (Node | undefined)[];
    return graphOf({dNext, dInside});
  };
  const programs: {[Name in HistoryTangentProgram]?: Graph} = {pushUpdate: pushedUpdate(), pushLengthUpdate};
  if (residual !== undefined && jacobian !== undefined) {
    programs.jacobian = graphOf({J: jacobian.values});
    programs.pushResidual = graphOf({rhs: neg(push(residual, whole))});
    programs.pushLength = pushLength;
  }
  if (dense !== undefined && theta !== undefined && next !== undefined) {
    programs.pushDense = graphOf({
      dD: push(dense, [
        ...withUnknown,
        many(next, 'dNext'),
        many(theta, 'dtheta'),
        ...(insideInput === undefined ? [] : [many(insideInput, 'dInside')]),
      ]),
    });
    if (insideInput !== undefined && programs.pushDense.inputs.includes(insideInput))
      programs.inside = graphOf({inside});
  }
  if (events !== undefined) programs.pushEvents = graphOf({de: push(events, place)});
  jumps.forEach((jump, i) => {
    if (jump !== undefined) programs[`pushJump.${i}`] = graphOf({dGiven: push(jump, place)});
  });
  return programs;
}
