/**
 * An evaluator of steps written for the tests alone: plain arrays, dense elimination, derivatives by differences,
 * stages from printed tableaus. It shares no code with the library; what both agree on is unlikely to be a common error.
 * Formulas: Hairer & Wanner, Solving ODEs II (Runge–Kutta), Newmark 1959, and the definitions of the θ-methods.
 */

/** M(q) v' = f(q, v, t), q' = v; or y' = f(y, y, t) without a mass. Numbers are flat. */
export interface PlainSystem {
  readonly n: number;
  readonly mass?: (q: readonly number[]) => number[][];
  readonly force: (q: readonly number[], v: readonly number[], t: number) => number[];
}

export type Vector = readonly number[];

const dot = (a: Vector, b: Vector): number => a.reduce((total, value, i) => total + value * b[i], 0);
const product = (m: readonly Vector[], x: Vector): number[] => m.map(row => dot(row, x));
/** x + Σ weights·ys. */
const combine = (x: Vector, ...terms: readonly (readonly [number, Vector])[]): number[] =>
  x.map((value, i) => terms.reduce((total, [weight, y]) => total + weight * y[i], value));

/** Gaussian elimination with partial pivoting on rows scaled by their largest entry; undefined where a pivot is 0 or not finite. */
export function solve(matrix: readonly Vector[], right: Vector): number[] | undefined {
  const n = right.length;
  const a = matrix.map((row, i) => {
    const scale = Math.max(...row.map(Math.abs));
    return [...row.map(value => value / scale), right[i] / scale];
  });
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[pivot][k])) pivot = i;
    if (!(Math.abs(a[pivot][k]) > 0) || !Number.isFinite(a[pivot][k])) return undefined;
    [a[k], a[pivot]] = [a[pivot], a[k]];
    for (let i = k + 1; i < n; i++) {
      const factor = a[i][k] / a[k][k];
      for (let j = k; j <= n; j++) a[i][j] -= factor * a[k][j];
    }
  }
  const x = new Array<number>(n).fill(0);
  for (let k = n - 1; k >= 0; k--) x[k] = (a[k][n] - dot(a[k].slice(k + 1, n), x.slice(k + 1))) / a[k][k];
  return x.every(Number.isFinite) ? x : undefined;
}

/** Columns by central differences over steps in proportion to each unknown's scale: the error, about 1e-10 of it, only slows the iteration. */
function jacobian(residual: (z: Vector) => number[], z: Vector, scales: Vector): number[][] {
  const columns = z.map((value, j) => {
    const step = 6e-6 * scales[j];
    const moved = (s: number): number[] => residual(z.map((other, i) => (i === j ? value + s : other)));
    const [ahead, behind] = [moved(step), moved(-step)];
    return ahead.map((r, i) => (r - behind[i]) / (2 * step));
  });
  return z.map((_, i) => columns.map(column => column[i]));
}

/** How far z is from the root, by one Newton correction: relative to the unknowns' scales, at worst. Undefined where that cannot be said. */
export function distance(residual: (z: Vector) => number[], z: Vector, scales: Vector): number | undefined {
  const correction = solve(jacobian(residual, z, scales), residual(z));
  return correction === undefined ? undefined : Math.max(...correction.map((value, i) => Math.abs(value) / scales[i]));
}

/** The root near z; undefined where Newton's iteration does not settle to rounding. */
export function root(residual: (z: Vector) => number[], z: Vector, scales: Vector): number[] | undefined {
  let at = [...z];
  let last = Infinity;
  for (let k = 0; k < 60; k++) {
    const correction = solve(jacobian(residual, at, scales), residual(at));
    if (correction === undefined) return undefined;
    at = at.map((value, i) => value - correction[i]);
    const size = Math.max(...correction.map((value, i) => Math.abs(value) / scales[i]));
    if (!Number.isFinite(size)) return undefined;
    // Rounding ends the descent: the correction is tiny and no longer falls.
    if (size < 1e-15 || (size < 1e-11 && size >= last)) return at;
    last = size;
  }
  return undefined;
}

export interface State {
  readonly q: Vector;
  readonly v: Vector;
  readonly a?: Vector;
}

/** The scales of a step's unknowns: of what is, and of what moves it. */
export function scalesOf(...vectors: readonly Vector[]): number[] {
  const largest = Math.max(...vectors.flat().map(Math.abs), Number.MIN_VALUE);
  return vectors[0].map((_, i) => Math.max(...vectors.map(vector => Math.abs(vector[i])), 1e-3 * largest));
}

