/** Published problems of rods: the 45° bend, buckling loads, and a cantilever's vibration. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {loads, meshOf, rod, supports, type Rod} from '../../../fem/index.js';
import {equilibrium, full, modes, newmark, newton, simulate, type NumericParams} from '../../../lib/index.js';

const straight = (n: number, d: 2 | 3): number[][] => Array.from({length: n + 1}, (_, i) => [i / n, 0, 0].slice(0, d));
const scalar = (value: unknown): tf.Tensor => tf.reshape(value as tf.Tensor, []);

/** A state of rest, found from another. */
function rest(body: Rod, from: Float64Array, params: NumericParams): Float64Array {
  const found = equilibrium(body, {q: from}, {params});
  const q = found.values('q');
  found.dispose();
  return q;
}

/** The smallest ω² of a body in equilibrium. */
const least = (body: Rod, params: NumericParams, from: Float64Array = body.start.q): number =>
  modes(body, {q: rest(body, from, params)}, {params, count: 3, shift: -1}).eigenvalues[0];

/** Where ω² vanishes: the parabola through its values at three loads, none of them critical, as a function of ω². */
function critical(squares: (load: number) => number, loads: readonly [number, number, number]): number {
  const y = loads.map(squares);
  return loads.reduce(
    (sum, x, i) => sum + y.reduce((share, value, k) => (k === i ? share : (share * value) / (value - y[i])), x),
    0,
  );
}

describe('published problems of rods', function () {
  this.timeout(60_000);

  it('the 45° bend of Bathe and Bolourchi', () => {
    const body = rod({
      centreline: Array.from({length: 17}, (_, i) => (i * Math.PI) / 64).map(s => [
        100 * Math.sin(s),
        100 * (1 - Math.cos(s)),
        0,
      ]),
      EA: 1e7,
      EI: 1e7 / 12,
      // A square of side 1: 0.1406 is its torsion constant (Timoshenko & Goodier), 5/6 its shear correction.
      GJ: 0.5e7 * 0.1406,
      GA: (0.5e7 * 5) / 6,
      density: 1,
      supports: [supports.held('start')],
      loads: [loads.pointLoad('end', ({t}) => tf.mul(t, [0, 0, 600]))],
    });
    const q = equilibrium(body, {q: body.start.q}, {t1: 1, loadSteps: 12}).values('q');
    const [x, y, z] = body.evaluate(at => body.displacement(at), {q, t: 1}).slice(-3);
    expect(x / -23.6459716).to.be.closeTo(1, 0.01);
    expect(y / -13.7208006).to.be.closeTo(1, 0.01);
    expect(z / 53.5776451).to.be.closeTo(1, 0.01);
  });

  it("Euler's column: π² EI/(4 L²), with order two", () => {
    const error = (n: number): number => {
      const column = rod({
        centreline: straight(n, 2),
        EA: 1e6,
        EI: 1,
        density: 1,
        supports: [supports.held('start')],
        loads: [loads.pointLoad('end', ({params}) => tf.mul(scalar(params.P), [-1, 0]))],
      });
      return critical(P => least(column, {P}), [2.35, 2.4, 2.45]) / (Math.PI ** 2 / 4) - 1;
    };
    const [coarse, fine] = [8, 16].map(error);
    expect(fine).to.be.within(0, 1e-3);
    expect(Math.log2(coarse / fine)).to.be.closeTo(2, 0.05);
  });

  it("Michell's ring: a twist of 2π√3 EI/GJ", () => {
    const GJ = 0.8;
    const error = (n: number): number => {
      const angles = Array.from({length: n}, (_, i) => (2 * Math.PI * i) / n);
      const ring = rod({
        centreline: meshOf({
          points: angles.map(s => [Math.cos(s), Math.sin(s), 0]),
          cells: {line2: angles.map((_, i) => [i, (i + 1) % n])},
        }),
        EA: 1e5,
        EI: 1,
        GJ,
        density: 1,
        // Straight without load, and twisted.
        restCurvature: [({twist}) => tf.div(scalar(twist), -2 * n * Math.sin(Math.PI / n)), 0, 0],
        // The second support keeps the ring from turning inside out, which costs it nothing.
        supports: [supports.held([0]), supports.held([n / 2], ['z'])],
      });
      const twist = (share: number): NumericParams => ({twist: (share * 2 * Math.PI * Math.sqrt(3)) / GJ});
      let q = ring.start.q as Float64Array;
      for (const share of [0.3, 0.6, 0.9]) q = rest(ring, q, twist(share));
      return critical(share => least(ring, twist(share), q), [0.96, 0.98, 1]) - 1;
    };
    const [coarse, fine] = [16, 32].map(error);
    expect(fine).to.be.within(0, 0.01);
    expect(Math.log2(coarse / fine)).to.be.closeTo(2, 0.15);
  });

  it("Greenhill's rod under tension T and torque M, clamped: EI w'''' − i M w''' − T w'' = 0", () => {
    const T = 20;
    /** Zero where 1, s, exp(i a s) and exp(i b s) combine to a deflection with clamped ends. */
    const determinant = (M: number): number => {
      const spread = Math.sqrt(M * M - 4 * T);
      const [a, b] = [(M + spread) / 2, (M - spread) / 2];
      return (2 * Math.sin(a / 2) * Math.sin(b / 2)) / T - Math.sin((a - b) / 2) / spread;
    };
    let [M, above] = [11, 14];
    for (let k = 0; k < 50; k++) {
      const middle = (M + above) / 2;
      if (determinant(middle) * determinant(M) > 0) M = middle;
      else above = middle;
    }
    const n = 32;
    const body = rod({
      centreline: straight(n, 3),
      EA: 1e6,
      EI: 1,
      GJ: 0.5,
      density: 1,
      restCurvature: [({share}) => tf.mul(scalar(share), -M / 0.5), 0, 0],
      supports: [supports.held('start'), supports.held('end', ['y', 'z', 'rx', 'ry', 'rz'])],
      loads: [loads.pointLoad('end', [T, 0, 0])],
    });
    const share = critical(share => least(body, {share}), [0.96, 0.975, 0.99]);
    expect(share).to.be.closeTo(1, 0.01);
  });

  it('a cantilever vibrates at 1.8751² √(EI/ρA)/L², by its modes and by Newmark', () => {
    const body = rod({centreline: straight(16, 2), EA: 1e5, EI: 1, density: 1, supports: [supports.held('start')]});
    const exact = 1.8751040687119611 ** 2;
    const {frequencies, shapes} = modes(body, {q: body.start.q}, {count: 1});
    expect(frequencies[0] / exact).to.be.closeTo(1, 5e-3);
    // From the first mode it returns to it after one period, as far as the steps' order allows.
    const steps = 100;
    const q = shapes[0].map(x => 1e-3 * x);
    const period = (2 * Math.PI) / frequencies[0];
    const run = simulate(
      body,
      {q, v: body.start.v},
      {scheme: newmark(), dt: period / steps, steps, saveAt: 'end', newton: newton({step: full()})},
    );
    const end = run.values('q').slice(-q.length);
    const at = q.length - 2;
    expect(end[at] / q[at]).to.be.closeTo(1, 1e-3);
    run.dispose();
  });
});
