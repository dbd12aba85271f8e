/** What goes between a process that computes cases and the one that started it. Cases and results are canonical texts. */

export type Order =
  | {
      readonly kind: 'compute';
      readonly module: string;
      readonly export: string;
      readonly name: string;
      readonly case: string;
      readonly seed: number;
      /** Of the module's text, where it must be this one. */
      readonly version?: string;
    }
  | {readonly kind: 'abort'};

export type Answer =
  /** The module is there: the task's time begins. */
  | {readonly kind: 'loaded'}
  | {readonly kind: 'progress'; readonly value: string}
  | {readonly kind: 'done'; readonly result: string; readonly seconds: number}
  /** The module is another version than the one that names the case. */
  | {readonly kind: 'refused'; readonly version: string}
  | {
      readonly kind: 'failed';
      readonly error: {readonly name: string; readonly message: string; readonly stack?: string};
    };
