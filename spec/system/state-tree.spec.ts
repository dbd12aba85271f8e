/** States that are trees: the same numbers as the vector written by hand, and their errors. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  ode,
  OptionError,
  ShapeError,
  simulate,
  stateTree,
  tsit5,
  type DerivativeAt,
  type ObjectiveAt,
  type Params,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

/** Prey and predator, and heat along a rod of four cells that they warm. */
const layout = stateTree({animals: {prey: [], predator: []}, rod: [2, 2]});
const asTree = ode(
  layout.derivative<{rate: tf.Tensor}>(
    ({
      y: {
        animals: {prey, predator},
        rod,
      },
      t,
      params: {rate},
    }) => ({
      rod: tf.sub(tf.mul(rate, prey), tf.mul(rod, tf.sin(t))),
      animals: {
        prey: tf.sub(prey, tf.mul(prey, predator)),
        predator: tf.sub(tf.mul(prey, predator), predator),
      },
    }),
  ),
);
const byHand = ode(({y, t, params: {rate}}: DerivativeAt<{rate: tf.Tensor}>) => {
  const [prey, predator, rod] = tf.split(y, [1, 1, 4]);
  return tf.concat([
    tf.sub(prey, tf.mul(prey, predator)),
    tf.sub(tf.mul(prey, predator), predator),
    tf.sub(tf.mul(rate, prey), tf.mul(rod, tf.sin(t))),
  ]);
});
const start = {
  animals: {prey: 1.2, predator: 0.7},
  rod: [
    [1, 2],
    [3, 4],
  ],
};
const options = {scheme: tsit5(), dt: 0.1, steps: 10, params: {rate: 0.3}};

describe('a state that is a tree', () => {
  it('runs as the vector does', () => {
    const y = layout.flat(start);
    expect([...y]).to.deep.equal([1.2, 0.7, 1, 2, 3, 4]);
    const found = simulate(asTree, {y}, options).values('y');
    const expected = simulate(byHand, {y}, options).values('y');
    expect([...found]).to.deep.equal([...expected]);
    const {animals, rod} = layout.series(found);
    expect(animals.predator).to.have.length(11);
    expect([...rod.slice(-4)]).to.deep.equal([...expected.slice(-4)]);
    expect(animals.prey[10]).to.equal(expected[60]);
  });

  slow('has gradients by its parts, in a loss too', () => {
    const y = layout.flat(start);
    const loss = ({y: series}: ObjectiveAt<Params>) => tf.sum(tf.square(layout.parts(series).rod.gather(10)));
    const {value, gradient} = simulate.prepare(asTree, {y}, options).valueAndGrad(loss);
    const plain = ({y: series}: ObjectiveAt<Params>) => tf.sum(tf.square(series.gather(10).slice(2)));
    const expected = simulate.prepare(byHand, {y}, options).valueAndGrad(plain);
    expect(value).to.be.closeTo(expected.value, 1e-14 * expected.value);
    expect(gradient.params.rate[0]).to.be.closeTo(expected.gradient.params.rate[0], 1e-12);
  });

  it('keeps axes before those of its parts: many systems in one', () => {
    const before = tf.memory().numTensors;
    const pair = stateTree({x: [], m: [2]});
    const system = ode(pair.derivative(({y: {m}}) => ({x: tf.sum(m, -1), m: tf.neg(m)})));
    const y = [
      [0, 1, 2],
      [0, 3, 4],
    ];
    const run = simulate(system, {y}, {scheme: tsit5(), dt: 0.01, t1: 1, saveAt: 'end'});
    const end = run.values('y').slice(6);
    run.dispose();
    const fallen = 1 - Math.exp(-1);
    expect(end[0]).to.be.closeTo(3 * fallen, 1e-9);
    expect(end[3]).to.be.closeTo(7 * fallen, 1e-9);
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('refuses what is no layout, and what does not fit in', () => {
    const make = (shapes: unknown) => () => stateTree(shapes as {a: []});
    expect(make({a: [0]})).to.throw(OptionError, 'shape of a must be positive whole numbers, not 0');
    expect(make({a: {}})).to.throw(OptionError, 'a must have one part at least');
    expect(make({a: 3})).to.throw(OptionError, 'a must be a shape');
    expect(() => layout.flat({...start, rod: [1, 2]} as never)).to.throw(
      ShapeError,
      'rod must have the shape [2, 2]; it has [2]',
    );
    expect(() => layout.flat({rod: start.rod} as never)).to.throw(OptionError, "lacks its part 'animals'");
    expect(() => layout.flat({...start, other: 1} as never)).to.throw(OptionError, "no part 'other'");
    expect(() => layout.flat({...start, animals: 1} as never)).to.throw(
      OptionError,
      'animals must be an object with prey, predator',
    );
    expect(() => layout.series(new Float64Array(7))).to.throw(ShapeError, '6 numbers at each time');
    const wrong = ode(layout.derivative(({y}) => ({...y, rod: tf.zeros([4])})));
    expect(() => simulate(wrong, {y: layout.flat(start)}, options)).to.throw(
      ShapeError,
      'rod must be a tensor of shape [2, 2]; it is shape [4]',
    );
    expect(() => simulate(asTree, {y: [1, 2]}, options)).to.throw(ShapeError, 'y must have 6 numbers on its last axis');
  });
});
