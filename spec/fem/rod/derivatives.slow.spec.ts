/** Derivatives of rods in statics and dynamics by each coefficient and node positions, against differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {loads, rod, supports, type RodSpec} from '../../../fem/index.js';
import {equilibrium, newmark, simulate, type NumericParams, type Params} from '../../../lib/index.js';

const count = 4;
const arc = Array.from({length: count + 1}, (_, i) => [Math.sin(i / count), 1 - Math.cos(i / count), 0.1 * i]);
const leaf = (params: Params): tf.Tensor => params.p as tf.Tensor;
const entry = (i: number) => (params: Params) => tf.reshape(tf.slice(leaf(params), [i], [1]), []);
const wave = (scale: number): number[] => Array.from({length: count}, (_, i) => 1 + scale * Math.sin(i + 1));

const cases: {readonly [name: string]: {readonly spec: Partial<RodSpec>; readonly p: readonly number[]}} = {
  'EI about two axes': {spec: {EI: [entry(0), entry(1)]}, p: [1.2, 0.8]},
  'EA by elements': {spec: {EA: leaf}, p: wave(0.3).map(x => 40 * x)},
  'GJ by elements': {spec: {GJ: leaf}, p: wave(0.3)},
  'GA by nodes': {spec: {GA: {nodes: leaf}}, p: [...wave(0.2), 1].map(x => 30 * x)},
  'rest curvature': {spec: {restCurvature: [entry(0), entry(1), entry(2)]}, p: [0.3, -0.2, 0.7]},
  'node positions': {spec: {points: params => tf.reshape(leaf(params), [count + 1, 3])}, p: arc.flat()},
};

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);

describe('derivatives of a rod', function () {
  this.timeout(30_000);
  for (const [name, {spec, p}] of Object.entries(cases)) {
    const body = rod({
      centreline: arc,
      EA: 40,
      EI: [1, 2],
      GJ: 0.7,
      density: 1,
      supports: [supports.held('start')],
      loads: [loads.pointLoad('end', [0.3, 0.5, -0.4]), loads.pointMoment('end', [0.2, 0, 0.3])],
      ...spec,
    });
    const cotangent = Float64Array.from(body.free, (_, i) => Math.cos(i));
    const direction = p.map((_, i) => Math.sin(2 * i + 0.3));
    const at = (s: number): NumericParams => ({p: p.map((x, i) => x + s * direction[i])});
    const difference = (value: (s: number) => number, h = 1e-3): number =>
      (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);

    it(`in statics, by ${name}`, () => {
      const {equilibrium: found, pullback} = equilibrium.vjp(body, {q: body.start.q}, {params: at(0)});
      const slope = dot(pullback({q: cotangent}).params.p as Float64Array, direction);
      const value = (s: number): number => {
        const rest = equilibrium(body, {q: found.values('q')}, {params: at(s)});
        const result = dot(rest.values('q'), cotangent);
        rest.dispose();
        return result;
      };
      expect(slope / difference(value)).to.be.closeTo(1, 1e-6);
      found.dispose();
    });

    it(`in dynamics, by ${name}`, () => {
      const n = cotangent.length;
      const options = {scheme: newmark(), dt: 0.1, steps: 4, saveAt: 'end' as const};
      const end = (values: ArrayLike<number>): number => dot(Array.from(values).slice(-n), cotangent);
      const {trajectory, pullback} = simulate.vjp(body, body.start, {...options, params: at(0)});
      const padded = new Float64Array(2 * n);
      padded.set(cotangent, n);
      const slope = dot(pullback({q: padded}).params.p as Float64Array, direction);
      const along = simulate.jvp(body, body.start, {...options, params: at(0)}, {params: {p: direction}});
      expect(slope / end(along.tangent.q)).to.be.closeTo(1, 1e-10);
      const value = (s: number): number => {
        const run = simulate(body, body.start, {...options, params: at(s)});
        const result = end(run.values('q'));
        run.dispose();
        return result;
      };
      expect(slope / difference(value)).to.be.closeTo(1, 1e-6);
      along.trajectory.dispose();
      trajectory.dispose();
    });
  }
});
