/** What depends on the parameters alone is computed once a run: counted, and the same to the bit as when every step computes it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {input, matMul, mul, solve, sum, unary} from '../../lib/graph/build.js';
import {topological} from '../../lib/graph/node.js';
import {batch, implicitMidpoint, linalg, mechanics, simulate, trapezoid} from '../../lib/index.js';
import {parameterProgram, withParameterProgram} from '../../lib/step/precomputation.js';
import {graphOf} from '../../lib/step/buffers.js';
import {counted} from '../engine/counted.js';

const n = 5;
/** A consistent mass matrix and a compliance that is inverted, both of parameters. */
const system = mechanics({
  mass: ({params}) => tf.add(tf.matMul(params.l as tf.Tensor2D, params.l as tf.Tensor2D, false, true), tf.eye(n)),
  forces: ({q, params}) =>
    tf.neg(
      tf.reshape(
        tf.matMul(
          linalg.inv(tf.add(tf.mul(tf.eye(n), 2), tf.softplus(params.c as tf.Tensor))),
          tf.reshape(tf.add(q, tf.pow(q, 3)), [n, 1]),
        ),
        [n],
      ),
    ),
});
const matrix = (phase: number): number[][] =>
  Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => Math.sin(phase + i + 2 * j) / 2));
const initial = {q: [0.3, -0.1, 0.2, 0, 0.1], v: new Float64Array(n)};
const params = {l: matrix(0), c: matrix(1)};

/** How many matrices the interpreter inverts while `run` runs. */
const inversions = (run: () => void): number => counted('solve', ({operands}) => operands[0].shape[1] === n, run);

