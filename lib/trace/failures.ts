/**
 * What goes wrong while a user's function is traced, said with the part of the model it came from
 * and what to change.
 */
import {ShapeError, StiffgradError, TraceError} from '../errors.js';
import {reasonAgainst} from './refusals.js';

/** The place an error came from, as the start of a sentence. */
function at(term: string): string {
  return term === '' ? 'The traced function' : term;
}

function traceError(
  code: string,
  term: string,
  sentence: string,
  data: Readonly<Record<string, unknown>> = {},
): TraceError {
  return new TraceError(code, `${at(term)} ${sentence}`, {term, ...data});
}

export function valueRead(term: string, producer: string | undefined): TraceError {
  const what = producer === undefined ? 'of a tensor' : `of a tensor (${producer})`;
  return traceError(
    'value-read',
    term,
    `reads the value ${what} while it is traced (dataSync, arraySync, data, array, print, or an operator of `
      + 'JavaScript such as -3 * q, q + 1 or q > 0). '
      + 'Operators do not work on tensors: write tf.mul(-3, q), tf.add(q, 1), tf.greater(q, 0). Tensors have no '
      + 'values in a trace: choose between values with tf.where instead of if, and read what does not change '
      + 'before, outside the function.',
    {producer},
  );
}

export function comparisonUnread(term: string, kernel: string): TraceError {
  return traceError(
    'comparison-unread',
    term,
    `compares tensors (${kernel}) and nothing reads the result. In a?b:c, if, && and ||, JavaScript takes every `
      + 'tensor for true: choose with tf.where, '
      + 'combine conditions with tf.logicalAnd and tf.logicalOr, and leave out a comparison that is not needed.',
    {producer: kernel},
  );
}

export function asynchronous(term: string): TraceError {
  return traceError(
    'asynchronous',
    term,
    'is asynchronous: it returned a promise. A traced function must return its tensors at once; operations that '
      + 'wait for values '
      + '(data, array, whereAsync, booleanMaskAsync) have no place in it: use tf.where and masks.',
  );
}

export function variableCreated(term: string): TraceError {
  return traceError(
    'variable-created',
    term,
    'creates a tf.Variable while it is traced. Create variables before, outside the function, and build '
      + 'tf.layers models first '
      + '(give the first layer an inputShape, or call model.predict once).',
  );
}

export function variableAssigned(term: string, name: string): TraceError {
  return traceError(
    'variable-assigned',
    term,
    `assigns to the variable '${name}' while it is traced. A traced function may only compute; return the new `
      + 'value instead.',
    {name},
  );
}

export function randomNumbers(term: string): TraceError {
  return traceError(
    'random',
    term,
    'draws random numbers while it is traced (a dropout layer in training, tf.randomNormal, Math.random). They '
      + 'would stay the same '
      + 'in every step: draw them before, outside the function, and apply models with {training: false}.',
  );
}

export function backendChanged(term: string): TraceError {
  return traceError('backend-changed', term, 'changes the tfjs backend while it is traced. Choose the backend before.');
}

export function disposed(term: string): TraceError {
  return traceError(
    'disposed-tensor',
    term,
    'uses a tensor that has been disposed, or that belongs to an earlier trace. Keep captured tensors (tf.keep) '
      + 'as long as the system '
      + 'is used, and do not store tensors from inside a traced function.',
  );
}

export function unsupportedKernel(term: string, kernel: string): TraceError {
  return traceError(
    'unsupported-kernel',
    term,
    `uses the tfjs kernel ${kernel}, which cannot be traced: ${reasonAgainst(kernel)}.`,
    {kernel, reason: reasonAgainst(kernel)},
  );
}

export function notTensors(term: string, sentence: string, data: Readonly<Record<string, unknown>> = {}): TraceError {
  return traceError('not-a-tensor', term, sentence, data);
}

const unknownKernel = /^Kernel '(.+)' not registered for backend/;
/** tfjs words an operand that is undefined as null. */
const missingOperand = /^Argument '\w+' passed to '(\w+)' must be a Tensor or TensorLike, but got '(?:null|undefined)'/;
const unknownGradient = /gradient function not found for (\w+)/;
/** How tfjs words its complaints about shapes, ranks, axes and argument types (tfjs-core 4.22, `util.assert`). */
const aboutShapes = new RegExp(
  [
    'shape|rank|dimension|\\bdims?\\b|\\baxis|\\baxes|broadcast|\\bsizes?\\b|length',
    "must (be|have|match)|out of bounds|overflow|index|Argument '",
  ].join('|'),
  'i',
);

/** Any error of a term as one that names it; errors that are the user's own pass unchanged. */
export function located(error: unknown, term: string): unknown {
  if (error instanceof StiffgradError) return locatedOwn(error, term);
  if (!(error instanceof Error) || error.constructor !== Error) return error;
  const kernel = unknownKernel.exec(error.message)?.[1];
  if (kernel !== undefined) return caused(unsupportedKernel(term, kernel), error);
  const gradient = unknownGradient.exec(error.message)?.[1];
  if (gradient !== undefined) {
    const sentence =
      `takes tf.grad through the tfjs kernel ${gradient}, for which tfjs has no gradient. Write that gradient by `
      + 'hand, or with other operations.';
    return caused(traceError('missing-gradient', term, sentence, {kernel: gradient}), error);
  }
  const operation = missingOperand.exec(error.message)?.[1];
  if (operation !== undefined) {
    const sentence =
      `gives ${operation} an operand that is undefined: a parameter of a name that the run's params do not have, `
      + 'or a tensor not made yet.';
    return caused(notTensors(term, sentence, {operation}), error);
  }
  return aboutShapes.test(error.message)
    ? caused(new ShapeError('shape-mismatch', `${at(term)}: ${error.message}`, {term}), error)
    : error;
}

/** Errors of ours that were thrown where the term was not known. */
function locatedOwn(error: StiffgradError, term: string): StiffgradError {
  const kind = error instanceof ShapeError ? ShapeError : error instanceof TraceError ? TraceError : undefined;
  if (kind === undefined || error.data['term'] !== undefined) return error;
  return caused(new kind(error.code, `${at(term)}: ${error.message}`, {...error.data, term}), error);
}

function caused<E extends Error>(error: E, cause: unknown): E {
  error.cause = cause;
  return error;
}
