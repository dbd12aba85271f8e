/**
 * A net under a follower load, whose Newton matrix has the pattern of a mesh and no symmetry: runs and gradients
 * through the supernodal LU against dense LU's, and against finite differences.
 */
import {expect} from 'chai';
import {type FollowerNet, followerNet} from '../../bench/follower.js';
import {
  auto,
  implicitMidpoint,
  type LinearSolver,
  lu,
  newton,
  radauIIA5,
  simulate,
  supernodalLu,
} from '../../lib/index.js';
import {relative} from '../simulate/numbers.js';

function run({system, positions: q}: FollowerNet, linear: LinearSolver, scheme = implicitMidpoint(), p = 40) {
  const v = q.map(() => [0, 0, 0]);
  const {trajectory, pullback} = simulate.vjp(
    system,
    {q, v},
    {scheme, dt: 0.02, steps: 3, saveAt: 'end', params: {k: 100, p}, newton: newton({linear})},
  );
  const states = trajectory.values('q');
  const {initial, params} = pullback({q: states.map((x, i) => (i < states.length / 2 ? 0 : 2 * x))});
  trajectory.dispose();
  const end = states.subarray(states.length / 2);
  return {
    end: end.slice(),
    loss: end.reduce((sum, x) => sum + x * x, 0),
    linear: trajectory.stats.linear,
    pressure: (params.p as Float64Array)[0],
    gradient: Float64Array.from([
      ...(initial.q ?? []),
      ...(initial.v ?? []),
      ...(params.k as Float64Array),
      ...(params.p as Float64Array),
    ]),
  };
}

describe('newton: a mesh without symmetry', () => {
  it("auto() takes the supernodal LU; the run and its gradient are dense LU's", () => {
    const mesh = followerNet(11);
    const expected = run(mesh, lu());
    const found = run(mesh, auto());
    expect(found.linear).to.equal('supernodal-lu');
    expect(relative(found.end, expected.end)).to.be.below(1e-12);
    expect(relative(found.gradient, expected.gradient)).to.be.below(1e-10);
  });

  it('of a radau scheme, too, by plain loops and by WebAssembly bit for bit', () => {
    const mesh = followerNet(4);
    const expected = run(mesh, lu(), radauIIA5());
    const [plain, compiled] = (['plain', 'compiled'] as const).map(arithmetic =>
      run(mesh, supernodalLu({arithmetic}), radauIIA5()),
    );
    expect(plain.linear).to.equal('supernodal-lu');
    expect(relative(plain.gradient, expected.gradient)).to.be.below(1e-10);
    expect(compiled.gradient).to.deep.equal(plain.gradient);
  });

  it('the gradient is that of finite differences', () => {
    const mesh = followerNet(6);
    const step = 1e-3;
    const [above, below] = [step, -step].map(d => run(mesh, supernodalLu(), implicitMidpoint(), 40 + d).loss);
    const {pressure} = run(mesh, supernodalLu());
    // Central differences: an error of the step's square, and rounding of 1e-16 · loss / step.
    expect((above - below) / (2 * step) / pressure).to.be.closeTo(1, 1e-8);
  });
});
