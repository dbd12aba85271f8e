/** Derivatives of adaptive runs are checked against a run with tighter tolerances, wherever they are asked for. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {OdeSystem, Scheme, Trajectory} from '../../lib/index.js';
import {
  adaptive,
  batch,
  batchAsync,
  bdf2,
  event,
  forwardSensitivity,
  kvaerno3,
  kvaerno5,
  mechanics,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  trapezoid,
  tsit5,
} from '../../lib/index.js';
import {adam, trainingStep} from '../../training/index.js';
import {identify} from '../../training/identify/identify.js';
import {positive} from '../../training/identify/parameters.js';
import {oscillators, vanDerPol} from './relaxation-oscillators.js';

const control = adaptive({rtol: 1e-4, atol: 1e-4});
const options = {scheme: kvaerno5(), dt: 1e-4, t1: 200, saveAt: 'end', params: {p: 100}, control} as const;
const start = {y: [2, 0]};
const last = {y: [0, 0, 1, 0]};
/** dx(200)/dp of van der Pol's equation by radauIIA5 at a tolerance of 3e-11. */
const right = 0.0174229213;

/** Systems of which nothing is known yet, and that differ by less than any tolerance. */
let count = 0;
const fresh = (): OdeSystem<{p: tf.Tensor}> => vanDerPol(1 + 1e-13 * ++count);

function expectWarning({warnings}: Pick<Trajectory<OdeSystem>, 'warnings'>): void {
  expect(warnings).to.have.length(1);
  expect(warnings[0]).to.match(/^Derivatives of this run may be wrong: along a random direction .* is off by [\d.]+/);
}

