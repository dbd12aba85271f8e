/**
 * Traces a scheme and a system together, once, with the state x, the unknown z,
 * time, step and every parameter as named inputs. Everything else is derived from the graphs that it
 * returns; nothing else uses tensors.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {input, reshape} from '../graph/build.js';
import type {Node, Shape} from '../graph/node.js';
import {DENSE_LIMIT} from '../linear/null-space.js';
import {isAttracting, modeBlock} from '../graph/switches.js';
import {rowScale} from '../scheme/constrained.js';
import {contactLaws} from '../scheme/moreau.js';
import {
  derivativeOf,
  usesTrialStep,
  type Formulation,
  type Guess,
  type Scheme,
  type StepPoint,
} from '../scheme/scheme.js';
import {startOfRun} from '../scheme/start.js';
import {duringStep, timesBetween} from '../system/breaks.js';
import type {Coefficients} from '../system/coefficients.js';
import type {Blocks, UserBlock} from '../system/equations.js';
import {kinematicsCheck} from '../system/general-mechanics.js';
import {isGeneral, type MechanicalSystem} from '../system/mechanics.js';
import type {Leaf, Params} from '../system/params.js';
import {derivativeAlong} from '../trace/differentials.js';
import {constantTensor, trace, within} from '../trace/trace.js';
import type {OutputRequest} from './requested-outputs.js';
import {RequestedOutputs} from './requested-outputs.js';
import {joinBlocks, namedBlocks, splitBlocks} from './blocks.js';
import type {ConstraintOptions, StepFormulation, System} from './formulation.js';
import {
  blocksOfShape,
  formulationOf,
  hasMassMatrix,
  maxIndexOf,
  isConstrained,
  partOf,
  defaultConstraintOptions,
  requireWholeMultipliers,
  stateBlocks,
} from './formulation.js';
import {Layout} from './layout.js';
import {extendedOutputs} from './lift.js';
import {nameOf, ParameterList} from './parameter-list.js';
import {carriedParts, shapesOf} from './shapes.js';
import type {TraceContext} from './trace-context.js';
import {
  EvaluationCount,
  inspectConstraints,
  hasOwnKinematics,
  multiplierCount,
  modeParts,
  multiplierPart,
  stepPointOf,
  scoped,
  unknownLayout,
} from './trace-context.js';
import {SystemSwitches, type SwitchScope} from '../system/switches.js';
import type {TracedTensors} from './step-functions.js';
import {functionsFrom} from './step-functions.js';
import type {Evaluations, TracedRun, TracedStep} from './traced-step.js';

/** A function of the state whose values are saved with it. */
export type Observe<P = Params, Z extends string = never> = (at: ObservedAt<P, Z>) => tf.Tensor;
/** A state at its time: q, v and hidden states Z of a mechanical system, y of an ode. */
export type ObservedAt<P = Params, Z extends string = never> = ObservedState<P> & {readonly [K in Z]: tf.Tensor};
/** A state at its time, without hidden states. */
export interface ObservedState<P = Params> {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly y: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: P;
}

/** The step point with the force of the start in place of every force. */
function withFrozenForces(at: StepPoint): StepPoint {
  const force = at.kind === 'mechanics' ? at.force(at.x.q, at.x.v, at.t) : undefined;
  const rate = at.kind === 'ode' && !at.hasMassMatrix ? at.rate(at.x, at.t) : undefined;
  const rightHandSide = at.kind === 'ode' ? at.rightHandSide(at.x, at.t) : undefined;
  return {
    ...at,
    force: (...place) => force ?? at.force(...place),
    rate: (...place) => rate ?? at.rate(...place),
    rightHandSide: (...place) => rightHandSide ?? at.rightHandSide(...place),
  };
}

const omitUndefined = (blocks: TracedTensors): Blocks =>
  Object.fromEntries(Object.entries(blocks).filter((entry): entry is [string, tf.Tensor] => entry[1] !== undefined));

/**
 * @param blocks the user's blocks, or the shape that they share
 * @throws TraceError, ShapeError, OptionError where the user's functions cannot be traced
 */
