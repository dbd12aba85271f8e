/** Networks as terms: what they compute, what their forms guarantee, and that runs repeat. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {NumericParams, Params} from '../../lib/index.js';
import {implicitMidpoint, mechanics, newton, OptionError, ShapeError, simulate} from '../../lib/index.js';
import type {Mlp} from '../../models/index.js';
import {mechanicalEnergy, mlp, neuralDissipation, neuralForce, neuralPotential} from '../../models/index.js';
import {difference, draw, largest, relative, stream} from '../simulate/numbers.js';
import {gradientOf, shaped, valueOf} from './evaluate.js';

const next = stream(9);
const line = {q: draw(next, 3), v: draw(next, 3)};
const space = {q: shaped(draw(next, 8), [4, 2]), v: shaped(draw(next, 8), [4, 2])};

/** The network in plain double arithmetic. */
function byHand({params, sizes}: Mlp, input: readonly number[], act = Math.tanh): number[] {
  const weights = params as {readonly [name: string]: number[] & number[][]};
  return sizes.slice(1).reduce<number[]>(
    (signal, width, layer) => {
      const sum = Array.from({length: width}, (_, j) =>
        signal.reduce((total, x, i) => total + x * weights[`w${layer}`][i][j], weights[`b${layer}`][j]),
      );
      return layer < sizes.length - 2 ? sum.map(act) : sum;
    },
    [...input],
  );
}

/** Biases of zero hide mistakes: the same network with others. */
function withBiases(network: Mlp): NumericParams {
  return Object.fromEntries(
    Object.entries(network.params).map(([name, value]) => [
      name,
      name.startsWith('b') ? draw(next, (value as number[]).length) : value,
    ]),
  );
}