/** Shares of the end in force and velocity, or the midpoint rule. */
export interface ThetaRule {
  readonly alpha: number;
  readonly beta: number;
  readonly midpoint?: boolean;
}

/** The residual of a step of the θ family from x, in the unknown v⁺ (y⁺ of an ode). */
export function thetaResidual(
  {mass, force}: PlainSystem,
  {alpha, beta, midpoint}: ThetaRule,
  {q, v}: State,
  t: number,
  h: number,
): (z: Vector) => number[] {
  if (mass === undefined) {
    return z =>
      midpoint === true
        ? combine(
            z,
            [-1, q],
            [
              -h,
              at1(
                force,
                combine(
                  q.map(value => value / 2),
                  [0.5, z],
                ),
                t + h / 2,
              ),
            ],
          )
        : combine(z, [-1, q], [-h * alpha, at1(force, z, t + h)], [-h * (1 - alpha), at1(force, q, t)]);
  }
  return z => {
    const end = combine(q, [h * (1 - beta), v], [h * beta, z]);
    const middle = (a: Vector, b: Vector): number[] => a.map((value, i) => (value + b[i]) / 2);
    const f =
      midpoint === true
        ? force(middle(q, end), middle(v, z), t + h / 2)
        : combine(
            force(end, z, t + h).map(value => alpha * value),
            [1 - alpha, force(q, v, t)],
          );
    const where = combine(
      q.map(value => (1 - beta) * value),
      [beta, end],
    );
    return combine(product(mass(where), combine(z, [-1, v])), [-h, f]);
  };
}

const at1 = (force: PlainSystem['force'], y: Vector, t: number): number[] => force(y, y, t);

/** M(q⁺) a⁺ = f(q⁺, v⁺) in the unknown a⁺. */
export function newmarkResidual(
  {mass, force}: PlainSystem,
  beta: number,
  gamma: number,
  x: Required<State>,
  t: number,
  h: number,
): (z: Vector) => number[] {
  return z => {
    const q = combine(x.q, [h, x.v], [h * h * (0.5 - beta), x.a], [h * h * beta, z]);
    const v = combine(x.v, [h * (1 - gamma), x.a], [h * gamma, z]);
    return combine(product((mass as NonNullable<typeof mass>)(q), z), [-1, force(q, v, t + h)]);
  };
}

/** 3y⁺ − 4y + y⁻ = 2h f⁺. */
export function bdf2Residual(
  {mass, force}: PlainSystem,
  before: State,
  {q, v}: State,
  t: number,
  h: number,
): (z: Vector) => number[] {
  if (mass === undefined)
    return z =>
      combine(
        z.map(value => 3 * value),
        [-4, q],
        [1, before.q],
        [-2 * h, at1(force, z, t + h)],
      );
  return z => {
    const end = q.map((value, i) => (4 * value - before.q[i] + 2 * h * z[i]) / 3);
    return combine(
      product(
        mass(end),
        combine(
          z.map(value => 3 * value),
          [-4, v],
          [1, before.v],
        ),
      ),
      [-2 * h, force(end, z, t + h)],
    );
  };
}

export interface Tableau {
  readonly a: readonly Vector[];
  readonly b: Vector;
  readonly c: Vector;
}

const r3 = Math.sqrt(3),
  r6 = Math.sqrt(6),
  r15 = Math.sqrt(15),
  g2 = 1 - Math.SQRT1_2;
