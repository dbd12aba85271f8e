/**
 * Parameters of a system from measured records, by least squares on forward sensitivities: each
 * iteration simulates every record once, with the tangents of all parameters (equations.md §5), and
 * Levenberg–Marquardt does the rest. The result carries its uncertainty and can write a report.
 */
import type {Initial, MechanicalSystem, Newton, Numeric, NumericParams, Observe, OdeSystem, Params, Scheme, System, Tangent, Trajectory} from '../lib/index.js';
import {mechanics, ode, OptionError, ShapeError, simulate} from '../lib/index.js';
import type {LeastSquaresIteration, LeastSquaresMethod, LeastSquaresResult, Linearization} from './least-squares.js';
import {levenbergMarquardt} from './least-squares.js';
import type {Parameter, Parameters} from './parameters.js';
import {ParameterSpace} from './parameters.js';
import type {CheckedRecord, MeasuredRecord} from './records.js';
import {checkRecord} from './records.js';
import type {Report} from './report.js';
import {writeReport} from './report.js';
import {goodnessOfFit} from './residual-statistics.js';
import type {Signal} from './signal.js';
import type {ResidualSeries, Uncertainty} from './uncertainty.js';
import {uncertainty} from './uncertainty.js';

export interface IdentificationProblem {
  readonly system: System;
  /** Where every record starts, unless it has a start of its own. Parameters named initial.q, initial.v or initial.y take its place. */
  readonly initial: Initial;
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  /** What the data's y is, where it is not the state itself: a function of the state, traced like a force. */
  readonly observe?: Observe;
  /** Measured inputs: each is in `params` under its name, as its value at the present time. */
  readonly inputs?: {readonly [name: string]: Signal};
  /** What is looked for, by the name it has in `params`. */
  readonly parameters: Parameters;
  readonly scheme?: Scheme;
  /** Step length of the simulation; every measured time lies on its grid. */
  readonly dt: number;
  readonly newton?: Newton;
  readonly engine?: 'auto' | 'wasm' | 'interpreter' | 'tensor';
  /** Default levenbergMarquardt(). */
  readonly method?: LeastSquaresMethod;
  /**
   * How the residuals are taken to be related in time: 'correlated' (default) for what a model misses,
   * which lasts many samples (Newey & West 1987); 'independent' for pure measurement noise.
   */
  readonly residuals?: 'correlated' | 'independent';
  readonly onProgress?: (iteration: LeastSquaresIteration & {readonly values: {readonly [name: string]: Float64Array}}) => void;
}

export interface Identification {
  /** Numbers for scalars, arrays (row-major) otherwise; fixed parameters too. */
  readonly estimate: {readonly [name: string]: number | Float64Array};
  /** Like the estimate, without the fixed ones; infinite where the data cannot tell. */
  readonly standardError: {readonly [name: string]: number | Float64Array};
  /** Of the parameters that move: labels, and their matrix, row-major. */
  readonly correlation: {readonly labels: readonly string[]; readonly values: Float64Array};
  /** Root mean square of measured − simulated, unweighted, by series: 'q', 'y', or 'q[1]' where a sample has several numbers. */
  readonly rmse: {readonly [series: string]: number};
  /** 1 − residual over total sum of squares, by series. */
  readonly r2: {readonly [series: string]: number};
  readonly history: readonly LeastSquaresIteration[];
  /** Of the first record, at the estimate. */
  readonly trajectory: Trajectory;
  readonly trajectories: readonly Trajectory[];
  readonly converged: boolean;
  /** Why the iteration ended. */
  readonly message: string;
  readonly warnings: readonly string[];
  readonly uncertainty: Uncertainty;
  /** Writes a self-contained HTML page; `details` adds to it or replaces parts of it. */
  report(path: string, details?: Partial<Report>): Promise<void>;
}

const initialPrefix = 'initial.';

/**
 * @throws OptionError, ShapeError, DataError for a problem that is not well posed; the errors of
 *   `simulate` where the guess itself cannot be simulated
 */
export async function identify(problem: IdentificationProblem): Promise<Identification> {
  const fit = new Fit(problem);
  const method = problem.method ?? levenbergMarquardt();
  const iterations = method.iterate(fit, fit.space.start);
  for (;;) {
    const {done, value} = iterations.next();
    if (done === true) return fit.result(value);
    problem.onProgress?.({...value, values: fit.space.values(value.x)});
    // Lets the page draw, or the terminal print, between iterations.
    await new Promise(resolve => setTimeout(resolve, 0));
  }
}

/** The residuals of all records as a function of the coordinates. */
class Fit {
  readonly space: ParameterSpace;
  private readonly records: readonly CheckedRecord[];
  private readonly systems: readonly System[];
  private readonly observes: readonly (Observe | undefined)[];
  private readonly rows: number;

