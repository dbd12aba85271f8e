/**
 * Every kind of neural term, from an mlp of ours and from a tf.layers model: the property its form promises, measured,
 * and its derivatives, the second ones too, against central differences in double precision. And networks through
 * tfjs's own model format.
 */
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ForceTerm, NumericParams, Params} from '../../lib/index.js';
import {DataError, implicitMidpoint, mechanics, OptionError, simulate} from '../../lib/index.js';
import type {Activation, Network} from '../../models/index.js';
import {mechanicalEnergy, mlp, neuralDissipation, neuralForce, neuralPotential} from '../../models/index.js';
import {mlpToLayers, mlpFromLayers} from '../../models/mlp-layers.js';
import {modelFiles} from '../../training/train/model-files.js';
import {draw, stream} from '../simulate/numbers.js';
import {gradientOf, valueOf} from './evaluate.js';
import {slow} from '../tiers.js';

const still = mechanics({mass: 1, forces: []});
const n = 3;
const next = stream(21);
const q = draw(next, n);
const v = draw(next, n);

/** Smooth ones, and elu, whose first derivative is continuous. */
const activations = ['tanh', 'sigmoid', 'softplus', 'elu'] as const;

/** Central differences of fourth order: with h = 1e-3 their error is h⁴/30 of the fifth derivative, 1e-13, and their rounding 1e-12. */
function differences(f: (x: Float64Array) => Float64Array, x: Float64Array): number[][] {
  const h = 1e-3;
  const at = (i: number, k: number): Float64Array => f(x.map((value, j) => (i === j ? value + k * h : value)));
  return Array.from(x.keys(), i => {
    const [a, b, c, d] = [-2, -1, 1, 2].map(k => at(i, k));
    return Array.from(a, (_, k) => (a[k] - 8 * b[k] + 8 * c[k] - d[k]) / (12 * h));
  });
}

/** ∂f/∂q as [q][f], by tangents through the traced term. */
function jacobian(term: ForceTerm): Float64Array[] {
  const {trajectory, tangents} = simulate.jvps(
    still,
    {q, v},
    {dt: 1, steps: 0, observe: term},
    Array.from({length: n}, (_, i) => ({initial: {q: Float64Array.from({length: n}, (_, j) => (i === j ? 1 : 0))}})),
  );
  trajectory.dispose();
  return tangents.map(({observed}) => observed as Float64Array);
}

