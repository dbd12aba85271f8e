/** The pushed block against work and energy: where a push leaves it, the derivatives of that, and the least effort. */
import {expect} from 'chai';
import {
  effort,
  guess,
  handOvers,
  optimized,
  optimum,
  pushed,
  resistance,
  task,
  times,
  works,
} from '../../examples/pushed-block.js';

const dt = 2.5e-3;

describe('a pushed block', () => {
  const end = handOvers(dt);

  it('slides as far as work and energy say, with the derivative by the force', () => {
    // A force F for τ: (F − f) x₁ = ½ m v₁², and f (X − x₁) is the same again.
    const tau = 0.425; // the guess falls from 0.4 to 0.45 as a ramp, the same impulse to first order
    const far = (F: number): number => {
      const first = ((F - resistance) / task.mass) * (tau ** 2 / 2);
      return (first * F) / resistance;
    };
    const F = 2 * resistance;
    const {place, gradient} = end(guess);
    expect(place / far(F)).to.be.closeTo(1, 0.01);
    const byForce = gradient.reduce((sum, slope, k) => sum + slope * (guess[k] / F), 0);
    expect(byForce / ((far(F + 1e-4) - far(F - 1e-4)) / 2e-4)).to.be.closeTo(1, 0.01);
  });

  it('derivatives through sliding, stopping and resting are those of differences; at rest there is none', () => {
    // Not the guess: its block stops at the very end of a step, where a little more force takes one more.
    const values = guess.map(u => 1.03 * u);
    const {gradient} = end(values);
    for (const k of [0, 3, 8, 14, 20, 28]) {
      const moved = (by: number): number => end(values.map((u, i) => (i === k ? u + by : u))).place;
      expect((moved(1e-5) - moved(-1e-5)) / 2e-5).to.be.closeTo(gradient[k], 1e-6 * gradient[0]);
    }
    // Contacts yield a little, so that redundant ones have one solution; 1e-2 m/N is what sliding has.
    expect(Math.abs(gradient[28])).to.be.below(1e-10);
    const held = end(times.map(() => 0.9 * resistance));
    expect(held.place).to.be.closeTo(0, 1e-9);
    held.gradient.forEach(slope => expect(Math.abs(slope)).to.be.below(1e-10));
  });

  it('is handed over at rest with the force of the closed form', () => {
    const {values, history} = optimized(guess, dt);
    expect(Math.abs(history[history.length - 1].miss)).to.be.below(1e-9);
    expect(effort(values, dt) / optimum.effort).to.be.closeTo(1, 2e-3);
    times.forEach((t, k) => expect(values[k]).to.be.closeTo(optimum.force(t), 0.02 * resistance + 0.02));
    const path = pushed(values, dt);
    expect(Math.abs(path.values('v')[2 * path.values('t').length - 2])).to.be.below(1e-9);
    const {push, friction} = works(path, values);
    expect(friction).to.be.closeTo(-resistance * task.target, 1e-6);
    // Forces of ends of steps on the way of the step: first order.
    expect(push).to.be.closeTo(resistance * task.target, 0.01);
    path.dispose();
  });
});