  constructor(private readonly problem: IdentificationProblem) {
    this.space = new ParameterSpace(problem.parameters);
    const list = Array.isArray(problem.data) ? problem.data as readonly MeasuredRecord[] : [problem.data as MeasuredRecord];
    if (list.length === 0) throw new OptionError('no-data', 'identify: data is empty.');
    this.records = list.map((record, i) => checkRecord(record, i, problem.observe !== undefined));
    const clash = this.records.flatMap(record => Object.keys({...problem.inputs, ...record.inputs})).find(name => name in problem.parameters);
    if (clash !== undefined) throw new OptionError('name-clash', `identify: '${clash}' is both an input and a parameter; rename one.`, {name: clash});
    this.systems = this.records.map(record => withInputs(problem.system, {...problem.inputs, ...record.inputs}));
    this.observes = this.records.map(record => observeWithInputs(problem.observe, {...problem.inputs, ...record.inputs}));
    this.rows = this.records.reduce((sum, {channels}) => sum + channels.reduce((n, {measured}) => n + measured.length, 0), 0);
  }

  /** Residuals w·(simulated − measured), and their Jacobian with respect to the coordinates. */
  linearize(x: Float64Array): Linearization {
    const {space} = this;
    const residuals = new Float64Array(this.rows);
    const jacobian = new Float64Array(this.rows * space.size);
    let row = 0;
    this.records.forEach((record, r) => {
      const {trajectory, tangents} = simulate.jvps(this.systems[r], this.initial(x, record), this.options(x, r), this.directions());
      for (const {name, simulated, measured, weights} of record.channels) {
        const values = trajectory.values(simulated);
        this.requireLength(values, measured, record.name, name);
        for (let i = 0; i < values.length; i++) residuals[row + i] = weights[i] * (values[i] - measured[i]);
        tangents.forEach((tangent, p) => {
          const d = tangent[simulated];
          for (let i = 0; i < values.length; i++) jacobian[(row + i) * space.size + p] = weights[i] * d[i];
        });
        row += measured.length;
      }
      trajectory.dispose();
    });
    return {residuals, jacobian: space.toCoordinates(jacobian, x)};
  }

  private requireLength(simulated: Float64Array, measured: Float64Array, record: string, series: string): void {
    if (simulated.length === measured.length) return;
    throw new ShapeError('data-shape', `${record}: ${series} has ${measured.length} measured numbers, but the simulation gives ${simulated.length}. Their shapes must agree; to compare a part of the state, use observe.`, {record, series});
  }

  /** Values of `params`, each in the shape its guess was given in. */
  private params(x: Float64Array): NumericParams {
    const values = this.space.values(x);
    return Object.fromEntries(Object.entries(this.problem.parameters).filter(([name]) => !name.startsWith(initialPrefix))
      .map(([name, {shape}]) => [name, nested(values[name], shape)]));
  }

  private initial(x: Float64Array, record: CheckedRecord): Initial {
    const start = {t: record.t[0], ...(record.initial ?? this.problem.initial)};
    const values = this.space.values(x);
    const moved = Object.entries(this.problem.parameters).filter(([name]) => name.startsWith(initialPrefix))
      .map(([name, {shape}]) => [name.slice(initialPrefix.length), nested(values[name], shape)] as const);
    return {...start, ...Object.fromEntries(moved)};
  }

  private options(x: Float64Array, r: number): Parameters_<typeof simulate>[2] {
    const {scheme, dt, newton, engine} = this.problem;
    const {t} = this.records[r];
    return {scheme, dt, newton, engine, t1: t[t.length - 1], saveAt: Array.from(t), params: this.params(x), observe: this.observes[r]};
  }

  /** One direction for every number that moves. */
  private directions(): Tangent[] {
    return Object.entries(this.problem.parameters).filter(([, {kind}]) => kind !== 'fixed').flatMap(([name, {guess, shape}]) =>
      Array.from(guess, (_, i): Tangent => {
        const unit = new Float64Array(guess.length);
        unit[i] = 1;
        const value = nested(unit, shape);
        return name.startsWith(initialPrefix) ? {initial: {[name.slice(initialPrefix.length)]: value}} : {params: {[name]: value}};
      }));
  }

