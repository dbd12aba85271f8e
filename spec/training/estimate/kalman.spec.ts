/** Kalman filters and smoothers against closed forms, the dense posterior, and textbook equations with covariances written out. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bdf2,
  bilateral,
  blendedEuler,
  dopri5,
  explicitEuler,
  frictionalContact,
  gaussLegendre,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  moreau,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  theta,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {dcMotor} from '../../../models/actuators.js';
import {extended, unscented} from '../../../training/estimate/linearization.js';
import {filter, smoother} from '../../../training/estimate/kalman.js';
import {gaussian} from '../../../training/data/noise.js';
import {byJacobian, byPoints, columnOf, filterOf, inverse, plus, smootherOf, times, transposed} from './textbook.js';
import type {Matrix} from './textbook.js';
import {slow} from '../../tiers.js';

const still = ode(({y}) => tf.zerosLike(y));

/** y' = −a y, driven by noise; a mass on a track, driven by random accelerations. */
const decay = (a: number) => ode(({y}) => tf.mul(y, -a));
const cart = mechanics({mass: 1, forces: []});

const range = (n: number, step = 1): number[] => Array.from({length: n}, (_, i) => i * step);

function closeTo(found: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what = ''): void {
  expect(found.length, what).to.equal(expected.length);
  const scale = Math.max(...Array.from(expected, Math.abs), 1e-300);
  for (let i = 0; i < found.length; i++)
    expect(found[i], `${what} entry ${i}`).to.be.closeTo(expected[i], tolerance * scale);
}

const flat = (matrices: readonly Matrix[]): number[] => matrices.flat(2);