export function traceRun(
  system: System,
  scheme: Scheme,
  blocks: readonly UserBlock[] | Shape,
  leaves: readonly Leaf[],
  options: ConstraintOptions = defaultConstraintOptions,
  observe?: Observe,
  request?: OutputRequest,
): TracedRun {
  const run = traceOnce(system, scheme, blocks, leaves, options, observe, request);
  const {switches} = run;
  if (switches !== undefined && canLocate(system)) {
    const hold = (): TracedRun =>
      traceOnce(system, scheme, blocks, leaves, {...options, held: switches}, observe, request);
    const held = hold();
    if (!maySlide(system, held.step, switches, leaves)) return held;
    switches.slide();
    return hold();
  }
  const ignored = switches?.events.map(({name}) => name);
  const plain = {...run, switches: undefined, step: {...run.step, ignoredSwitches: ignored}};
  if (system.kind !== 'ode' || system.delays === undefined) return plain;
  // Which jumps it meets is only known now, and they are breaking points of its steps.
  const jumps = timesBetween(
    [...run.breaks].map(one => one.jumps),
    -Infinity,
    Infinity,
  );
  if (jumps.length === 0) return plain;
  const divided = traceOnce(system, scheme, blocks, leaves, {...options, switches: 'ignore', jumps}, observe, request);
  return {...divided, step: {...divided.step, ignoredSwitches: ignored}};
}

function traceOnce(
  system: System,
  scheme: Scheme,
  blocks: readonly UserBlock[] | Shape,
  leaves: readonly Leaf[],
  options: ConstraintOptions,
  observe?: Observe,
  request?: OutputRequest,
): TracedRun {
  const plain = formulationOf(scheme, system, options);
  const userBlocks = isShape(blocks) ? blocksOfShape(system, blocks) : blocks;
  const list = new ParameterList(leaves);
  try {
    const facts = inspectConstraints(system, userBlocks, list);
    requireWholeMultipliers(scheme, system, options, facts.readers);
    const readsMultipliers = facts.readers.size > 0;
    const formulation = readsMultipliers ? formulationOf(scheme, system, {...options, readsMultipliers}) : plain;
    const context: TraceContext = {
      system,
      scheme,
      formulation,
      userBlocks,
      shapes: shapesOf(userBlocks, formulation),
      list,
      t: input('t', []),
      h: input('h', []),
      regularization: input('regularization', []),
      relaxation: input('relaxation', []),
      proximity: input('proximity', []),
      ...facts,
      breaks: new Set(),
      backwards: options.backwards,
      switches: options.switches === 'locate' ? (options.held ?? new SystemSwitches()) : undefined,
      holdsSwitches: options.held !== undefined,
    };
    // Steps that take only index 1 count on algebraic components that obey their equations where they begin, also
    // after an input has jumped; of others it is known only where they are to be found.
    const projects = options.consistent === 'project';
    const index = maxIndexOf(formulation);
    const makesConsistent = hasMassMatrix(system) && (index === 1 || (projects && index === 2));
    const project = projects || (makesConsistent && options.restartsAtJumps === true);
    const hasDelays = system.kind === 'ode' && system.delays !== undefined;
    const {start, state} = traceStart(context, formulation, project);
    const step = traceStep(context, formulation, state, observe, request);
    return {
      start,
      step,
      breaks: context.breaks,
      // A dde carries its past, which outlives any jump of an input, and divides its steps there (scheme/delayed.ts).
      carries: makesConsistent || (formulation.carry !== undefined && !hasDelays),
      locatesJumps: options.switches === 'locate' && !hasDelays,
      unread: list.reads.unread(leaves),
      ...(context.switches !== undefined && context.switches.size > 0 ? {switches: context.switches} : {}),
    };
  } catch (error) {
    throw list.reads.misspelt(leaves, error) ?? error;
  }
}

/** Whether switches can be located: noise crosses a border without end, and a delay repeats every jump. */
const canLocate = (system: System): boolean =>
  system.kind !== 'ode' || (system.noise === undefined && system.delays === undefined);

/** Whether the motion may slide along borders, as far as its equations are made for that. */
function maySlide(
  system: System,
  {functions, inputs, state}: TracedStep,
  {events: switches}: SystemSwitches,
  leaves: readonly Leaf[],
): boolean {
  const {events, rates, outcomes} = functions;
  const modes = state.block(modeBlock);
  if (events === undefined || rates === undefined || outcomes === undefined || modes === undefined) return false;
  if (isConstrained(system) || hasMassMatrix(system) || (system.kind === 'mechanics' && isGeneral(system)))
    return false;
  const first = events.size - switches.length;
  const borders = switches.flatMap(({mode, change, course}, i) =>
    change === 'side' && course.state ? [{event: first + i, mode}] : [],
  );
  return isAttracting(
    {values: events, rates, outcomes, state: inputs.x, offset: modes.offset},
    borders,
    ({attributes}) => (attributes.name.startsWith('p.') ? leaves[Number(attributes.name.slice(2))]?.values : undefined),
  );
}

