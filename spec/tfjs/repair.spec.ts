import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-cpu';
import {expect} from 'chai';
import fc from 'fast-check';
import {repaired, repairGradients} from '../../lib/engine/tensor/gradients.js';
import {cases} from './cases.js';
import {checkDerivatives, inDouble, point, stream} from './finite-differences.js';
import type {Point} from './finite-differences.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** Random shapes are small: a second derivative costs a gradient for each entry, twice. */
const shapes = (rank: {min: number; max: number}): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({min: 1, max: 3}), {minLength: rank.min, maxLength: rank.max});

/**
 * Numbers above 0.3 in random order, each 1/32 from the next; those of another `phase` lie half way between. No two
 * come so close that a step of the differences could exchange them, so extremes and maxima are smooth.
 */
const smooth = (shape: number[], seed: number, phase: 0 | 1 = 0): Point => {
  const next = stream(seed);
  const size = shape.reduce((product, n) => product * n, 1);
  const order = Array.from({length: size}, (_, at) => ({at, key: next()})).sort((a, b) => a.key - b.key);
  return point(shape, at => 0.3 + (order[at].at + phase / 2) / 32);
};

const property = <T extends [unknown, ...unknown[]]>(
  arbitraries: {[K in keyof T]: fc.Arbitrary<T[K]>},
  check: (...values: T) => void,
): void => fc.assert(fc.property(...arbitraries, check), runs(12, 20240607));

const seeds = fc.integer({min: 1, max: 1e6});

