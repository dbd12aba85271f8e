/** Options of `simulate` that identification passes on: against closed forms that the default steps miss, and what they change. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  backsolveAdjoint,
  bilateral,
  generalizedAlpha,
  InconsistentStateError,
  mechanics,
  ode,
  OptionError,
  rk4,
  signal,
  simulate,
  tsit5,
  type Trajectory,
  type System,
} from '../../../lib/index.js';
import {identify} from '../../../training/identify/identify.js';
import {fisherInformation} from '../../../training/estimate/information.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {free, positive} from '../../../training/identify/parameters.js';
import {multiple} from '../../../training/identify/shooting.js';
import {slow} from '../../tiers.js';

/** Verhulst's growth from 0.1, with the rate r = 1.5. */
const growth = ode<{r: tf.Tensor}>(({y, params}) => tf.mul(tf.mul(params.r, y), tf.sub(1, y)));
const logistic = (t: number, r = 1.5): number => 1 / (1 + 9 * Math.exp(-r * t));
// On no grid, and far apart.
const t = Float64Array.from({length: 12}, (_, i) => 0.7 * i + 0.1 * Math.sin(5 * i));
const grown = {
  system: growth,
  initial: {y: 0.1, t: 0},
  data: {t: t.slice(1), y: t.slice(1).map(time => logistic(time))},
  parameters: {r: positive(1)},
  scheme: tsit5(),
  dt: 0.5,
};
const tight = adaptive({rtol: 1e-9, atol: 1e-11});

describe('identify with adaptive steps', () => {
  slow('finds a rate as exactly as the tolerance says, at times on no grid', async () => {
    const fit = await identify({...grown, control: tight});
    expect(fit.converged).to.equal(true);
    expect(Math.abs(fit.estimate.r - 1.5)).to.be.below(1e-7);
    // Steps of dt are not that exact, so the option did something.
    const coarse = await identify({...grown, scheme: rk4(), dt: 1.5, offGrid: 'interpolate'});
    expect(Math.abs(coarse.estimate.r - 1.5)).to.be.above(1e-5);
  });

  slow('by one backward pass an iteration, from segments, and back along the state too', async () => {
    for (const other of [
      {method: lbfgs()},
      {shooting: multiple({segments: 2})},
      {method: lbfgs(), adjoint: backsolveAdjoint()},
    ]) {
      const {estimate} = await identify({...grown, ...other, control: tight});
      expect(Math.abs(estimate.r - 1.5)).to.be.below(1e-6);
    }
  });

  it('of few of them for a sparse record, and none of the warnings of a grid', async () => {
    const data = {t: [5000, 10000], y: [Math.exp(-0.5), Math.exp(-1)]};
    const slow = ode<{k: tf.Tensor}>(({y, params}) => tf.neg(tf.mul(params.k, y)));
    const problem = {system: slow, initial: {y: 1, t: 0}, data, parameters: {k: positive(2e-4)}, scheme: tsit5()};
    const fit = await identify({...problem, dt: 1e-4, control: adaptive({rtol: 1e-8, atol: 1e-10})});
    expect(fit.estimate.k / 1e-4).to.be.within(1 - 1e-6, 1 + 1e-6);
    expect(fit.warnings.filter(warning => warning.includes('steps of dt'))).to.deep.equal([]);
    expect(fit.trajectory.stats.steps).to.be.below(200);
  });

  slow('that ends where the tolerance hides the cost says so, in place of advising shorter pieces', async () => {
    const clock = Array.from({length: 201}, (_, i) => 0.05 * i);
    const push = clock.map(time => Math.sin(3 * time) + (time > 4 ? 0.5 : 0));
    const spring = ({k, c}: {k: number; c: number}) =>
      mechanics({
        mass: 1,
        forces: ({q, v, t: time}) => tf.sub(signal(clock, push, 'linear').at(time), tf.add(tf.mul(k, q), tf.mul(c, v))),
      });
    const run = {scheme: tsit5(), dt: 0.0125, t1: 10, saveAt: clock};
    const measured = simulate(spring({k: 4, c: 0.3}), {q: 0.3, v: 0}, run).values('q');
    const problem = {
      system: mechanics<{k: tf.Tensor; c: tf.Tensor; u: tf.Tensor}>({
        mass: 1,
        forces: ({q, v, params: {k, c, u}}) => tf.sub(u, tf.add(tf.mul(k, q), tf.mul(c, v))),
      }),
      initial: {q: 0.3, v: 0},
      inputs: {u: signal(clock, push, 'linear')},
      data: {t: clock, q: measured.map((q, i) => q + 0.01 * Math.sin(7 * i * i))},
      parameters: {k: positive(2), c: positive(0.1)},
      scheme: tsit5(),
    };
    // Steps of the grid are the same for all parameters: their cost is smooth.
    const smooth = await identify({...problem, dt: 0.0125});
    expect(smooth.converged).to.equal(true);
    const rough = await identify({...problem, dt: 0.05, control: adaptive({rtol: 1e-6})});
    expect(rough.status).to.equal('no-progress');
    expect(rough.message)
      .to.match(/start again from this estimate with an rtol below 0\.000001\./)
      .and.not.match(/multiple/);
    // Some 200 steps, each off by up to 1e-6 of the state.
    for (const name of ['k', 'c'] as const)
      expect(rough.estimate[name] / smooth.estimate[name]).to.be.within(1 - 5e-4, 1 + 5e-4);
    const {k, c} = rough.estimate;
    const again = await identify({
      ...problem,
      parameters: {k: positive(k), c: positive(c)},
      dt: 0.05,
      control: adaptive({rtol: 1e-9}),
    });
    expect(again.converged).to.equal(true);
  });

  it('has the information of the closed form', () => {
    const {standardError} = fisherInformation(
      {
        system: growth,
        initial: {y: 0.1, t: 0},
        parameters: {r: free(1.5)},
        scheme: tsit5(),
        dt: 0.5,
        control: tight,
        noise: {y: 0.01},
      },
      {t: grown.data.t},
    );
    // y = 1/(1 + 9 e^−rt): ∂y/∂r = t y (1 − y).
    const slopes = grown.data.t.map(time => time * logistic(time) * (1 - logistic(time)));
    const information = slopes.reduce((sum, slope) => sum + (slope / 0.01) ** 2, 0);
    expect(standardError.r * Math.sqrt(information)).to.be.within(1 - 1e-6, 1 + 1e-6);
  });
});

