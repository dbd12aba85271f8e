/**
 * Delay differential equations: orders of convergence, exact solutions by polynomials, and derivatives by delays,
 * parameters and the history. Steps are no divisors of the delays but where that is said, so that breaking points lie
 * within them.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ObjectiveAt, Scheme} from '../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  bdf2,
  dde,
  equilibrium,
  event,
  explicitEuler,
  forwardSensitivity,
  gaussLegendre,
  implicitAdjoint,
  InconsistentStateError,
  kvaerno3,
  kvaerno5,
  linearize,
  newton,
  OptionError,
  radauIIA5,
  rk4,
  ShapeError,
  signal,
  simulate,
  trapezoid,
  tsit5,
  unrolledAdjoint,
} from '../../lib/index.js';
import {bounded, free, identify, multiple} from '../../training/index.js';
import {filter} from '../../training/estimate/kalman.js';
import {slow} from '../tiers.js';

/** y' = −y(t − τ). */
const falling = dde<{tau: tf.Tensor}>({
  derivative: ({delayed: [late]}) => tf.neg(late),
  delays: [({tau}) => tau],
  maxDelay: 2,
});

/** Its solution from y = 1 for t ≤ 0, Σ (−1)ᵏ (t − (k−1)τ)ᵏ/k!, and that one's derivative by τ. */
function exact(t: number, tau: number): {y: number; byDelay: number} {
  let [y, byDelay, sign, factorial] = [1, 0, -1, 1];
  for (let k = 1; t - (k - 1) * tau > 0; k++, sign = -sign, factorial *= k) {
    const since = t - (k - 1) * tau;
    y += (sign * since ** k) / factorial;
    byDelay -= (sign * (k - 1) * k * since ** (k - 1)) / factorial;
  }
  return {y, byDelay};
}

/** The largest error among all steps to 5.3. */
function error(scheme: Scheme, dt: number): number {
  const run = simulate(falling, {y: 1}, {scheme, dt, t1: 5.3, params: {tau: 1}});
  const [t, y] = [run.values('t'), run.values('y')];
  return t.reduce((most, time, i) => Math.max(most, Math.abs(y[i] - exact(time, 1).y)), 0);
}

/**
 * A blood cell model of Mackey & Glass (1977): y' = 0.2 y(t − 17)/(1 + y(t − 17)¹⁰) − 0.1 y, from y = 0.5 for t ≤ 0.
 */
const mackeyGlass = dde({
  derivative: ({y, delayed: [late]}) => tf.sub(tf.div(tf.mul(0.2, late), tf.add(1, tf.pow(late, 10))), tf.mul(0.1, y)),
  delays: [17],
});

interface Several {
  tau: tf.Tensor;
  late: tf.Tensor;
  a: tf.Tensor;
  b: tf.Tensor;
}

const several = dde<Several>({
  derivative: ({y, delayed: [first, second], params: {a}}) =>
    tf.sub(tf.add(tf.mul(tf.neg(a), tf.tanh(first)), tf.mul(0.3, tf.sin(second))), tf.mul(0.1, y)),
  delays: [({tau}) => tau, ({late}) => late],
  history: ({t, params: {b}}) => tf.add(tf.cos(tf.mul(b, t)), [0, 0.5]),
  maxDelay: 2,
});
const at = {tau: 0.8317, late: 1.3731, a: 1.2, b: 0.7};
const settings = {scheme: rk4(), dt: 0.1, steps: 40, saveAt: 'end'} as const;
const loss = ({y}: ObjectiveAt<Several>): tf.Tensor => tf.sum(tf.mul(tf.slice(y, [1, 0], [1, 2]), [1, 2]));

