/**
 * A step of several members of a batch at once, in the lanes of one program: the functions of one member's
 * step, each with a leading axis (graph/batch.ts), as have time, length and place within the step. Members do not share
 * a time, so that each has its own steps. For explicit schemes, whose lanes are not coupled by an equation.
 */
import {batch} from '../graph/batch.js';
import {input} from '../graph/build.js';
import type {Node} from '../graph/node.js';
import type {StepPrograms} from './context.js';
import {Layout} from './layout.js';
import type {StepFunctionName} from './step-functions.js';
import {functionsFrom, namedFunctions} from './step-functions.js';
import type {StepInputs, TracedStep} from './traced-step.js';

/** A step in lanes, and what begins a run in them. */
export interface LaneStep extends StepPrograms {
  readonly lanes: number;
  /** Numbers of the parameters that every member has of its own; the others are shared. */
  readonly perMember: ReadonlySet<number>;
  /**
   * The step that begins a run; 'given': what is given is the whole state; 'one by one': members begin by themselves.
   */
  readonly start: StepPrograms | 'given' | 'one by one';
}

/**
 * The parameters of as many members as there are lanes, those of their own one after another; lanes beyond them repeat
 * the first.
 */
export function laneParameters(
  {lanes, perMember}: LaneStep,
  members: readonly {readonly parameterValues: readonly Float64Array[]}[],
): Float64Array[] {
  return members[0].parameterValues.map((values, p) => {
    if (!perMember.has(p)) return values;
    const all = new Float64Array(lanes * values.length);
    for (let l = 0; l < lanes; l++) all.set((members[l] ?? members[0]).parameterValues[p], l * values.length);
    return all;
  });
}

/** Views of each buffer, made once. */
const views = new WeakMap<Float64Array, readonly Float64Array[]>();

/** Views of each lane of an executable's buffer. */
export function laneViews(buffer: Float64Array, lanes: number): readonly Float64Array[] {
  let known = views.get(buffer);
  if (known?.length !== lanes) {
    const size = buffer.length / lanes;
    known = Array.from({length: lanes}, (_, l) => buffer.subarray(l * size, (l + 1) * size));
    views.set(buffer, known);
  }
  return known;
}

/** Steps, their errors and what lies inside them; the rest is asked of one member at a time. */
const batchedFunctions: ReadonlySet<string> = new Set<StepFunctionName>([
  'update',
  'error',
  'stiffness',
  'inside',
  'dense',
]);

/**
 * One step for several members.
 * @param perMember parameters, by number, that every member has of its own; the others are shared
 */
export function batchStep(step: TracedStep, lanes: number, perMember: ReadonlySet<number>): TracedStep {
  const many = (node: Node<'input'>): Node<'input'> => input(node.attributes.name, [lanes, ...node.shape], node.dtype);
  const replacements = new Map<Node, Node>();
  const replaced = (node: Node<'input'>): Node<'input'> => {
    const made = many(node);
    replacements.set(node, made);
    return made;
  };
  const inputs = Object.fromEntries(
    Object.entries(step.inputs).map(([name, node]: [string, Node<'input'> | undefined]) => [
      name,
      node === undefined ? undefined : replaced(node),
    ]),
  ) as unknown as StepInputs;
  const parameters = step.parameters.map((parameter, i) =>
    perMember.has(i) ? {...parameter, node: replaced(parameter.node)} : parameter,
  );
  const functions = namedFunctions(step.functions).filter(({name}) => batchedFunctions.has(name));
  const batched = batch(
    functions.map(({node}) => node),
    replacements,
    lanes,
  );
  const rows = (name: string, size: number): Layout => new Layout([{name, shape: [lanes, size]}]);
  return {
    ...step,
    state: rows('members', step.state.size),
    unknown: rows('unknowns', step.unknown.size),
    parameters,
    inputs,
    functions: functionsFrom(functions.map(({name}, i) => [name, batched[i]])),
    observedShape: undefined,
  };
}
