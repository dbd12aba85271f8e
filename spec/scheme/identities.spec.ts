/** Schemes that are one another under another name, or must not be. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, Numeric, OdeSystem, Scheme} from '../../lib/index.js';
import type {GuessName} from '../../lib/scheme/theta.js';
import {
  blendedEuler,
  defineScheme,
  explicitEuler,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  OptionError,
  simulate,
  theta,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {difference, largest} from '../simulate/numbers.js';
import {firstOrder, mechanical} from './problems.js';

/** Every number of a run of 50 steps of 0.02. Newton goes on to rounding, so that schemes can be told apart there. */
function states(system: MechanicalSystem | OdeSystem, initial: Initial, scheme: Scheme): Float64Array {
  const exact = newton({tolerance: {absolute: 1e-15, relative: 1e-15}});
  const path = simulate(system, initial, {scheme, dt: 0.02, steps: 50, newton: exact, engine: 'interpreter'});
  path.dispose();
  const blocks = system.kind === 'ode' ? [path.values('y')] : [path.values('q'), path.values('v')];
  return Float64Array.from(blocks.flatMap(block => [...block]));
}

const apart = (system: MechanicalSystem | OdeSystem, initial: Initial, one: Scheme, other: Scheme): number =>
  largest(difference(states(system, initial, one), states(system, initial, other)));

/** 50 steps of states near 1, each rounded to 1e-16 some ten times, the errors carried on by the motion. */
const rounding = 1e-13;

/** The trapezoidal rule as a user writes it down. */
const ownTrapezoid = defineScheme({
  name: 'my trapezoid',
  order: 2,
  unknown: ['v'],
  residual: ({v}, {x, t, h, mass, force}) => {
    const q = x.q.add(h.mul(0.5).mul(x.v.add(v)));
    const f = force(x.q, x.v, t)
      .add(force(q, v, t.add(h)))
      .mul(0.5);
    return {v: mass(x.q.add(q).mul(0.5), v.sub(x.v)).sub(h.mul(f))};
  },
  update: ({v}, {x, h}) => ({q: x.q.add(h.mul(0.5).mul(x.v.add(v))), v}),
});

const guesses: readonly GuessName[] = ['rest', 'current', 'consistent', 'linearized', 'extrapolated'];

describe('schemes under other names', () => {
  const pairs: readonly (readonly [string, Scheme, Scheme])[] = [
    ['theta(0) is explicit Euler', theta(0), explicitEuler()],
    ['theta(1) is implicit Euler', theta(1), implicitEuler()],
    ['theta(½) is the trapezoid', theta(0.5), trapezoid()],
    ['blendedEuler(1, 1) is implicit Euler', blendedEuler({alpha: 1, beta: 1}), implicitEuler()],
    ['blendedEuler(½, ½) is the trapezoid', blendedEuler({alpha: 0.5, beta: 0.5}), trapezoid()],
    ['blendedEuler(0, 0) is explicit Euler', blendedEuler({alpha: 0, beta: 0}), explicitEuler()],
    ['blendedEuler(0.7, 0.7) is theta(0.7)', blendedEuler({alpha: 0.7, beta: 0.7}), theta(0.7)],
    ["a trapezoid of one's own is the trapezoid", ownTrapezoid, trapezoid()],
    ['implicit Euler in the acceleration is implicit Euler', implicitEuler({unknown: 'acceleration'}), implicitEuler()],
    ...(['increment', 'acceleration'] as const).map(
      unknown =>
        [
          `blended Euler in the ${unknown} is that in the velocity`,
          blendedEuler({alpha: 0.6, beta: 0.8, unknown}),
          blendedEuler({alpha: 0.6, beta: 0.8}),
        ] as const,
    ),
    ...[trapezoid, implicitMidpoint, implicitEuler].flatMap(scheme =>
      (['condensed', 'coupled'] as const).flatMap(form =>
        guesses.map(
          guess => [`${scheme().name}, ${form}, from the guess '${guess}'`, scheme({form, guess}), scheme()] as const,
        ),
      ),
    ),
    ...guesses.map(
      guess =>
        [
          `implicit Euler in the acceleration, from the guess '${guess}'`,
          implicitEuler({unknown: 'acceleration', guess}),
          implicitEuler(),
        ] as const,
    ),
  ];
  for (const [title, one, other] of pairs) {
    it(title, () => {
      for (const {system, initial, title: where} of mechanical) {
        expect(apart(system, initial, one, other), where).to.be.below(rounding);
      }
      for (const {system, initial, title: where} of firstOrder) {
        if (one.ode === undefined || other.ode === undefined) continue;
        expect(apart(system, initial, one, other), where).to.be.below(rounding);
      }
    });
  }

  it('Newmark (¼, ½) is the trapezoid where the mass is constant', () => {
    for (const {system, initial, title} of mechanical) {
      if (system.kind === 'ode' || typeof system.mass === 'function') continue;
      expect(apart(system, initial, newmark(), trapezoid()), title).to.be.below(rounding);
    }
  });

  it('... and not where it depends on q: they take it at different places', () => {
    for (const {system, initial, title} of mechanical) {
      if (system.kind === 'ode' || typeof system.mass !== 'function') continue;
      expect(apart(system, initial, newmark(), trapezoid()), title).to.be.above(1e-6);
    }
  });

  it('Newmark (0, ½) is Verlet without damping', () => {
    const system = mechanics({mass: [1, 2], forces: [({q}) => tf.neg(tf.sin(q)), ({t}) => tf.mul([1, 2], tf.cos(t))]});
    expect(apart(system, {q: [1, 0.5], v: [0, 1]}, newmark({beta: 0}), verlet())).to.be.below(rounding);
  });
});

