/** Frequencies of bodies against closed forms, by order; consistent masses; free vibration at these frequencies. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, materials, solid, supports, type SolidSpec} from '../../fem/index.js';
import {equilibrium, generalizedAlpha, modes, newmark, OptionError, simulate} from '../../lib/index.js';

/** A bar of length 1 that can only stretch: ω = (k − 1/2) π with E = ρ = 1. */
const bar = (n: number, cell: 'quad4' | 'quad9', mass: 'lumped' | 'consistent', more: Partial<SolidSpec> = {}) =>
  solid({
    mesh: box([1, 0.1], [n, 1], cell),
    material: materials.linearElastic({E: 1, nu: 0}),
    density: 1,
    mass,
    supports: [supports.held('left'), supports.held(([x]) => x > 0, ['y'])],
    ...more,
  });

describe('modes of bodies', () => {
  it('converge for a bar, from above with a consistent mass and from below with a lumped one', () => {
    const error = (n: number, cell: 'quad4' | 'quad9', mass: 'lumped' | 'consistent'): number => {
      const body = bar(n, cell, mass);
      return modes(body, body.start, {count: 2}).frequencies[1] / (1.5 * Math.PI) - 1;
    };
    for (const [cell, mass, sign, order] of [
      ['quad4', 'consistent', 1, 2],
      ['quad4', 'lumped', -1, 2],
      ['quad9', 'consistent', 1, 4],
      ['quad9', 'lumped', -1, 4],
    ] as const) {
      const [coarse, fine] = [error(8, cell, mass), error(16, cell, mass)];
      expect([Math.sign(coarse), Math.sign(fine)], `${cell}, ${mass}`).to.deep.equal([sign, sign]);
      expect(Math.log2(coarse / fine), `${cell}, ${mass}`).to.be.closeTo(order, 0.15);
    }
    // ω² = 6/h² (1 − cos θ)/(2 + cos θ) and 2/h² (1 − cos θ) with θ = ωh: Hughes, The Finite Element Method, §9.2.
    const [h, theta] = [1 / 8, (1.5 * Math.PI) / 8];
    const c = 1 - Math.cos(theta);
    expect(error(8, 'quad4', 'consistent')).to.be.closeTo(
      Math.sqrt((6 * c) / (2 + Math.cos(theta))) / theta - 1,
      1e-11,
    );
    expect(error(8, 'quad4', 'lumped')).to.be.closeTo(Math.sqrt(2 * c) / theta - 1, 1e-11);
    expect(h * 8).to.equal(1);
  });

  it('are those of a cantilever by Timoshenko', () => {
    const [length, E] = [40, 1];
    const beam = solid({
      mesh: box([length, 1], [60, 1], 'quad9'),
      material: materials.linearElastic({E, nu: 0}),
      density: 1,
      plane: 'stress',
      mass: 'consistent',
      supports: [supports.held('left')],
    });
    const {frequencies, warnings} = modes(beam, beam.start, {count: 2});
    expect(warnings).to.deep.equal([]);
    [1.875104068711961, 4.694091132974175].forEach((root, i) => {
      const thin = (root / length) ** 2 * Math.sqrt(E / 12);
      expect(frequencies[i]).to.be.below(thin);
      // Shear cannot warp the section that is held, which Timoshenko leaves out: a share of (h/L)².
      expect(frequencies[i] / timoshenko(thin, length, E), `mode ${i}`).to.be.closeTo(1, 5e-4);
    });
  });

  it('are frequencies of free vibration by the schemes, whose starts solve with the consistent mass', () => {
    const body = bar(6, 'quad9', 'consistent');
    const {frequencies, shapes} = modes(body, body.start, {count: 2});
    const [omega, shape] = [frequencies[1], shapes[1]];
    const state = {q: shape, v: new Float64Array(shape.length)};
    /** How far along the mode the body is after so many steps of which `period` make a period. */
    const after = (scheme: ReturnType<typeof newmark>, period: number, steps = period): number => {
      const dt = (2 * Math.PI) / omega / period;
      const path = simulate(body, state, {scheme, dt, steps, saveAt: 'end'});
      const values = path.values('q');
      path.dispose();
      const end = values.slice(values.length / 2);
      const [along, size] = [end, shape].map(x => x.reduce((sum, value, i) => sum + value * shape[i], 0));
      expect(Math.hypot(...end.map((x, i) => x - (along / size) * shape[i]))).to.be.below(1e-8 * Math.hypot(...shape));
      return along / size;
    };
    // The trapezoidal rule turns by 2 atan(ωh/2) in a step.
    for (const steps of [20, 40]) {
      const turned = 2 * steps * Math.atan(Math.PI / steps);
      expect(after(newmark(), steps)).to.be.closeTo(Math.cos(turned), 1e-9);
    }
    // A quarter of a period later it is in the middle, but for the error of the phase.
    const error = [40, 80].map(period => after(generalizedAlpha({rhoInf: 0.9}), period, 1.25 * period));
    expect(Math.log2(error[0] / error[1])).to.be.closeTo(2, 0.3);
  });

  it('stiffen with tension: a held strip as a string', () => {
    // ω = (π/L) √(T/(ρA)) of a string; the strip's own bending adds (πh/L)²E/(12 σ) to ω².
    const [length, stretch, E] = [20, 0.02, 1];
    const strip = solid({
      mesh: box([length, 0.2], [16, 1], 'quad9'),
      material: materials.stVenantKirchhoff({E, nu: 0}),
      density: 1,
      plane: 'stress',
      mass: 'consistent',
      supports: [supports.held('left'), supports.prescribed('right', ({X}) => tf.mul(X, [stretch, 0]))],
    });
    const rest = equilibrium(strip, {q: strip.start.q}).values('q');
    const found = modes(strip, {q: rest}, {count: 1});
    // Nominal stress E λ (λ² − 1)/2; the length is that of now, the mass that of the reference.
    const lambda = 1 + stretch;
    const tension = (E * lambda * (lambda ** 2 - 1)) / 2;
    const string = (Math.PI / length) * Math.sqrt(tension / lambda);
    const bending = (Math.PI / length) ** 2 * 0.2 * Math.sqrt(E / 12);
    // Clamped ends shorten a stiff string: ω is above, by 2/L √(EI/T) of itself to first order (Fletcher 1964).
    const ends = 1 + (2 / length) * Math.sqrt((E * 0.2 ** 2) / 12 / tension);
    expect(found.frequencies[0] / (Math.hypot(string, bending) * ends)).to.be.closeTo(1, 0.02);
    expect(found.frequencies[0]).to.be.above(4 * modes(strip, strip.start, {count: 1}).frequencies[0]);
  });

  it('have derivatives by fields of stiffness and density', () => {
    const body = bar(5, 'quad9', 'consistent', {
      material: materials.linearElastic({E: ({E}) => E as tf.Tensor, nu: 0}),
      density: ({rho}) => rho as tf.Tensor,
    });
    const params = {E: [1, 1.2, 0.9, 1.1, 1.3], rho: [1, 0.8, 1.2, 0.9, 1.1]};
    const {pullback} = modes.vjp(body, body.start, {count: 2, params});
    const gradient = pullback({frequencies: [0.3, 1]}).params;
    const at = (changed: typeof params): number => {
      const {frequencies} = modes(body, body.start, {count: 2, params: changed});
      return 0.3 * frequencies[0] + frequencies[1];
    };
    for (const name of ['E', 'rho'] as const)
      for (const cell of [0, 3]) {
        const moved = (by: number): typeof params => ({
          ...params,
          [name]: params[name].map((x, i) => (i === cell ? x + by : x)),
        });
        const difference = (at(moved(1e-4)) - at(moved(-1e-4))) / 2e-4;
        expect((gradient[name] as Float64Array)[cell], `${name} ${cell}`).to.be.closeTo(difference, 1e-7);
      }
  });
});