function near(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void {
  const size = Math.max(...Array.from(expected, Math.abs), 1e-3);
  Array.from(expected).forEach((value, i) => expect(actual[i], `${what} ${i}`).to.be.closeTo(value, tolerance * size));
}

interface Made {
  readonly name: string;
  readonly network: Network;
  readonly dispose: () => void;
}

/** The same shape of network, ours and of tf.layers. */
function both(inputs: number, outputs: number, activation: Exclude<Activation, (x: tf.Tensor) => tf.Tensor>): Made[] {
  const own = mlp({sizes: [inputs, 7, 5, outputs], activation, seed: 8});
  const model = mlpToLayers(mlp({sizes: [inputs, 6, outputs], activation, seed: 9}));
  return [
    {name: `mlp, ${activation}`, network: own, dispose: () => own.dispose()},
    {name: `tf.layers, ${activation}`, network: model, dispose: () => model.dispose()},
  ];
}

describe('neural terms', () => {
  for (const activation of activations) {
    // elu's second derivative jumps at 0: no unit may come near it here, and differences lose digits where one does.
    const tolerance = activation === 'elu' ? 1e-6 : 1e-9;

    for (const {name, network, dispose} of both(n, 1, activation)) {
      slow(`neuralPotential, ${name}: force, its Jacobian (second derivatives), and no work around a loop`, () => {
        const term = neuralPotential(network);
        const energy = (x: Float64Array): Float64Array => valueOf(term.energy, {q: x, v});
        near(
          valueOf(term, {q, v}),
          differences(energy, q).map(([value]) => -value),
          tolerance,
          'force',
        );
        const hessian = jacobian(term);
        differences(x => gradientOf(term.energy, {q: x, v}), q).forEach((row, i) =>
          near(
            hessian[i],
            row.map(value => -value),
            tolerance,
            `row ${i}`,
          ),
        );
        hessian.forEach((row, i) => row.forEach((value, j) => expect(value).to.be.closeTo(hessian[j][i], 1e-13)));
        // ∮ f·dq over a circle, by the trapezoidal rule, which is exact to roundoff for smooth periodic functions.
        const points = 64;
        const work =
          Array.from({length: points}, (_, k) => {
            const angle = (2 * Math.PI * k) / points;
            const [x, along] = [
              Float64Array.of(Math.cos(angle), Math.sin(angle), 0.3),
              [-Math.sin(angle), Math.cos(angle), 0],
            ];
            return valueOf(term, {q: x, v}).reduce((sum, f, i) => sum + f * along[i], 0);
          }).reduce((sum, one) => sum + one, 0) / points;
        expect(Math.abs(work)).to.be.below(activation === 'elu' ? 1e-2 : 1e-9);
        dispose();
      });
    }

    for (const {name, network, dispose} of both(n, n * n, activation)) {
      slow(`neuralDissipation, ${name}: its Jacobians, and energy that only falls along a motion`, () => {
        const term = neuralDissipation(network);
        const byQ = jacobian(term);
        differences(x => valueOf(term, {q: x, v}), q).forEach((row, i) => near(byQ[i], row, tolerance, `∂f/∂q${i}`));
        // Linear in v: its matrix is −L Lᵀ, negative semidefinite.
        const matrix = differences(x => valueOf(term, {q, v: x}), v);
        matrix.forEach((row, i) => row.forEach((value, j) => expect(value).to.be.closeTo(matrix[j][i], 1e-9)));
        for (let trial = 0; trial < 20; trial++) {
          const w = draw(next, n);
          expect(
            matrix.reduce((sum, row, i) => sum + w[i] * row.reduce((s, value, j) => s + value * w[j], 0), 0),
          ).to.be.at.most(1e-12);
        }
        const system = mechanics({mass: 1, forces: [term]});
        const path = simulate(
          system,
          {q, v},
          {scheme: implicitMidpoint(), dt: 0.05, steps: 60, observe: mechanicalEnergy(system)},
        );
        const energy = path.values('observed');
        path.dispose();
        // Midpoint's energy changes by h v̄ᵀf(q̄, v̄), never up.
        for (let i = 1; i < energy.length; i++) expect(energy[i]).to.be.at.most(energy[i - 1] + 1e-14);
        dispose();
      });
    }

    for (const {name, network, dispose} of both(2 * n, n, activation)) {
      it(`neuralForce, ${name}: its Jacobian, and the second derivatives of what it pulls back`, () => {
        const term = neuralForce(network);
        const byQ = jacobian(term);
        differences(x => valueOf(term, {q: x, v}), q).forEach((row, i) => near(byQ[i], row, tolerance, `∂f/∂q${i}`));
        dispose();
      });
    }
  }

  it('gradients by the weights, mixed with those by q, are those of differences', () => {
    // ∂/∂w of w̄·f for the force −∂V/∂q of a potential: a second derivative of V, by q and by a weight.
    const network = mlp({sizes: [n, 4, 1], activation: 'softplus', seed: 3});
    const term = neuralPotential((x, params) => network.apply(x, params.network as Params));
    const bar = draw(next, n);
    const pulled = simulate.vjp(
      still,
      {q, v},
      {dt: 1, steps: 0, observe: term, params: {network: network.params as NumericParams}},
    );
    const gradient = (pulled.pullback({observed: bar}).params.network as {readonly [name: string]: Float64Array}).w0;
    pulled.trajectory.dispose();
    const flat = Float64Array.from((network.params.w0 as number[][]).flat());
    const expected = differences(w => {
      const w0 = Array.from({length: n}, (_, i) => Array.from(w.subarray(4 * i, 4 * i + 4)));
      const force = valueOf(term, {q, v, params: {network: {...network.params, w0}}});
      return Float64Array.of(force.reduce((sum, f, i) => sum + f * bar[i], 0));
    }, flat).map(([value]) => value);
    near(gradient, expected, 1e-9, 'weight');
    network.dispose();
  });
});

describe("networks in tfjs's own model format", () => {
  let place: string;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-models-'));
  });
  after(() => rm(place, {recursive: true}));
  const x = tf.tensor2d([
    [0.3, -1.2],
    [0, 2],
  ]);
  const numbers = (tensor: tf.Tensor): number[] => [...tensor.dataSync()];

  it('an mlp is saved, loaded, and goes on as it was, in a force too', async () => {
    for (const activation of [...activations, 'relu', 'linear'] as const) {
      const network = mlp({sizes: [2, 5, 4, 2], activation, seed: 6});
      network.variables[1].assign(tf.tensor1d([1, 2, 3, 4, 5]));
      const model = mlpToLayers(network);
      numbers(model.predict(x) as tf.Tensor).forEach((value, i) =>
        expect(value).to.be.closeTo(numbers(network.apply(x))[i], 1e-6),
      );
      await model.save(modelFiles(path.join(place, activation)));
      const again = mlpFromLayers(await tf.loadLayersModel(modelFiles(path.join(place, activation))));
      expect(again.sizes).to.deep.equal([2, 5, 4, 2]);
      expect(again.variables.map(numbers)).to.deep.equal(network.variables.map(numbers));
      expect(numbers(again.apply(x))).to.deep.equal(numbers(network.apply(x)));
      const [before, after] = [network, again].map(one =>
        valueOf(neuralForce(one, {inputs: ['q']}), {q: [0.1, 0.2], v: [0, 0]}),
      );
      expect([...after]).to.deep.equal([...before]);
    }
    expect((await readdir(path.join(place, 'tanh'))).sort()).to.deep.equal(['model.json', 'weights.bin']);
    expect(JSON.parse(await readFile(path.join(place, 'tanh', 'model.json'), 'utf8'))).to.include({
      format: 'layers-model',
    });
  });

  it('what is no mlp is refused', () => {
    const dense = (units: number, activation: 'tanh' | 'relu' | 'linear', inputShape?: number[]): tf.layers.Layer =>
      tf.layers.dense({units, activation, inputShape});
    expect(() => mlpFromLayers(tf.sequential({layers: [dense(3, 'tanh', [2]), dense(1, 'tanh')]}))).to.throw(
      OptionError,
      /has the activation tanh in its last layer/,
    );
    expect(() =>
      mlpFromLayers(tf.sequential({layers: [dense(3, 'tanh', [2]), dense(3, 'relu'), dense(1, 'linear')]})),
    ).to.throw(OptionError, /activations tanh, relu, linear/);
    expect(() =>
      mlpFromLayers(tf.sequential({layers: [dense(3, 'linear', [2]), tf.layers.dropout({rate: 0.5})]})),
    ).to.throw(OptionError, /Dropout/);
    expect(() => mlpToLayers(mlp({sizes: [1, 2, 1], activation: tf.sin}))).to.throw(OptionError, /cannot be saved/);
  });

  it('a directory without a model is an error that names it', async () => {
    const error = await tf.loadLayersModel(modelFiles(path.join(place, 'nothing'))).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DataError);
    expect((error as DataError).message).to.include('nothing');
  });
});
