/** Moreau's time stepping with Coulomb's friction: closed forms on both sides of their thresholds, and their gradients. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  compliant,
  equilibrium,
  frictionalContact,
  implicitEuler,
  InconsistentStateError,
  mechanics,
  moreau,
  OptionError,
  ShapeError,
  simulate,
  unilateral,
  type MechanicalSystem,
  type Params,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const g = 9.81;
const read = (params: Params, name: string): tf.Tensor => params[name] as tf.Tensor;
const scheme = moreau();

describe('moreau: contacts with friction', () => {
  it('ask a gap and a slip once in each of the traces of a run, wherever its steps need them', () => {
    const calls = {gap: 0, slip: 0};
    const puck = mechanics({
      mass: [1, 1],
      forces: ({q}) => tf.mul(-g, tf.onesLike(q)),
      constraints: [
        frictionalContact(
          ({q}) => {
            calls.gap++;
            return tf.slice(q, [1], [1]);
          },
          {
            slip: ({v}) => {
              calls.slip++;
              return tf.slice(v, [0], [1]);
            },
            friction: 0.5,
          },
        ),
      ],
    });
    simulate(puck, {q: [0, 0.1], v: [0, 0]}, {scheme, dt: 0.01, steps: 3}).dispose();
    // Sizes of the rows, the start, the step; the start has no friction.
    expect(calls).to.deep.equal({gap: 3, slip: 2});
  });

  describe('a ball thrown back', () => {
    const ball = mechanics({
      mass: 2,
      forces: ({q, params}) => tf.mul(tf.mul(-2, read(params, 'g')), tf.onesLike(q)),
      constraints: [frictionalContact(({q}) => q, {restitution: params => read(params, 'e')})],
    });
    /** Height at T of a ball let fall from x with gravity G, thrown back once with e. */
    const height = (x: number, G: number, e: number, T: number): number => {
      const s = T - Math.sqrt((2 * x) / G);
      return e * Math.sqrt(2 * G * x) * s - (G * s * s) / 2;
    };
    const slope = (f: (x: number) => number, x: number): number => (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
    const found = (dt: number): number[] => {
      const {trajectory, pullback} = simulate.vjp(
        ball,
        {q: 10, v: 0},
        {scheme, dt, t1: 3, params: {g: 8, e: 0.8}, saveAt: 'end'},
      );
      const {params, initial} = pullback({q: [0, 1]});
      expect(trajectory.warnings).to.deep.equal([]);
      return [trajectory.values('q')[1], initial.q, params.g, params.e].map(x =>
        typeof x === 'number' ? x : (x as Float64Array)[0],
      );
    };

    it('height and derivatives are those of the located impact, to first order', () => {
      const exact = [
        height(10, 8, 0.8, 3),
        slope(x => height(x, 8, 0.8, 3), 10),
        slope(G => height(10, G, 0.8, 3), 8),
        slope(e => height(10, 8, e, 3), 0.8),
      ];
      // Known from the events of this problem.
      expect(exact[0]).to.be.closeTo(6.305197, 1e-6);
      expect(exact[1]).to.be.closeTo(0.81526, 1e-5);
      const [coarse, fine] = [found(0.01), found(0.0005)];
      exact.forEach((value, i) => {
        expect(coarse[i], `number ${i}`).to.be.closeTo(value, 0.15);
        expect(Math.abs(fine[i] - value), `number ${i}`).to.be.lessThan(0.0075);
      });
    });

    it('bounces ever lower, rests, and never sinks', () => {
      const path = simulate(ball, {q: 1, v: 0}, {scheme, dt: 0.01, t1: 6, params: {g: 8, e: 0.6}});
      path.dispose();
      const q = path.values('q');
      expect(Math.min(...q)).to.be.greaterThan(-1e-9);
      expect(q[q.length - 1]).to.be.closeTo(0, 1e-9);
      expect(path.values('lambda').slice(-1)[0]).to.be.closeTo(16, 1e-6);
    });
  });

  describe('a block in space on an incline', () => {
    const mass = 3;
    const block = mechanics({
      mass,
      forces: ({params}) => {
        const theta = read(params, 'theta');
        return tf.mul(mass * g, tf.stack([tf.sin(theta), tf.zerosLike(theta), tf.neg(tf.cos(theta))]));
      },
      constraints: [
        frictionalContact(({q}) => tf.gather(q, 2), {
          slip: ({v}) => tf.slice(v, [0], [2]),
          friction: params => read(params, 'mu'),
        }),
      ],
    });
    const end = (theta: number, mu: number, v: number[], dt = 0.01, t1 = 1) => {
      const {trajectory, pullback} = simulate.vjp(
        block,
        {q: [0, 0, 0], v},
        {scheme, dt, t1, params: {theta, mu}, saveAt: 'end'},
      );
      const of = (cotangent: object): Float64Array[] => {
        const {params, initial} = pullback(cotangent);
        return [params.theta, params.mu, initial.v] as Float64Array[];
      };
      return {
        q: trajectory.values('q').slice(3),
        v: trajectory.values('v').slice(3),
        lambda: trajectory.values('lambda').slice(3),
        warnings: trajectory.warnings,
        of,
      };
    };

    it('slides with g (sin θ − μ cos θ) above the threshold, with its derivatives', () => {
      const [theta, mu] = [0.5, 0.4];
      const {v, lambda, of} = end(theta, mu, [0, 0, 0]);
      expect(v[0]).to.be.closeTo(g * (Math.sin(theta) - mu * Math.cos(theta)), 1e-8);
      expect(lambda[0]).to.be.closeTo(mass * g * Math.cos(theta), 1e-6);
      const [byTheta, byMu] = of({v: [[0, 0, 0], [1, 0, 0]]}); // prettier-ignore
      expect(byTheta[0]).to.be.closeTo(g * (Math.cos(theta) + mu * Math.sin(theta)), 1e-7);
      expect(byMu[0]).to.be.closeTo(-g * Math.cos(theta), 1e-7);
    });

    it('sticks below it, and nothing but the start moves it', () => {
      const {q, lambda, of} = end(0.3, 0.4, [0, 0, 0]);
      expect(Math.abs(q[0])).to.be.lessThan(1e-8);
      expect(lambda[1]).to.be.closeTo(-mass * g * Math.sin(0.3), 1e-6);
      const [byTheta, byMu, byV] = of({q: [[0, 0, 0], [1, 0, 0]]}); // prettier-ignore
      expect(Math.abs(byTheta[0])).to.be.lessThan(1e-7);
      expect(byMu[0]).to.equal(0);
      expect(Math.abs(byV[0])).to.be.lessThan(1e-7);
    });

    it('at the threshold the run says so', () => {
      const mu = Math.tan(0.4);
      const {warnings, of} = end(0.4, mu, [0, 0, 0], 0.01, 0.1);
      const found = of({q: [[0, 0, 0], [1, 0, 0]]}).flatMap(x => [...x]); // prettier-ignore
      expect(found.every(Number.isFinite)).to.equal(true);
      expect(warnings.join()).to.contain('border');
    });

    it('is stopped after v²/(2 μ g), at v/(μ g), in the direction it slides in', () => {
      const [mu, speed] = [0.35, 2.1];
      const direction = [Math.cos(0.7), Math.sin(0.7)];
      for (const dt of [0.01, 0.001]) {
        const {q, v, of} = end(0, mu, [...direction.map(c => speed * c), 0], dt);
        const along = direction[0] * q[0] + direction[1] * q[1];
        // Velocities are exact while it slides: positions are off by less than a step's way.
        expect(along).to.be.closeTo(speed ** 2 / (2 * mu * g), dt * speed);
        expect(direction[1] * q[0] - direction[0] * q[1]).to.be.closeTo(0, 1e-9);
        expect(Math.hypot(...v)).to.be.lessThan(1e-8);
        const [, byMu, byV] = of({q: [[0, 0, 0], [...direction, 0]]}); // prettier-ignore
        expect(byMu[0]).to.be.closeTo(-(speed ** 2) / (2 * mu ** 2 * g), (2 * dt * speed) / mu);
        expect(direction[0] * byV[0] + direction[1] * byV[1]).to.be.closeTo(speed / (mu * g), 2 * dt);
      }
    });
  });

  it('an oblique impact: λ_T is μ λ_N where it slides through, and less where it is caught', () => {
    const puck = (mu: number): Float64Array => {
      const system = mechanics({
        mass: 1,
        forces: ({q}) => tf.zerosLike(q),
        constraints: [
          frictionalContact(({q}) => tf.gather(q, 1), {slip: ({v}) => tf.gather(v, 0), friction: mu, restitution: 0.5}),
        ],
      });
      const path = simulate(system, {q: [0, 0.105], v: [2, -1]}, {scheme, dt: 0.01, t1: 0.2, saveAt: 'end'});
      path.dispose();
      return Float64Array.of(...path.values('v').slice(2), ...path.values('q').slice(2));
    };
    // Impulse (1 + e)·1 = 1.5; at t* = 0.105.
    const through = puck(0.4);
    [2 - 0.6, 0.5, 2 * 0.105 + 1.4 * 0.095, 0.5 * 0.095].forEach((x, i) => expect(through[i]).to.be.closeTo(x, 1e-5));
    const caught = puck(2);
    [0, 0.5, 2 * 0.105, 0.5 * 0.095].forEach((x, i) => expect(caught[i]).to.be.closeTo(x, 1e-5));
  });

  slow('joints: a pendulum strikes a wall as the same pendulum in its angle does, with the same derivative', () => {
    const options = {scheme, dt: 0.001, t1: 1, params: {g: 9}, saveAt: 'end' as const};
    const wall = {restitution: 0.5};
    const maximal = mechanics({
      mass: 1,
      forces: ({params}) => tf.stack([tf.scalar(0), tf.neg(read(params, 'g'))]),
      constraints: [
        bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1)),
        frictionalContact(({q}) => tf.gather(q, 0), wall),
      ],
    });
    const minimal = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.neg(tf.mul(read(params, 'g'), tf.sin(q))),
      constraints: [frictionalContact(({q}) => tf.sin(q), wall)],
    });
    const [a, b] = [
      simulate.vjp(maximal, {q: [Math.sin(0.6), -Math.cos(0.6)], v: [0, 0]}, options),
      simulate.vjp(minimal, {q: 0.6, v: 0}, options),
    ];
    const [qa, qb] = [a.trajectory.values('q')[2], b.trajectory.values('q')[1]];
    // Two discretizations of first order.
    expect(Math.asin(qa)).to.be.closeTo(qb, 3e-3);
    const [ga, gb] = [a.pullback({q: [[0, 0], [1, 0]]}), b.pullback({q: [0, 1]})]; // prettier-ignore
    const [x, y] = ga.initial.q as Float64Array;
    const bySwing = (Math.cos(0.6) * x + Math.sin(0.6) * y) / Math.cos(qb);
    expect(bySwing).to.be.closeTo((gb.initial.q as Float64Array)[0], 5e-3);
  });

  it('unilateral rows stop what lands', () => {
    const floor = mechanics({
      mass: 2,
      forces: ({q}) => tf.mul(-2 * g, tf.onesLike(q)),
      constraints: [unilateral(({q}) => q)],
    });
    const path = simulate(floor, {q: 0.3, v: 0}, {scheme, dt: 0.01, t1: 1, saveAt: 'end'});
    path.dispose();
    expect(path.values('q')[1]).to.be.closeTo(0, 1e-9);
    expect(path.values('lambda')[1]).to.be.closeTo(2 * g, 1e-6);
  });

  describe("Painlevé's rod", () => {
    const [mu, theta] = [5 / 3, Math.PI / 3];
    const rod = mechanics({
      mass: [1, 1, 1 / 3],
      forces: () => tf.tensor1d([0, -10, 0]),
      constraints: [
        frictionalContact(
          ({q}) => {
            const [, y, a] = tf.unstack(q);
            return tf.sub(y, tf.sin(a));
          },
          {
            slip: ({q, v}) => {
              const [, , a] = tf.unstack(q);
              const [vx, , w] = tf.unstack(v);
              return tf.add(vx, tf.mul(w, tf.sin(a)));
            },
            friction: mu,
          },
        ),
      ],
    });

    it('jams: an impulse without a collision catches its end, in steps of any length', () => {
      // A normal force with its friction presses the end down.
      expect(1 + 3 * Math.cos(theta) * (Math.cos(theta) - mu * Math.sin(theta))).to.be.lessThan(0);
      const after = [0.002, 0.001].map(dt => {
        const path = simulate(rod, {q: [0, Math.sin(theta), theta], v: [-30, 0, 0]}, {scheme, dt, steps: 1});
        path.dispose();
        const [lambda, rub] = [...path.values('lambda').slice(2)].map(x => x * dt);
        const [vx, vy, w] = path.values('v').slice(3);
        // Coulomb's law of impulses, and the end that neither slides nor sinks.
        expect(lambda).to.be.greaterThan(1);
        expect(Math.abs(rub)).to.be.lessThan(mu * lambda);
        // To softness, 1e-7 of an impulse of ten on arms of one.
        expect(vx + w * Math.sin(theta)).to.be.closeTo(0, 1e-4);
        expect(vy - w * Math.cos(theta)).to.be.closeTo(0, 1e-4);
        expect(vx ** 2 + vy ** 2 + w ** 2 / 3).to.be.lessThan(900);
        return vx;
      });
      expect(after[0]).to.be.closeTo(after[1], 0.05);
    });
  });

  it('refuses what it cannot be', () => {
    const touching = (spec: object): MechanicalSystem =>
      mechanics({mass: 1, forces: [], constraints: [frictionalContact(({q}) => tf.gather(q, 1), spec)]});
    const slip = ({v}: {v: tf.Tensor}): tf.Tensor => tf.gather(v, 0);
    const start = {q: [0, 0], v: [0, 0]};
    const options = {scheme, dt: 0.1, steps: 1};
    expect(() => touching({friction: 0.3})).to.throw(OptionError, 'slip');
    expect(() => touching({slip})).to.throw(OptionError, 'μ');
    expect(() => touching({slip, friction: -1})).to.throw(OptionError, 'at least 0');
    expect(() => touching({restitution: 1.5})).to.throw(OptionError, 'from 0 to 1');
    expect(() => touching({restitute: 1})).to.throw(OptionError, 'restitution');
    expect(() =>
      simulate(touching({slip: ({v}: {v: tf.Tensor}) => tf.concat([v, v]), friction: 1}), start, options),
    ).to.throw(ShapeError, 'slip must return');
    const squared = ({v}: {v: tf.Tensor}): tf.Tensor => tf.square(slip({v}));
    expect(() => simulate(touching({slip: squared, friction: 1}), start, options)).to.throw(OptionError, 'linear in v');
    expect(() => simulate(touching({slip, friction: 1}), start, {...options, scheme: implicitEuler()})).to.throw(
      OptionError,
      'moreau()',
    );
  });

  slow('coefficients by params, tensors and variables are looked at where a run starts, by their rows', () => {
    const floor = (spec: object): MechanicalSystem =>
      mechanics({
        mass: 1,
        forces: ({q}) => tf.mul(-g, tf.concat([tf.zeros([1]), tf.ones([q.size - 1])])),
        constraints: [
          unilateral(({q}) => tf.add(tf.gather(q, 0), 9)),
          frictionalContact(({q}) => tf.gather(q, [1, 2]), {slip: ({v}) => tf.gather(v, [0, 0]), ...spec}),
        ],
      });
    const start = {q: [0, 1, 2], v: [0, 0, 0]};
    const mu = ({mu: x}: Params): tf.Tensor => x as tf.Tensor;
    const run = (system: MechanicalSystem, params?: {mu: number | number[]}): void =>
      simulate(system, start, {scheme, dt: 0.01, steps: 1, params}).dispose();
    const refused = (value: number, row = 0) => ({constraint: 1, row, value});
    const expectRefused = (act: () => void, sentence: string, data: object): void => {
      let error: unknown;
      try {
        act();
      } catch (caught) {
        error = caught;
      }
      expect(error).to.be.instanceOf(InconsistentStateError);
      const {code, message, data: told} = error as InconsistentStateError;
      expect(code).to.equal('bad-coefficient');
      expect(message).to.contain(sentence);
      expect(told).to.deep.include(data);
    };
    const before = tf.memory().numTensors;
    const sliding = floor({friction: mu});
    for (const bad of [-0.1, -1e9])
      expectRefused(
        () => run(sliding, {mu: bad}),
        'constraints[1]: frictionalContact: friction must be finite and at least 0',
        refused(bad),
      );
    expectRefused(() => run(sliding, {mu: [0.3, -2]}), 'that of row 1 is -2', refused(-2, 1));
    run(sliding, {mu: [0.3, 0]});
    const bouncing = floor({friction: 0, restitution: mu});
    for (const bad of [-0.1, 1.1])
      expectRefused(() => run(bouncing, {mu: bad}), 'restitution must be from 0 to 1', refused(bad));
    run(bouncing, {mu: 1});
    const variable = tf.tidy(() => tf.variable(tf.scalar(0.5)));
    const held = floor({friction: variable});
    run(held);
    tf.tidy(() => variable.assign(tf.scalar(-0.5)));
    expectRefused(() => run(held), 'it is -0.5', refused(-0.5));
    variable.dispose();
    const root = floor({friction: (params: Params) => tf.sqrt(mu(params))});
    expectRefused(() => run(root, {mu: -1}), 'it is NaN', {row: 0});
    const soft = mechanics({
      mass: 1,
      forces: [],
      constraints: [compliant(({q}) => q, {compliance: ({c}: {c: tf.Tensor}) => c})],
    });
    const pressed = (c: number): void => simulate(soft, {q: 1, v: 0}, {dt: 0.01, steps: 1, params: {c}}).dispose();
    expectRefused(() => pressed(-1e-3), 'constraints[0]: compliant: compliance', {value: -1e-3});
    pressed(1e-3);
    expectRefused(() => equilibrium(soft, {q: 1}, {params: {c: -1}}), 'compliance', {value: -1});
    expect(tf.memory().numTensors).to.equal(before);
  });

  describe('a start below the surface', () => {
    const block = (spec: object): MechanicalSystem =>
      mechanics({
        mass: 1,
        forces: () => tf.tensor1d([0, -g]),
        constraints: [frictionalContact(({q}) => tf.gather(q, 1), spec)],
      });
    const options = {scheme, dt: 0.01, t1: 0.1};
    const rough = {slip: ({v}: {v: tf.Tensor}) => tf.gather(v, 0), friction: 0.3};
    for (const [name, spec] of [
      ['without friction', {}],
      ['with it', rough],
    ] as const) {
      it(`is refused as one of unilateral rows is, or moved up; ${name}`, () => {
        const begin = (y: number, more = {}) => simulate(block(spec), {q: [0, y], v: [0, 0]}, {...options, ...more});
        expect(() => begin(-0.01)).to.throw(
          InconsistentStateError,
          /gap of lambda\[0\].*-1\.000e-2 but must be at least 0/,
        );
        const path = begin(-0.01, {consistent: 'project'});
        path.dispose();
        expect(path.values('q')[1]).to.be.closeTo(0, 1e-15);
        // What float32 makes of a height on its surface.
        begin(-1e-7).dispose();
      });
    }

    it('is not what steps of the same length leave on a curved surface, and a run may begin with it', () => {
      // Along the inside of a cylinder of radius 1, with 2 m/s: a step moves along its tangent, h² v²/2 below it.
      const cylinder = mechanics({
        mass: 1,
        forces: () => tf.tensor1d([0, -g]),
        constraints: [frictionalContact(({q}) => tf.sub(1, tf.norm(q)))],
      });
      const path = simulate(cylinder, {q: [0, -1], v: [2, 0]}, options);
      path.dispose();
      const last = (name: 'q' | 'v'): number[] => [...path.values(name).slice(-2)];
      expect(1 - Math.hypot(...last('q'))).to.be.within(-0.0003, -0.0001);
      simulate(cylinder, {q: last('q'), v: last('v')}, options).dispose();
      expect(() => simulate(cylinder, {q: last('q'), v: last('v')}, {...options, dt: 1e-4})).to.throw(
        InconsistentStateError,
      );
    });
  });

  slow('a double pendulum that hits a wall twenty times: derivatives are those of differences to 1e-6', () => {
    const pendulum = mechanics({
      mass: 1,
      forces: ({params}) => tf.reshape(tf.mul(tf.tensor1d([0, -1, 0, -1]), read(params, 'g')), [2, 2]),
      constraints: [
        bilateral(({q}) => {
          const [a, b] = tf.unstack(q);
          return tf.stack([tf.sub(tf.sum(tf.square(a)), 1), tf.sub(tf.sum(tf.square(tf.sub(b, a))), 1)]);
        }),
        frictionalContact(({q}) => tf.reshape(tf.slice(q, [0, 0], [2, 1]), [2]), {
          restitution: params => read(params, 'e'),
        }),
      ],
    });
    const start = (angle: number) => {
      const [x, y] = [Math.sin(angle), -Math.cos(angle)];
      return {q: [[x, y], [2 * x, 2 * y]], v: [[0, 0], [0, 0]]}; // prettier-ignore
    };
    const options = (G: number, e: number, saveAt: 'all' | 'end') =>
      ({scheme, dt: 0.01, t1: 16, params: {g: G, e}, saveAt}) as const;
    const {trajectory, pullback} = simulate.vjp(pendulum, start(0.3), options(9, 0.9, 'all'));
    const lambda = trajectory.values('lambda');
    let hits = 0;
    for (let step = 1; 4 * step < lambda.length; step++)
      for (const row of [2, 3]) if (lambda[4 * step + row] > 0 && lambda[4 * step - 4 + row] === 0) hits++;
    expect(hits).to.be.at.least(20);
    const cotangent = new Float64Array(trajectory.values('q').length);
    cotangent[cotangent.length - 2] = 1;
    const {params} = pullback({q: cotangent});
    const end = (G: number, e: number): number => {
      const path = simulate(pendulum, start(0.3), options(G, e, 'end'));
      path.dispose();
      return path.values('q')[6];
    };
    const d = 1e-6;
    const [byG, byE] = [(end(9 + d, 0.9) - end(9 - d, 0.9)) / (2 * d), (end(9, 0.9 + d) - end(9, 0.9 - d)) / (2 * d)];
    expect((params.g as Float64Array)[0]).to.be.closeTo(byG, 1e-6 * Math.max(1, Math.abs(byG)));
    expect((params.e as Float64Array)[0]).to.be.closeTo(byE, 1e-6 * Math.max(1, Math.abs(byE)));
  });
});
