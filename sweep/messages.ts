/** Messages between a process that computes cases and its parent. Cases and results are canonical texts. */

export type Order =
  | {
      readonly kind: 'compute';
      readonly module: string;
      readonly export: string;
      readonly name: string;
      readonly case: string;
      readonly seed: number;
      /** SHA-256 that the module's files must have. */
      readonly hash: string;
    }
  | {readonly kind: 'abort'};

export type Answer =
  /** The module is there: the task's time begins. */
  | {readonly kind: 'loaded'}
  | {readonly kind: 'progress'; readonly value: string}
  | {readonly kind: 'done'; readonly result: string; readonly seconds: number}
  /** The module's files are not those of the case. Nothing of them was run. */
  | {readonly kind: 'refused'; readonly hash: string}
  | {
      readonly kind: 'failed';
      readonly error: {readonly name: string; readonly message: string; readonly stack?: string};
    };
