/**
 * Identification against independent least squares, against the spread over many noisy records, and
 * against the errors, warnings and results it promises.
 */
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem, Params} from '../../../lib/index.js';
import {
  DataError,
  implicitMidpoint,
  InconsistentStateError,
  mechanics,
  NewtonError,
  ode,
  OptionError,
  rk4,
  ShapeError,
  simulate,
  SingularMatrixError,
  StiffgradError,
  TraceError,
} from '../../../lib/index.js';
import type {
  Identification,
  IdentificationProblem,
  IdentificationProgress,
} from '../../../training/identify/identify.js';
import {identify} from '../../../training/identify/identify.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {levenbergMarquardt} from '../../../training/identify/least-squares.js';
import {multiple} from '../../../training/identify/shooting.js';
import {gaussian} from '../../../training/data/noise.js';
import {bounded, fixed, free, positive, type Parameter} from '../../../training/identify/parameters.js';
import {likelihoodProfile} from '../../../training/estimate/profile.js';
import {signal} from '../../../lib/index.js';
import {elementsOf} from '../well-formed.js';
import {slow} from '../../tiers.js';

/** m q″ + c q′ + k q = force, with what is known written in. */
function oscillator(mass = 1.3): MechanicalSystem {
  return mechanics({
    mass,
    forces: [
      ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q)),
      ({v, params}) => tf.neg(tf.mul(params.c as tf.Tensor, v)),
    ],
  });
}

const times = (samples: number, dt: number, from = 0): Float64Array =>
  Float64Array.from({length: samples}, (_, i) => from + i * dt);

interface Motion {
  readonly k: number;
  readonly c: number;
  readonly q: number;
  readonly v: number;
}

/** The midpoint rule's own solution of the damped oscillator, by its 2 × 2 matrix: independent of everything under test. */
function motion({k, c, q, v}: Motion, samples: number, dt: number, mass = 1.3): {q: Float64Array; v: Float64Array} {
  // (1 + h²k/4m + hc/2m) v₊ = (1 − h²k/4m − hc/2m) v − (hk/m) q, q₊ = q + h (v + v₊)/2.
  const [stiff, damp] = [(dt * dt * k) / (4 * mass), (dt * c) / (2 * mass)];
  const path = {q: new Float64Array(samples), v: new Float64Array(samples)};
  for (let i = 0; i < samples; i++) {
    [path.q[i], path.v[i]] = [q, v];
    const next = ((1 - stiff - damp) * v - ((dt * k) / mass) * q) / (1 + stiff + damp);
    q += (dt * (v + next)) / 2;
    v = next;
  }
  return path;
}

const truth: Motion = {k: 4, c: 0.4, q: 0.5, v: -0.2};

/** Two hundred and one samples with errors that anyone can repeat. */
function repeatable(): {t: Float64Array; q: Float64Array; v: Float64Array} {
  const {q, v} = motion(truth, 201, 0.05);
  return {
    t: times(201, 0.05),
    q: q.map((x, i) => x + 0.02 * Math.sin(12.9898 * i * i)),
    v: v.map((x, i) => x + 0.05 * Math.sin(78.233 * i * i + 1)),
  };
}

function problem(over: Partial<IdentificationProblem> = {}): IdentificationProblem {
  return {
    system: oscillator(),
    initial: {q: 0.5, v: -0.2},
    data: repeatable(),
    dt: 0.05,
    parameters: {k: positive(3), c: free(0.2)},
    ...over,
  };
}

/** Identifies, frees the result's tensors, and makes sure that nothing else is left. */
async function found(over: Partial<IdentificationProblem> = {}): Promise<Identification> {
  const before = tf.memory().numTensors;
  const identification = await identify(problem(over));
  for (const trajectory of identification.trajectories) trajectory.dispose();
  expect(tf.memory().numTensors - before, 'tensors left').to.equal(0);
  return identification;
}

/** The error of a problem that cannot be solved; nothing may be left of it. */
async function errorOf(over: Partial<IdentificationProblem>): Promise<StiffgradError> {
  const before = tf.memory().numTensors;
  const outcome = await identify(problem(over)).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(tf.memory().numTensors - before, 'tensors left').to.equal(0);
  expect(outcome).to.be.instanceOf(StiffgradError);
  return outcome as StiffgradError;
}

function near(actual: ArrayLike<number>, expected: readonly number[], relative: number): void {
  expected.forEach((value, i) => expect(actual[i], `entry ${i}`).to.be.closeTo(value, relative * Math.abs(value)));
}

