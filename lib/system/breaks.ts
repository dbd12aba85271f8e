/**
 * Where functions of time are not smooth: a held input jumps at its samples, and an input that rests begins to move.
 * A step that ends at a jump belongs to the piece before it, one that begins there to the piece behind it, though both
 * ask for the same time; so what a step reads is looked up inside the step. Which times these are is collected while a
 * step is traced, so that runs can end their steps there (`jump_ts` of diffrax, tstop of SUNDIALS).
 */
import * as tf from '@tensorflow/tfjs';
import {full, uniformValue} from '../graph/build.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import {nodeOf} from '../trace/trace.js';

/** Times of one function, ascending. */
export interface Breaks {
  /** Where it jumps: nothing may be carried over. */
  readonly jumps: Float64Array;
  /** Where it begins to move after a rest, and the next sample: a step over both may miss what is between. */
  readonly onsets: Float64Array;
  /** For runs backwards in time: where it comes to rest, and the sample before. */
  readonly ends: Float64Array;
  /** A step that begins or ends this close to one of them begins or ends there: see `timeOfPiece`. */
  readonly slack: number;
}

interface Step {
  /** Its beginning and its length, []. */
  readonly t: tf.Tensor;
  readonly h: tf.Tensor;
  readonly found: Set<Breaks>;
}

let step: Step | undefined;
/** Set while events read functions outside of steps: the time there, [], and the breaks found. */
let instant: {readonly t: tf.Tensor; readonly found: Set<Breaks>} | undefined;
/** The time within the step at which a function of the system is evaluated, []. */
let stage: tf.Tensor | undefined;

/** Calls f, whose tensors are those of a step from t, of length h. */
export function duringStep<T>(t: tf.Tensor, h: tf.Tensor, found: Set<Breaks>, f: () => T): T {
  const before = step;
  step = {t, h, found};
  try {
    return f();
  } finally {
    step = before;
  }
}

/** The step that is traced, if one is: its beginning and its length, []. */
export const stepNow = (): Pick<Step, 't' | 'h'> | undefined => step;

/** Calls f, which reads functions of time at the time t, outside of a step. */
export function atInstant<T>(t: tf.Tensor, found: Set<Breaks>, f: () => T): T {
  const before = instant;
  instant = {t, found};
  try {
    return f();
  } finally {
    instant = before;
  }
}

/** Calls f, which evaluates a function of the system at a time of the step that is traced, if one is. */
export function atStage<T>(time: tf.Tensor, f: () => T): T {
  const before = stage;
  stage = time;
  try {
    return f();
  } finally {
    stage = before;
  }
}

/** Set while a function of time is read whose breaks are looked for as switches. */
let isSwitching = false;

/** Calls f, whose functions of time break where the run finds it, and not at times that are known beforehand. */
export function withoutBreaks<T>(f: () => T): T {
  const before = isSwitching;
  isSwitching = true;
  try {
    return f();
  } finally {
    isSwitching = before;
  }
}

/** Whether it is known beforehand when a function that is read at this time meets its breaks. */
export function isKnownTime(time: tf.Tensor): boolean {
  const now = stage ?? instant?.t;
  return now === undefined || nodeOf(now) === nodeOf(time) || lineIn(time, now) !== undefined;
}

/** How often functions with breaking points have been read: their readers depend on the step and the stage. */
let readings = 0;

export const breaksRead = (): number => readings;

/** A step reads a function that has these, at a time of its own: at(t − 0.4) jumps 0.4 later than its samples are. */
export function noteBreaks(breaks: () => Breaks, time: tf.Tensor): void {
  readings++;
  const found = (step ?? instant)?.found;
  if (found === undefined || isSwitching) return;
  const now = stage ?? instant?.t;
  const line = now === undefined ? undefined : lineIn(time, now);
  found.add(line === undefined ? breaks() : movedBy(breaks(), line));
}

/** time = rate · now + offset */
interface Line {
  readonly rate: number;
  readonly offset: number;
}

/** Rates that differ from 1 by rounding are 1. */
const rateRounding = 16 * Number.EPSILON;

/** A time as a line in another one; undefined where it is none, depends on anything else, or is the same. */
function lineIn(time: tf.Tensor, now: tf.Tensor): Line | undefined {
  const [node, base] = [nodeOf(time), nodeOf(now)];
  if (node === base) return undefined;
  const at = (value: number): number =>
    uniformValue(simplifyNodes(replaceNodes([node], new Map([[base, full(value, [])]])))[0]) ?? NaN;
  const [before, offset, after, beyond] = [at(-1), at(0), at(1), at(3)];
  const slope = after - offset;
  const close = (a: number, b: number): boolean =>
    Math.abs(a - b) <= rateRounding * (Math.abs(offset) + Math.abs(slope));
  if (slope === 0 || !close(offset - before, slope) || !close(beyond - offset, 3 * slope)) return undefined;
  return {rate: close(slope, 1) ? 1 : slope, offset};
}

function movedBy({jumps, onsets, ends, slack}: Breaks, {rate, offset}: Line): Breaks {
  const moved = (times: Float64Array): Float64Array => times.map(time => (time - offset) / rate).sort();
  return {jumps: moved(jumps), onsets: moved(onsets), ends: moved(ends), slack: slack / Math.abs(rate)};
}

/**
 * A time by which a function with jumps chooses its piece: moved into the step by `slack` where the stage is the step's
 * beginning or its end, since times computed as t₀ + nh meet a jump up to rounding; by less in between; and back to the
 * step's end from stages beyond it (Kværnø's fourth abscissa is 1.23). undefined outside of steps.
 */
export function timeOfPiece(time: tf.Tensor, slack: number): tf.Tensor | undefined {
  readings++;
  if (step === undefined || stage === undefined || isSwitching) return undefined;
  const {t, h} = step;
  const share = tf.div(tf.sub(stage, t), h);
  const within = tf.clipByValue(share, 0, 1);
  const {rate} = lineIn(time, stage) ?? {rate: 1};
  const length = rate === 1 ? h : tf.mul(h, rate);
  const limit = tf.clipByValue(tf.div(length, 4), -slack, slack);
  const inwards = tf.mul(limit, tf.sub(1, tf.mul(2, within)));
  return tf.add(time, tf.add(tf.mul(length, tf.sub(within, share)), inwards));
}

/** The times from one on, before another, each once, ascending. */
export function timesBetween(lists: readonly Float64Array[], from: number, to: number): Float64Array {
  const all = new Set<number>();
  for (const list of lists) for (const time of list) if (time >= from && time < to) all.add(time);
  return Float64Array.from(all).sort();
}
