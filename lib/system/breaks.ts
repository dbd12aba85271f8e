/**
 * Where functions of time are not smooth: a held input jumps at its samples, and an input that rests begins to move.
 * A step that ends at a jump belongs to the piece before it, one that begins there to the piece behind it, though both
 * ask for the same time; so what a step reads is looked up inside the step. Which times these are is collected while a
 * step is traced, so that runs can end their steps there (`jump_ts` of diffrax, tstop of SUNDIALS).
 */
import * as tf from '@tensorflow/tfjs';

/** Times of one function, ascending. */
export interface Breaks {
  /** Where it jumps: nothing may be carried over. */
  readonly jumps: Float64Array;
  /** Where it begins to move after a rest, and the next sample: a step that reaches over both may miss what is between. */
  readonly onsets: Float64Array;
  /** The same seen backwards in time: where it comes to rest, and the sample before. */
  readonly ends: Float64Array;
}

interface Step {
  /** Its beginning and its length, []. */
  readonly t: tf.Tensor;
  readonly h: tf.Tensor;
  readonly found: Set<Breaks>;
}

let step: Step | undefined;
/** Breaks of what is read outside of steps, by events. */
let noted: Set<Breaks> | undefined;
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

/** Calls f, which reads functions of time at one time, outside of a step. */
export function atInstant<T>(found: Set<Breaks>, f: () => T): T {
  const before = noted;
  noted = found;
  try {
    return f();
  } finally {
    noted = before;
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

/** How often functions with breaking points have been read: what reads one depends on the step and the stage it is read in. */
let readings = 0;

export const breaksRead = (): number => readings;

/** A step reads a function that has these. */
export function noteBreaks(breaks: () => Breaks): void {
  readings++;
  (step?.found ?? noted)?.add(breaks());
}

/**
 * A time by which a function with jumps chooses its piece: moved into the step by `slack` where the stage is the step's
 * beginning or its end, since times computed as t₀ + nh meet a jump up to rounding; by less in between; and back to the step's
 * end from stages beyond it (Kværnø's fourth abscissa is 1.23). undefined outside of steps.
 */
export function timeOfPiece(time: tf.Tensor, slack: number): tf.Tensor | undefined {
  readings++;
  if (step === undefined || stage === undefined) return undefined;
  const {t, h} = step;
  const share = tf.div(tf.sub(stage, t), h);
  const within = tf.clipByValue(share, 0, 1);
  const most = tf.clipByValue(tf.div(h, 4), -slack, slack);
  const inwards = tf.mul(most, tf.sub(1, tf.mul(2, within)));
  return tf.add(time, tf.add(tf.mul(h, tf.sub(within, share)), inwards));
}

/** The times from one on, before another, each once, ascending. */
export function timesBetween(lists: readonly Float64Array[], from: number, to: number): Float64Array {
  const all = new Set<number>();
  for (const list of lists) for (const time of list) if (time >= from && time < to) all.add(time);
  return Float64Array.from(all).sort();
}
