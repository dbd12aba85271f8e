/**
 * Symplectic schemes with constraints: the energy over long runs, the symplectic form, the way back, and gradients. The
 * tables of docs/schemes.md and docs/choosing.md say what is measured here.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import {
  adaptive,
  batch,
  bilateral,
  gaussLegendre,
  generalizedAlpha,
  implicitMidpoint,
  lobattoIIIAB,
  mechanics,
  newmark,
  newton,
  nonholonomic,
  OptionError,
  radauIIA5,
  rattle,
  simulate,
  sparseLu,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {readText} from '../package/sources.js';
import {largest, order, slope} from '../simulate/numbers.js';
import {slow} from '../tiers.js';
import {bead, conserved, departure, doublePendulum, freePendulum, pendulum, ring, type Departure} from './conserved.js';

/** To rounding: invariants are kept as well as the step's equations are solved. */
const exact = newton({tolerance: {absolute: 1e-15, relative: 1e-15}});

/** The fastest for the ring: a factor for each step. */
const sparse = newton({linear: sparseLu(), jacobian: 'chord'});

/** The schemes that hold constraints symplectically. */
const symplectic: readonly Scheme[] = [
  ...[2, 3, 4].map(stages => verlet({stages})),
  ...[1, 2, 3].map(stages => gaussLegendre({stages})),
];

/** Schemes of higher order cost more, and Lobatto's share their code with others: their tests are of the second tier. */
const tier = ({order: p, name}: Scheme): typeof slow => (p > 4 || name.startsWith('lobatto') ? slow : it);

/**
 * A line through the departures that rises by less than a twentieth of the largest, or by less than three standard
 * errors: the ring is chaotic, and its departures wander.
 */
const steady = ({largest: bound, drift, error}: Departure): boolean =>
  Math.abs(drift) < Math.max(0.05 * bound, 3 * error);

/**
 * The bead on a curve that is given in polar coordinates (r, θ), r = 1 + 0.3 cos 2θ, under the potential r sin θ: the
 * mass is (1, r²), and forces contain what its change brings.
 */
const polar: MechanicalSystem = mechanics({
  mass: ({q}) => {
    const r = tf.gather(q, 0);
    return tf.stack([tf.onesLike(r), tf.square(r)]);
  },
  forces: ({q, v}) => {
    const [r, theta] = tf.unstack(q);
    const [u, w] = tf.unstack(v);
    const turning = tf.mul(-2, tf.mul(r, tf.mul(u, w)));
    return tf.stack([tf.sub(tf.mul(r, tf.square(w)), tf.sin(theta)), tf.sub(turning, tf.mul(r, tf.cos(theta)))]);
  },
  constraints: [
    bilateral(({q}) => {
      const [r, theta] = tf.unstack(q);
      return tf.sub(r, tf.add(1, tf.mul(0.3, tf.cos(tf.mul(2, theta)))));
    }),
  ],
});
const polarStart: Initial = {q: [1.3, 0], v: [0, 0.4]};
const polarBead = {
  title: 'a bead in polar coordinates',
  system: polar,
  initial: polarStart,
  dt: 0.05,
  energy: ([r, theta]: Float64Array, [u, w]: Float64Array) => (u * u + r * r * w * w) / 2 + r * Math.sin(theta),
};

