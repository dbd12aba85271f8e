/**
 * Runs one function twice: on tfjs's cpu backend, in single precision, and traced, in double. What
 * is drawn for it are numbers that float32 holds exactly, so that both start from the same.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {interpreter} from '../../lib/engine/interpreter.js';
import {sizeOf} from '../../lib/graph/node.js';
import type {Shape} from '../../lib/graph/node.js';
import '../../lib/engine/tensor/gradients.js';
import {trace} from '../../lib/trace/trace.js';

export type Draw = fc.GeneratorValue;

export interface Drawn {
  readonly shape: Shape;
  readonly values: readonly number[];
  readonly dtype: 'float32' | 'int32' | 'bool';
}

export type Computed = tf.Tensor | tf.Tensor[];

export interface Case {
  readonly inputs: readonly Drawn[];
  readonly f: (...tensors: tf.Tensor[]) => Computed;
  /** Also compare the gradients tfjs has for it; where tfjs lacks them, or has them wrong, false. */
  readonly gradient?: boolean;
}

/** A small deterministic generator (mulberry32), so that a seed stands for a whole tensor. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const integer = (g: Draw, min: number, max: number): number => g(fc.integer, {min, max});
export const choice = <T>(g: Draw, options: readonly T[]): T => options[integer(g, 0, options.length - 1)];
export const flag = (g: Draw): boolean => g(fc.boolean);

export function shapeOf(g: Draw, minRank = 0, maxRank = 3, maxSize = 4): number[] {
  return Array.from({length: integer(g, minRank, maxRank)}, () => integer(g, 1, maxSize));
}

export function floats(g: Draw, shape: Shape, low = -2, high = 2): Drawn {
  const random = generator(integer(g, 0, 2 ** 30));
  return {
    shape,
    dtype: 'float32',
    values: Array.from({length: sizeOf(shape)}, () => Math.fround(low + (high - low) * random())),
  };
}

/** Numbers in [low, high). */
export function wholes(g: Draw, shape: Shape, low: number, high: number): Drawn {
  const random = generator(integer(g, 0, 2 ** 30));
  return {
    shape,
    dtype: 'int32',
    values: Array.from({length: sizeOf(shape)}, () => low + Math.floor((high - low) * random())),
  };
}

export function truths(g: Draw, shape: Shape): Drawn {
  return {...wholes(g, shape, 0, 2), dtype: 'bool'};
}

interface Result {
  readonly shape: Shape;
  readonly dtype: string;
  readonly values: ArrayLike<number>;
}

const listOf = (computed: Computed): tf.Tensor[] => (Array.isArray(computed) ? computed : [computed]);

function tensorFrom({shape, values, dtype}: Drawn): tf.Tensor {
  return tf.tensor([...values], [...shape], dtype);
}

function eager({inputs, f}: Case): Result[] {
  return tf.tidy(() =>
    listOf(f(...inputs.map(tensorFrom))).map(y => ({shape: y.shape, dtype: y.dtype, values: y.dataSync()})),
  );
}

/** Whole numbers are inputs too, or captured: then they are constants, and positions become tables. */
function traced({inputs, f}: Case, captureWholes: boolean): Result[] {
  const captured = inputs.map(drawn => (captureWholes && drawn.dtype !== 'float32' ? tensorFrom(drawn) : undefined));
  const declared = inputs
    .map((drawn, i) => ({name: `x${i}`, shape: drawn.shape, dtype: drawn.dtype}))
    .filter((_, i) => captured[i] === undefined);
  try {
    const {graph} = trace(
      named =>
        Object.fromEntries(
          listOf(f(...inputs.map((_, i) => captured[i] ?? named[`x${i}`]))).map((y, i) => [`y${i}`, y]),
        ),
      declared,
    );
    const executable = interpreter.compile({f: graph});
    inputs.forEach((drawn, i) => captured[i] === undefined && executable.buffer(`x${i}`).set(drawn.values));
    executable.run('f');
    return graph.outputs.map(({name, node}) => ({
      shape: node.shape,
      dtype: {float: 'float32', int: 'int32', bool: 'bool'}[node.dtype],
      values: executable.buffer(name),
    }));
  } finally {
    captured.forEach(tensor => tensor?.dispose());
  }
}

/** Single precision: each result within a few thousand roundings of the largest one. */
const tolerance = 2e-4;

function compare(name: string, ours: readonly Result[], theirs: readonly Result[], types: boolean): void {
  expect(ours.length, `${name}: number of results`).to.equal(theirs.length);
  theirs.forEach((expected, k) => {
    const found = ours[k];
    expect(found.shape, `${name}: shape of result ${k}`).to.deep.equal(expected.shape);
    if (types) expect(found.dtype, `${name}: type of result ${k}`).to.equal(expected.dtype);
    const scale = Array.from(expected.values, Math.abs)
      .filter(Number.isFinite)
      .reduce((a, b) => Math.max(a, b), 1);
    for (let i = 0; i < expected.values.length; i++) {
      const [a, b] = [found.values[i], expected.values[i]];
      if (Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b))) continue;
      if (!(Math.abs(a - b) <= tolerance * scale) && a !== b)
        expect.fail(`${name}: result ${k}[${i}] is ${a}, tfjs has ${b}`);
    }
  });
}

/** The gradients of a weighted sum of the results with respect to every float input, by tf.grads. */
function gradients({inputs, f}: Case): Case {
  const isFloat = inputs.map(({dtype}) => dtype === 'float32');
  const weigh = (y: tf.Tensor): tf.Tensor =>
    tf.sum(tf.mul(tf.cast(y, 'float32'), tf.reshape(tf.add(tf.cos(tf.range(0, y.size)), 1.5), y.shape)));
  return {
    inputs,
    f: (...tensors) => {
      const scalar = (...differentiated: tf.Tensor[]): tf.Tensor => {
        let next = 0;
        const all = tensors.map((tensor, i) => (isFloat[i] ? differentiated[next++] : tensor));
        return listOf(f(...all))
          .filter(y => y.dtype === 'float32')
          .map(weigh)
          .reduce((a, b) => tf.add(a, b));
      };
      return tf.grads(scalar)(tensors.filter((_, i) => isFloat[i]));
    },
  };
}

/** Asserts that tracing means what tfjs does, and leaves no tensor behind. */
export function agree(name: string, drawn: Case, types = true): void {
  const before = tf.memory();
  const whole = drawn.inputs.some(({dtype}) => dtype !== 'float32');
  const expected = eager(drawn);
  compare(name, traced(drawn, false), expected, types);
  if (whole) compare(`${name}, indices known`, traced(drawn, true), expected, types);
  if (drawn.gradient !== false && drawn.inputs.some(({dtype}) => dtype === 'float32')) {
    const derivative = gradients(drawn);
    compare(`gradient of ${name}`, traced(derivative, true), eager(derivative), true);
  }
  const after = tf.memory();
  expect(after.numTensors, `${name}: tensors`).to.equal(before.numTensors);
  expect(after.numDataBuffers, `${name}: buffers`).to.equal(before.numDataBuffers);
  expect(after.numBytes, `${name}: bytes`).to.equal(before.numBytes);
}
