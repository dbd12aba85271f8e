/** The worker: all simulation, all fits, all pictures. The page gets text. */
import * as tf from '@tensorflow/tfjs';
import * as lib from 'stiffgrad';
import * as models from 'stiffgrad/models';
import * as fem from 'stiffgrad/fem';
import * as plots from 'stiffgrad/plot';
import * as training from 'stiffgrad/training';
import type {ModelFile} from '../../../cli/model-file.js';
import {runOptions} from '../../../cli/options.js';
import {problemOf, recordOf} from '../../../cli/problem.js';
import {estimated} from './estimated.js';
import type {Answer, Request, Row} from './messages.js';
import {modelOf} from './model-code.js';
import {scenes, type Scene} from './scenes.js';

const modules = {
  '@tensorflow/tfjs': tf,
  stiffgrad: lib,
  'stiffgrad/models': models,
  'stiffgrad/plot': plots,
  'stiffgrad/fem': fem,
  'stiffgrad/training': training,
};

tf.enableProdMode();
// Figures are small: a shader's compilation would take longer than all of them.
const ready = tf.setBackend('cpu');

const say = (answer: Answer): void => postMessage(answer);

onmessage = ({data}: MessageEvent<Request>): void => {
  void answered(data).then(say, (error: unknown) =>
    say({kind: 'failed', message: error instanceof Error ? `${error.name}: ${error.message}` : String(error)}),
  );
};

async function answered(request: Request): Promise<Answer> {
  await ready;
  switch (request.kind) {
    case 'fit':
      return fitted(request.code, request.csv, request.width);
    case 'scenes':
      return {kind: 'scenes', cards: scenes.map(({id, title, text, sliders}) => ({id, title, text, sliders}))};
    case 'scene': {
      const scene = scenes.find(({id}) => id === request.id);
      if (scene === undefined) throw new Error(`There is no simulation '${request.id}'.`);
      return shown(scene, request.values, request.moved, request.width);
    }
  }
}

type Data = {readonly [series: string]: ArrayLike<number> | readonly (readonly number[])[]} & {
  readonly t: ArrayLike<number>;
};

/** Numbers of one sample after the other. */
const flat = (values: ArrayLike<number> | readonly (readonly number[])[]): number[] =>
  (Array.from(values as ArrayLike<number>) as (number | number[])[]).flat();

/** What was measured as points, a run as lines through them. */
function curve(
  {timeUnit}: ModelFile,
  data: Data,
  run: lib.Trajectory<lib.System>,
  title: string,
  wide: number,
): string {
  const series = (['q', 'v', 'y'] as const).find(name => data[name] !== undefined);
  if (series === undefined) throw new Error('The record has neither q nor v nor y.');
  const values = flat(data[series]);
  const width = values.length / data.t.length;
  // Points that lie close hide the line through them: 100 say the same.
  const every = Math.ceil(data.t.length / 100);
  const some = (all: number[]): number[] => all.filter((_, i) => i % every === 0);
  const t = run.values('t');
  const simulated = run.values(series);
  const column = (all: ArrayLike<number>, k: number): number[] => Array.from(all).filter((_, i) => i % width === k);
  return training.reports.lineChart({
    title,
    x: {label: 'time', unit: timeUnit},
    y: {label: series},
    width: wide,
    height: 340,
    series: Array.from({length: Math.min(width, 3)}, (_, k) => {
      const name = width === 1 ? series : `${series}[${k}]`;
      return [
        {
          name: `${name} measured`,
          x: some(Array.from(data.t)),
          y: some(column(values, k)),
          style: 'points',
          color: 2 * k + 1,
        } as const,
        {name: `${name} of the model`, x: t, y: column(simulated, k), color: 2 * k} as const,
      ];
    }).flat(),
  });
}

/** @param found by the names of `parameters`: 'k', and 'initial.q' for a start that is looked for */
function simulated(
  {system, initial, options}: ModelFile,
  {data, inputs}: training.IdentificationProblem,
  found: object,
): lib.Trajectory<lib.System> {
  const t = Array.from((data as unknown as Data).t);
  const {initial: start, params} = estimated(found, initial, options.params);
  return lib.simulate(
    system,
    {...start, t: t[0]} as never,
    {
      ...runOptions(options),
      inputs,
      steps: undefined,
      saveAt: undefined,
      t1: t[t.length - 1],
      params,
      throw: false,
    } as never,
  );
}

async function fitted(code: string, csv: string, width: number): Promise<Answer> {
  const model = await modelOf(code, modules);
  const problem = problemOf(model, await recordOf(model, new TextEncoder().encode(csv)));
  const data = problem.data as unknown as Data;
  const began = performance.now();
  const fit = await training.identify({
    ...problem,
    onProgress: ({iteration, cost, values}: training.IdentificationProgress) => {
      const run = simulated(model, problem, plain(values));
      say({
        kind: 'progress',
        iteration,
        cost,
        curve: curve(model, data, run, `Iteration ${iteration}`, width),
        rows: rowsOf(values),
      });
      run.dispose();
    },
  } as never);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const best = simulated(model, problem, fit.estimate);
  const pictures = [
    () => residuals(model, data, fit.trajectory, width),
    () => plots.charts.loss(fit, {width}),
    () => plots.charts.phase(best, {width: Math.min(420, width)}),
    () =>
      plots
        .animate(best, {
          params: estimated(fit.estimate, {}, model.options.params).params as never,
          title: 'The motion',
          timeUnit: model.timeUnit ?? '',
        })
        .svg({width: Math.min(420, width)}),
  ].flatMap(draw => drawn(draw));
  return {
    kind: 'fitted',
    sentence:
      `${fit.converged ? 'Converged' : 'Ended'} after ${fit.history.length - 1} iterations, ${seconds} s. ${fit.warnings.join(' ')}`.trim(),
    curve: curve(model, data, best, 'Record and fitted model', width),
    rows: rowsOf(fit.estimate, fit.standardError),
    pictures,
  };
}

