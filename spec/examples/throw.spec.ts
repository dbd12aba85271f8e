/** The throw against its closed form: derivatives, order, and the least energy. */
import {expect} from 'chai';
import {
  apart,
  closedForm,
  differences,
  energy,
  guess,
  landings,
  optimized,
  scene,
  thrown,
  trueLanding,
  trueMiss,
} from '../../examples/throw.js';
import {slow} from '../tiers.js';

describe('a throw through two impacts', () => {
  const [coarse, fine] = [1e-2, 5e-3].map(dt => ({land: landings(dt), ...optimized(guess, landings(dt))}));

  slow('derivatives are those of differences, sticking and sliding', () => {
    for (const at of [coarse.best, guess, {vx: 6, vy: -3, spin: 60}])
      expect(
        apart(
          fine.land(at).jacobian,
          differences(given => fine.land(given).place, at),
        ),
      ).to.be.below(1e-6);
  });

  it('goes to those of the closed form with its steps, in first order', () => {
    const at = {vx: 4, vy: -4.4, spin: -20};
    const [far, near] = [coarse, fine].map(({land}) => {
      const found = land(at);
      const exact = closedForm(at);
      return [Math.hypot(...found.place.map((x, i) => x - exact[i])), apart(found.jacobian, trueLanding(at).jacobian)];
    });
    expect(far[0] / near[0]).to.be.within(1.9, 2.1);
    // Derivatives depend on where in a step the impacts fall; 0.4 and 0.7 of the step, in units of s, are left here.
    expect(far[1]).to.be.below(1e-2);
    expect(near[1]).to.be.below(5e-3);
  });

  it('hits, and needs no more energy than the closed form does', () => {
    for (const {history} of [coarse, fine]) expect(history[history.length - 1].miss).to.be.below(1e-9);
    const exact = optimized(guess, trueLanding).best;
    expect(trueMiss(exact)).to.be.below(1e-6);
    const [far, near] = [coarse, fine].map(({best}) => energy(best) - energy(exact));
    expect(far / near).to.be.within(1.7, 2.4);
    expect(2 * near - far).to.be.closeTo(0, 0.02); // extrapolated
    expect(trueMiss(coarse.best) / trueMiss(fine.best)).to.be.within(1.7, 2.4);
  });

  it('both contacts carry the impulses of their impacts', () => {
    const path = thrown(coarse.best, 1e-2);
    const [v, lambda] = [path.values('v'), path.values('lambda')];
    const [floor, wall] = [0, 1].map(
      row => lambda.filter((_, i) => i % 4 === row).reduce((sum, x) => sum + x, 0) * 1e-2,
    );
    const last = v.length - 3;
    // The wall turns the horizontal speed around; the floor is the only other thing that changes it.
    const along = lambda.filter((_, i) => i % 4 === 2).reduce((sum, x) => sum + x, 0) * 1e-2;
    expect(scene.mass * (v[last] - v[0])).to.be.closeTo(along - wall, 1e-9);
    const up = lambda.filter((_, i) => i % 4 === 3).reduce((sum, x) => sum + x, 0) * 1e-2;
    expect(scene.mass * (v[last + 1] - v[1] + scene.g * scene.duration)).to.be.closeTo(floor + up, 1e-9);
    path.dispose();
  });
});
