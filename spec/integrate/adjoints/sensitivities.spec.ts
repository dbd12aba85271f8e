/**
 * Sensitivities known in closed form (30 digits): a damped oscillator, a pendulum, an integral along
 * the way, and SUNDIALS' cvsHessian example. The error falls with the order of the scheme, and
 * Richardson's extrapolation of it meets the exact number, through vjp and through jvp.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, Numeric, OdeSystem, Scheme, Tangent} from '../../../lib/index.js';
import {
  blendedEuler,
  explicitEuler,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  ode,
  rk4,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  verlet,
} from '../../../lib/index.js';
import {readNumeric} from '../../../lib/system/numeric.js';
import type {EngineCase} from '../../simulate/engines.js';
import {doubleEngines} from '../../simulate/engines.js';
import {largest, order, richardson, slope} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

/** A scalar problem whose first coordinate's sensitivities are known at some times. */
interface Problem {
  readonly title: string;
  readonly system: MechanicalSystem | OdeSystem;
  readonly initial: Initial;
  readonly params: {readonly [name: string]: number};
  /** Names of what the state is differentiated by: parameters, or parts of the initial state. */
  readonly wrt: readonly string[];
  readonly exact: readonly {readonly t: number; readonly value: number; readonly gradient: readonly number[]}[];
}

const oscillator: Problem = {
  title: 'oscillator, m = 1, c = 0.4, k = 4, x₀ = 1, v₀ = 0.5',
  system: mechanics({
    mass: ({params}) => params.m as tf.Tensor,
    forces: [
      ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q)),
      ({v, params}) => tf.neg(tf.mul(params.c as tf.Tensor, v)),
    ],
  }),
  initial: {q: 1, v: 0.5},
  params: {m: 1, c: 0.4, k: 4},
  wrt: ['m', 'c', 'k', 'q', 'v'],
  exact: [
    {
      t: 1,
      value: -0.070166387908049221432,
      gradient: [
        0.893045506407737965, 0.273101372250927248, -0.250571513827027216, -0.258070263439546415, 0.375807751062994388,
      ],
    },
    {
      t: 3,
      value: 0.4626117969081762955,
      gradient: [
        -0.777277995626115064, -0.791097303573127201, 0.273429229263841486, 0.505105559266270756,
        -0.0849875247161889217,
      ],
    },
    {
      t: 10,
      value: 0.10861537850807271602,
      gradient: [
        1.1490195765608424, -0.465435264105317574, -0.240711367729678843, 0.0791160236189624788, 0.0589987097782204745,
      ],
    },
  ],
};

const pendulum: Problem = {
  title: 'pendulum, A = 1, g = 9.81, l = 1',
  system: mechanics({
    mass: 1,
    forces: ({q, params}) => tf.neg(tf.mul(tf.div(params.g as tf.Tensor, params.l as tf.Tensor), tf.sin(q))),
  }),
  initial: {q: 1, v: 0},
  params: {g: 9.81, l: 1},
  wrt: ['q', 'g', 'l'],
  exact: [
    {
      t: 1,
      value: -0.9800669929334048800506,
      gradient: [-0.906332147771591946, -0.0291439205259765975, 0.285901860359830421],
    },
    {
      t: 2,
      value: 0.9207938271559714573229,
      gradient: [0.629221250301899962, 0.11501547986765298, -1.12830185750167574],
    },
    {
      t: 5,
      value: -0.530347454455203595032,
      gradient: [1.11292787420397017, -0.640870432903946426, 6.28693894678771443],
    },
  ],
};

type Sensitivities = (
  problem: Problem,
  times: readonly number[],
  scheme: Scheme,
  dt: number,
  engine: EngineCase['name'],
) => number[];

const options = (
  problem: Problem,
  times: readonly number[],
  scheme: Scheme,
  dt: number,
  engine: EngineCase['name'],
) => ({
  scheme,
  dt,
  t1: times[times.length - 1],
  saveAt: times,
  params: problem.params,
  engine,
});

