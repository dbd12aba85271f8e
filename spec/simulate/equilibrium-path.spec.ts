/** Paths of states of rest: von Mises' truss in closed form, with its limit points, bifurcations and branches. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {bilateral, equilibrium, mechanics, NewtonError, OptionError, SingularMatrixError} from '../../lib/index.js';
import {lu} from '../../lib/linear/index.js';
import {densePattern} from '../../lib/linear/pattern.js';
import {BorderedFactor} from '../../lib/newton/bordered.js';

/** Two bars with EA = 1 from (±1, 0) to an apex at (0, h), pressed down by P. */
function truss(h: number, isHeld = false) {
  const L0 = Math.hypot(1, h);
  const bar = (q: tf.Tensor, foot: number): tf.Tensor => {
    const e = tf.sub(tf.add(q, [0, h]), [foot, 0]);
    const L = tf.norm(e);
    return tf.mul(e, tf.div(tf.sub(1, tf.div(L, L0)), L));
  };
  const system = mechanics<{P: tf.Tensor}>({
    mass: 1,
    forces: ({q, params}) => tf.addN([bar(q, 1), bar(q, -1), tf.mul(params.P, [0, -1])]),
    ...(isHeld ? {constraints: [bilateral(({q}) => tf.slice(q, [0], [1]))]} : {}),
  });
  /** The load that holds the apex at a height y in the middle. */
  const load = (y: number): number => 2 * (1 / Math.hypot(1, y) - 1 / L0) * y;
  return {system, load, L0, start: {params: {P: 0}, parameter: 'P'}};
}

describe("paths of von Mises' truss", () => {
  it('go through both limit points of a shallow one, on the closed curve, and end at a load', () => {
    const h = 0.3;
    const {system, load, L0, start} = truss(h);
    const before = tf.memory().numTensors;
    const path = equilibrium.path(system, {q: [0, 0]}, {...start, step: 0.002, to: 0.03});
    expect(tf.memory().numTensors).to.equal(before);
    expect(path.status).to.equal('ended');
    expect(path.warnings).to.deep.equal([]);
    for (const {q, load: P} of path.points) expect(P).to.be.closeTo(load(h + q[1]), 1e-14);
    expect(path.points.at(-1)!.load).to.equal(0.03);
    // dP/dy = 0 where the length of the bars is ∛L₀.
    const y = Math.sqrt(Math.cbrt(L0) ** 2 - 1);
    expect(path.critical.map(({kind}) => kind)).to.deep.equal(['limit', 'limit']);
    [y, -y].forEach((height, i) => {
      expect(path.critical[i].load).to.be.closeTo(load(height), 1e-15);
      expect(path.critical[i].q[1]).to.be.closeTo(height - h, 1e-8);
      expect(Array.from(path.critical[i].mode)).to.satisfy(([x, z]: number[]) => Math.abs(x) < 1e-12 && z === 1);
    });
    expect([...new Set(path.points.map(({unstable}) => unstable))]).to.deep.equal([0, 1]);
  });

  it('tell the bifurcations of a steep one, and follow the branch', () => {
    const h = 4;
    const {system, load, L0, start} = truss(h);
    const path = equilibrium.path(system, {q: [0, 0]}, {...start, step: 0.1, until: ({q}) => q[1] < -h});
    expect(path.critical.map(({kind}) => kind)).to.deep.equal(['bifurcation', 'limit', 'bifurcation']);
    // The apex gives way aside where L + (L − L₀)(L² − 1) = 0 for the length L of the bars.
    for (const {q, load: P, mode} of [path.critical[0], path.critical[2]]) {
      const L = Math.hypot(1, h + q[1]);
      expect(L + (L - L0) * (L * L - 1)).to.be.closeTo(0, 1e-6);
      expect(P).to.be.closeTo(load(h + q[1]), 1e-10);
      expect(mode[0]).to.equal(1);
      expect(mode[1]).to.be.closeTo(0, 1e-12);
    }
    expect(path.points[1].unstable).to.equal(0);
    expect(path.points[3].unstable).to.equal(1);
    const [{q, load: P, mode}] = path.critical;
    const options = {params: {P}, parameter: 'P', step: 0.02, points: 8, direction: mode.map(x => x / 20)};
    const branch = equilibrium.path(system, {q}, options);
    expect(branch.warnings).to.deep.equal([]);
    expect(Math.abs(branch.points.at(-1)!.q[0])).to.be.above(0.5);
    for (const point of branch.points.slice(1)) {
      const forces = [1, -1].map(foot => {
        const [x, y] = [point.q[0] - foot, h + point.q[1]];
        const pull = 1 / Math.hypot(x, y) - 1 / L0;
        return [x * pull, y * pull];
      });
      expect(forces[0][0] + forces[1][0]).to.be.closeTo(0, 1e-12);
      expect(forces[0][1] + forces[1][1]).to.be.closeTo(point.load, 1e-12);
    }
  });

  it('hold constraints, whose rows do not count as unstable', () => {
    const h = 4;
    const {system, L0, start} = truss(h, true);
    const path = equilibrium.path(system, {q: [0, 0]}, {...start, step: 0.1, until: ({q}) => q[1] < -h});
    expect(path.critical.map(({kind}) => kind)).to.deep.equal(['limit']);
    expect(path.critical[0].q[1]).to.be.closeTo(Math.sqrt(Math.cbrt(L0) ** 2 - 1) - h, 1e-8);
    expect(path.points[3].unstable).to.equal(0);
    expect(path.points.at(-1)!.unstable).to.equal(1);
    expect(path.points[3].lambda).to.have.length(1);
  });

  it('have the gradients of their states of rest, but not where the load has its limit', () => {
    const {system, load, start} = truss(0.3);
    const {points} = equilibrium.path(system, {q: [0, 0]}, {...start, step: 0.002, points: 6});
    for (const {q, load: P} of points.slice(1)) {
      const {equilibrium: rest, pullback} = equilibrium.vjp(system, {q}, {params: {P}});
      const slope = (load(0.3 + q[1] + 1e-6) - load(0.3 + q[1] - 1e-6)) / 2e-6;
      expect((pullback({q: [0, 1]}).params as {P: Float64Array}).P[0] * slope).to.be.closeTo(1, 1e-6);
      rest.dispose();
    }
    const softening = mechanics<{P: tf.Tensor}>({
      mass: 1,
      forces: ({q, params}) => tf.add(tf.sub(params.P, q), tf.square(q)),
    });
    const top = equilibrium.vjp(softening, {q: 0.5}, {params: {P: 0.25}});
    expect(() => top.pullback({q: 1})).to.throw(SingularMatrixError, /At a limit load or a bifurcation .* no gradient/);
    top.equilibrium.dispose();
  });
});

