/**
 * A scheme and a system become one program: traced together, once, with the state x, the unknown z,
 * time, step and every parameter as named inputs. Everything after this file is derived from what it
 * returns; nothing after it sees a tensor.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {input, reshape} from '../graph/build.js';
import type {Node, Shape} from '../graph/node.js';
import type {Form} from '../graph/newton-matrix.js';
import {formsOf, settled} from '../graph/newton-matrix.js';
import {simplifyNodes, substitute} from '../graph/simplify.js';
import {consistentStart, gearGuptaLeimkuhler, rowScale, velocityProjection, velocityProjectionBefore} from '../scheme/constrained.js';
import type {Formulation, Guess, Scheme, StepPoint} from '../scheme/scheme.js';
import type {Constraints} from '../system/constraints.js';
import {constraintEquations, constraintSizes, isHardContact} from '../system/constraints.js';
import type {Blocks, Equations} from '../system/equations.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {mechanicalEquations} from '../system/mechanics.js';
import type {OdeSystem} from '../system/ode.js';
import {odeEquations} from '../system/ode.js';
import type {Leaf, Params} from '../system/params.js';
import {toTree} from '../system/params.js';
import {derivativeAlong} from '../trace/differentials.js';
import type {Trace, TraceInput} from '../trace/trace.js';
import {constantTensor, trace, within} from '../trace/trace.js';
import type {Along} from './along.js';
import {AlongTrace} from './along.js';
import {joinBlocks, splitBlocks} from './blocks.js';
import type {Part} from './layout.js';
import {Layout} from './layout.js';
import type {TracedAlong} from './traced-along.js';

export type System = MechanicalSystem | OdeSystem;

/** Something the program reads and gradients reach: a leaf of the parameters, or a captured tensor. */
export interface Parameter {
  readonly node: Node<'input'>;
  readonly leaf?: Leaf;
  /** A captured tensor or variable; its value is read anew for every run. */
  readonly tensor?: tf.Tensor;
}

/** The functions of one step, as nodes over shared inputs. */
export interface TracedStep {
  readonly name: string;
  readonly order: number;
  readonly state: Layout;
  readonly unknown: Layout;
  readonly parameters: readonly Parameter[];
  readonly x: Node<'input'>;
  readonly z: Node<'input'>;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  readonly residual?: Node;
  /** The residual with its derivative by blocks, and its model, where Newton's matrix is to be made from that (graph/newton-matrix.ts). */
  readonly residualBlocks?: Node;
  readonly residualModel?: Node;
  readonly update: Node;
  readonly guess?: TracedGuess;
  /** What the user observes of a state, as a function of x, t and the parameters. */
  readonly observed?: TracedObservation;
  /** Of a state with exact contacts: how far each is from being neither open nor closed, as a length. */
  readonly touching?: Node;
  /** M(q) of a start, in the shape the user gave it. */
  readonly mass?: Node;
  /** Of a start with constraints: φ, φ' and ψ of the state it was given. */
  readonly gaps?: {readonly positions: Node; readonly velocities: Node};
  /** See `Formulation.still`; of the start. */
  readonly still?: boolean;
  /** Error estimate, dense output and events, where the run asks for them. */
  readonly along?: TracedAlong;
}

/** A run's two kinds of step: the one that begins it, from the user's own blocks to the whole state, and all others. */
export interface TracedRun {
  readonly start: TracedStep;
  readonly step: TracedStep;
}

export interface TracedObservation {
  /** Flat. */
  readonly node: Node;
  readonly shape: Shape;
}

