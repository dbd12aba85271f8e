/** Natural frequencies against closed forms, counted eigenvalues, and derivatives of frequencies. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {bilateral, elements, equilibrium, mechanics, modes, OptionError} from '../../lib/index.js';

/** Masses in a row, springs from each to the next; in a ring from the last to the first. */
const springs = (n: number, ring: boolean, k: (params: {[name: string]: tf.Tensor}) => tf.Tensor | number = () => 1) =>
  elements({
    nodes: Array.from({length: ring ? n : n - 1}, (_, i) => [i, (i + 1) % n]),
    energy: ({x, params}) => {
      const [a, b] = tf.unstack(x);
      return tf.mul(tf.mul(0.5, k(params as never)), tf.square(tf.sub(b, a)));
    },
  });
const wall = (n: number) =>
  elements({nodes: [[0], [n - 1]], energy: ({x}) => tf.mul(0.5, tf.square(tf.reshape(x, [])))});

describe('modes', () => {
  it('are those of a chain between walls, ω = 2 sin(kπ/(2(n + 1))), from the least and near a shift', () => {
    const n = 200;
    const chain = mechanics({mass: 1, forces: [springs(n, false), wall(n)]});
    const exact = (k: number): number => (2 * Math.sin((k * Math.PI) / (2 * (n + 1)))) ** 2;
    const found = modes(chain, {q: new Float64Array(n)}, {count: 10});
    found.eigenvalues.forEach((value, i) => expect(value / exact(i + 1)).to.be.closeTo(1, 1e-11));
    const [first] = found.shapes;
    first.forEach((x, i) =>
      expect(Math.abs(x)).to.be.closeTo(Math.sqrt(2 / (n + 1)) * Math.sin(((i + 1) * Math.PI) / (n + 1)), 1e-9),
    );
    expect(found.warnings).to.deep.equal([]);
    const near = modes(chain, {q: new Float64Array(n)}, {count: 4, shift: 0.9});
    const all = Array.from({length: n}, (_, i) => exact(i + 1));
    const nearest = all
      .sort((a, b) => Math.abs(a - 0.9) - Math.abs(b - 0.9))
      .slice(0, 4)
      .sort((a, b) => a - b);
    near.eigenvalues.forEach((value, i) => expect(value).to.be.closeTo(nearest[i], 1e-11));
  });

  it('tell rigid motions and repeated frequencies, whose symmetric functions alone have derivatives', () => {
    const n = 24;
    const k = ({stiffness}: {[name: string]: tf.Tensor}): tf.Tensor => stiffness;
    const ring = mechanics({mass: 2, forces: springs(n, true, k)});
    const {modes: found, pullback} = modes.vjp(ring, {q: new Float64Array(n)}, {count: 6, params: {stiffness: 3}});
    const exact = (j: number): number => 6 * Math.sin((j * Math.PI) / n) ** 2;
    [0, 1, 1, 2, 2, 3].forEach((j, i) => expect(found.eigenvalues[i]).to.be.closeTo(exact(j), 1e-12));
    expect(found.warnings.join()).to.match(/1 modes have ω² = 0.*Modes 1, 2 .*Modes 3, 4 .*Mode 5 is one of a/);
    const symmetric = pullback({eigenvalues: [0, 1, 1, 0, 0, 0]});
    expect((symmetric.params.stiffness as Float64Array)[0]).to.be.closeTo((2 * exact(1)) / 3, 1e-12);
    expect(() => pullback({eigenvalues: [0, 1, 0, 0, 0, 0]})).to.throw(OptionError, 'equal cotangents');
    expect(() => pullback({frequencies: [1, 0, 0, 0, 0, 0]})).to.throw(OptionError, 'give a cotangent of eigenvalues');
  });

  it('have derivatives through mass, stiffness, and a state that depends on the parameters', () => {
    // A pendulum of two cubic springs under a load: ω² at rest, by the load, a stiffness and a mass of the position.
    const system = mechanics({
      mass: ({q, params}) => tf.add(params.m as tf.Tensor, tf.square(q)),
      forces: ({q, params}) =>
        tf.sub(params.load as tf.Tensor, tf.mul(params.k as tf.Tensor, tf.add(tf.mul(q, [1, 2]), tf.pow(q, 3)))),
    });
    const state = (params: {[name: string]: number}): {q: Float64Array} => ({
      q: equilibrium(system, {q: [0, 0]}, {params}).values('q'),
    });
    const base = {m: 1.3, load: 0.7, k: 2.1};
    const at = (params: typeof base): number => modes(system, state(params), {count: 2, params}).frequencies[0];
    const rest = equilibrium.vjp(system, {q: [0, 0]}, {params: base});
    const {pullback} = modes.vjp(system, state(base), {count: 2, params: base});
    const own = pullback({frequencies: [1, 0]});
    const through = rest.pullback({q: own.q});
    for (const name of ['m', 'load', 'k'] as const) {
      const h = 1e-4;
      const difference = (at({...base, [name]: base[name] + h}) - at({...base, [name]: base[name] - h})) / (2 * h);
      const gradient = (own.params[name] as Float64Array)[0] + (through.params[name] as Float64Array)[0];
      expect(gradient, name).to.be.closeTo(difference, 1e-7);
    }
  });

  it('tell an unstable state and one that is not at rest', () => {
    const well = mechanics({mass: 1, forces: ({q}) => tf.sub(q, tf.pow(q, 3))});
    const top = modes(well, {q: [0]}, {count: 1});
    expect([top.eigenvalues[0], top.frequencies[0]]).to.deep.equal([-1, NaN]);
    expect(top.warnings.join()).to.include('unstable');
    expect(modes(well, {q: [0.5]}, {count: 1}).warnings.join()).to.include('not at rest');
  });

  it('refuse what has no natural frequencies', () => {
    const follower = mechanics({mass: 1, forces: ({q}) => tf.sub(tf.reverse(tf.mul(q, [1, 0.5])), tf.mul(3, q))});
    expect(() => modes(follower, {q: [0, 0]})).to.throw(OptionError, 'not symmetric');
    const held = mechanics({mass: 1, forces: [], constraints: [bilateral(({q}) => q)]});
    expect(() => modes(held, {q: [0]})).to.throw(OptionError, 'without constraints');
  });
});
