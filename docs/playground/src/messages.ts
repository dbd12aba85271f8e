/** What the page and its worker say to each other. */

export type Request =
  | {readonly kind: 'fit'; readonly code: string; readonly csv: string; readonly width: number}
  | {
      readonly kind: 'scene';
      readonly width: number;
      readonly id: string;
      readonly values: {readonly [name: string]: number};
      readonly moved: string;
    }
  | {readonly kind: 'scenes'};

/** A parameter as the table shows it. */
export interface Row {
  readonly name: string;
  readonly value: string;
  readonly error: string;
}

export interface Slider {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
}

export interface SceneCard {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly sliders: readonly Slider[];
}

/** A picture is an SVG's text. */
export type Answer =
  | {
      readonly kind: 'progress';
      readonly iteration: number;
      readonly cost: number;
      readonly curve: string;
      readonly rows: readonly Row[];
    }
  | {
      readonly kind: 'fitted';
      readonly sentence: string;
      readonly curve: string;
      readonly rows: readonly Row[];
      readonly pictures: readonly string[];
    }
  | {readonly kind: 'scenes'; readonly cards: readonly SceneCard[]}
  | {
      readonly kind: 'scene';
      readonly curve: string;
      readonly gradient: string;
      readonly motion: string;
      readonly sentence: string;
    }
  | {readonly kind: 'failed'; readonly message: string};

type Test = (value: unknown) => boolean;
const text: Test = value => typeof value === 'string' && value.length <= 4_000_000; // a picture of a long record has some 100 kB
const number: Test = value => typeof value === 'number';
const listOf =
  (test: Test): Test =>
  value =>
    Array.isArray(value) && value.length <= 10_000 && value.every(test);
const having =
  (tests: {readonly [name: string]: Test}): Test =>
  value =>
    typeof value === 'object'
    && value !== null
    && Object.entries(tests).every(([name, test]) => test((value as {readonly [name: string]: unknown})[name]));

const row = having({name: text, value: text, error: text});
const slider = having({name: text, label: text, unit: text, min: number, max: number, step: number, value: number});
const answers: {readonly [kind in Answer['kind']]: Test} = {
  progress: having({iteration: number, cost: number, curve: text, rows: listOf(row)}),
  fitted: having({sentence: text, curve: text, rows: listOf(row), pictures: listOf(text)}),
  scenes: having({cards: listOf(having({id: text, title: text, text, sliders: listOf(slider)}))}),
  scene: having({curve: text, gradient: text, motion: text, sentence: text}),
  failed: having({message: text}),
};

/** Whether a message is an answer: a model runs in the worker, and may send anything. */
export const isAnswer = (message: unknown): message is Answer =>
  having({kind: kind => typeof kind === 'string' && Object.hasOwn(answers, kind)})(message)
  && answers[(message as Answer).kind](message);
