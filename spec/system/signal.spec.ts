/** Signals against closed forms and scipy's spline: eager, traced in double precision, inside a simulation, and their derivatives. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {pushforward} from '../../lib/graph/differentiate.js';
import {input} from '../../lib/graph/build.js';
import {
  DataError,
  explicitEuler,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  ode,
  OptionError,
  ShapeError,
  simulate,
} from '../../lib/index.js';
import {trace} from '../../lib/trace/trace.js';
import type {Signal, SignalKind} from '../../lib/system/signal.js';
import {signal} from '../../lib/system/signal.js';
import {asFunction, evaluate} from '../graph/evaluate.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const kinds: readonly SignalKind[] = ['linear', 'hold', 'cubic', 'hermite'];
const t = [0, 0.3, 1, 1.2, 2.5];
const values = [1.1, -0.4, 0.7, 2.3, 0.2];

/** A function of time as forces see it: traced, in double precision. */
function traced(f: (time: tf.Tensor) => tf.Tensor): (time: number) => Float64Array {
  const {graph} = trace(inputs => ({value: f(inputs.t)}), [{name: 't', shape: []}]);
  const run = asFunction(
    graph.outputs.map(({node}) => node),
    graph.inputs,
  );
  return time => run([Float64Array.of(time)])[0];
}

const inForce = (one: Signal): ((time: number) => number) => {
  const f = traced(time => one.at(time));
  return time => f(time)[0];
};

/** Outside a trace, as a tensor. */
const eager = (one: Signal, time: number): number => tf.tidy(() => one.at(tf.scalar(time)).dataSync()[0]);

/** The derivative of the traced signal by our own rules. */
function rate(one: Signal, time: number): number {
  const {graph} = trace(inputs => ({value: one.at(inputs.t)}), [{name: 't', shape: []}]);
  const seed = input('dt', []);
  const [tangent] = pushforward(
    graph.outputs.map(({node}) => node),
    new Map([[graph.inputs[0], seed]]),
  );
  return tangent === undefined
    ? 0
    : evaluate([tangent], [graph.inputs[0], seed], [Float64Array.of(time), Float64Array.of(1)])[0][0];
}

function reason(f: () => unknown): {error: unknown; message: string; data: Readonly<Record<string, unknown>>} {
  try {
    f();
  } catch (error) {
    const {message, data} = error as DataError;
    return {error, message, data};
  }
  throw new Error('nothing was thrown');
}