describe('the condensed and the coupled form', () => {
  for (const guess of guesses) {
    it(`go the same way from the guess '${guess}'`, () => {
      for (const scheme of [trapezoid, implicitMidpoint, implicitEuler]) {
        for (const iterations of [1, 2]) {
          const after = (form: 'condensed' | 'coupled'): Float64Array => {
            const {system, initial} = mechanical[2];
            const path = simulate(system, initial, {
              scheme: scheme({form, guess}),
              dt: 0.2,
              steps: 3,
              newton: newton({iterations}),
              engine: 'interpreter',
            });
            path.dispose();
            // After one iteration from a frozen force q⁺ holds its kinematics in both.
            return Float64Array.from([...path.values('q'), ...path.values('v')]);
          };
          expect(
            largest(difference(after('condensed'), after('coupled'))),
            `${scheme().name}, ${iterations}`,
          ).to.be.below(rounding);
        }
      }
    });
  }
});

describe('midpoint and trapezoid', () => {
  const q: Numeric = [1, -0.5];
  const v: Numeric = [0, 0.3];

  it('agree on a linear problem', () => {
    const stiff = tf.tensor2d([
      [-6, 2],
      [2, -4],
    ]);
    const linear = mechanics({
      mass: [2, 1],
      forces: [
        ({q: at}) => tf.reshape(tf.matMul(stiff, tf.reshape(at, [2, 1])), [2]),
        ({v: at}) => tf.mul(at, -0.1),
        () => tf.tensor1d([0, 1]),
      ],
    });
    // One step each from the same state: the rounding of one solve.
    const one = (scheme: Scheme): Float64Array => {
      const path = simulate(linear, {q, v}, {scheme, dt: 0.1, steps: 1});
      path.dispose();
      return Float64Array.from([...path.values('q'), ...path.values('v')]);
    };
    expect(largest(difference(one(trapezoid()), one(implicitMidpoint())))).to.be.below(1e-14);
    expect(apart(linear, {q, v}, trapezoid(), implicitMidpoint())).to.be.below(1e-14);
    stiff.dispose();
  });

  it('agree on a linear ode', () => {
    const system = ode(({y}) =>
      tf.reshape(
        tf.matMul(
          tf.tensor2d([
            [0, 1],
            [-4, -0.4],
          ]),
          tf.reshape(y, [2, 1]),
        ),
        [2],
      ),
    );
    expect(apart(system, {y: [1, 0.5]}, trapezoid(), implicitMidpoint())).to.be.below(1e-14);
  });

  it('differ on a nonlinear spring', () => {
    const cubic = mechanics({mass: 1, forces: ({q: at}) => tf.neg(tf.mul(at, tf.square(at)))});
    expect(apart(cubic, {q, v}, trapezoid(), implicitMidpoint())).to.be.above(1e-6);
  });
});

describe('what a scheme refuses', () => {
  const refusals: readonly (readonly [string, () => Scheme])[] = [
    ['θ above 1', () => theta(1.2)],
    ['θ that is no number', () => theta(NaN)],
    ['a blend out of range', () => blendedEuler({alpha: -0.1, beta: 0.5})],
    ['Newmark out of range', () => newmark({beta: 2})],
    [
      'the coupled form in another unknown',
      () => blendedEuler({alpha: 1, beta: 1, form: 'coupled', unknown: 'increment'}),
    ],
    ['the coupled form in the acceleration', () => implicitEuler({form: 'coupled', unknown: 'acceleration'})],
    ['a guess of no name', () => trapezoid({guess: 'best' as GuessName})],
    ['a form of no name', () => trapezoid({form: 'dense' as 'coupled'})],
    ['an order that is not positive', () => defineScheme({order: 0, unknown: [], update: (_, {x}) => x})],
    ['an unknown without a residual', () => defineScheme({order: 1, unknown: ['v'], update: (_, {x}) => x})],
  ];
  for (const [title, make] of refusals) {
    it(title, () => {
      expect(make).to.throw(OptionError).with.property('code', 'bad-scheme');
    });
  }

  it('an ode under a mechanical scheme, and the other way round', () => {
    const {system, initial} = firstOrder[0];
    expect(() => simulate(system, initial, {scheme: verlet(), dt: 0.1, steps: 1}))
      .to.throw(OptionError)
      .with.property('code', 'wrong-scheme');
    const own = defineScheme({order: 1, kind: 'ode', unknown: [], update: (_, {x}) => x});
    expect(() => simulate(mechanical[0].system, mechanical[0].initial, {scheme: own, dt: 0.1, steps: 1}))
      .to.throw(OptionError)
      .with.property('code', 'wrong-scheme');
  });

  it('an update that forgets a block', () => {
    const own = defineScheme({name: 'half', order: 1, unknown: [], update: (_, {x}) => ({q: x.q})});
    expect(() => simulate(mechanical[0].system, mechanical[0].initial, {scheme: own, dt: 0.1, steps: 1})).to.throw(
      /half: update must give 'v'/,
    );
  });
});
