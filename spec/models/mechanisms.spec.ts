/** Mechanisms in redundant coordinates against elliptic functions, exact reductions and kinematics in closed form. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {SimulateOptions} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  generalizedAlpha,
  implicitMidpoint,
  newmark,
  newton,
  OptionError,
  ShapeError,
  simulate,
  SingularMatrixError,
} from '../../lib/index.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {traceRun} from '../../lib/step/trace-step.js';
import {readParams} from '../../lib/system/params.js';
import {bodyPoints, pins} from '../../models/planar-bodies.js';
import {fourBars, rodChain, sliderCrank} from '../../models/linkages.js';
import {distanceConstraints} from '../../models/links.js';
import {largest, order} from '../simulate/numbers.js';
import {valueOf} from './evaluate.js';
import {slow} from '../tiers.js';

const g = 9.81;

describe('rod chain', () => {
  // IFToMM benchmark A01: a point of 1 kg on 1 m, from the horizontal at rest; reference/multibody-benchmarks.json.
  it('one link: within 5e-5 J over 10 s, order 2 towards the elliptic functions at t = 10', () => {
    const exact = [-0.2750874625761168600543914, -0.9614192050991250642651351];
    const pendulum = rodChain({links: 1, g});
    const error = (steps: number): number => {
      const path = simulate(
        pendulum,
        {q: [[-1, 0]], v: [[0, 0]]},
        {scheme: implicitMidpoint(), dt: 10 / steps, steps, observe: pendulum.energy},
      );
      path.dispose();
      const energies = path.values('observed');
      // Midpoint does no work at all on a quadratic constraint: G at the middle is the mean of the ends'.
      expect(largest(energies.map(e => e - energies[0]))).to.be.below(5e-12);
      const q = path.values('q').slice(-2);
      return Math.hypot(q[0] - exact[0], q[1] - exact[1]);
    };
    expect(order(error(2000), error(4000))).to.be.closeTo(2, 0.02);
  });

  it('one link: its multiplier is −m g (3 cos θ − 2 cos θ₀), order 2', () => {
    // From 1 rad, θ(1): reference/gradients-closed-form.json.
    const [start, end, mass] = [1, -0.9800669929334048800506, 2];
    const error = (steps: number): number => {
      const path = simulate(
        rodChain({links: 1, g, mass}),
        {q: [[Math.sin(start), -Math.cos(start)]], v: [[0, 0]]},
        {scheme: newmark(), stabilization: 'ggl', dt: 1 / steps, steps, saveAt: 'end'},
      );
      path.dispose();
      return path.values('lambda')[1] + mass * g * (3 * Math.cos(end) - 2 * Math.cos(start));
    };
    expect(order(error(200), error(400))).to.be.closeTo(2, 0.05);
    expect(error(400)).to.be.closeTo(0, 1e-3);
  });

  it('two links are the double pendulum in Cartesian coordinates', () => {
    // From both angles 1.2 and −0.4 with rates 0.5 and 1: spec/models/pendulum.spec.ts.
    const [lengths, masses, [a, b], [u, w]] = [
      [1, 0.7],
      [1, 0.5],
      [1.2, -0.4],
      [0.5, 1],
    ];
    const reference = [-0.729224726913292509, -0.648595359954516005];
    const first = [lengths[0] * Math.sin(a), -lengths[0] * Math.cos(a)];
    const q = [first, [first[0] + lengths[1] * Math.sin(b), first[1] - lengths[1] * Math.cos(b)]];
    const speed = [u * lengths[0] * Math.cos(a), u * lengths[0] * Math.sin(a)];
    const v = [speed, [speed[0] + w * lengths[1] * Math.cos(b), speed[1] + w * lengths[1] * Math.sin(b)]];
    const error = (steps: number): number => {
      const path = simulate(
        rodChain({links: 2, length: lengths, mass: masses, g}),
        {q, v},
        {scheme: implicitMidpoint(), dt: 1 / steps, steps, saveAt: 'end'},
      );
      path.dispose();
      const [x1, y1, x2, y2] = path.values('q').slice(4);
      return Math.hypot(Math.atan2(x1, -y1) - reference[0], Math.atan2(x2 - x1, y1 - y2) - reference[1]);
    };
    expect(order(error(400), error(800))).to.be.closeTo(2, 0.05);
  });

  it('in space a conical pendulum keeps its height, ω² = g/(l cos θ)', () => {
    const angle = 0.6;
    const omega = Math.sqrt(g / Math.cos(angle));
    const path = simulate(
      rodChain({links: 1, dimension: 3, g}),
      {q: [[Math.sin(angle), 0, -Math.cos(angle)]], v: [[0, omega * Math.sin(angle), 0]]},
      {dt: 0.01, steps: 100, saveAt: 'end'},
    );
    path.dispose();
    expect(path.values('q')[5]).to.be.closeTo(-Math.cos(angle), 1e-13);
  });

  it('refuses a chain of no links and one between anchors without a free point', () => {
    expect(() => rodChain({links: 0})).to.throw(OptionError, /links must be a whole number of at least 1/);
    expect(() => rodChain({links: 1, to: [1, 0]})).to.throw(OptionError, /at least 2/);
    expect(() => rodChain({links: 3, to: [1, 0, 0]})).to.throw(OptionError, /2 finite numbers/);
    expect(() =>
      simulate(
        rodChain({links: 2, length: [1, 2, 3]}),
        {
          q: [
            [1, 0],
            [2, 0],
          ],
          v: [
            [0, 0],
            [0, 0],
          ],
        },
        {dt: 1, steps: 1},
      ),
    ).to.throw(ShapeError, /distanceConstraints: length/);
  });
});

/** IFToMM benchmark A02. N parallelograms are one degree of freedom: θ'' ((N+1)/3 + N) = −((N+1)/2 + N) g cos θ. */
describe('N-four-bar', () => {
  const run = (
    windows: number,
    options: Pick<RunSettings, 'scheme' | 'stabilization' | 'dt' | 'newton'> & {steps: number},
  ): {place: Float64Array; energyError: number} => {
    const mechanism = fourBars({windows, g});
    const joint = bodyPoints([mechanism.joint(0)]);
    const observe: SimulateOptions['observe'] = at =>
      tf.concat([tf.reshape(mechanism.energy(at), [1]), tf.reshape(joint(at.q), [2])]);
    const path = simulate(mechanism, mechanism.initial, {...options, observe});
    path.dispose();
    const observed = path.values('observed');
    const energies = observed.filter((_, i) => i % 3 === 0);
    return {place: observed.slice(-2), energyError: largest(energies.map(e => e - energies[0]))};
  };
  const error = (found: Float64Array, exact: readonly number[]): number =>
    Math.hypot(found[0] - exact[0], found[1] - exact[1]);

  // Exact numbers at t = 10 from reference/multibody-benchmarks.json: the reduced equation in 25 digits.
  for (const [windows, steps, exact] of [
    [2, 1000, [0.3284581115408153786521642, 0.9445185381786009621612854]],
    [10, 500, [0.2043535609897709854665091, 0.9788971458283040423029771]],
    [40, 500, [0.1805122266867283901031787, 0.9835727405823115748813225]],
  ] as const) {
    slow(`N = ${windows}: order 2 at t = 10, through the singular position, every redundant pin kept`, () => {
      const [far, near] = [steps, 2 * steps].map(n =>
        run(windows, {scheme: implicitMidpoint(), dt: 10 / n, steps: n, newton: newton({onFailure: 'halve'})}),
      );
      expect(order(error(far.place, exact), error(near.place, exact))).to.be.closeTo(2, 0.1);
      expect(order(far.energyError, near.energyError)).to.be.closeTo(2, 0.1);
    });
  }
});