/** A step leaves the modes as they are. */
const withModes = (x: Blocks, next: Blocks): Blocks => (modeBlock in x ? {...next, [modeBlock]: x[modeBlock]} : next);

const isShape = (blocks: readonly UserBlock[] | Shape): blocks is Shape =>
  (blocks as readonly unknown[]).every(n => typeof n === 'number');

/** What a mechanical system tells of itself beside its equations. */
const knownOf = ({notFinite, freeMotion, nearNullSpace}: MechanicalSystem): Partial<TracedStep> => ({
  notFinite,
  freeMotion,
  nearNullSpace,
});

/** A formulation's own functions over the inputs x, z, t, h, as nodes. */
function traceFormulation(
  context: TraceContext,
  formulation: Formulation,
  name: string,
  state: Layout,
  update: (blocks: Blocks) => tf.Tensor,
  more: (at: StepPoint, params: Params, z: Blocks, tensors: Blocks, scope: SwitchScope | undefined) => TracedTensors,
  inputs: readonly Node<'input'>[] = [],
): TracedStep & {readonly named: ReadonlyMap<string, Node>} {
  const {system, shapes, list, t, h, regularization, relaxation, proximity} = context;
  const unknown = unknownLayout(context, formulation);
  const x = input('x', [state.size]);
  const z = input('z', [unknown.size]);
  const anchor = input('anchor', [Math.max(1, multiplierCount(context))]);
  const defectLayout = new Layout(
    stateBlocks(system)
      .slice(0, 1)
      .map(block => ({name: block, shape: shapes.velocity})),
  );
  const defect = input('defect', [defectLayout.size]);
  let hasDefect = false;
  let linearized = false;
  let evaluations: Evaluations = {start: 0, update: 0, residual: 0};
  const traced = trace(
    scoped(context, state, (tensors, x, scope) => {
      const count = new EvaluationCount();
      const {at, params} = stepPointOf(context, tensors, x, count, scope);
      requireSteadyMass(context, at);
      const blocks = splitBlocks(unknown, tensors.z);
      const rowsAndUpdate = (): TracedTensors => {
        const next = update(withModes(x, at.projectState(formulation.update(blocks, at))));
        const ofUpdate = count.elsewhere;
        evaluations = {start: count.start, update: ofUpdate, residual: 0};
        const {residual} = formulation;
        if (residual === undefined) return {update: next};
        const guess: Guess = formulation.guess?.(at) ?? {z: {}};
        linearized = guess.linearized === true;
        hasDefect = guess.defect !== undefined;
        const broken: StepPoint = hasDefect ? {...at, defect: splitBlocks(defectLayout, tensors.defect)} : at;
        const rows = (point: StepPoint): tf.Tensor => joinBlocks(unknown, residual(blocks, point), `${name}: residual`);
        const before = count.elsewhere;
        const own = rows(at);
        evaluations = {start: count.start, update: ofUpdate, residual: count.elsewhere - before};
        return {
          update: next,
          residual: own,
          guess: joinBlocks(unknown, {...defaultGuess(unknown, at), ...guess.z}, `${name}: guess`),
          defect: guess.defect === undefined ? undefined : joinBlocks(defectLayout, guess.defect, `${name}: defect`),
          defectResidual: hasDefect ? rows(broken) : undefined,
          frozen: guess.frozenForce === true ? rows(withFrozenForces(broken)) : undefined,
        };
      };
      return omitUndefined({
        ...duringStep(at.t, at.h, context.breaks, rowsAndUpdate),
        ...more(at, params, blocks, tensors, scope),
      });
    }),
    [
      {name: 'x', shape: x.shape},
      {name: 'z', shape: z.shape},
      {name: 't', shape: []},
      {name: 'h', shape: []},
      {name: 'regularization', shape: []},
      {name: 'relaxation', shape: []},
      {name: 'proximity', shape: []},
      {name: 'anchor', shape: anchor.shape},
      {name: 'defect', shape: defect.shape},
      ...inputs.map(node => ({name: node.attributes.name, shape: node.shape})),
      ...list.traceInputs(),
    ],
  );
  const {graph} = traced;
  const extended = extendedOutputs(traced);
  const all = {...traced, graph: {...graph, outputs: [...graph.outputs, ...(extended?.outputs ?? [])]}};
  const nodes = list.adopt(all, [x, z, t, h, regularization, relaxation, proximity, anchor, defect, ...inputs]);
  return {
    name,
    order: context.scheme.order,
    ...(context.backwards === true ? {backwards: true, dissipative: context.scheme.dissipative} : {}),
    ...(context.holdsSwitches ? {switches: context.switches?.events} : {}),
    unlocatedJumps: context.switches?.unlocated,
    positionLevelOnly: context.formulation.positionLevelOnly,
    energyDrifts: context.formulation.energyDrifts,
    ...(context.system.kind === 'mechanics' ? knownOf(context.system) : {}),
    stepDivision: context.formulation.stepDivision,
    state,
    unknown,
    parameters: list.parameters,
    linearized,
    evaluations,
    named: nodes,
    inputs: {
      x,
      z,
      t,
      h,
      unknowns: extended?.unknowns,
      defect: hasDefect ? defect : undefined,
      ...Object.fromEntries(inputs.map(node => [node.attributes.name, node])),
    },
    functions: {
      ...functionsFrom(nodes),
      residualBlocks: nodes.get(nameOf('residual', 'jacobian')),
      residualModel: nodes.get(nameOf('residual', 'matrix')),
      defectBlocks: nodes.get(nameOf('defectResidual', 'jacobian')),
      defectModel: nodes.get(nameOf('defectResidual', 'matrix')),
    },
  };
}

