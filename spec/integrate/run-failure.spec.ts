/** Runs that fail, at the start too: what `throw: false` gives, and errors that name what the user knows. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions, System} from '../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  bdf2,
  bilateral,
  event,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  moreau,
  newmark,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  theta,
  trapezoid,
  tsit5,
} from '../../lib/index.js';
import type {Formulation, FormulationOf, SystemTraits} from '../../lib/scheme/scheme.js';
import {constrainedOf} from '../../lib/step/formulation.js';
import {startOfRun} from '../../lib/scheme/start.js';
import {slow} from '../tiers.js';

describe('a start that fails', () => {
  // √(q − 2) is not a number at q = 1.25.
  const system = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sqrt(tf.sub(q, 2)))});
  for (const scheme of [generalizedAlpha(), hht()])
    it(`is told without names of the program: ${scheme.name}`, () => {
      expect(() => simulate(system, {q: 1.25, v: 0}, {scheme, dt: 0.05, steps: 3})).to.throw(
        /in the initial jerk \(NaN\)/,
      );
    });
});

describe('with throw: false a start that fails gives a run without states', () => {
  const root = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sqrt(q))});
  const held = mechanics({
    mass: [1, 2],
    forces: ({q}) => tf.sqrt(q),
    constraints: [bilateral(({q}) => tf.sum(q))],
  });
  const filled = ode<{k: tf.Tensor}>({derivative: ({y, params}) => tf.sqrt(tf.mul(params.k, y))});
  const options = {dt: 0.1, steps: 4, throw: false} as const;
  const cases: readonly [string, System, object, object, string][] = [
    ['a jerk', root, {q: -3, v: 0}, {scheme: generalizedAlpha()}, 'not-finite'],
    ['a first step on trial', root, {q: -3, v: 0}, {scheme: bdf2()}, 'not-finite'],
    ['a carried acceleration', root, {q: -3, v: 0}, {scheme: newmark()}, 'not-finite'],
    ['accelerations and multipliers', held, {q: [2, -2], v: [0, 0]}, {}, 'not-finite'],
    ['a gap', held, {q: [2, 1], v: [0, 0]}, {}, 'inconsistent'],
    ['a carried slope', filled, {y: -1}, {scheme: tsit5(), params: {k: 2}}, 'not-finite'],
    [
      'an algebraic equation',
      ode({derivative: ({y}) => tf.sub(y, 5), mass: [0]}),
      {y: [1]},
      {scheme: radauIIA5()},
      'inconsistent',
    ],
    [
      'a mass',
      mechanics({mass: ({params}: {params: {m: tf.Tensor}}) => params.m, forces: ({q}: {q: tf.Tensor}) => q} as never),
      {q: 1, v: 0},
      {params: {m: -2}},
      'singular',
    ],
  ];
  for (const [what, system, initial, own, status] of cases)
    it(what, () => {
      const before = tf.memory().numTensors;
      for (const saveAt of ['all', 'end', [0, 0.23]] as const) {
        const run = simulate(system, initial as never, {...options, ...own, saveAt} as SimulateOptions<never>);
        expect([run.status, run.t.size, run.stats.steps]).to.deep.equal([status, 0, 0]);
        expect(run.error?.message).to.be.a('string');
        expect(() => run.state()).to.throw(/could not begin/);
        run.dispose();
      }
      expect(tf.memory().numTensors).to.equal(before);
      expect(() => simulate(system, initial as never, {...options, ...own, throw: true} as never)).to.throw();
    });

  it('derivatives are zero, by every adjoint and on the tape', () => {
    for (const adjoint of [undefined, forwardSensitivity(), backsolveAdjoint()]) {
      const asked = {...options, adjoint, scheme: rk4(), control: adaptive({rtol: 1e-6}), params: {k: 2}};
      const {trajectory, pullback} = simulate.vjp(filled, {y: [-1, 4]}, {...asked, scheme: tsit5()});
      expect(trajectory.status).to.equal('not-finite');
      const gradient = pullback({y: new Float64Array(0)}) as {params: {k: Float64Array}; initial: {y: Float64Array}};
      expect([[...gradient.initial.y], [...gradient.params.k]]).to.deep.equal([[0, 0], [0]]);
      trajectory.dispose();
    }
    const {tangent} = simulate.jvp(filled, {y: -1}, {...options, scheme: tsit5(), params: {k: 2}}, {params: {k: 1}});
    expect((tangent as {y: Float64Array}).y.length).to.equal(0);
    const slope = tf.grad(k => tf.sum(simulate(filled, {y: -1}, {...options, scheme: tsit5(), params: {k}}).y));
    expect(slope(tf.scalar(2)).dataSync()[0]).to.equal(0);
  });

  it('simulate.steps ends with the status', () => {
    const states = simulate.steps(filled, {y: -1}, {...options, scheme: tsit5(), params: {k: 2}});
    expect(states.next()).to.deep.equal({done: true, value: 'not-finite'});
  });

  it('members of a batch keep their runs', () => {
    const starts = [{y: 1}, {y: -1}, {y: 4}];
    const asked = {...options, scheme: tsit5(), params: {k: 2}};
    const alone = [1, 4].map(y => [...simulate(filled, {y}, asked).values('y')]);
    const runs = batch(filled, starts, asked);
    expect(runs.map(({status}) => status)).to.deep.equal(['completed', 'not-finite', 'completed']);
    expect([runs[0], runs[2]].map(run => [...run.values('y')])).to.deep.equal(alone);
    for (const [order, lanes] of [
      [[0, 1, 2], 3],
      [[1, 0, 2], 2],
      [[2, 0, 1], 1],
    ] as const) {
      const prepared = batch.prepare(filled, {y: 1}, {...asked, lanes});
      const members = order.map(i => ({initial: starts[i]}));
      const {trajectories, pullback} = prepared.vjp(members);
      const gradients = pullback(trajectories.map(({t}) => ({y: new Float64Array(t.size).fill(1)})));
      let sum = 0;
      order.forEach((i, place) => {
        if (i === 1) {
          expect([trajectories[place].status, trajectories[place].t.size]).to.deep.equal(['not-finite', 0]);
          return;
        }
        expect([...trajectories[place].values('y')]).to.deep.equal(alone[i / 2]);
        const {trajectory, pullback: pull} = simulate.vjp(filled, starts[i], asked);
        sum += (pull({y: new Float64Array(trajectory.t.size).fill(1)}) as {params: {k: Float64Array}}).params.k[0];
      });
      expect((gradients.params as {k: Float64Array}).k[0]).to.be.closeTo(sum, 1e-12 * sum);
    }
    expect(batch.prepare(filled, {y: 1}, asked).run([{initial: {y: -1}}, {initial: {y: -2}}]).map(({status}) => status)).to.deep.equal(['not-finite', 'not-finite']); // prettier-ignore
  });

  it('a state after a jump that is none keeps what was reached before', () => {
    const falling = mechanics({mass: 1, forces: ({q}) => tf.fill(q.shape, -2)});
    // q = 1 − t² is 0.75 at ½.
    const torn = event({when: ({q}) => tf.sub(q, 0.75), then: ({v}) => ({v: tf.log(v)})});
    const run = simulate(falling, {q: 1, v: 0}, {...options, scheme: newmark(), dt: 0.25, events: [torn]});
    expect([run.status, run.events.length]).to.deep.equal(['not-finite', 0]);
    expect(run.values('q')[1]).to.be.closeTo(1 - 0.25 ** 2, 1e-12);
    expect(run.error?.message).to.match(/v/);
  });
});

describe('names in errors', () => {
  const schemes: readonly Scheme[] = [
    bdf2(),
    gaussLegendre({stages: 2}),
    generalizedAlpha(),
    hht(),
    implicitEuler(),
    implicitMidpoint(),
    kvaerno3(),
    kvaerno5(),
    moreau(),
    moreau({impact: 'poisson'}),
    newmark(),
    newmark({beta: 0.3025, gamma: 0.6}),
    radauIIA5(),
    sdirk2(),
    theta(0.7),
    trapezoid(),
  ];
  // A block of the user's, and in which part of the scheme it is; the unknown of the theta methods is an option of
  // theirs.
  const spoken = /^(?:q|v|y|a|q'|lambda|velocity|the [a-z' ,]+)(?: (?:in|of|over) [a-z1-9 ]+)?$/;

  it('blocks of every unknown are those of the user', () => {
    const either = [false, true];
    const stabilizations = ['none', 'projection', 'projection-before', 'ggl'] as const;
    const traits: readonly SystemTraits[] = either.flatMap(general =>
      either.flatMap(joints =>
        stabilizations.map(stabilization => ({
          general,
          mass: general,
          joints,
          holonomic: joints,
          readsMultipliers: false,
          stabilization,
        })),
      ),
    );
    const all = (one: FormulationOf | undefined): Formulation[] =>
      traits.flatMap(system => (typeof one === 'function' ? one(system) : one) ?? []);
    for (const scheme of schemes) {
      const {name, mechanics: free, ode: first} = scheme;
      for (const [form, isFirst] of [
        [free, false],
        [first, true],
        [constrainedOf(scheme), false],
      ] as const)
        // prettier-ignore
        for (const one of all(form))
          for (const held of isFirst ? [false] : either)
            for (const {unknown, multipliers = []} of [
              one,
              startOfRun(one, {held, withMass: isFirst, project: true, dissipative: scheme.dissipative}),
            ])
              for (const block of [...unknown, ...multipliers]) expect(block, name).to.match(spoken);
    }
  });

  const internal =
    /\b(?:gain|jerkOnce|\w+(?:Ahead|Once|Rate)|to[A-Z]\w+|mu|eta|zeta|pi|[aw]\d|lambda\d|slope|trend|meanRate)\b/;
  for (const scheme of [...schemes, rk4(), tsit5()])
    (scheme.name === 'kvaerno5' ? slow : it)(
      `of the start and of later steps of ${scheme.name} as the user declared them`,
      () => {
        // Not a number from the start on, and once q or y has come down from 1 to ½.
        const [low, high] = [2, 0.5].map(least => (x: tf.Tensor) => tf.sub(tf.sqrt(tf.sub(x, least)), 4));
        const told: string[] = [];
        for (const fall of [low, high]) {
          const systems: readonly [System, object, boolean][] = [
            [mechanics({mass: 1, forces: ({q}) => fall(q)}), {q: 1, v: 0}, scheme.mechanics !== undefined],
            [ode(({y}) => fall(y)), {y: 1}, scheme.ode !== undefined],
            [
              mechanics({
                mass: [1, 1],
                forces: ({q}) => tf.mul(fall(tf.slice(q, [0], [1])), [1, 0]),
                constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.slice(q, [1], [1])), 3))],
              }),
              {q: [1, 3], v: [0, 0]},
              constrainedOf(scheme) !== undefined,
            ],
          ];
          for (const [system, initial, takes] of systems) {
            if (!takes) continue;
            for (const control of scheme.name.startsWith('moreau')
              ? [undefined]
              : [undefined, adaptive({rtol: 1e-4})]) {
              const asked = {scheme, dt: 0.05, t1: 2, control, throw: false} as never;
              const run = simulate(system, initial as never, asked) as {status: string; error?: Error};
              expect(run.status, scheme.name).to.not.equal('completed');
              told.push(run.error?.message ?? '');
            }
          }
        }
        expect(told.length).to.be.greaterThan(1);
        for (const message of told) expect(message).to.not.match(internal);
      },
    );
});
