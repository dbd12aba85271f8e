/**
 * Derivatives through what depends on the parameters alone: taken once a run by every kind of gradient, which is
 * counted, and right, which differences of the runs themselves tell.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem, NumericParams, Pullback} from '../../lib/index.js';
import type {RunSettings, Span} from '../../lib/simulate/options.js';
import {
  adaptive,
  backsolveAdjoint,
  event,
  forwardSensitivity,
  implicitAdjoint,
  implicitMidpoint,
  kvaerno3,
  linalg,
  mechanics,
  newmark,
  newton,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  unrolledAdjoint,
} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {doubleEngines} from '../simulate/engines.js';
import {dot, slope} from '../simulate/numbers.js';
import {counted} from '../engine/counted.js';
import {slow} from '../tiers.js';

const n = 4;
type Matrices = Readonly<Record<'l' | 'c', number[][]>>;

/** A consistent mass matrix, a compliance that is inverted, and dampers that are there where exp c exceeds a bound: of parameters all. */
const systemOf = (diagonal: number): MechanicalSystem =>
  mechanics({
    mass: ({params}) => tf.add(tf.matMul(params.l as tf.Tensor2D, params.l as tf.Tensor2D, false, true), tf.eye(n)),
    forces: [
      ({q, params}) =>
        tf.neg(
          tf.reshape(
            tf.matMul(
              linalg.inv(tf.add(tf.mul(tf.eye(n), diagonal), tf.softplus(params.c as tf.Tensor))),
              tf.reshape(tf.add(q, tf.pow(q, 3)), [n, 1]),
            ),
            [n],
          ),
        ),
      ({v, params}) =>
        tf.where(tf.greater(tf.sum(tf.exp(params.c as tf.Tensor), 1), 4.05), tf.mul(v, -0.3), tf.mul(v, -0.1)),
    ],
  });
const system = systemOf(2);
const matrix = (phase: number): number[][] =>
  Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => Math.sin(phase + i + 2 * j) / 2));
const params: Matrices = {l: matrix(0), c: matrix(1)};
const direction: Matrices = {l: matrix(3), c: matrix(4)};
const initial = {q: [0.3, -0.1, 0.2, 0.1], v: [0, 0.2, 0, -0.1]};
const moved = (s: number): Matrices => {
  const along = (name: 'l' | 'c'): number[][] =>
    params[name].map((row, i) => row.map((value, j) => value + s * direction[name][i][j]));
  return {l: along('l'), c: along('c')};
};
const alongDirection = (cotangents: {readonly [name: string]: unknown}): number =>
  (['l', 'c'] as const).reduce(
    (sum, name) =>
      sum
      + (cotangents[name] as Float64Array).reduce(
        (part, cotangent, i) => part + cotangent * direction[name].flat()[i],
        0,
      ),
    0,
  );

type Options = Omit<RunSettings, 'params'> & Span;

/** Σ w q over all that is saved: its value, and its gradient. */
const weight = (i: number): number => Math.cos(1 + i);
function value(options: Options, own: NumericParams): number {
  const path = simulate(system, initial, {...options, params: own});
  const total = path.values('q').reduce((sum, q, i) => sum + weight(i) * q, 0);
  path.dispose();
  return total;
}
function gradient(options: Options, own: NumericParams = params, of = system): Pullback['params'] {
  const {trajectory, pullback} = simulate.vjp(of, initial, {...options, params: own});
  const cotangents = pullback({q: trajectory.values('q').map((_, i) => weight(i))}).params;
  trajectory.dispose();
  return cotangents;
}
/** Of differences of fourth order: h⁴ and ε/h are 1e-12. */
const apart = 1e-3;

/** The same from its tangent. */
function tangent(options: Options, of = system): number {
  const {
    trajectory,
    tangent: {q},
  } = simulate.jvp(of, initial, {...options, params}, {params: direction});
  trajectory.dispose();
  return dot(
    q,
    q.map((_, i) => weight(i)),
  );
}

/** Lets `run` ask how often the interpreter has inverted a matrix, or gone back through an inverse: solved n equations n times over. */
function solving(run: (solved: () => number) => void): void {
  counted('solve', ({shape}) => shape[1] === n && shape[2] === n, run);
}

const grid = {dt: 0.05, steps: 6};
const crossing = event({
  when: ({q}) => tf.sub(tf.slice(q, [0], [1]).asScalar(), 0.25),
  direction: 'falling',
  then: ({q, v, params: p}) => ({q, v: tf.mul(v, tf.softplus(tf.slice(p.c as tf.Tensor2D, [0, 0], [1, n]).flatten()))}),
});
const cases: readonly (readonly [string, Options])[] = [
  ['implicit', {...grid, scheme: implicitMidpoint()}],
  ['implicit, of a carried acceleration', {...grid, scheme: newmark()}],
  ['of an explicit scheme', {...grid, scheme: rk4()}],
  ['unrolled', {...grid, scheme: trapezoid(), adjoint: unrolledAdjoint(), newton: newton({jacobian: 'fresh'})}],
  [
    'unrolled, from the force of the start',
    {...grid, scheme: trapezoid({guess: 'current'}), adjoint: unrolledAdjoint(), newton: newton({jacobian: 'fresh'})},
  ],
  ['by forward sensitivities', {...grid, scheme: trapezoid(), adjoint: forwardSensitivity()}],
  ['through states between steps', {...grid, scheme: kvaerno3(), saveAt: [0.02, 0.13, 0.3]}],
  ['through an event and its jump', {dt: 0.05, t1: 1.5, scheme: trapezoid(), events: [crossing], saveAt: 'end'}],
];

