/** An adjoint that users implement (method.ts): the gradient of a step is that of `implicitAdjoint`. */
import {callable} from '../../checks.js';
import {OptionError} from '../../errors.js';
import {recordByMethod} from '../checkpointer.js';
import {run} from '../run.js';
import type {AdjointFactory} from './adjoint.js';
import {implicitSteps} from './implicit.js';
import type {AdjointMethod} from './method.js';

export const isAdjointMethod = (given: Partial<AdjointMethod> | null | undefined): given is AdjointMethod =>
  callable.test(given?.begin);

/** @throws OptionError 'bad-adjoint' */
export function customAdjoint(method: AdjointMethod): AdjointFactory {
  const {name} = method;
  if (typeof name !== 'string' || name === '')
    throw new OptionError('bad-adjoint', 'adjoint: an AdjointMethod has a name, as {name: "mine", begin}.');
  return {name, prepare: () => ({run: prepared => run(prepared, recordByMethod(method, implicitSteps))})};
}
