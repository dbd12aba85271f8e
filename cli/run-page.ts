/** A run of a model as a page: its series, its phases, its energy, the step's matrix and its motion. */
import {htmlPage, markup, verbatim, type Markup} from '../lib/markup.js';
import type {Trajectory, System} from '../lib/index.js';
import {animate, charts, figure, plot} from '../plot/index.js';
import type {ModelFile} from './model-file.js';
import {runOptions} from './options.js';

/** @returns the page, and a sentence for each picture that this model has not */
export function runPage(
  title: string,
  {system, initial, options, timeUnit}: ModelFile,
  run: Trajectory<System>,
): {readonly html: string; readonly left: readonly string[]} {
  const pictures: [string, () => string][] = [
    ['Over time', () => plot(run, {timeUnit})],
    ['Phase portrait', () => charts.phase(run)],
    ['Energy', () => charts.energy(run, {timeUnit})],
    [
      "The step's matrix",
      () => {
        const pattern = charts.jacobianPattern(
          system,
          initial as never,
          {...runOptions(options), steps: 1, t1: undefined} as never,
        );
        if (pattern.n === 1) throw new Error('it is one number, which has no pattern.');
        return charts.sparsity(pattern);
      },
    ],
    ['Motion', () => animate(run, {params: options.params as never, timeUnit}).strip()],
  ];
  const shown: Markup[] = [];
  const left: string[] = [];
  for (const [heading, draw] of pictures) {
    try {
      shown.push(markup`<h2>${heading}</h2>${verbatim(figure(draw()))}\n`);
    } catch (error) {
      left.push(`${heading}: ${(error as Error).message}`);
    }
  }
  const list = markup`<h2>Not shown</h2><ul class="soft">${left.map(line => markup`<li>${line}</li>`)}</ul>`;
  const body = markup`<h1>${title}</h1><p>${String(run)}</p>${shown}${left.length === 0 ? '' : list}`;
  return {html: htmlPage({title, style: STYLE, body}), left};
}

const STYLE = `:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
.soft { opacity: 0.7; }`;
