/** The choice of step lengths: the first one by Hairer, Nørsett & Wanner's algorithm, the others by controllers written out. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {AdaptiveOptions, Scheme, StepSizeController, StepSizeRule} from '../../../lib/index.js';
import {
  adaptive,
  bdf2,
  event,
  kvaerno3,
  mechanics,
  ode,
  OptionError,
  simulate,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';

const decay = ode(({y}) => tf.mul(y, -2));
const timesOf = (options: AdaptiveOptions, scheme: Scheme = tsit5(), dt = 0.3): Float64Array => {
  const path = simulate(decay, {y: 1}, {scheme, dt, t1: 2, control: adaptive(options)});
  path.dispose();
  return path.values('t');
};

describe('an automatic first step', () => {
  it('is that of the algorithm in §II.4, whatever dt is', () => {
    // Norms of y, f and of the change of f over h₀ = 0.01 d₀/d₁, with y = 1, f = −2y and the scale sc = atol + rtol.
    for (const [rtol, atol] of [
      [1e-6, 1e-9],
      [1e-3, 1e-6],
      [1e-10, 1e-10],
    ]) {
      const sc = atol + rtol;
      const [d0, d1] = [1 / sc, 2 / sc];
      const h0 = 0.01 * (d0 / d1);
      const d2 = (2 * 2 * h0) / sc / h0;
      const expected = Math.min(100 * h0, (0.01 / Math.max(d1, d2)) ** (1 / 6));
      for (const dt of [0.3, 1e-4])
        expect(timesOf({rtol, atol, first: 'auto'}, tsit5(), dt)[1]).to.be.closeTo(expected, 1e-9 * expected);
    }
  });

  it('keeps the tolerance of implicit schemes, and of those that carry something from the start', () => {
    for (const scheme of [kvaerno3(), trapezoid(), bdf2()]) {
      const path = simulate(
        decay,
        {y: 1},
        {scheme, dt: 1, t1: 1, saveAt: 'end', control: adaptive({rtol: 1e-7, atol: 1e-9, first: 'auto'})},
      );
      path.dispose();
      expect(path.values('y')[1]).to.be.closeTo(Math.exp(-2), 1e-4);
    }
  });

  it('takes a mechanical system, events and a start at rest', () => {
    const oscillator = mechanics({mass: 1, forces: ({q}) => tf.mul(q, -4)});
    const path = simulate(
      oscillator,
      {q: 1, v: 0},
      {scheme: tsit5(), dt: 100, t1: 1, saveAt: 'end', control: adaptive({rtol: 1e-9, atol: 1e-9, first: 'auto'})},
    );
    path.dispose();
    expect(path.values('q')[1]).to.be.closeTo(Math.cos(2), 1e-7);
    const still = simulate(
      ode(({y}) => tf.mul(y, 0)),
      {y: 0},
      {scheme: tsit5(), dt: 0.1, t1: 1, saveAt: 'end', control: adaptive({first: 'auto'})},
    );
    still.dispose();
    expect([...still.values('y')]).to.deep.equal([0, 0]);
  });
});

describe('controllers', () => {
  it('are PID with the shares given', () => {
    const [proportional, integral, derivative] = [0.2, 0.4, 0.05];
    const control = adaptive({
      controller: {proportional, integral, derivative},
      growth: 100,
      shrinking: 1e-3,
      safety: 0.9,
    });
    const k = 5;
    const lengths = control.controller.begin({power: k, isImplicit: false});
    const sigma = 0.9 ** k;
    const errors = [0.3, 0.1, 0.25, 0.02].map(e => e / sigma);
    const scaled = [0.3, 0.1, 0.25, 0.02];
    // Söderlind's digital filter, errors over the one aimed at: e^(−(P+I+D)/k) e₋^((P+2D)/k) e₌^(−D/k).
    lengths.accept(1, scaled[0]);
    lengths.accept(1, scaled[1]);
    for (const n of [2, 3]) {
      expect(lengths.accept(1, scaled[n])).to.be.closeTo(
        errors[n] ** (-(proportional + integral + derivative) / k)
          * errors[n - 1] ** ((proportional + 2 * derivative) / k)
          * errors[n - 2] ** (-derivative / k),
        1e-13,
      );
    }
  });

  it('take fewer steps of an easy run where they may grow faster, to the same tolerance', () => {
    const cautious = timesOf({rtol: 1e-4, atol: 1e-6, first: 1e-4});
    const bold = timesOf({rtol: 1e-4, atol: 1e-6, first: 1e-4, growth: 20, controller: {integral: 1}});
    expect(bold.length).to.be.below(cautious.length);
  });

  it('go on from a saved state to the same bits', () => {
    const options = {
      scheme: tsit5(),
      dt: 0.01,
      control: adaptive({rtol: 1e-6, controller: {proportional: 0.3, integral: 0.3, derivative: 0.1}}),
    };
    const vanDerPol = ode(({y}) => {
      const [x, v] = tf.unstack(y);
      return tf.stack([v, tf.sub(tf.mul(tf.mul(5, tf.sub(1, tf.square(x))), v), x)]);
    });
    const whole = simulate(vanDerPol, {y: [2, 0]}, {...options, steps: 60, saveAt: 'end'});
    const half = simulate(vanDerPol, {y: [2, 0]}, {...options, steps: 30, saveAt: 'end'});
    const rest = simulate(vanDerPol, JSON.parse(JSON.stringify(half.state())) as ReturnType<typeof half.state>, {
      ...options,
      steps: 30,
      saveAt: 'end',
    });
    expect([...rest.values('y').slice(2)]).to.deep.equal([...whole.values('y').slice(2)]);
    for (const path of [whole, half, rest]) path.dispose();
  });

  it("of one's own choose the lengths, shortened to the end and to max", () => {
    const even: StepSizeController = {begin: () => ({accept: () => 0.3, reject: h => h / 2})};
    const options = {controller: even, rtol: 1e-3};
    expect([...timesOf({...options, max: 0.25})].slice(0, 4)).to.deep.equal([0, 0.25, 0.5, 0.75]);
    const ends = timesOf(options);
    expect(ends[1]).to.equal(0.3);
    expect(ends.at(-1)).to.equal(2);
  });

  it("of one's own see errors, rejections and events, and go on from a saved state to the same bits", () => {
    const told: string[] = [];
    const pi: StepSizeController = {
      begin({power, isImplicit}) {
        told.push(`begin ${power} ${isImplicit}`);
        let last = 1;
        return {
          accept(h, error) {
            const factor = 0.9 * error ** (-0.7 / power) * last ** (0.4 / power);
            last = error;
            return h * Math.min(4, factor);
          },
          reject(h, error) {
            told.push(error > 1 ? 'rejected' : 'wrong');
            return h / 2;
          },
          restart: () => void told.push('restarted'),
          snapshot: () => ({last}),
          restore: ({last: error = 1}) => void (last = error),
        };
      },
    };
    const start = {y: 1} as const;
    const options = {scheme: tsit5(), dt: 0.9, control: adaptive({rtol: 1e-8, controller: pi})};
    const whole = simulate(decay, start, {...options, steps: 8, saveAt: 'end'});
    const half = simulate(decay, start, {...options, steps: 4, saveAt: 'end'});
    const left = JSON.parse(JSON.stringify(half.state())) as ReturnType<typeof half.state>;
    const rest = simulate(decay, left, {...options, steps: 4, saveAt: 'end'});
    expect([...rest.values('y')].at(-1)).to.equal([...whole.values('y')].at(-1));
    expect(new Set(told)).to.deep.equal(new Set(['begin 5 false', 'rejected']));
    const bounce = event({when: ({y}) => tf.sub(y, 0.5), then: ({y}) => ({y: tf.mul(y, 0.9)})});
    simulate(decay, start, {...options, t1: 1, saveAt: 'end', events: [bounce]}).dispose();
    expect(told).to.include('restarted');
    for (const path of [whole, half, rest]) path.dispose();
  });

  it("of one's own are refused where a length is none, or a factor is set beside them", () => {
    const of = (rule: Partial<StepSizeRule>): StepSizeController => ({
      begin: () => ({accept: h => h, reject: h => h / 2, ...rule}),
    });
    for (const [rule, message] of [
      [{accept: () => NaN}, 'accept must return a positive length, not NaN'],
      [{accept: () => 0}, 'accept must return a positive length, not 0'],
      [{reject: (h: number) => h}, 'reject must return a positive length below'],
    ] as const)
      expect(() => timesOf({controller: of(rule), rtol: 1e-12})).to.throw(OptionError, message);
    expect(() => adaptive({controller: of({}), safety: 0.5})).to.throw(OptionError, 'omit safety');
    expect(() => adaptive({controller: {begin: 1} as unknown as StepSizeController})).to.throw(OptionError, 'begin');
  });

  it('refuse what is none', () => {
    for (const bad of [
      {growth: 1},
      {shrinking: 1},
      {controller: {integral: 0}},
      {controller: {}},
      {controller: {integral: 1, drivative: 1}},
      {first: 'now'},
    ])
      expect(() => adaptive(bad as never), JSON.stringify(bad))
        .to.throw(OptionError)
        .with.property('code', 'bad-control');
  });
});
