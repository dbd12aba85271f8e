/**
 * Every function that takes options, given what nobody meant: a name misspelt, and values of the wrong kind as JSON and
 * untyped code bring them. Each is a StiffgradError; none is a default in silence, none a raw TypeError or RangeError.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as stiffgrad from '../../lib/index.js';
import * as models from '../../models/index.js';
import * as training from '../../training/index.js';
import {exportedValues} from '../package/exported.js';

type Loose = (...args: unknown[]) => unknown;
type Given = Readonly<Record<string, unknown>>;
const {mechanics, ode, StiffgradError} = stiffgrad;
const lib = stiffgrad as unknown as Record<string, Loose>;
/** Functions of an entry by name, those of its groups among them. */
const loose = (entry: object): Record<string, Loose> => ({
  ...Object.fromEntries([...exportedValues(entry)].map(([name, value]) => [name.replace(/^.*\./, ''), value as Loose])),
  ...(entry as Record<string, Loose>),
});
const model = loose(models);
const train = loose(training);

const zero = ({q}: {q: tf.Tensor}): tf.Tensor => tf.zerosLike(q);
const system = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q))});
const start = {q: 1, v: 0};
const run = {dt: 0.1, steps: 1, params: {k: 1}};
const prepared = stiffgrad.simulate.prepare(system, start, run) as unknown as Record<string, Loose>;
const signal = training.signal([0, 1], [0, 1]);
const record = {t: [0, 0.1, 0.2], q: [1, 1, 1]};
const problem = {system, initial: start, data: record, dt: 0.1, parameters: {k: training.free(1)}};
const weight = tf.variable(tf.scalar(1));
const trained = (): Given => ({
  loss: () => tf.square(weight),
  variables: [weight],
  optimizer: tf.train.sgd(0.1),
  data: [1],
  epochs: 1,
});
const springy = {stiffness: 1, edges: [[0, 1]]};