describe('simulate: dde', () => {
  describe('orders, with breaking points within steps', () => {
    // With 23 and 46 steps to 5.3 no multiple of 1 is one of 5.3/23 or 5.3/46.
    const rows: [Scheme, number][] = [
      [explicitEuler(), 1],
      [trapezoid(), 2],
      [gaussLegendre({stages: 2}), 4],
      [rk4(), 4],
      // Dense output of the collocation polynomial, of order 3.
      [radauIIA5(), 4],
    ];
    for (const [scheme, order] of rows)
      it(`${scheme.name}: ${order}`, () => {
        const slope = Math.log2(error(scheme, 5.3 / 23) / error(scheme, 5.3 / 46));
        expect(slope).within(order - 0.2, order + 0.6);
      });

    for (const [scheme, near, nearSlope] of [
      [tsit5(), 1e-6, 3e-3],
      [kvaerno3(), 3e-3, 0.1],
      [radauIIA5(), 1e-5, 1e-2],
    ] as const)
      slow(`${scheme.name}: breaking points just beyond those of the grid, by value and derivative`, () => {
        const hutchinson = dde({
          derivative: ({y, delayed: [late]}) => tf.mul(tf.mul(1.2, y), tf.sub(1, late)),
          delays: [({tau}: {tau: tf.Tensor}) => tau],
          maxDelay: 3,
        });
        for (const beyond of [0, 1e-5, 1e-6, 1e-7, 1e-8]) {
          const {trajectory, pullback} = simulate.vjp(hutchinson, {y: 0.5}, {
            ...{scheme, dt: 0.1, steps: 200, saveAt: 'end'},
            params: {tau: 1.35 + beyond},
          } as never);
          // y(20) and its derivative at 1.35, by RK4 with steps of τ/2000 written by hand.
          const slope = 9.2964;
          expect((trajectory as {values(name: string): Float64Array}).values('y')[1]).to.be.closeTo(
            1.06923006 + slope * beyond,
            near,
          );
          trajectory.dispose();
          const {tau} = pullback({y: [0, 1]} as never).params as unknown as {tau: Float64Array};
          expect(tau[0]).to.be.closeTo(slope, nearSlope);
        }
      });

    slow('a jump of a held input is a breaking point one delay later, and two: polynomials are met to rounding', () => {
      // y' = y(t − τ) + u(t), u = 0 and 1 from s on: y = Σ ((t − s − kτ)₊)^(k+1)/(k+1)!.
      const [tau, s] = [0.73, 0.4];
      const driven = dde<{u: tf.Tensor}>({
        derivative: ({delayed: [late], params: {u}}) => tf.add(late, u),
        delays: [tau],
      });
      const u = signal([0, s, 3], [0, 1, 1], 'hold');
      for (const scheme of [tsit5(), gaussLegendre({stages: 3})]) {
        const run = simulate(driven, {y: 0}, {scheme, dt: 0.1, t1: 2.4, inputs: {u}});
        const t = run.values('t');
        run.values('y').forEach((y, i) => {
          let [sum, factorial] = [0, 1];
          for (let k = 0; k < 4; k++) sum += Math.max(0, t[i] - s - k * tau) ** (k + 1) / (factorial *= k + 1);
          expect(y).to.be.closeTo(sum, 1e-13);
        });
      }
    });

    slow('many jumps: as many parts in a step as jumps may fall into one, and no more', () => {
      const samples = Array.from({length: 300}, (_, i) => i / 100);
      const driven = dde<{u: tf.Tensor}>({
        derivative: ({delayed: [late], params: {u}}) => tf.sub(u, late),
        delays: [0.305],
      });
      const u = signal(
        samples,
        samples.map(time => Math.sign(Math.sin(9 * time + 0.1))),
        'hold',
      );
      const end = (dt: number): number =>
        simulate(driven, {y: 0}, {scheme: rk4(), dt, t1: 2.9, saveAt: 'end', inputs: {u}}).values('y')[1];
      // Between jumps all is polynomials of low degree.
      expect(end(0.01)).to.be.closeTo(end(0.005), 1e-9);
    });

    slow('tsit5: 5, of the blood cell model', () => {
      const off = (steps: number): number => {
        const run = simulate(mackeyGlass, {y: 0.5}, {scheme: tsit5(), dt: 51 / steps, steps, saveAt: 'end'});
        return Math.abs(run.values('y')[1] - 0.6016548043231787);
      };
      expect(Math.log2(off(20) / off(40))).within(4.7, 6.5);
    });
  });

  slow('the blood cell model, by Chebyshev collocation of its integral equation on three grids', () => {
    // All three gave these numbers, but for the last digit written here.
    const run = simulate(mackeyGlass, {y: 0.5}, {scheme: tsit5(), dt: 0.47, t1: 170, saveAt: [51, 102, 170]});
    const [a, b, c] = run.values('y');
    expect(a).closeTo(0.60165480432318, 1e-8);
    expect(b).closeTo(0.95417153859494, 1e-8);
    expect(c).closeTo(0.90965426974626, 1e-8);
  });

  slow('Example 1 of Shampine & Thompson (2001), whose solution is made of polynomials', () => {
    const chain = dde({
      derivative({y, delayed: [one, fifth]}) {
        const [first, second] = [tf.slice(one, 0, 1), tf.slice(fifth, 1, 1)];
        return tf.concat([first, tf.add(first, second), tf.slice(y, 1, 1)]);
      },
      delays: [1, 0.2],
    });
    // By rational arithmetic: 767/40, and quotients of more digits.
    const solution = [19.175, 176.42257844738032, 190.34420193607042];
    for (const dt of [0.05, 0.061]) {
      const y = simulate(chain, {y: [1, 1, 1]}, {scheme: tsit5(), dt, t1: 5, saveAt: 'end'})
        .values('y')
        .slice(3);
      // Steps of 0.05 meet every breaking point, and the others divide theirs.
      y.forEach((value, i) => expect(value).closeTo(solution[i], 2e-9 * solution[i]));
    }
  });

  it('a start beside the history: y jumps, and its derivatives by one delay later each', () => {
    const run = simulate(
      dde({derivative: ({delayed: [late]}) => tf.neg(late), delays: [1], history: () => tf.scalar(1)}),
      {y: 3},
      {scheme: rk4(), dt: 0.23, t1: 2, saveAt: [0.5, 1, 1.7]},
    );
    const y = run.values('y');
    [2.5, 2, 2 - 3 * 0.7 + 0.7 ** 2 / 2].forEach((value, i) => expect(y[i]).closeTo(value, 1e-13));
  });

  describe('gradients', () => {
    for (const dt of [0.1, 0.083])
      slow(`by the delay, against the closed form, with steps of ${dt}`, () => {
        // Of 0.1 the delay is a multiple: breaking points are ends of steps up to rounding.
        for (const tau of [0.8, 1]) {
          const options = {scheme: tsit5(), dt, t1: 4.1, saveAt: 'end', params: {tau}} as const;
          const {trajectory, pullback} = simulate.vjp(falling, {y: 1}, options);
          const {y, byDelay} = exact(4.1, tau);
          expect(trajectory.values('y')[1]).closeTo(y, 1e-9);
          expect(pullback({y: [0, 1]}).params.tau[0]).closeTo(byDelay, 1e-8);
        }
      });

    for (const start of [[1, 1.5] as const, [1.3, 1] as const])
      slow(
        `by delays, parameters and the history's own, ${start[1] === 1.5 ? 'from its end' : 'y jumping at the start'}`,
        () => {
          const model = simulate.prepare(several, {y: start}, {...settings, params: at});
          const {gradient} = model.valueAndGrad(loss);
          for (const name of ['tau', 'late', 'a', 'b'] as const) {
            const moved = (by: number): number => model.value(loss, {params: {...at, [name]: at[name] + by}});
            // A difference of fourth order, so small that no breaking point leaves its step of 0.1.
            const h = 2e-4;
            const difference = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
            expect(gradient.params[name][0], name).closeTo(difference, 1e-8);
          }
        },
      );

    slow('leave Taylor remainders of second order', () => {
      const model = simulate.prepare(several, {y: [1, 1.5]}, {...settings, params: at});
      const {value, gradient} = model.valueAndGrad(loss);
      const rest = (h: number): number =>
        Math.abs(
          model.value(loss, {params: {...at, tau: at.tau + h, late: at.late - h}})
            - value
            - h * (gradient.params.tau[0] - gradient.params.late[0]),
        );
      expect(Math.log2(rest(8e-4) / rest(4e-4))).closeTo(2, 0.02);
      expect(Math.log2(rest(4e-4) / rest(2e-4))).closeTo(2, 0.02);
    });

    slow('are those of an implicit scheme, by every adjoint, and by little memory', () => {
      const run = {...settings, scheme: trapezoid(), params: at} as const;
      const by = (adjoint: ReturnType<typeof implicitAdjoint>): number[] => {
        const {params, initial} = simulate.vjp(several, {y: [1, 1.5]}, {...run, adjoint}).pullback({
          y: [
            [0, 0],
            [1, 2],
          ],
        });
        return [params.tau[0], params.late[0], params.a[0], params.b[0], ...initial.y];
      };
      const own = by(implicitAdjoint());
      expect(by(implicitAdjoint({memory: 30_000}))).eql(own);
      const {value, gradient} = simulate.prepare(several, {y: [1, 1.5]}, run).valueAndGrad(loss);
      const moved = (tau: number): number =>
        simulate.prepare(several, {y: [1, 1.5]}, {...run, params: {...at, tau}}).value(loss);
      expect(own[0]).closeTo(gradient.params.tau[0], 1e-12);
      expect((moved(at.tau + 1e-4) - moved(at.tau - 1e-4)) / 2e-4).closeTo(own[0], 1e-6);
      expect(value).closeTo(moved(at.tau), 1e-12);
      for (const other of [forwardSensitivity(), unrolledAdjoint()])
        by(other).forEach((number, i) => expect(number).closeTo(own[i], 1e-8));
    });
  });

  describe('runs', () => {
    const options = {scheme: rk4(), dt: 0.1, params: {tau: 0.7}} as const;

    it('save states between steps, by the pieces that delays read', () => {
      const times = [0.25, 0.73, 1.38, 1.99];
      const y = simulate(falling, {y: 1}, {...options, t1: 2, saveAt: times}).values('y');
      times.forEach((t, i) => expect(y[i]).closeTo(exact(t, 0.7).y, 1e-6));
    });

    it('go on with their past, after a shortened step too', () => {
      const whole = simulate(falling, {y: 1}, {...options, t1: 3, saveAt: 'end'}).values('y')[1];
      const half = simulate(falling, {y: 1}, {...options, t1: 1.33});
      const rest = simulate(falling, JSON.parse(JSON.stringify(half.state())) as never, {
        ...options,
        t1: 3,
        saveAt: 'end',
      });
      expect(rest.values('y')[1]).closeTo(whole, 1e-7);
    });

    it('in a batch have delays and times of their own', () => {
      const members = batch.prepare(falling, {y: 1}, {...options, t1: 1} as never);
      const ends = members.run([
        {params: {tau: 0.7}, t1: 2},
        {params: {tau: 1.1}, t1: 1.77},
        {t0: 1, t1: 3, params: {tau: 0.7}},
      ] as never);
      const last = ends.map(run => run.values('y').at(-1) ?? NaN);
      [exact(2, 0.7), exact(1.77, 1.1), exact(2, 0.7)].forEach(({y}, i) => expect(last[i]).closeTo(y, 1e-5));
    });

    slow('keep their past where an input jumps', () => {
      const driven = dde<{u: tf.Tensor}>({
        derivative: ({delayed: [late], params: {u}}) => tf.sub(u, late),
        delays: [1],
      });
      const u = signal([0, 0.5, 1], [0, 1, 0], 'hold');
      const y = simulate(driven, {y: 1}, {scheme: rk4(), dt: 0.1, t1: 2, saveAt: 'end', inputs: {u}}).values('y')[1];
      // −½ without the pulse; it adds ½, and takes its delayed integral, ∫₁² of min(s − 1 − ½, ½) from 1.5 on, off
      // again.
      expect(y).closeTo(-0.5 + 0.5 - 0.125, 1e-12);
    });

    it('end at events', () => {
      const event_ = event({when: ({y}) => tf.sub(y, 0.25), then: 'stop'});
      const {events, status} = simulate(
        falling,
        {y: 1},
        {...options, params: {tau: 1}, t1: 3, events: [event_] as never},
      );
      expect([events[0].t, status]).eql([events[0].t, 'event']);
      expect(events[0].t).closeTo(0.75, 1e-12);
    });
  });

  slow('a delay is found from a record', async () => {
    const t = Array.from({length: 61}, (_, i) => i / 10);
    const fit = await identify({
      system: dde<{tau: tf.Tensor; rate: tf.Tensor}>({
        derivative: ({delayed: [late], params: {rate}}) => tf.neg(tf.mul(rate, late)),
        delays: [({tau}) => tau],
        maxDelay: 2,
      }),
      initial: {y: 1},
      data: {t, y: t.map(time => exact(time, 0.93).y + 1e-3 * Math.sin(12.9898 * time ** 2))},
      parameters: {tau: bounded(0.2, 2, 0.6), rate: free(0.8)},
      scheme: rk4(),
      dt: 0.1,
    });
    expect(Math.abs(fit.estimate.tau - 0.93)).below(3 * fit.standardError.tau);
    expect(fit.standardError.tau).below(1e-3);
    expect(fit.estimate.rate).closeTo(1, 3e-3);
  });

  describe('says where steps hold more breaking points than they are divided at', () => {
    type P = {tau: tf.Tensor};
    const close = dde<P>({
      derivative: ({delayed: [a, b]}) => tf.sub(tf.mul(b, 0.5), a),
      delays: [1, ({tau}) => tau],
      maxDelay: 2,
    });
    const said = (tau: number, options: object, system = close): readonly string[] =>
      simulate(system, {y: 1}, {scheme: rk4(), steps: 9, dt: 0.45, params: {tau}, ...options} as never).warnings;

    slow('by hand: for τ = 1 and 1.07 the step from 1.8 to 2.25 holds 2, 2.07 and 2.14, and two divide it', () => {
      expect(said(1.07, {})).to.have.length(1);
      expect(said(1.07, {})[0]).to.match(/^dde: a step, the first from t = 1\.8, holds more .* the 2 at which/);
      // The third derivative of y jumps at 3, …, 3.21 only, the fourth one later: of no account to order 4, but to
      // order 5.
      expect(said(1.07, {scheme: tsit5()})[0]).to.match(/^dde: 2 steps, the first from t = 1\.8, hold /);
      // With a history that y may jump from it is a derivative less.
      const own = dde<P>({
        derivative: ({delayed: [a, b]}) => tf.sub(tf.mul(b, 0.5), a),
        delays: [1, ({tau}) => tau],
        maxDelay: 2,
        history: () => tf.scalar(1),
      });
      expect(said(1.07, {}, own)[0]).to.match(/^dde: 2 steps/);
    });

    slow('and nothing where there are none: other steps, delays far apart, order 2, one delay', () => {
      expect(said(1.07, {dt: 0.3})).to.deep.equal([]);
      expect(said(1.61, {})).to.deep.equal([]);
      expect(said(1.07, {scheme: trapezoid()})).to.deep.equal([]);
      expect(said(1, {}, falling)).to.deep.equal([]);
      // 2 and 2.14 lie in the steps beside.
      expect(said(1.07, {dt: 0.41, steps: 10})).to.deep.equal([]);
    });

    slow('of runs that go on, and of members of batches', () => {
      const run = {scheme: rk4(), dt: 0.45, steps: 3, params: {tau: 1.07}} as const;
      const half = simulate(close, {y: 1}, run);
      expect(half.warnings).to.deep.equal([]);
      expect(simulate(close, half.state() as never, run).warnings[0]).to.match(/from t = 1\.8, holds/);
      const members = batch.prepare(close, {y: 1}, {...run, steps: 9} as never);
      const told = members.run([{params: {tau: 1.07}}, {params: {tau: 1.61}}] as never).map(one => one.warnings.length);
      expect(told).to.deep.equal([1, 0]);
    });
  });

  describe('breaking points at ends of steps', () => {
    const end = (tau: number): number =>
      simulate(falling, {y: 1}, {scheme: trapezoid(), dt: 0.1, t1: 1.1, saveAt: 'end', params: {tau}}).values('y')[1];
    const sides = (tau: number): number[] => [-1, 1].map(d => (end(tau + 1e-6 * d) - end(tau)) / (1e-6 * d));
    const derivative = (tau: number): {by: number; warnings: readonly string[]} => {
      const options = {scheme: trapezoid(), dt: 0.1, t1: 1.1, saveAt: 'end', params: {tau}} as const;
      const {trajectory, pullback} = simulate.vjp(falling, {y: 1}, options);
      return {by: pullback({y: [0, 1]}).params.tau[0], warnings: trajectory.warnings};
    };

    slow('are told where they move with a delay: the derivative is one of two, or between them', () => {
      const [left, right] = sides(0.3);
      expect(Math.abs(right - left)).to.be.above(5e-3);
      const {by, warnings} = derivative(0.3);
      expect(by).to.be.within(Math.min(left, right) - 1e-5, Math.max(left, right) + 1e-5);
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(/^dde: at t = 0\.3 and 2 more times a breaking point that moves with a delay lies/);
      expect(by).to.be.closeTo(left, 1e-5);
      // The end of the run is one, too: 2τ.
      expect(derivative(0.55).warnings[0]).to.match(/^dde: at t = 1\.1 a breaking point /);
    });

    slow('and where they lie on one another within a step, and move otherwise', () => {
      const two = dde<{a: tf.Tensor; b: tf.Tensor}>({
        derivative: ({delayed: [first, second]}) => tf.sub(first, tf.mul(0.7, second)),
        delays: [({a}) => a, ({b}) => b],
        maxDelay: 2,
      });
      const options = {scheme: trapezoid(), dt: 0.1, steps: 10, saveAt: 'end'} as const;
      const at = (a: number): number => simulate(two, {y: 1}, {...options, params: {a, b: 0.74}}).values('y')[1];
      const [left, right] = [-1, 1].map(d => (at(0.37 + 1e-6 * d) - at(0.37)) / (1e-6 * d));
      expect(Math.abs(left - right)).to.be.above(5e-5);
      const {trajectory, pullback} = simulate.vjp(two, {y: 1}, {...options, params: {a: 0.37, b: 0.74}});
      expect(pullback({y: [0, 1]}).params.a[0]).to.be.within(Math.min(left, right), Math.max(left, right));
      expect(trajectory.warnings).to.have.length(1);
      expect(trajectory.warnings[0]).to.match(/^dde: at t = 0\.74 a breaking point that moves/);
      expect(simulate(two, {y: 1}, {...options, params: {a: 0.37, b: 0.75}}).warnings).to.deep.equal([]);
    });

    it('and not where they are within steps, or delays are numbers', () => {
      const [left, right] = sides(0.37);
      expect(Math.abs(right - left)).to.be.below(1e-5);
      const {by, warnings} = derivative(0.37);
      expect(by).to.be.closeTo(left, 1e-5);
      expect(warnings).to.deep.equal([]);
      const fixed = dde({derivative: ({delayed: [late]}) => tf.neg(late), delays: [0.3]});
      expect(simulate(fixed, {y: 1}, {scheme: trapezoid(), dt: 0.1, t1: 1.1}).warnings).to.deep.equal([]);
    });
  });

  describe("where y, and so one delay later y', jumps: derivatives by delays at ends of steps and on one another", () => {
    type P = {tau: tf.Tensor; late: tf.Tensor};
    const start = {y: 0.2};
    const one = dde<{tau: tf.Tensor}>({
      derivative: ({delayed: [late]}) => tf.neg(late),
      delays: [({tau}) => tau],
      history: () => tf.scalar(1),
      maxDelay: 1,
    });
    // y = 0.2 − t up to τ, then 0.2 − τ − ∫(0.2 − s) ds over 0 … t − τ up to 2τ.
    const byDelay = (t: number, tau: number): number => -0.8 - (t - tau);

    for (const scheme of [rk4(), explicitEuler(), trapezoid(), gaussLegendre({stages: 2}), radauIIA5(), kvaerno3()])
      slow(`${scheme.name}: as the closed form, by every route`, () => {
        // Of 0.03 the delay 0.4137 lies in a step. The others are ends, that of the first step also, some up to
        // rounding.
        for (const [dt, taus] of [
          [0.05, [0.4, 0.35]],
          [0.03, [0.6, 0.4137]],
          [0.4, [0.4]],
        ] as const) {
          // Euler's own derivative is off by the change of y' over a step or two, which is more than the jump itself
          // where a step is 0.4.
          if (scheme.order === 1 && dt > 0.1) continue;
          const tolerance = scheme.order === 1 ? 2.01 * dt : 1e-12;
          const options = {scheme, dt, saveAt: [0.69]} as const;
          const model = simulate.prepare(one, start, {...options, params: {tau: taus[0]}});
          for (const tau of taus) {
            const {gradient} = model.valueAndGrad(({y}) => tf.sum(y), {params: {tau}});
            expect(gradient.params.tau[0], `${dt}, ${tau}`).to.be.closeTo(byDelay(0.69, tau), tolerance);
          }
        }
        const options = {scheme, dt: 0.05, saveAt: [0.69], params: {tau: 0.4}} as const;
        const by = simulate.vjp(one, start, options).pullback({y: [1]}).params.tau[0];
        expect(by).to.be.closeTo(byDelay(0.69, 0.4), scheme.order === 1 ? 0.1 : 1e-12);
        const {tangent} = simulate.jvp(one, start, options, {params: {tau: 1}});
        expect(tangent.y[0]).to.be.closeTo(by, 1e-12);
      });

    it('and y at that point itself has the one towards shorter delays', () => {
      const options = {scheme: rk4(), dt: 0.05, saveAt: [0.4], params: {tau: 0.4}} as const;
      const {trajectory, pullback} = simulate.vjp(one, start, options);
      expect(pullback({y: [1]}).params.tau[0]).to.be.closeTo(byDelay(0.4, 0.4), 1e-12);
      expect(trajectory.warnings[0]).to.match(/y there has two derivatives, which differ by this jump/);
    });

    const two = (f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor) =>
      dde<P>({
        derivative: ({delayed: [a, b]}) => f(a, b),
        delays: [({tau}) => tau, ({late}) => late],
        history: () => tf.scalar(1),
        maxDelay: 1,
      });
    const sum = two((a, b) => tf.neg(tf.add(a, tf.mul(0.5, b))));
    const product = two((a, b) => tf.mul(a, tf.sin(b)));
    type At = {tau: number; late: number};
    const total = ({y}: ObjectiveAt<P>): tf.Tensor => tf.sum(y);
    const prepared = (system: typeof sum) =>
      simulate.prepare(system, start, {scheme: rk4(), dt: 0.05, saveAt: [1.1], params: {tau: 0.4, late: 0.8}});
    const gradientOf = (model: ReturnType<typeof prepared>, params: At): [number, number] => {
      const {tau, late} = model.valueAndGrad(total, {params}).gradient.params;
      return [tau[0], late[0]];
    };
    /** Differences to one side. */
    const sideOf = (model: ReturnType<typeof prepared>, params: At, d: number): number[] => {
      const end = (moved: object): number => model.value(total, {params: {...params, ...moved}});
      return (['tau', 'late'] as const).map(name => (end({[name]: params[name] + d}) - end({})) / d);
    };

    slow('of two delays whose points lie on one another, or on the grid, or both: as differences to both sides', () => {
      for (const model of [sum, product].map(prepared))
        for (const params of [
          {tau: 0.4137, late: 0.8274},
          {tau: 0.4, late: 0.8},
          {tau: 0.4, late: 0.53},
        ]) {
          const [left, right] = [-1e-6, 1e-6].map(d => sideOf(model, params, d));
          gradientOf(model, params).forEach((by, i) => {
            expect(by).to.be.closeTo(left[i], 5e-6);
            expect(by).to.be.closeTo(right[i], 5e-6);
          });
        }
    });

    slow('of equal delays: each has its own part of the jump', () => {
      // The sum is that of the two as one, and the parts are as their factors: y = 0.2 − 1.5 τ − 1.5 ∫(0.2 − 1.5 s) ds
      // up to 2τ.
      const [ofSum, ofProduct] = [sum, product].map(prepared);
      for (const tau of [0.6, 0.6137]) {
        const [by, byLate] = gradientOf(ofSum, {tau, late: tau});
        expect(by + byLate).to.be.closeTo(-1.5 * 0.8 - 1.5 * 1.5 * (1.1 - tau), 1e-10);
        expect(by).to.be.closeTo(2 * byLate, 1e-10);
        // Of a product a delay has two derivatives, the factors at the point being those of before or after the jump.
        const [left, right] = [-1e-6, 1e-6].map(d => sideOf(ofProduct, {tau, late: tau}, d));
        gradientOf(ofProduct, {tau, late: tau}).forEach((one_, i) =>
          expect(Math.min(Math.abs(one_ - left[i]), Math.abs(one_ - right[i]))).to.be.below(5e-6),
        );
      }
    });

    slow('and second derivatives, in steps and at their ends', () => {
      // d²y/dτ² = 1.
      for (const tau of [0.4, 0.4137]) {
        const options = {scheme: rk4(), dt: 0.05, saveAt: [0.69], params: {tau}} as const;
        const {product: along} = simulate.hvp(one, start, options, ({y}) => tf.sum(y), {params: {tau: 1}});
        expect(along.params.tau[0]).to.be.closeTo(1, 1e-9);
      }
    });
  });

  describe('runs that go on, again and again, by shorter steps than the past is kept in', () => {
    const parts = (span: number, longest: number, scheme: Scheme): number => {
      const system = dde({derivative: ({delayed: [late]}) => tf.neg(late), delays: [1], maxDelay: longest});
      let state: object = {y: 1};
      let y = NaN;
      for (let n = 1; n * span < 3 + 1e-9; n++) {
        const run = simulate(system, state as never, {scheme, dt: 0.1, t1: n * span, saveAt: 'end'});
        state = run.state();
        [y] = run.values('y').slice(-1);
      }
      return y;
    };

    slow('are refused once it does not reach back as far as a delay; the last piece was read beyond its end', () => {
      for (const scheme of [tsit5(), gaussLegendre({stages: 2})]) {
        expect(() => parts(0.05, 1, scheme))
          .to.throw(InconsistentStateError, /delays\[0\] is 1, and the saved state knows y from t = 0\.05 on only/)
          .with.property('code', 'bad-delay');
        // More of it is enough.
        expect(parts(0.05, 2.2, scheme)).to.be.closeTo(exact(3, 1).y, 1e-9);
      }
      expect(parts(0.3, 1, tsit5())).to.be.closeTo(exact(3, 1).y, 1e-9);
    });

    slow('as members of a batch, too', () => {
      const short = dde<{tau: tf.Tensor}>({
        derivative: ({delayed: [late]}) => tf.neg(late),
        delays: [({tau}) => tau],
        maxDelay: 1,
      });
      const options = {scheme: rk4(), dt: 0.1} as const;
      let state: object = {y: 1};
      for (let n = 1; n <= 21; n++)
        state = simulate(short, state as never, {...options, params: {tau: 0.5}, t1: 0.05 * n, saveAt: 'end'}).state();
      const members = (tau: number): Float64Array =>
        batch(short, [state, state] as never, {...options, params: {tau}, steps: 3, workers: 0})[1].values('y');
      expect(() => members(1)).to.throw(InconsistentStateError, /knows y from t = /);
      expect(members(0.5)[3]).to.be.closeTo(exact(1.35, 0.5).y, 1e-5);
    });
  });

  describe('refuses', () => {
    const derivative = ({delayed: [late]}: {delayed: readonly tf.Tensor[]}): tf.Tensor => tf.neg(late);
    const fixed = dde({derivative, delays: [1]});
    const run = {scheme: rk4(), dt: 0.1, steps: 3} as const;
    const refused = (f: () => unknown, kind: typeof OptionError, code: string, words: RegExp): void => {
      try {
        f();
      } catch (error) {
        expect(error).instanceOf(kind);
        expect((error as OptionError).code).equal(code);
        expect((error as OptionError).message).match(words);
        return;
      }
      expect.fail('nothing was refused');
    };

    it('delays that are none', () => {
      refused(() => dde({derivative, delays: [0]}), OptionError, 'bad-dde', /delays\[0\] must be a positive number/);
      refused(() => dde({derivative, delays: []}), OptionError, 'bad-dde', /give at least one/);
      refused(() => dde({derivative, delays: [() => tf.scalar(1)]}), OptionError, 'bad-dde', /maxDelay: 10/);
      refused(() => dde({derivative, delays: [3], maxDelay: 2}), OptionError, 'bad-dde', /a delay is 3/);
      const wide = dde({derivative, delays: [() => tf.tensor1d([1, 2])], maxDelay: 2});
      refused(
        () => simulate(wide, {y: 1}, run),
        ShapeError as never,
        'bad-delay',
        /it returned a tensor of shape \[2\]/,
      );
    });

    it('delays that are shorter than a step, longer than what is kept, or not positive', () => {
      const of =
        (tau: number, dt = 0.1) =>
        () =>
          simulate(falling, {y: 1}, {...run, dt, params: {tau}});
      refused(
        of(0.5, 0.6),
        InconsistentStateError as never,
        'bad-delay',
        /delays\[0\] is 0\.5, and steps are 0\.6 long/,
      );
      refused(of(2.5), InconsistentStateError as never, 'bad-delay', /the past is kept for 2/);
      refused(of(-1), InconsistentStateError as never, 'bad-delay', /must be a positive number/);
    });

    it('the same of one member of a prepared batch, and of a run that goes on', () => {
      const members = batch.prepare(falling, {y: 1}, {...run, params: {tau: 1}} as never);
      const of = (tau: number) => () => members.run([{params: {tau: 0.7}}, {params: {tau}}] as never);
      refused(of(2.5), InconsistentStateError as never, 'bad-delay', /^Member 1 of the batch: .* kept for 2/);
      refused(of(0.05), InconsistentStateError as never, 'bad-delay', /steps are 0\.1 long/);
      refused(of(-1), InconsistentStateError as never, 'bad-delay', /must be a positive number/);
      const half = simulate(falling, {y: 1}, {...run, params: {tau: 1}}).state();
      refused(
        () => simulate(falling, half as never, {...run, params: {tau: 2.5}}),
        InconsistentStateError as never,
        'bad-delay',
        /the past is kept for 2/,
      );
    });

    it('a history of another shape', () => {
      const wrong = dde({derivative, delays: [1], history: () => tf.zeros([2])});
      refused(
        () => simulate(wrong, {y: 1}, run),
        ShapeError as never,
        'history-shape',
        /of the shape of y, \[\]; it returned a tensor of shape \[2\]/,
      );
    });

    it('what has no past', async () => {
      refused(() => simulate(fixed, {y: 1}, {...run, scheme: bdf2()}), OptionError, 'wrong-scheme', /one-step scheme/);
      refused(
        () => simulate(fixed, {y: 1}, {...run, scheme: kvaerno5()}),
        OptionError,
        'wrong-scheme',
        /stage beyond the end of its step/,
      );
      refused(
        () => simulate(fixed, {y: 1}, {...run, control: adaptive()}),
        OptionError,
        'bad-control',
        /constant length/,
      );
      refused(() => simulate(fixed, {y: 1}, {...run, dt: -0.1}), OptionError, 'not-reversible', /its past/);
      refused(
        () => simulate(fixed, {y: 1}, {...run, scheme: trapezoid(), newton: newton({onFailure: 'halve'})}),
        OptionError,
        'bad-newton',
        /halved ones would shorten the past/,
      );
      const jump = event({when: ({y}) => tf.sub(y, 0.5), then: ({y}) => ({y})});
      refused(
        () => simulate(fixed, {y: 1}, {...run, events: [jump]}),
        OptionError,
        'bad-event',
        /use then: 'record' or 'stop'/,
      );
      const adjoint = backsolveAdjoint();
      refused(
        () => simulate.vjp(fixed, {y: 1}, {...run, adjoint}),
        OptionError,
        'bad-adjoint',
        /does not support a dde/,
      );
      refused(() => linearize(fixed, {y: 1}), OptionError, 'wrong-system', /delayLine/);
      refused(() => equilibrium(fixed, {y: 1}), OptionError, 'wrong-system', /delayLine/);
      const data = {t: [0, 0.1, 0.2, 0.3, 0.4, 0.5], y: [1, 1, 1, 1, 1, 1]};
      const problem = {system: fixed, initial: {y: 1}, data, dt: 0.1} as const;
      const cut = await identify({
        ...problem,
        parameters: {a: free(1)},
        scheme: rk4(),
        shooting: multiple({segments: 2}),
      } as never)
        .then(() => undefined)
        .catch((error: unknown) => error);
      expect((cut as OptionError).message).match(/a dde needs its past/);
      refused(
        () => filter({...problem, initialCovariance: 1, processNoise: {density: 1}, measurementNoise: 1} as never),
        OptionError,
        'wrong-system',
        /knows only the present state/,
      );
    });
  });
});