/** @throws OptionError 'wrong-scheme' where the mass of an ode changes and the scheme takes it for constant */
function requireSteadyMass({scheme, formulation}: TraceContext, {massIsVariable}: StepPoint): void {
  if (massIsVariable !== true || formulation.supports?.mass !== 'steady') return;
  throw new OptionError(
    'wrong-scheme',
    `The mass is a function of y or t, which scheme ${scheme.name} does not support: choose radauIIA5(), `
      + 'kvaerno5(), bdf2(), gaussLegendre() or implicitEuler().',
    {scheme: scheme.name},
  );
}

function traceStep(
  context: TraceContext,
  formulation: StepFormulation,
  state: Layout,
  observe?: Observe,
  request?: OutputRequest,
): TracedStep {
  const {scheme} = context;
  let observedShape: Shape = [];
  const requested =
    request === undefined
      ? undefined
      : new RequestedOutputs(
          request,
          scheme,
          formulation,
          state,
          unknownLayout(context, formulation),
          stateBlocks(context.system),
          context,
        );
  const {named, ...step} = traceFormulation(
    context,
    formulation,
    scheme.name,
    state,
    blocks => joinBlocks(state, blocks, `${scheme.name}: update`),
    (at, params, z, tensors, scope) => {
      const blocksSeen = namedBlocks(state, tensors.x, at.x);
      // What is saved has the user's times.
      const observed = observe === undefined ? undefined : observedTensor(observe, blocksSeen, tensors.t, params);
      if (observed !== undefined) observedShape = observed.shape;
      return {
        observed,
        touching: touchingAt(at),
        contactLaws: contactLaws(z, at),
        ...requested?.trace(at, params, z, tensors, blocksSeen, context.breaks, scope),
      };
    },
    requested?.inputs,
  );
  const {observed} = step.functions;
  const finished = requested?.finish(named, step.functions, step.inputs);
  return {
    ...step,
    inputs: {...step.inputs, ...finished?.inputs},
    functions: {
      ...step.functions,
      ...finished?.functions,
      observed: observed === undefined ? undefined : reshape(observed, [observed.size]),
    },
    observedShape: observed === undefined ? undefined : observedShape,
    errorInfo: finished?.errorInfo,
  };
}

const touchingAt = (at: StepPoint): tf.Tensor | undefined =>
  at.constraints?.degeneracyMargin({q: at.x.q, v: at.x.v, t: at.t}, at.x.lambda, rowScale(at, at.h, 1));

/** What the user's `observe` gives for the state. */
function observedTensor(observe: Observe, x: Blocks, t: tf.Tensor, params: Params): tf.Tensor {
  return within('observe', () => {
    const observed = observe({...x, t, params} as Parameters<Observe>[0]);
    if (!(observed instanceof tf.Tensor))
      throw new ShapeError('observe-shape', `observe must return a tensor, not ${typeof observed}.`);
    return observed;
  });
}

/** Unknown blocks named like the state's start there; stages and accelerations start at zero. */
function defaultGuess(unknown: Layout, {x, hasKinematicsOrStates}: StepPoint): Blocks {
  return Object.fromEntries(
    unknown.blocks.map(({name, shape}) => [
      name,
      // A position is an increment there.
      name in x && !(hasKinematicsOrStates && name === 'q') ? x[name] : tf.zeros([...shape]),
    ]),
  );
}