describe('identify', () => {
  it('finds what independent least squares find, with the same errors', async () => {
    // scipy.optimize.least_squares (1.17, method 'lm', tolerances 1e-15) on the residuals (simulated − measured)/σ of
    // x₊ = (1 − hA/2)⁻¹(1 + hA/2) x, Jacobian by five-point differences; errors from s²(JᵀJ)⁻¹.
    const {estimate, standardError, interval, correlation, rmse, uncertainty, history, converged, warnings} =
      await found({
        data: {...repeatable(), weights: {q: 1 / 0.02, v: 1 / 0.05}},
        parameters: {k: positive(3), c: free(0.2), 'initial.q': free(0.4), 'initial.v': free(0)},
        residuals: 'independent',
      });
    const names = ['k', 'c', 'initial.q', 'initial.v'];
    near(
      names.map(name => estimate[name] as number),
      [4.004575188845567, 0.39882049383107265, 0.5005267533988234, -0.1923899339237811],
      1e-8,
    );
    near(
      names.map(name => standardError[name] as number),
      [0.007852457173035255, 0.004383034192743478, 0.0030502052895988218, 0.005758755368226031],
      1e-6,
    );
    // c ± z·0.00438303…, and k·exp(±z·0.00785245…/k), with z of 95 % of Student's distribution of 402 − 4 degrees: 1.96594232.
    expect(Object.keys(interval)).to.deep.equal(names);
    near(interval.c, [0.3902037014041231, 0.4074372862580222], 1e-7);
    near(interval.k, [3.989167428174696, 4.020042460452784], 1e-7);
    expect(correlation.labels).to.deep.equal(names);
    [1, 0.0338140681, 0.0527977844, 0.7062242689, 0.0338140681, 1, 0.7470989749, -0.3076430135].forEach((value, i) =>
      expect(correlation.values[i]).to.be.closeTo(value, 1e-6),
    );
    near([uncertainty.variance], [0.48528888700728734], 1e-9);
    near([rmse.q, rmse.v], [0.01395512428779092, 0.0344258823055649], 1e-8);
    near([history[history.length - 1].cost], [96.57248851445019], 1e-12);
    expect(converged).to.equal(true);
    expect(warnings).to.deep.equal([]);
  });

  slow('gives standard errors that the spread over many records confirms', async () => {
    const {q} = motion({...truth, q: 0.5, v: 0}, 100, 0.1);
    const deviations: {[how in 'independent' | 'correlated']: number[]} = {independent: [], correlated: []};
    for (let seed = 1; seed <= 30; seed++) {
      const noise = gaussian(1000 + seed);
      const data = {t: times(100, 0.1), q: q.map(x => x + 0.05 * noise())};
      for (const residuals of ['independent', 'correlated'] as const) {
        const {estimate, standardError} = await found({data, dt: 0.1, initial: {q: 0.5, v: 0}, residuals});
        for (const name of ['k', 'c'] as const)
          deviations[residuals].push(((estimate[name] as number) - truth[name]) / (standardError[name] as number));
      }
    }
    for (const [how, z] of Object.entries(deviations)) {
      const mean = z.reduce((sum, one) => sum + one, 0) / z.length;
      const square = z.reduce((sum, one) => sum + one ** 2, 0) / z.length;
      // 60 numbers of unit variance: the mean is within 3/√60 = 0.39 of 0, the mean square within 3·√(2/60) = 0.55 of 1;
      // the correlated errors come out a few per cent small at a hundred samples.
      expect(Math.abs(mean), how).to.be.below(0.39);
      expect(square, how).to.be.within(0.45, 1.65);
    }
  });

  slow("allows by default for residuals that last, where 'independent' is far too sure", async () => {
    const {q} = motion({...truth, q: 0.5, v: 0}, 400, 0.05);
    const squares = {independent: 0, correlated: 0};
    const seeds = 20;
    for (let seed = 1; seed <= seeds; seed++) {
      const noise = gaussian(2000 + seed);
      let drift = noise();
      // A first-order autoregression of unit variance whose neighbours correlate by 0.9.
      const data = {
        t: times(400, 0.05),
        q: q.map(x => x + 0.05 * (drift = 0.9 * drift + Math.sqrt(1 - 0.81) * noise())),
      };
      for (const residuals of ['independent', undefined] as const) {
        const {estimate, standardError} = await found({data, initial: {q: 0.5, v: 0}, residuals});
        for (const name of ['k', 'c'] as const)
          squares[residuals ?? 'correlated'] +=
            (((estimate[name] as number) - truth[name]) / (standardError[name] as number)) ** 2 / (2 * seeds);
      }
    }
    // Slow motion against such noise: the true variance is about (1 + 0.9)/(1 − 0.9) = 19 times the white-noise formula's at
    // frequency 0, less at the oscillator's own.
    expect(squares.independent).to.be.above(3);
    // So wide that intervals hold the truth in short records too: over 80 seeds 0.46, of which forty numbers leave ±0.1; two of these, and
    // on the other side what would be too sure.
    expect(squares.correlated).to.be.within(0.25, 1.9);
  });

  describe('parameters', () => {
    slow('may be free, positive, bounded or fixed, to one and the same estimate', async () => {
      const plain = (await found()).estimate;
      for (const k of [free(3), positive(30), bounded(0.1, 50, 10)]) {
        const {estimate, standardError} = await found({parameters: {k, c: free(0.2)}});
        near([estimate.k as number, estimate.c as number], [plain.k as number, plain.c as number], 1e-7);
        expect(standardError.k).to.be.within(1e-4, 0.1);
      }
      const partly = await found({parameters: {k: fixed(4), c: free(0.2)}});
      expect(partly.estimate.k).to.equal(4);
      expect(partly.standardError).to.have.all.keys('c');
      expect(partly.correlation.labels).to.deep.equal(['c']);
    });

    it('may all be fixed: the model is judged as it is', async () => {
      const {estimate, rmse, history, converged, standardError} = await found({
        parameters: {k: fixed(4), c: fixed(0.4)},
      });
      expect(estimate).to.deep.equal({k: 4, c: 0.4});
      expect(standardError).to.deep.equal({});
      expect([history.length, converged]).to.deep.equal([1, true]);
      // The errors written in, of mean square 0.02²/2.
      expect(rmse.q).to.be.closeTo(0.02 / Math.SQRT2, 5e-4);
    });

    it('may be arrays, matrices and branches of a tree', async () => {
      // Two coupled masses: M q″ = −K q − diag(c) q′, K symmetric, all of K looked for.
      const K = [
        [6, -2],
        [-2, 4],
      ];
      const system = mechanics({
        mass: [1, 2],
        forces: ({q, v, params}) => {
          const {matrix, damping} = params.beam as {matrix: tf.Tensor2D; damping: tf.Tensor};
          return tf.neg(tf.add(tf.reshape(tf.matMul(matrix, tf.reshape(q, [2, 1])), [2]), tf.mul(damping, v)));
        },
      });
      const initial = {q: [1, 0], v: [0, 0]};
      const path = simulate(system, initial, {dt: 0.05, steps: 200, params: {beam: {matrix: K, damping: [0.1, 0.3]}}});
      const data = {t: times(201, 0.05), q: path.values('q'), v: path.values('v')};
      path.dispose();
      const {estimate, correlation, rmse} = await found({
        system,
        initial,
        data,
        parameters: {
          'beam.matrix': free([
            [5, -1],
            [-1, 5],
          ]),
          'beam.damping': positive([0.2, 0.2]),
        },
      });
      near(estimate['beam.matrix'] as Float64Array, K.flat(), 1e-7);
      near(estimate['beam.damping'] as Float64Array, [0.1, 0.3], 1e-7);
      expect(correlation.labels).to.deep.equal([
        'beam.matrix[0,0]',
        'beam.matrix[0,1]',
        'beam.matrix[1,0]',
        'beam.matrix[1,1]',
        'beam.damping[0]',
        'beam.damping[1]',
      ]);
      expect(rmse).to.have.all.keys('q[0]', 'q[1]', 'v[0]', 'v[1]');
    });

    it('may be very large and very small beside each other', async () => {
      // Micrometres in metres, milligrams in kilograms: k = 4e-6·1e9, everything else scaled with it.
      const {t, q, v} = repeatable();
      const scale = 1e-6;
      const [large, small] = await Promise.all([
        identify(problem({parameters: {k: positive(3), c: free(0.2)}})),
        identify(
          problem({
            system: oscillator(1.3e-6),
            initial: {q: 0.5 * scale, v: -0.2e3 * scale},
            dt: 0.05e-3,
            data: {
              t: t.map(x => 1e-3 * x),
              q: q.map(x => scale * x),
              v: v.map(x => 1e3 * scale * x),
              weights: {v: 1e-3},
            },
            parameters: {k: positive(3), c: free(0.2e-3)},
          }),
        ),
      ]);
      near(
        [small.estimate.k as number, small.estimate.c as number],
        [large.estimate.k as number, 1e-3 * (large.estimate.c as number)],
        1e-6,
      );
      near(
        [small.standardError.k as number, small.standardError.c as number],
        [large.standardError.k as number, 1e-3 * (large.standardError.c as number)],
        1e-4,
      );
      for (const {trajectory} of [large, small]) trajectory.dispose();
    });

    it('that the data cannot tell are warned of, with an infinite error', async () => {
      const pair = mechanics({
        mass: 1.3,
        forces: [
          ({q, params}) => tf.neg(tf.mul(tf.mul(params.a as tf.Tensor, params.b as tf.Tensor), q)),
          ({v}) => tf.mul(v, -0.4),
        ],
      });
      const {standardError, interval, warnings, estimate, correlation} = await found({
        system: pair,
        parameters: {a: positive(1.5), b: positive(2)},
      });
      expect((estimate.a as number) * (estimate.b as number)).to.be.closeTo(4, 0.05);
      expect(standardError).to.deep.equal({a: Infinity, b: Infinity});
      expect(interval).to.deep.equal({a: [0, Infinity], b: [0, Infinity]});
      expect(warnings.join()).to.match(/a and b cannot be told apart/);
      expect(correlation.values[1]).to.be.NaN;
      const idle = await found({parameters: {k: positive(3), c: free(0.2), idle: free(7)}});
      expect(idle.estimate.idle).to.equal(7);
      expect(idle.standardError.idle).to.equal(Infinity);
      expect(idle.standardError.k).to.be.below(0.1);
      expect(idle.warnings.join()).to.match(/do not depend on idle/);
    });

    it('of which one sample tells have no standard error: a fixed start is no second one', async () => {
      for (const start of [2, 2.1]) {
        const {estimate, standardError, warnings} = await identify({
          system: ode<{rate: tf.Tensor}>(({y, params}) => tf.neg(tf.mul(params.rate, y))),
          initial: {y: 2},
          data: {t: [0, 1], y: [start, 1]},
          dt: 0.05,
          parameters: {rate: positive(1)},
        });
        expect(estimate.rate).to.be.closeTo(Math.log(2), 1e-3);
        expect(standardError.rate).to.equal(Infinity);
        expect(warnings[0]).to.match(/not more residuals that depend on the parameters \(1\)/);
      }
    });

    it('that lie against a bound are warned of', async () => {
      const {warnings} = await found({parameters: {k: bounded(1, 3.5, 2), c: free(0.2)}});
      expect(warnings.join()).to.match(/k is at its upper bound 3\.5/);
    });
  });

  describe('records', () => {
    it('are one series in time, however their outputs are given', async () => {
      const {t, q, v} = repeatable();
      const apart = await found({data: {t, q, v, weights: {q: 50, v: 20}}});
      const together = await found({
        observe: at => tf.stack([at.q, at.v]),
        data: {t, y: Array.from(q, (x, i) => [x, v[i]]), weights: [50, 20]},
      });
      for (const name of ['k', 'c'])
        near(
          [apart.estimate[name] as number, apart.standardError[name] as number],
          [together.estimate[name] as number, together.standardError[name] as number],
          1e-9,
        );
      near([apart.rmse.q, apart.rmse.v], [together.rmse['y[0]'], together.rmse['y[1]']], 1e-9);
    });

    it('start where their parameters say, without any other start', async () => {
      const {estimate} = await found({
        initial: undefined,
        parameters: {k: positive(3), c: free(0.2), 'initial.q': free(0.4), 'initial.v': free(0)},
      });
      expect(estimate['initial.q']).to.be.closeTo(0.5, 0.01);
    });

    it('take from the problem what their own start leaves open', async () => {
      const {t, q} = repeatable();
      const [first, second] = [motion(truth, 201, 0.05).q, motion({...truth, q: -0.3}, 201, 0.05).q];
      const {estimate, standardError} = await found({
        initial: {v: 0},
        data: [
          {t, q: first},
          {t, q: second, initial: {q: -0.3}},
        ],
        parameters: {k: positive(3), c: free(0.2), 'initial.q': free(0), 'initial.v': free(0)},
      });
      near(
        ['k', 'initial.q', 'initial.v'].map(name => estimate[name] as number),
        [4, 0.5, -0.2],
        1e-7,
      );
      const none = await found({
        data: {t, q, initial: {q: 0.5, v: -0.2}},
        parameters: {k: positive(3), c: free(0.2), 'initial.q': free(0)},
      });
      expect(none.standardError['initial.q'], 'a start that no record uses').to.equal(Infinity);
      expect(standardError.k).to.be.a('number');
    });

    it('leave out what has weight 0', async () => {
      const {t, q} = repeatable();
      const kept = t.map((_, i) => (i % 7 === 3 ? 0 : 1));
      const spoilt = q.map((x, i) => (i % 7 === 3 ? 1e3 : x));
      const over = {residuals: 'independent'} as const;
      const masked = await found({...over, data: {t, q: spoilt, weights: kept}});
      const shorter = await found({
        ...over,
        data: {t: t.filter((_, i) => kept[i] > 0), q: q.filter((_, i) => kept[i] > 0)},
      });
      near(
        [
          masked.estimate.k as number,
          masked.standardError.k as number,
          masked.rmse.q,
          masked.r2.q,
          masked.uncertainty.variance,
        ],
        [
          shorter.estimate.k as number,
          shorter.standardError.k as number,
          shorter.rmse.q,
          shorter.r2.q,
          shorter.uncertainty.variance,
        ],
        1e-9,
      );
      // A mean speed, q/t, is infinite at the start, and its derivatives are no numbers.
      const observe = (at: {q: tf.Tensor; t: tf.Tensor}): tf.Tensor => tf.div(at.q, at.t);
      const y = motion(truth, 201, 0.05).q.map((x, i) => (i === 0 ? 0 : x / t[i]));
      const {estimate} = await found({observe, data: {t, y, weights: t.map((_, i) => (i === 0 ? 0 : 1))}});
      near([estimate.k as number, estimate.c as number], [4, 0.4], 1e-6);
      expect((await errorOf({observe, data: {t, y}})).message).to.contain('The simulated y is Infinity at t = 0');
      expect((await errorOf({data: {t, q, weights: 0}})).message).to.contain('every measurement has weight 0');
    });

    it('may start at any time, and before their first sample', async () => {
      const early = (await found()).estimate;
      const late = await found({data: {...repeatable(), t: times(201, 0.05, 1000)}});
      near([late.estimate.k as number, late.estimate.c as number], [early.k as number, early.c as number], 1e-8);
      const {t, q} = repeatable();
      const tail = await found({initial: {q: 0.5, v: -0.2, t: 0}, data: {t: t.slice(40), q: q.slice(40)}});
      expect(tail.estimate.k).to.be.closeTo(early.k as number, 0.05);
      expect([...tail.trajectory.values('t').slice(0, 2)]).to.deep.equal([2, t[41]]);
    });

    slow('may have an uneven clock, read between the steps', async () => {
      // m q″ + c q′ + k q = 0 in closed form, at times that no grid meets: 0.07 apart, give or take 0.03.
      const {k, c, q: q0, v: v0} = truth;
      const [decay, m] = [c / 2.6, 1.3];
      const omega = Math.sqrt(k / m - decay ** 2);
      const t = Float64Array.from({length: 140}, (_, i) => (i === 0 ? 0 : 0.07 * i + 0.03 * Math.sin(i * i)));
      const q = t.map(
        x => Math.exp(-decay * x) * (q0 * Math.cos(omega * x) + ((v0 + decay * q0) / omega) * Math.sin(omega * x)),
      );
      const uneven = {data: {t, q}, offGrid: 'interpolate'} as const;
      const errorAt = async (dt: number): Promise<number> => ((await found({...uneven, dt})).estimate.k as number) - k;
      expect((await errorAt(0.05)) / (await errorAt(0.025)), "the midpoint rule's own order").to.be.closeTo(4, 0.05);
      const fine = {...uneven, scheme: rk4(), dt: 0.02};
      for (const over of [{}, {method: lbfgs()}, {shooting: multiple({segments: 3})}]) {
        const {estimate} = await found({...fine, ...over});
        near([estimate.k as number, estimate.c as number], [k, c], 1e-6);
      }
    });

    it('several at once: inputs, starts and parameters of their own, and shared ones', async () => {
      // A driven oscillator, twice: another load on it, another push, another start; the second start is looked for.
      const system = mechanics({
        mass: ({params}) => tf.add(1.3, params.payload as tf.Tensor),
        forces: ({q, v, params}) =>
          tf.sub(params.push as tf.Tensor, tf.add(tf.mul(params.k as tf.Tensor, q), tf.mul(params.c as tf.Tensor, v))),
      });
      const t = times(101, 0.1);
      const pushes = [t.map(x => Math.sin(1.7 * x)), t.map(x => (x < 4 ? 1 : -0.5))];
      const starts = [
        {q: 0, v: 0},
        {q: 0.3, v: -1},
      ];
      const data = pushes.map((push, r) => {
        const input = signal(t, push);
        const driven = mechanics({
          mass: at => (system.mass as (at: object) => tf.Tensor)(at),
          forces: at => system.forces[0]({...at, params: {...at.params, push: input.at(at.t)}}),
        });
        const path = simulate(driven, starts[r], {dt: 0.1, steps: 100, params: {k: 4, c: 0.4, payload: [0, 0.7][r]}});
        const q = path.values('q');
        path.dispose();
        return {t, q, inputs: {push: input}};
      });
      const {estimate, rmse, trajectories, correlation, standardError} = await found({
        system,
        dt: 0.1,
        initial: starts[0],
        data: [
          {...data[0], name: 'empty', parameters: {payload: fixed(0)}},
          {
            ...data[1],
            name: 'loaded',
            initial: {q: 0.2, v: 0},
            parameters: {payload: positive(0.3), 'initial.q': free(0), 'initial.v': free(0)},
          },
        ],
        parameters: {k: positive(3), c: free(0.2)},
      });
      const names = ['k', 'c', 'loaded: payload', 'loaded: initial.q', 'loaded: initial.v'];
      expect(correlation.labels).to.deep.equal(names);
      near(
        names.map(name => estimate[name] as number),
        [4, 0.4, 0.7, 0.3, -1],
        1e-8,
      );
      expect(estimate['empty: payload']).to.equal(0);
      expect(standardError).to.have.all.keys(...names);
      expect(rmse).to.have.all.keys('empty: q', 'loaded: q');
      expect(trajectories).to.have.length(2);
    });

    slow('with one input between them, seen by observe too', async () => {
      const t = times(101, 0.1);
      const base = signal(
        t,
        t.map(x => 0.3 * Math.sin(x)),
        'cubic',
      );
      // A mass on a shaken base, of which the distance to the base is measured.
      const system = mechanics({
        mass: 1.3,
        forces: ({q, params}) => tf.mul(params.k as tf.Tensor, tf.sub(params.base as tf.Tensor, q)),
      });
      const observe = ({q, params}: {q: tf.Tensor; params: Params}): tf.Tensor => tf.sub(q, params.base as tf.Tensor);
      const driven = mechanics({
        mass: 1.3,
        forces: at => system.forces[0]({...at, params: {...at.params, base: base.at(at.t)}}),
      });
      const path = simulate(
        driven,
        {q: 0.1, v: 0},
        {dt: 0.1, steps: 100, params: {k: 5}, observe: at => observe({...at, params: {base: base.at(at.t)}})},
      );
      const y = path.values('observed');
      path.dispose();
      const shared = {system, initial: {q: 0.1, v: 0}, dt: 0.1, observe, parameters: {k: positive(3)}};
      const {estimate, rmse, warnings} = await found({
        ...shared,
        inputs: {base},
        data: [
          {t, y},
          {t: t.slice(0, 50), y: y.slice(0, 50)},
        ],
      });
      near([estimate.k as number], [5], 1e-9);
      expect(rmse).to.have.all.keys('record 1: y', 'record 2: y');
      expect(warnings).to.deep.equal([]);
      const short = await found({
        ...shared,
        inputs: {base: signal(t.slice(0, 60), base.values.slice(0, 60), 'cubic')},
        data: {t, y},
      });
      expect(short.warnings.join()).to.match(/input 'base' is known from 0 to 5\.9\d*, but record 1 runs from 0 to 10/);
    });
  });

  it('finds the rates of hares and lynxes', async () => {
    // Pelts in thousands, 1900 to 1920, Hudson's Bay Company (Howard 2009, as in the Stan case study of Carpenter 2018).
    const hare = [
      30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2,
      24.7,
    ];
    const lynx = [
      4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
    ];
    const {estimate, standardError, rmse} = await found({
      system: ode(({y, params}) => {
        const {growth, loss, decline, gain} = params as {[name: string]: tf.Tensor};
        const [u, w] = [tf.gather(y, 0), tf.gather(y, 1)];
        return tf.stack([tf.mul(u, tf.sub(growth, tf.mul(loss, w))), tf.mul(w, tf.sub(tf.mul(gain, u), decline))]);
      }),
      initial: {y: [30, 4]},
      observe: ({y}) => tf.log(y),
      data: {t: times(21, 1, 1900), y: hare.map((u, i) => [Math.log(u), Math.log(lynx[i])])},
      parameters: {
        growth: positive(0.5),
        loss: positive(0.03),
        decline: positive(0.8),
        gain: positive(0.03),
        'initial.y': positive([30, 4]),
      },
      scheme: rk4(),
      dt: 0.05,
      residuals: 'independent',
    });
    const names = ['growth', 'loss', 'decline', 'gain'];
    // scipy: least_squares over solve_ivp (DOP853, tolerances 1e-11) in the logarithms of all six parameters.
    const all = [...names.map(name => estimate[name] as number), ...(estimate['initial.y'] as Float64Array)];
    near(
      all,
      [
        0.5401589551309643, 0.027165354912363035, 0.7963860996893822, 0.023694640530451443, 34.602423812720026,
        5.8445059704293,
      ],
      1e-5,
    );
    near(
      [...names.map(name => standardError[name] as number), ...(standardError['initial.y'] as Float64Array)],
      [
        0.059488666625331865, 0.003843043750731459, 0.08385637188317849, 0.003286034422104997, 2.929408171025126,
        0.4793002158479484,
      ],
      1e-4,
    );
    near([rmse['y[0]'], rmse['y[1]']], [0.21839128, 0.22007265], 1e-5);
    // The posterior means of the Stan fits of this model, whose priors pull a little, lie within one standard error.
    [0.55, 0.028, 0.84, 0.026].forEach((published, i) =>
      expect(Math.abs(all[i] - published)).to.be.below(standardError[names[i]] as number),
    );
  });

  describe('where the simulation fails', () => {
    /** y′ = a y² from 1 leaves every bound at t = 1/a. */
    const explosive = ode(({y, params}) => tf.mul(params.a as tf.Tensor, tf.square(y)));
    const t = times(20, 0.1);
    const exact = t.map(x => 1 / (1 - 0.45 * x));

    it('a trial that diverges is a rejected step', async () => {
      const {history, estimate, converged} = await found({
        system: explosive,
        initial: {y: 1},
        data: {t, y: exact},
        parameters: {a: free(0.02)},
        scheme: implicitMidpoint(),
        dt: 0.01,
      });
      const failed = history.filter(({failure}) => failure !== undefined);
      expect(failed, 'the first, long steps').to.have.length.above(0);
      expect(failed.every(({accepted}) => !accepted)).to.equal(true);
      expect(failed[0].failure).to.match(/Newton did not converge|became infinite/);
      expect(converged).to.equal(true);
      expect(estimate.a, 'up to the error of the scheme').to.be.closeTo(0.45, 1e-4);
    });

    it('a guess that cannot be simulated is an error of the simulation, led by what it is', async () => {
      const newton = await errorOf({
        system: explosive,
        initial: {y: 1},
        data: {t, y: exact},
        parameters: {a: free(5)},
        dt: 0.1,
      });
      expect(newton).to.be.instanceOf(NewtonError);
      expect(newton.message).to.match(/^identify: the guess cannot be simulated: Step \d+ of implicitMidpoint/);
      expect(newton.data).to.include.keys('step', 't', 'h');
      const mass = mechanics({mass: ({params}) => params.m as tf.Tensor, forces: ({q}) => tf.neg(q)});
      const singular = await errorOf({system: mass, parameters: {m: free(-1)}});
      expect(singular).to.be.instanceOf(SingularMatrixError);
      const second = await errorOf({
        system: mass,
        parameters: {},
        data: [
          {...repeatable(), parameters: {m: free(1)}},
          {...repeatable(), name: 'heavy', parameters: {m: free(-1)}},
        ],
      });
      expect(second.message).to.match(/^identify: the guess cannot be simulated: heavy: mass is -1/);
      expect(await errorOf({initial: {q: NaN, v: 0}})).to.be.instanceOf(InconsistentStateError);
      const {t: when, q} = repeatable();
      const logarithm = await errorOf({observe: at => tf.log(at.q), data: {t: when, y: q}});
      expect(logarithm.message).to.match(
        /^identify: the guess cannot be simulated: The simulated y is NaN at t = 0\.[5-9]/,
      );
      const root = await errorOf({
        system: mechanics({mass: 1, forces: ({q: x, params}) => tf.mul(x, tf.sqrt(params.k as tf.Tensor))}),
        parameters: {k: free(0)},
      });
      expect(root.message).to.match(
        /^identify: the guess cannot be simulated: The tangent along direction 0 is not finite: .* that of q/,
      );
    });
  });

  it('tells its progress, and stops where that throws', async () => {
    const told: IdentificationProgress[] = [];
    const {history} = await found({
      onProgress: progress => told.push(progress),
      parameters: {k: positive(3), c: free(0.2), known: fixed([1, 2])},
    });
    expect(told.map(({iteration}) => iteration)).to.deep.equal(history.map((_, i) => i));
    expect(told[0].values).to.deep.equal({
      k: Float64Array.of(Math.exp(Math.log(3))),
      c: Float64Array.of(0.2),
      known: Float64Array.of(1, 2),
    });
    expect(told.map(({cost}) => cost)).to.deep.equal(history.map(({cost}) => cost));
    const before = tf.memory().numTensors;
    const stop = new Error('enough');
    const outcome = await identify(
      problem({
        onProgress: ({iteration}) => {
          if (iteration === 2) throw stop;
        },
      }),
    ).catch((error: unknown) => error);
    expect(outcome).to.equal(stop);
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('says where it did not converge', async () => {
    const {converged, warnings, message, history} = await found({method: levenbergMarquardt({maxIterations: 1})});
    expect([converged, history.length]).to.deep.equal([false, 2]);
    expect(message).to.contain('Not converged after 1 steps');
    expect(warnings[0]).to.equal(`The fit did not converge: ${message}`);
  });

  it('gives the trajectory at the measured times', async () => {
    const {t, q} = repeatable();
    const some = t.filter((_, i) => i % 10 === 0);
    const identification = await identify(
      problem({data: {t: some, q: q.filter((_, i) => i % 10 === 0)}, parameters: {k: fixed(4), c: fixed(0.4)}}),
    );
    const {trajectory, trajectories} = identification;
    expect(trajectory).to.equal(trajectories[0]);
    expect([...trajectory.values('t')]).to.deep.equal([...some]);
    expect((trajectory.q as tf.Tensor).shape).to.deep.equal([21]);
    near(
      trajectory.values('q'),
      [...motion(truth, 201, 0.05).q].filter((_, i) => i % 10 === 0),
      1e-10,
    );
    trajectory.dispose();
  });

  it('gives the same on another engine', async () => {
    const [usual, other] = [await found(), await found({engine: 'interpreter'})];
    near(
      [other.estimate.k as number, other.standardError.k as number],
      [usual.estimate.k as number, usual.standardError.k as number],
      1e-9,
    );
  });

  slow('warns where residuals that are taken as independent are not', async () => {
    const t = times(200, 0.02);
    const system = ode<{rate: tf.Tensor}>(({y, params: {rate}}) => tf.neg(tf.mul(rate, y)));
    const z = 0.8 * 0.02;
    const factor = 1 - z + z ** 2 / 2 - z ** 3 / 6 + z ** 4 / 24; // of rk4's own steps, at a rate of 0.8
    const fitted = async (error: (i: number) => number, residuals: 'independent' | 'correlated' = 'independent') => {
      const y = t.map((_, i) => factor ** i + error(i));
      const problem = {system, initial: {y: 1}, data: {t, y}, parameters: {rate: positive(2)}, scheme: rk4(), dt: 0.02};
      return (await identify({...problem, residuals})).warnings;
    };
    const noise = gaussian(11);
    expect(await fitted(() => 0.01 * noise())).to.deep.equal([]);
    expect(await fitted(() => 0), 'an exact record').to.deep.equal([]);
    const missed = (i: number): number => 0.02 * Math.sin(3 * t[i]);
    expect(await fitted(missed, 'correlated')).to.deep.equal([]);
    const [warning, ...others] = await fitted(missed);
    expect(others).to.deep.equal([]);
    expect(warning).to.match(/^The residuals of y are correlated in time \(\d\d % .* Take residuals: 'correlated'/);
  });

  it('names the numbers that have a profile', async () => {
    const t = times(20, 0.1);
    const y = Array.from(t, time => [2 * Math.exp(-0.8 * time), Math.exp(-0.3 * time)]);
    const system = ode<{rates: tf.Tensor; gain: tf.Tensor}>(({y: at, params: {rates, gain}}) =>
      tf.neg(tf.mul(gain, tf.mul(rates, at))),
    );
    const problem = {system, initial: {y: [2, 1]}, data: {t, y}, scheme: rk4(), dt: 0.1};
    const profiled = async (parameters: {rates: Parameter; gain: Parameter}, name = 'rates'): Promise<unknown> => {
      const whole = {...problem, parameters};
      return likelihoodProfile(await identify(whole), name).catch((error: Error) => error.message);
    };
    const gain = positive(1, {prior: {sd: 0.01}});
    expect(await profiled({rates: positive([1, 1]), gain})).to.equal(
      "likelihoodProfile: 'rates' is not an estimated number; these are: rates[0], rates[1], gain. Name one of its numbers.",
    );
    expect(await profiled({rates: positive([1, 1]), gain: fixed(1)}, 'gain')).to.equal(
      "likelihoodProfile: 'gain' is not an estimated number; these are: rates[0], rates[1].",
    );
    expect(await profiled({rates: positive([1, 1]), gain: fixed(1)}, 'rate[0]')).to.match(
      / Did you mean 'rates\[0\]'\?$/,
    );
  });

  it('writes a report that is whole, and takes units and references by name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'identify-'));
    try {
      const identification = await found({parameters: {k: positive(3), c: free(0.2), mass: fixed(1.3)}});
      const path = join(folder, 'deep', 'report.html');
      await identification.report(path, {
        title: 'Spring & damper',
        parameters: {k: {unit: 'N/m', reference: 4}},
        fits: {q: {name: 'deflection', unit: 'm'}},
        notes: ['Taken on a Sunday.'],
        referenceName: 'truth',
      });
      const html = await readFile(path, 'utf8');
      expect(await readdir(join(folder, 'deep'))).to.deep.equal(['report.html']);
      elementsOf(html);
      expect(
        html.match(/<svg class="chart"/g)?.length,
        'fit, residuals, distribution, memory of two series; convergence',
      ).to.be.at.least(9);
      expect(html.replaceAll('http://www.w3.org/2000/svg', '')).to.not.match(/https?:|<script|<link|src=/);
      for (const text of [
        'Spring &amp; damper',
        'N/m',
        'deflection',
        'truth',
        'Taken on a Sunday.',
        'implicitMidpoint',
        'Andrews',
        identification.message.slice(0, 20),
      ])
        expect(html).to.contain(text);
      expect(html, 'a fixed parameter').to.match(/mass<.*fixed/);
      const unknown = await identification
        .report(path, {parameters: {K: {unit: 'N/m'}}})
        .catch((error: unknown) => error);
      expect(unknown)
        .to.be.instanceOf(OptionError)
        .and.have.property('message')
        .that.matches(/no parameter 'K'; it has .*\. Did you mean 'k'\?/);
      expect(await readFile(path, 'utf8'), 'the one before is untouched').to.equal(html);
    } finally {
      await rm(folder, {recursive: true});
    }
  });

  describe('refuses', () => {
    const {t, q, v} = repeatable();
    const input = signal(t, q);
    const inputInMass = mechanics({mass: ({params}) => params.u as tf.Tensor, forces: ({q: x}) => tf.neg(x)});
    const cases: readonly [string, Partial<IdentificationProblem>, typeof StiffgradError, string, RegExp][] = [
      [
        'an option it does not have',
        {residual: 'independent'} as never,
        OptionError,
        'unknown-option',
        /no option 'residual'; .* Did you mean 'residuals'\?/,
      ],
      ['a missing option', {parameters: undefined}, OptionError, 'missing-option', /needs 'parameters'/],
      [
        'an unknown kind of residuals',
        {residuals: 'white' as never},
        OptionError,
        'bad-option',
        /'correlated'.*'independent'.*not 'white'/,
      ],
      [
        'a record without a start',
        {initial: {q: 1}},
        OptionError,
        'missing-option',
        /record 1 has no initial value: give initial\.v/,
      ],
      ['no data', {data: []}, OptionError, 'no-data', /data is empty/],
      [
        'times off the grid',
        {data: {t: times(201, 0.07), q}},
        OptionError,
        'off-grid',
        /record 1: t\[1\] = 0\.07 is not on the grid 0 \+ n·0\.05 .* dt = 0\.035 would/,
      ],
      ['a step that is none', {dt: 0}, OptionError, 'bad-option', /dt must be a positive number/],
      [
        "a shape that is not the state's",
        {data: {t, q: Array.from(q, x => [x, x])}},
        ShapeError,
        'data-shape',
        /a sample of q has shape \[2\], but the simulation gives \[\]/,
      ],
      [
        'a series of another kind of system',
        {system: ode(({y}) => y), initial: {y: 1}},
        OptionError,
        'no-series',
        /has q, but the system's state is y/,
      ],
      ['y without observe', {data: {t, y: q}}, OptionError, 'no-series', /observe/],
      [
        'a name that is both input and parameter',
        {inputs: {k: input}},
        OptionError,
        'name-clash',
        /'k' is used for two different parameters or inputs/,
      ],
      [
        'a name that is both leaf and branch',
        {parameters: {'spring.k': free(1), spring: free(1)}},
        OptionError,
        'name-clash',
        /'spring' is used for two different parameters or inputs/,
      ],
      [
        'an input that is no signal',
        {inputs: {u: q as never}},
        OptionError,
        'not-a-signal',
        /inputs\.u must be made by signal/,
      ],
      [
        'two records of one name',
        {
          data: [
            {t, q, name: 'a'},
            {t, q, name: 'a'},
          ],
        },
        OptionError,
        'name-clash',
        /two records are named 'a'/,
      ],
      [
        'a start that the system does not have',
        {parameters: {'initial.y': free(1)}},
        OptionError,
        'bad-initial',
        /no initial\.y to estimate; this system starts from initial\.q and initial\.v/,
      ],
      [
        'an input read by the mass',
        {system: inputInMass, inputs: {u: input}, parameters: {}},
        StiffgradError,
        'input-in-mass',
        /mass reads the input 'u'/,
      ],
      [
        'NaN in the data',
        {data: {t, q, v: v.map((x, i) => (i === 7 ? NaN : x)), name: 'swing'}},
        DataError,
        'not-finite',
        /swing: v is NaN in sample 7/,
      ],
      [
        'a force that reads a value',
        {system: mechanics({mass: 1, forces: ({q: x}) => tf.mul(x, x.dataSync()[0])})},
        TraceError,
        'value-read',
        /forces\[0\]/,
      ],
      [
        'a way with uneven times that there is not',
        {offGrid: 'allow' as never},
        OptionError,
        'bad-option',
        /offGrid must be one of 'refuse', 'interpolate', not 'allow'/,
      ],
      [
        'times in another unit than dt',
        {data: {t: times(201, 5e3), q}},
        OptionError,
        'too-many-steps',
        /100000 from one sample to the next: are its times in the same unit as dt/,
      ],
      [
        'a method by its name',
        {method: 'lbfgs' as never},
        OptionError,
        'bad-option',
        /method must be made by .*, not 'lbfgs'/,
      ],
      [
        'a number for a parameter',
        {parameters: {k: 3 as never, c: free(0)}},
        OptionError,
        'parameter-guess',
        /Parameter k is 3: define it by free\(guess\)/,
      ],
      [
        'columns side by side for a series',
        {data: {t, q: [q, v] as never}},
        OptionError,
        'not-numeric',
        /record 1: q\[0\] is an object, not a number\..* row by row/,
      ],
      [
        'a guess outside its bounds',
        {parameters: {k: bounded(0, 1, 4), c: free(0)}},
        OptionError,
        'parameter-guess',
        /k/,
      ],
    ];
    for (const [what, over, kind, code, message] of cases) {
      it(what, async () => {
        const error = await errorOf(over);
        expect(error.code, error.message).to.equal(code);
        expect(error).to.be.instanceOf(kind);
        expect(error.message).to.match(message);
      });
    }
  });
});