describe('the energy of constrained motion', function () {
  this.timeout(300_000);

  for (const scheme of symplectic)
    for (const problem of [...conserved, polarBead]) {
      const isRing = problem === ring;
      (isRing || scheme.order !== 2 ? slow : it)(
        `${scheme.name}, ${problem.title}: no drift, and order ${scheme.order} in h`,
        () => {
          const long = isRing
            ? departure(ring, scheme, ring.dt / 2, scheme.order === 2 ? 20_000 : 4000, 5, {newton: sparse}, 0.25)
            : departure(problem, scheme, problem.dt / 2, 5000, 5);
          expect(steady(long), JSON.stringify(long)).to.equal(true);
          expect(long.error / long.largest).to.be.below(0.06);
          // Steps that are short enough for the order, over a time in which the ring's chaos does not show.
          const [coarse, fine] = (isRing ? [4, 8] : [1, 2]).map(share => {
            const dt = problem.dt / share;
            return departure(problem, scheme, dt, Math.round((isRing ? 5 : 50) / dt), 1, {newton: exact}).largest;
          });
          if (fine > 1e-12) expect(order(coarse, fine)).to.be.closeTo(scheme.order, 0.3);
          else expect(coarse).to.be.below(1e-10);
        },
      );
    }

  slow('the same line finds the drift of others on the ring', () => {
    for (const scheme of [newmark(), implicitMidpoint()]) {
      const found = departure(ring, scheme, ring.dt / 2, 20_000, 5, {stabilization: 'ggl'}, 0.25);
      expect(steady(found), `${scheme.name}: ${JSON.stringify(found)}`).to.equal(false);
    }
  });

  for (const [scheme, stabilization] of [
    [newmark(), 'ggl'],
    [implicitMidpoint(), 'ggl'],
    [trapezoid(), 'projection'],
    [generalizedAlpha({rhoInf: 1}), 'ggl'],
  ] as const)
    it(`${scheme.name}, ${stabilization}: a drift, and long runs say so`, () => {
      const found = departure(pendulum, scheme, 0.1, 5000, 5, {stabilization});
      expect(Math.abs(found.drift) / found.largest).to.be.above(0.3);
      expect(steady(found)).to.equal(false);
      const said = (steps: number, chosen: Scheme): readonly string[] => {
        const options: SimulateOptions = {scheme: chosen, dt: 0.01, steps, saveAt: 'end'};
        const run = simulate(pendulum.system, pendulum.initial, {
          ...options,
          ...(chosen === scheme ? {stabilization} : {}),
        });
        run.dispose();
        return run.warnings;
      };
      expect(said(10_000, scheme).join()).to.match(/not symplectic: over 10000 steps .* may drift/);
      expect(said(100, scheme)).to.deep.equal([]);
      expect(said(10_000, verlet())).to.deep.equal([]);
    });

  it('says so of gaussLegendre with rows that it does not hold symplectically', () => {
    const rolling = mechanics({
      mass: 1,
      forces: ({q}) => tf.neg(q),
      constraints: [nonholonomic(({v}) => tf.sub(tf.gather(v, 0), tf.gather(v, 1)))],
    });
    const options: SimulateOptions = {scheme: gaussLegendre(), dt: 0.01, steps: 10_000, saveAt: 'end'};
    const run = simulate(rolling, {q: [1, 0], v: [0, 0]}, options);
    run.dispose();
    expect(run.warnings.join()).to.match(/gaussLegendre\(2\) damps nothing, but .* may drift/);
  });
});

describe('the symplectic form of constrained motion', () => {
  interface Chosen {
    readonly scheme: Scheme;
    readonly stabilization?: SimulateOptions['stabilization'];
    readonly dt?: number;
  }

  /** dq ∧ dp of two directions (dq, dp). */
  const form = (one: readonly Float64Array[], other: readonly Float64Array[]): number =>
    one[0].reduce((sum, dq, i) => sum + dq * other[1][i] - other[0][i] * one[1][i], 0);

  /** How far the form of two directions of the start changes over a run. */
  function change(
    system: MechanicalSystem,
    initial: {readonly q: readonly number[]; readonly v: readonly number[]},
    directions: readonly {readonly q: number[]; readonly v: number[]}[],
    momentum: (q: Float64Array, v: Float64Array, dq: Float64Array, dv: Float64Array) => Float64Array,
    {scheme, stabilization, dt = 0.1}: Chosen,
  ): number {
    const {trajectory, tangents} = simulate.jvps(
      system,
      initial as Initial,
      {scheme, stabilization, dt, steps: 50, newton: exact},
      directions.map(one => ({initial: one})),
    );
    trajectory.dispose();
    const at = (n: number): number => {
      const part = (values: Float64Array): Float64Array => values.subarray(2 * n, 2 * n + 2);
      const [q, v] = [part(trajectory.values('q')), part(trajectory.values('v'))];
      const [one, other] = tangents.map(({q: dq, v: dv}) => [
        part(dq as Float64Array),
        momentum(q, v, part(dq as Float64Array), part(dv as Float64Array)),
      ]);
      return form(one, other);
    };
    return at(50) / at(0) - 1;
  }

  /** Along the wire y = w(x): x changes alone, or its velocity. */
  const onWire = (options: Chosen): number => {
    const [x, u] = [1.6, 0.5];
    const [slope, bend] = [x ** 3 - x, 3 * x ** 2 - 1];
    return change(
      bead.system,
      {q: [x, x ** 4 / 4 - x ** 2 / 2], v: [u, slope * u]},
      [
        {q: [1, slope], v: [0, bend * u]},
        {q: [0, 0], v: [1, slope]},
      ],
      (_q, _v, _dq, dv) => dv,
      options,
    );
  };

  /** Along the curve in polar coordinates, where p = (u, r² w). */
  const inPolar = (options: Chosen): number => {
    const [theta, w] = [0.2, 0.4];
    const [r, slope, bend] = [1 + 0.3 * Math.cos(2 * theta), -0.6 * Math.sin(2 * theta), -1.2 * Math.cos(2 * theta)];
    return change(
      polar,
      {q: [r, theta], v: [slope * w, w]},
      [
        {q: [slope, 1], v: [bend * w, 0]},
        {q: [0, 0], v: [slope, 1]},
      ],
      ([radius], [, turn], [dr], [du, dw]) => Float64Array.of(du, radius * radius * dw + 2 * radius * dr * turn),
      options,
    );
  };

  for (const scheme of symplectic) {
    tier(scheme)(`${scheme.name} keeps it to rounding, on a wire`, () => {
      expect(Math.abs(onWire({scheme}))).to.be.below(1e-10);
      expect(Math.abs(onWire({scheme, dt: -0.1}))).to.be.below(1e-10);
    });
    tier(scheme)(`${scheme.name} keeps it to rounding, with a mass that depends on q`, () => {
      expect(Math.abs(inPolar({scheme}))).to.be.below(1e-10);
    });
  }

  it('others do not', () => {
    for (const scheme of [newmark(), generalizedAlpha(), radauIIA5()])
      expect(Math.abs(onWire({scheme, stabilization: 'ggl'})), scheme.name).to.be.above(1e-6);
  });
});

