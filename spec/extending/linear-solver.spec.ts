/** A linear solver from outside: Householder's QR (Golub & Van Loan, Matrix Computations, §5.2), for any square matrix. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  implicitMidpoint,
  lu,
  mechanics,
  newton,
  radauIIA5,
  simulate,
  StiffgradError,
  SingularMatrixError,
  type Analysis,
  type Factor,
  type LinearSolver,
  type Pattern,
  type Scheme,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

class QrFactor implements Factor {
  readonly kind = 'qr';
  readonly linearIterations = 0;
  readonly n: number;
  readonly size: number;
  /** By columns: Householder's vectors v on and below the diagonal, R above it. */
  private readonly a: Float64Array;
  /** R's diagonal. */
  private readonly d: Float64Array;
  /** 2/vᵀv */
  private readonly beta: Float64Array;

  constructor(private readonly pattern: Pattern) {
    this.n = pattern.n;
    this.a = new Float64Array(this.n ** 2);
    this.d = new Float64Array(this.n);
    this.beta = new Float64Array(this.n);
    this.size = this.n * (this.n + 2);
  }

  refactor(values: Float64Array): void {
    const {
      n,
      a,
      d,
      beta,
      pattern: {rowPointers, columns},
    } = this;
    a.fill(0);
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        if (!Number.isFinite(values[p]))
          throw new StiffgradError('not-finite', 'The matrix has entries that are not finite.', {rows: [i]});
        a[columns[p] * n + i] = values[p];
      }
    }
    let dependent = -1;
    for (let k = 0; k < n; k++) {
      let whole = 0;
      for (let i = 0; i < n; i++) whole = Math.hypot(whole, a[k * n + i]);
      let norm = 0;
      for (let i = k; i < n; i++) norm = Math.hypot(norm, a[k * n + i]);
      // What is left of a column that depends on others is the rounding of n reflections.
      if (norm <= 4 * n * Number.EPSILON * whole) {
        if (dependent < 0) dependent = k;
        d[k] = beta[k] = 0;
        continue;
      }
      d[k] = a[k * n + k] > 0 ? -norm : norm;
      a[k * n + k] -= d[k];
      beta[k] = -1 / (d[k] * a[k * n + k]);
      for (let j = k + 1; j < n; j++) this.reflect(k, a, j * n);
    }
    if (dependent >= 0)
      throw new SingularMatrixError('singular-matrix', 'Rows of the matrix depend on each other.', {
        rows: this.dependentRows(dependent),
      });
  }

  /** x ← x − βv(vᵀx) */
  private reflect(k: number, x: Float64Array, at: number): void {
    const {n, a, beta} = this;
    let product = 0;
    for (let i = k; i < n; i++) product += a[k * n + i] * x[at + i];
    for (let i = k; i < n; i++) x[at + i] -= beta[k] * product * a[k * n + i];
  }

  /** Where y = Qw with Rᵀw = 0 is not zero. */
  private dependentRows(k: number): number[] {
    const {n, a, d} = this;
    const y = new Float64Array(n);
    y[k] = 1;
    for (let i = k + 1; i < n; i++) {
      for (let j = k; j < i; j++) y[i] -= a[i * n + j] * y[j];
      y[i] = d[i] === 0 ? 0 : y[i] / d[i];
    }
    for (let j = n - 1; j >= 0; j--) this.reflect(j, y, 0);
    const most = y.reduce((m, value) => Math.max(m, Math.abs(value)), 0);
    return [...y.keys()].filter(i => Math.abs(y[i]) > 1e-8 * most);
  }

  /** Rx = Qᵀb */
  solve(b: Float64Array, x: Float64Array, count = 1): void {
    const {n, a, d} = this;
    if (x !== b) x.set(b.subarray(0, count * n));
    for (let at = 0; at < count * n; at += n) {
      for (let k = 0; k < n; k++) this.reflect(k, x, at);
      for (let i = n - 1; i >= 0; i--) {
        for (let j = i + 1; j < n; j++) x[at + i] -= a[j * n + i] * x[at + j];
        x[at + i] /= d[i];
      }
    }
  }

  /** Rᵀw = b, x = Qw */
  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    const {n, a, d} = this;
    if (x !== b) x.set(b.subarray(0, count * n));
    for (let at = 0; at < count * n; at += n) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < i; j++) x[at + i] -= a[i * n + j] * x[at + j];
        x[at + i] /= d[i];
      }
      for (let k = n - 1; k >= 0; k--) this.reflect(k, x, at);
    }
  }
}

class QrAnalysis implements Analysis {
  readonly kind = 'dense';
  readonly n: number;
  readonly nonzeros: number;
  readonly work: number;
  private own?: QrFactor;

  constructor(private readonly pattern: Pattern) {
    this.n = pattern.n;
    this.nonzeros = this.n ** 2;
    this.work = (4 / 3) * this.n ** 3;
  }