describe('gradients of tfjs, repaired', () => {
  before(() => tf.setBackend('cpu'));

  describe('every kernel: first and second derivative against central differences', () => {
    for (const [name, {f, xs, second, tolerance}] of Object.entries(cases)) {
      it(name, () => checkDerivatives(name, f, xs, {second, tolerance}));
    }
  });

  describe('random shapes and axes', () => {
    slow('cumsum and cumprod: any axis, exclusive or not, either way', () => {
      property<[number[], number, boolean, boolean, number]>(
        [shapes({min: 1, max: 3}), fc.nat(), fc.boolean(), fc.boolean(), seeds],
        (shape, pick, exclusive, reverse, seed) => {
          const axis = pick % shape.length;
          checkDerivatives('cumsum', x => tf.cumsum(x, axis, exclusive, reverse), [smooth(shape, seed)]);
          checkDerivatives('cumprod', x => tf.cumprod(x, axis, exclusive, reverse), [smooth(shape, seed)]);
        },
      );
    });

    it('cumprod along a long axis, so that doubling takes an odd number of steps', () => {
      for (const length of [1, 2, 5, 7, 8]) {
        checkDerivatives('cumprod', x => tf.cumprod(x, 0), [smooth([length], length)]);
      }
    });

    slow('prod, max and min over any axes', () => {
      property<[number[], number, boolean, number]>(
        [shapes({min: 1, max: 3}), fc.nat(), fc.boolean(), seeds],
        (shape, pick, keep, seed) => {
          const chosen = shape.flatMap((_, axis) => ((pick >> axis) & 1 ? [axis] : []));
          const axes = chosen.length === 0 ? [0] : chosen;
          for (const reduce of [tf.prod, tf.max, tf.min]) {
            checkDerivatives(reduce.name, x => reduce(x, axes, keep), [smooth(shape, seed)]);
          }
        },
      );
    });

    slow('broadcast maximum, minimum, squaredDifference, prelu, pow, atan2', () => {
      property<[number[], number, number, number]>(
        [shapes({min: 1, max: 3}), fc.nat(), fc.nat(), seeds],
        (shape, ones, drop, seed) => {
          const smaller = shape.map((n, axis) => ((ones >> axis) & 1 ? 1 : n)).slice(drop % (shape.length + 1));
          for (const f of [tf.maximum, tf.minimum, tf.squaredDifference, tf.prelu, tf.pow, tf.atan2]) {
            checkDerivatives(f.name, f, [smooth(shape, seed), smooth(smaller, seed, 1)]);
            if (f !== tf.prelu) {
              checkDerivatives(f.name, f, [smooth(smaller, seed), smooth(shape, seed, 1)]);
            }
          }
        },
      );
    });

    slow('mirrorPad of any width the mode allows', () => {
      property<[number[], number, boolean, number]>(
        [shapes({min: 1, max: 3}), fc.nat(), fc.boolean(), seeds],
        (shape, widths, reflect, seed) => {
          const paddings = shape.map((n, axis): [number, number] => {
            const most = reflect ? n : n + 1; // 'reflect' leaves the edge out, so it has one entry less to give
            return [(widths >> axis) % most, (widths >> (axis + 3)) % most];
          });
          const mode = reflect ? 'reflect' : 'symmetric';
          checkDerivatives('mirrorPad', x => tf.mirrorPad(x, paddings, mode), [smooth(shape, seed)]);
        },
      );
    });

    it('stridedSlice with any strides', () => {
      property<[number[], number, number]>([shapes({min: 1, max: 3}), fc.nat(), seeds], (shape, pick, seed) => {
        const backwards = shape.map((_, axis) => ((pick >> axis) & 1) === 1);
        const strides = shape.map((_, axis) => (backwards[axis] ? -1 : 1) * (1 + ((pick >> (axis + 3)) & 1)));
        const begin = shape.map((n, axis) => (backwards[axis] ? n - 1 : 0));
        const end = shape.map((n, axis) => (backwards[axis] ? -n - 1 : n));
        checkDerivatives('stridedSlice', x => tf.stridedSlice(x, begin, end, strides), [smooth(shape, seed)]);
      });
    });

    slow('tile of any rank', () => {
      property<[number[], number, number]>([shapes({min: 1, max: 5}), fc.nat(), seeds], (shape, pick, seed) => {
        const reps = shape.map((_, axis) => 1 + ((pick >> axis) & 1));
        checkDerivatives('tile', x => tf.tile(x, reps), [smooth(shape, seed)]);
      });
    });

    it('gather along any axis with any batch dimensions', () => {
      property<[number[], number, number, number]>(
        [shapes({min: 1, max: 3}), fc.nat(), fc.nat(), seeds],
        (shape, pickAxis, pickBatch, seed) => {
          const axis = pickAxis % shape.length;
          // tfjs's kernel takes outer dimensions between the batch and the axis only without a batch
          const batchDims = pickBatch % 2 === 0 ? 0 : axis;
          const next = stream(seed + 7);
          const picks = [...shape.slice(0, batchDims), 2];
          const indices = Array.from({length: picks.reduce((n, m) => n * m, 1)}, () =>
            Math.floor(next() * shape[axis]),
          );
          checkDerivatives('gather', x => tf.gather(x, tf.tensor(indices, picks, 'int32'), axis, batchDims), [
            smooth(shape, seed),
          ]);
        },
      );
    });

    slow('gatherND and scatterND of entries, rows and planes', () => {
      property<[number[], number, number]>([shapes({min: 1, max: 3}), fc.nat(), seeds], (shape, pick, seed) => {
        const depth = 1 + (pick % shape.length);
        const next = stream(seed + 3);
        const rows = Array.from({length: 3}, () => shape.slice(0, depth).map(n => Math.floor(next() * n)));
        const indices = (): tf.Tensor => tf.tensor2d(rows, [3, depth], 'int32');
        checkDerivatives('gatherND', x => tf.gatherND(x, indices()), [smooth(shape, seed)]);
        checkDerivatives('scatterND', u => tf.scatterND(indices(), u, shape), [
          smooth([3, ...shape.slice(depth)], seed),
        ]);
      });
    });

    slow('matMul with broadcast batches and either transpose', () => {
      property<[number, boolean, boolean, number]>(
        [fc.nat(2), fc.boolean(), fc.boolean(), seeds],
        (batch, ta, tb, seed) => {
          const [left, right] = [
            [[2], []],
            [[], [3]],
            [[1], [3]],
          ][batch];
          const a = smooth([...left, ...(ta ? [3, 2] : [2, 3])], seed);
          const b = smooth([...right, ...(tb ? [2, 3] : [3, 2])], seed + 1);
          checkDerivatives('matMul', (x, y) => tf.matMul(x, y, ta, tb), [a, b]);
        },
      );
    });

    slow('einsum with every split of its labels', () => {
      // labels of both operands and the result, of both only, and of one and the result: what tfjs's kernel gets right
      for (const equation of [
        'ab,bc->ac',
        'ab,bc->ca',
        'abc,cb->a',
        'abc,bd->dac',
        'ab,ab->b',
        'ab,ab->',
        'a,b->ba',
        'abc->cab',
        'abc->b',
        'ab->',
      ]) {
        const sizes: Record<string, number> = {a: 2, b: 3, c: 2, d: 2};
        const xs = equation
          .split('->')[0]
          .split(',')
          .map((labels, i) =>
            smooth(
              [...labels].map(label => sizes[label]),
              i + 5,
            ),
          );
        checkDerivatives(`einsum ${equation}`, (...operands) => tf.einsum(equation, ...operands), xs);
      }
    });
  });

  describe('at kinks and other special points', () => {
    const gradient = (f: (x: tf.Tensor) => tf.Tensor, at: number[]): number[] =>
      tf.tidy(
        () => Array.from(tf.grad(f)(tf.tensor1d(at)).dataSync()) as unknown as tf.TensorContainer,
      ) as unknown as number[];

    it('equal extremes share the cotangent, so that its sum stays one', () => {
      expect(gradient(x => tf.max(x), [3, 1, 3, 2])).to.deep.equal([0.5, 0, 0.5, 0]);
      expect(gradient(x => tf.min(x), [1, 1, 1, 2]).reduce((sum, g) => sum + g)).to.be.closeTo(1, 1e-6);
    });

    it('|x| has slope ±1 everywhere, so that |x|² and tf.norm have their second derivatives at 0', () => {
      expect(gradient(tf.abs, [-2, 0, 2])).to.deep.equal([-1, -1, 1]);
      expect(gradient(x => tf.grad(y => tf.square(tf.abs(y)))(x), [-2, 0, 2])).to.deep.equal([2, 2, 2]);
      // ‖(3, x)‖ = √(9 + x²): 1/3 across, at x = 0; the row sum of the Hessian is (0, 1/3).
      expect(gradient(x => tf.grad(y => tf.norm(y))(x), [3, 0])[1]).to.be.closeTo(1 / 3, 1e-6);
    });

    it('x⁰, x¹ and x² have finite derivatives of first and second order at 0', () => {
      const second = (f: (x: tf.Tensor) => tf.Tensor, at: number[]): number[] => gradient(x => tf.grad(f)(x), at);
      for (const [power, slope, curvature] of [
        [0, 0, 0],
        [1, 1, 0],
        [2, 0, 2],
      ]) {
        expect(
          gradient(x => tf.pow(x, power), [0]),
          `slope of x^${power}`,
        ).to.deep.equal([slope]);
        expect(
          second(x => tf.add(tf.pow(x, power), tf.mul(tf.square(x), 0)), [0]),
          `curvature of x^${power}`,
        ).to.deep.equal([curvature]);
      }
    });

    it('elu and selu have finite second derivatives where exp would overflow', () => {
      for (const f of [tf.elu, tf.selu]) {
        const values = gradient(x => tf.grad(y => tf.square(f(y)))(x), [200, -200]);
        expect(values.every(Number.isFinite), f.name).to.equal(true);
      }
    });

    it('the branch of where that is not taken gets a zero, also from an infinite cotangent', () => {
      const f = (x: tf.Tensor): tf.Tensor => tf.sqrt(tf.where(tf.greater(x, 0), x, tf.zerosLike(x)));
      expect(gradient(f, [4, -1])).to.deep.equal([0.25, 0]);
    });

    it('tensorScatterUpdate: overwritten entries get nothing', () => {
      const f = (x: tf.Tensor): tf.Tensor =>
        tf.sum(tf.tensorScatterUpdate(tf.clone(x), tf.tensor2d([[1]], [1, 1], 'int32'), tf.tensor1d([9])));
      expect(gradient(f, [1, 2, 3])).to.deep.equal([1, 0, 1]);
    });

    it('a cast to whole numbers is constant', () => {
      expect(gradient(x => tf.mul(x, tf.cast(tf.cast(x, 'int32'), 'float32')), [2.5])).to.deep.equal([2]);
    });
  });

  it('x·tanh(x) has the Hessian 2σ(1 − xτ), τ = tanh x, σ = 1 − τ², in float32 too', () => {
    const xs = [-2, -0.5, 0, 0.3, 1.7];
    const curvature = tf.tidy(() =>
      tf
        .grad(x => tf.sum(tf.grad((y: tf.Tensor) => tf.mul(y, tf.tanh(y)))(x)))(tf.tensor1d(xs))
        .arraySync(),
    ) as number[];
    xs.forEach((x, i) => {
      const tau = Math.tanh(x);
      // eight float32 operations, each within 2⁻²⁴ of values below 2
      expect(curvature[i]).to.be.closeTo(2 * (1 - tau * tau) * (1 - x * tau), 8 * 2 ** -23);
    });
  });

  it('a Hessian through a dense layer of tf.layers agrees with central differences', () => {
    const layer = tf.layers.dense({
      units: 3,
      activation: 'tanh',
      inputShape: [2],
      kernelInitializer: tf.initializers.glorotUniform({seed: 3}),
    });
    const model = tf.sequential({
      layers: [layer, tf.layers.dense({units: 1, kernelInitializer: tf.initializers.glorotUniform({seed: 4})})],
    });
    checkDerivatives('layers', x => model.predict(tf.reshape(x, [1, 2])) as tf.Tensor, [
      point([2], i => 0.4 - 0.7 * i),
    ]);
    model.dispose();
  });

  it('a third derivative comes out as well: tanh‴ = −2σ(1 − 3τ²)', () => {
    inDouble(() => {
      const third = tf
        .grad(x => tf.grad(y => tf.grad((z: tf.Tensor) => tf.tanh(z))(y))(x))(tf.scalar(0.6))
        .dataSync()[0];
      const tau = Math.tanh(0.6);
      expect(third).to.be.closeTo(-2 * (1 - tau * tau) * (1 - 3 * tau * tau), 1e-13);
    });
  });

  it('leaves no tensors behind', () => {
    const x = tf.tensor2d([
      [0.1, 0.2, 0.3],
      [0.4, 0.5, 0.6],
    ]);
    const before = tf.memory().numTensors;
    for (const f of [
      tf.tanh,
      tf.softmax,
      (y: tf.Tensor) => tf.prod(y, 1),
      (y: tf.Tensor) =>
        tf.mirrorPad(
          y,
          [
            [1, 0],
            [1, 1],
          ],
          'reflect',
        ),
      (y: tf.Tensor) => tf.where(tf.greater(y, 0.25), tf.exp(y), y),
    ]) {
      tf.dispose(tf.grad(y => tf.grad(z => tf.sum(tf.square(f(z))))(y))(x));
    }
    expect(tf.memory().numTensors).to.equal(before);
    x.dispose();
  });

  it('registers each gradient once, however often it is asked to', () => {
    expect(new Set(repaired).size).to.equal(repaired.length);
    const registered = repaired.map(name => tf.getGradient(name));
    repairGradients();
    expect(repaired.map(name => tf.getGradient(name))).to.deep.equal(registered);
    registered.forEach((gradient, i) =>
      expect(gradient.outputsToSave, `${repaired[i]} saves outputs`).to.equal(undefined),
    );
  });
});