describe('masses of bodies', () => {
  it('move with supports: a shaken base is a force of inertia in its frame', () => {
    const shake = (t: tf.Tensor): tf.Tensor => tf.sub(1, tf.cos(tf.mul(3, t)));
    const options = {damping: {mass: 0.2}, supports: [supports.held(() => true, ['y'])]};
    const shaken = bar(4, 'quad9', 'consistent', {
      ...options,
      supports: [...options.supports, supports.prescribed('left', ({X, t}) => tf.mul(tf.onesLike(X), shake(t)), ['x'])],
    });
    const framed = bar(4, 'quad9', 'consistent', {
      ...options,
      supports: [...options.supports, supports.held('left', ['x'])],
      loads: [
        loads.gravity(({t}) => {
          const inertia = tf.add(tf.mul(9, tf.cos(tf.mul(3, t))), tf.mul(0.2 * 3, tf.sin(tf.mul(3, t))));
          return tf.stack([tf.neg(tf.reshape(inertia, [])), tf.zeros([])]);
        }),
      ],
    });
    // The scheme does not see the same function: the base moves exactly in one, and by forces in the other.
    const difference = (steps: number): number => {
      const [absolute, relative] = [shaken, framed].map(body => {
        const path = simulate(body, body.start, {scheme: newmark(), dt: 2 / steps, steps, saveAt: 'end'});
        const values = path.values('q');
        path.dispose();
        return values.slice(values.length / 2);
      });
      return Math.max(...absolute.map((q, i) => Math.abs(q - relative[i] - (1 - Math.cos(6)))));
    };
    const [coarse, fine] = [difference(80), difference(160)];
    expect(fine).to.be.below(1e-3);
    expect(Math.log2(coarse / fine)).to.be.closeTo(2, 0.1);
  });

  it('may be left out of statics alone', () => {
    const spec = {
      mesh: box([1, 1], [1, 1]),
      material: materials.linearElastic({E: 1, nu: 0}),
      supports: [supports.held('left')],
    };
    const body = solid({...spec, loads: [loads.traction('right', [0.1, 0])]});
    expect(Math.max(...equilibrium(body, {q: body.start.q}).values('q'))).to.be.closeTo(0.1, 1e-12);
    expect(() => simulate(body, body.start, {dt: 1, steps: 1})).to.throw(OptionError, 'a density');
    expect(() => modes(body, body.start)).to.throw(OptionError, 'a density');
    const falling = solid({...spec, loads: [loads.gravity([0, -1])]});
    expect(() => equilibrium(falling, {q: falling.start.q})).to.throw(OptionError, 'gravity needs a density');
    expect(() => solid({...spec, damping: {mass: 1}})).to.throw(OptionError, 'damping.mass needs a density');
  });
});

