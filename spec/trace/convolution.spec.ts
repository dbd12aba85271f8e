/** Layers of convolution, pooling and upsampling in traced functions: values against tfjs, gradients against differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, simulate} from '../../lib/index.js';
import type {ObjectiveAt, Params} from '../../lib/index.js';

type Layer = ReturnType<typeof tf.layers.conv2d>;
const image = [6, 8, 2];
const line = [12, 2];
const layers: {readonly [name: string]: {readonly shape: readonly number[]; readonly layer: () => Layer}} = {
  conv1d: {
    shape: line,
    layer: () => tf.layers.conv1d({filters: 3, kernelSize: 3, padding: 'same', activation: 'relu'}) as Layer,
  },
  'conv1d, dilated': {
    shape: line,
    layer: () => tf.layers.conv1d({filters: 2, kernelSize: 3, dilationRate: 2, padding: 'same'}) as Layer,
  },
  conv2d: {
    shape: image,
    layer: () => tf.layers.conv2d({filters: 3, kernelSize: [3, 2], strides: 2, activation: 'tanh'}),
  },
  conv2dTranspose: {
    shape: image,
    layer: () => tf.layers.conv2dTranspose({filters: 2, kernelSize: 3, strides: 2, padding: 'same'}) as Layer,
  },
  depthwiseConv2d: {
    shape: image,
    layer: () => tf.layers.depthwiseConv2d({kernelSize: 3, depthMultiplier: 2}) as unknown as Layer,
  },
  separableConv2d: {
    shape: image,
    layer: () => tf.layers.separableConv2d({filters: 4, kernelSize: 3}) as unknown as Layer,
  },
  averagePooling1d: {shape: line, layer: () => tf.layers.averagePooling1d({poolSize: 3}) as unknown as Layer},
  maxPooling1d: {shape: line, layer: () => tf.layers.maxPooling1d({poolSize: 2}) as unknown as Layer},
  averagePooling2d: {
    shape: image,
    layer: () => tf.layers.averagePooling2d({poolSize: 3, padding: 'same'}) as unknown as Layer,
  },
  maxPooling2d: {shape: image, layer: () => tf.layers.maxPooling2d({poolSize: 2}) as unknown as Layer},
  globalAveragePooling2d: {
    shape: image,
    layer: () => tf.layers.globalAveragePooling2d({dataFormat: 'channelsLast'}) as unknown as Layer,
  },
  globalMaxPooling1d: {shape: line, layer: () => tf.layers.globalMaxPooling1d() as unknown as Layer},
  upSampling2d: {shape: image, layer: () => tf.layers.upSampling2d({size: [2, 3]}) as unknown as Layer},
  zeroPadding2d: {shape: image, layer: () => tf.layers.zeroPadding2d({padding: 1}) as unknown as Layer},
};

describe('layers of convolution and pooling in a traced function', () => {
  for (const [name, {shape, layer}] of Object.entries(layers))
    it(name, () => {
      const begin = tf.input({shape: [...shape]});
      const model = tf.model({inputs: begin, outputs: layer().apply(begin) as tf.SymbolicTensor});
      const x = tf.randomUniform([1, ...shape], -1, 1, 'float32', 7);
      const numbers = Float64Array.from(x.dataSync());
      const expected = model.predict(x) as tf.Tensor;
      // A run of no steps: the loss alone is looked at, Σ layer(y)².
      const run = simulate.prepare(
        ode(({y}) => tf.zerosLike(y)),
        {y: [...numbers]},
        {scheme: rk4(), dt: 1, steps: 1, saveAt: 'end'},
      );
      const loss = ({y}: ObjectiveAt): tf.Tensor =>
        tf.sum(
          tf.square(model.apply(tf.reshape(tf.slice(y, [0, 0], [1, numbers.length]), [1, ...shape])) as tf.Tensor),
        );
      const {value, gradient} = run.valueAndGrad(loss);
      const squares = (expected.dataSync() as Float32Array).reduce((sum, one) => sum + one * one, 0);
      expect(value).to.be.closeTo(squares, 1e-5 * Math.max(1, squares));
      const h = 1e-6;
      const slopeAt = (at: (by: number) => number): number => (at(h) - at(-h)) / (2 * h);
      for (const i of [0, 5, numbers.length - 1]) {
        const by = (d: number): number =>
          run.value(loss, {initial: {y: numbers.map((one, k) => (k === i ? one + d : one))}});
        expect(gradient.initial?.y?.[i], `input ${i}`).to.be.closeTo(slopeAt(by), 1e-6);
      }
      for (const variable of model.trainableWeights.map(weight => weight.read() as tf.Variable)) {
        const values = Float64Array.from(variable.dataSync());
        const by = (d: number): number =>
          run.value(loss, {variables: new Map([[variable, values.map((one, k) => (k === 0 ? one + d : one))]])});
        expect(gradient.variables.get(variable)?.[0], variable.name).to.be.closeTo(slopeAt(by), 1e-6);
      }
      tf.dispose([x, expected]);
      model.dispose();
    });

  it('tf.grad through the largest of a window, of a view', () => {
    const kernel = tf.tensor4d([1, 0.5, 0.25, -1], [2, 2, 1, 1]);
    const image = (q: tf.Tensor): tf.Tensor4D => tf.reshape(q, [1, 4, 4, 1]);
    const pools: readonly ((q: tf.Tensor) => tf.Tensor)[] = [
      q => tf.maxPool(image(q), 2, 2, 'valid'),
      q => tf.maxPool(tf.conv2d(image(q), kernel, 1, 'valid'), 2, 1, 'valid'),
      q => tf.maxPool(tf.mul(1.5, tf.reshape(q, [4, 4, 1])) as tf.Tensor3D, 2, 2, 'valid'),
    ];
    const start = Array.from({length: 16}, (_, i) => Math.sin(i * i));
    for (const pool of pools) {
      const energy = (q: tf.Tensor): tf.Tensor => tf.sum(tf.square(pool(q)));
      const run = simulate.prepare(
        ode(({y}) => tf.grad(energy)(y)),
        {y: start},
        {scheme: rk4(), dt: 1e-9, steps: 1, saveAt: 'end'},
      );
      const expected = tf.tidy(() => tf.grad(energy)(tf.tensor1d(start)).dataSync());
      const moved = run.run();
      const rates = moved.values('y').slice(16).map((y, i) => (y - start[i]) / 1e-9); // prettier-ignore
      moved.dispose();
      expect(Math.max(...expected)).to.be.above(0.5);
      rates.forEach((rate, i) => expect(rate).to.be.closeTo(expected[i], 1e-5));
    }
    kernel.dispose();
  });

  it("learns the stencil of Burgers' equation: gradients through a run", () => {
    // u_t = −u u_x + ν u_xx on a circle, the derivatives as one kernel [5, 1, 2] that is to be found.
    const n = 32;
    const dx = (2 * Math.PI) / n;
    const kernel = tf.variable(tf.randomUniform([5, 1, 2], -1, 1, 'float32', 3));
    const field = ({y}: {y: tf.Tensor}): tf.Tensor => {
      const ring = tf.concat([tf.slice(y, [n - 2], [2]), y, tf.slice(y, [0], [2])]);
      const d = tf.conv1d(tf.reshape(ring, [1, n + 4, 1]) as tf.Tensor3D, kernel as tf.Tensor3D, 1, 'valid');
      const [ux, uxx] = tf.unstack(tf.reshape(d, [n, 2]), 1);
      return tf.sub(tf.mul(0.1, uxx), tf.mul(y, ux));
    };
    const start = Array.from({length: n}, (_, i) => Math.sin(i * dx));
    const model = simulate.prepare(ode(field), {y: start}, {scheme: rk4(), dt: 0.02, steps: 10, saveAt: 'end'});
    const loss = ({y, data}: ObjectiveAt<Params, {readonly end: tf.Tensor}>): tf.Tensor =>
      tf.mean(tf.squaredDifference(tf.slice(y, [1, 0], [1, n]), data.end));
    const data = {end: start.map(Math.cos)};
    const values = Float64Array.from(kernel.dataSync());
    const {gradient} = model.valueAndGrad(loss, {data});
    const h = 1e-6;
    for (const i of values.keys()) {
      const by = (d: number): number =>
        model.value(loss, {
          data,
          variables: new Map([[kernel as tf.Variable, values.map((one, k) => (k === i ? one + d : one))]]),
        });
      const difference = (by(h) - by(-h)) / (2 * h);
      expect(gradient.variables.get(kernel as tf.Variable)?.[i]).to.be.closeTo(
        difference,
        1e-6 * Math.max(1, Math.abs(difference)),
      );
    }
    kernel.dispose();
  });
});
