/** What a fit's report says of priors, of the noise, and of the minima that its starts found. */
import type {Chart} from '../report/plot.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import type {NoiseFound} from './objective.js';
import type {ParameterSpace} from './parameters.js';
import type {Minimum} from './starts.js';

/** Parameters whose priors are told one by one; of more, as of a network's weights, how many there are. */
const SINGLY = 8;

/** How much the data say beside each prior: the ratio of the deviations after and before. @param standardError of the coordinates */
export function priorNotes(space: ParameterSpace, x: Float64Array, standardError: Float64Array): string[] {
  const columns = Array.from(x.keys()).filter(i => space.parameterAt(i).prior !== undefined);
  const slope = space.derivative(x);
  const natural = space.natural(x);
  const notes = columns.map(i => {
    const {kind, prior} = space.parameterAt(i);
    const entry = space.entryAt(i);
    const [mean, sd] = [prior!.mean[entry], prior!.sd[entry]];
    const logarithmic = kind === 'positive';
    const after = logarithmic ? standardError[i] : standardError[i] * Math.abs(slope[i]);
    const moved = ((logarithmic ? x[i] : natural[i]) - mean) / sd;
    const known = logarithmic
      ? `${numberText(Math.exp(mean))} to a factor of ${numberText(Math.exp(sd), 3)}`
      : `${measuredText(mean, sd)} ± ${errorText(sd)}`;
    return {
      text: `Prior of ${space.labels[i]}: ${known}; the data moved it by ${numberText(moved, 2)} standard deviations and left ${numberText((100 * after) / sd, 2)} % of that deviation.`,
      moved,
      left: after / sd,
    };
  });
  if (notes.length <= SINGLY) return notes.map(({text}) => text);
  const left = notes.reduce((sum, note) => sum + note.left ** 2, 0);
  return [
    `${notes.length} numbers have priors; the data determine about ${numberText(notes.length - left, 3)} of them.`,
  ];
}

/** The noise as it was found. */
export function noiseNotes({model, sd, coefficients}: NoiseFound): string[] {
  if (model === 'white') return [];
  const size = `of scale ${numberText(sd)} per weighted residual`;
  if (model === 'huber') return [`Beyond Huber's threshold only the sign of a residual counts; the noise is ${size}.`];
  if (model === 'studentT') return [`The noise is assumed to have Student's t distribution, ${size}.`];
  if (model === 'quantized')
    return [`The measurements are assumed to be rounded to a converter's steps; before rounding the noise is ${size}.`];
  return coefficients.map(
    (phi, output) =>
      `The noise of output ${output} is an autoregression with φ = ${Array.from(phi, value => numberText(value, 3)).join(', ')}.`,
  );
}

/** The cost of each minimum, by how many starts reached it; nothing of a single start. */
export function minimaChart(minima: readonly Minimum<unknown>[]): Chart[] {
  if (minima.reduce((sum, {count}) => sum + count, 0) < 2) return [];
  const ends = minima.flatMap(({cost, count}) => Array.from({length: count}, () => cost));
  return [
    {
      title: `Minima: ${minima.length} among ${ends.length} starts that converged`,
      x: {label: 'start, in the order of the costs'},
      y: {label: 'cost'},
      series: [
        {name: 'cost', x: Float64Array.from(ends.keys(), k => k + 1), y: Float64Array.from(ends), style: 'points'},
      ],
      legend: false,
    },
  ];
}