/** The least ω of a cantilever of height and density 1 near a guess above it: a root of the transfer matrix's minor. */
function timoshenko(guess: number, length: number, E: number): number {
  const shear = ((5 / 6) * E) / 2;
  /** Of w' = ψ + V/(κGA), ψ' = M/(EI), M' = −V − ρIω²ψ, V' = −ρAω²w the free end's M and V by those of the held one. */
  const minor = (omega: number): number => {
    const rate = ([w, psi, M, V]: number[]): number[] => [
      psi + V / shear,
      (12 * M) / E,
      -V - (omega ** 2 / 12) * psi,
      -(omega ** 2) * w,
    ];
    const steps = 400;
    const [a, b] = [
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ].map(start => {
      let x = start;
      for (let i = 0; i < steps; i++) {
        // A Taylor step of fourth order.
        let term = x;
        for (let k = 1, next = x; k <= 4; k++, x = next) {
          term = rate(term).map(value => (value * length) / steps / k);
          next = next.map((value, j) => value + term[j]);
        }
      }
      return x;
    });
    return a[2] * b[3] - a[3] * b[2];
  };
  let [low, high] = [0.8 * guess, guess];
  expect(minor(low) * minor(high)).to.be.below(0);
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (minor(low) * minor(middle) <= 0) high = middle;
    else low = middle;
  }
  return low;
}
