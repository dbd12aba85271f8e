/**
 * Published sensitivities by every adjoint. SUNDIALS 7.5.0, examples/cvodes/serial: cvsHessian_ASA_FSA.out as
 * printed there (five digits) and computed again to 1e-13; cvsPendulum_dns.c, whose g makes the period exactly 2.
 * The damped oscillator and the pendulum: closed forms, exponentials and elliptic functions, by mpmath to 30 digits.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, MechanicalSystem, Numeric, Pullback, SimulateOptions} from '../../../lib/index.js';
import {
  backsolveAdjoint,
  bilateral,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  kvaerno3,
  mechanics,
  ode,
  radauIIA5,
  rk4,
  simulate,
  trapezoid,
  unrolledAdjoint,
} from '../../../lib/index.js';
import {order} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

type P = Readonly<Record<string, tf.Tensor>>;

const exactAdjoints: Readonly<Record<string, Adjoint>> = {
  implicit: implicitAdjoint(),
  unrolled: unrolledAdjoint(),
  forward: forwardSensitivity(),
};
const adjoints = {...exactAdjoints, backsolve: backsolveAdjoint()};
const first = (values: unknown): number => (values as Float64Array)[0];
/** All printed digits. */
const printed = (value: number, text: string): void =>
  void expect(value.toExponential(4)).to.equal(Number(text).toExponential(4));

/** y₁' = −p₁y₁² − y₃, y₂' = −y₂, y₃' = −p₂²y₂y₃; y₄ = G = ∫ ½|y|², from t = 0 to 2. */
const hessianExample = ode(({y, params}) => {
  const [y1, y2, y3] = tf.split(y, 4);
  const {p1, p2} = params as P;
  return tf.concat([
    tf.sub(tf.neg(tf.mul(p1, tf.square(y1))), y3),
    tf.neg(y2),
    tf.neg(tf.mul(tf.square(p2), tf.mul(y2, y3))),
    tf.mul(0.5, tf.addN([tf.square(y1), tf.square(y2), tf.square(y3)])),
  ]);
});
const exact = {
  G: 0.5308785906295,
  dG: [-0.1283786546563, 0.0180367608548],
  H: [
    [0.15628043082, -0.0786778066],
    [-0.0786778066, 0.08981434363],
  ],
};
const from = {y: [1, 1, 1, 0]};
const params = {p1: 1, p2: 2};
const fine: SimulateOptions = {scheme: gaussLegendre({stages: 3}), dt: 0.04, steps: 50, saveAt: 'end', params};
const numbers = ({params: {p1, p2}}: Pullback): number[] => [first(p1), first(p2)];
const gradient = (options: SimulateOptions, component = 3): {end: Float64Array; slope: number[]} => {
  const {trajectory, pullback} = simulate.vjp(hessianExample, from, options);
  trajectory.dispose();
  return {
    end: trajectory.values('y').slice(4),
    slope: numbers(pullback({y: [0, 0, 0, 0, ...[0, 1, 2, 3].map(i => (i === component ? 1 : 0))]})),
  };
};

