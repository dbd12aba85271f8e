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
import type {Formulation, Guess, Scheme, StepPoint} from '../scheme/scheme.js';
import type {Blocks, Equations} from '../system/equations.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {mechanicalEquations} from '../system/mechanics.js';
import type {OdeSystem} from '../system/ode.js';
import {odeEquations} from '../system/ode.js';
import type {Leaf, Params} from '../system/params.js';
import {toTree} from '../system/params.js';
import type {Trace, TraceInput} from '../trace/trace.js';
import {trace, within} from '../trace/trace.js';
import {joinBlocks, splitBlocks} from './blocks.js';
import {Layout} from './layout.js';

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
  /** The state at the start of a run, carried blocks included, from the user's own blocks. */
  readonly start: TracedStart;
  /** What the user observes of a state, as a function of x, t and the parameters. */
  readonly observed?: TracedObservation;
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

export interface TracedStart {
  /** The user's blocks alone, flat: q and v, or y. */
  readonly given: Node<'input'>;
  readonly t: Node<'input'>;
  readonly x: Node;
  /** M(q), in the shape the user gave it. */
  readonly mass?: Node;
}

export function equationsOf(system: System, params: Params): Equations {
  return system.kind === 'mechanics' ? mechanicalEquations(system, params) : odeEquations(system, params);
}

/** @throws OptionError where the scheme is not for this kind of system */
export function formulationOf(scheme: Scheme, system: System): Formulation {
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

/**
 * @param shape the shape of q, or of y
 * @throws TraceError, ShapeError, OptionError where the user's functions cannot be traced
 */
export function traceStep(system: System, scheme: Scheme, shape: Shape, leaves: readonly Leaf[], observe?: Observe): TracedStep {
  const formulation = formulationOf(scheme, system);
  const own = stateBlocks(system).map(name => ({name, shape}));
  const list = new ParameterList(leaves);
  const t = input('t', []);
  const h = input('h', []);

  const {start, carried} = traceStart(system, formulation, new Layout(own), list, t, h);
  const state = new Layout([...own, ...carried]);
  const unknown = new Layout(formulation.unknown.map(name => ({name, shape})));
  const x = input('x', [state.size]);
  const z = input('z', [unknown.size]);
  const defectLayout = new Layout(stateBlocks(system).slice(0, 1).map(name => ({name, shape})));
  const defect = input('defect', [defectLayout.size]);

  let hasDefect = false;
  let linearized = false;
  let observedShape: Shape = [];
  const traced = trace(tensors => {
    const params = list.tree(tensors);
    const equations = equationsOf(system, params);
    const at: StepPoint = {...equations, x: splitBlocks(state, tensors.x), t: tensors.t, h: tensors.h};
    const blocks = splitBlocks(unknown, tensors.z);
    const update = joinBlocks(state, formulation.update(blocks, at), `${scheme.name}: update`);
    const observed = observe === undefined ? undefined : observedTensor(observe, at, params);
    if (observed !== undefined) observedShape = observed.shape;
    const {residual} = formulation;
    if (residual === undefined) return withoutUndefined({update, observed});
    const guess: Guess = formulation.guess?.(at) ?? {z: defaultGuess(unknown, at.x)};
    linearized = guess.linearized === true;
    hasDefect = guess.defect !== undefined;
    const broken: StepPoint = hasDefect ? {...at, defect: splitBlocks(defectLayout, tensors.defect)} : at;
    const rows = (point: StepPoint): tf.Tensor => joinBlocks(unknown, residual(blocks, point), `${scheme.name}: residual`);
    return withoutUndefined({
      update,
      observed,
      residual: rows(at),
      guess: joinBlocks(unknown, guess.z, `${scheme.name}: guess`),
      defect: guess.defect === undefined ? undefined : joinBlocks(defectLayout, guess.defect, `${scheme.name}: defect`),
      broken: hasDefect ? rows(broken) : undefined,
      frozen: guess.frozenForce === true ? rows(frozen(broken)) : undefined,
    });
  }, [
    {name: 'x', shape: x.shape}, {name: 'z', shape: z.shape}, {name: 't', shape: []}, {name: 'h', shape: []},
    {name: 'defect', shape: defect.shape}, ...list.traceInputs(),
  ]);
  const nodes = list.adopt(traced, [x, z, t, h, defect]);
  const named = (name: string): Node => {
    const node = nodes.get(name);
    if (node === undefined) throw new Error(`the trace of a step gave no ${name}`);
    return node;
  };
  const observedNode = nodes.get('observed');
  const observed = observedNode === undefined ? undefined : {node: reshape(observedNode, [observedNode.size]), shape: observedShape};
  const common = {observed, name: scheme.name, order: scheme.order, state, unknown, parameters: list.parameters, x, z, t, h, update: named('update'), start};
  if (!nodes.has('residual')) return common;
  return {
    ...common,
    residual: named('residual'),
    residualBlocks: nodes.get(nameOf('residual', 'jacobian')),
    residualModel: nodes.get(nameOf('residual', 'matrix')),
    guess: {
      z: named('guess'),
      defect: hasDefect ? {value: named('defect'), input: defect, residual: named('broken'), residualBlocks: nodes.get(nameOf('broken', 'jacobian')), residualModel: nodes.get(nameOf('broken', 'matrix'))} : undefined,
      frozen: nodes.get('frozen'),
      linearized,
    },
  };
}


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

/** The start of a run: carried blocks from q and v, and the mass to be checked. */
function traceStart(system: System, formulation: Formulation, own: Layout, list: ParameterList, t: Node<'input'>, h: Node<'input'>): {start: TracedStart; carried: {name: string; shape: Shape}[]} {
  const given = input('given', [own.size]);
  let carried: {name: string; shape: Shape}[] = [];
  const traced = trace(tensors => {
    const equations = equationsOf(system, list.tree(tensors));
    const x = splitBlocks(own, tensors.given);
    const at: StepPoint = {...equations, x, t: tensors.t, h: tensors.h};
    const carry = formulation.carry?.(at) ?? {};
    const taken = Object.keys(carry).find(name => own.block(name) !== undefined);
    if (taken !== undefined) throw new OptionError('bad-scheme', `A scheme cannot carry '${taken}': the state has a block of that name.`);
    carried = Object.entries(carry).map(([name, tensor]) => ({name, shape: tensor.shape}));
    const whole = new Layout([...own.blocks, ...carried]);
    return withoutUndefined({
      x: joinBlocks(whole, {...x, ...carry}, 'carry'),
      mass: system.kind === 'mechanics' ? equations.massAt(x.q) : undefined,
    });
  }, [{name: 'given', shape: given.shape}, {name: 't', shape: []}, {name: 'h', shape: []}, ...list.traceInputs()]);
  const nodes = list.adopt(traced, [given, t, h]);
  const x = nodes.get('x');
  if (x === undefined) throw new Error('the trace of a start gave no state');
  return {start: {given, t, x, mass: nodes.get('mass')}, carried};
}
