/** Shows a run in a notebook: its first series, with the run's own sentence below. */
import type {Trajectory, System} from '../lib/index.js';
import type {MediaBundle} from '../training/internal.js';
import {plot} from './charts.js';
import {figure} from './show.js';

/** A trajectory for notebooks: texts by media type. */
export function display(trajectory: Trajectory<System>): MediaBundle {
  const svg = plot(trajectory);
  return {'text/html': figure(svg, String(trajectory)), 'image/svg+xml': svg, 'text/plain': String(trajectory)};
}
