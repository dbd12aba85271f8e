/** Rods in the plane and in space: closed forms, and bad input. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {loads, rod, supports, type Rod, type RodSpec} from '../../../fem/index.js';
import {equilibrium, OptionError} from '../../../lib/index.js';
import {slow} from '../../tiers.js';

/** Points from the origin along x. */
const straight = (n: number, d: 2 | 3, length = 1): number[][] =>
  Array.from({length: n + 1}, (_, i) => [(length * i) / n, 0, 0].slice(0, d));

/** From t = 0 to 1, at first in so many steps. */
function loaded(body: Rod, loadSteps: number): Float64Array {
  const found = equilibrium(body, {q: body.start.q}, {t1: 1, loadSteps});
  const q = found.values('q');
  found.dispose();
  return q;
}
const tip = (body: Rod, q: Float64Array): number[] =>
  Array.from(body.evaluate(at => body.displacement(at), {q, t: 1}).slice(-body.mesh.dimension));

describe('a rod', function () {
  this.timeout(30_000);

  it('bends as the elastica, with order two', () => {
    // Mattiasson 1981, by shooting: P = 10, shortening and deflection.
    const error = (n: number): number => {
      const body = rod({
        centreline: straight(n, 2),
        EA: 1e8,
        EI: 1,
        density: 1,
        supports: [supports.held('start')],
        loads: [loads.pointLoad('end', ({t}) => tf.mul(t, [0, 10]))],
      });
      const [x, y] = tip(body, loaded(body, 2));
      return Math.hypot(x + 0.5549956, y - 0.81060902);
    };
    const [coarse, fine] = [8, 16].map(error);
    expect(fine).to.be.below(5e-4);
    expect(Math.log2(coarse / fine)).to.be.within(1.9, 2.2);
  });

  it('asks for the moment that turns its end, where the end is turned as far', () => {
    const [length, EI, moment] = [2, 3, 0.75];
    const of = (given: Partial<RodSpec>): Rod => rod({centreline: straight(4, 2, length), EA: 1e4, EI, ...given});
    const held = supports.held('start');
    const bent = of({supports: [held], loads: [loads.pointMoment('end', moment)]});
    const turned = of({supports: [held, supports.turned('end', (moment * length) / EI)]});
    const ends = [bent, turned].map(body => {
      const found = equilibrium(body, {q: body.start.q});
      const q = found.values('q');
      found.dispose();
      return {tip: tip(body, q), moment: body.evaluate(at => body.reaction(at), {q}).at(-1) as number};
    });
    expect(Math.hypot(ends[0].tip[0] - ends[1].tip[0], ends[0].tip[1] - ends[1].tip[1])).to.be.below(1e-9);
    expect(ends[1].moment).to.be.closeTo(moment, 1e-9);
  });

  slow('rolls up to a circle, and turns on', () => {
    for (const [d, turns] of [
      [2, 1],
      [3, 2],
    ] as const) {
      const moment = 2 * Math.PI * turns;
      const body = rod({
        centreline: straight(4, d),
        EA: 1e3,
        EI: 1,
        ...(d === 3 ? {GJ: 1} : {}),
        density: 1,
        supports: [supports.held('start')],
        loads: [loads.pointMoment('end', ({t}) => tf.mul(t, d === 2 ? moment : [0, 0, moment]))],
      });
      const q = loaded(body, 8 * turns);
      const [x, y] = tip(body, q);
      expect(Math.hypot(x + 1, y)).to.be.below(1e-9);
      for (const M of body.evaluate(at => tf.slice(body.moment(at), [0, d === 2 ? 0 : 2], [-1, 1]), {q, t: 1}))
        expect(M).to.be.closeTo(moment, 1e-9);
      const reaction = body.evaluate(at => body.reaction(at), {q, t: 1});
      // A quaternion's force is twice the moment.
      expect(d === 2 ? reaction[2] : reaction[6] / 2).to.be.closeTo(-moment, 1e-9);
    }
  });

  it('deflects as the beams of Euler and of Timoshenko, exactly at its nodes', () => {
    const deflection = (GA?: number): number[] => {
      const body = rod({
        centreline: straight(3, 3, 2),
        EA: 1e9,
        EI: [3, 5],
        GJ: 2,
        ...(GA === undefined ? {} : {GA}),
        density: 1,
        normals: [0, 1, 0],
        supports: [supports.held('start')],
        loads: [loads.pointLoad('end', [0, 1e-6, 1e-6])],
      });
      const found = equilibrium(body, {q: body.start.q});
      return tip(body, found.values('q')).map(u => 1e6 * u);
    };
    // P L³ / (3 EI) + P L / GA; a force along the normal bends about the binormal.
    const [, y, z] = deflection();
    expect(y).to.be.closeTo(8 / 15, 1e-7);
    expect(z).to.be.closeTo(8 / 9, 1e-7);
    const sheared = deflection(7);
    expect(sheared[1] - y).to.be.closeTo(2 / 7, 1e-7);
    expect(sheared[2] - z).to.be.closeTo(2 / 7, 1e-7);
  });

  it('takes its rest curvature without load, in any position', () => {
    const n = 12;
    // A helix of curvature 1 and torsion 1/2 about its own axis, from a straight rod with fixed axes.
    const body = rod({
      centreline: straight(n, 3),
      EA: 10,
      EI: [1, 2],
      GJ: 3,
      density: 1,
      restCurvature: [0.5, 0, 1],
      supports: [supports.held('start')],
    });
    const q = loaded(body, 1);
    expect(body.evaluate(at => body.energy(at), {q})[0]).to.be.below(1e-16);
    // The chord of a helix: rotation by w = √1.25 about an axis at which the tangent has the share τ/w.
    const w = Math.sqrt(1.25);
    const chord = Math.hypot(0.5 / w, (1 / w) * ((2 / w) * Math.sin(w / 2)));
    const [x, y, z] = tip(body, q);
    expect(Math.hypot(1 + x, y, z)).to.be.closeTo(chord, 2e-3);
    // A curved centreline is its own rest curvature, or keeps its stress where another is given.
    const arc = Array.from({length: n + 1}, (_, i) => [Math.sin(i / n), 1 - Math.cos(i / n)]);
    const held = {centreline: arc, EA: 10, EI: 2, density: 1, supports: [supports.held('start')]};
    const stored = (spec: RodSpec): number => {
      const bent = rod(spec);
      return bent.evaluate(at => bent.energy(at), {q: bent.start.q})[0];
    };
    expect(stored(held)).to.be.below(1e-25);
    expect(stored({...held, restCurvature: 0})).to.be.closeTo(1, 2e-3);
  });

  slow('turns its ends as prescribed, and hinges as held', () => {
    const n = 8;
    const twisted = rod({
      centreline: straight(n, 3),
      EA: 10,
      EI: 9,
      GJ: 3,
      supports: [supports.held('start'), supports.turned('end', ({t}) => tf.mul(t, [6 * Math.PI, 0, 0]))],
    });
    const q = loaded(twisted, 6);
    const torque = twisted.evaluate(at => tf.slice(twisted.moment(at), [n - 1, 0], [1, 1]), {q, t: 1})[0];
    expect(torque).to.be.closeTo(3 * 6 * Math.PI, 1e-9);
    const bent = rod({
      centreline: straight(n, 2),
      EA: 10,
      EI: 2,
      supports: [supports.held('start'), supports.turned('end', ({t}) => tf.mul(t, Math.PI / 2))],
    });
    const arc = loaded(bent, 2);
    const moments = bent.evaluate(at => bent.moment(at), {q: arc, t: 1});
    for (const M of moments) expect(M).to.be.closeTo(Math.PI, 1e-9);
    // A hinge about y at both ends: 5 q L⁴/(384 EI), and nothing turns about z.
    const hinged = rod({
      centreline: straight(n, 3),
      EA: 1e4,
      EI: 2,
      GJ: 3,
      supports: [supports.held('start', ['x', 'y', 'z', 'rx', 'rz']), supports.held('end', ['y', 'z'])],
      loads: [loads.bodyForce([0, 0, 1e-5])],
    });
    const middle = loaded(hinged, 1);
    const [, y, z] = hinged.evaluate(hinged.probe([[0.5, 0, 0]]), {q: middle, t: 1});
    expect(z / ((5 * 1e-5) / (384 * 2))).to.be.closeTo(1, 0.02);
    expect(y).to.equal(0);
    const twice = [supports.held('end'), supports.turned('end', 1)];
    expect(() => rod({centreline: straight(2, 2), EA: 1, EI: 1, supports: twice})).to.throw(
      OptionError,
      /held and prescribed in its rotation/,
    );
  });

  it('has an energy that rigid motions do not change', () => {
    const body = rod({centreline: straight(3, 3), EA: 5, EI: [1, 2], GJ: 3, GA: 4, density: 1});
    const values = Float64Array.from(body.start.q, (_, i) => 0.2 * Math.sin(3 * i + 1));
    /** The quaternion r p of each node, for a turn by 2.5 radians about z, and positions to match. */
    const [c, s, w, k] = [Math.cos(2.5), Math.sin(2.5), Math.cos(1.25), Math.sin(1.25)];
    const turned = values.slice();
    for (let node = 0; node < 4; node++) {
      const [ux, uy, uz, ...p] = values.subarray(7 * node, 7 * node + 7);
      const [X, q0] = [node / 3 + ux, 1 + p[0]];
      const row = [c * X - s * uy - node / 3 + 7, s * X + c * uy, uz - 2, w * q0 - k * p[3] - 1];
      turned.set([...row, w * p[1] - k * p[2], w * p[2] + k * p[1], w * p[3] + k * q0], 7 * node);
    }
    const [before, after] = [values, turned].map(q => body.evaluate(at => body.energy(at), {q})[0]);
    expect(before).to.be.above(1);
    expect(after / before).to.be.closeTo(1, 1e-13);
    expect(body.freeMotions).to.have.length(6);
  });

  it('refuses what is wrong, and says where', () => {
    const base = {centreline: straight(2, 3), EA: 1, EI: 1, GJ: 1, density: 1};
    expect(() => rod({...base, GJ: undefined})).to.throw(OptionError, /needs GJ/);
    expect(() => rod({...base, centreline: straight(2, 2)})).to.throw(OptionError, /GJ is for rods in space/);
    expect(() => rod({...base, EI: [1, -2]})).to.throw(OptionError, /EI must be finite and positive/);
    expect(() => rod({...base, restCurvature: 1})).to.throw(OptionError, /restCurvature .* array of 3/);
    expect(() => rod({...base, normals: [1, 0, 0]})).to.throw(OptionError, /normal of element 0 is along the element/);
    expect(() => rod({...base, centreline: [[0, 0, 0]]})).to.throw(OptionError, /two points at least/);
    expect(() => rod({...base, EA: [1, 2, 3, 4]})).to.throw(OptionError, /4 numbers/);
  });
});
