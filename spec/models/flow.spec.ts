/** Flows: the logarithm of the determinant against closed forms and the Jacobian of the whole map, Hutchinson's estimate against it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {OptionError, ShapeError, simulate, TraceError, tsit5} from '../../lib/index.js';
import {derivativeAlong} from '../../lib/trace/differentials.js';
import {mlp} from '../../models/index.js';
import {continuousFlow, logStandardNormal} from '../../models/flow.js';
import {rademacher} from '../../lib/system/sde.js';
import {slow} from '../tiers.js';

const size = 3;
const network = mlp({sizes: [size + 1, 8, size], seed: 4});
/** A field that mixes all and depends on time. */
const field = (z: tf.Tensor, t: tf.Tensor): tf.Tensor =>
  network.apply(tf.concat([z, tf.mul(tf.onesLike(tf.slice(z, [0, 0], [-1, 1])), t)], 1));
const start = [
  [0.3, -0.2, 1.1, 0],
  [-1, 0.5, 0.2, 0],
];
const options = {scheme: tsit5(), dt: 0.05, steps: 20, saveAt: 'end'} as const;

/** l at the end, of each row. */
function logarithms(): number[] {
  const run = simulate(continuousFlow({size, field}), {y: start}, options);
  run.dispose();
  const y = run.values('y');
  return [y[8 + 3], y[8 + 7]];
}

describe('models: flow', () => {
  it('a linear field: the trace of its matrix times t', () => {
    const matrix = [
      [0.5, 2],
      [-1, 0.2],
    ];
    const linear = continuousFlow({size: 2, field: z => tf.matMul(z, tf.tensor2d(matrix))});
    const y = simulate(linear, {y: [[1, 2, 0]]}, {...options}).values('y');
    expect(y[5]).to.be.closeTo(0.7, 1e-13);
  });

  slow('a network: the determinant of the derivative of the map, by differences', () => {
    const run = (y: number[][]): Float64Array =>
      simulate(continuousFlow({size, field}), {y}, options).values('y').slice(8);
    const h = 1e-5;
    logarithms().forEach((l, row) => {
      const columns = [0, 1, 2].map(k => {
        const shifted = (sign: number): Float64Array =>
          run(start.map((point, i) => point.map((value, j) => value + (i === row && j === k ? sign * h : 0))));
        const [up, down] = [shifted(1), shifted(-1)];
        return [0, 1, 2].map(i => (up[4 * row + i] - down[4 * row + i]) / (2 * h));
      });
      const [a, b, c] = columns;
      const determinant =
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1]);
      // The map's own determinant and the integral of the trace are two discretizations of order five.
      expect(l).to.be.closeTo(Math.log(determinant), 1e-7);
    });
  });

  it("Hutchinson's estimate has that mean, and its own probes each run", () => {
    const exact = logarithms();
    const estimating = continuousFlow({size, field, probe: params => params.probe as tf.Tensor});
    const drawn = (seed: number): tf.Tensor => tf.tensor2d(Array.from(rademacher(seed, [2, size])), [2, size]);
    const prepared = simulate.prepare(estimating, {y: start}, {...options, params: {probe: drawn(0)}});
    const estimates = Array.from({length: 300}, (_, seed) => {
      const run = prepared.run({params: {probe: drawn(seed)}});
      run.dispose();
      const y = run.values('y');
      return [y[8 + 3], y[8 + 7]];
    });
    exact.forEach((l, row) => {
      const values = estimates.map(each => each[row]);
      const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
      const deviation = Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1));
      expect(deviation).to.be.above(1e-3);
      expect(Math.abs(mean - l)).to.be.below((4 * deviation) / Math.sqrt(values.length));
    });
  });

  slow('is differentiated exactly, trace and all', () => {
    const w = network.variables[0];
    const {pullback} = simulate.vjp(continuousFlow({size, field}), {y: start}, options);
    const cotangent = new Float64Array(16);
    cotangent[11] = 1;
    const found = pullback({y: cotangent}).variables.get(w) as Float64Array;
    const values = w.dataSync().slice();
    // The variables are float32: steps that it holds.
    const at = (k: number, change: number): number => {
      const moved = values.slice();
      moved[k] += change;
      tf.tidy(() => w.assign(tf.tensor(moved, w.shape as [number, number])));
      return logarithms()[0];
    };
    for (const k of [0, 9, 25]) {
      const h = 2 ** -8;
      const wide = (at(k, 2 * h) - at(k, -2 * h)) / (4 * h);
      const slope = (4 * ((at(k, h) - at(k, -h)) / (2 * h)) - wide) / 3;
      expect(found[k]).to.be.closeTo(slope, 1e-6);
    }
    tf.tidy(() => w.assign(tf.tensor(values, w.shape as [number, number])));
  });

  it('logStandardNormal is the density, rademacher ±1 of mean zero', () => {
    const [value] = tf.tidy(() => logStandardNormal(tf.tensor2d([[1, 2]])).dataSync());
    expect(value).to.be.closeTo(-Math.log(2 * Math.PI) - 2.5, 1e-6);
    const signs = rademacher(1, [100, 100]);
    expect([...new Set(signs)].sort()).to.deep.equal([-1, 1]);
    expect(Math.abs(signs.reduce((sum, x) => sum + x, 0))).to.be.below(400);
  });

  it('says what does not fit', () => {
    expect(() => continuousFlow({size: 0, field})).to.throw(OptionError, 'size');
    expect(() => simulate(continuousFlow({size, field}), {y: [[1, 2, 3]]}, options)).to.throw(ShapeError, '[rows, 4]');
    expect(() => simulate(continuousFlow({size: 2, field: z => tf.sum(z)}), {y: [[1, 2, 0]]}, options)).to.throw(
      ShapeError,
      'field',
    );
    // The trace of z less the batch's mean is not 2 but 2 (1 − 1/rows): one direction for all rows would say 0.
    for (const probe of [undefined, () => tf.ones([2, 2])])
      expect(() =>
        simulate(
          continuousFlow({size: 2, field: z => tf.sub(z, tf.mean(z, 0, true)), probe}),
          {
            y: [
              [1, 2, 0],
              [3, 4, 0],
            ],
          },
          options,
        ),
      ).to.throw(OptionError, 'depends on other rows');
    expect(() => derivativeAlong(({x}) => x, {x: tf.scalar(1)}, {x: tf.scalar(1)})).to.throw(TraceError);
  });
});
