/** Chains: the reference problem W1, modes and equilibria in closed form. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {equilibrium, implicitMidpoint, newton, simulate} from '../../lib/index.js';
import type {ChainSpec} from '../../models/chain.js';
import {chain} from '../../models/index.js';
import {springs} from '../../models/springs.js';
import {draw, largest, norm, relative, stream} from '../simulate/numbers.js';
import {forcesOf, gradientOf} from './evaluate.js';

const zeros = (n: number): {q: Float64Array; v: Float64Array} => ({q: new Float64Array(n), v: new Float64Array(n)});

describe('chain', () => {
  // W1: n unit masses, springs k(d + ½d³) with k = 1e4, damping 0.1, gravity 1, implicit midpoint,
  // dt = 0.01, 200 steps from rest; loss Σ(q² + v²). Computed alike by hand-written C, CasADi and diffrax.
  for (const {n, loss, gradient} of [
    {n: 8, loss: '0.010095', gradient: '1.28007e-5'},
    {n: 32, loss: '0.227852', gradient: '3.42961e-5'},
    {n: 128, loss: '154.157002', gradient: '2.68554e-3'},
  ]) {
    it(`is W1 at n = ${n}: loss ${loss}, gradient norm ${gradient}`, () => {
      const system = chain({count: n, stiffness: params => params.k as tf.Tensor, cubic: 0.5, drag: 0.1, g: 1});
      const {trajectory, pullback} = simulate.vjp(system, zeros(n), {
        scheme: implicitMidpoint(),
        dt: 0.01,
        steps: 200,
        saveAt: 'end',
        params: {k: new Float64Array(n).fill(1e4)},
      });
      const [q, v] = [trajectory.values('q'), trajectory.values('v')];
      trajectory.dispose();
      expect((norm(q) ** 2 + norm(v) ** 2).toFixed(6)).to.equal(loss);
      expect(
        norm(pullback({q: q.map(x => 2 * x), v: v.map(x => 2 * x)}).params.k as Float64Array).toExponential(5),
      ).to.equal(gradient);
    });
  }

  describe('hanging', () => {
    it('each spring carries what hangs below it: linear, one stiffness and mass each', () => {
      const [stiffness, mass, g] = [[50, 40, 30, 20], [1, 2, 3, 4], 9.81];
      const rest = equilibrium(chain({count: 4, stiffness, mass, g}), {q: new Float64Array(4)});
      let q = 0;
      const expected = stiffness.map((k, i) => (q += (mass.slice(i).reduce((sum, m) => sum + m, 0) * g) / k));
      expect(relative(rest.values('q'), expected)).to.be.below(1e-14);
      rest.dispose();
    });

    it('hardening springs: each elongation solves k(e + c e³) = weight, by Cardano', () => {
      const [n, k, c, g] = [6, 20, 0.5, 9.81];
      const rest = equilibrium(chain({count: n, stiffness: k, cubic: c, g}), {q: new Float64Array(n)});
      let q = 0;
      const expected = Array.from({length: n}, (_, i) => {
        // e³ + e/c = T/(kc) has one real root, 2√(1/3c) sinh(⅓ arsinh(…)).
        const half = ((n - i) * g) / (2 * k * c);
        const third = 1 / (3 * c);
        return (q += 2 * Math.sqrt(third) * Math.sinh(Math.asinh(half / third ** 1.5) / 3));
      });
      expect(relative(rest.values('q'), expected)).to.be.below(1e-13);
      rest.dispose();
    });

    it('between two walls it is a parabola: q_i = (m g / 2k)(i + 1)(n − i)', () => {
      const [n, k, g] = [9, 300, 9.81];
      const rest = equilibrium(chain({count: n, stiffness: k, g, ends: 'fixed-fixed'}), {q: new Float64Array(n)});
      expect(
        relative(
          rest.values('q'),
          Array.from({length: n}, (_, i) => (g / (2 * k)) * (i + 1) * (n - i)),
        ),
      ).to.be.below(1e-13);
      rest.dispose();
    });
  });

  describe('modes of a linear chain', () => {
    const [n, k, m] = [7, 40, 0.5];
    const shapes: {readonly [ends in NonNullable<ChainSpec['ends']>]: (i: number) => {angle: number; shape: number}} = {
      // ω = 2√(k/m) sin(angle/2): the wave whose displacement or tension vanishes at the ends, third of each.
      'fixed-fixed': i => ({angle: (3 * Math.PI) / (n + 1), shape: Math.sin(((3 * Math.PI) / (n + 1)) * (i + 1))}),
      'fixed-free': i => ({
        angle: (5 * Math.PI) / (2 * n + 1),
        shape: Math.sin(((5 * Math.PI) / (2 * n + 1)) * (i + 1)),
      }),
      free: i => ({angle: (3 * Math.PI) / n, shape: Math.cos(((3 * Math.PI) / n) * (i + 0.5))}),
    };
    for (const ends of ['fixed-free', 'fixed-fixed', 'free'] as const) {
      it(`${ends}: a mode stays itself, its phase per step 2 arctan(ωh/2)`, () => {
        const omega = 2 * Math.sqrt(k / m) * Math.sin(shapes[ends](0).angle / 2);
        const mode = Float64Array.from({length: n}, (_, i) => shapes[ends](i).shape);
        const [dt, steps] = [0.05, 100];
        const trajectory = simulate(
          chain({count: n, stiffness: k, mass: m, ends}),
          {q: mode, v: new Float64Array(n)},
          {scheme: implicitMidpoint(), dt, steps, saveAt: 'end'},
        );
        const expected = mode.map(x => x * Math.cos(steps * 2 * Math.atan((omega * dt) / 2)));
        // Midpoint is the Cayley transform on a linear system; 100 steps of rounding.
        expect(relative(trajectory.values('q').slice(n), expected)).to.be.below(1e-12);
        trajectory.dispose();
      });
    }
  });

  it('is springs between neighbours: the same forces and energy from edges', () => {
    const n = 5;
    const next = stream(5);
    const [q, v] = [draw(next, n), draw(next, n)];
    const byEdges = springs({
      edges: [
        [n, 0],
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4],
        [4, n + 1],
      ],
      stiffness: [1, 2, 3, 4, 5, 6],
      cubic: 0.3,
      fixed: [0, 0],
    });
    const system = chain({count: n, stiffness: [1, 2, 3, 4, 5, 6], cubic: 0.3, ends: 'fixed-fixed'});
    const expected = gradientOf(byEdges.energy, {q, v}).map(x => -x);
    expect(relative(forcesOf(system, {q, v}), expected)).to.be.below(1e-14);
    // The kinetic part does not depend on q.
    expect(
      relative(
        gradientOf(system.energy, {q, v}).map(x => -x),
        expected,
      ),
    ).to.be.below(1e-14);
  });

  it('a free chain keeps its momentum, damped inside or not', () => {
    const n = 6;
    const next = stream(6);
    const system = chain({count: n, stiffness: 30, cubic: 1, damping: 5, ends: 'free', mass: 2});
    const start = {q: draw(next, n), v: draw(next, n)};
    const trajectory = simulate(system, start, {
      dt: 0.05,
      t1: 60,
      saveAt: 'end',
      newton: newton({tolerance: {absolute: 1e-14, relative: 1e-14}}),
    });
    const momentum = (values: Float64Array): number => values.reduce((sum, x) => sum + 2 * x, 0);
    expect(momentum(trajectory.values('v').slice(n))).to.be.closeTo(momentum(start.v), 1e-12);
    // What is left is a rigid motion: the slowest mode, 2(1 − cos π/6) = 0.27, has decayed by e^(−5 · 0.27 · 60 / 4) = 2e-9.
    const v = trajectory.values('v').slice(n);
    expect(largest(v.map(x => x - momentum(start.v) / 2 / n))).to.be.below(1e-7);
    trajectory.dispose();
  });

  it('has a tridiagonal Jacobian at any length', () => {
    const trajectory = simulate(
      chain({count: 300, stiffness: 30, cubic: 1, damping: 0.7, drag: 0.1, g: 1}),
      zeros(300),
      {dt: 0.05, steps: 1},
    );
    expect(trajectory.stats.linear).to.equal('tridiagonal');
    trajectory.dispose();
  });
});
