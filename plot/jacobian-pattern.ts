/**
 * The matrix of a system's implicit step: the places of its entries, and the residuals of Newton's iteration. Both are
 * noted by a linear solver that passes everything on to `auto()`.
 */
import type {Initial, LinearSolver, Pattern, System} from '../lib/index.js';
import {auto, newton, OptionError, simulate} from '../lib/index.js';
import type {Analysis, Factor} from '../lib/index.js';
import type {RunSettings, AnySystem} from '../lib/internal.js';
import {type MediaBundle, lineChart} from '../training/internal.js';
import {lookOf, lookOptions, type Look} from './charts.js';
import {figure} from './show.js';
import {refuseUnknownOptions} from '../lib/checks.js';

/** ∂R/∂z of an implicit step in compressed rows, and the convergence of the first steps. */
export interface JacobianPattern {
  readonly n: number;
  readonly nonzeros: number;
  /** n + 1 places: row i holds entries rowPointers[i] … rowPointers[i + 1] − 1. */
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
  /** Symmetric for every argument. */
  readonly symmetric: boolean;
  /** How `auto` solves with it: 'dense', 'tridiagonal', 'sparse', …. */
  readonly solver: string;
  /** History of Newton's method: the largest entry of each right-hand side, in order; an increase starts a step. */
  readonly residuals: readonly number[];
  /** A summary in one line. */
  toString(): string;
}

/**
 * The sparsity pattern of a system's step matrix, from one step (or `steps`).
 * @throws OptionError 'explicit-scheme' for an explicit scheme, which has no such matrix; errors of the run
 */
export function jacobianPattern(
  system: System,
  initial: Initial<AnySystem>,
  options: RunSettings & {readonly steps?: number},
): JacobianPattern {
  const {steps = 1, ...rest} = options;
  const seen: {pattern?: Pattern; solver: string; residuals: number[]} = {solver: 'none', residuals: []};
  const run = simulate(system, initial, {...rest, steps, newton: newton({linear: noting(seen)}), throw: true});
  run.dispose();
  const {pattern, solver} = seen;
  if (pattern === undefined)
    throw new OptionError(
      'explicit-scheme',
      'charts.jacobianPattern: this scheme solves no linear systems; choose an implicit one.',
    );
  const {n, rowPointers, columns, symmetric} = pattern;
  return describing({
    n,
    nonzeros: columns.length,
    rowPointers: rowPointers.slice(),
    columns: columns.slice(),
    symmetric,
    solver,
    residuals: seen.residuals,
  });
}

/** An object with some of its methods replaced; everything else is that of the target. */
const replaced = <T extends object>(target: T, own: Partial<T>): T =>
  new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(target, name, value),
  });

/** `auto()`, which notes the matrix, the solver, and the size of every right-hand side. */
function noting(seen: {pattern?: Pattern; solver: string; residuals: number[]}): LinearSolver {
  const watched = (factor: Factor): Factor =>
    replaced(factor, {
      solve(b, x, count) {
        const residual = b.subarray(0, factor.n).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        // An equal residual is that of a refinement of the solve before.
        if (residual !== seen.residuals.at(-1)) seen.residuals.push(residual);
        factor.solve(b, x, count);
      },
    });
  return {
    name: 'auto, noted',
    analyze(pattern) {
      const analysis: Analysis = auto().analyze(pattern);
      seen.pattern = pattern;
      seen.solver = analysis.kind;
      let own: Factor | undefined;
      return replaced(analysis, {
        factor(values) {
          const factor = analysis.factor(values);
          own ??= watched(factor);
          return own;
        },
        createFactor: () => watched(analysis.createFactor()),
      });
    },
  };
}

function describing(pattern: JacobianPattern): JacobianPattern {
  const text =
    `Jacobian pattern: ${pattern.n} × ${pattern.n}, ${pattern.nonzeros} entries, `
    + `${((100 * pattern.nonzeros) / pattern.n ** 2).toPrecision(3)} %${pattern.symmetric ? ', symmetric' : ''}, `
    + `solved as ${pattern.solver}`;
  return Object.defineProperties(pattern, {
    toString: {value: () => text},
    [Symbol.for('nodejs.util.inspect.custom')]: {value: () => text},
    [Symbol.for('Jupyter.display')]: {
      value: (): MediaBundle => ({'text/html': figure(sparsity(pattern), text), 'text/plain': text}),
    },
  });
}

/**
 * Entries of a pattern as squares: rows downwards, columns to the right. For large matrices, blocks that have entries.
 */
export function sparsity(pattern: Pick<JacobianPattern, 'n' | 'rowPointers' | 'columns'>, look: Look = {}): string {
  refuseUnknownOptions(look, lookOptions, 'charts.sparsity', 'bad-option');
  const {n, rowPointers, columns} = pattern;
  const block = Math.max(1, Math.ceil(n / CELLS));
  const cells = new Set<number>();
  const across = Math.ceil(n / block);
  for (let i = 0; i < n; i++)
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++)
      cells.add(Math.floor(i / block) * across + Math.floor(columns[p] / block));
  const middle = (cell: number): number => (cell + 0.5) * block - 0.5;
  const [x, y] = [
    [...cells].map(cell => middle(cell % across)),
    [...cells].map(cell => middle(Math.floor(cell / across))),
  ];
  const domain = [-0.5, across * block - 0.5] as const;
  return lineChart({
    title: look.title ?? `${columns.length} entries of ${n} × ${n}`,
    ...lookOf({width: 420, height: 420, ...look}),
    x: {label: 'column', integer: true, domain},
    y: {label: 'row', integer: true, domain: [domain[1], domain[0]]},
    legend: false,
    series: [{name: block === 1 ? 'entries' : `blocks of ${block} × ${block} with entries`, x, y, style: 'cells'}],
  });
}

/** Squares across: two pixels each in the picture's usual width. */
const CELLS = 180;
