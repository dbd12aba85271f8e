/** Newton's iteration on equations written by hand: where it ends, what it costs, and what it refuses. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {SingularMatrixError} from '../../lib/errors.js';
import type {Factor, LinearSolver} from '../../lib/linear/index.js';
import type {NewtonOptions} from '../../lib/newton/index.js';
import {backtracking, full, subSteps} from '../../lib/newton/index.js';
import {bisect, broyden, scalar, solve} from './equations.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const epsilon = Number.EPSILON;

/** scipy.optimize.root(method='hybr', tol=1e-15): residual 9e-16. */
const broydenRoot = [
  -0.5707221320112249, -0.681806949984275, -0.70221007601766, -0.7055106298950804, -0.7049061557287437,
  -0.7014966070298511, -0.6918893223547983, -0.6657965144058539, -0.5960351090263659, -0.4164122575286935,
];

const linear = (rows: readonly (readonly number[])[], right: readonly number[]) => ({
  n: right.length,
  f: (z: Float64Array, out: Float64Array) =>
    rows.forEach((row, i) => (out[i] = row.reduce((sum, a, j) => sum + a * z[j], -right[i]))),
  jacobian: (_: Float64Array, out: Float64Array) => out.set(rows.flat()),
});

describe('newton: the iteration', () => {
  describe('roots found elsewhere', () => {
    it("Wallis's cubic, Kepler's equation: bisection and scipy.optimize.brentq", () => {
      const wallis = (z: number): number => z ** 3 - 2 * z - 5;
      const kepler = (z: number): number => z - 0.9 * Math.sin(z) - 0.3;
      const cubic = solve(
        scalar(wallis, z => 3 * z * z - 2),
        [2],
      );
      const orbit = solve(
        scalar(kepler, z => 1 - 0.9 * Math.cos(z)),
        [3],
      );
      // The tolerance, 1e-12 (1 + |z|), is held with a margin of a hundred.
      expect(cubic.z[0]).to.be.closeTo(2.094551481542327, 3e-14);
      expect(cubic.z[0]).to.be.closeTo(bisect(wallis, 2, 3), 3e-14);
      expect(orbit.z[0]).to.be.closeTo(1.103517720303087, 2e-14);
      expect(orbit.z[0]).to.be.closeTo(bisect(kepler, 0, 3), 2e-14);
    });

    it('tells the norm of every iteration, however many', () => {
      // Of z⁹ = 1 from afar each correction takes a ninth of z: the norm falls by (8/9)⁹.
      const {status, history, counters} = solve(
        scalar(
          z => z ** 9 - 1,
          z => 9 * z ** 8,
        ),
        [1e10],
        {maxIterations: 100},
      );
      expect(status).to.equal('newton-diverged');
      expect(counters.newtonIterations).to.equal(100);
      expect(history).to.have.length(100);
      history.forEach((norm, k) => expect(norm).to.be.closeTo(1e90 * (8 / 9) ** (9 * k), 1e-9 * norm));
    });

    it("Broyden's tridiagonal equations: scipy.optimize.root", () => {
      const {z, status} = solve(broyden(10), Array<number>(10).fill(-1));
      expect(status).to.equal('converged');
      // The tolerance with its margin, as above.
      z.forEach((value, i) => expect(value).to.be.closeTo(broydenRoot[i], 2e-14));
    });

    it('random increasing functions, all modes and strategies: bisection', () => {
      const modes: readonly NewtonOptions['jacobian'][] = ['fresh', 'chord', 'auto'];
      const strategies = [full(), subSteps(0.3), subSteps(0.9), backtracking()];
      fc.assert(
        fc.property(
          fc.double({min: 0.1, max: 10, noNaN: true}),
          fc.double({min: 0, max: 5, noNaN: true}),
          fc.double({min: -20, max: 20, noNaN: true}),
          fc.double({min: -3, max: 3, noNaN: true}),
          fc.constantFrom(...modes),
          fc.constantFrom(...strategies),
          (a, b, c, start, jacobian, step) => {
            const f = (z: number): number => a * z + b * z ** 3 - c;
            const {z, status} = solve(
              scalar(f, x => a + 3 * b * x * x),
              [start],
              {jacobian, step, maxIterations: 200},
            );
            expect(status).to.equal('converged');
            const root = bisect(f, -250, 250);
            // The tolerance asked for, 1e-12 (1 + |z|), holds with the margin of a hundred; rounding in f is 4 ε |c| / f'.
            expect(Math.abs(z[0] - root)).to.be.at.most(1e-14 * (1 + Math.abs(root)) + (4 * epsilon * Math.abs(c)) / a);
          },
        ),
        runs(300),
      );
    });
  });

  describe('cost', () => {
    const rows = [
      [4, 1, 0],
      [1, -3, 2],
      [0.5, 0, 1e4],
    ];
    const right = [1, 2, 3];

    it('a linear problem: one iteration and its test, in every mode and strategy', () => {
      for (const jacobian of ['fresh', 'chord', 'auto'] as const) {
        for (const step of [full(), backtracking()]) {
          const {counters, status, z} = solve(linear(rows, right), [100, -7, 3], {jacobian, step});
          expect(status).to.equal('converged');
          expect(counters).to.deep.equal({
            newtonIterations: 1,
            residualEvaluations: 2,
            jacobianEvaluations: 1,
            factorizations: 1,
            linearIterations: 0,
          });
          // Rounding of sums of terms no larger than 4.
          rows.forEach((row, i) =>
            expect(row.reduce((sum, a, j) => sum + a * z[j], 0)).to.be.closeTo(right[i], 4 * epsilon * 4),
          );
        }
      }
    });

    it('a linear problem with rows from 1e-12 to 1e12', () => {
      const scales = [1e-12, 1, 1e12];
      const scaled = linear(
        rows.map((row, i) => row.map(a => a * scales[i])),
        right.map((b, i) => b * scales[i]),
      );
      expect(solve(scaled, [100, -7, 3]).counters).to.include({
        newtonIterations: 1,
        residualEvaluations: 2,
        factorizations: 1,
      });
    });

    it('a start that is the root: nothing but its residual', () => {
      const {counters, status, history} = solve(
        scalar(
          z => z * (z + 1),
          z => 2 * z + 1,
        ),
        [0],
      );
      expect(status).to.equal('converged');
      expect(counters).to.include({newtonIterations: 0, residualEvaluations: 1, factorizations: 0});
      expect(history).to.deep.equal([0]);
    });

    it('an iteration costs one residual, and a factorization where the Jacobian is fresh', () => {
      const {counters} = solve(broyden(30), Array<number>(30).fill(-1));
      expect(counters.residualEvaluations).to.equal(counters.newtonIterations + 1);
      expect(counters.factorizations).to.equal(counters.newtonIterations);
      // Moré, Garbow & Hillstrom's start: quadratic from there, 3–5 iterations to full precision for any n.
      expect(counters.newtonIterations).to.be.within(3, 5);
    });

    it('chord and auto factor less and reach the same root', () => {
      const start = broydenRoot.map((value, i) => value + 0.01 * Math.cos(i));
      const [fresh, chord, auto] = (['fresh', 'chord', 'auto'] as const).map(jacobian =>
        solve(broyden(10), start, {jacobian}),
      );
      expect(chord.counters.factorizations).to.equal(1);
      expect(auto.counters.factorizations).to.be.within(1, fresh.counters.factorizations - 1);
      // Twice the tolerance with its margin.
      for (const {z} of [chord, auto]) z.forEach((value, i) => expect(value).to.be.closeTo(fresh.z[i], 4e-14));
    });

    it('auto keeps its factor from one problem to the next, chord and fresh do not', () => {
      const start = broydenRoot.map(value => value + 1e-6);
      const factorizations = (jacobian: NewtonOptions['jacobian']): number =>
        solve(broyden(10), start, {jacobian}, {times: 5}).counters.factorizations;
      expect(factorizations('auto')).to.equal(1);
      expect(factorizations('chord')).to.equal(5);
      expect(factorizations('fresh')).to.equal(5);
    });

    it('a chord that stops contracting gets a new Jacobian instead of failing', () => {
      // eᶻ = 1000 from 4: the slope there is 18 times too small, and every chord iteration with it overshoots more.
      const {status, z, counters} = solve(
        scalar(x => Math.exp(x) - 1000, Math.exp),
        [4],
        {jacobian: 'chord'},
      );
      expect(status).to.equal('converged');
      expect(z[0]).to.be.closeTo(Math.log(1000), 8e-14);
      expect(counters.factorizations).to.be.above(1);
      expect(counters.factorizations).to.be.below(counters.newtonIterations);
    });

    slow('allocates no vector in an iteration', () => {
      setFlagsFromString('--expose-gc');
      const collect = runInNewContext('gc') as () => void;
      // 2zᵢ = cos zᵢ with its constant Jacobian: the factor below allocates nothing itself.
      const n = 40;
      const factor: Factor = {
        n,
        kind: 'halving',
        size: 0,
        linearIterations: 0,
        refactor: () => undefined,
        solve: (b, x) => {
          for (let i = 0; i < n; i++) x[i] = b[i] / 2;
        },
        solveTransposed: () => undefined,
      };
      const linear: LinearSolver = {
        name: 'halving',
        analyze: () => ({kind: 'halving', n, nonzeros: n, work: 0, factor: () => factor, createFactor: () => factor}),
      };
      const equations = {
        n,
        f: (z: Float64Array, out: Float64Array): void => {
          for (let i = 0; i < n; i++) out[i] = 2 * z[i] - Math.cos(z[i]);
        },
        jacobian: () => undefined,
      };
      const run = (): number =>
        solve(equations, Array<number>(n).fill(1), {jacobian: 'chord'}, {times: 1000, linear}).counters
          .newtonIterations;
      run();
      collect();
      const before = process.memoryUsage();
      const iterations = run();
      const after = process.memoryUsage();
      // The vectors of the problem and of the iteration itself, 16 of 40 numbers, and its dense matrix: once, not 25000 times.
      expect(after.arrayBuffers - before.arrayBuffers).to.be.below(30_000);
      // Boxed numbers, 16 bytes each, and what the compiler leaves on the same heap: up to 800 on Node 20, 1500 on Node 24.
      expect((after.heapUsed - before.heapUsed) / iterations).to.be.below(2000);
    });
  });

  describe('truncated', () => {
    const start = Array<number>(10).fill(-1);

    it("takes exactly so many iterations, and is Newton's formula", () => {
      let z = 2;
      for (let k = 1; k <= 4; k++) {
        z -= (z ** 3 - 2 * z - 5) / (3 * z * z - 2);
        const solved = solve(
          scalar(
            x => x ** 3 - 2 * x - 5,
            x => 3 * x * x - 2,
          ),
          [2],
          {iterations: k},
        );
        expect(solved.status).to.equal('converged');
        expect(solved.z[0]).to.be.closeTo(z, 2 * epsilon);
        expect(solved.counters).to.include({newtonIterations: k, residualEvaluations: k, factorizations: k});
        expect(solved.history).to.have.length(k);
      }
    });

    it('also at the root, and also where it does not converge', () => {
      expect(solve(broyden(10), broydenRoot, {iterations: 3}).counters.newtonIterations).to.equal(3);
      expect(
        solve(
          scalar(
            z => z * z + 1,
            z => 2 * z,
          ),
          [2],
          {iterations: 7},
        ),
      ).to.include({status: 'converged'});
    });

    it('with a chord, one factorization', () => {
      const {counters} = solve(broyden(10), start, {iterations: 3, jacobian: 'chord'});
      expect(counters).to.include({newtonIterations: 3, factorizations: 1, residualEvaluations: 3});
    });

    it('with a line search the last point has been looked at', () => {
      const {counters} = solve(
        scalar(Math.atan, z => 1 / (1 + z * z)),
        [3],
        {iterations: 2, step: backtracking()},
      );
      expect(counters.newtonIterations).to.equal(2);
      expect(counters.residualEvaluations).to.be.above(3);
    });

    it('ends with not-finite where a number overflows', () => {
      expect(
        solve(
          scalar(z => Math.exp(z) - 1000, Math.exp),
          [-30],
          {iterations: 3},
        ).status,
      ).to.equal('not-finite');
    });
  });

  describe('full steps that diverge', () => {
    /** Newton's steps on atan double |z| from beyond 1.391745200270735, where atan z = 2z/(1 + z²). */
    const slope = (z: number): number => 1 / (1 + z * z);

    it('arctangent: full steps end beside the threshold of theory', () => {
      expect(solve(scalar(Math.atan, slope), [1.3917]).status).to.equal('converged');
      expect(['newton-diverged', 'not-finite', 'singular']).to.include(
        solve(scalar(Math.atan, slope), [1.3918]).status,
      );
      expect(['newton-diverged', 'not-finite', 'singular']).to.include(solve(scalar(Math.atan, slope), [10]).status);
    });

    it('both damped strategies converge from anywhere', () => {
      for (const start of [1.3918, 10, -1000]) {
        for (const step of [subSteps(0.1), subSteps(0.5), subSteps(0.9), backtracking()]) {
          const {status, z} = solve(scalar(Math.atan, slope), [start], {step, maxIterations: 200});
          // Sub-steps are as long as their fraction at least: from far out on the flat side none of them is short enough.
          const short = step.name === 'backtracking' || Math.abs(start) < 2;
          if (!short && status !== 'converged') continue;
          expect(status, `${step.name} from ${start}`).to.equal('converged');
          expect(z[0]).to.be.closeTo(0, 1e-14);
        }
      }
    });

    it('the residual never rises along a damped iteration', () => {
      for (const step of [subSteps(0.3), backtracking()]) {
        const {history} = solve(
          broyden(10),
          Array.from({length: 10}, (_, i) => 30 * Math.cos(7 * i)),
          {step, maxIterations: 300},
        );
        history.forEach((norm, k) => k > 0 && expect(norm).to.be.at.most(history[k - 1]));
      }
    });
  });

  describe('what is not called converged', () => {
    it('a stalled line search: a local minimum of ‖R‖ that is no root', () => {
      // z³ − 2z + 2: its one root lies at −1.7692923542386314 (brentq), and |R| has a minimum 0.911 at √(2/3).
      const cubic = scalar(
        z => z ** 3 - 2 * z + 2,
        z => 3 * z * z - 2,
      );
      for (const step of [subSteps(0.1), backtracking()]) {
        for (let start = -3; start <= 3; start += 0.01) {
          const {status, z, history} = solve(cubic, [start], {step, maxIterations: 500});
          if (status === 'converged') expect(z[0]).to.be.closeTo(-1.7692923542386314, 3e-14);
          else expect(status).to.be.oneOf(['newton-diverged', 'singular']);
          expect(history.length).to.be.below(500);
        }
        expect(solve(cubic, [-1], {step}).status).to.equal('converged');
      }
      // Full steps go 0, 1, 0, 1, … for ever: a limit of iterations ends it.
      const cycle = solve(cubic, [0], {maxIterations: 37});
      expect(cycle.status).to.equal('newton-diverged');
      expect(cycle.counters.newtonIterations).to.equal(37);
    });

    it('equations without a root', () => {
      for (const step of [full(), subSteps(0.5), backtracking()]) {
        for (const jacobian of ['fresh', 'chord', 'auto'] as const) {
          const {status} = solve(
            scalar(
              z => z * z + 1e-6,
              z => 2 * z,
            ),
            [1],
            {step, jacobian},
          );
          expect(status).to.be.oneOf(['newton-diverged', 'singular']);
        }
      }
      // e⁻ᶻ has its infimum at infinity: residuals fall for ever, corrections do not.
      expect(
        solve(
          scalar(
            z => Math.exp(-z),
            z => -Math.exp(-z),
          ),
          [0],
        ).status,
      ).to.equal('newton-diverged');
    });

    it('tiny corrections beside a pole', () => {
      // 1/(1 − z) = c from ½: the first step lands 1e-15 from the pole, where Newton's corrections are 1e-15 too.
      const c = 4 - 2e-15;
      const {status, z} = solve(
        scalar(
          x => 1 / (1 - x) - c,
          x => (1 - x) ** -2,
        ),
        [0.5],
        {maxIterations: 200},
      );
      if (status === 'converged') expect(z[0]).to.be.closeTo(0.75, 1e-14);
      else expect(status).to.equal('newton-diverged');
    });

    it('a chord that creeps', () => {
      // z³ from 1 with few iterations: at a triple root even Newton contracts by 2/3 only.
      expect(
        solve(
          scalar(
            z => z ** 3,
            z => 3 * z * z,
          ),
          [1],
          {jacobian: 'chord', maxIterations: 20},
        ).status,
      ).to.equal('newton-diverged');
    });
  });

  describe('corrections that hardly shrink', () => {
    /** |z|^0.6 with its sign: full steps multiply z by 1 − 1/0.6 = −2/3, and with the factor at hand the residual by (2/3)^0.6 = 0.78. */
    const power = (z: number): number => Math.sign(z) * Math.abs(z) ** 0.6;
    const slope = (z: number): number => 0.6 * Math.abs(z) ** -0.4;
    // Not so small beside the size of z, absolute/relative, that rounding is thought of, which jumps so near the root resemble.
    const tolerance = {absolute: 0.1, relative: 0.01};
    const weight = (z: number): number => tolerance.absolute + tolerance.relative * z;
    /** Iterations from `start` until z has what `enough` asks of it and of the z before. */
    const until = (start: number, enough: (z: number, before: number) => boolean): number => {
      let k = 1;
      while (!enough(start * (2 / 3) ** k, start * (2 / 3) ** (k - 1))) k++;
      return k;
    };
    const isBelow = (z: number, before: number): boolean => power(z) / slope(before) <= weight(before);

    it('end where the residual is what a correction of the tolerance leaves under the first Jacobian', () => {
      const {status, z, counters} = solve(scalar(power, slope), [1], {tolerance});
      // From 1 the first slope is the smallest: the residual has the last word, after the corrections.
      const expected = until(1, after => power(after) <= slope(1) * weight(1));
      expect([until(1, isBelow), expected]).to.deep.equal([8, 12]);
      expect(status).to.equal('converged');
      expect(counters.newtonIterations).to.equal(expected);
      // The last correction, with the factor at hand, is applied.
      const [last, before] = [(-2 / 3) ** expected, (2 / 3) ** (expected - 1)];
      expect(z[0]).to.be.closeTo(last - power(last) / slope(before), 1e-14);
    });

    it('end below the tolerance, not where the residual is small beside a steep first Jacobian', () => {
      // Beyond 1 the slope is 20: the first step goes from 1.05, where the function is 2, to 0.95.
      const {status, counters} = solve(
        scalar(
          z => (z > 1 ? 1 + 20 * (z - 1) : power(z)),
          z => (z > 1 ? 20 : slope(z)),
        ),
        [1.05],
        {tolerance},
      );
      expect(status).to.equal('converged');
      expect(counters.newtonIterations).to.equal(1 + until(0.95, isBelow));
    });

    it('are not believed of an old Jacobian', () => {
      // Slope 1 down to 1, then 0.4: the factor of the start leaves 0.6 of every error, and then a new one nothing.
      const bent = (z: number): number => (z > 1 ? z - 0.6 : 0.4 * z);
      const {status, z} = solve(
        scalar(bent, x => (x > 1 ? 1 : 0.4)),
        [2],
        {jacobian: 'chord', tolerance: {absolute: 0.2, relative: 0.01}},
      );
      expect(status).to.equal('converged');
      expect(Math.abs(z[0])).to.be.below(epsilon);
    });

    it('and residuals that grow: a correction by the Jacobian there tells nothing of them', () => {
      // From 0 the slope 1 leads to 1, where 1000 e^(100(z − 1)) asks for 0.01 again and again, a tenth of the tolerance.
      const f = (z: number): number => (z < 0.5 ? z - 1 : 1e3 * Math.exp(100 * (z - 1)));
      const equation = scalar(f, z => (z < 0.5 ? 1 : 1e5 * Math.exp(100 * (z - 1))));
      const {status, z, counters} = solve(
        equation,
        [0],
        {tolerance: {absolute: 0.05, relative: 0.05}},
        {matrixFree: true},
      );
      expect(status).to.equal('converged');
      // The first correction, 1, took away a residual of 1, so the tolerance's share, 0.05 (1 + 1), is what may be left: 1000 e⁻ᵏ ≤ 0.1.
      const k = Math.ceil(Math.log(1e4));
      expect(counters.newtonIterations).to.equal(1 + k);
      // And the last correction.
      expect(z[0]).to.be.closeTo(1 - 0.01 * (k + 1), 1e-12);
    });

    it('of a damped step are held as far below the tolerance as all others', () => {
      // A first step of ¼ towards 1 leaves a correction that is within the tolerance, and so taken whole; but not within its margin.
      const {counters, z} = solve(
        scalar(
          x => x - 1,
          () => 1,
        ),
        [0],
        {step: backtracking({longest: 0.25}), tolerance: {absolute: 0.8, relative: 0.01}},
      );
      expect(z[0]).to.equal(1);
      expect(counters.newtonIterations).to.equal(2);
    });
  });

  describe('rounding', () => {
    it('huge forces that cancel: the root is found to the noise, without an endless iteration', () => {
      for (const size of [1e6, 1e8, 1e10]) {
        const f = (z: number): number => z - 1 + (size * Math.cos(z) ** 2 + size * Math.sin(z) ** 2 - size);
        for (const step of [full(), backtracking(), subSteps(0.5)]) {
          const {status, z, counters} = solve(
            scalar(f, () => 1),
            [3],
            {step},
          );
          expect(status, `size ${size}, ${step.name}`).to.equal('converged');
          // Three roundings of terms of this size, of a residual with slope 1, and noiseFactor = 14 of them at most.
          expect(Math.abs(z[0] - 1)).to.be.below(14 * 3 * epsilon * size);
          expect(counters.newtonIterations).to.be.below(10);
          expect(counters.residualEvaluations).to.be.below(200);
        }
      }
    });

    it('noise that leaves no digits is a failure', () => {
      const f = (z: number): number => z - 1 + (1e14 * Math.cos(z) ** 2 + 1e14 * Math.sin(z) ** 2 - 1e14);
      expect(
        solve(
          scalar(f, () => 1),
          [3],
        ).status,
      ).to.equal('newton-diverged');
    });

    it('a tolerance below the arithmetic is met as far as it can be', () => {
      const tolerance = {absolute: 1e-300, relative: 1e-300};
      for (const jacobian of ['fresh', 'chord', 'auto'] as const) {
        const {status, z, counters} = solve(broyden(10), Array<number>(10).fill(-1), {tolerance, jacobian});
        expect(status).to.equal('converged');
        // 40 ε: a residual at 14 times its noise, 2 ε each, times ‖J⁻¹‖∞ = 0.6, rounded up.
        z.forEach((value, i) => expect(value).to.be.closeTo(broydenRoot[i], 40 * epsilon));
        expect(counters.newtonIterations).to.be.below(50);
      }
    });

    it('equations and Jacobian from 1e-200 to 1e150', () => {
      for (const scale of [1e-200, 1e-100, 1e100, 1e150]) {
        const equations = broyden(10);
        const scaled = {
          ...equations,
          f: (z: Float64Array, out: Float64Array): void => {
            equations.f(z, out);
            out.forEach((value, i) => (out[i] = scale * value));
          },
          jacobian: (z: Float64Array, out: Float64Array): void => {
            equations.jacobian(z, out);
            out.forEach((value, i) => (out[i] = scale * value));
          },
        };
        const {status, z} = solve(scaled, Array<number>(10).fill(-1));
        expect(status, `scale ${scale}`).to.equal('converged');
        z.forEach((value, i) => expect(value).to.be.closeTo(broydenRoot[i], 2e-14));
      }
    });

    it('unknowns of very different size', () => {
      // z₀² = 1e24 and z₁³ = 1e-30, side by side and coupled by a hair.
      const equations = {
        n: 2,
        f: (z: Float64Array, out: Float64Array): void => {
          out[0] = z[0] ** 2 - 1e24;
          out[1] = z[1] ** 3 - 1e-30 + 1e-60 * (z[0] - 1e12);
        },
        jacobian: (z: Float64Array, out: Float64Array): void => out.set([2 * z[0], 0, 1e-60, 3 * z[1] ** 2]),
      };
      const {status, z} = solve(equations, [2e12, 2e-10], {tolerance: {absolute: 1e-24}});
      expect(status).to.equal('converged');
      expect(z[0] / 1e12).to.be.closeTo(1, 2e-14);
      expect(z[1] / 1e-10).to.be.closeTo(1, 2e-14);
    });

    it('float32 arithmetic: its own tolerance', () => {
      const {fround} = Math;
      const f = (z: number): number => fround(fround(fround(z) ** 3) - fround(fround(2 * fround(z)) + 5));
      const {status, z, counters} = solve(
        scalar(f, x => 3 * x * x - 2),
        [2],
        {},
        {epsilon: 2 ** -23},
      );
      expect(status).to.equal('converged');
      // Terms of size 9 round by 2⁻²⁴ each, over the slope 11.2; 14 times that at most.
      expect(z[0]).to.be.closeTo(2.094551481542327, (14 * 4 * 9 * 2 ** -24) / 11.2);
      expect(counters.residualEvaluations).to.be.below(30);
    });
  });

  describe('failures', () => {
    it('a residual that is not finite at the guess, or after a step', () => {
      expect(
        solve(
          scalar(
            () => NaN,
            () => 1,
          ),
          [1],
        ).status,
      ).to.equal('not-finite');
      expect(
        solve(
          scalar(
            z => Math.log(z) + 5,
            z => 1 / z,
          ),
          [1],
        ).status,
      ).to.equal('not-finite');
    });

    it('a line search goes round what is not finite', () => {
      const {status, z} = solve(
        scalar(
          z => Math.log(z) + 5,
          z => 1 / z,
        ),
        [1],
        {step: backtracking()},
      );
      expect(status).to.equal('converged');
      expect(z[0]).to.be.closeTo(Math.exp(-5), 2e-14);
    });

    it('a correction that is not finite', () => {
      // A slope of 1e-320 is a number, and 1 divided by it is not.
      for (const step of [full(), subSteps(0.5), backtracking()]) {
        expect(
          solve(
            scalar(
              z => z - 1,
              () => 1e-320,
            ),
            [0],
            {step},
          ).status,
        ).to.be.oneOf(['not-finite', 'singular']);
      }
    });

    it('a singular Jacobian, with the rows', () => {
      const equations = {
        n: 2,
        f: (z: Float64Array, out: Float64Array): void => out.set([z[0] + z[1] - 1, 2 * (z[0] + z[1]) - 3]),
        jacobian: (_: Float64Array, out: Float64Array): void => out.set([1, 1, 2, 2]),
      };
      const {status, iteration} = solve(equations, [0, 0]);
      expect(status).to.equal('singular');
      expect(iteration.cause).to.be.instanceOf(SingularMatrixError);
      expect(iteration.cause?.data.rows).to.deep.equal([0, 1]);
    });

    it('a Jacobian that is not finite is its own cause', () => {
      const {status, iteration} = solve(
        scalar(
          z => Math.sqrt(z) - 1,
          z => 0.5 / Math.sqrt(z),
        ),
        [0],
      );
      expect(status).to.equal('not-finite');
      expect(iteration.cause?.code).to.equal('not-finite');
    });

    it('an old factor that is at fault is replaced, from where it was used last', () => {
      // The factor kept from −30 (slope 1e-13) throws the next iterate to infinity: back, and a new one.
      const {status, z} = solve(
        scalar(x => Math.expm1(x), Math.exp),
        [-8],
        {jacobian: 'auto', step: backtracking(), maxIterations: 100},
        {times: 3},
      );
      expect(status).to.equal('converged');
      expect(z[0]).to.be.closeTo(0, 1e-14);
    });

    it('the worst rows, those that are not finite first', () => {
      const equations = {
        n: 3,
        f: (z: Float64Array, out: Float64Array): void => out.set([z[0] ** 2 + 1, NaN, z[2] ** 2 + 5]),
        jacobian: (_: Float64Array, out: Float64Array): void => out.set([1, 0, 0, 0, 1, 0, 0, 0, 1]),
      };
      const {iteration} = solve(equations, [1, 1, 1]);
      expect(iteration.worstRows(2).map(({row}) => row)).to.deep.equal([1, 2]);
    });
  });
});