/**
 * The start of a run: what the scheme carries, made from q and v; with constraints by equations of its
 * own. The mass, and how far the given state is from the constraints, are there to be checked.
 */
function traceStart(
  context: TraceContext,
  formulation: StepFormulation,
  project: boolean,
): {start: TracedStep; state: Layout} {
  const {system, scheme} = context;
  const own = new Layout([
    ...context.userBlocks.map(({name, shape}) => {
      const of = partOf(system, formulation, name);
      return {name, shape, partOf: of, derivative: derivativeOf(formulation, of ?? name)};
    }),
    ...modeParts(context),
  ]);
  const held = isConstrained(system) && formulation.multipliers !== undefined;
  const {dissipative} = scheme;
  const withMass = hasMassMatrix(system);
  const hiddenEquations = withMass && project && maxIndexOf(formulation) === 2 && own.size <= DENSE_LIMIT;
  const starting = startOfRun(formulation, {held, withMass, hiddenEquations, project, dissipative});
  let state = own;
  const whole = (blocks: Blocks): tf.Tensor => {
    const carried = Object.entries(blocks).filter(([name]) => !own.schemeBlocks.some(block => block.name === name));
    state = new Layout([
      ...own.blocks,
      ...carried.flatMap(([name, tensor]) =>
        formulation.multipliers?.includes(name) === true
          ? [multiplierPart(context, name)]
          : carriedParts(context.userBlocks, formulation, {
              name,
              shape: tensor.shape,
              derivative: derivativeOf(formulation, name),
            }),
      ),
    ]);
    return joinBlocks(state, blocks, 'carry');
  };
  let coefficients: Coefficients | undefined;
  const {named: _named, ...start} = traceFormulation(
    context,
    starting,
    `the start of ${scheme.name}`,
    own,
    whole,
    (at, _params, _z, tensors) => ({
      coefficients: (coefficients = at.constraints?.coefficients())?.values,
      delays: delaysAt(at),
      seed: at.noise?.seed,
      mass:
        system.kind === 'mechanics' && !at.hasMassMatrix ? at.massAt(namedBlocks(own, tensors.x, at.x).q) : undefined,
      ...(at.hasMassMatrix ? rightHandSideAt(at, tensors.shift) : {}),
      ...gapsAt(at),
      kinematics: hasOwnKinematics(system) ? kinematicsCheck(at, namedBlocks(own, tensors.x, at.x)) : undefined,
    }),
    [
      ...(withMass ? [input('shift', [own.size])] : []),
      ...(hiddenEquations ? [input('projection', [2, own.size, own.size])] : []),
    ],
  );
  return {
    start: {
      ...start,
      isInitialStep: true,
      isEquilibrium: scheme.order === 0,
      usesTrialStep: usesTrialStep(formulation, 'first'),
      maxIndex: maxIndexOf(formulation),
      coefficients: coefficients?.parts,
    },
    state,
  };
}

/** The longest that is kept, and the delays. */
const delaysAt = ({delay}: StepPoint): tf.Tensor | undefined =>
  delay === undefined ? undefined : tf.stack([constantTensor([delay.longest], []), ...delay.values()]);

/** f of M y' = f, its derivative along `shift`, and that by time, flat; with the mass. */
function rightHandSideAt({x: {y}, t, rightHandSide, massAt}: StepPoint, shift: tf.Tensor): TracedTensors {
  const flat = (f: tf.Tensor): tf.Tensor => tf.reshape(f, [f.size]);
  const f = (place: Blocks): tf.Tensor => flat(rightHandSide({y: place.y}, place.t).y);
  const along = (direction: Blocks): tf.Tensor => derivativeAlong(f, {y, t}, direction);
  return {
    mass: massAt(y, t),
    rightHandSide: f({y, t}),
    rightHandSideAlong: along({y: tf.reshape(shift, y.shape)}),
    rightHandSideRate: along({t: tf.onesLike(t)}),
  };
}

function gapsAt({constraints, x, t, h}: StepPoint): TracedTensors {
  if (constraints === undefined) return {};
  const none = tf.zeros([constraints.count]);
  return {
    positions: constraints.positions({q: x.q, v: x.v, t}, none),
    velocities: constraints.velocities({q: x.q, v: x.v, t}, none, true),
    depths: constraints.penetration({q: x.q, v: x.v, t}, h),
  };
}