describe('a path', () => {
  it('ends where a force jumps, and says so', () => {
    const stepped = mechanics({mass: 1, forces: ({q, t}) => tf.sub(t, tf.where(tf.less(q, 0.5), q, tf.add(q, 100)))});
    const {status, points, warnings} = equilibrium.path(stepped, {q: 0}, {step: 0.2});
    expect(status).to.equal('stuck');
    expect(points.at(-1)!.load).to.be.closeTo(0.5, 1e-3);
    expect(warnings[0]).to.match(/No state of rest was found beyond the load 0\.5/);
    // Nor is what the one side would have beyond the jump taken for a state of rest.
    expect(() => equilibrium(stepped, {q: 0, t: 0.6})).to.throw(NewtonError);
  });

  it('needs a load', () => {
    const spring = mechanics<{P: tf.Tensor}>({mass: 1, forces: ({q, params}) => tf.sub(params.P, q)});
    const of = (options: object) => () => equilibrium.path(spring, {q: 0}, {params: {P: 1}, step: 1, ...options});
    expect(of({})).to.throw(OptionError, /nothing depends on the load/);
    expect(of({parameter: 'Q'})).to.throw(OptionError, /give params\.Q, the load at the start/);
    expect(of({parameter: 'P', step: 0})).to.throw(OptionError, /step must be a number that is not 0/);
    expect(of({parameter: 'P', direction: [1, 2]})).to.throw(OptionError, /direction has 2 numbers/);
  });

  it('solves with a border by blocks, in both directions', () => {
    const A = Float64Array.of(4, 1, -2, 3);
    const factor = new BorderedFactor(
      lu().analyze(densePattern(2)).factor(A),
      Float64Array.of(2, -1),
      Float64Array.of(1, 5, 3),
    );
    const whole = [4, 1, 2, -2, 3, -1, 1, 5, 3];
    const b = Float64Array.of(1, -2, 4);
    const [x, y] = [new Float64Array(3), b.slice()];
    factor.solve(b, x);
    factor.solveTransposed(y, y);
    for (let i = 0; i < 3; i++) {
      expect([0, 1, 2].reduce((sum, j) => sum + whole[3 * i + j] * x[j], 0)).to.be.closeTo(b[i], 1e-14);
      expect([0, 1, 2].reduce((sum, j) => sum + whole[3 * j + i] * y[j], 0)).to.be.closeTo(b[i], 1e-14);
    }
  });
});
