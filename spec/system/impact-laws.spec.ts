/**
 * Moreau's law of impact and Poisson's (C. Glocker & F. Pfeiffer, Nonlinear Dyn. 7, 1995) against their closed forms: where they agree, where
 * they do not, and what becomes of energy (T. R. Kane & D. A. Levinson, Dynamics: Theory and Applications, 1985, §5.9: Newton's may add some).
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  frictionalContact,
  mechanics,
  moreau,
  OptionError,
  simulate,
  type ImpactLaw,
} from '../../lib/index.js';
import {multibody, rigidContact} from '../../models/index.js';
import {box, plane} from '../../models/multibody/shapes.js';
import {slow} from '../tiers.js';

const laws = ['moreau', 'poisson'] as const;
const scheme = (impact: ImpactLaw) => moreau({impact});
type Coefficients = {mu: tf.Tensor; e: tf.Tensor};
const law = {friction: ({mu}: Coefficients) => mu, restitution: ({e}: Coefficients) => e};

describe('laws of impact', () => {
  it('of a central impact are one: a ball thrown back again and again until it rests', () => {
    const ball = mechanics({
      mass: 2,
      forces: ({q}) => tf.mul(-16, tf.onesLike(q)),
      constraints: [frictionalContact(({q}) => q, {restitution: 0.6})],
    });
    const [a, b] = laws.map(impact => {
      const path = simulate(ball, {q: 1, v: 0}, {scheme: scheme(impact), dt: 0.01, t1: 3});
      path.dispose();
      return path.values('q');
    });
    // To the softness of compression, 1e-7 at every impact.
    a.forEach((x, i) => expect(b[i], `step ${i}`).to.be.closeTo(x, 1e-5));
    expect(b[b.length - 1]).to.be.closeTo(0, 1e-9);
  });

  describe("a rod's end strikes a rough floor", () => {
    const rod = mechanics<Coefficients>({
      mass: [1, 1, 1 / 3],
      forces: ({q}) => tf.zerosLike(q),
      constraints: [
        frictionalContact(
          ({q}) => {
            const [, y, angle] = tf.unstack(q);
            return tf.sub(y, tf.sin(angle));
          },
          {
            slip: ({q, v}) => {
              const [, , angle] = tf.unstack(q);
              const [vx, , turning] = tf.unstack(v);
              return tf.add(vx, tf.mul(turning, tf.sin(angle)));
            },
            ...law,
          },
        ),
      ],
    });
    interface Case {
      readonly angle: number;
      readonly mu: number;
      readonly e: number;
      readonly along: number;
    }
    const inverse = [1, 1, 3];
    /** Impulses of a phase from the velocity u of the end, along the normal and across; the normal one may be given. */
    const impulses = ([a, b, c]: number[], [n, t]: number[], mu: number, given?: number): [number, number] => {
      if (given !== undefined) return [given, Math.max(-mu * given, Math.min(mu * given, -(t + b * given) / c))];
      const [N, T] = [(b * t - c * n) / (a * c - b * b), (b * n - a * t) / (a * c - b * b)];
      if (Math.abs(T) <= mu * N) return [N, T];
      const slides = -n / (a + Math.sign(T) * mu * b);
      return [slides, Math.sign(T) * mu * slides];
    };
    const closedForm = (impact: ImpactLaw, {angle, mu, e, along}: Case): number[] => {
      const [normal, across] = [[0, 1, -Math.cos(angle)], [1, 0, Math.sin(angle)]]; // prettier-ignore
      const product = (x: number[], y: number[]): number => x.reduce((sum, z, i) => sum + z * inverse[i] * y[i], 0);
      const w = [product(normal, normal), product(normal, across), product(across, across)];
      const after = ([n, t]: number[], [N, T]: number[]): number[] => [
        n + w[0] * N + w[1] * T,
        t + w[1] * N + w[2] * T,
      ];
      const u = [-1, along];
      let [N, T] = [0, 0];
      if (impact === 'moreau') [N, T] = impulses(w, [-(1 + e), along], mu);
      else {
        const first = impulses(w, u, mu);
        const pressed = after(u, first);
        let second = impulses(w, pressed, mu, e * first[0]);
        // What is given back holds the end on the floor where friction presses it down.
        if (after(pressed, second)[0] < 0) second = impulses(w, pressed, mu);
        [N, T] = [first[0] + second[0], first[1] + second[1]];
      }
      return [along, -1, 0].map((v, i) => v + inverse[i] * (normal[i] * N + across[i] * T));
    };
    const energy = ([x, y, turning]: ArrayLike<number> & Iterable<number>): number =>
      (x * x + y * y + (turning * turning) / 3) / 2;
    const start = ({angle, along}: Case) => ({q: [0, Math.sin(angle) + 1e-9, angle], v: [along, -1, 0]});
    const options = (impact: ImpactLaw, {mu, e}: Case) =>
      ({scheme: scheme(impact), dt: 1e-4, steps: 1, saveAt: 'end', params: {mu, e}}) as const;
    const struck = (impact: ImpactLaw, at: Case): Float64Array => {
      const path = simulate(rod, start(at), options(impact, at));
      path.dispose();
      return path.values('v').slice(3);
    };
    /** Sticking, sliding through, and slip that turns round. */
    const cases: readonly Case[] = [
      {angle: 1.2888, mu: 0.6416, e: 0.988, along: 0.592},
      {angle: 0.72, mu: 0.24, e: 0.95, along: 0.8},
      {angle: 0.7368, mu: 0.9776, e: 0.968, along: 0.912},
      {angle: 0.9, mu: 0.2, e: 0.5, along: -2},
      {angle: 0.5, mu: 0.8, e: 0.7, along: -0.3},
      {angle: 1.2, mu: 0.05, e: 0.6, along: 1.5},
    ];

    slow('velocities after it are those of the closed forms', () => {
      for (const impact of laws)
        for (const at of cases) {
          const exact = closedForm(impact, at);
          // The angle turns by 1e-9 s, and compression yields 1e-7.
          [...struck(impact, at)].forEach((v, i) =>
            expect(v, `${impact} ${JSON.stringify(at)} ${i}`).to.be.closeTo(exact[i], 3e-6),
          );
        }
    });

    slow("Newton's law of velocities adds energy where slip turns round, Poisson's of impulses does not", () => {
      const gain = (impact: ImpactLaw, at: Case): number => energy(struck(impact, at)) / energy([at.along, -1, 0]) - 1;
      for (const at of cases.slice(0, 3)) {
        expect(gain('moreau', at)).to.be.greaterThan(0.05);
        expect(gain('poisson', at)).to.be.lessThan(-0.05);
      }
      for (const at of cases) expect(gain('poisson', at)).to.be.lessThan(0);
    });

    slow('derivatives are those of the closed forms', () => {
      for (const impact of laws)
        for (const at of cases) {
          const {trajectory, pullback} = simulate.vjp(rod, start(at), options(impact, at));
          trajectory.dispose();
          const weights = [0.3, -0.7, 0.5];
          const {params, initial} = pullback({v: [[0, 0, 0], weights]}); // prettier-ignore
          const value = (change: Partial<Case>): number =>
            closedForm(impact, {...at, ...change}).reduce((sum, v, i) => sum + weights[i] * v, 0);
          const d = 1e-5;
          const byDifferences = (name: 'mu' | 'e' | 'along'): number =>
            (value({[name]: at[name] + d}) - value({[name]: at[name] - d})) / (2 * d);
          const told = [params.mu, params.e, initial.v].map(x => (x as Float64Array)[0]);
          (['mu', 'e', 'along'] as const).forEach((name, i) =>
            expect(told[i], `${impact} ${JSON.stringify(at)} ${name}`).to.be.closeTo(byDifferences(name), 1e-5),
          );
        }
    });
  });

  it('a weight that rests is thrown up by what strikes it by Poisson’s law alone', () => {
    // 1 kg at 1 m/s, which sticks to 2 kg on an elastic floor: that gives back what it took, and both go up with a third of the speed.
    const weights = mechanics({
      mass: [1, 2],
      forces: ({q}) => tf.zerosLike(q),
      constraints: [
        frictionalContact(
          ({q}) => {
            const [upper, lower] = tf.unstack(q);
            return tf.stack([tf.sub(upper, lower), lower]);
          },
          {restitution: [0, 1]},
        ),
      ],
    });
    const after = (impact: ImpactLaw): number[] => {
      const path = simulate(
        weights,
        {q: [0.01, 0], v: [-1, 0]},
        {scheme: scheme(impact), dt: 1e-3, t1: 0.02, saveAt: 'end'},
      );
      path.dispose();
      return [...path.values('v').slice(2)];
    };
    after('moreau').forEach(v => expect(v).to.be.closeTo(0, 1e-9));
    after('poisson').forEach(v => expect(v).to.be.closeTo(1 / 3, 1e-6));
  });

  it('joints hold in compression: a pendulum in two coordinates strikes a wall alike by both laws', () => {
    const pendulum = mechanics({
      mass: 1,
      forces: () => tf.tensor1d([0, -9]),
      constraints: [
        bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1)),
        frictionalContact(({q}) => tf.gather(q, 0), {restitution: 0.5}),
      ],
    });
    const [a, b] = laws.map(impact => {
      const path = simulate(
        pendulum,
        {q: [Math.sin(0.6), -Math.cos(0.6)], v: [0, 0]},
        {scheme: scheme(impact), dt: 0.002, t1: 1.5, saveAt: 'end'},
      );
      path.dispose();
      return path.values('q');
    });
    expect(a[2]).to.be.greaterThan(0.01);
    b.forEach((x, i) => expect(x).to.be.closeTo(a[i], 1e-5));
  });

  slow('a box that tumbles by Poisson’s law loses energy at every impact; derivatives by differences', () => {
    const [g, J] = [9.81, [0.01, 0.012, 0.015]];
    const tumbling = multibody({
      gravity: [0, 0, -g],
      bodies: {box: {mass: 1, inertia: J}},
      contacts: [
        rigidContact('ground', 'box', {
          shapes: [plane(), box({size: [0.3, 0.25, 0.2]})],
          ...(law as never as {friction: number; restitution: number}),
        }),
      ],
    });
    const start = (vx: number) => ({
      q: [[0, 0, 0.6, Math.sqrt(0.7), Math.sqrt(0.1), -Math.sqrt(0.15), Math.sqrt(0.05)]],
      v: [[vx, -0.4, 0, 3, -2, 4]],
    });
    const options = (mu: number, e: number, saveAt: 'all' | 'end') =>
      ({scheme: scheme('poisson'), dt: 0.005, t1: 1, params: {mu, e}, saveAt}) as const;
    const path = simulate(tumbling, start(0.5), options(0.5, 0.6, 'all'));
    path.dispose();
    const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
    const energies = Array.from({length: v.length / 6}, (_, i) => {
      const [x, y, z, ...spin] = v.slice(6 * i, 6 * i + 6);
      return g * q[7 * i + 2] + (x * x + y * y + z * z + spin.reduce((sum, w, k) => sum + J[k] * w * w, 0)) / 2;
    });
    let impacts = 0;
    for (let i = 1; i < energies.length; i++) {
      const push = lambda.slice(24 * i, 24 * i + 8).reduce((sum, x) => sum + x);
      if (push === 0) continue;
      if (push > 10 * g) impacts++;
      // Steps of first order gain what falls below, (g h)²/2, and a share of h of the rotation in them.
      expect(energies[i] - energies[i - 1], `step ${i}`).to.be.lessThan(5e-3);
    }
    expect(impacts).to.be.greaterThan(4);
    const {pullback, trajectory} = simulate.vjp(tumbling, start(0.5), options(0.5, 0.6, 'end'));
    trajectory.dispose();
    const {params, initial} = pullback({q: [[[0, 0, 0, 0, 0, 0, 0]], [[1, 1, 0, 0, 0, 0, 0]]]});
    const where = (vx: number, mu: number, e: number): number => {
      const run = simulate(tumbling, start(vx), options(mu, e, 'end'));
      run.dispose();
      return run.values('q')[7] + run.values('q')[8];
    };
    const d = 1e-6;
    const differences = [
      where(0.5, 0.5 + d, 0.6) - where(0.5, 0.5 - d, 0.6),
      where(0.5, 0.5, 0.6 + d) - where(0.5, 0.5, 0.6 - d),
      where(0.5 + d, 0.5, 0.6) - where(0.5 - d, 0.5, 0.6),
    ].map(x => x / (2 * d));
    [params.mu, params.e, initial.v].forEach((x, i) =>
      expect((x as Float64Array)[0], `derivative ${i}`).to.be.closeTo(
        differences[i],
        1e-6 * Math.max(1, Math.abs(differences[i])),
      ),
    );
  });

  it('refuses a law that it does not know', () => {
    expect(() => moreau({impact: 'hertz'} as never)).to.throw(OptionError, 'impact');
    expect(() => moreau({law: 'poisson'} as never)).to.throw(OptionError, 'law');
  });
});