describe('the way back of constrained motion', () => {
  for (const scheme of symplectic)
    for (const problem of [...conserved, polarBead])
      tier(scheme)(`${scheme.name}, ${problem.title}: to rounding`, () => {
        const {system, initial, dt} = problem;
        const steps = problem === ring ? 20 : 200;
        const options = {scheme, steps, newton: exact, saveAt: 'end'} as const;
        const nested = problem === ring || problem === doublePendulum;
        const half = (values: Float64Array, from: number): Float64Array =>
          values.subarray((from * values.length) / 2, ((from + 1) * values.length) / 2);
        const given = (values: Float64Array): number[] | number[][] =>
          nested
            ? Array.from({length: values.length / 2}, (_, i) => [...values.subarray(2 * i, 2 * i + 2)])
            : [...values];
        const there = simulate(system, initial, {...options, dt, consistent: 'project'});
        there.dispose();
        const [q, v] = (['q', 'v'] as const).map(block => there.values(block));
        const end = {q: given(half(q, 1)), v: given(half(v, 1)), t: steps * dt} as Initial;
        const back = simulate(system, end, {...options, dt: -dt});
        back.dispose();
        for (const [block, values] of [
          ['q', q],
          ['v', v],
        ] as const) {
          const start = half(values, 0);
          const off = half(back.values(block), 1).map((value, i) => value - start[i]);
          expect(largest(off), block).to.be.below(1e-11);
        }
      });
});