  factor(values: Float64Array): Factor {
    this.own ??= new QrFactor(this.pattern);
    this.own.refactor(values);
    return this.own;
  }

  createFactor(): Factor {
    return new QrFactor(this.pattern);
  }
}

const qr: LinearSolver = {name: 'qr', analyze: pattern => new QrAnalysis(pattern)};

/** Two masses on rods of length 1: Newton's matrix is unsymmetric and indefinite. `twice` states the first rod again. */
const rods = (twice: boolean): ReturnType<typeof mechanics> =>
  mechanics({
    mass: [1, 1, 0.5, 0.5],
    forces: ({v, params}) => tf.add(tf.mul(params.g as tf.Tensor, tf.tensor1d([0, -1, 0, -0.5])), tf.mul(v, -0.1)),
    constraints: [
      bilateral(({q}) => tf.sub(tf.sum(tf.square(tf.slice(q, [0], [2]))), 1)),
      bilateral(({q}) => tf.sub(tf.sum(tf.square(tf.sub(tf.slice(q, [2], [2]), tf.slice(q, [0], [2])))), 1)),
      ...(twice ? [bilateral(({q}) => tf.sub(tf.norm(tf.slice(q, [0], [2])), 1))] : []),
    ],
  });
const start = {q: [1, 0, 2, 0], v: [0, 0, 0, 0]};
const options = (linear: LinearSolver, scheme: Scheme): Parameters<typeof simulate>[2] => ({
  scheme,
  dt: 0.02,
  steps: 50,
  params: {g: 9.81},
  newton: newton({linear}),
});

describe('a linear solver from outside: QR', () => {
  for (const scheme of [implicitMidpoint(), radauIIA5()]) {
    for (const engine of ['wasm', 'interpreter'] as const) {
      slow(`${scheme.name}, ${engine}: gives the motion and the gradient of lu()`, () => {
        const [mine, theirs] = [qr, lu()].map(linear => {
          const {trajectory, pullback} = simulate.vjp(rods(false), start, {...options(linear, scheme), engine});
          const q = trajectory.values('q');
          const {params, initial} = pullback({q: Float64Array.from(q, Math.cos)});
          trajectory.dispose();
          return {
            q,
            gradient: [...(params.g as Float64Array), ...(initial.q as Float64Array)],
            factorizations: trajectory.stats.factorizations,
            linear: trajectory.stats.linear,
          };
        });
        expect(mine.linear).to.equal('dense');
        expect(mine.factorizations).to.be.greaterThan(0);
        // Newton's tolerance is 1e-12 of z; a double pendulum of this length of time makes little of it.
        mine.q.forEach((x, i) => expect(x).to.be.closeTo(theirs.q[i], 1e-10));
        mine.gradient.forEach((x, i) =>
          expect(x).to.be.closeTo(theirs.gradient[i], 1e-7 * Math.max(1, Math.abs(theirs.gradient[i]))),
        );
      });
    }
  }

  it('names dependent rows, so that constraints that say the same twice are solved for', () => {
    const [mine, theirs] = [qr, lu()].map(linear => {
      const path = simulate(rods(true), start, options(linear, implicitMidpoint()));
      path.dispose();
      return path;
    });
    expect(mine.warnings).to.deep.equal(theirs.warnings).and.have.length(1);
    mine.values('q').forEach((x, i) => expect(x).to.be.closeTo(theirs.values('q')[i], 1e-7));
  });

  it('solves forwards, transposed, and many at once', () => {
    const n = 5;
    const hilbert = Float64Array.from({length: n * n}, (_, k) => 1 / (Math.floor(k / n) + 2 * (k % n) + 1));
    const pattern: Pattern = {
      n,
      rowPointers: Int32Array.from({length: n + 1}, (_, i) => i * n),
      columns: Int32Array.from({length: n * n}, (_, k) => k % n),
      symmetric: false,
      dense: true,
    };
    const factor = qr.analyze(pattern).factor(hilbert);
    const b = Float64Array.from({length: 2 * n}, (_, i) => Math.sin(i + 1));
    for (const transposed of [false, true]) {
      const x = new Float64Array(2 * n);
      if (transposed) factor.solveTransposed(b, x, 2);
      else factor.solve(b, x, 2);
      const size = x.reduce((m, value) => Math.max(m, Math.abs(value)), 0);
      for (let k = 0; k < 2; k++) {
        for (let i = 0; i < n; i++) {
          let sum = 0;
          for (let j = 0; j < n; j++) sum += hilbert[transposed ? j * n + i : i * n + j] * x[k * n + j];
          // Backward stable: the residual is rounding of ‖A‖‖x‖, whatever the condition.
          expect(sum).to.be.closeTo(b[k * n + i], 20 * Number.EPSILON * size);
        }
      }
    }
  });
});