const state = (problem: Problem): 'q' | 'y' => (problem.system.kind === 'ode' ? 'y' : 'q');

/** 'y.2' is entry 2 of y. */
const place = (what: string): {block: string; at: number} => {
  const [block, at] = what.split('.');
  return {block, at: Number(at ?? 0)};
};

/** The value of the first coordinate at every time, then its gradient, row after row. */
const byPullback: Sensitivities = (problem, times, ...how) => {
  const {trajectory, pullback} = simulate.vjp(problem.system, problem.initial, options(problem, times, ...how));
  const name = state(problem);
  const series = trajectory.values(name);
  const width = series.length / times.length;
  const rows = times.map((_, i) => {
    const seed = new Float64Array(series.length);
    seed[i * width] = 1;
    const {initial, params} = pullback({[name]: seed});
    return problem.wrt.map(what => {
      const {block, at} = place(what);
      return ((initial as {[name: string]: Float64Array})[block] ?? (params[block] as Float64Array))[at];
    });
  });
  trajectory.dispose();
  return [...times.map((_, i) => series[i * width]), ...rows.flat()];
};

const byTangents: Sensitivities = (problem, times, ...how) => {
  const name = state(problem);
  const directions = problem.wrt.map((what): Tangent => {
    if (what in problem.params) return {params: {[what]: 1}};
    const {block, at} = place(what);
    const size = readNumeric((problem.initial as unknown as {[name: string]: Numeric})[block], block).values.length;
    return {initial: {[block]: Float64Array.from({length: size}, (_, i) => (i === at ? 1 : 0))}};
  });
  const {trajectory, tangents} = simulate.jvps(
    problem.system,
    problem.initial,
    options(problem, times, ...how),
    directions,
  );
  const series = trajectory.values(name);
  const width = series.length / times.length;
  trajectory.dispose();
  return [
    ...times.map((_, i) => series[i * width]),
    ...times.flatMap((_, i) => tangents.map(tangent => tangent[name][i * width])),
  ];
};

const ways: readonly (readonly [string, Sensitivities])[] = [
  ['vjp', byPullback],
  ['jvp', byTangents],
];

/** Powers of h in the error: even ones alone for symmetric schemes. */
const every = (first: number): number[] => Array.from({length: 12}, (_, i) => first + i);
const even = Array.from({length: 12}, (_, i) => 2 + 2 * i);

interface Case {
  readonly scheme: Scheme;
  readonly powers: readonly number[];
  /** Coarsest step, and how often it is halved. */
  readonly dt: number;
  readonly levels: number;
  /** First-order schemes stop early: their extrapolation needs many steps. */
  readonly until: number;
}

const second = {powers: even, dt: 1 / 20, levels: 5, until: 10};
const first = {powers: every(1), dt: 1 / 40, levels: 7, until: 2};
const cases: readonly Case[] = [
  {scheme: trapezoid(), ...second},
  {scheme: implicitMidpoint(), ...second},
  {scheme: implicitMidpoint({form: 'coupled', guess: 'extrapolated'}), ...second},
  {scheme: newmark(), ...second},
  {scheme: newmark({beta: 1 / 6}), ...second},
  // The velocity predictor for damping is not symmetric: odd powers too.
  {scheme: verlet(), powers: every(2), dt: 1 / 40, levels: 6, until: 10},
  {scheme: rk4(), powers: every(4), dt: 1 / 40, levels: 5, until: 10},
  {scheme: explicitEuler(), ...first},
  {scheme: symplecticEuler(), ...first},
  {scheme: implicitEuler(), ...first},
  {scheme: implicitEuler({unknown: 'acceleration'}), ...first},
  {scheme: theta(0.7), ...first},
  {scheme: blendedEuler({alpha: 0.8, beta: 0.4}), ...first},
];

