/** Details that a user adds to the report of a fit: units, names, references, and validations of other records. */
import {OptionError} from '../../lib/index.js';
import {list, object, suggestion, type OptionSchema} from '../../lib/checks.js';
import {numberText} from '../report/number-text.js';
import type {ReportFit} from '../report/charts.js';
import {reportSchema, type Report, type ReportParameter} from '../report/report.js';
import {WHITE} from '../report/residual-statistics.js';
import type {Validation} from './validation.js';

/** Details of a fit's report: titles replace the usual ones, notes, statistics and warnings follow them. */
export interface ReportDetails extends Partial<Omit<Report, 'parameters' | 'fits'>> {
  /** Units, descriptions, references by parameter: 'k' or 'k[0]'; those of a vector 'k' hold for each number. */
  readonly parameters?: {readonly [label: string]: Partial<ReportParameter>};
  /**
   * Names and units: by series, as in `rmse`; what is given for 'q' holds for 'q[0]', 'q[1]', …. The series of
   * `validations` have those of the fitted ones, or their own: 'validation, record 1: q'.
   */
  readonly fits?: {readonly [series: string]: Partial<ReportFit>};
  /** Results of `validate`: a section for each record, and its row in the table of goodness of fit. */
  readonly validations?: readonly Validation[];
}

/** The options of a report, with details of its parameters and fits by their names. */
export const reportDetails: OptionSchema = {...reportSchema, parameters: object, fits: object, validations: list};

/** The report with its details. @throws OptionError where details are given for something that is not there */
export function detailed(
  report: Report,
  {parameters = {}, fits = {}, validations = [], notes = [], statistics = [], warnings = [], ...rest}: ReportDetails,
): Report {
  const shownFits = merged(
    [
      ...report.fits.map(one => ({one, keys: keysOf(one.name)})),
      ...validations.flatMap(({name: record, series}) =>
        series.map(one => {
          const name = validationName(record, one.name);
          return {one: {...one, name}, keys: [...keysOf(name), ...keysOf(one.name)], within: record};
        }),
      ),
    ],
    fits,
    'series',
  );
  const timeUnit = shownFits.find(one => one.timeUnit !== undefined)?.timeUnit ?? 's';
  return {
    ...report,
    ...rest,
    parameters: merged(
      report.parameters.map(one => ({one, keys: keysOf(one.name)})),
      parameters,
      'parameter',
    ),
    fits: shownFits,
    statistics: [
      ...(report.statistics ?? []).map(one => (one.name === TIME_STEP ? {...one, unit: timeUnit} : one)),
      ...statistics,
    ],
    warnings: [...(report.warnings ?? []), ...validations.flatMap(one => one.warnings), ...warnings],
    notes: [...(report.notes ?? []), ...validations.map(validationNote), ...notes],
  };
}

/** The statistic whose unit is that of the records' times. */
export const TIME_STEP = 'time step';

const validationName = (record: string, series: string): string => `validation, ${record}: ${series}`;

/** By which details find a parameter or a series: its own name, and that of the vector of which it is one number. */
function keysOf(name: string): string[] {
  const vector = name.replace(/\[[\d,]+\]$/, '');
  return vector === name ? [name] : [name, vector];
}

const validationNote = ({name, samples, rmse, nrmse, outputs}: Validation): string => {
  const correlated = Object.values(outputs).some(one => one.correlated > WHITE);
  return (
    `Validation, ${name}: RMSE ${numberText(rmse)} over ${samples} samples, ${numberText(100 * nrmse, 3)} % of the `
    + 'spread of what was measured. Its residuals are '
    + (correlated
      ? 'correlated in time: they are more than measurement noise.'
      : 'as uncorrelated in time as white noise.')
  );
};

/** Something that details may describe, by these keys; `within` the validation of a record. */
interface Describable<T> {
  readonly one: T;
  readonly keys: readonly string[];
  readonly within?: string;
}

/** @throws OptionError where details are given for something that is not there */
function merged<T extends {readonly name: string}>(
  list: readonly Describable<T>[],
  details: {readonly [name: string]: Partial<T>},
  what: string,
): T[] {
  const names = list.flatMap(({keys}) => keys);
  const unknown = Object.keys(details).find(name => !names.includes(name));
  if (unknown !== undefined) {
    const known = list.map(({one}) => one.name).join(', ');
    throw new OptionError(
      'unknown-option',
      `The report has no ${what} '${unknown}'; it has ${known}.${suggestion(unknown, names)}`,
      {name: unknown},
    );
  }
  return list.map(({one, keys, within}) => {
    const key = keys.find(name => Object.hasOwn(details, name));
    return key === undefined ? one : {...one, ...details[key], ...renamed(one.name, key, details[key].name, within)};
  });
}

/** Two numbers of one vector keep their indices, and the series of a validation that it is one. */
function renamed(own: string, key: string, given: string | undefined, within: string | undefined): {name?: string} {
  if (given === undefined) return {};
  const index = /\[[\d,]+\]$/.exec(own)?.[0] ?? '';
  const name = key.endsWith(index) ? given : `${given}${index}`;
  return {
    name: within === undefined || key.startsWith(validationName(within, '')) ? name : validationName(within, name),
  };
}
