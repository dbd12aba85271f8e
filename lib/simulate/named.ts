/** What the user gives and gets by name, and the flat arrays it stands for: cotangents, tangents, gradients. */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/gradient.js';
import type {Directions} from '../adjoint/directions.js';
import {OptionError, ShapeError} from '../errors.js';
import {any, boolean, finite, list, object, refuseUnknownOptions, requireValue} from '../checks.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import {readParams, toTree} from '../system/params.js';
import {toUserTime} from '../step/time-direction.js';
import type {Cotangent, NamedValues, Pullback, Tangent} from './kinds.js';
import type {PreparedRun} from './prepare.js';
import type {Run} from '../integrate/path.js';
import type {SeriesCotangents} from './series.js';
import {column, seriesOf, setColumn} from './series.js';

/** A cotangent of a run as its user gives it. @param saved times, which may be others than those of the run's grid */
export function runCotangents(
  prepared: PreparedRun,
  run: Run,
  cotangent: Cotangent,
  saved = run.times.length,
): SeriesCotangents {
  requireCotangent(cotangent);
  const {events, ...series} = cotangent;
  return {
    series: packCotangent(prepared, series, saved),
    happened: events === undefined ? undefined : eventCotangent(run, events),
  };
}

/** @throws OptionError 'bad-option' */
export function readPullbackOptions(given: {readonly t0?: boolean} = {}): {readonly t0: boolean} {
  refuseUnknownOptions(given, {t0: boolean}, 'pullback');
  const {t0 = false} = given;
  requireValue(t0, boolean, 'pullback: t0', 'bad-option');
  return {t0};
}

const requireCotangent = (cotangent: Cotangent): void =>
  requireValue(cotangent, object, 'a cotangent', 'bad-cotangent');

function eventCotangent({events = []}: Run, given: Numeric): Float64Array {
  const {values} = readNumeric(given, 'cotangent.events');
  if (values.length !== events.length)
    throw new ShapeError(
      'cotangent-shape',
      `cotangent.events has ${values.length} numbers; ${events.length} events happened.`,
    );
  return values;
}

/** A cotangent of saved values as a matrix (series.ts). */
export function packCotangent(prepared: PreparedRun, cotangent: Cotangent, saved: number): Float64Array {
  requireCotangent(cotangent);
  const {blocks, width} = seriesOf(prepared);
  const packed = new Float64Array(saved * width);
  for (const [name, value] of Object.entries(cotangent)) {
    if (value === undefined) continue;
    const block = blocks.find(candidate => candidate.name === name);
    if (block === undefined)
      throw new OptionError(
        'no-series',
        `pullback: this run has no ${name}; it has ${blocks.map(b => b.name).join(', ')}.`,
        {name},
      );
    const values = value instanceof Float64Array ? value : readNumeric(value, `cotangent.${name}`).values;
    if (values.length !== saved * block.size) {
      throw new ShapeError(
        'cotangent-shape',
        `cotangent.${name} has ${values.length} numbers; the saved ${name} has shape `
          + `[${[saved, ...block.shape].join(', ')}], ${saved * block.size} numbers.`,
        {name},
      );
    }
    setColumn(packed, width, block, values);
  }
  return packed;
}

/** Tangents of the matrix (series.ts) as series under their names. */
export function namedTangents(prepared: PreparedRun, tangents: readonly Float64Array[]): NamedValues[] {
  const {blocks, width} = seriesOf(prepared);
  return tangents.map(matrix => Object.fromEntries(blocks.map(block => [block.name, column(matrix, width, block)])));
}

/** A gradient under the names its parts have for the user. */
export function namedGradient(
  {traced, leaves, initialValues}: PreparedRun,
  {initial: flat, parameters, t0, recomputedSteps}: Gradient,
): Pullback {
  const started = traced.state.blocks.filter(({offset}) => offset < initialValues.length);
  const variables = new Map<tf.Variable, Float64Array>();
  const tensors = new Map<tf.Tensor, Float64Array>();
  traced.parameters.forEach(({tensor}, i) => {
    if (tensor instanceof tf.Variable) variables.set(tensor as tf.Variable, parameters[i]);
    else if (tensor !== undefined) tensors.set(tensor, parameters[i]);
  });
  return {
    initial: Object.fromEntries(started.map(({name, offset, size}) => [name, flat.slice(offset, offset + size)])),
    params: toTree(
      leaves,
      leaves.map((_, i) => parameters[i]),
    ),
    variables,
    tensors,
    ...(t0 === undefined ? {} : {t0}),
    recomputedSteps,
  };
}

export function packDirections(prepared: PreparedRun, directions: readonly Tangent[]): Directions {
  const {initialValues, traced, parameterValues} = prepared;
  const started = traced.state.blocks.filter(({offset}) => offset < initialValues.length);
  const count = directions.length;
  const packedInitial = new Float64Array(count * initialValues.length);
  const parameters = parameterValues.map(values => new Float64Array(count * values.length));
  const put = (target: Float64Array, at: number, value: Numeric, expected: number, name: string): void => {
    const {values} = readNumeric(value, `tangent.${name}`);
    if (values.length !== expected)
      throw new ShapeError('tangent-shape', `tangent.${name} has ${values.length} numbers, but needs ${expected}.`, {
        name,
      });
    target.set(values, at);
  };
  requireValue(directions, list, 'the directions', 'bad-tangent');
  directions.forEach((direction, k) => {
    const known = {initial: object, params: object, variables: any, t0: any};
    refuseUnknownOptions(direction, known, 'a tangent', 'bad-tangent');
    for (const [name, value] of Object.entries(direction.initial ?? {})) {
      const block = started.find(candidate => candidate.name === name);
      if (block === undefined)
        throw new OptionError(
          'bad-tangent',
          `tangent.initial has ${name}; the initial state has ${started.map(b => b.name).join(', ')}.`,
          {name},
        );
      if (value !== undefined)
        put(packedInitial, k * initialValues.length + block.offset, value, block.size, `initial.${name}`);
    }
    for (const leaf of readParams(direction.params)) {
      const at = traced.parameters.findIndex(parameter => parameter.leaf?.name === leaf.name);
      if (at < 0)
        throw new OptionError('bad-tangent', `tangent.params.${leaf.name}: the run has no such parameter.`, {
          name: leaf.name,
        });
      put(
        parameters[at],
        k * parameterValues[at].length,
        leaf.values,
        parameterValues[at].length,
        `params.${leaf.name}`,
      );
    }
    for (const [tensor, value] of direction.variables ?? []) {
      const at = traced.parameters.findIndex(parameter => parameter.tensor === tensor);
      if (at < 0)
        throw new OptionError('bad-tangent', 'tangent.variables names a variable that the system does not use.');
      put(parameters[at], k * parameterValues[at].length, value, parameterValues[at].length, 'variables');
    }
  });
  if (directions.every(({t0}) => t0 === undefined)) return {count, initial: packedInitial, parameters};
  const t0 = Float64Array.from(directions, ({t0: along = 0}) => {
    requireValue(along, finite, 'tangent.t0', 'bad-tangent');
    return toUserTime(traced, along);
  });
  return {count, initial: packedInitial, parameters, t0};
}