/** A pendulum of length 1 in Cartesian coordinates, held by a constraint. */
const pendulum = mechanics<{g: tf.Tensor}>({
  mass: 1,
  forces: ({params}) => tf.stack([tf.zerosLike(params.g), tf.neg(params.g)]),
  constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
});

describe('identify with constraints', () => {
  // Its angle, by steps that need no constraint: φ'' = −g sin φ.
  const clock = Float64Array.from({length: 41}, (_, i) => 0.05 * i);
  const angle = simulate(
    mechanics({mass: 1, forces: ({q}) => tf.mul(tf.sin(q), -9.81)}),
    {q: 1, v: 0},
    {scheme: rk4(), dt: 0.005, steps: 400, saveAt: {every: 10}},
  );
  const [phi, rate] = [angle.values('q'), angle.values('v')];
  angle.dispose();
  const data = {
    t: clock,
    q: Array.from(phi, a => [Math.sin(a), -Math.cos(a)]),
    v: Array.from(phi, (a, i) => [rate[i] * Math.cos(a), rate[i] * Math.sin(a)]),
  };
  const problem = {
    system: pendulum,
    initial: {q: [Math.sin(1), -Math.cos(1)], v: [0, 0]},
    data,
    parameters: {g: positive(8)},
    scheme: generalizedAlpha(),
    dt: 0.0125,
  };
  /** The largest velocity along the rod, which does not grow longer. */
  const along = (path: Trajectory<System>): number => {
    const [q, v] = [path.values('q'), path.values('v')];
    return clock.reduce((most, _, i) => Math.max(most, Math.abs(q[2 * i] * v[2 * i] + q[2 * i + 1] * v[2 * i + 1])), 0);
  };

  slow('holds velocities as `stabilization` says, and finds g', async () => {
    const [none, ggl] = [
      await identify({...problem, stabilization: 'none'}),
      await identify({...problem, stabilization: 'ggl'}),
    ];
    expect(along(none.trajectory)).to.be.above(1e-6);
    expect(along(ggl.trajectory)).to.be.below(1e-10);
    // The scheme's error of second order, (ωh)² = 0.0015 at ω² = g.
    for (const {estimate} of [none, ggl]) expect(estimate.g / 9.81).to.be.within(1 - 0.0015, 1 + 0.0015);
    const [judged] = await ggl.validate(data);
    expect(judged.nrmse).to.be.below(0.02);
  });

  slow('starts from the nearest state on the constraints, if it is asked to', async () => {
    const off = {...problem, initial: {q: [1.05 * Math.sin(1), -1.05 * Math.cos(1)], v: [0, 0]}};
    const refusal = await identify(off).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).to.be.instanceOf(InconsistentStateError);
    const [moved, exact] = [await identify({...off, consistent: 'project'}), await identify(problem)];
    expect(Math.abs(moved.estimate.g - exact.estimate.g)).to.be.below(1e-8);
  });

  it('refuses what `simulate` refuses', async () => {
    const refused = async (other: object): Promise<string> => {
      const error: unknown = await identify({...problem, ...other}).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(OptionError);
      return (error as OptionError).message;
    };
    expect(await refused({stabilization: 'gll'})).to.match(/stabilization must be one of 'none'/);
    expect(await refused({control: 'adaptive'})).to.match(/control must be/);
    expect(await refused({stabilisation: 'ggl'})).to.match(/Did you mean 'stabilization'/);
  });
});