describe('N-four-bar with generalized-α, ρ∞ = 0.95', () => {
  // reference/multibody-benchmarks.json: EXUDYN's largest energy errors for N = 2, at h = 0.01 and 0.001.
  for (const [steps, published] of [
    [1000, 0.1140507007],
    [10000, 0.001143193966],
  ] as const) {
    slow(`h = ${10 / steps}: the published energy error, ${published} J`, () => {
      const mechanism = fourBars({windows: 2, g});
      const path = simulate(mechanism, mechanism.initial, {
        scheme: generalizedAlpha({rhoInf: 0.95}),
        dt: 10 / steps,
        steps,
        observe: mechanism.energy,
      });
      path.dispose();
      const energies = path.values('observed');
      // The same scheme in other coordinates and with another start: equal to a thousandth.
      expect(largest(energies.map(e => e - energies[0])) / published).to.be.closeTo(1, 2e-3);
    });
  }
});

describe('slider-crank', () => {
  const omega = 2 * Math.PI;
  const mechanism = sliderCrank({crank: 0.5, rod: 1, mass: [1, 2], angle: ({t}) => tf.mul(omega, t)});
  for (const scheme of [newmark(), implicitMidpoint()]) {
    for (const stabilization of ['ggl', 'projection'] as const) {
      it(`r = 0.5, l = 1, ω = 2π: x(60°) = 1.15138782, x' = −3.47528519 (${scheme.name}, ${stabilization})`, () => {
        const path = simulate(
          mechanism,
          {
            q: [
              [0.5, 0],
              [1.5, 0],
            ],
            v: [
              [0, 0.5 * omega],
              [0, 0],
            ],
          },
          {scheme, stabilization, dt: 1 / 240, steps: 40, saveAt: 'end'},
        );
        path.dispose();
        expect(path.values('q')[6]).to.be.closeTo(1.15138782, 5e-9);
        expect(path.values('v')[6]).to.be.closeTo(-3.47528519, 5e-9);
      });
    }
  }

  it('a crank as long as its rod folds at a quarter turn: a step that ends there says so, others pass', () => {
    const folding = sliderCrank({crank: 0.5, rod: 0.5, angle: ({t}) => tf.mul(2 * Math.PI, t)});
    const turn = (dt: number): number[] => {
      const path = simulate(
        folding,
        {
          q: [
            [0.5, 0],
            [1, 0],
          ],
          v: [
            [0, Math.PI],
            [0, 0],
          ],
        },
        {stabilization: 'ggl', dt, t1: 1, saveAt: 'end'},
      );
      path.dispose();
      return [...path.values('q').slice(4)];
    };
    expect(() => turn(1 / 240)).to.throw(
      SingularMatrixError,
      /from t = 0\.2458.*Earlier steps could be solved: .* singular position .* take another dt, so that no step ends in it/,
    );
    expect(largest(turn(0.00417).map((x, i) => x - [0.5, 0, 1, 0][i]))).to.be.below(1e-9);
  });

  it('a free crank keeps its energy', () => {
    const free = sliderCrank({crank: 0.5, rod: 1, mass: [1, 2], g});
    const path = simulate(
      free,
      {
        q: [
          [0.5, 0],
          [1.5, 0],
        ],
        v: [
          [0, 3],
          [0, 0],
        ],
      },
      {dt: 0.01, steps: 100, observe: free.energy},
    );
    path.dispose();
    const energies = path.values('observed');
    expect(largest(energies.map(e => e - energies[0]))).to.be.below(1e-12);
  });
});

