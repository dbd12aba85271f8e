/** Which zeros of an event's function are events: several in a step, touches, values that are not finite, the ends of steps. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {EventSpec, Trajectory} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {adaptive, event, EventError, mechanics, rk4, simulate, trapezoid} from '../../../lib/index.js';

type When = EventSpec['when'];

const oscillator = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
const free = mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q)});
const thrown = mechanics({mass: 1, forces: ({q}) => tf.add(tf.zerosLike(q), -8)});

function run(
  when: When,
  {then = 'record', direction, ...options}: Partial<EventSpec> & Partial<RunSettings> & {t1?: number} = {},
): Trajectory {
  const path = simulate(
    oscillator,
    {q: 1, v: 0},
    {scheme: rk4(), dt: 0.25, t1: 6, saveAt: 'end', ...options, events: [event({when, then, direction})]},
  );
  path.dispose();
  return path;
}
const times = ({events}: Trajectory): number[] => events.map(({t}) => t);
const met = (actual: readonly number[], expected: readonly number[], close = 1e-9): void => {
  expect(actual).to.have.lengthOf(expected.length);
  actual.forEach((t, i) => expect(t).to.be.closeTo(expected[i], close));
};

/** ∏ (t − zero) */
const zerosAt =
  (...zeros: readonly number[]): When =>
  ({t}) =>
    zeros.map(zero => tf.sub(t, zero)).reduce((product, factor) => tf.mul(product, factor));

describe('crossings within a step', () => {
  for (const zeros of [
    [0.3, 0.35],
    [0.3, 0.35, 0.4],
    [0.26, 0.27, 0.49],
    [0.26, 0.3, 0.4, 0.45],
    [0.26, 0.31, 0.36, 0.41, 0.46],
  ]) {
    it(`${zeros.length} of them, at ${zeros.join(', ')}`, () => {
      met(times(run(zerosAt(...zeros))), zeros);
      const odd = zeros.length % 2 === 1;
      met(
        times(run(zerosAt(...zeros), {direction: 'rising'})),
        zeros.filter((_, i) => (i % 2 === 0) === odd),
      );
      met(
        times(run(zerosAt(...zeros), {direction: 'falling'})),
        zeros.filter((_, i) => (i % 2 === 0) !== odd),
      );
      // A stop is at the first of them, in a state of the scheme's own.
      met([run(zerosAt(...zeros), {then: 'stop'}).values('t')[1]], [zeros[0]], 1e-14);
      met(times(run(zerosAt(...zeros), {control: adaptive({rtol: 1e-3}), dt: 0.5})), zeros);
    });
  }

  it('a function that swings ten radians in a step', () => {
    met(
      times(run(({t}) => tf.sin(tf.mul(t, 20)), {dt: 0.5, t1: 3})),
      Array.from({length: 19}, (_, i) => ((i + 1) * Math.PI) / 20),
    );
  });

  it('each of them jumps: a ball between walls that it reaches twice in a step', () => {
    // From 0.5 with v = 10 between 0 and 1: a wall every 0.1, and a step of 0.25.
    const turn: EventSpec['then'] = ({v}) => ({v: tf.neg(v)});
    const walls = [
      event({when: ({q}) => q, direction: 'falling', then: turn}),
      event({when: ({q}) => tf.sub(q, 1), direction: 'rising', then: turn}),
    ];
    const path = simulate(
      free,
      {q: 0.5, v: 10},
      {scheme: trapezoid(), dt: 0.25, t1: 1.02, saveAt: 'end', events: walls},
    );
    path.dispose();
    met(
      times(path),
      Array.from({length: 10}, (_, i) => 0.05 + 0.1 * i),
    );
    expect(path.values('q')[1]).to.be.closeTo(0.7, 1e-12);
  });

  it('two events that cross at one time, and the order of those that do not', () => {
    const events = [0.4, 0.3, 0.4].map(zero => event({when: zerosAt(zero), then: 'record'}));
    const path = simulate(oscillator, {q: 1, v: 0}, {scheme: rk4(), dt: 0.25, t1: 1, saveAt: 'end', events});
    path.dispose();
    expect(path.events.map(({index}) => index)).to.deep.equal([1, 0, 2]);
  });
});

