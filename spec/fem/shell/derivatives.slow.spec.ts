/** Derivatives of a shell by thickness, constants and node positions against differences, in statics and dynamics. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, mapped, shell, supports, type ShellSpec} from '../../../fem/index.js';
import {equilibrium, newmark, simulate, type NumericParams, type Params} from '../../../lib/index.js';

/** A vault, clamped at one edge. */
const mesh = mapped(box([1, 1], [2, 2]), ([x, y]) => [Math.sin(x), y, Math.cos(x)]);
const leaf = (params: Params): tf.Tensor => params.p as tf.Tensor;
const number = (params: Params): tf.Tensor => tf.reshape(leaf(params), []);
const cases: {readonly [name: string]: {readonly spec: Partial<ShellSpec>; readonly p: readonly number[]}} = {
  'a thickness by cells': {spec: {thickness: leaf}, p: [0.05, 0.06, 0.07, 0.05]},
  'a stiffness by nodes': {spec: {E: leaf}, p: [20, 21, 22, 23, 24, 25, 26, 27, 28]},
  "Poisson's ratio": {spec: {nu: number}, p: [0.3]},
  'node positions': {
    spec: {points: params => tf.reshape(leaf(params), [9, 3])},
    p: Array.from(mesh.points, (x, i) => x + 0.02 * Math.sin(3 * i)),
  },
};
const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);

describe('derivatives of a shell', function () {
  this.timeout(60_000);
  for (const [name, {spec, p}] of Object.entries(cases)) {
    const body = shell({
      ...{mesh, thickness: 0.05, E: 20, nu: 0.3, density: 1},
      supports: [supports.held('left')],
      loads: [loads.gravity([0, 0, -0.02])],
      ...spec,
    });
    const direction = p.map((x, i) => (name === 'node positions' ? 1 : x) * Math.sin(2 * i + 0.3));
    const cotangent = Float64Array.from(body.free, (_, i) => Math.cos(i));
    const shifted = (h: number): NumericParams => ({p: p.map((x, i) => x + h * direction[i])});
    const difference = (value: (h: number) => number): number => {
      const h = 2e-4;
      return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
    };

    it(`in statics, by ${name}`, () => {
      const {equilibrium: found, pullback} = equilibrium.vjp(body, {q: body.start.q}, {params: {p}});
      const gradient = pullback({q: cotangent}).params.p as Float64Array;
      const slope = difference(h => {
        const at = equilibrium(body, {q: found.values('q')}, {params: shifted(h)});
        const value = dot(at.values('q'), cotangent);
        at.dispose();
        return value;
      });
      expect(dot(gradient, direction) / slope).to.be.closeTo(1, 1e-6);
      found.dispose();
    });

    it(`in dynamics, by ${name}`, () => {
      const options = {scheme: newmark(), dt: 0.1, steps: 3, params: {p}, saveAt: 'end' as const};
      const end = (values: ArrayLike<number>): number => dot(Array.from(values).slice(-cotangent.length), cotangent);
      const {trajectory, pullback} = simulate.vjp(body, body.start, options);
      const padded = new Float64Array(2 * cotangent.length);
      padded.set(cotangent, cotangent.length);
      const gradient = pullback({q: padded}).params.p as Float64Array;
      const along = simulate.jvp(body, body.start, options, {params: {p: direction}});
      const tangent = end(along.tangent.q);
      expect(dot(gradient, direction) / tangent).to.be.closeTo(1, 1e-10);
      const slope = difference(h => {
        const run = simulate(body, body.start, {...options, params: shifted(h)});
        const value = end(run.values('q'));
        run.dispose();
        return value;
      });
      expect(tangent / slope).to.be.closeTo(1, 1e-6);
      along.trajectory.dispose();
      trajectory.dispose();
    });
  }
});