describe('gradients of constrained motion', () => {
  type P = {readonly k: tf.Tensor; readonly m: tf.Tensor};
  const sprung = mechanics<P>({
    mass: ({params}) => tf.stack([params.m, params.m]),
    forces: ({q, t, params}) => tf.add(tf.mul(tf.neg(params.k), q), tf.stack([tf.sin(t), tf.zerosLike(t)])),
    constraints: [
      bilateral(({q, t}) => {
        const [x, y] = tf.unstack(q);
        return tf.sub(y, tf.mul(tf.sin(x), tf.add(1, tf.mul(0.2, tf.square(t)))));
      }),
    ],
  });
  const start: Initial = {q: [0.6, Math.sin(0.6)], v: [0.5, 0.5 * Math.cos(0.6)]};
  const point = [2, 1.3];
  const weights = {q: [0, 0, 1, -0.5], v: [0, 0, 0.3, 0.7], lambda: [0, 0.2]};
  const cases: readonly (readonly [string, Partial<SimulateOptions<P>>])[] = [
    ['forwards', {dt: 0.05, steps: 30}],
    ['backwards', {dt: -0.05, steps: 30}],
    ['adaptive', {dt: 0.05, t1: 1, control: adaptive({rtol: 1e-4})}],
  ];
  for (const scheme of symplectic)
    for (const [way, more] of cases)
      tier(scheme)(`${scheme.name}, ${way}: vjp, jvp and differences`, () => {
        const options = (x: readonly number[]): SimulateOptions<P> =>
          ({scheme, saveAt: 'end', newton: exact, params: {k: x[0], m: x[1]}, ...more}) as SimulateOptions<P>;
        const names = ['q', 'v', 'lambda'] as const;
        const weighted = (values: (name: (typeof names)[number]) => Float64Array): number =>
          names.reduce((sum, name) => sum + weights[name].reduce((part, w, i) => part + w * values(name)[i], 0), 0);
        const {trajectory, pullback} = simulate.vjp(sprung, start, options(point));
        trajectory.dispose();
        const {k, m} = pullback(weights).params as {[name: string]: Float64Array};
        const direction = [0.7, -0.4];
        const pulled = k[0] * direction[0] + m[0] * direction[1];
        const pushed = simulate.jvp(sprung, start, options(point), {params: {k: direction[0], m: direction[1]}});
        pushed.trajectory.dispose();
        const along = weighted(name => pushed.tangent[name] as Float64Array);
        expect(along).to.be.closeTo(pulled, 1e-10 * Math.max(1, Math.abs(pulled)));
        // The steps of an adaptive run differ from one parameter to the next.
        if (way === 'adaptive') return;
        const loss = (s: number): number => {
          const run = simulate(sprung, start, options(point.map((x, i) => x + s * direction[i])));
          run.dispose();
          return weighted(name => run.values(name));
        };
        expect(pulled).to.be.closeTo(slope(loss, 1e-3), 1e-8);
      });

  it('members of a batch are the runs alone', () => {
    for (const scheme of symplectic) {
      const options = {scheme, dt: 0.05, steps: 20, saveAt: 'end'} as const;
      const params = [
        {k: 2, m: 1.3},
        {k: 3, m: 0.9},
      ];
      const members = params.map(one => ({initial: start, params: one}));
      const runs = batch(sprung, members, {...options, params: params[0]});
      const ends = params.map(one => simulate(sprung, start, {...options, params: one}).values('q'));
      ends.forEach((values, i) => {
        const member = runs[i].values('q');
        expect(largest(member.map((value, k) => value - values[k])), scheme.name).to.be.below(1e-13);
      });
    }
  });
});

describe('the pairs of Lobatto IIIA and IIIB', () => {
  const driven = mechanics({
    mass: 1,
    forces: ({q, v, t}) => tf.sub(tf.cos(t), tf.add(tf.mul(tf.add(3, tf.square(q)), q), tf.mul(0.2, v))),
  });
  const end = (scheme: Scheme, steps: number): number => {
    const run = simulate(driven, {q: 0.7, v: -0.2}, {scheme, dt: 2 / steps, steps, saveAt: 'end', newton: exact});
    run.dispose();
    return run.values('q')[1];
  };

  it('have order 2s − 2 without constraints, under forces that depend on v and t', () => {
    const right = end(gaussLegendre({stages: 5}), 40);
    for (const [stages, steps] of [
      [3, 10],
      [4, 6],
      [5, 8],
    ]) {
      const error = (n: number): number => Math.abs(end(verlet({stages}), n) - right);
      expect(order(error(steps), error(2 * steps)), `${stages} stages`).to.be.closeTo(2 * stages - 2, 0.4);
    }
  });

  it('are one function with verlet and RATTLE, of 2 to 9 stages', () => {
    expect(rattle).to.equal(verlet);
    expect(rattle()).to.include({name: 'verlet', order: 2});
    expect(lobattoIIIAB).to.equal(verlet);
    expect(lobattoIIIAB({stages: 2}).name).to.equal('verlet');
    expect(lobattoIIIAB({stages: 3})).to.include({name: 'lobattoIIIAB(3)', order: 4});
    for (const stages of [1, 10, 2.5])
      expect(() => verlet({stages})).to.throw(OptionError, /stages .*a whole number from 2 to 9/);
  });

  it('have the multipliers of the instant at the end of each step', () => {
    // Of a pendulum in cartesian coordinates: λ = y − v² for |q| = 1 and g = 1.
    const off = (dt: number): number => {
      const options = {scheme: lobattoIIIAB({stages: 3}), dt, steps: Math.round(2 / dt), newton: exact};
      const run = simulate(pendulum.system, pendulum.initial, options);
      run.dispose();
      const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => run.values(name));
      const own = lambda.map((value, i) => value + v[2 * i] ** 2 + v[2 * i + 1] ** 2 - q[2 * i + 1]);
      return largest(own.subarray(1));
    };
    expect(off(0.1)).to.be.below(1e-12);
  });
});

