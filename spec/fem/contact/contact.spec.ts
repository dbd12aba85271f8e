/** Contact of bodies: its law, friction, surfaces against surfaces, and what it refuses. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, obstacles, loads, materials, solid, supports, type Body, type ContactSpec} from '../../../fem/index.js';
import {backtracking, equilibrium, implicitEuler, newton, OptionError, simulate} from '../../../lib/index.js';
import {twoParts} from './two-parts.js';

const floor = (height: number): ContactSpec['with'] => obstacles.halfSpace({point: [0, height], normal: [0, 3]});
const reach = 0.01;
const total = (values: ArrayLike<number>, axis: number): number =>
  Array.from(values).reduce((sum, x, i) => sum + (i % 2 === axis ? x : 0), 0);

describe('contact', function () {
  this.timeout(20_000);

  it('presses as the law says, in statics', () => {
    const touch = loads.contact('bottom', {with: floor(0), reach, stiffness: 1e4});
    const column = solid({
      mesh: box([1, 2], [2, 2]),
      material: materials.linearElastic({E: 100, nu: 0}),
      density: 1,
      thickness: 0.5,
      supports: [supports.prescribed('top', () => tf.tensor1d([0, -0.1]))],
      loads: [touch],
    });
    const q = equilibrium(column, {q: column.start.q}).values('q');
    const read = (of: (typeof touch)['gap']): Float64Array => column.evaluate(at => of(column, at), {q});
    const [gaps, pressures, forces] = [touch.gap, touch.pressure, touch.forces].map(read);
    // Shortened by 0.1 + gap, E/L = 50, it presses with what the barrier κ d̂ (1 − s)²/s gives at that gap.
    for (let i = 0; i < gaps.length; i++) {
      const s = gaps[i] / reach;
      expect(pressures[i]).to.be.closeTo((100 * (1 - s) ** 2) / s, 1e-9);
      expect(pressures[i]).to.be.closeTo(50 * (0.1 + gaps[i]), 1e-5);
    }
    const held = column.evaluate(at => column.reaction(at), {q});
    expect(total(forces, 1)).to.be.closeTo(pressures[0] / 2, 1e-9);
    expect(total(held, 1)).to.be.closeTo(-pressures[0] / 2, 1e-6);
  });

  // κ d̂ = 100 carries the weight of 5 by area at s = 0.8, where (1 − s)²/s = 1/20.
  const rough = {with: floor(-0.8 * reach), reach, stiffness: 1e4, slip: 1e-3};
  const block = (friction: number, weight: readonly number[]): Body =>
    solid({
      mesh: box([1, 0.5], [2, 1]),
      material: materials.linearElastic({E: 1e4, nu: 0.3}),
      density: 1,
      loads: [loads.contact('bottom', {...rough, friction}), loads.gravity(weight)],
      // Against its shear waves, which a sudden stop excites.
      damping: {stiffness: 0.005},
    });
  const moving = (body: Body, v: number): {q: Float64Array; v: Float64Array} => ({
    q: body.start.q,
    v: body.start.v.map((_, i) => (i % 2 === 0 ? v : 0)),
  });
  const options = {scheme: implicitEuler(), newton: newton({step: backtracking()}), dt: 0.005};
  /** Mean velocities of all nodes after each step, and of those at the bottom at the end. */
  const slide = (body: Body, v: number, steps: number): {means: number[]; bottom: number} => {
    const run = simulate(body, moving(body, v), {...options, steps});
    const values = run.values('v');
    run.dispose();
    const at = (k: number): Float64Array => values.subarray(k * body.free.length, (k + 1) * body.free.length);
    return {
      means: Array.from({length: steps + 1}, (_, k) => total(at(k), 0) / (body.free.length / 2)),
      bottom: total(at(steps).subarray(0, 6), 0) / 3,
    };
  };

  it("slows a block by Coulomb's friction until it stops", () => {
    const {means, bottom} = slide(block(0.4, [0, -10]), 1, 120);
    for (const k of [10, 20, 30, 40]) expect(means[k]).to.be.closeTo(1 - 4 * k * options.dt, 0.004);
    expect(Math.abs(bottom)).to.be.below(1e-4);
    // v₀²/(2 μ g), less v₀ h/2 by the implicit Euler method.
    const way = means.slice(1).reduce((sum, v) => sum + v * options.dt, 0);
    expect(way).to.be.closeTo(1 / 8 - options.dt / 2, 1e-3);
  });

  it('lets a block creep on a slope below the angle of friction', () => {
    // A share of 3/5 of the friction: w = ε (3/5)/√(1 − (3/5)²) = 3/4 ε.
    expect(slide(block(0.5, [3, -10]), 0, 240).bottom).to.be.closeTo(0.75e-3, 2e-6);
  });

  it('lets a block slide on a slope above the angle of friction', () => {
    expect(slide(block(0.2, [3, -10]), 0, 60).means[60]).to.be.closeTo(0.3, 3e-3);
  });

  it('holds surface against surface, force against force', () => {
    const tensors = tf.memory().numTensors;
    const mesh = twoParts(box([3, 1], [3, 1]), box([1, 1], [2, 1]), [1.2, 1 + reach]);
    const touch = loads.contact('upper bottom', {with: 'lower top', reach, stiffness: 1e4});
    const pair = solid({
      mesh,
      material: materials.neoHookean({E: 100, nu: 0.3}),
      density: 1,
      supports: [supports.held('lower bottom'), supports.prescribed('upper top', () => tf.tensor1d([0, -0.1]))],
      loads: [touch],
    });
    const rest = equilibrium(pair, {q: pair.start.q});
    const q = rest.values('q');
    rest.dispose();
    const [held, forces, places] = [
      pair.reaction,
      (at: never) => touch.forces(pair, at),
      (at: never) => touch.places(pair, at),
    ].map(of => pair.evaluate(of as never, {q}));
    const down = mesh.sets.nodes['upper top'].reduce((sum, node) => sum + held[2 * node + 1], 0);
    const up = mesh.sets.nodes['lower bottom'].reduce((sum, node) => sum + held[2 * node + 1], 0);
    expect(total(forces, 1)).to.be.closeTo(up, 1e-6 * up);
    expect(down).to.be.closeTo(-up, 1e-6 * up);
    // Between two columns of width 1 in series, E/(1 − ν²) = 110, and one on a rigid base.
    expect(up).to.be.within(5.5, 11);
    expect(total(held, 0)).to.be.closeTo(0, 1e-6);
    expect(Math.min(...places.filter((_, i) => i % 2 === 1))).to.be.above(0.9);
    expect(tf.memory().numTensors).to.equal(tensors);
  });

  it('refuses surfaces that overlap, and names node and depth', () => {
    const made =
      (spec: Partial<ContactSpec>, on = 'bottom'): (() => unknown) =>
      () =>
        solid({
          mesh: box([2, 1], [2, 1]),
          material: materials.linearElastic({E: 1, nu: 0}),
          density: 1,
          loads: [loads.contact(on, {with: floor(0), reach, stiffness: 1, ...spec})],
        });
    expect(made({with: floor(0.25)})).to.throw(OptionError, /near node 0 at \(0, 0\) .* lies 0\.250 inside/);
    expect(made({with: obstacles.ball({centre: [2, -1], radius: 1.5})})).to.throw(
      OptionError,
      /near node [12] .* 0\.4/,
    );
    expect(made({with: 'bottom', reach: 1.5}, 'top')).to.throw(
      OptionError,
      /near node [345] at \([012], 1\).* reach below/,
    );
    expect(made({with: 'botom'})).to.throw(OptionError, /no set 'botom'/);
    expect(made({friction: 0.3})).to.throw(OptionError, /friction and slip must be given together/);
    expect(made({reach: 0})).to.throw(OptionError, /reach/);
    expect(made({with: obstacles.ball({centre: [0, 0, 0], radius: 1})})).to.throw(
      OptionError,
      /2 components here, not 3/,
    );
  });
});

describe('obstacles that move', () => {
  it('drag what they touch, as those that tell their velocity do', () => {
    const radius = 0.5;
    const centre = ({t}: {t: tf.Tensor}): tf.Tensor =>
      tf.concat([tf.reshape(tf.add(0.5, tf.mul(0.4, t)), [1]), [-0.5]]);
    const moving = obstacles.ball({centre, radius});
    const forceBy = (ball: typeof moving): number => {
      const touch = loads.contact('bottom', {with: ball, reach: 0.02, stiffness: 1e3, friction: 0.5, slip: 1e-3});
      const strip = solid({
        mesh: box([1, 0.2], [8, 2]),
        material: materials.linearElastic({E: 100, nu: 0}),
        density: 1,
        supports: [supports.held('top')],
        loads: [touch],
      });
      const at = {q: new Float64Array(strip.free.length), v: new Float64Array(strip.free.length)};
      return strip.evaluate(state => tf.slice(tf.sum(touch.forces(strip, state), 0), [0], [1]), at)[0];
    };
    const told = forceBy({...moving, velocity: () => tf.tensor2d([[0.4, 0]])});
    expect(told).to.be.above(0);
    expect(forceBy(moving)).to.be.closeTo(told, 1e-12 * told);
  });
});
