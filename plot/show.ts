/** Pictures where they are looked at: with a caption in a page, as the value of a notebook's cell. */
import {requireValue, text} from '../lib/checks.js';
import {markup, verbatim} from '../lib/markup.js';
import type {MediaBundle} from '../training/internal.js';

/** A cell value that a Jupyter kernel shows as HTML. */
export interface Shown {
  /** The HTML itself. */
  toString(): string;
}

/**
 * Light paper under dark ink or the reverse: a notebook's theme need not be that of the system, which a picture's own
 * colours follow. A picture with a theme of its own has the paper of that theme.
 */
const style = `.stiffgrad-figure { margin: 0; padding: 8px; overflow-x: auto; background: #ffffff; color: #1f2328;
  font: 13px/1.4 system-ui, sans-serif; }
.stiffgrad-figure figcaption { color: #59636e; max-width: 60em; }
@media (prefers-color-scheme: dark) { .stiffgrad-figure:not(:has(.light)) { background: #0d1117; color: #e6edf3;
  } .stiffgrad-figure:not(:has(.light)) figcaption { color: #9198a1; } }
.stiffgrad-figure:has(.dark) { background: #0d1117; color: #e6edf3; }
.stiffgrad-figure:has(.dark) figcaption { color: #9198a1; }
.stiffgrad-figure svg { max-width: 100%; height: auto; }`;

/** A picture with a caption, as an HTML element with its own style. */
export function figure(picture: string, caption = ''): string {
  requireValue(picture, text, 'figure: the picture');
  requireValue(caption, text, 'figure: the caption');
  const below = caption === '' ? '' : markup`<figcaption>${caption}</figcaption>`;
  const rules = markup`<style>${verbatim(style)}</style>`;
  return String(markup`<figure class="stiffgrad-figure">${rules}${verbatim(picture)}${below}</figure>`);
}

/** SVG or HTML, a `plot(…)` or `fit.html({fragment: true})`, as the value of a cell: the kernel renders it. */
export function show(picture: string, caption = ''): Shown {
  requireValue(picture, text, 'show: the picture');
  const html = picture.startsWith('<svg')
    ? figure(picture, caption)
    : `${picture}${caption === '' ? '' : figure('', caption)}`;
  const words = caption === '' ? titleOf(picture) : caption;
  return Object.defineProperties(
    {},
    {
      toString: {value: () => html},
      [Symbol.for('nodejs.util.inspect.custom')]: {value: () => `[picture: ${words}]`},
      [Symbol.for('Jupyter.display')]: {value: (): MediaBundle => ({'text/html': html, 'text/plain': words})},
    },
  );
}

/** The text alternative of a picture. */
function titleOf(picture: string): string {
  const [, title = 'a picture'] = /<title[^>]*>([^<]*)</.exec(picture) ?? [];
  return title;
}
