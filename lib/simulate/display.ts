/**
 * How a notebook shows a run: as stiffgrad/plot draws it where that is loaded, as a line where it is not. Nothing is
 * loaded from here: a second copy of this library, which a bundle beside an installed package would be, must not arise.
 */
import {markup} from '../markup.js';

/** The form that notebooks display: texts by media type. */
export interface DisplayedTexts {
  readonly [mime: string]: string;
}

let drawn: ((run: never) => DisplayedTexts) | undefined;

/**
 * Sets the function that displays runs in notebooks: it returns texts by media type, as Jupyter needs them.
 * stiffgrad/plot sets it when it is loaded.
 */
export function displayRunsWith<Run>(display: (run: Run) => DisplayedTexts): void {
  drawn = display;
}

export function displayed(run: {toString(): string}): DisplayedTexts {
  return drawn?.(run as never) ?? written(String(run));
}

/** The sentence of a run. */
export const written = (text: string): DisplayedTexts => ({
  'text/plain': text,
  'text/html': String(markup`<p><code>${text}</code></p><p>Import stiffgrad/plot once to see it as a picture.</p>`),
});