describe('planar bodies', () => {
  it("points of bodies are in space where rotation and translation put them; the ground's stay", () => {
    const at = valueOf(
      ({q}) =>
        bodyPoints([
          {body: 1, at: [1, 0]},
          {body: 'ground', at: [7, 8]},
          {body: 0, at: [0, 2]},
        ])(q),
      {
        q: [
          [1, 2, Math.PI / 2],
          [3, 4, Math.PI],
        ],
        v: [
          [0, 0, 0],
          [0, 0, 0],
        ],
      },
    );
    [2, 4, 7, 8, -1, 2].forEach((x, i) => expect(at[i]).to.be.closeTo(x, 1e-15));
  });

  it('refuses what is no pin, and a body that is not there', () => {
    expect(() => pins([])).to.throw(OptionError, /at least one pair/);
    expect(() =>
      pins([
        [
          {body: -1, at: [0, 0]},
          {body: 'ground', at: [0, 0]},
        ],
      ]),
    ).to.throw(OptionError, /body number/);
    expect(() => valueOf(({q}) => bodyPoints([{body: 2, at: [0, 0]}])(q), {q: [[0, 0, 0]], v: [[0, 0, 0]]})).to.throw(
      OptionError,
      /no body 2/,
    );
    expect(() => valueOf(({q}) => bodyPoints([{body: 0, at: [0, 0]}])(q), {q: [[0, 0]], v: [[0, 0]]})).to.throw(
      ShapeError,
      /planar bodies need \[bodies, 3\]/,
    );
    expect(() => fourBars({windows: 0})).to.throw(OptionError, /windows/);
    expect(() => distanceConstraints({edges: [[0, 1]], length: 0})).to.throw(OptionError, /positive/);
  });
});

describe('a long chain of rods', () => {
  const size = (links: number): {nonzeros: number; nodes: number; linear: string} => {
    const system = rodChain({links, length: ({length}) => length as tf.Tensor, g, mass: 1 / links});
    const q = Array.from({length: links}, (_, i) => [(i + 1) / links, 0]);
    const params = {length: new Float64Array(links).fill(1 / links)};
    const path = simulate(system, {q, v: q.map(() => [0, 0])}, {dt: 0.01 / links, steps: 1, params});
    path.dispose();
    const {residual} = traceRun(system, implicitMidpoint(), [links, 2], readParams(params)).step.functions;
    return {nonzeros: path.stats.nonzeros, linear: path.stats.linear, nodes: topological([residual as Node]).length};
  };

  slow('costs the same for every link: a band, 15 numbers of the factor each, a graph that does not grow', () => {
    const [few, some, many] = [10, 100, 1000].map(size);
    expect(many.nodes).to.equal(few.nodes);
    for (const {linear} of [few, some, many]) expect(linear).to.equal('band');
    // Two positions and a multiplier a link, each with its neighbours' on either side.
    expect(some.nonzeros / 100).to.be.closeTo(15, 1e-12);
    expect(many.nonzeros / 1000).to.be.closeTo(15, 1e-12);
  });
});
