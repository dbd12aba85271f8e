/** Derivatives of statics and dynamics by fields, constants, node positions and weights against differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, materials, solid, supports, type Body, type SolidSpec} from '../../../fem/index.js';
import {equilibrium, newmark, simulate, type NumericParams, type Params} from '../../../lib/index.js';

const mesh = box([2, 1], [3, 2]);
const cells = 6;
const held = [supports.held('left')];
const push = [loads.traction('right', [0, -0.4])];
const wave = (count: number, scale: number): number[] => Array.from({length: count}, (_, i) => scale * Math.sin(i + 1));

type Case = {readonly spec: Partial<SolidSpec> & Pick<SolidSpec, 'material'>; readonly params: {readonly p: number[]}};
const leaf = (params: Params): tf.Tensor => params.p as tf.Tensor;
const cases: {readonly [name: string]: Case} = {
  'a stiffness by cells': {
    spec: {material: materials.neoHookean({E: leaf, nu: 0.3})},
    params: {p: wave(cells, 1).map(x => 10 + x)},
  },
  'a stiffness by nodes': {
    spec: {material: materials.stVenantKirchhoff({E: leaf, nu: 0.3}), formulation: 'mixed'},
    params: {p: wave(12, 1).map(x => 10 + x)},
  },
  "Poisson's ratio": {
    spec: {material: materials.neoHookean({E: 10, nu: params => tf.reshape(leaf(params), [])}), formulation: 'F-bar'},
    params: {p: [0.35]},
  },
  'plane stress and thickness': {
    spec: {material: materials.neoHookean({E: 10, nu: 0.3}), plane: 'stress', thickness: leaf},
    params: {p: wave(cells, 0.1).map(x => 1 + x)},
  },
  'node positions': {
    spec: {material: materials.neoHookean({E: 10, nu: 0.3}), points: params => tf.reshape(leaf(params), [12, 2])},
    params: {p: Array.from(mesh.points, (x, i) => x + 0.03 * Math.sin(3 * i))},
  },
  'weights of a network': {
    spec: {
      material: materials.neuralMaterial({
        energy: ({I1, I2, J, params}) => {
          const w = leaf(params);
          const weight = (i: number): tf.Tensor => tf.reshape(tf.slice(w, [i], [1]), []);
          const hidden = tf.softplus(tf.addN([tf.mul(weight(0), I1), tf.mul(weight(1), I2), tf.mul(weight(2), J)]));
          return tf.add(tf.mul(weight(3), hidden), tf.mul(weight(4), tf.square(tf.sub(J, 1))));
        },
      }),
    },
    params: {p: [1.5, 0.4, 0.2, 3, 8]},
  },
};

/** Any function of the state: weights times displacements. */
const cotangent = (body: Body): Float64Array => Float64Array.from(body.free, (_, i) => Math.cos(i));
const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);
const shifted = (p: readonly number[], direction: readonly number[], s: number): NumericParams => ({
  p: p.map((x, i) => x + s * direction[i]),
});

describe('derivatives of a body', function () {
  this.timeout(20_000);
  for (const [name, {spec, params}] of Object.entries(cases)) {
    const body = solid({mesh, density: 1, supports: held, loads: push, ...spec});
    const direction = params.p.map((_, i) => Math.sin(2 * i + 0.3));

    it(`in statics, by ${name}`, () => {
      const value = (s: number): number => {
        const found = equilibrium(body, {q: body.start.q}, {params: shifted(params.p, direction, s)});
        const result = dot(found.values('q'), cotangent(body));
        found.dispose();
        return result;
      };
      const {equilibrium: found, pullback} = equilibrium.vjp(body, {q: body.start.q}, {params});
      const gradient = pullback({q: cotangent(body)}).params.p as Float64Array;
      const h = 1e-4;
      const difference = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
      expect(dot(gradient, direction) / difference).to.be.closeTo(1, 1e-6);
      found.dispose();
    });

    it(`in dynamics, by ${name}`, () => {
      const options = {scheme: newmark(), dt: 0.1, steps: 4, params, saveAt: 'end' as const};
      const end = (values: ArrayLike<number>): number =>
        dot(Array.from(values).slice(-body.free.length), cotangent(body));
      const {trajectory, pullback} = simulate.vjp(body, body.start, options);
      const padded = new Float64Array(2 * body.free.length);
      padded.set(cotangent(body), body.free.length);
      const gradient = pullback({q: padded}).params.p as Float64Array;
      const along = simulate.jvp(body, body.start, options, {params: {p: direction}});
      const tangent = end(along.tangent.q);
      expect(dot(gradient, direction) / tangent).to.be.closeTo(1, 1e-10);
      const value = (s: number): number => {
        const run = simulate(body, body.start, {...options, params: shifted(params.p, direction, s)});
        const result = end(run.values('q'));
        run.dispose();
        return result;
      };
      const h = 1e-4;
      const difference = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
      expect(tangent / difference).to.be.closeTo(1, 1e-6);
      along.trajectory.dispose();
      trajectory.dispose();
    });
  }
});
