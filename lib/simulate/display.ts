/**
 * How a notebook shows a run: as stiffgrad/plot draws it where that is loaded, as a line where it is not. Nothing is
 * loaded from here: a second copy of this library, which a bundle beside an installed package would be, must not arise.
 */

/** What a notebook takes: texts by media type. */
export interface DisplayedTexts {
  readonly [mime: string]: string;
}

let drawn: ((run: never) => DisplayedTexts) | undefined;

/** Has runs shown by a function of one's own from now on: texts by media type, as Jupyter takes them. stiffgrad/plot does so when it is loaded. */
export function displayRunsWith<Run>(display: (run: Run) => DisplayedTexts): void {
  drawn = display;
}

export function displayed(run: {toString(): string}): DisplayedTexts {
  const text = String(run);
  return (
    drawn?.(run as never) ?? {
      'text/plain': text,
      'text/html': `<p><code>${text.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</code></p><p>Import stiffgrad/plot once to see it as a picture.</p>`,
    }
  );
}