describe('networks', () => {
  describe('mlp', () => {
    it("draws the same weights from the same seed, others from another, within Glorot's limits", () => {
      const [a, b, c] = [
        mlp({sizes: [5, 40, 2], seed: 7}),
        mlp({sizes: [5, 40, 2], seed: 7}),
        mlp({sizes: [5, 40, 2], seed: 8}),
      ];
      expect(a.params).to.deep.equal(b.params);
      expect(a.params).not.to.deep.equal(c.params);
      const first = (a.params.w0 as number[][]).flat();
      const limit = Math.sqrt(6 / 45);
      expect(first).to.have.length(200);
      expect(largest(first)).to.be.within(0.95 * limit, limit);
      // The mean of 200 uniform numbers: standard deviation limit/√600.
      expect(Math.abs(first.reduce((sum, x) => sum + x, 0) / 200)).to.be.below((4 * limit) / Math.sqrt(600));
      expect((a.params.b0 as number[]).every(x => x === 0)).to.equal(true);
      [a, b, c].forEach(network => network.dispose());
    });

    it('is reproducible across machines: its first weights', () => {
      const network = mlp({sizes: [1, 2], seed: 1});
      // What any implementation of mulberry32 gives from state 1.
      const limit = Math.sqrt(2);
      expect(network.params.w0).to.deep.equal([
        [0.6270739405881613, 0.002735721180215478].map(x => Math.fround(limit * (2 * x - 1))),
      ]);
      network.dispose();
    });

    it('has variables of the same numbers, and leaves none behind', () => {
      const before = tf.memory().numTensors;
      const network = mlp({sizes: [2, 3, 1], seed: 4});
      expect(network.variables.map(({shape}) => shape)).to.deep.equal([[2, 3], [3], [3, 1], [1]]);
      expect(network.variables.map(variable => variable.arraySync())).to.deep.equal(
        ['w0', 'b0', 'w1', 'b1'].map(name => network.params[name]),
      );
      network.dispose();
      expect(tf.memory().numTensors).to.equal(before);
    });

    for (const [activation, act] of Object.entries({
      tanh: Math.tanh,
      sigmoid: (x: number) => 1 / (1 + Math.exp(-x)),
      softplus: (x: number) => Math.log1p(Math.exp(x)),
      elu: (x: number) => (x > 0 ? x : Math.expm1(x)),
      relu: (x: number) => Math.max(x, 0),
      linear: (x: number) => x,
    })) {
      it(`computes its layers in double precision, ${activation}`, () => {
        const network = mlp({sizes: [3, 5, 4, 3], activation: activation as 'tanh', seed: 2});
        const params = withBiases(network);
        const found = valueOf(
          neuralForce((x, weights) => network.apply(x, weights), {inputs: ['q']}),
          {...line, params},
        );
        expect(relative(found, byHand({...network, params}, [...line.q], act))).to.be.below(1e-14);
        network.dispose();
      });
    }

    it("takes an activation of one's own", () => {
      const network = mlp({sizes: [3, 5, 3], activation: x => tf.sin(x), seed: 2});
      expect(
        relative(valueOf(neuralForce(network, {inputs: ['v']}), line), byHand(network, [...line.v], Math.sin)),
      ).to.be.below(1e-14);
      network.dispose();
    });

    it('refuses what is no network', () => {
      const refused = (f: () => unknown): void =>
        void expect(f).to.throw(OptionError).with.property('code', 'bad-network');
      refused(() => mlp({sizes: [3]}));
      refused(() => mlp({sizes: [3, 0, 1]}));
      refused(() => mlp({sizes: [3, 1], activation: 'swish' as 'tanh'}));
    });
  });

  describe('neuralForce', () => {
    it('gives a network q and v, or what is asked for, flattened in order', () => {
      const network = mlp({sizes: [7, 4, 3], seed: 3});
      const found = valueOf(neuralForce(network, {inputs: ['v', 't', 'q'], scale: 2}), {...line, t: 0.3});
      expect(
        relative(
          found,
          byHand(network, [...line.v, 0.3, ...line.q]).map(x => 2 * x),
        ),
      ).to.be.below(1e-14);
      const both = mlp({sizes: [16, 5, 8], seed: 3});
      expect(
        relative(valueOf(neuralForce(both), space), byHand(both, [...space.q.flat(), ...space.v.flat()])),
      ).to.be.below(1e-14);
      network.dispose();
      both.dispose();
    });

    it('shared, gives each particle its own row, and leaves the Jacobian sparse', () => {
      const network = mlp({sizes: [4, 5, 2], seed: 3});
      const force = neuralForce(network, {shared: true});
      const expected = space.q.flatMap((q, i) => byHand(network, [...q, ...space.v[i]]));
      expect(relative(valueOf(force, space), expected)).to.be.below(1e-14);
      const single = mlp({sizes: [2, 3, 1], seed: 3});
      expect(
        relative(
          valueOf(neuralForce(single, {shared: true, inputs: ['v', 't']}), {...line, t: 2}),
          [...line.v].flatMap(v => byHand(single, [v, 2])),
        ),
      ).to.be.below(1e-14);
      const many = 50;
      const start = {q: new Float64Array(many), v: new Float64Array(many).fill(1)};
      const trajectory = simulate(mechanics({mass: 1, forces: neuralForce(single, {shared: true})}), start, {
        dt: 0.1,
        steps: 1,
      });
      expect(trajectory.stats.nonzeros).to.be.at.most(3 * many);
      trajectory.dispose();
      network.dispose();
      single.dispose();
    });

    it('takes a scalar state', () => {
      const network = mlp({sizes: [2, 3, 1], seed: 3});
      expect(relative(valueOf(neuralForce(network), {q: 0.3, v: 0.5}), byHand(network, [0.3, 0.5]))).to.be.below(1e-14);
      expect(
        relative(valueOf(neuralForce(network, {shared: true}), {q: 0.3, v: 0.5}), byHand(network, [0.3, 0.5])),
      ).to.be.below(1e-14);
      network.dispose();
    });

    it('takes a tf.layers model: what it predicts', () => {
      const model = tf.sequential({
        layers: [
          tf.layers.dense({
            units: 8,
            activation: 'tanh',
            inputShape: [6],
            kernelInitializer: tf.initializers.glorotUniform({seed: 1}),
          }),
          tf.layers.dense({units: 3, kernelInitializer: tf.initializers.glorotUniform({seed: 2})}),
        ],
      });
      const predicted = tf.tidy(() => (model.predict(tf.tensor2d([[...line.q, ...line.v]])) as tf.Tensor).dataSync());
      // tfjs predicts in float32.
      expect(relative(valueOf(neuralForce(model), line), predicted)).to.be.below(1e-6);
      model.dispose();
    });

    it('its weights in params have the gradients that its variables have', () => {
      const network = mlp({sizes: [6, 4, 3], seed: 5});
      const options = {scheme: implicitMidpoint(), dt: 0.1, steps: 5, saveAt: 'end' as const};
      const cotangent = {q: draw(stream(1), 6)};
      const byVariables = simulate.vjp(mechanics({mass: 1, forces: neuralForce(network)}), line, options);
      const byParams = simulate.vjp(
        mechanics({mass: 1, forces: neuralForce((x, {net}) => network.apply(x, net as Params))}),
        line,
        {...options, params: {net: network.params}},
      );
      expect([...byParams.trajectory.values('q')]).to.deep.equal([...byVariables.trajectory.values('q')]);
      const {variables} = byVariables.pullback(cotangent);
      const tree = byParams.pullback(cotangent).params.net as {readonly [name: string]: Float64Array};
      ['w0', 'b0', 'w1', 'b1'].forEach((name, i) =>
        expect(relative(variables.get(network.variables[i]) as Float64Array, tree[name])).to.be.below(1e-13),
      );
      byVariables.trajectory.dispose();
      byParams.trajectory.dispose();
      network.dispose();
    });

    describe('says what is wrong', () => {
      const code = (f: () => unknown, error: typeof OptionError | typeof ShapeError, expected: string): void =>
        void expect(f).to.throw(error).with.property('code', expected);

      it('with a model that is empty, has two inputs, or is no network', () => {
        code(() => neuralForce(tf.sequential()), OptionError, 'bad-network');
        const [a, b] = [tf.input({shape: [3]}), tf.input({shape: [3]})];
        code(
          () => neuralForce(tf.model({inputs: [a, b], outputs: tf.layers.add().apply([a, b]) as tf.SymbolicTensor})),
          OptionError,
          'bad-network',
        );
        code(() => neuralForce({} as Mlp), OptionError, 'bad-network');
        code(() => neuralForce(x => x, {inputs: []}), OptionError, 'bad-network');
        code(() => neuralForce(x => x, {inputs: ['a' as 'q']}), OptionError, 'bad-network');
      });

      it('with inputs and outputs of the wrong width', () => {
        const network = mlp({sizes: [4, 3]});
        const model = tf.sequential({layers: [tf.layers.dense({units: 3, inputShape: [4]})]});
        code(() => valueOf(neuralForce(network), line), ShapeError, 'network-input');
        code(() => valueOf(neuralForce(model), line), ShapeError, 'network-input');
        code(
          () =>
            valueOf(
              neuralForce(x => x),
              line,
            ),
          ShapeError,
          'network-output',
        );
        code(
          () =>
            valueOf(
              neuralPotential(x => x),
              line,
            ),
          ShapeError,
          'network-output',
        );
        code(
          () =>
            valueOf(
              neuralDissipation(x => x),
              line,
            ),
          ShapeError,
          'network-output',
        );
        network.dispose();
        model.dispose();
      });

      it('with weights that are not there', () => {
        const network = mlp({sizes: [6, 3]});
        code(
          () =>
            valueOf(
              neuralForce((x, params) => network.apply(x, params)),
              line,
            ),
          OptionError,
          'network-weights',
        );
        network.dispose();
      });
    });
  });

  describe('neuralPotential', () => {
    const cases: {readonly [name: string]: [readonly number[], boolean, typeof line | typeof space]} = {
      'of all coordinates': [[8, 6, 1], false, space],
      'one a particle': [[2, 6, 1], true, space],
      'on a line': [[3, 6, 1], false, line],
    };
    for (const [name, [sizes, shared, state]] of Object.entries(cases)) {
      it(`is minus the gradient of what the network says, ${name}`, () => {
        const network = mlp({sizes, seed: 6});
        const term = neuralPotential(network, {shared});
        const q = [...state.q].map(row => (typeof row === 'number' ? [row] : row));
        const expected = shared
          ? q.reduce((sum, row) => sum + byHand(network, row)[0], 0)
          : byHand(network, q.flat())[0];
        expect(valueOf(({q, params}) => term.energy({q, params}), state)[0]).to.be.closeTo(expected, 1e-14);
        expect(
          relative(
            valueOf(term, state),
            gradientOf(term.energy, state).map(x => -x),
          ),
        ).to.be.below(1e-14);
        network.dispose();
      });
    }

    it('is conservative: the energy error of midpoint is of second order, whatever the weights', () => {
      const network = mlp({sizes: [3, 8, 1], seed: 10});
      const system = mechanics({mass: 1, forces: neuralPotential(network)});
      const error = (dt: number): number => {
        const trajectory = simulate(system, line, {
          scheme: implicitMidpoint(),
          dt,
          t1: 4,
          observe: mechanicalEnergy(system),
          newton: newton({tolerance: {absolute: 1e-14, relative: 1e-14}}),
        });
        trajectory.dispose();
        const energies = trajectory.values('observed');
        return largest(difference(energies, new Float64Array(energies.length).fill(energies[0])));
      };
      expect(Math.log2(error(0.1) / error(0.05))).to.be.closeTo(2, 0.05);
      network.dispose();
    });

    it('has a symmetric Jacobian', () => {
      const network = mlp({sizes: [3, 8, 1], seed: 11});
      const force = neuralPotential(network);
      const column = (i: number): Float64Array =>
        gradientOf(
          ({q, params}: {q: tf.Tensor; params: Params}) =>
            tf.reshape(tf.slice(force({q, v: q, t: tf.scalar(0), params}), [i], [1]), []),
          line,
        );
      const jacobian = [0, 1, 2].map(column);
      jacobian.forEach((row, i) => row.forEach((x, j) => expect(x).to.be.closeTo(jacobian[j][i], 1e-15)));
      network.dispose();
    });
  });

  describe('neuralDissipation', () => {
    it('is −L Lᵀ v', () => {
      const network = mlp({sizes: [3, 5, 9], seed: 12});
      const L = byHand(network, [...line.q]);
      const Lv = [0, 1, 2].map(j => [0, 1, 2].reduce((sum, i) => sum + L[3 * i + j] * line.v[i], 0));
      const expected = [0, 1, 2].map(i => -[0, 1, 2].reduce((sum, j) => sum + L[3 * i + j] * Lv[j], 0));
      expect(relative(valueOf(neuralDissipation(network), line), expected)).to.be.below(1e-14);
      network.dispose();
    });

    it('is passive: no state, no weights give it power', () => {
      const draws = stream(4);
      for (let seed = 0; seed < 20; seed++) {
        const network = mlp({sizes: [8, 4, 16], seed});
        const state = {
          q: shaped(
            draw(draws, 4).map(x => 5 * x),
            [2, 2],
          ),
          v: shaped(
            draw(draws, 4).map(x => 5 * x),
            [2, 2],
          ),
        };
        const force = valueOf(neuralDissipation(network, {inputs: ['q', 'v']}), state);
        expect(force.reduce((sum, f, i) => sum + f * state.v.flat()[i], 0)).to.be.at.most(0);
        network.dispose();
      }
    });
  });

  it('leaves no tensor behind in a run', () => {
    const network = mlp({sizes: [3, 4, 1], seed: 1});
    const model = tf.sequential({layers: [tf.layers.dense({units: 3, inputShape: [6]})]});
    const system = mechanics({mass: 1, forces: [neuralPotential(network), neuralForce(model)]});
    const before = tf.memory().numTensors;
    const trajectory = simulate(system, line, {dt: 0.1, steps: 2});
    trajectory.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    network.dispose();
    model.dispose();
  });
});