/** By name: the call, sound options, and kinds that each of them may not be (default: all of `wrong`). */
const calls: Readonly<Record<string, readonly [(options: unknown) => unknown, Given]>> = {
  adaptive: [lib.adaptive, {rtol: 1e-3, atol: 1e-6, first: 0.1, min: 0, max: 1, safety: 0.9}],
  newton: [
    lib.newton,
    {
      tolerance: {absolute: 1e-9},
      maxIterations: 5,
      iterations: 2,
      jacobian: 'fresh',
      step: stiffgrad.full(),
      forcing: stiffgrad.eisenstatWalker(),
      linear: stiffgrad.lu(),
      onFailure: 'halve',
    },
  ],
  'newton: tolerance': [tolerance => lib.newton({tolerance}), {absolute: 1e-9, relative: 1e-9}],
  backtracking: [lib.backtracking, {decrease: 1e-4, longest: 100}],
  eisenstatWalker: [lib.eisenstatWalker, {first: 0.5, gamma: 0.9, alpha: 2, most: 0.9}],
  gmres: [lib.gmres, {tolerance: 1e-9, maxIterations: 5, restart: 3}],
  cg: [lib.cg, {tolerance: 1e-9, maxIterations: 5}],
  minres: [lib.minres, {tolerance: 1e-9, maxIterations: 5}],
  sparseLu: [lib.sparseLu, {ordering: 'natural'}],
  sparseLdlt: [lib.sparseLdlt, {ordering: 'natural', arithmetic: 'plain'}],
  supernodalLu: [lib.supernodalLu, {arithmetic: 'plain'}],
  implicitAdjoint: [lib.implicitAdjoint, {memory: 1e6}],
  backsolveAdjoint: [lib.backsolveAdjoint, {drift: 0.1}],
  theta: [options => lib.theta(0.5, options), {form: 'condensed', guess: 'rest'}],
  trapezoid: [lib.trapezoid, {form: 'condensed', guess: 'rest'}],
  implicitMidpoint: [lib.implicitMidpoint, {form: 'condensed', guess: 'rest'}],
  implicitEuler: [lib.implicitEuler, {form: 'condensed', guess: 'rest', unknown: 'velocity'}],
  blendedEuler: [lib.blendedEuler, {alpha: 0.5, beta: 0.5, unknown: 'velocity'}],
  newmark: [lib.newmark, {beta: 0.25, gamma: 0.5}],
  generalizedAlpha: [lib.generalizedAlpha, {rhoInf: 0.5}],
  hht: [lib.hht, {alpha: -0.1}],
  gaussLegendre: [lib.gaussLegendre, {stages: 2}],
  mechanics: [lib.mechanics, {mass: 1, forces: [zero], constraints: []}],
  compliant: [options => lib.compliant(zero, options), {compliance: 1}],
  unilateral: [options => lib.unilateral(zero, options), {compliance: 1, smoothing: 0}],
  event: [lib.event, {when: zero, direction: 'both', tolerance: 1e-6, then: 'stop', name: 'a'}],
  elements: [lib.elements, {nodes: [[0, 1]], energy: zero, data: {}, hessian: 'exact'}],
  simulate: [
    options => lib.simulate(system, start, options),
    {
      ...run,
      scheme: stiffgrad.trapezoid(),
      control: stiffgrad.constant(),
      events: [],
      saveAt: 'end',
      newton: stiffgrad.newton(),
      adjoint: stiffgrad.implicitAdjoint(),
      observe: zero,
      stabilization: 'none',
      consistent: 'check',
      engine: 'interpreter',
      onProgress: () => undefined,
      throw: true,
    },
  ],
  'simulate: params': [params => lib.simulate(system, start, {...run, params}), {k: 1}],
  'simulate: the start': [initial => lib.simulate(system, initial, run), {q: 1, v: 0, t: 0}],
  'prepared.run': [values => prepared.run(values), {initial: start, params: {k: 1}}],
  'prepared.vjp': [values => prepared.vjp(values), {initial: start, params: {k: 1}}],
  'prepared.jvps': [values => prepared.jvps([], values), {initial: start, params: {k: 1}}],
  'a tangent': [tangent => prepared.jvps([tangent]), {initial: {q: 1}, params: {k: 1}}],
  'a cotangent': [cotangent => stiffgrad.simulate.vjp(system, start, run).pullback(cotangent as never), {q: [0, 1]}],
  equilibrium: [
    options => lib.equilibrium(system, {q: 1}, options),
    {params: {k: 1}, newton: stiffgrad.newton(), engine: 'interpreter'},
  ],
  'equilibrium: the start': [from => lib.equilibrium(system, from, {params: {k: 1}}), {q: 1, t: 0}],
  batch: [options => lib.batch(system, [start], options), {...run, workers: 0}],
  'batch: a member': [member => lib.batch(system, [member], run), {initial: start, params: {k: 1}}],
  spring: [model.spring, {stiffness: 1, rest: 0}],
  springs: [model.springs, springy],
  dampers: [model.dampers, {edges: [[0, 1]], coefficient: 1}],
  damper: [model.damper, {coefficient: 1}],
  coulomb: [model.coulomb, {force: 1, velocityScale: 1}],
  stribeck: [model.stribeck, {coulomb: 1, static: 2, stribeckVelocity: 1, viscous: 1, velocityScale: 1}],
  gravity: [model.gravity, {mass: 1, g: 1, direction: -1}],
  pendulum: [model.pendulum, {length: 1, mass: 1, g: 1, damping: 1}],
  doublePendulum: [model.doublePendulum, {lengths: [1, 1], masses: [1, 1], g: 1, damping: [1, 1]}],
  chain: [model.chain, {stiffness: 1, count: 2, ends: 'free', mass: 1, damping: 1, drag: 1, g: 1}],
  springMesh: [
    model.springMesh,
    {
      stiffness: 1,
      rows: 2,
      columns: 2,
      dimension: 3,
      spacing: 1,
      diagonals: true,
      restLength: 1,
      held: [[0, 0]],
      mass: 1,
      damping: 1,
      drag: 1,
      g: 1,
    },
  ],
  rodChain: [model.rodChain, {links: 2, length: 1, mass: 1, g: 1, dimension: 2}],
  fourBars: [model.fourBars, {windows: 2, length: 1, mass: 1, g: 1, speed: 1}],
  sliderCrank: [model.sliderCrank, {crank: 1, rod: 2, mass: 1, angle: () => tf.scalar(0), g: 1}],
  distanceConstraints: [model.distanceConstraints, {edges: [[0, 1]], length: 1, compliance: 1}],
  cables: [model.cables, {edges: [[0, 1]], length: 1, compliance: 1, smoothing: 0}],
  contacts: [model.contacts, {edges: [[0, 1]], distance: 1, compliance: 1, smoothing: 0}],
  planeContact: [model.planeContact, {normal: [0, 1], offset: 0, radius: 0, compliance: 1, smoothing: 0}],
  'planarBodies.lumpedMass': [model.lumpedMass, {mass: 1, inertia: 1}],
  rayleigh: [model.rayleigh, {mass: 1, elastic: [zero], alpha: 1, beta: 1}],
  harmonicDrive: [model.harmonicDrive, {amplitude: 1, frequency: 1, phase: 1}],
  rampDrive: [model.rampDrive, {from: 0, to: 1, start: 0, end: 1}],
  drivenBy: [options => model.drivenBy(() => tf.scalar(0), options), {gain: 1}],
  mlp: [model.mlp, {sizes: [1, 1], activation: 'tanh', seed: 0}],
  neuralForce: [options => model.neuralForce((x: tf.Tensor) => x, options), {inputs: ['q'], shared: false, scale: 1}],
  neuralPotential: [options => model.neuralPotential((x: tf.Tensor) => x, options), {shared: false}],
  neuralDissipation: [options => model.neuralDissipation((x: tf.Tensor) => x, options), {inputs: ['q']}],
  levenbergMarquardt: [train.levenbergMarquardt, {tolerance: {step: 1e-9}, maxIterations: 5, damping: 1}],
  lbfgs: [train.lbfgs, {memory: 5, maxIterations: 5, tolerance: {cost: 1e-9}}],
  adam: [train.adam, {rate: 0.1, iterations: 5, beta1: 0.9, beta2: 0.9, epsilon: 1e-8}],
  multiple: [train.multiple, {segments: 2}],
  identify: [
    train.identify,
    {
      ...problem,
      observe: undefined,
      inputs: {},
      scheme: stiffgrad.trapezoid(),
      offGrid: 'refuse',
      newton: stiffgrad.newton(),
      engine: 'interpreter',
      method: training.levenbergMarquardt(),
      shooting: training.single(),
      residuals: 'independent',
      onProgress: () => undefined,
    },
  ],
  'a record': [
    data => train.identify({...problem, data}),
    {...record, weights: {q: 1}, missing: 'skip', inputs: {f: signal}, parameters: {}, initial: start, name: 'a'},
  ],
  'identify: initial': [initial => train.identify({...problem, initial}), {q: 1, v: 0, t: 0}],
  'reports.uncertainty': [
    options =>
      training.reports.uncertainty(
        training
          .levenbergMarquardt()
          .minimize({linearize: () => ({residuals: Float64Array.of(1, 2), jacobian: Float64Array.of(1, 1)})}, [1]),
        options as never,
      ),
    {names: ['a'], observations: 2, bandwidth: 1, rankTolerance: 1e-9},
  ],
  signal: [options => train.signal([0, 1], [0, 1], 'linear', options), {missing: 'bridge', maxGap: 1}],
  randomizedSmoothing: [
    options => train.randomizedSmoothing(([x]: Float64Array) => x, options),
    {at: Float64Array.of(1), sigma: 1, samples: 4, seed: 1, order: 'zeroth'},
  ],
  sampleTimes: [
    options => training.samples.times(Float64Array.of(0, 1, 2), 't', options as never),
    {unit: 's', interval: 1, gaps: 'allow'},
  ],
  segments: [options => train.segments({t: [0, 1, 2]}, options), {length: 2, stride: 1}],
  exponentialDecay: [train.exponential, {rate: 0.1, factor: 0.5, every: 2, stairs: true}],
  cosineDecay: [train.cosine, {rate: 0.1, least: 0, warmup: 1}],
  train: [
    options => train.train(options),
    {
      ...trained(),
      batchSize: 1,
      seed: 1,
      shuffle: false,
      clip: {norm: 1},
      validation: {data: [1]},
      earlyStopping: {patience: 1},
      onFailure: 'skip',
      resume: false,
      onProgress: () => undefined,
    },
  ],
  defineScheme: [
    lib.defineScheme,
    {
      name: 'mine',
      order: 1,
      kind: 'ode',
      unknown: ['y'],
      dissipative: true,
      multipliers: ['lambda'],
      derivatives: {y: 0},
      residual: zero,
      update: zero,
      guess: zero,
      carry: {reads: ['first'], from: zero},
      stages: {predict: zero, extrapolate: zero},
      error: {order: 2, estimate: zero, filter: zero, stiffness: zero},
      dense: zero,
      supports: {kinematics: true, mass: 2, noise: {kinds: ['additive']}, contacts: 'hard'},
    },
  ],
  lineChart: [
    train.lineChart,
    {
      title: 'a',
      description: 'b',
      x: {label: 't'},
      y: {label: 'q', unit: 'm', scale: 'log', domain: [1, 2], integer: false},
      series: [{name: 'q', x: [0, 1], y: [1, 2], style: 'points', color: 0}],
      levels: [{y: 1, name: 'l'}],
      legend: true,
      width: 300,
      height: 300,
      id: 'a',
      bare: true,
    },
  ],
  'lineChart: an axis': [
    x => train.lineChart({title: 'a', x, y: {label: 'q'}, series: []}),
    {label: 't', unit: 's', scale: 'linear', domain: [0, 1], integer: true},
  ],
  'lineChart: a series': [
    one => train.lineChart({title: 'a', x: {label: 't'}, y: {label: 'q'}, series: [one]}),
    {name: 'q', x: [0, 1], y: [1, 2], style: 'line'},
  ],
  'reports.page': [
    train.page,
    {
      title: 'a',
      description: 'b',
      parameters: [{name: 'k', estimate: 1}],
      referenceName: 'truth',
      fits: [{name: 'q', t: [0], measured: [1], simulated: [1]}],
      history: [{iteration: 0, cost: 1}],
      correlation: {labels: ['k'], values: [1]},
      statistics: [{name: 'n', value: 1}],
      charts: [],
      warnings: ['w'],
      notes: ['n'],
    },
  ],
  // Its numbers may be NaN or infinite, and are shown so.
  'reports.page: a parameter': [
    one =>
      train.page({
        title: 'a',
        parameters: [Object.getPrototypeOf(one ?? []) === Object.prototype ? {estimate: 1, ...(one as object)} : one],
        fits: [],
      }),
    {name: 'k', unit: 'N', description: 'd', interval: [0, 1]},
  ],
  'reports.page: a fit': [
    one => train.page({title: 'a', parameters: [], fits: [one]}),
    {name: 'q', unit: 'm', t: [0, 1], measured: [1, 2], simulated: [1, 2], timeUnit: 's'},
  ],
  readTable: [
    options => train.readTable('nowhere.csv', options),
    {delimiter: ',', comment: '#', text: [], columns: [], missing: 'nan', header: true},
  ],
};

