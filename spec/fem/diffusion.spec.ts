/** Heat and reactions with diffusion against closed forms, by order, and derivatives by fields. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, disk, heat, reactionDiffusion, type FieldSystem} from '../../fem/index.js';
import {equilibrium, OptionError, radauIIA5, simulate, trapezoid} from '../../lib/index.js';

const steady = (system: FieldSystem, T = 0): Float64Array => equilibrium(system, {y: system.start({T})}).values('y');
const order = (errors: readonly number[]): number => Math.log2(errors[0] / errors[1]);

describe('heat', () => {
  it('is steady in a fin as cosh m(L − x), with order 2 and 4 at its tip', () => {
    // k A T'' = h P (T − T∞): two sides of a strip so thin that it is as warm inside, with m² = 2 h/(k · height).
    const height = 1e-5;
    const m = Math.sqrt((2 * 3e-4) / (4 * height));
    for (const [cell, expected] of [
      ['quad4', 2],
      ['quad9', 4],
    ] as const) {
      const errors = [4, 8].map(n => {
        const fin = heat({
          mesh: box([1, height], [n, 1], cell),
          conductivity: 4,
          capacity: 1,
          thickness: 0.7,
          fixed: [{on: 'left', value: 100}],
          convection: ['bottom', 'top'].map(on => ({on, coefficient: 3e-4, ambient: 20})),
        });
        const [tip] = fin.evaluate(fin.probe([[1, height / 2]]), {y: steady(fin)});
        return Math.abs((tip - 20) / 80 - 1 / Math.cosh(m));
      });
      expect(order(errors), cell).to.be.closeTo(expected, 0.35);
    }
  });

  it('is steady in a disk with a source as s (R² − r²)/(4 k)', () => {
    const errors = [2, 4].map(n => {
      const plate = heat({
        mesh: disk(2, n, 'quad9'),
        conductivity: 3,
        capacity: 1,
        fixed: [{on: 'rim', value: 10}],
        source: ({X}) => tf.add(12, tf.mul(0, tf.sum(X, 1))),
      });
      const [middle, inner] = plate.evaluate(plate.probe([[0, 0], [0.5, 0.6]]), {y: steady(plate)}); // prettier-ignore
      expect(inner).to.be.closeTo(10 + 4 - 0.61, 0.02);
      return Math.abs(middle - 14);
    });
    expect(errors[1]).to.be.below(1e-3);
    expect(order(errors)).to.be.above(2.8);
  });

  it('decays in time as the modes of the mesh', () => {
    const [n, dt, steps] = [10, 0.01, 20];
    const slab = heat({
      mesh: box([1], [n]),
      conductivity: 2,
      capacity: 4,
      fixed: ['left', 'right'].map(on => ({on, value: 5})),
    });
    const y = slab.start({T: ([x]) => 5 + Math.sin(Math.PI * x)});
    const path = simulate(slab, {y}, {scheme: trapezoid(), dt, steps, saveAt: 'end'});
    const end = path.values('y').slice(-y.length);
    path.dispose();
    // Linear cells with a lumped capacity: λ = k/c · (2/h)² sin²(πh/2), of which the trapezoidal rule knows the exact step.
    const lambda = (2 / 4) * (2 * n * Math.sin(Math.PI / (2 * n))) ** 2;
    const factor = ((1 - (lambda * dt) / 2) / (1 + (lambda * dt) / 2)) ** steps;
    end.forEach((T, i) => expect(T - 5).to.be.closeTo(factor * (y[i] - 5), 1e-11));
  });

  it('has derivatives by a field of conductivity and by what flows in', () => {
    const wall = heat({
      mesh: box([1, 1], [3, 2]),
      conductivity: ({k}) => k as tf.Tensor,
      capacity: 1,
      fixed: [{on: 'left', value: ({params}) => params.T0 as tf.Tensor}],
      flux: [{on: 'top', value: ({params, X}) => tf.mul(params.q as tf.Tensor, tf.slice(X, [0, 0], [-1, 1]))}],
    });
    const base = {k: [1, 2, 1.5, 0.7, 1.2, 0.9], T0: 3, q: 2};
    const y0 = wall.start({T: 0});
    const weights = y0.map((_, i) => Math.sin(1 + i));
    const {pullback} = equilibrium.vjp(wall, {y: y0}, {params: base});
    const gradient = pullback({y: weights}).params;
    const at = (params: typeof base): number =>
      equilibrium(wall, {y: y0}, {params})
        .values('y')
        .reduce((sum, T, i) => sum + weights[i] * T, 0);
    const h = 1e-4;
    const moved = (s: number): typeof base => ({...base, k: base.k.map((k, i) => (i === 2 ? k + s * h : k))});
    expect((gradient.k as Float64Array)[2]).to.be.closeTo((at(moved(1)) - at(moved(-1))) / (2 * h), 1e-7);
    for (const name of ['T0', 'q'] as const) {
      const difference = (at({...base, [name]: base[name] + h}) - at({...base, [name]: base[name] - h})) / (2 * h);
      expect((gradient[name] as Float64Array)[0], name).to.be.closeTo(difference, 1e-7);
    }
  });

  it('refuses what is wrong, and says where', () => {
    const spec = {mesh: box([1, 1], [2, 2]), conductivity: 1, capacity: 1};
    expect(() => heat({...spec, fixed: [{on: 'lefft', value: 0}]})).to.throw(OptionError, "Did you mean 'left'");
    const twice = ['left', 'top'].map(on => ({on, value: 0}));
    expect(() => heat({...spec, fixed: twice})).to.throw(OptionError, /node 6 at \(0, 1\) is fixed twice/);
    expect(() => heat({...spec, conductivity: -1})).to.throw(
      OptionError,
      'diffusivity of T must be finite and positive',
    );
    expect(() => heat(spec).start({U: 1})).to.throw(OptionError, 'no field U; fields are T');
  });
});

describe('reaction and diffusion', () => {
  it("is the front of Fisher's equation that is known in closed form, with order 2 and 4", () => {
    // u = (1 + e^((x − x₀ − 5t/√6)/√6))⁻² (Ablowitz & Zeppetella, Bull. Math. Biol. 41, 1979).
    const exact = (x: number, t: number): number =>
      (1 + Math.exp((x - 10 - (5 * t) / Math.sqrt(6)) / Math.sqrt(6))) ** -2;
    for (const [cell, expected] of [
      ['line2', 2],
      ['line3', 4],
    ] as const) {
      const errors = [40, 80].map(n => {
        const front = reactionDiffusion({
          mesh: box([40], [n], cell),
          diffusivities: {u: 1},
          reaction: ({values: {u}}) => ({u: tf.mul(u, tf.sub(1, u))}),
        });
        const y = front.start({u: ([x]) => exact(x, 0)});
        const path = simulate(front, {y}, {scheme: radauIIA5(), dt: 0.25, steps: 16, saveAt: 'end'});
        const end = path.values('y').slice(-y.length);
        path.dispose();
        const found = front.evaluate(front.probe([[16], [20]]), {y: end});
        return Math.hypot(found[0] - exact(16, 4), found[1] - exact(20, 4));
      });
      expect(order(errors), cell).to.be.closeTo(expected, 0.4);
    }
  });

  it('takes several fields, some fixed and fed, with derivatives by the constants of a reaction', () => {
    // Gray and Scott's reaction, near its state without v: (1, 0) is steady, and v alone decays by f + k.
    const cells = reactionDiffusion({
      mesh: box([1, 1], [2, 2]),
      diffusivities: {u: 2e-5, v: 1e-5},
      reaction: ({values: {u, v}, params}) => {
        const made = tf.mul(u, tf.square(v));
        const {f, k} = params as {f: tf.Tensor; k: tf.Tensor};
        return {u: tf.sub(tf.mul(f, tf.sub(1, u)), made), v: tf.sub(made, tf.mul(tf.add(f, k), v))};
      },
    });
    const params = {f: 0.04, k: 0.06};
    const y = cells.start({u: 1, v: 1e-8});
    const {trajectory, pullback} = simulate.vjp(
      cells,
      {y},
      {scheme: radauIIA5(), dt: 1, steps: 5, saveAt: 'end', params},
    );
    const end = trajectory.values('y').slice(-y.length);
    end.forEach((value, i) => expect(value).to.be.closeTo(i % 2 === 0 ? 1 : 1e-8 * Math.exp(-0.5), 1e-13));
    const cotangent = new Float64Array(2 * y.length);
    cotangent[2 * y.length - 1] = 1e8;
    expect((pullback({y: cotangent}).params.k as Float64Array)[0]).to.be.closeTo(-5 * Math.exp(-0.5), 1e-5);
    trajectory.dispose();
    const spec = {mesh: box([1], [2]), diffusivities: {u: 1}};
    expect(() => reactionDiffusion({...spec, reaction: () => ({}), conditions: {w: {}}})).to.throw(
      OptionError,
      'has w',
    );
  });
});
