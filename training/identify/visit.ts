/** What a measured record visits: its measurements, the states beside them, and its inputs. */
import type {Inputs, Signal} from '../../lib/index.js';
import {sampledColumn, type Visit} from '../data/extrapolation.js';
import {entryLabels} from './parameters.js';
import type {CheckedRecord} from './records.js';

/** A block of the state that was not measured, as simulated. */
export interface SimulatedBlock {
  readonly name: string;
  /** The shape of one sample. */
  readonly shape: readonly number[];
  /** [samples, ...shape], row-major. */
  readonly values: Float64Array;
}

/**
 * An input that is no signal has no samples, and is left out.
 * @param inputs those of the record and of the model
 */
export function visitOf({t, channels}: CheckedRecord, inputs: Inputs, states: readonly SimulatedBlock[] = []): Visit {
  const [from, to] = [t[0], t[t.length - 1]];
  const measured = channels.map(({name, shape, measured: values, weights}) => ({
    name,
    shape,
    values: values.map((value, i) => (weights[i] > 0 ? value : NaN)),
  }));
  return {
    series: [...measured, ...states].map(({name, shape, values}) => ({labels: entryLabels(name, shape), values})),
    inputs: Object.fromEntries(
      Object.entries(inputs)
        .filter((entry): entry is [string, Signal] => 'values' in entry[1])
        .flatMap(([name, {t: times, values, kind, shape}]) =>
          entryLabels(name, shape).map((label, k) => [
            label,
            (interval: number) => sampledColumn({t: times, values, hold: kind === 'hold'}, k, [from, to], interval),
          ]),
        ),
    ),
    interval: t.length === 1 ? 1 : (to - from) / (t.length - 1),
  };
}

/** Samples from … to − 1 of a visit. */
export function slicedVisit({series, inputs, interval}: Visit, from: number, to: number): Visit {
  return {
    series: series.map(({labels, values}) => ({
      labels,
      values: values.slice(from * labels.length, to * labels.length),
    })),
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([label, at]) => [
        label,
        (finer: number) => {
          const place = (sample: number): number => Math.round((sample * interval) / finer);
          return at(finer).slice(place(from), place(to));
        },
      ]),
    ),
    interval,
  };
}