describe('simulate: what depends on parameters alone', () => {
  it('becomes a program of its own where that is work, and stays where it is not', () => {
    const [a, b, z] = [input('p.0', [1, 4, 4]), input('p.1', [1, 4, 2]), input('z', [1, 2, 3])];
    const dear = graphOf({R: matMul(unary('exp', solve(a, b)), z)});
    const other = graphOf({J: sum(matMul(unary('exp', solve(a, b)), z), [2])});
    const programs = withParameterProgram({residual: dear, jacobian: other});
    const ops = (name: string): string[] => topological(programs[name].outputs.map(({node}) => node)).map(({op}) => op);
    expect(Object.keys(programs)).to.have.members(['residual', 'jacobian', parameterProgram]);
    expect(ops('residual')).to.not.include('solve');
    expect(ops('jacobian')).to.not.include('solve');
    // Both read the one solution.
    expect(ops(parameterProgram).filter(op => op === 'solve')).to.have.length(1);
    // A product with a number is a number read and a number written: it stays.
    const cheap = {residual: graphOf({R: mul(mul(input('p.0', [9]), input('p.1', [9])), input('z', [9]))})};
    expect(withParameterProgram(cheap)).to.equal(cheap);
    // What is given only in name: a direction, a cotangent.
    const tangents = {push: graphOf({dx: solve(input('dp.0', [1, 4, 4]), input('pCotangent.0', [1, 4, 2]))})};
    expect(withParameterProgram(tangents)).to.equal(tangents);
  });

  it('is computed once, whatever the steps', () => {
    const count = (steps: number, scheme = implicitMidpoint()): number =>
      inversions(() =>
        simulate(system, initial, {scheme, dt: 0.02, steps, engine: 'interpreter', params, throw: false}).dispose(),
      );
    // The kernels are counted where they are compiled: a structure of its own for each scheme.
    const few = count(3);
    expect(few).to.be.within(1, 4);
    expect(count(40, trapezoid())).to.be.within(1, 4);
  });

  for (const engine of ['wasm', 'interpreter'] as const) {
    it(`gives the motion of matrices computed outside, and new parameters count: ${engine}`, () => {
      // In double precision by another way: Gauss–Jordan on [2 I + softplus c | I].
      const inverse = (c: number[][]): number[][] => {
        const rows = c.map((row, i) => [
          ...row.map((value, j) => Math.log1p(Math.exp(value)) + (i === j ? 2 : 0)),
          ...row.map((_, j) => Number(i === j)),
        ]);
        for (let k = 0; k < n; k++) {
          const pivot = rows[k][k];
          rows[k] = rows[k].map(value => value / pivot);
          for (let i = 0; i < n; i++) if (i !== k) rows[i] = rows[i].map((value, j) => value - rows[i][k] * rows[k][j]);
        }
        return rows.map(row => row.slice(n));
      };
      const given = mechanics({
        mass: ({params: {m}}) => m as tf.Tensor,
        forces: ({q, params: {k}}) =>
          tf.neg(tf.reshape(tf.matMul(k as tf.Tensor2D, tf.reshape(tf.add(q, tf.pow(q, 3)), [n, 1])), [n])),
      });
      const options = {scheme: implicitMidpoint(), dt: 0.02, steps: 20, saveAt: 'end', engine} as const;
      const prepared = simulate.prepare(system, initial, {...options, params});
      for (const phase of [0, 2, 0]) {
        const l = matrix(phase);
        const m = l.map((row, i) =>
          l.map((other, j) => row.reduce((total, value, k) => total + value * other[k], Number(i === j))),
        );
        const expected = simulate(given, initial, {...options, params: {m, k: inverse(matrix(phase + 1))}});
        const found = prepared.run({params: {l, c: matrix(phase + 1)}});
        found.values('q').forEach((value, i) => expect(value).to.be.closeTo(expected.values('q')[i], 1e-13));
        expected.dispose();
        found.dispose();
      }
    });
  }

  it('gradients and tangents pass through it, and each run of a batch has its own', () => {
    const options = {scheme: implicitMidpoint(), dt: 0.02, steps: 10, saveAt: 'end', params} as const;
    const {trajectory, pullback} = simulate.vjp(system, initial, options);
    const weights = trajectory.values('q').map((_, i) => (i < n ? 0 : Math.cos(i)));
    const cotangents = pullback({q: weights}).params;
    trajectory.dispose();
    const direction = {l: matrix(3), c: matrix(4)};
    const value = (h: number): number => {
      const moved = (at: number[][], along: number[][]): number[][] =>
        at.map((row, i) => row.map((entry, j) => entry + h * along[i][j]));
      const path = simulate(system, initial, {
        ...options,
        params: {l: moved(params.l, direction.l), c: moved(params.c, direction.c)},
      });
      const total = path.values('q').reduce((partial, entry, i) => partial + weights[i] * entry, 0);
      path.dispose();
      return total;
    };
    // Fourth-order differences: h⁴ and ε/h are 1e-12.
    const slope = (8 * (value(1e-3) - value(-1e-3)) - (value(2e-3) - value(-2e-3))) / 12e-3;
    const along = (['l', 'c'] as const).reduce(
      (total, name) =>
        total
        + (cotangents[name] as Float64Array).reduce(
          (partial, cotangent, i) => partial + cotangent * direction[name].flat()[i],
          0,
        ),
      0,
    );
    expect(along).to.be.closeTo(slope, 1e-11);
    const pushed = simulate.jvp(system, initial, options, {params: direction});
    expect(pushed.tangent.q.reduce((total, entry, i) => total + weights[i] * entry, 0)).to.be.closeTo(slope, 1e-11);
    pushed.trajectory.dispose();
    const each = [0, 1, 2].map(phase => ({l: matrix(phase), c: matrix(phase + 1)}));
    const runs = batch(
      system,
      each.map(own => ({initial, params: own})),
      options,
    );
    runs.forEach((run, i) => {
      const alone = simulate(system, initial, {...options, params: each[i]});
      expect(run.values('q')).to.deep.equal(alone.values('q'));
      alone.dispose();
      run.dispose();
    });
  });
});