describe('gradients through what depends on parameters alone', () => {
  for (const {name: engine} of doubleEngines) {
    for (const [name, options] of cases) {
      slow(`${name}: ${engine}`, () => {
        const all = {...options, engine};
        const expected = slope(s => value(all, moved(s)), apart);
        expect(Math.abs(expected)).to.be.above(1e-3);
        expect(alongDirection(gradient(all))).to.be.closeTo(expected, 1e-10);
        expect(tangent(all)).to.be.closeTo(expected, 1e-10);
      });
    }

    slow(`along adaptive steps, forwards as backwards: ${engine}`, () => {
      for (const scheme of [kvaerno3(), tsit5()]) {
        const all = {
          scheme,
          engine,
          dt: 0.05,
          t1: 1,
          control: adaptive({rtol: 1e-6, atol: 1e-8}),
          saveAt: [0.1, 0.7, 1],
        };
        const backwards = alongDirection(gradient(all));
        expect(backwards, scheme.name).to.be.closeTo(tangent(all), 1e-12);
        // The steps differ with the parameters, by the tolerance.
        expect(backwards, scheme.name).to.be.closeTo(
          slope(s => value({...all, control: adaptive({rtol: 1e-12, atol: 1e-13})}, moved(s)), 0.02),
          1e-5,
        );
      }
    });

    slow(`of the second order: ${engine}`, () => {
      for (const options of [
        {...grid, scheme: implicitMidpoint()},
        {...grid, scheme: kvaerno3(), saveAt: [0.02, 0.13, 0.3]},
        {...grid, scheme: rk4()},
      ]) {
        const all = {...options, engine};
        const {trajectory, product} = simulate.hvp(
          system,
          initial,
          {...all, params},
          {cotangent: path => ({q: path.values('q').map((_, i) => weight(i))})},
          {params: direction},
        );
        trajectory.dispose();
        const expected = slope(s => alongDirection(gradient(all, moved(s))), apart);
        expect(Math.abs(expected)).to.be.above(1e-4);
        expect(alongDirection(product.params), options.scheme.name).to.be.closeTo(expected, 1e-9);
      }
    });

    it(`the same to the bit for every budget of memory: ${engine}`, () => {
      for (const options of [
        {...grid, scheme: implicitMidpoint()},
        {...grid, scheme: kvaerno3(), saveAt: [0.02, 0.13, 0.3]},
      ]) {
        const [whole, ...others] = [2 ** 30, 2000, 1000, 1].map(memory =>
          gradient({...options, engine, adjoint: implicitAdjoint({memory})}),
        );
        for (const other of others) expect(other).to.deep.equal(whole);
      }
    });

    it(`by the continuous adjoint, to its order: ${engine}`, () => {
      const errors = [10, 20].map(steps => {
        const all = {scheme: rk4(), dt: 0.5 / steps, steps, engine, saveAt: 'end'} as const;
        return Math.abs(
          alongDirection(gradient({...all, adjoint: backsolveAdjoint()})) - alongDirection(gradient(all)),
        );
      });
      expect(Math.log2(errors[0] / errors[1])).to.be.above(3.5);
    });
  }

  slow('takes them once a run, however many steps', () => {
    // Kernels are counted from where they are compiled on: a structure of its own.
    const fresh = systemOf(2.5);
    const runs: readonly (readonly [string, (steps: number) => void])[] = [
      ...cases
        .filter(([, {steps}]) => steps !== undefined)
        .map(
          ([name, options]) =>
            [
              name,
              (steps: number) =>
                void gradient({...options, t1: undefined, steps, saveAt: 'end', engine: 'interpreter'}, params, fresh),
            ] as const,
        ),
      ['a tangent', steps => void tangent({...grid, steps, scheme: implicitMidpoint(), engine: 'interpreter'}, fresh)],
      [
        'of the second order',
        steps => {
          const options = {
            ...grid,
            steps,
            scheme: implicitMidpoint(),
            engine: 'interpreter',
            saveAt: 'end',
            params,
          } as const;
          simulate
            .hvp(fresh, initial, options, {cotangent: path => ({q: path.values('q')})}, {params: direction})
            .trajectory.dispose();
        },
      ],
    ];
    solving(solved => {
      for (const [name, run] of runs) {
        const count = (steps: number): number => {
          const before = solved();
          run(steps);
          return solved() - before;
        };
        const few = count(3);
        expect(few, name).to.be.above(0);
        expect(count(12), name).to.equal(few);
      }
    });
  });

  it('go through values with a derivative only', () => {
    const {compiled} = prepare(system, initial, {...grid, scheme: implicitMidpoint(), params});
    const {values, parameters, step} = compiled.derived;
    // Whether a damper is there has none.
    expect(values.map(({node}) => node.dtype)).to.include.members(['float', 'bool']);
    expect(parameters.map(({node}) => node.dtype)).to.not.include('bool');
    expect(step.parameters).to.have.length(2 + parameters.length);
  });

  it('leaves a step alone that has nothing to derive', () => {
    const springs = mechanics({mass: 1, forces: ({q, params: {k}}) => tf.neg(tf.mul(tf.mul(k as tf.Tensor, 2), q))});
    const {compiled, traced} = prepare(springs, initial, {...grid, scheme: trapezoid(), params: {k: [1, 2, 3, 4]}});
    expect(compiled.derived.step).to.equal(traced);
    expect(compiled.pullDerived).to.equal(undefined);
  });
});