describe('published sensitivities', () => {
  for (const [name, adjoint] of Object.entries(adjoints)) {
    slow(`cvsHessian: the gradient of G and of the end state, ${name}`, () => {
      const {end, slope} = gradient({...fine, adjoint});
      ['2.2732e-01', '1.3534e-01', '3.1472e-02', '5.3088e-01'].forEach((text, i) => printed(end[i], text));
      printed(slope[0], '-1.2838e-01');
      printed(slope[1], '1.8037e-02');
      expect(end[3]).to.be.closeTo(exact.G, 1e-10);
      // The scheme's error, of sixth order: 1e-10; backwards it is there once more.
      slope.forEach((value, i) => expect(value).to.be.closeTo(exact.dG[i], 5e-10));

      const byComponent = [0, 1, 2].map(i => gradient({...fine, adjoint}, i).slope);
      printed(byComponent[0][0], '-1.6714e-01');
      printed(byComponent[0][1], '2.1339e-01');
      printed(byComponent[2][1], '-1.0885e-01');
      [byComponent[1][0], byComponent[1][1], byComponent[2][0]].forEach(zero => expect(zero).to.equal(0));
    });
  }

  for (const [title, adjoint] of [
    ['', implicitAdjoint()],
    [', in no memory', implicitAdjoint({memory: 1})],
  ] as const)
    it(`cvsHessian: the Hessian of G${title}`, () => {
      const loss = ({y}: {y: tf.Tensor}): tf.Tensor => tf.sum(tf.slice(y, [1, 3], [1, 1]));
      const {
        value,
        gradient: slope,
        products,
        trajectory,
      } = simulate.hvps(hessianExample, from, {...fine, adjoint}, loss, [
        {params: {p1: 1, p2: 0}},
        {params: {p1: 0, p2: 1}},
      ]);
      trajectory.dispose();
      expect(value).to.be.closeTo(exact.G, 1e-10);
      numbers(slope).forEach((part, i) => expect(part).to.be.closeTo(exact.dG[i], 5e-10));
      const H = products.map(numbers);
      H.forEach((row, i) => row.forEach((entry, j) => expect(entry).to.be.closeTo(exact.H[i][j], 1e-9)));
      printed(H[0][0], '1.5628e-01');
      printed(H[0][1], '-7.8678e-02');
      printed(H[1][0], '-7.8678e-02');
      printed(H[1][1], '8.9814e-02');
    });

  slow("cvsHessian: the error that backsolve makes falls with the scheme's order", () => {
    for (const scheme of [trapezoid(), kvaerno3(), rk4()]) {
      const error = (steps: number): number => {
        const options = {...fine, scheme, dt: 2 / steps, steps};
        const [own, exactly] = [gradient({...options, adjoint: backsolveAdjoint()}), gradient(options)].map(
          ({slope}) => slope,
        );
        return Math.hypot(...own.map((value, i) => value - exactly[i]));
      };
      expect(order(error(80), error(160)), scheme.name).to.be.within(scheme.order - 0.15, scheme.order + 0.6);
    }
  });

  for (const scheme of [trapezoid(), kvaerno3(), rk4(), gaussLegendre({stages: 2})])
    it(`cvsHessian: one gradient to the last bit, whatever memory it is given, by ${scheme.name}`, () => {
      const whole = gradient({...fine, scheme});
      for (const memory of [4000, 1000, 300, 1])
        expect(gradient({...fine, scheme, adjoint: implicitAdjoint({memory})}), String(memory)).to.deep.equal(whole);
    });

  /** m x'' + c x' + k x = 0 from (1, 0.5): x and its derivatives by m, c, k, x₀, v₀. */
  const oscillations: readonly (readonly [t: number, x: number, derivatives: readonly number[]])[] = [
    [
      1,
      -0.070166387908049221432,
      [0.893045506407737965, 0.273101372250927248, -0.250571513827027216, -0.258070263439546415, 0.375807751062994388],
    ],
    [
      3,
      0.4626117969081762955,
      [
        -0.777277995626115064, -0.791097303573127201, 0.273429229263841486, 0.505105559266270756,
        -0.0849875247161889217,
      ],
    ],
    [
      10,
      0.10861537850807271602,
      [1.1490195765608424, -0.465435264105317574, -0.240711367729678843, 0.0791160236189624788, 0.0589987097782204745],
    ],
  ];
  /** ∫ x² from 0 to 10, and its derivatives. */
  const integral = [
    1.47989216137159314, 1.4003228013377, -2.9035310411779, -0.059727596216641, 2.682470293426, 0.55462805863441,
  ];
  const oscillator: MechanicalSystem = mechanics({
    mass: ({params: at}) => (at as P).m,
    forces: [({q, params: at}) => tf.neg(tf.mul((at as P).k, q)), ({v, params: at}) => tf.neg(tf.mul((at as P).c, v))],
  });
  /** The same in first order, with the integral as a third component. */
  const integrated = ode(({y, params: at}) => {
    const [x, v] = tf.split(y, 3);
    const {m, c, k} = at as P;
    return tf.concat([v, tf.neg(tf.div(tf.add(tf.mul(c, v), tf.mul(k, x)), m)), tf.square(x)]);
  });
  const swinging: SimulateOptions = {
    scheme: gaussLegendre({stages: 3}),
    dt: 0.05,
    steps: 200,
    params: {m: 1, c: 0.4, k: 4},
    saveAt: {every: 20},
  };

  for (const [name, adjoint] of Object.entries(adjoints)) {
    it(`the damped oscillator, ${name}`, () => {
      const {trajectory, pullback} = simulate.vjp(oscillator, {q: 1, v: 0.5}, {...swinging, adjoint});
      trajectory.dispose();
      for (const [t, x, derivatives] of oscillations) {
        expect(trajectory.values('q')[t]).to.be.closeTo(x, 1e-8);
        const {
          initial,
          params: {m, c, k},
        } = pullback({q: Array.from({length: 11}, (_, i) => (i === t ? 1 : 0))});
        [m, c, k, initial.q, initial.v].forEach((found, i) => expect(first(found)).to.be.closeTo(derivatives[i], 1e-7));
      }
      const whole = simulate.vjp(integrated, {y: [1, 0.5, 0]}, {...swinging, adjoint, saveAt: 'end'});
      whole.trajectory.dispose();
      expect(whole.trajectory.values('y')[5]).to.be.closeTo(integral[0], 1e-8);
      const {
        initial: {y},
        params: {m, c, k},
      } = whole.pullback({y: [0, 0, 0, 0, 0, 1]});
      [first(m), first(c), first(k), ...(y as Float64Array).subarray(0, 2)].forEach((found, i) =>
        expect(found).to.be.closeTo(integral[1 + i], 1e-7),
      );
    });
  }

  /** θ'' = −(g/l) sin θ from rest at A = 1, g = 9.81, l = 1: θ and its derivatives by A, g, l. */
  const swings: readonly (readonly [t: number, theta: number, derivatives: readonly number[]])[] = [
    [1, -0.9800669929334048800506, [-0.906332147771591946, -0.0291439205259765975, 0.285901860359830421]],
    [2, 0.9207938271559714573229, [0.629221250301899962, 0.11501547986765298, -1.12830185750167574]],
    [5, -0.530347454455203595032, [1.11292787420397017, -0.640870432903946426, 6.28693894678771443]],
  ];
  const simple = mechanics({
    mass: 1,
    forces: ({q, params: at}) => tf.neg(tf.mul(tf.div((at as P).g, (at as P).l), tf.sin(q))),
  });
  for (const [name, adjoint] of Object.entries(adjoints)) {
    it(`the pendulum, ${name}`, () => {
      const {trajectory, pullback} = simulate.vjp(
        simple,
        {q: 1, v: 0},
        {
          scheme: gaussLegendre({stages: 3}),
          dt: 0.02,
          steps: 250,
          saveAt: {every: 50},
          params: {g: 9.81, l: 1},
          adjoint,
        },
      );
      trajectory.dispose();
      for (const [t, theta, derivatives] of swings) {
        expect(trajectory.values('q')[t]).to.be.closeTo(theta, 1e-8);
        const {
          initial,
          params: {g, l},
        } = pullback({q: Array.from({length: 6}, (_, i) => (i === t ? 1 : 0))});
        [initial.q, g, l].forEach((found, i) => expect(first(found)).to.be.closeTo(derivatives[i], 1e-7));
      }
    });
  }

  /**
   * cvsPendulum: (x, y) on the unit circle from (1, 0) at rest. Its motion is one function of t√g, so that with v(2) = 0
   * the state at t = 2 has dq/dg = 0 and dv/dg = (t/2g) a = (0, −t/2).
   */
  slow('cvsPendulum: its period, and what that is by g', () => {
    const g = 13.750371636040745654980191559621114395801712;
    const circle = mechanics({
      mass: 1,
      forces: ({q, params: at}) => tf.mul(tf.mul((at as P).g, tf.onesLike(q)), [0, -1]),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
    });
    for (const [scheme, dt, near] of [
      [radauIIA5(), 0.01, 1e-6],
      [generalizedAlpha(), 0.0025, 2e-3],
    ] as const) {
      for (const [name, adjoint] of Object.entries(exactAdjoints)) {
        const {trajectory, pullback} = simulate.vjp(
          circle,
          {q: [1, 0], v: [0, 0]},
          {scheme, dt, steps: Math.round(2 / dt), saveAt: 'end', params: {g}, adjoint},
        );
        trajectory.dispose();
        [1, 0].forEach((x, i) => expect(trajectory.values('q')[2 + i], scheme.name).to.be.closeTo(x, near));
        const by = (cotangent: {q?: Numeric; v?: Numeric}): number => first(pullback(cotangent).params.g);
        expect(by({q: [0, 0, 0, 1]}), `${scheme.name}, ${name}`).to.be.closeTo(0, near);
        expect(by({v: [0, 0, 0, 1]}), `${scheme.name}, ${name}`).to.be.closeTo(-1, 10 * near);
      }
    }
  });
});