describe('what is no crossing', () => {
  it('a touch: within a step, at its end, at the start', () => {
    for (const zero of [0.3, 0.5, 0])
      expect(times(run(({t}) => tf.square(tf.sub(t, zero)))), String(zero)).to.deep.equal([]);
    expect(times(run(({q}) => tf.square(q)))).to.deep.equal([]);
  });

  it('but a cube crosses, within a step and at its end', () => {
    // Its sign is rounding within 1e-5 of zero.
    for (const zero of [0.3, 0.5]) met(times(run(({t}) => tf.pow(tf.sub(t, zero), 3))), [zero], 1e-5);
  });

  it('a zero at the end of a step is met once, in its direction', () => {
    for (const direction of ['both', 'rising'] as const) met(times(run(zerosAt(0.5), {direction})), [0.5], 1e-15);
    met(times(run(zerosAt(0.5), {direction: 'falling'})), []);
    // Rounding may show the end of a step on either side of zero: 0.3 is no multiple of 0.1.
    met(times(run(zerosAt(0.3), {dt: 0.1})), [0.3], 1e-15);
    met(times(run(zerosAt(0, 0.3), {dt: 0.1})), [0.3], 1e-15);
  });

  for (const then of ['record', 'stop'] as const) {
    it(`a function that is not a number beyond its zero, then: '${then}': no event, and a warning`, () => {
      for (const when of [({q}) => tf.sqrt(q), ({q}) => tf.mul(tf.log(tf.add(q, 2)), tf.sqrt(q))] as When[]) {
        const path = run(when, {then});
        expect(path.status).to.equal('completed');
        expect(path.events.filter(({t}) => t > 1.5 && t < 4.8)).to.deep.equal([]);
        expect(path.warnings.filter(text => text.includes('is not a finite number'))).to.have.lengthOf(1);
      }
    });
  }

  it('but it crosses where it is finite, before and after', () => {
    // √q − ½ is zero where q = cos t = ¼, and not a number from π/2 to 3π/2.
    const found = times(run(({q}) => tf.sub(tf.sqrt(q), 0.5)));
    // The period of the run is off by 2e-4: rk4 with steps of ¼.
    met(found, [Math.acos(0.25), 2 * Math.PI - Math.acos(0.25)], 1e-3);
  });
});

describe('grazing', () => {
  // From v = 4 under g = 8 the top is 1, at t = ½. The trapezoid is exact.
  const top = (height: number, then: EventSpec['then'] = 'record') =>
    simulate.vjp(
      thrown,
      {q: 0, v: 4},
      {
        scheme: trapezoid(),
        dt: 0.2,
        t1: 0.9,
        saveAt: 'end',
        events: [event({when: ({q}) => tf.sub(q, height), then})],
      },
    );

  it('a crossing above rounding has the derivative of its time', () => {
    for (const depth of [1e-2, 1e-6, 1e-10]) {
      const {trajectory, pullback} = top(1 - depth);
      expect(trajectory.events).to.have.lengthOf(2);
      // t = ½ ∓ √(depth/4): by v₀, with q(t) = v₀t − 4t² = h: dt/dv₀ = −t/v(t), v = ±4√depth.
      const rate = 4 * Math.sqrt(depth);
      const t = 0.5 - Math.sqrt(depth) / 2;
      const slope = (pullback({events: [1, 0]}).initial.v as Float64Array)[0];
      // The depth is a difference of numbers of size 1: its rounding, and half of it in the rate.
      expect((slope * rate) / -t).to.be.closeTo(1, 1e-12 + 1e-15 / depth);
    }
  });

  it('one of no depth is none, or says that its time has no derivative', () => {
    for (const height of [1, 1 - 1e-16, 1 - 2e-16]) {
      for (const then of ['record', 'stop'] as const) {
        const {trajectory, pullback} = top(height, then);
        const count = trajectory.events.length;
        if (count === 0) continue;
        expect(() => pullback({events: Array.from({length: count}, () => 1)}), `${height}, ${then}`)
          .to.throw(EventError)
          .with.property('code', 'grazing');
      }
    }
  });
});