describe('checked derivatives of adaptive runs', () => {
  it('the warning says where the tangent departs, how large it grows, and what tolerance would do', () => {
    const {trajectory, pullback} = simulate.vjp(fresh(), start, options);
    expect(trajectory.warnings).to.deep.equal([]);
    const {params} = pullback(last);
    expect(Math.abs(params.p[0] / right - 1)).to.be.above(1);
    expectWarning(trajectory);
    const said = /in step (\d+), at t = ([\d.]+)\. On the way the tangent is (\S+) times .* Tolerances (\d+) times/;
    const [, step, t, growth, factor] = said.exec(trajectory.warnings[0]) ?? [];
    // The first jump is at t = 81.2, where v is 130, and then 0.0067.
    expect(Number(step)).to.be.within(10, 60);
    expect(Number(t)).to.be.within(75, 81.3);
    expect(Number(growth)).to.be.within(1e4, 1e6);
    expect(Number(factor)).to.be.within(100, 1e5);
    trajectory.dispose();
    // With such tolerances it is right.
    const rtol = 1e-4 / Number(factor);
    const tight = simulate.vjp(fresh(), start, {...options, control: adaptive({rtol, atol: rtol})});
    expect(tight.pullback(last).params.p[0] / right).to.be.closeTo(1, 100 * 1e-4);
    tight.trajectory.dispose();
  });

  it('a step whose iteration diverges is not taken for one that rounding holds up', () => {
    const path = simulate(fresh(), start, options);
    expect(path.warnings).to.deep.equal([]);
    path.dispose();
  });

  it('the first gradient with so many steps is checked, and others have its warning', () => {
    const simulation = simulate.prepare(fresh(), start, options);
    for (const p of [100, 100.1]) {
      const {trajectory, pullback} = simulation.vjp({params: {p}});
      pullback(last);
      pullback(last);
      expectWarning(trajectory);
      trajectory.dispose();
    }
  });

  it('in every way of asking, and no tensor is left', async () => {
    const before = tf.memory().numTensors;
    const expectIn = (trajectory: Pick<Trajectory<OdeSystem>, 'warnings' | 'dispose'>): void => {
      expectWarning(trajectory);
      trajectory.dispose();
    };
    for (const saveAt of ['all', [50, 150, 200]] as const) {
      const {trajectory, pullback} = simulate.vjp(fresh(), start, {...options, saveAt: saveAt as 'all'});
      const cotangent = trajectory.values('y').fill(0);
      cotangent[cotangent.length - 2] = 1;
      pullback({y: cotangent});
      expectIn(trajectory);
    }
    const loss = {cotangent: () => last};
    expectIn(simulate.hvp(fresh(), start, options, loss, {params: {p: 1}}).trajectory);
    const members = batch.vjp(fresh(), [start, {y: [2, 0.1]}], options);
    members.pullback([last, last]);
    members.trajectories.forEach(expectIn);
    const distributed = await batchAsync.vjp(fresh(), [start, {y: [2, 0.1]}], {...options, workers: 2});
    await distributed.pullback([last, last]);
    distributed.trajectories.forEach(expectIn);
    const simulation = simulate.prepare(fresh(), start, options);
    const {warnings} = simulation.valueAndGrad(({y}) => tf.sum(tf.slice(y, [1, 0], [1, 1])));
    expectWarning({warnings});
    const there = await simulation.vjpAsync({params: {p: 101}});
    await there.pullback(last);
    expectIn(there.trajectory);
    const p = tf.scalar(100);
    const system = fresh();
    const runs: Trajectory<OdeSystem>[] = [];
    tf.grad(given => {
      const path = simulate(system, start, {...options, params: {p: given}});
      tf.keep(path.t);
      tf.keep(path.y);
      runs.push(path as unknown as Trajectory<OdeSystem>);
      return tf.sum(tf.slice(path.y, [1, 0], [1, 1]));
    })(p).dispose();
    runs.forEach(expectIn);
    p.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('in prepared batches whose members go in lanes', () => {
    const prepared = batch.prepare(fresh(), start, {
      scheme: tsit5(),
      dt: 1e-3,
      t1: 20,
      saveAt: 'end',
      params: {p: 1},
      control: adaptive({rtol: 1e-3, atol: 1e-3}),
    });
    const {trajectories, pullback} = prepared.vjp([{initial: start}, {initial: {y: [2, 0.1]}}]);
    pullback([last, last]);
    expectWarning(trajectories[0]);
    trajectories.forEach(one => one.dispose());
  });

  it('jvp and forward sensitivities take tolerances with which tangents are right', () => {
    const forward = simulate.jvp(fresh(), start, options, {params: {p: 1}});
    expect(forward.trajectory.warnings).to.deep.equal([]);
    expect(forward.tangent.y[2] / right).to.be.closeTo(1, 100 * 1e-4);
    forward.trajectory.dispose();
    for (const more of [
      {adjoint: forwardSensitivity()},
      {control: adaptive({rtol: 1e-4, atol: 1e-4, sensitivities: true})},
    ]) {
      const {trajectory, pullback} = simulate.vjp(fresh(), start, {...options, ...more});
      expect(pullback(last).params.p[0] / right).to.be.closeTo(1, 100 * 1e-4);
      expect(trajectory.warnings).to.deep.equal([]);
      trajectory.dispose();
    }
    const plain = adaptive({rtol: 1e-4, atol: 1e-4, sensitivities: false});
    const told = simulate.jvp(fresh(), start, {...options, control: plain}, {params: {p: 1}});
    expectWarning(told.trajectory);
    told.trajectory.dispose();
  });

  it('refuses sensitivities that are neither true nor false', () => {
    expect(() => adaptive({sensitivities: 'forward' as unknown as boolean})).to.throw(/sensitivities must be true or/);
  });

  it('identify warns of gradients that it cannot make right', async () => {
    const t = [0, 50, 100, 150, 200];
    const path = simulate(fresh(), start, {...options, saveAt: t, control: adaptive({rtol: 1e-9, atol: 1e-9})});
    const y = Array.from({length: t.length}, (_, i) => Array.from(path.values('y').slice(2 * i, 2 * i + 2)));
    path.dispose();
    const problem = {
      data: {t, y},
      parameters: {p: positive(100.02)},
      initial: {...start, t: 0},
      dt: 1e-4,
      scheme: kvaerno5(),
    };
    const about = ({warnings}: {readonly warnings: readonly string[]}): readonly string[] =>
      warnings.filter(warning => warning.includes('Derivatives of'));
    const fit = await identify({...problem, system: fresh(), control});
    expect(about(fit)).to.deep.equal([]);
    expect(fit.estimate.p).to.be.closeTo(100, 0.02);
    const rough = adaptive({rtol: 1e-4, atol: 1e-4, sensitivities: false});
    expect(about(await identify({...problem, system: fresh(), control: rough}))).to.have.length(1);
  });

  it('a step of training warns of gradients that are wrong, by a simulation and by a batch', () => {
    const variable = tf.variable(tf.scalar(100));
    const system = ode(({y}) => {
      const [x, v] = tf.unstack(y);
      return tf.stack([v, tf.sub(tf.mul(tf.mul(variable, tf.sub(1, tf.square(x))), v), x)]);
    });
    const {scheme, dt, t1} = options;
    const run = {scheme, dt, t1, saveAt: 'end', control} as const;
    const loss = ({y}: {readonly y: tf.Tensor}): tf.Tensor => tf.sum(tf.slice(y, [1, 0], [1, 1]));
    for (const model of [simulate.prepare(system, start, run), batch.prepare(system, start, run)] as const) {
      const step = trainingStep<OdeSystem>(model as never, {loss, optimizer: adam({rate: 1e-6})});
      step('kind' in model ? [{}] : {});
      expect(step.warnings.filter(warning => warning.startsWith('Derivatives'))).to.have.length(1);
    }
    variable.dispose();
  });

  const damped = mechanics<{p: tf.Tensor}>({
    mass: 1,
    forces: ({q, v, params: {p}}) => tf.sub(tf.neg(tf.mul(p, tf.sinh(q))), tf.mul(0.1, v)),
  });
  const oscillator = ode<{p: tf.Tensor}>(({y, params: {p}}) => {
    const [x, v] = tf.unstack(y);
    return tf.stack([v, tf.neg(tf.mul(p, x))]);
  });
  const lorenz = ode<{p: tf.Tensor}>(({y, params: {p}}) => {
    const [a, b, c] = tf.unstack(y);
    return tf.stack([
      tf.mul(10, tf.sub(b, a)),
      tf.sub(tf.mul(a, tf.sub(p, c)), b),
      tf.sub(tf.mul(a, b), tf.mul(8 / 3, c)),
    ]);
  });
  const lotka = ode<{p: tf.Tensor}>(({y, params: {p}}) => {
    const [a, b] = tf.unstack(y);
    return tf.stack([tf.sub(tf.mul(p, a), tf.mul(0.4, tf.mul(a, b))), tf.sub(tf.mul(0.1, tf.mul(a, b)), b)]);
  });
  const decay = ode<{p: tf.Tensor}>(({y, params: {p}}) => tf.neg(tf.mul(p, y)));
  const schemes: readonly Scheme[] = [tsit5(), kvaerno3(), kvaerno5(), radauIIA5(), sdirk2(), bdf2(), trapezoid()];
  const gradientWarnings = (
    system: OdeSystem<{p: tf.Tensor}>,
    y: number[],
    p: number,
    t1: number,
    scheme: Scheme,
    rtol: number,
  ): readonly string[] => {
    const {trajectory, pullback} = simulate.vjp(
      system,
      {y},
      {
        scheme,
        dt: 1e-3,
        t1,
        params: {p},
        control: adaptive({rtol, atol: rtol / 1000}),
      },
    );
    pullback({y: trajectory.values('y')});
    trajectory.dispose();
    return trajectory.warnings.filter(warning => warning.startsWith('Derivatives'));
  };
  for (const scheme of schemes)
    it(`${scheme.name}: no warning where there is no need`, () => {
      const high = scheme.name !== 'bdf2' && scheme.name !== 'sdirk2' && scheme.name !== 'trapezoid';
      for (const rtol of high ? [1e-4, 1e-6] : [1e-4]) {
        expect(gradientWarnings(oscillator, [1, 0], 4, 20, scheme, rtol), 'oscillator').to.deep.equal([]);
        expect(gradientWarnings(decay, [1, 2], 1, 5, scheme, rtol), 'decay').to.deep.equal([]);
        expect(gradientWarnings(lorenz, [1, 1, 1], 28, 2, scheme, rtol), 'Lorenz').to.deep.equal([]);
        expect(gradientWarnings(lotka, [10, 5], 1.1, 20, scheme, rtol), 'Lotka–Volterra').to.deep.equal([]);
      }
    });

  it('products with the Hessian are not warned of where there is no need', () => {
    const loss = ({y}: {readonly y: tf.Tensor}): tf.Tensor => tf.sum(tf.square(y));
    for (const [system, y, p, t1] of [
      [oscillator, [1, 0], 4, 20],
      [decay, [1, 2], 1, 5],
      [lorenz, [1, 1, 1], 28, 2],
      [lotka, [10, 5], 1.1, 20],
    ] as const)
      for (const rtol of [1e-4, 1e-6]) {
        const run = {scheme: kvaerno3(), dt: 1e-3, t1, params: {p}, control: adaptive({rtol, atol: rtol / 1000})};
        const {trajectory} = simulate.hvp(system, {y: [...y]}, run, loss, {params: {p: 1}});
        expect(trajectory.warnings).to.deep.equal([]);
        trajectory.dispose();
      }
    const {system, start: begin, p} = oscillators[3];
    const one = {cotangent: () => ({y: [0, 0, 0, 1, 0, 0]})};
    const run = {...options, scheme: kvaerno3(), t1: 360, params: {p}};
    const oregonator = simulate.hvp(system, begin, run, one, {params: {p: 1}});
    expect(oregonator.trajectory.warnings.some(warning => warning.includes('products with the Hessian'))).to.equal(
      true,
    );
    oregonator.trajectory.dispose();
  });

  it('mechanics, events and constant steps are not warned of', () => {
    const run = {dt: 0.01, t1: 10, params: {p: 4}} as const;
    for (const more of [{control: adaptive({rtol: 1e-5, atol: 1e-7})}, {scheme: rk4()}]) {
      const {trajectory, pullback} = simulate.vjp(damped, {q: [2, 1], v: [0, 0]}, {...run, ...more});
      pullback({q: trajectory.values('q')});
      expect(trajectory.warnings).to.deep.equal([]);
      trajectory.dispose();
    }
    const ball = mechanics<{g: tf.Tensor}>({mass: 1, forces: ({params: {g}}) => tf.neg(g)});
    const bounce = event({when: ({q}) => q, direction: 'falling', then: ({q, v}) => ({q, v: tf.mul(-0.8, v)})});
    const {trajectory, pullback} = simulate.vjp(
      ball,
      {q: 10, v: 0},
      {
        scheme: tsit5(),
        dt: 0.1,
        t1: 4,
        saveAt: 'end',
        params: {g: 8},
        events: [bounce],
        control: adaptive(),
      },
    );
    pullback({q: [0, 1]});
    expect(trajectory.warnings).to.deep.equal([]);
    trajectory.dispose();
  });
});