describe('signal', () => {
  it("joins samples by lines, keeps the last one with 'hold', and the end values beyond", () => {
    const linear = inForce(signal(t, values));
    const hold = inForce(signal(t, values, 'hold'));
    // Written out: a + (b − a)(x − t)/Δt.
    expect(linear(0.1)).to.be.closeTo(1.1 - 1.5 / 3, 1e-15);
    expect(linear(1.15)).to.be.closeTo(0.7 + 1.6 * 0.75, 1e-15);
    expect([0, 0.29, 0.3, 1.1999, 1.2, 2.4].map(hold)).to.deep.equal([1.1, 1.1, -0.4, 0.7, 2.3, 2.3]);
    for (const kind of kinds) {
      const at = inForce(signal(t, values, kind));
      expect([-5, 0], kind).to.satisfy((times: number[]) => times.every(time => at(time) === 1.1));
      expect(at(2.5), kind).to.be.closeTo(0.2, 1e-15);
      expect(at(7), kind).to.be.closeTo(0.2, 1e-15);
    }
  });

  // CubicSpline(t, values, bc_type='natural') and its first derivative, scipy 1.17.
  const spline = [
    [0.1, 0.5412563508563509, -5.440577368577368],
    [0.3, -0.4, -3.6782678942678952],
    [0.65, -0.8232648648648652, 1.4155200475200478],
    [1.1, 1.5047638253638262, 8.325258687258689],
    [1.9, 3.263293906924676, -3.2161095702634146],
    [2.4, 0.8023938589477044, -5.971455804071185],
  ] as const;

  it("'hermite' is the cubic with the slopes of the lines before, and so is its derivative", () => {
    const one = signal(t, values, 'hermite');
    const [at, slope] = [inForce(one), traced(time => one.derivative.at(time))];
    for (let k = 0; k + 1 < t.length; k++) {
      const width = t[k + 1] - t[k];
      const rise = (i: number): number => (values[i + 1] - values[i]) / (t[i + 1] - t[i]);
      const [m0, m1] = [rise(Math.max(k - 1, 0)), rise(k)];
      for (const u of [0, 0.25, 0.7, 0.999]) {
        // Hermite's basis, as tables have it.
        const value =
          (2 * u ** 3 - 3 * u ** 2 + 1) * values[k]
          + (u ** 3 - 2 * u ** 2 + u) * width * m0
          + (3 * u ** 2 - 2 * u ** 3) * values[k + 1]
          + (u ** 3 - u ** 2) * width * m1;
        const rate =
          ((6 * u ** 2 - 6 * u) * (values[k] - values[k + 1])) / width
          + (3 * u ** 2 - 4 * u + 1) * m0
          + (3 * u ** 2 - 2 * u) * m1;
        expect(at(t[k] + u * width)).to.be.closeTo(value, 1e-14);
        expect(slope(t[k] + u * width)[0]).to.be.closeTo(rate, 1e-13);
      }
    }
    // What comes after the next sample does not reach back.
    const other = inForce(signal(t, [...values.slice(0, 4), 50], 'hermite'));
    for (const time of [0.2, 0.8, 1.1]) expect(other(time)).to.equal(at(time));
  });

  it("'cubic' is scipy's natural spline, and so is its derivative", () => {
    const cubic = signal(t, values, 'cubic');
    const at = inForce(cubic);
    for (const [time, value, slope] of spline) {
      expect(at(time)).to.be.closeTo(value, 1e-14);
      expect(rate(cubic, time)).to.be.closeTo(slope, 5e-14);
    }
  });

  /** y' = −0.7 x' y has the end 1.5 exp(−0.7 (x(2) − x(0))); one stage of kvaerno5 lies beyond the end of each step. */
  for (const kind of ['cubic', 'hermite'] as const)
    slow(`the rate of '${kind}' up to the last sample leaves a method its order`, () => {
      const times = [0, 0.3, 0.5, 1.1, 1.6, 2];
      const x = times.map(time => Math.sin(3 * time) + time ** 2 / 3);
      const system = ode(({y, params}) => tf.mul(tf.mul(-0.7, y), params.x as tf.Tensor));
      const [coarse, fine] = [0.02, 0.01].map(dt => {
        const options = {scheme: kvaerno5(), dt, t1: 2, saveAt: 'end', inputs: {x: signal(times, x, kind).derivative}} as const; // prettier-ignore
        const run = simulate(system, {y: 1.5}, options);
        const [, end] = run.values('y');
        run.dispose();
        return Math.abs(end - 1.5 * Math.exp(-0.7 * (x[5] - x[0])));
      });
      expect(Math.log2(coarse / fine)).to.be.closeTo(5, 0.2);
    });

  slow('a method of high order integrates lines exactly from sample to sample, the last one too', () => {
    const times = [0, 0.5, 1];
    const rising = signal(times, [0, 1.5, 3]);
    const bent = signal(times, [0, 1.5, 0.5]);
    for (const [input, area] of [
      [rising, 1.5],
      [bent, 0.875],
    ] as const)
      // prettier-ignore
      for (const dt of [0.5, 0.1, -0.1]) {
        const [from, to] = dt > 0 ? [0, 1] : [1, 0];
        const system = ode(({y, params}) => tf.add(tf.mul(0, y), params.x as tf.Tensor));
        const run = simulate(system, {y: 0, t: from}, {scheme: kvaerno5(), dt, t1: to, saveAt: 'end', inputs: {x: input}});
        expect(run.values('y')[1], `${dt}`).to.be.closeTo(Math.sign(dt) * area, 2e-15);
        run.dispose();
      }
  });

  it('has its derivative through tf.grad too, inside a trace and outside', () => {
    for (const [time, , slope] of spline) {
      const cubic = signal(t, values, 'cubic');
      const gradient = tf.grad(x => cubic.at(x));
      expect(traced(gradient)(time)[0], 'traced').to.be.closeTo(slope, 5e-14);
      const outside = tf.tidy(() => gradient(tf.scalar(time)).dataSync()[0]);
      expect(outside, 'eager, float32').to.be.closeTo(slope, 1e-5 * (1 + Math.abs(slope)));
    }
    const linear = signal(t, values);
    expect(rate(linear, 0.1)).to.be.closeTo(-5, 1e-14);
    expect(rate(linear, 1), 'at a sample: of the interval that begins there').to.be.closeTo(8, 1e-13);
    expect(rate(linear, 3), 'beyond').to.equal(0);
    expect(rate(signal(t, values, 'hold'), 0.1)).to.equal(0);
  });

  slow('meets every sample, whatever the times', () => {
    const record = fc.array(
      fc.tuple(fc.double({min: 1e-3, max: 10, noNaN: true}), fc.double({min: -1e3, max: 1e3, noNaN: true})),
      {minLength: 1, maxLength: 8},
    );
    fc.assert(
      fc.property(record, fc.double({min: -1e3, max: 1e3, noNaN: true}), (samples, start) => {
        let time = start;
        const times = samples.map(([interval]) => (time += interval));
        const numbers = samples.map(([, value]) => value);
        for (const kind of kinds) {
          const at = inForce(signal(times, numbers, kind));
          // The share of the interval is exactly 0 or 1 there, so what is left is the rounding of a + (b − a).
          times.forEach((sample, i) => expect(at(sample), kind).to.be.closeTo(numbers[i], 1e-12));
        }
      }),
      runs(30),
    );
  });

  it("'hold' is right at times counted as t₀ + n·h, which round", () => {
    for (const [start, dt, substeps] of [
      [0, 0.1, 1],
      [0, 1e-3, 4],
      [3.7, 1 / 610.35, 2],
      [1000, 0.01, 3],
    ] as const) {
      const times = Float64Array.from({length: 200}, (_, i) => start + i * dt);
      const at = inForce(
        signal(
          times,
          times.map((_, i) => i),
          'hold',
        ),
      );
      for (let n = 0; n < 200 * substeps; n++)
        expect(at(start + n * (dt / substeps)), `n = ${n} of ${dt}/${substeps}`).to.equal(Math.floor(n / substeps));
    }
  });

  it('has the shape of a sample', () => {
    const pairs = values.map((value, i) => [value, [0.5, 1.5, -1, 0.25, 3][i]]);
    const cubic = signal(t, pairs, 'cubic');
    expect(cubic.shape).to.deep.equal([2]);
    // scipy's, of both columns.
    const at = traced(time => cubic.at(time))(0.65);
    expect(at[0]).to.be.closeTo(-0.8232648648648652, 1e-14);
    expect(at[1]).to.be.closeTo(-0.085101351351352, 1e-14);
    const linear = signal(
      [0, 1],
      [
        [
          [1, 2],
          [3, 4],
        ],
        [
          [5, 6],
          [7, 8],
        ],
      ],
    );
    expect([...traced(time => linear.at(time))(0.25)]).to.deep.equal([2, 3, 4, 5]);
    expect(tf.tidy(() => signal(t, pairs, 'hold').at(tf.scalar(0.3)).arraySync())).to.deep.equal([
      Math.fround(-0.4),
      1.5,
    ]);
  });

  it('takes one or two samples of any kind', () => {
    for (const kind of kinds) {
      const one = inForce(signal([2], [7], kind));
      expect([1, 2, 3].map(one), kind).to.deep.equal([7, 7, 7]);
    }
    expect(inForce(signal([0, 2], [1, 5], 'cubic'))(0.5), 'a spline through two points is a line').to.equal(2);
    expect(eager(signal(3, 4), 9), 'bare numbers').to.equal(4);
  });

  it('drives a force in double precision', () => {
    // q″ = s(t) by the explicit Euler scheme: v₊ = v + h s(tₙ), summed here in doubles.
    const drive = signal(t, values);
    const system = mechanics({mass: 1, forces: ({q, t: time}) => tf.mul(tf.onesLike(q), drive.at(time))});
    const [dt, steps] = [0.013, 200];
    const path = simulate(system, {q: [0], v: [0]}, {scheme: explicitEuler(), dt, steps, saveAt: 'end'});
    const expected = Array.from({length: steps}, (_, n) => {
      const time = n * dt;
      const i = Math.min(t.length - 2, t.filter(sample => sample <= time).length - 1);
      const share = Math.min(1, (time - t[i]) / (t[i + 1] - t[i]));
      return dt * (values[i] + share * (values[i + 1] - values[i]));
    }).reduce((sum, x) => sum + x, 0);
    expect(path.values('v')[1]).to.be.closeTo(expected, 1e-13 * Math.abs(expected));
    path.dispose();
  });

  it('has a delay as a parameter', () => {
    const drive = signal(t, values, 'cubic');
    const system = ode(({y, t: time, params}) =>
      tf.mul(tf.onesLike(y), drive.at(tf.add(time, params.delay as tf.Tensor))),
    );
    const [dt, steps] = [0.01, 100];
    const {trajectory, tangent} = simulate.jvp(
      system,
      {y: [0]},
      {scheme: explicitEuler(), dt, steps, saveAt: 'end', params: {delay: 0.2}},
      {params: {delay: 1}},
    );
    trajectory.dispose();
    // dy/dτ = Σ h s′(tₙ + τ), by differences of the spline itself: the five-point formula's error is 1e-11 here.
    const at = inForce(drive);
    const slope = (x: number, h = 1e-3): number =>
      (8 * (at(x + h) - at(x - h)) - (at(x + 2 * h) - at(x - 2 * h))) / (12 * h);
    const expected = Array.from({length: steps}, (_, n) => dt * slope(n * dt + 0.2)).reduce((sum, x) => sum + x, 0);
    // Near a knot the third derivative jumps, which the formula smears over 2e-3: 3e-7 of the two steps it meets.
    expect(tangent.y[1]).to.be.closeTo(expected, 1e-6);
  });

  slow('of 25,000 samples costs a step little', function () {
    const n = 25000;
    const times = Float64Array.from({length: n}, (_, i) => i * 1e-3);
    const run = (samples: number): number => {
      const drive = signal(times.slice(0, samples), times.slice(0, samples).map(Math.sin));
      const system = mechanics({mass: 1, forces: ({q, t: time}) => tf.sub(drive.at(time), q)});
      const path = simulate(system, {q: 0, v: 0}, {scheme: implicitMidpoint(), dt: 1e-3, steps: 20000, saveAt: 'end'});
      path.dispose();
      return path.stats.milliseconds.run;
    };
    run(100);
    const [short, long] = [run(100), run(n)];
    // Bisection takes 15 halvings instead of 7; twenty-fold would be a search that copies or scans. The least time guards against a busy machine.
    expect(long).to.be.below(20 * Math.max(short, 20));
  });

  it('leaves no tensor behind', () => {
    const time = tf.scalar(0.5);
    const before = tf.memory().numTensors;
    for (const kind of kinds) {
      const one = signal([0, 1, 2], [1, 2, 0], kind);
      inForce(one)(0.5);
      one.at(time).dispose();
      expect(tf.memory().numTensors - before, kind).to.equal(0);
    }
    time.dispose();
  });

  it('says which sample is wrong', () => {
    const order = reason(() => signal([0, 1, 1, 2], [1, 2, 3, 4]));
    expect(order.error).to.be.instanceOf(DataError).and.have.property('code', 'signal-order');
    expect(order.data.index).to.equal(2);
    expect(order.message).to.contain('sample 2 is at 1 after 1');
    const value = reason(() =>
      signal(
        [0, 0.5],
        [
          [1, 2],
          [3, NaN],
        ],
      ),
    );
    expect(value.error).to.be.instanceOf(DataError).and.have.property('code', 'signal-not-finite');
    expect(value.data.index).to.equal(1);
    expect(value.message).to.contain('sample 1, at 0.5, is NaN').and.contain("missing: 'bridge'");
    expect(reason(() => signal([0, Infinity], [1, 2])).message).to.contain('the time of sample 1 is Infinity');
    const length = reason(() => signal([0, 1, 2], [1, 2]));
    expect(length.error).to.be.instanceOf(ShapeError).and.have.property('code', 'signal-length');
    expect(length.message).to.contain('3 times, but values of shape [2]');
    expect(reason(() => signal([], [])).error).to.be.instanceOf(ShapeError);
    const kind = reason(() => signal([0, 1], [0, 1], 'toString' as SignalKind));
    expect(kind.error).to.be.instanceOf(OptionError);
    expect(kind.message).to.contain("'linear', 'hold', 'cubic' or 'hermite', not 'toString'");
  });
});
