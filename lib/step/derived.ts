/**
 * Values that depend only on the parameters (a mass matrix and its inverse, a stiffness assembled from moduli,
 * positive parameters as softplus of free ones), separated from the step: the step becomes a function of these values
 * as additional parameters. They are computed once per run, and so are their derivatives: a gradient sums
 * cotangents of the values over all steps and pulls the sums back to the parameters, once; tangents of the
 * values are computed before the first step.
 */
import {pullback} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf, tangentSeed} from './buffers.js';
import {cotangentName, directionName, secondOrderName} from './parameter-names.js';
import type {DerivedValue} from './precomputation.js';
import {selectPrecomputed} from './precomputation.js';
import {tangentsAlong} from './programs.js';
import {everyStep, withReplaced} from './step-functions.js';
import type {TracedStep} from './traced-step.js';

export interface Derived {
  /** The step as a function of its parameters and of the values; those with derivatives are among its parameters. */
  readonly step: TracedStep;
  readonly values: readonly DerivedValue[];
  /** The values with derivatives: not what is chosen or counted. */
  readonly parameters: readonly DerivedValue[];
}

export function deriveStep(step: TracedStep): Derived {
  const nodes = selectPrecomputed(everyStep(step.functions), 'run');
  if (nodes.length === 0) return {step, values: [], parameters: []};
  const values = nodes.map((value, j) => ({node: bufferInput(`derived.${j}`, value.shape, value.dtype), value}));
  const parameters = values.filter(({node}) => node.dtype === 'float');
  const functions = withReplaced(step.functions, new Map(values.map(({node, value}) => [value, node])));
  return {step: {...step, functions, parameters: [...step.parameters, ...parameters]}, values, parameters};
}

const sourcesOf = ({step, parameters}: Derived): Node<'input'>[] => {
  const own = new Set(parameters.map(({node}) => node));
  return step.parameters.map(({node}) => node).filter(node => !own.has(node));
};

const cotangentInput = ({node}: DerivedValue): Node<'input'> => bufferInput(cotangentName(node), node.shape);

/** The cotangents of the parameters for cotangents of the values; undefined where there are none. */
const pulled = ({parameters}: Derived, sources: readonly Node[], cotangents: readonly Node[]): (Node | undefined)[] =>
  pullback(
    parameters.map(({value}) => value),
    sources,
    cotangents,
  );

/** pullDerived: derivedCotangent.j → pCotangent.i, what comes to the parameters through the values. */
export function pullDerivedPrograms(derived: Derived): ProgramsOf<'pullDerived'> {
  const sources = sourcesOf(derived);
  const cotangents = pulled(derived, sources, derived.parameters.map(cotangentInput));
  return {pullDerived: graphOf(Object.fromEntries(sources.map((node, i) => [cotangentName(node), cotangents[i]])))};
}

/**
 * Along `count` directions dp.i: pushDerived → dderived.j; secondOrderDerived: derivedCotangent.j, dDerivedCotangent.j
 * → dPCotangent.i, how what comes to the parameters through the values changes.
 */
export function secondOrderDerivedPrograms(
  derived: Derived,
  count: number,
): ProgramsOf<'pushDerived' | 'secondOrderDerived'> {
  const {parameters} = derived;
  const sources = sourcesOf(derived);
  const many = tangentSeed(count);
  const seeds = sources.map(node => many(node, directionName(node)));
  const cotangents = parameters.map(cotangentInput);
  const reached = pulled(derived, sources, cotangents).flatMap((cotangent, i) =>
    cotangent === undefined ? [] : [{name: secondOrderName(sources[i]), cotangent}],
  );
  const changes = tangentsAlong(
    reached.map(({cotangent}) => cotangent),
    new Map([...seeds, ...parameters.map(({node}, j) => many(cotangents[j], secondOrderName(node)))]),
    count,
  );
  const tangents = tangentsAlong(
    parameters.map(({value}) => value),
    new Map(seeds),
    count,
  );
  return {
    pushDerived: graphOf(Object.fromEntries(parameters.map(({node}, j) => [directionName(node), tangents[j]]))),
    secondOrderDerived: graphOf(Object.fromEntries(reached.map(({name}, i) => [name, changes[i]]))),
  };
}