/** What JSON and slips bring. `BigInt` and symbols do not come out of JSON. */
const wrong: readonly unknown[] = ['1e-3', NaN, null, [], {}, 'no', -Infinity];

/** A list that may be empty, an object that may be: what is wrong elsewhere and right there. */
const isRight = (sound: unknown, value: unknown): boolean =>
  (Array.isArray(sound) && Array.isArray(value))
  || (typeof sound === 'object' && sound !== null && !Array.isArray(sound) && JSON.stringify(value) === '{}')
  || (typeof sound === 'string' && typeof value === 'string');

async function outcome(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('errors: options of every function, fuzzed', () => {
  for (const [name, [call, sound]] of Object.entries(calls)) {
    it(name, async () => {
      const complaints: string[] = [];
      const expectRefusal = async (what: string, options: unknown): Promise<void> => {
        const error = await outcome(() => call(options));
        if (error === undefined) complaints.push(`${what}: accepted`);
        else if (!(error instanceof StiffgradError)) complaints.push(`${what}: ${(error as Error).stack}`);
      };
      for (const [option, value] of Object.entries(sound)) {
        await expectRefusal(`${option} misspelt`, {...sound, [`${option.slice(0, -1)}x${option.slice(-1)}`]: value});
        for (const bad of wrong)
          if (!isRight(value, bad))
            await expectRefusal(`${option}: ${JSON.stringify(bad)} (${String(bad)})`, {...sound, [option]: bad});
      }
      for (const bad of [null, 5, 'text', []]) await expectRefusal(`${JSON.stringify(bad)} in place of options`, bad);
      expect(complaints).to.deep.equal([]);
    });
  }

  it('the sound ones are', async () => {
    for (const [name, [call, sound]] of Object.entries(calls)) {
      if (name === 'readTable') continue;
      const error = await outcome(() => call(sound));
      expect(error instanceof Error ? `${name}: ${error.message}` : undefined).to.equal(undefined);
    }
  });

  it('names of the language itself are no names of ours', () => {
    for (const engine of ['constructor', 'toString', '__proto__'])
      expect(() => stiffgrad.simulate(system, start, {...run, engine: engine as 'auto'})).to.throw(
        StiffgradError,
        /There is no engine/,
      );
  });

  it('a tree of parameters that contains itself is refused', () => {
    const tree: {[name: string]: unknown} = {w: 1};
    tree.again = {tree};
    expect(() => training.freeTree('net', tree as never)).to.throw(StiffgradError, /net\.again\.tree contains itself/);
  });

  it('a parameter that nothing reads is told with the one that was meant', () => {
    expect(() => stiffgrad.simulate(system, start, {...run, params: {k: 1, kk: 2}})).to.throw(
      StiffgradError,
      /None of the system's functions reads params\.kk, .* They read k\. Did you mean 'k'\?/,
    );
    const stiff = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.neg(tf.mul((params.spring as stiffgrad.Params).stiffness as tf.Tensor, q)),
    });
    expect(() => stiffgrad.simulate(stiff, start, {...run, params: {spring: {stifness: 1}}})).to.throw(
      StiffgradError,
      /read params\.spring\.stiffness, which is missing; nothing reads params\.spring\.stifness/,
    );
    const y = ode(({y: state, params}) => tf.mul(params.a as tf.Tensor, state));
    const observed = stiffgrad.simulate(
      y,
      {y: 1},
      {
        dt: 0.1,
        steps: 1,
        params: {a: 1, gain: 2},
        observe: ({y: state, params}) => tf.mul(params.gain as tf.Tensor, state),
      },
    );
    observed.dispose();
    const {value} = stiffgrad.simulate.hvp(
      y,
      {y: 1},
      {dt: 0.1, steps: 1, params: {a: 1, target: 2}},
      ({y: all, params}) => tf.sum(tf.square(tf.sub(all as tf.Tensor, params.target as tf.Tensor))),
      {params: {a: 1}},
    );
    expect(Number.isFinite(value)).to.equal(true);
  });
});