/** A function of the state whose values are saved beside it. */
export type Observe = (at: {readonly q: tf.Tensor; readonly v: tf.Tensor; readonly y: tf.Tensor; readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor;

export interface TracedGuess {
  readonly z: Node;
  /** The eliminated kinematics' defect as a function of x, and the input that stands for it. */
  readonly defect?: {readonly value: Node; readonly input: Node<'input'>; readonly residual: Node; readonly residualBlocks?: Node; readonly residualModel?: Node};
  /** The first residual, its forces those of the step's start. */
  readonly frozen?: Node;
  readonly linearized: boolean;
}

export function equationsOf(system: System, params: Params): Equations {
  return system.kind === 'mechanics' ? mechanicalEquations(system, params) : odeEquations(system, params);
}

export const isConstrained = (system: System): boolean => system.kind === 'mechanics' && system.constraints.length > 0;

/** What a run asks of its constraints, beside the scheme. */
export interface Holding {
  /** Default: 'projection' where there are hard contacts, else 'none'. */
  readonly stabilization?: 'none' | 'projection' | 'projection-before' | 'ggl';
  readonly consistent: 'check' | 'project';
}

const plain: Holding = {consistent: 'check'};

/** GGL stabilizes bilateral rows; the velocity of contacts that close is projected with it. */
const stabilizations: {readonly [S in NonNullable<Holding['stabilization']>]: (base: Formulation, contacts: boolean) => Formulation} = {
  none: base => base,
  projection: velocityProjection,
  'projection-before': velocityProjectionBefore,
  ggl: (base, contacts) => (contacts ? velocityProjection(gearGuptaLeimkuhler(base), true) : gearGuptaLeimkuhler(base)),
};

const hasHardContacts = (system: System): boolean => system.kind === 'mechanics' && system.constraints.some(isHardContact);

/** @throws OptionError where the scheme has no such stabilization, or does not hold a contact */
function held({name, constrained, stabilized, contacts: able}: Scheme, system: MechanicalSystem, {stabilization}: Holding): Formulation {
  const index = able === undefined ? -1 : system.constraints.findIndex(constraint => constraint.kind === 'unilateral' && (able === 'none' || isHardContact(constraint)));
  if (index >= 0) {
    const remedy = able === 'none' ? '' : ' Or give it compliance or smoothing.';
    throw new OptionError('wrong-scheme', `Scheme ${name} cannot hold the contact constraints[${index}]: choose one that stops what lands, as generalizedAlpha(), newmark() or implicitEuler().${remedy}`, {scheme: name, constraint: index});
  }
  if (constrained === undefined) {
    throw new OptionError('wrong-scheme', `Scheme ${name} cannot hold constraints: choose an implicit one, as generalizedAlpha(), implicitMidpoint() or radauIIA5().`, {scheme: name});
  }
  const contacts = hasHardContacts(system);
  const wanted = stabilization ?? (contacts ? 'projection' : 'none');
  const own = wanted === 'none' ? undefined : stabilized?.[wanted];
  if (own === null) {
    throw new OptionError('wrong-scheme', `Scheme ${name} has no stabilization '${wanted}': it holds positions and velocities at the end of every step without it. Leave the option out.`, {scheme: name, stabilization: wanted});
  }
  if (own === undefined) return stabilizations[wanted](constrained, contacts);
  return contacts ? velocityProjection(own, true) : own;
}

/** @throws OptionError where the scheme is not for this kind of system */
export function formulationOf(scheme: Scheme, system: System, holding: Holding = plain): Formulation {
  if (system.kind === 'mechanics' && isConstrained(system)) {
    return held(scheme, system, holding);
  }
  const formulation = scheme[system.kind];
  if (formulation === undefined) {
    const other = system.kind === 'ode' ? 'mechanics({...})' : 'ode(...)';
    throw new OptionError('wrong-scheme', `Scheme ${scheme.name} integrates ${other}, not ${system.kind}: choose another scheme.`, {scheme: scheme.name});
  }
  return formulation;
}

export const stateBlocks = (system: System): readonly string[] => (system.kind === 'mechanics' ? ['q', 'v'] : ['y']);

const nameOf = (output: string, form: Form): string => (form === 'value' ? output : `${output}, ${form}`);

/** Traces collect parameters; one captured by two of them is one parameter. */
class ParameterList {
  readonly parameters: Parameter[];

  constructor(private readonly leaves: readonly Leaf[]) {
    this.parameters = leaves.map((leaf, i) => ({node: input(`p.${i}`, leaf.shape), leaf}));
  }

  traceInputs(): TraceInput[] {
    return this.leaves.map((leaf, i) => ({name: `p.${i}`, shape: leaf.shape}));
  }

  tree(tensors: Blocks): Params {
    return toTree(this.leaves, this.leaves.map((_, i) => tensors[`p.${i}`]));
  }

  /** The outputs of a trace over the shared inputs: those given by name, then the parameters. */
  adopt({graph, captured}: Trace, shared: readonly Node<'input'>[]): Map<string, Node> {
    const replacements = new Map<Node, Node>();
    const byName = new Map([...shared, ...this.parameters.map(({node}) => node)].map(node => [node.attributes.name, node]));
    const capturedNodes = new Set<Node>(captured.map(({node}) => node));
    for (const node of graph.inputs) {
      const same = byName.get(node.attributes.name);
      if (same !== undefined && !capturedNodes.has(node)) replacements.set(node, same);
    }
    for (const {tensor, node} of captured) {
      let known = this.parameters.find(parameter => parameter.tensor === tensor);
      if (known === undefined) {
        known = {node: input(`p.${this.parameters.length}`, node.shape), tensor};
        this.parameters.push(known);
      }
      replacements.set(node, known.node);
    }
    const nodes = substitute(graph.outputs.map(output => output.node), replacements);
    const outputs = graph.outputs.map(({name}, i) => ({name, node: nodes[i]}));
    const forms = outputs.flatMap(({name, node}) => formsOf(node).map(form => ({name: nameOf(name, form), node, form})));
    const all = (['value', 'jacobian', 'matrix'] as const).flatMap(form => {
      const these = forms.filter(output => output.form === form);
      return settled(these.map(({node}) => node), form).map((node, i) => ({name: these[i].name, node}));
    });
    const simplified = simplifyNodes(all.map(({node}) => node), [...shared, ...this.parameters.map(({node}) => node)]);
    return new Map(all.map(({name}, i) => [name, simplified[i]]));
  }
}

/** The same step point with every force that of the start. */
function frozen(at: StepPoint): StepPoint {
  const force = at.kind === 'mechanics' ? at.force(at.x.q, at.x.v, at.t) : undefined;
  const rate = at.kind === 'ode' ? at.rate(at.x, at.t) : undefined;
  return {
    ...at,
    force: (...place) => force ?? at.force(...place),
    rate: (...place) => rate ?? at.rate(...place),
  };
}

const withoutUndefined = (blocks: {readonly [name: string]: tf.Tensor | undefined}): Blocks =>
  Object.fromEntries(Object.entries(blocks).filter((entry): entry is [string, tf.Tensor] => entry[1] !== undefined));

/** What is traced, and what all its traces share. */
interface Subject {
  readonly system: System;
  readonly scheme: Scheme;
  readonly shape: Shape;
  readonly list: ParameterList;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  readonly relief: Node<'input'>;
  /** Rows of each constraint. */
  readonly sizes: readonly number[];
}

/**
 * @param shape the shape of q, or of y
 * @throws TraceError, ShapeError, OptionError where the user's functions cannot be traced
 */
export function traceRun(system: System, scheme: Scheme, shape: Shape, leaves: readonly Leaf[], holding: Holding = plain, observe?: Observe, along?: Along): TracedRun {
  const formulation = formulationOf(scheme, system, holding);
  const list = new ParameterList(leaves);
  const subject: Subject = {system, scheme, shape, list, t: input('t', []), h: input('h', []), relief: input('relief', []), sizes: sizesOf(system, shape, list)};
  const {start, state} = traceStart(subject, formulation, holding.consistent === 'project');
  return {start, step: traceStep(subject, formulation, state, observe, along)};
}

/** The rows of each constraint, from a trace that has no other use. */
function sizesOf(system: System, shape: Shape, list: ParameterList): readonly number[] {
  if (system.kind !== 'mechanics' || system.constraints.length === 0) return [];
  let sizes: readonly number[] = [];
  trace(({q, v, t, ...parameters}) => {
    sizes = constraintSizes(system.constraints, {q, v, t}, list.tree(parameters));
    return {};
  }, [{name: 'q', shape}, {name: 'v', shape}, {name: 't', shape: []}, ...list.traceInputs()]);
  return sizes;
}

/** A step's point from the inputs of its trace. */
function pointOf({system, list, sizes}: Subject, tensors: Blocks, x: Blocks): {at: StepPoint; params: Params} {
  const params = list.tree(tensors);
  const equations = equationsOf(system, params);
  const constraints: Constraints | undefined = system.kind === 'mechanics' && sizes.length > 0 ? constraintEquations(system.constraints, sizes, params) : undefined;
  const jerk = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor =>
    derivativeAlong(place => equations.acceleration(place.q, place.v, place.t), {q, v, t}, {q: v, v: equations.acceleration(q, v, t), t: constantTensor(1, [])});
  return {params, at: {...equations, constraints, relief: tensors.relief, settle: q => q, jerk, normalJerk: () => tf.zerosLike(x.q), x, t: tensors.t, h: tensors.h}};
}

const multiplierCount = ({sizes}: Subject): number => sizes.reduce((sum, size) => sum + size, 0);

function unknownLayout(subject: Subject, {unknown, multipliers = []}: Formulation): Layout {
  const {shape} = subject;
  return new Layout([...unknown.map(name => ({name, shape})), ...multipliers.map(name => multiplierPart(subject, name))]);
}

const multiplierPart = (subject: Subject, name: string): Part => ({name, shape: [multiplierCount(subject)], labels: rowLabels(subject)});

/** The constraint of every row: 'constraints[0]' of one row, 'constraints[1] row 2' of several. */
const rowLabels = ({sizes}: Subject): string[] =>
  sizes.flatMap((size, index) => Array.from({length: size}, (_, row) => (size === 1 ? `constraints[${index}]` : `constraints[${index}] row ${row}`)));

/** A formulation's own functions over the inputs x, z, t, h, as nodes. */
function traceFormulation(
  subject: Subject, formulation: Formulation, name: string, state: Layout, update: (blocks: Blocks) => tf.Tensor, more: (at: StepPoint, params: Params, z: Blocks, tensors: Blocks) => {[name: string]: tf.Tensor | undefined},
  inputs: readonly Node<'input'>[] = [],
): TracedStep & {readonly named: ReadonlyMap<string, Node>} {
  const {system, shape, list, t, h, relief} = subject;
  const unknown = unknownLayout(subject, formulation);
  const x = input('x', [state.size]);
  const z = input('z', [unknown.size]);
  const defectLayout = new Layout(stateBlocks(system).slice(0, 1).map(block => ({name: block, shape})));
  const defect = input('defect', [defectLayout.size]);
  let hasDefect = false;
  let linearized = false;
  const traced = trace(tensors => {
    const {at, params} = pointOf(subject, tensors, splitBlocks(state, tensors.x));
    const blocks = splitBlocks(unknown, tensors.z);
    const next = update(formulation.update(blocks, at));
    const {residual} = formulation;
    if (residual === undefined) return withoutUndefined({update: next, ...more(at, params, blocks, tensors)});
    const guess: Guess = formulation.guess?.(at) ?? {z: {}};
    linearized = guess.linearized === true;
    hasDefect = guess.defect !== undefined;
    const broken: StepPoint = hasDefect ? {...at, defect: splitBlocks(defectLayout, tensors.defect)} : at;
    const rows = (point: StepPoint): tf.Tensor => joinBlocks(unknown, residual(blocks, point), `${name}: residual`);
    return withoutUndefined({
      update: next,
      residual: rows(at),
      guess: joinBlocks(unknown, {...defaultGuess(unknown, at.x), ...guess.z}, `${name}: guess`),
      defect: guess.defect === undefined ? undefined : joinBlocks(defectLayout, guess.defect, `${name}: defect`),
      broken: hasDefect ? rows(broken) : undefined,
      frozen: guess.frozenForce === true ? rows(frozen(broken)) : undefined,
      ...more(at, params, blocks, tensors),
    });
  }, [
    {name: 'x', shape: x.shape}, {name: 'z', shape: z.shape}, {name: 't', shape: []}, {name: 'h', shape: []}, {name: 'relief', shape: []},
    {name: 'defect', shape: defect.shape}, ...inputs.map(node => ({name: node.attributes.name, shape: node.shape})), ...list.traceInputs(),
  ]);
  const nodes = list.adopt(traced, [x, z, t, h, relief, defect, ...inputs]);
  const required = (output: string): Node => {
    const node = nodes.get(output);
    if (node === undefined) throw new Error(`the trace of ${name} gave no ${output}`);
    return node;
  };
  const common = {name, order: subject.scheme.order, state, unknown, parameters: list.parameters, x, z, t, h, update: required('update'), named: nodes};
  if (!nodes.has('residual')) return common;
  return {
    ...common,
    residual: required('residual'),
    residualBlocks: nodes.get(nameOf('residual', 'jacobian')),
    residualModel: nodes.get(nameOf('residual', 'matrix')),
    guess: {
      z: required('guess'),
      defect: !hasDefect ? undefined : {
        value: required('defect'), input: defect, residual: required('broken'),
        residualBlocks: nodes.get(nameOf('broken', 'jacobian')), residualModel: nodes.get(nameOf('broken', 'matrix')),
      },
      frozen: nodes.get('frozen'),
      linearized,
    },
  };
}

function traceStep(subject: Subject, formulation: Formulation, state: Layout, observe?: Observe, along?: Along): TracedStep {
  const {scheme} = subject;
  let observedShape: Shape = [];
  const beside = along === undefined ? undefined : new AlongTrace(along, scheme, formulation, state, unknownLayout(subject, formulation), stateBlocks(subject.system));
  const {named, ...step} = traceFormulation(subject, formulation, scheme.name, state, blocks => joinBlocks(state, blocks, `${scheme.name}: update`), (at, params, z, tensors) => {
    const observed = observe === undefined ? undefined : observedTensor(observe, at, params);
    if (observed !== undefined) observedShape = observed.shape;
    return {observed, touching: touchingAt(at), ...beside?.outputs(at, params, z, tensors)};
  }, beside?.inputs);
  const observed = named.get('observed');
  return {
    ...step,
    observed: observed === undefined ? undefined : {node: reshape(observed, [observed.size]), shape: observedShape},
    touching: named.get('touching'),
    along: beside?.traced(named, step.x, step.t),
  };
}

const touchingAt = (at: StepPoint): tf.Tensor | undefined =>
  at.constraints?.touching({q: at.x.q, v: at.x.v, t: at.t}, at.x.lambda, rowScale(at, at.h, 1));

/** What the user's `observe` gives for the state. */
function observedTensor(observe: Observe, {x, t}: StepPoint, params: Params): tf.Tensor {
  return within('observe', () => {
    const observed = observe({...x, t, params} as Parameters<Observe>[0]);
    if (!(observed instanceof tf.Tensor)) throw new ShapeError('observe-shape', `observe must return a tensor, not ${typeof observed}.`);
    return observed;
  });
}

/** Unknown blocks named like the state's start there; stages and accelerations start at zero. */
function defaultGuess(unknown: Layout, x: Blocks): Blocks {
  return Object.fromEntries(unknown.blocks.map(({name, shape}) => [name, x[name] ?? tf.zeros([...shape])]));
}

/**
 * The start of a run: what the scheme carries, made from q and v; with constraints by equations of its
 * own. The mass, and how far the given state is from the constraints, are there to be checked.
 */
function traceStart(subject: Subject, formulation: Formulation, project: boolean): {start: TracedStep; state: Layout} {
  const {system, scheme, shape} = subject;
  const own = new Layout(stateBlocks(system).map(name => ({name, shape})));
  const starting: Formulation = isConstrained(system) && formulation.multipliers !== undefined
    ? consistentStart(formulation, project)
    : {unknown: [], update: (_, at) => ({...at.x, ...formulation.carry?.(at)})};
  let state = own;
  const whole = (blocks: Blocks): tf.Tensor => {
    const carried = Object.entries(blocks).filter(([name]) => own.block(name) === undefined);
    state = new Layout([...own.blocks, ...carried.map(([name, tensor]) => (formulation.multipliers?.includes(name) === true ? multiplierPart(subject, name) : {name, shape: tensor.shape}))]);
    return joinBlocks(state, blocks, 'carry');
  };
  const {named, ...start} = traceFormulation(subject, starting, `the start of ${scheme.name}`, own, whole, at => ({
    mass: system.kind === 'mechanics' ? at.massAt(at.x.q) : undefined,
    ...gapsAt(at),
  }));
  const [positions, velocities] = [named.get('positions'), named.get('velocities')];
  const gaps = positions === undefined || velocities === undefined ? undefined : {positions, velocities};
  return {start: {...start, mass: named.get('mass'), gaps, still: formulation.still}, state};
}

function gapsAt({constraints, x, t}: StepPoint): {positions?: tf.Tensor; velocities?: tf.Tensor} {
  if (constraints === undefined) return {};
  const none = tf.zeros([constraints.count]);
  return {positions: constraints.positions({q: x.q, v: x.v, t}, none), velocities: constraints.velocities({q: x.q, v: x.v, t}, none, true)};
}