describe('what verlet refuses of constraints', () => {
  it('rows that are no bilateral ones of positions, and kinematics', () => {
    const rolling = mechanics({mass: 1, forces: ({q}) => tf.neg(q), constraints: [nonholonomic(({v}) => tf.sum(v))]});
    const rubbing = mechanics({
      mass: 1,
      forces: ({v, lambda}) => tf.neg(tf.mul(tf.abs(lambda!), v)),
      constraints: [bilateral(({q}) => tf.mul(0.5, tf.sub(tf.sum(tf.square(q)), 1)))],
    });
    for (const system of [rolling, rubbing])
      expect(() => simulate(system, {q: [1, 0], v: [0, 0]}, {scheme: verlet(), dt: 0.1, steps: 1})).to.throw(
        OptionError,
        /holds bilateral constraints alone/,
      );
    expect(() =>
      simulate(pendulum.system, pendulum.initial, {scheme: verlet(), stabilization: 'ggl', dt: 0.1, steps: 1}),
    ).to.throw(OptionError, /has no stabilization 'ggl'/);
  });
});

describe('the pages about the energy', function () {
  this.timeout(120_000);
  /** Rows of the table below a heading: the code of the first column, and the others. */
  const rowsOf = (page: string, heading: string): [string, string[]][] =>
    readText(page)
      .split(`${heading}\n`)[1]
      .split('\n')
      .filter(line => line.startsWith('| `'))
      .map(line =>
        line
          .split('|')
          .slice(1, -1)
          .map(cell => cell.trim()),
      )
      .map(([first, ...cells]) => [first, cells]);
  const table = rowsOf('docs/schemes.md', '## Energy');
  const schemes: Readonly<Record<string, readonly [Scheme, SimulateOptions['stabilization']?]>> = {
    '`verlet()`': [verlet()],
    '`verlet({stages: 3})`': [verlet({stages: 3})],
    '`verlet({stages: 4})`': [verlet({stages: 4})],
    '`gaussLegendre({stages: 1})`': [gaussLegendre({stages: 1})],
    '`gaussLegendre({stages: 2})`': [gaussLegendre()],
    '`gaussLegendre({stages: 3})`': [gaussLegendre({stages: 3})],
    '`implicitMidpoint()`': [implicitMidpoint()],
    '`implicitMidpoint()`, `ggl`': [implicitMidpoint(), 'ggl'],
    '`trapezoid()`': [trapezoid()],
    '`trapezoid()`, `projection`': [trapezoid(), 'projection'],
    '`newmark()`': [newmark()],
    '`generalizedAlpha({rhoInf: 1})`': [generalizedAlpha({rhoInf: 1})],
    '`generalizedAlpha()`': [generalizedAlpha()],
    '`radauIIA5()`': [radauIIA5()],
  };

  it('has every row', () => {
    expect(table.map(([name]) => name)).to.deep.equal(Object.keys(schemes));
  });

  for (const [name, cells] of table)
    slow(`docs/schemes.md has what is measured of ${name}`, () => {
      const [scheme, stabilization] = schemes[name];
      [freePendulum, pendulum, bead, doublePendulum].forEach((problem, i) => {
        // Without constraints there is nothing to stabilize.
        if (problem === freePendulum && stabilization !== undefined) return void expect(cells[i]).to.equal('');
        const {largest: bound, drift} = departure(problem, scheme, problem.dt, 20_000, 20, {stabilization});
        const drifts = bound > 1e-11 && Math.abs(drift) > 0.1 * bound;
        const found = `${name}, ${problem.title}: ${bound.toExponential(1)}, drift ${drift.toExponential(1)}`;
        expect(cells[i].startsWith('drifts, '), found).to.equal(drifts);
        if (cells[i] === 'rounding') expect(bound, found).to.be.below(1e-11);
        else expect(bound / Number(cells[i].replace('drifts, ', '')), found).to.be.within(0.9, 1.1);
      });
    });

  it('docs/choosing.md names for long runs only schemes without a drift', () => {
    const [line] = readText('docs/choosing.md')
      .split('\n')
      .filter(text => text.startsWith('| conserves energy'));
    const named = line.match(/`[a-zA-Z]+\([^`]*\)`/g) ?? [];
    expect(named).to.have.length.above(1);
    for (const name of named) {
      const cells = new Map(table).get(name);
      expect(cells, name).to.not.equal(undefined);
      expect(
        cells!.some(cell => cell.startsWith('drifts')),
        name,
      ).to.equal(false);
    }
  });
});