/** y = (J, x, v), J = ∫x²: the oscillator in first order, with an integral along the way. */
const integral: Problem = {
  title: 'oscillator of first order with J = ∫x² dt as a state',
  system: ode(({y, params}) => {
    const [, x, v] = tf.split(y, 3);
    const force = tf.add(tf.mul(params.k as tf.Tensor, x), tf.mul(params.c as tf.Tensor, v));
    return tf.concat([tf.square(x), v, tf.div(tf.neg(force), params.m as tf.Tensor)]);
  }),
  initial: {y: [0, 1, 0.5]},
  params: {m: 1, c: 0.4, k: 4},
  wrt: ['m', 'c', 'k', 'y.1', 'y.2'],
  exact: [
    {
      t: 10,
      value: 1.47989216137159314,
      gradient: [1.4003228013377, -2.9035310411779, -0.059727596216641, 2.682470293426, 0.55462805863441],
    },
  ],
};

/** SUNDIALS' cvsHessian_ASA_FSA: y₁' = −p₁y₁² − y₃, y₂' = −y₂, y₃' = −p₂²y₂y₃, G = ∫½|y|² over [0, 2], as a state before them. */
const hessian: Problem = {
  title: "SUNDIALS' cvsHessian",
  system: ode(({y, params}) => {
    const [, y1, y2, y3] = tf.split(y, 4);
    const p1 = params.p1 as tf.Tensor;
    const p2 = params.p2 as tf.Tensor;
    return tf.concat([
      tf.mul(0.5, tf.addN([tf.square(y1), tf.square(y2), tf.square(y3)])),
      tf.sub(tf.neg(tf.mul(p1, tf.square(y1))), y3),
      tf.neg(y2),
      tf.neg(tf.mul(tf.square(p2), tf.mul(y2, y3))),
    ]);
  }),
  initial: {y: [0, 1, 1, 1]},
  params: {p1: 1, p2: 2},
  wrt: ['p1', 'p2'],
  exact: [{t: 2, value: 0.5308785906295, gradient: [-0.1283786546563, 0.0180367608548]}],
};

describe('sensitivities in closed form', () => {
  for (const {name: engine} of doubleEngines) {
    for (const problem of [oscillator, pendulum, integral, hessian]) {
      describe(`${problem.title} (${engine})`, () => {
        for (const {scheme, powers, dt, levels, until} of cases) {
          const wanted = problem.exact.filter(({t}) => t <= until);
          if (wanted.length === 0 || scheme[problem.system.kind] === undefined) continue;
          for (const [way, sensitivities] of ways) {
            it(`${scheme.name}, ${way}`, () => {
              const times = wanted.map(({t}) => t);
              const exact = [...wanted.map(({value}) => value), ...wanted.flatMap(({gradient}) => gradient)];
              const found = Array.from({length: levels}, (_, level) =>
                sensitivities(problem, times, scheme, dt / 2 ** level, engine),
              );
              const errors = found.map(values => largest(values.map((x, i) => x - exact[i])));
              expect(order(errors[levels - 2], errors[levels - 1])).to.be.closeTo(scheme.order, 0.05);
              exact.forEach((value, i) => {
                expect(
                  richardson(
                    found.map(values => values[i]),
                    powers,
                  ),
                  `number ${i}`,
                ).to.be.closeTo(value, 1e-9);
              });
            });
          }
        }
      });
    }

    slow(`the Hessian of cvsHessian's G, as differences of gradients (${engine})`, () => {
      // To 1e-8: the printed Hessian has ten digits, the difference of step 1e-3 an error of 1e-12.
      const exact = [
        [0.15628043082, -0.0786778066],
        [-0.0786778066, 0.08981434363],
      ];
      const gradient = (p1: number, p2: number): number[] =>
        byPullback({...hessian, params: {p1, p2}}, [2], rk4(), 1 / 200, engine).slice(1);
      exact.forEach((row, i) => {
        row.forEach((value, j) => {
          expect(slope(s => gradient(i === 0 ? 1 + s : 1, i === 1 ? 2 + s : 2)[j], 1e-3)).to.be.closeTo(value, 1e-8);
        });
      });
    });
  }
});