describe('kalmanFilter', () => {
  it("has Kalman's steady variances of a random walk", () => {
    // P = qT + P R/(P + R): P⁻ = (qT + √((qT)² + 4 qT R))/2.
    const [q, T, R] = [0.3, 0.5, 2];
    const {predicted, filtered} = filter({
      system: still,
      data: {t: range(60, T), y: range(60)},
      initial: {y: 0},
      initialCovariance: 10,
      processNoise: {density: q},
      measurementNoise: R,
      dt: T,
    });
    const before = (q * T + Math.sqrt((q * T) ** 2 + 4 * q * T * R)) / 2;
    expect(predicted.covariance[59]).to.be.closeTo(before, 1e-14);
    expect(filtered.covariance[59]).to.be.closeTo((before * R) / (before + R), 1e-14);
  });

  it('has the steady variances of a matrix Riccati equation: the α–β filter', () => {
    // Kalata, The tracking index, IEEE TAES 20, 1984: for accelerations of variance σ² held over an interval T and
    // positions measured with variance R: Λ = σT²/√R, r = (4 + Λ − √(8Λ + Λ²))/4, α = 1 − r², β = 2(2 − α) − 4√(1 − α).
    const [T, sigma, R] = [0.5, 0.8, 0.09];
    const driven = [
      [T ** 4 / 4, T ** 3 / 2],
      [T ** 3 / 2, T ** 2],
    ].map(row => row.map(x => x * sigma ** 2));
    const {filtered, predicted} = filter({
      system: cart,
      data: {t: range(200, T), q: range(200)},
      initial: {q: 0, v: 0},
      initialCovariance: 1,
      processNoise: {covariance: driven},
      measurementNoise: R,
      dt: T,
    });
    const index = (sigma * T ** 2) / Math.sqrt(R);
    const r = (4 + index - Math.sqrt(8 * index + index ** 2)) / 4;
    const alpha = 1 - r ** 2;
    const beta = 2 * (2 - alpha) - 4 * Math.sqrt(1 - alpha);
    // Steady variance of the position αR, covariance with the velocity βR/T.
    const last = filtered.covariance.slice(-4);
    expect(last[0]).to.be.closeTo(alpha * R, 1e-13);
    expect(last[1]).to.be.closeTo((beta * R) / T, 1e-13);
    const P = predicted.covariance.slice(-4);
    expect(P[0] / (P[0] + R)).to.be.closeTo(alpha, 1e-13);
    expect((P[2] / (P[0] + R)) * T).to.be.closeTo(beta, 1e-13);
  });

  it('comes to the exact discretization of continuous noise with the square of the step', () => {
    // dy = −a y dt + dw: after T the variance is e^(−2aT) P + q (1 − e^(−2aT))/2a.
    const [a, q, T, P] = [1.3, 0.7, 1, 0.4];
    const exact = Math.exp(-2 * a * T) * P + (q * (1 - Math.exp(-2 * a * T))) / (2 * a);
    const errors = [10, 20, 40].map(steps => {
      const {predicted} = filter({
        system: decay(a),
        data: {t: [T], y: [0]},
        initial: {y: 1, t: 0},
        initialCovariance: P,
        processNoise: {density: q},
        measurementNoise: 1,
        dt: T / steps,
      });
      return Math.abs(predicted.covariance[0] - exact);
    });
    expect(errors[2]).to.be.below(1e-3 * exact);
    for (const i of [0, 1]) expect(errors[i] / errors[i + 1]).to.be.closeTo(4, 0.1);
  });

  describe('of an ode, with any scheme, is the filter and smoother of its exact solution', () => {
    // dy = −a y dt + dw: Φ = e^(−aT), Q = q (1 − e^(−2aT))/2a. The filter adds the noise at steps, which errs by (a dt)²/3 < 1e-6 of it.
    const [a, q, T, R] = [0.7, 0.3, 0.1, 0.1];
    const measured = [1, 0.9, 0.6, 0.8];
    const Phi = Math.exp(-a * T);
    const steps = filterOf(
      {mean: columnOf([1]), covariance: [[0.5]]},
      measured.map(z => [z]),
      {f: ([y]) => [Phi * y], h: y => y, Q: [[(q * (1 - Phi ** 2)) / (2 * a)]], R: [[R]]},
      byJacobian,
    );
    const smoothed = smootherOf(steps);
    const first = [explicitEuler(), implicitEuler(), theta(0.6), blendedEuler({alpha: 0.7, beta: 0.7})];
    const higher = [
      trapezoid(),
      implicitMidpoint(),
      bdf2(),
      sdirk2(),
      kvaerno3(),
      kvaerno5(),
      radauIIA5(),
      gaussLegendre({stages: 2}),
      rk4(),
      dopri5(),
      tsit5(),
    ];
    const withMass = [implicitEuler(), theta(0.6), trapezoid(), sdirk2(), kvaerno3(), kvaerno5(), radauIIA5()];
    const massive = ode({derivative: ({y}) => tf.mul(y, -2 * a), mass: 2});
    for (const [system, schemes] of [
      [decay(a), [...first, ...higher]],
      [massive, withMass],
    ] as const)
      for (const scheme of schemes)
        it(`${scheme.name}${system === massive ? ', with a mass' : ''}`, () => {
          const found = smoother({
            system,
            data: {t: range(4, T), y: measured},
            initial: {y: 1},
            initialCovariance: 0.5,
            processNoise: {density: q},
            measurementNoise: R,
            dt: 0.002,
            scheme,
          });
          // Over the three intervals, a method of the first order errs by at most a² dt 3T/2 = 1.5e-4, variances by twice that.
          const tolerance = scheme.order === 1 ? 3e-4 : 1e-6;
          closeTo(found.filtered.mean, flat(steps.map(({filtered}) => filtered.mean)), tolerance, 'mean');
          closeTo(
            found.filtered.covariance,
            flat(steps.map(({filtered}) => filtered.covariance)),
            tolerance,
            'filtered',
          );
          closeTo(found.smoothed.mean, flat(smoothed.map(({mean}) => mean)), tolerance, 'smoothed mean');
          closeTo(found.smoothed.covariance, flat(smoothed.map(({covariance}) => covariance)), tolerance, 'smoothed');
        });
  });

  describe('begins each span at its own time', () => {
    // Measurements of no weight: the mean is the motion.
    const untouched = {initialCovariance: 1e-12, processNoise: {density: 0}, measurementNoise: 1e12} as const;
    const t = range(4, 0.5);

    it('for a mass that is a function of time: (1 + t) y′ = −y', () => {
      const system = ode({derivative: ({y}) => tf.neg(y), mass: ({t: at}) => tf.add(1, at)});
      const data = {t, y: [0, 0, 0, 0]};
      const {filtered} = filter({system, data, initial: {y: 1}, ...untouched, dt: 0.05, scheme: radauIIA5()});
      closeTo(filtered.mean, t.map(at => 1 / (1 + at)), 1e-8, 'mean'); // prettier-ignore
    });

    it('for kinematics that are: q′ = (1 + t) v', () => {
      const system = mechanics({mass: 1, forces: [], kinematics: ({v, t: at}) => tf.mul(v, tf.add(1, at))});
      const data = {t, q: [0, 0, 0, 0]};
      const initial = {q: 1, v: 0.5};
      const {filtered} = filter({system, data, initial, ...untouched, dt: 0.05, scheme: implicitMidpoint()});
      closeTo(filtered.mean, t.flatMap(at => [1 + 0.5 * (at + at ** 2 / 2), 0.5]), 1e-9, 'mean'); // prettier-ignore
    });

    slow('for slips that are: a puck rides on a belt of speed t', () => {
      const belt = frictionalContact(({q}) => tf.gather(q, 2), {
        slip: ({v, t: at}) => tf.sub(tf.slice(v, [0], [2]), tf.stack([at, tf.zerosLike(at)])),
        friction: 0.4,
      });
      const system = mechanics({mass: 1, forces: () => tf.tensor1d([0, 0, -9.81]), constraints: [belt]});
      const data = {t, q: t.map(() => [0, 0, 0])};
      const initial = {q: [0, 0, 0], v: [0, 0, 0]};
      const {filtered} = filter({system, data, initial, ...untouched, dt: 0.01, scheme: moreau()});
      closeTo(t.map((_, k) => filtered.mean[6 * k + 3]), t, 0.011, 'speed'); // prettier-ignore
    });
  });

  describe('of a linear system', () => {
    const T = 0.2;
    const [Phi, H, R] = [
      [
        [1, T],
        [0, 1],
      ],
      [[1, 0]],
      [[0.04]],
    ];
    const Q = [
      [T ** 3 / 3, T ** 2 / 2],
      [T ** 2 / 2, T],
    ].map(row => row.map(x => 0.5 * x));
    const noise = gaussian(4);
    const measured = range(25).map(k => Math.sin(0.3 * k) + 0.2 * noise());
    const problem = {
      system: cart,
      data: {t: range(25, T), q: measured},
      initial: {q: 0.1, v: -0.2},
      initialCovariance: [
        [1, 0.3],
        [0.3, 2],
      ],
      processNoise: {covariance: Q},
      measurementNoise: 0.04,
      dt: T,
    };
    const start = {
      mean: columnOf([0.1, -0.2]),
      covariance: [
        [1, 0.3],
        [0.3, 2],
      ],
    };
    const linear = (A: Matrix) => (x: number[]) => times(A, columnOf(x)).map(([value]) => value);
    const steps = filterOf(
      start,
      measured.map(z => [z]),
      {f: linear(Phi), h: linear(H), Q, R},
      byJacobian,
    );

    for (const method of [extended(), unscented(), unscented({alpha: 0.5, beta: 3, kappa: 1})])
      it(`${method.name} is Kalman's filter and smoother`, () => {
        const found = smoother({...problem, method});
        closeTo(found.filtered.mean, flat(steps.map(({filtered}) => filtered.mean)), 1e-9, 'filtered mean');
        closeTo(found.filtered.covariance, flat(steps.map(({filtered}) => filtered.covariance)), 1e-9, 'covariance');
        closeTo(found.predicted.covariance, flat(steps.map(({predicted}) => predicted.covariance)), 1e-9, 'predicted');
        expect(found.logLikelihood).to.be.closeTo(
          steps.reduce((sum, {logDensity}) => sum + logDensity, 0),
          1e-8,
        );
        const smoothed = smootherOf(steps);
        closeTo(found.smoothed.mean, flat(smoothed.map(({mean}) => mean)), 1e-9, 'smoothed mean');
        closeTo(found.smoothed.covariance, flat(smoothed.map(({covariance}) => covariance)), 1e-9, 'smoothed');
      });

    it('smooths to the posterior of all states at once', () => {
      // Joint Gaussian of x₀ … x₅ by its prior, conditioned on six measurements in one dense solve.
      const n = 6;
      const power = (k: number): Matrix =>
        k === 0
          ? [
              [1, 0],
              [0, 1],
            ]
          : times(Phi, power(k - 1));
      const prior = (i: number, j: number): Matrix => {
        // Cov(xᵢ, xⱼ), i ≤ j = Vᵢ (Φᵀ)^(j−i)
        let V: Matrix = start.covariance;
        for (let k = 0; k < i; k++) V = plus(times(times(Phi, V), transposed(Phi)), Q);
        return times(V, transposed(power(j - i)));
      };
      const joint: Matrix = range(2 * n).map(row =>
        range(2 * n).map(column => {
          const [i, j] = [row >> 1, column >> 1];
          const part = i <= j ? prior(i, j) : transposed(prior(j, i));
          return part[row & 1][column & 1];
        }),
      );
      const mean = range(n).flatMap(k => times(power(k), start.mean));
      const C = range(n).map(k => range(2 * n).map(i => (i === 2 * k ? 1 : 0)));
      const S = plus(
        times(times(C, joint), transposed(C)),
        range(n).map(i => range(n).map(j => (i === j ? 0.04 : 0))),
      );
      const gain = times(times(joint, transposed(C)), inverse(S));
      const all = plus(mean, times(gain, plus(columnOf(measured.slice(0, n)), times(C, mean), -1)));
      const covariance = plus(joint, times(times(gain, C), joint), -1);
      const {smoothed} = smoother({...problem, data: {t: range(n, T), q: measured.slice(0, n)}});
      closeTo(smoothed.mean, flat([all]), 1e-11);
      closeTo(
        smoothed.standardDeviations('v'),
        range(n).map(k => Math.sqrt(covariance[2 * k + 1][2 * k + 1])),
        1e-11,
      );
    });

    it('goes on without measurements that are missing', () => {
      const gap = (k: number): boolean => k > 7 && k < 15;
      const holes = smoother({
        ...problem,
        data: {t: range(25, T), q: measured.map((z, k) => (gap(k) ? NaN : z))},
      });
      const left = range(25).filter(k => !gap(k));
      // Discrete noise comes once an interval: continuous noise tells the two apart by nothing but the splitting.
      const [whole, part] = [range(25), left].map(samples =>
        smoother({
          ...problem,
          processNoise: {density: {v: 0.5}},
          data: {t: samples.map(k => k * T), q: samples.map(k => (gap(k) ? NaN : measured[k]))},
        }),
      );
      closeTo(
        left.map(k => whole.smoothed.values('v')[k]),
        part.smoothed.values('v'),
        1e-10,
      );
      closeTo(
        left.map(k => whole.filtered.standardDeviations('q')[k]),
        part.filtered.standardDeviations('q'),
        1e-10,
      );
      expect(whole.logLikelihood).to.be.closeTo(part.logLikelihood, 1e-10);
      expect(holes.innovations[10]).to.be.NaN;
    });
  });

  describe('of Van der Pol’s oscillator', () => {
    // Two measurements, one of them nonlinear, and an input; rk4 on both sides.
    const T = 0.1;
    const load = (t: number): number => 0.5 * Math.cos(2 * t);
    const n = 60;
    const fine = range(2 * n + 1, T / 2);
    const rate = ([x, v]: number[], u: number): number[] => [v, (1 - x * x) * v - x + u];
    const f = (x: number[], k: number): number[] => {
      const u = [load(k * T), load((k + 0.5) * T), load((k + 1) * T)];
      const move = (d: number[], h: number): number[] => x.map((value, i) => value + h * d[i]);
      const a = rate(x, u[0]);
      const b = rate(move(a, T / 2), u[1]);
      const c = rate(move(b, T / 2), u[1]);
      const d = rate(move(c, T), u[2]);
      return x.map((value, i) => value + (T / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]));
    };
    const h = ([x, v]: number[]): number[] => [x, x * v];
    const [Q, R] = [
      [
        [0.002, 0],
        [0, 0.01],
      ],
      [
        [0.05, 0.01],
        [0.01, 0.1],
      ],
    ];
    const noise = gaussian(7);
    let x = [2, 0];
    const measured = range(n).map(k => {
      if (k > 0) x = f(x, k - 1).map((value, i) => value + Math.sqrt(Q[i][i]) * noise());
      return h(x).map((value, i) => value + Math.sqrt(R[i][i]) * noise());
    });
    const system = ode(({y, params}) => {
      const [place, speed] = tf.unstack(y);
      const spring = tf.sub(tf.mul(tf.sub(1, tf.square(place)), speed), place);
      return tf.stack([speed, tf.add(spring, params.load as tf.Tensor)]);
    });
    const problem = {
      system,
      data: {t: range(n, T), y: measured},
      initial: {y: [1, 0.5]},
      initialCovariance: [
        [0.5, 0.1],
        [0.1, 0.4],
      ],
      processNoise: {covariance: [0.002, 0.01]},
      measurementNoise: R,
      observe: ({y}: {y: tf.Tensor}) => tf.stack([tf.gather(y, 0), tf.prod(y)]),
      inputs: {load: signal(fine, fine.map(load))},
      scheme: rk4(),
      dt: T,
    };
    const start = {mean: columnOf([1, 0.5]), covariance: problem.initialCovariance};

    for (const [method, transform, tolerance] of [
      [extended(), byJacobian, 1e-7], // of the differences
      [unscented(), byPoints(1, 2, 0), 1e-9],
      [unscented({beta: 0, kappa: 1}), byPoints(1, 0, 1), 1e-9], // Julier & Uhlmann's for two states
    ] as const)
      it(`${method.name} is the textbook's filter and smoother`, () => {
        const steps = filterOf(start, measured, {f, h, Q, R}, transform);
        const found = smoother({...problem, method});
        closeTo(found.filtered.mean, flat(steps.map(({filtered}) => filtered.mean)), tolerance, 'mean');
        closeTo(
          found.filtered.covariance,
          flat(steps.map(({filtered}) => filtered.covariance)),
          tolerance,
          'covariance',
        );
        expect(found.logLikelihood).to.be.closeTo(
          steps.reduce((sum, {logDensity}) => sum + logDensity, 0),
          1e-5,
        );
        const smoothed = smootherOf(steps);
        closeTo(found.smoothed.mean, flat(smoothed.map(({mean}) => mean)), tolerance, 'smoothed');
        closeTo(found.smoothed.covariance, flat(smoothed.map(({covariance}) => covariance)), tolerance, 'smoothed');
      });

    it('leaves no tensors behind', () => {
      smoother(problem);
      const before = tf.memory().numTensors;
      smoother(problem);
      filter({...problem, method: unscented()});
      expect(tf.memory().numTensors).to.equal(before);
    });
  });

  it("has Julier & Uhlmann's mean of a bearing measured to 15°", () => {
    // Unscented filtering and nonlinear estimation, fig. 3: range 1 ± 0.02, bearing 90 ± 15°, in Cartesian coordinates. The
    // mean of r sin θ is e^(−σ²/2); linearized it is 1.
    const sigma = (15 * Math.PI) / 180;
    const seen = (method: ReturnType<typeof extended>): Float64Array =>
      filter({
        system: still,
        data: {t: [0], y: [[0, 0]]},
        initial: {y: [1, Math.PI / 2]},
        initialCovariance: [0.02 ** 2, sigma ** 2],
        processNoise: {density: 0},
        measurementNoise: 1e-6,
        observe: ({y}) => {
          const [r, angle] = tf.unstack(y);
          return tf.stack([tf.mul(r, tf.cos(angle)), tf.mul(r, tf.sin(angle))]);
        },
        dt: 1,
        method,
      }).innovations.map(value => -value);
    expect(seen(extended())[1]).to.be.closeTo(1, 1e-14);
    expect(seen(unscented({beta: 0, kappa: 1}))[1]).to.be.closeTo(Math.exp(-(sigma ** 2) / 2), 2e-5);
  });

  slow('keeps a covariance that a thousand precise measurements would make negative', () => {
    // Bierman's example of a variance that rounding loses: measurements 1e12 times more precise than the start.
    const {filtered} = filter({
      system: cart,
      data: {t: range(1000, 1e-3), q: range(1000).map(() => 1)},
      initial: {q: 0, v: 0},
      initialCovariance: 1e6,
      processNoise: {density: 0},
      measurementNoise: 1e-18,
      dt: 1e-3,
    });
    // A straight line through n points T apart: Var q at its end is 2(2n − 1)/(n(n + 1)) σ², Var v is 12 σ²/(T² n(n² − 1)).
    const n = 1000;
    expect(filtered.covariance[4 * 999]).to.be.closeTo((2 * (2 * n - 1) * 1e-18) / (n * (n + 1)), 1e-24);
    expect(filtered.covariance[4 * 999 + 3] / ((12 * 1e-18) / (1e-6 * n * (n ** 2 - 1)))).to.be.closeTo(1, 1e-6);
  });

  slow('follows a pendulum in Cartesian coordinates, its rod a constraint, as the one in an angle', () => {
    const g = 9.81;
    const rod = mechanics({
      mass: 1,
      forces: ({q}) => tf.mul(tf.onesLike(q), tf.tensor1d([0, -g])),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
    });
    const angle = mechanics({mass: 1, forces: ({q}) => tf.mul(tf.sin(q), -g)});
    const noise = gaussian(3);
    const t = range(40, 0.05);
    const height = t.map(time => Math.sin(0.5 * Math.cos(3.1 * time)) + 0.01 * noise());
    const shared = {data: {t, y: height}, measurementNoise: 1e-4, processNoise: {density: 0}, dt: 0.01};
    const cartesian = filter({
      ...shared,
      system: rod,
      initial: {q: [Math.sin(0.45), -Math.cos(0.45)], v: [0, 0]},
      // Along the tangent; what is across it the start's projection takes away.
      initialCovariance: {q: 0.01, v: 0.01},
      observe: ({q}) => tf.slice(q, 0, 1),
    });
    const minimal = filter({
      ...shared,
      system: angle,
      initial: {q: 0.45, v: 0},
      initialCovariance: 0.01,
      observe: ({q}) => tf.sin(q),
    });
    const at = 2 * 39;
    expect(cartesian.filtered.values('q')[at]).to.be.closeTo(Math.sin(minimal.filtered.values('q')[39]), 2e-3);
    expect(cartesian.filtered.standardDeviations('q')[at]).to.be.closeTo(
      minimal.filtered.standardDeviations('q')[39] * Math.cos(minimal.filtered.values('q')[39]),
      3e-4,
    );
  });

  it('estimates a hidden state: the current of a motor whose angle is measured, as of the same ode', () => {
    const [R, L, k, m] = [1, 0.2, 0.5, 0.1];
    const voltage = (t: tf.Tensor): tf.Tensor => tf.sin(tf.mul(3, t));
    const motor = dcMotor({voltage: ({t}) => voltage(t), resistance: R, inductance: L, constant: k});
    const whole = ode(({y, t}) => {
      const [, v, i] = tf.unstack(y);
      return tf.stack([v, tf.div(tf.mul(k, i), m), tf.div(tf.sub(voltage(t), tf.add(tf.mul(R, i), tf.mul(k, v))), L)]);
    });
    const noise = gaussian(5);
    const t = range(30, 0.1);
    const measured = t.map(time => 0.3 * time + 0.01 * noise());
    const shared = {measurementNoise: 1e-4, dt: 0.05, scheme: rk4()};
    const hidden = smoother({
      ...shared,
      system: mechanics({mass: m, forces: motor.force, states: motor.states}),
      data: {t, q: measured},
      initial: {q: 0, v: 0, current: 0.2},
      initialCovariance: {q: 0.01, v: 0.1, current: 0.5},
      processNoise: {density: {v: 0.1, current: 0.2}},
    });
    const plain = smoother({
      ...shared,
      system: whole,
      data: {t, y: measured},
      observe: ({y}) => tf.slice(y, 0, 1),
      initial: {y: [0, 0, 0.2]},
      initialCovariance: [0.01, 0.1, 0.5],
      processNoise: {density: [0, 0.1, 0.2]},
    });
    closeTo(hidden.smoothed.mean, plain.smoothed.mean, 1e-9);
    closeTo(hidden.smoothed.covariance, plain.smoothed.covariance, 1e-9);
    closeTo(
      hidden.filtered.values('current'),
      range(30).map(i => plain.filtered.mean[3 * i + 2]),
      1e-9,
    );
  });

  it('refuses what is no covariance, and says where', () => {
    const problem = {
      system: cart,
      data: {t: [0, 1], q: [0, 1]},
      initial: {q: 0, v: 0},
      initialCovariance: 1 as number | number[][] | {y: number},
      processNoise: {density: 1},
      measurementNoise: 1,
      dt: 1,
    };
    const refused = (change: object, code: string, text: RegExp): void => {
      expect(() => filter({...problem, ...change}))
        .to.throw(text)
        .with.property('code', code);
    };
    refused(
      {
        initialCovariance: [
          [1, 2],
          [2, 1],
        ],
      },
      'not-a-covariance',
      /initialCovariance is not a covariance/,
    );
    refused(
      {
        initialCovariance: [
          [1, 0.5],
          [0, 1],
        ],
      },
      'not-a-covariance',
      /symmetric/,
    );
    refused({initialCovariance: {y: 1}}, 'unknown-option', /it has q, v/);
    refused({measurementNoise: 0}, 'not-a-covariance', /variance of measurement 0 is zero/);
    refused({measurementNoise: [1, 2, 3]}, 'covariance-shape', /give one variance, 1 of them/);
    refused({processNoise: {}}, 'bad-option', /one of density/);
    refused({processNoise: {density: NaN}}, 'not-a-covariance', /is NaN/);
    refused({initial: {q: 0}}, 'missing-option', /initial\.v/);
    refused({data: {t: [0, 1], q: [0, 1], weights: 2}}, 'weights-in-filter', /measurementNoise/);
    refused(
      {
        data: {
          t: [0, 1],
          q: [
            [0, 0],
            [1, 1],
          ],
        },
      },
      'data-shape',
      /2 numbers, but the model gives 1/,
    );
    refused({method: unscented({alpha: 0.01})}, 'negative-weight', /alpha: 1/);
    refused({proces: 1}, 'unknown-option', /processNoise/);
  });
});
