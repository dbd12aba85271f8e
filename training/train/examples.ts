/** What a training learns from, and what may differ where it goes on. */

/** Examples in memory, or behind a function that fetches one: trajectories, segments of them, anything. */
export type Examples<T> = readonly T[] | {readonly length: number; get(index: number): T | Promise<T>};

/** What of a run may be another one where `resume` goes on with it. */
export type Change =
  | 'names'
  | 'learningRate'
  | 'hyperparameters'
  | 'schedule'
  | 'clip'
  | 'batchSize'
  | 'shuffle'
  | 'data'
  | 'validation'
  | 'loss';