/** As printed: Hairer & Wanner II, tables 5.1, 5.2 (Gauss), 5.6 (Radau IIA), Alexander 1977 (SDIRK2), and Kutta's own. */
export const tableaus: {readonly [name: string]: Tableau} = {
  gauss1: {a: [[0.5]], b: [1], c: [0.5]},
  gauss2: {
    a: [
      [1 / 4, 1 / 4 - r3 / 6],
      [1 / 4 + r3 / 6, 1 / 4],
    ],
    b: [0.5, 0.5],
    c: [0.5 - r3 / 6, 0.5 + r3 / 6],
  },
  gauss3: {
    a: [
      [5 / 36, 2 / 9 - r15 / 15, 5 / 36 - r15 / 30],
      [5 / 36 + r15 / 24, 2 / 9, 5 / 36 - r15 / 24],
      [5 / 36 + r15 / 30, 2 / 9 + r15 / 15, 5 / 36],
    ],
    b: [5 / 18, 4 / 9, 5 / 18],
    c: [0.5 - r15 / 10, 0.5, 0.5 + r15 / 10],
  },
  radau5: {
    a: [
      [(88 - 7 * r6) / 360, (296 - 169 * r6) / 1800, (-2 + 3 * r6) / 225],
      [(296 + 169 * r6) / 1800, (88 + 7 * r6) / 360, (-2 - 3 * r6) / 225],
      [(16 - r6) / 36, (16 + r6) / 36, 1 / 9],
    ],
    b: [(16 - r6) / 36, (16 + r6) / 36, 1 / 9],
    c: [(4 - r6) / 10, (4 + r6) / 10, 1],
  },
  sdirk2: {
    a: [
      [g2, 0],
      [1 - g2, g2],
    ],
    b: [1 - g2, g2],
    c: [g2, 1],
  },
  rk4: {
    a: [
      [0, 0, 0, 0],
      [0.5, 0, 0, 0],
      [0, 0.5, 0, 0],
      [0, 0, 1, 0],
    ],
    b: [1 / 6, 1 / 3, 1 / 3, 1 / 6],
    c: [0, 0.5, 0.5, 1],
  },
};

/** y' = g(y, t) of first order, y = (q, v). */
function firstOrder({n, mass, force}: PlainSystem): (y: Vector, t: number) => number[] | undefined {
  if (mass === undefined) return (y, t) => at1(force, y, t);
  return (y, t) => {
    const [q, v] = [y.slice(0, n), y.slice(n)];
    const a = solve(mass(q), force(q, v, t));
    return a === undefined ? undefined : [...v, ...a];
  };
}

/**
 * y⁺ of a Runge–Kutta step: all stages' derivatives in one iteration, from those of the beginning or from those on a path,
 * which gives the state at a share of the step. Undefined where it does not settle.
 */
export function rungeKutta(
  system: PlainSystem,
  {a, b, c}: Tableau,
  y: Vector,
  t: number,
  h: number,
  path?: (share: number) => Vector | undefined,
): number[] | undefined {
  const g = firstOrder(system);
  const m = y.length;
  const k0 = g(y, t);
  if (k0 === undefined) return undefined;
  const stage = (k: Vector, i: number): number[] =>
    combine(y, ...a[i].map((weight, j): [number, Vector] => [h * weight, k.slice(j * m, (j + 1) * m)]));
  const explicit = a.every((row, i) => row.every((weight, j) => j < i || weight === 0));
  let k: number[] | undefined;
  if (explicit) {
    k = new Array<number>(b.length * m).fill(0);
    for (let i = 0; i < b.length; i++) {
      const slope = g(stage(k, i), t + c[i] * h);
      if (slope === undefined) return undefined;
      k.splice(i * m, m, ...slope);
    }
  } else {
    let failed = false;
    const residual = (z: Vector): number[] =>
      b.flatMap((_, i) => {
        const slope = g(stage(z, i), t + c[i] * h);
        if (slope === undefined) failed = true;
        return combine(z.slice(i * m, (i + 1) * m), [-1, slope ?? z]);
      });
    const guess = b.flatMap((_, i) => {
      const there = path?.(c[i]);
      return there === undefined ? k0 : (g(there, t + c[i] * h) ?? k0);
    });
    const typical = scalesOf(
      k0,
      y.map(value => value / h),
    ).map(scale => Math.max(scale, 1e-300));
    k = root(
      residual,
      guess,
      b.flatMap(() => typical),
    );
    if (failed) return undefined;
  }
  return k === undefined
    ? undefined
    : combine(y, ...b.map((weight, i): [number, Vector] => [h * weight, (k as Vector).slice(i * m, (i + 1) * m)]));
}

/** From t to t + h by as many steps of the Gauss method of order 6. */
export function reference(
  system: PlainSystem,
  y: Vector,
  t: number,
  h: number,
  substeps: number,
): number[] | undefined {
  let at: number[] | undefined = [...y];
  for (let k = 0; k < substeps && at !== undefined; k++)
    at = rungeKutta(system, tableaus.gauss3, at, t + (k * h) / substeps, h / substeps);
  return at;
}
