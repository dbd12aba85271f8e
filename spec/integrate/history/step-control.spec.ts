/** The choice of step lengths: the first one by Hairer, Nørsett & Wanner's algorithm, the others by controllers written out. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {AdaptiveOptions, Scheme} from '../../../lib/index.js';
import {adaptive, bdf2, kvaerno3, mechanics, ode, OptionError, simulate, trapezoid, tsit5} from '../../../lib/index.js';
import {PidController} from '../../../lib/integrate/history/pid-controller.js';

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
    const lengths = new PidController(control, k, false, 1);
    const sigma = 0.9 ** k;
    const errors = [0.3, 0.1, 0.25, 0.02].map(e => e / sigma);
    const scaled = [0.3, 0.1, 0.25, 0.02];
    // Söderlind's digital filter, errors over the one aimed at: e^(−(P+I+D)/k) e₋^((P+2D)/k) e₌^(−D/k).
    lengths.accept(1, scaled[0]);
    lengths.accept(1, scaled[1]);
    for (const n of [2, 3]) {
      lengths.accept(1, scaled[n]);
      expect(lengths.next).to.be.closeTo(
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
