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