/** A picture that a model has no data for (a phase of one number, a figure) is left out. */
function drawn(draw: () => string): string[] {
  try {
    return [draw()];
  } catch (error) {
    if (error instanceof lib.StiffgradError) return [];
    throw error;
  }
}

function residuals({timeUnit = ''}: ModelFile, data: Data, run: lib.Trajectory<lib.System>, wide: number): string {
  const series = (['q', 'v', 'y'] as const).find(name => data[name] !== undefined) ?? 'q';
  const values = flat(data[series]);
  const width = values.length / data.t.length;
  const first = (all: ArrayLike<number>): number[] => Array.from(all).filter((_, i) => i % width === 0);
  return plots.charts.residuals(
    {
      t: data.t,
      measured: first(values),
      simulated: first(run.values(series)),
      name: width === 1 ? series : `${series}[0]`,
      timeUnit,
    },
    {width: wide, title: 'Residual, and ± its root mean square'},
  );
}

/** Parameters on the way come as arrays; those of one number are numbers in the model. */
const plain = (values: object): object =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]: [string, ArrayLike<number>]) => [
      name,
      value.length === 1 ? value[0] : value,
    ]),
  );

function rowsOf(values: object, errors?: object): Row[] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]) => {
    const numbers = typeof value === 'number' ? [value] : flat(value as number[]);
    const spread = errors === undefined ? undefined : (errors as {[name: string]: unknown})[name];
    const widths = spread === undefined ? [] : typeof spread === 'number' ? [spread] : flat(spread as number[]);
    return numbers.map((number, i) => ({
      name: numbers.length === 1 ? name : `${name}[${i}]`,
      value: training.reports.numberText(number, 5),
      error: widths[i] === undefined ? '' : training.reports.numberText(widths[i], 2),
    }));
  });
}

/** So many percent of a slider's range, over which its tangent is drawn. */
const MOVE = 0.02;

function shown(
  {make, shown: what, sliders, title}: Scene,
  values: {readonly [name: string]: number},
  moved: string,
  width: number,
): Answer {
  const {system, initial, options} = make(values);
  const {trajectory, tangents} = lib.simulate.jvps(
    system,
    initial as never,
    options,
    sliders.map(({name}) => ({params: {[name]: 1}})) as never,
  );
  const t = trajectory.values('t');
  const all = trajectory.values(what.series);
  const column = (values: Float64Array): Float64Array => {
    const width = values.length / t.length;
    return Float64Array.from(t, (_, i) => values[i * width + what.component]);
  };
  const value = column(all);
  const slopes = (tangents as readonly {readonly [series: string]: Float64Array}[]).map(tangent =>
    column(tangent[what.series]),
  );
  const k = Math.max(
    0,
    sliders.findIndex(({name}) => name === moved),
  );
  const {label, min, max, unit} = sliders[k];
  const step = MOVE * (max - min);
  const side = (sign: number): Float64Array => value.map((y, i) => y + sign * step * slopes[k][i]);
  const amount = `${training.reports.numberText(step, 2)} ${unit}`.trim();
  // A tangent that grows without bound is not to flatten the curve.
  const [low, high] = [Math.min(...value), Math.max(...value)];
  const room = 0.5 * (high - low || 1);
  const result: Answer = {
    kind: 'scene',
    curve: training.reports.lineChart({
      width,
      title: `${title}: ${what.label}`,
      x: {label: 'time', unit: 's'},
      y: {label: what.label, unit: what.unit, domain: [low - room, high + room]},
      series: [
        {name: `${label.toLowerCase()} + ${amount}, by the gradient`, x: t, y: side(1), style: 'dashed', color: 1},
        {name: `− ${amount}`, x: t, y: side(-1), style: 'dashed', color: 2},
        {name: what.label, x: t, y: value, color: 0},
      ],
    }),
    gradient: training.reports.lineChart({
      width,
      title: 'What each slider does: parameter × derivative',
      x: {label: 'time', unit: 's'},
      y: {label: `p ∂${what.label}/∂p`, unit: what.unit},
      series: sliders.map(({name, label: of}, i) => ({
        name: of,
        x: t,
        y: slopes[i].map(slope => slope * values[name]),
        color: i,
      })),
    }),
    motion: drawn(() => plots.animate(trajectory, {params: values, title}).svg({width: Math.min(420, width)})).join(''),
    sentence: `${training.reports.numberText(t.length - 1, 5)} steps. At the end, ${sliders
      .map(
        ({label: of}, i) => `∂/\u2060∂${of.toLowerCase()} = ${training.reports.numberText(slopes[i][t.length - 1], 3)}`,
      )
      .join(', ')}.`,
  };
  trajectory.dispose();
  return result;
}