  result(found: LeastSquaresResult): Identification {
    const {space, problem} = this;
    const trajectories = this.records.map((record, r) => simulate(this.systems[r], this.initial(found.x, record), this.options(found.x, r)));
    const series = problem.residuals === 'independent' ? undefined : this.residualSeries();
    const judged = uncertainty(found, {names: space.labels, series});
    const values = space.values(found.x);
    const errors = space.naturalErrors(judged.standardError, found.x);
    const fits = this.fits(trajectories);
    const warnings = [
      ...(found.converged ? [] : [`The fit did not converge: ${found.message}`]),
      ...judged.warnings, ...space.boundWarnings(found.x),
    ];
    const identification: Identification = {
      estimate: mapValues(problem.parameters, (name, parameter) => plain(values[name], parameter)),
      standardError: this.byName(errors),
      correlation: {labels: space.labels, values: judged.correlation},
      rmse: Object.fromEntries(fits.map(({name, measured, simulated}) => [name, goodnessOfFit(measured, simulated).rmse])),
      r2: Object.fromEntries(fits.map(({name, measured, simulated}) => [name, goodnessOfFit(measured, simulated).r2])),
      history: found.history,
      trajectory: trajectories[0],
      trajectories,
      converged: found.converged,
      message: found.message,
      warnings,
      uncertainty: judged,
      report: (path, details) => writeReport(path, {...this.report(found, identification, fits), ...details}),
    };
    return identification;
  }

  private byName(flat: Float64Array): {[name: string]: number | Float64Array} {
    const named: {[name: string]: number | Float64Array} = {};
    let offset = 0;
    for (const [name, parameter] of Object.entries(this.problem.parameters)) {
      if (parameter.kind === 'fixed') continue;
      const size = parameter.guess.length;
      named[name] = plain(flat.slice(offset, offset + size), parameter);
      offset += size;
    }
    return named;
  }

  private residualSeries(): ResidualSeries[] {
    let start = 0;
    return this.records.flatMap(({t, channels}) => channels.map(({outputs, measured}) => {
      const one = {start, samples: t.length, outputs};
      start += measured.length;
      return one;
    }));
  }

  /** Measured and simulated, each output apart. */
  private fits(trajectories: readonly Trajectory[]): {name: string; t: Float64Array; measured: Float64Array; simulated: Float64Array}[] {
    return this.records.flatMap((record, r) => record.channels.flatMap(({name, simulated, outputs, measured}) => {
      const values = trajectories[r].values(simulated);
      return Array.from({length: outputs}, (_, k) => {
        const take = (from: Float64Array): Float64Array => Float64Array.from({length: record.t.length}, (_unused, i) => from[i * outputs + k]);
        const label = outputs === 1 ? name : `${name}[${k}]`;
        return {name: this.records.length === 1 ? label : `${record.name}: ${label}`, t: record.t, measured: take(measured), simulated: take(values)};
      });
    }));
  }

  private report(found: LeastSquaresResult, identification: Identification, fits: Report['fits']): Report {
    const {space} = this;
    const {low, high} = space.intervals(identification.uncertainty.standardError, found.x);
    const natural = space.natural(found.x);
    const errors = space.naturalErrors(identification.uncertainty.standardError, found.x);
    return {
      title: 'Identified parameters',
      parameters: space.labels.map((name, i) => ({name, estimate: natural[i], standardError: errors[i], interval: [low[i], high[i]] as const})),
      fits,
      history: found.history,
      correlation: identification.correlation,
      statistics: [
        {name: 'iterations', value: found.history.length - 1},
        {name: 'residuals', value: found.residuals.length},
        {name: 'half the weighted sum of squares', value: found.cost},
      ],
      warnings: identification.warnings,
      notes: [found.message],
    };
  }
}

/** TypeScript's Parameters, which the problem's own Parameters hides. */
type Parameters_<F> = F extends (...args: infer A) => unknown ? A : never;

function plain(values: Float64Array, {shape}: Parameter): number | Float64Array {
  return shape.length === 0 ? values[0] : values;
}

function mapValues<T, U>(object: {readonly [name: string]: T}, map: (name: string, value: T) => U): {[name: string]: U} {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(name, value)]));
}

/** Row-major values in a shape, as `simulate` takes them. */
function nested(values: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length === 0) return values[0];
  if (shape.length === 1) return values;
  const step = values.length / shape[0];
  return Array.from({length: shape[0]}, (_, i) => nested(values.subarray(i * step, (i + 1) * step), shape.slice(1)) as number);
}

type Inputs = {readonly [name: string]: Signal};

const paramsAt = (params: Params, inputs: Inputs, t: Parameters_<Signal['at']>[0]): Params => ({...params, ...mapValues(inputs, (_, input) => input.at(t))});

/** The system with its inputs among the parameters, as values at the present time. */
function withInputs(system: System, inputs: Inputs): System {
  if (Object.keys(inputs).length === 0) return system;
  if (system.kind === 'ode') {
    const {derivative}: OdeSystem = system;
    return ode(at => derivative({...at, params: paramsAt(at.params, inputs, at.t)}));
  }
  const {mass, forces}: MechanicalSystem = system;
  return mechanics({mass, forces: forces.map(force => at => force({...at, params: paramsAt(at.params, inputs, at.t)}))});
}

function observeWithInputs(observe: Observe | undefined, inputs: Inputs): Observe | undefined {
  return observe === undefined ? undefined : at => observe({...at, params: paramsAt(at.params, inputs, at.t)});
}
