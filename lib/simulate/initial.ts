/** The initial state as a user gives it: blocks by name, or a saved state, checked and in one array. */
import {OptionError, ShapeError} from '../errors.js';
import {sameShape} from '../graph/node.js';
import type {RunState} from '../integrate/run-state.js';
import {isRunState} from '../integrate/run-state.js';
import type {System} from '../step/formulation.js';
import {stateBlocks} from '../step/formulation.js';
import type {StateSpecs} from '../system/hidden-states.js';
import type {Numeric, NumericValue} from '../system/numeric.js';
import {readNumeric, requireFinite} from '../system/numeric.js';
import type {Params} from '../system/params.js';
import type {Initial} from './kinds.js';

/** How the initial state of a system is given. */
export function stateText(system: System): string {
  if (system.kind === 'ode') return '{y} for an ode, with t if it is not 0';
  const hidden = Object.keys(system.states ?? {});
  const more =
    hidden.length === 0 ? '' : `, hidden states (${hidden.join(', ')}) if they do not start as the system says`;
  return `{q, v} for a mechanical system, with t if it is not 0${more}`;
}

/** @throws OptionError 'bad-initial'; ShapeError 'initial-shape'; InconsistentStateError 'not-finite' */
export function readInitial(system: System, initial: Initial): NumericValue[] {
  const names = stateBlocks(system);
  if (isRunState(initial)) return ownBlocks(names, initial);
  const given: {readonly [name: string]: unknown} = {...initial};
  const unexpected = Object.keys(initial).find(name => name !== 't' && !names.includes(name));
  if (unexpected !== undefined) {
    throw new OptionError('bad-initial', `The initial state must be ${stateText(system)}; it has no '${unexpected}'.`, {
      name: unexpected,
    });
  }
  const states: StateSpecs<Params, string> = system.kind === 'mechanics' ? (system.states ?? {}) : {};
  const values = names.map(name => {
    const own = Object.hasOwn(states, name) ? states[name].initial : undefined;
    const value = given[name] === undefined ? own : given[name];
    if (value === undefined)
      throw new OptionError('bad-initial', `The initial state lacks ${name}: it must be ${stateText(system)}.`, {name});
    const read = readNumeric(value as Numeric, `initial.${name}`);
    if (own !== undefined && value !== own) requireStateShape(name, read, readNumeric(own, `states.${name}.initial`));
    return read;
  });
  const [first, second] = values;
  const moves = system.kind === 'mechanics' && system.kinematics !== undefined;
  if (system.kind === 'mechanics' && !moves && !sameShape(second.shape, first.shape)) {
    throw new ShapeError(
      'initial-shape',
      `initial.${names[1]} has shape [${second.shape.join(', ')}], but initial.${names[0]} has `
        + `[${first.shape.join(', ')}].`,
      {shapes: values.map(v => [...v.shape])},
    );
  }
  values.forEach((value, i) => {
    if (value.values.length === 0) throw new ShapeError('initial-shape', `initial.${names[i]} is empty.`);
    requireFinite(`initial.${names[i]}`, value);
  });
  return values;
}

function requireStateShape(name: string, {shape}: NumericValue, {shape: own}: NumericValue): void {
  if (sameShape(shape, own)) return;
  throw new ShapeError(
    'initial-shape',
    `initial.${name} has shape [${shape.join(', ')}], but the system's own initial of this state has `
      + `[${own.join(', ')}].`,
    {name},
  );
}

/** The user's own blocks of a saved state. */
function ownBlocks(names: readonly string[], {blocks}: RunState): NumericValue[] {
  return names.map(name => {
    if (!Object.hasOwn(blocks, name))
      throw new OptionError(
        'bad-initial',
        `The saved state has ${Object.keys(blocks).join(', ')}; this system's has ${names.join(' and ')}.`,
      );
    const {shape, values} = blocks[name];
    return {shape, values: Float64Array.from(values)};
  });
}

/** Blocks one after another. */
export function flatten(values: readonly NumericValue[]): Float64Array {
  const given = new Float64Array(values.reduce((size, value) => size + value.values.length, 0));
  let offset = 0;
  for (const value of values) {
    given.set(value.values, offset);
    offset += value.values.length;
  }
  return given;
}
