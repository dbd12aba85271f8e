/**
 * Orders of the pairs of fifth order, whose principal errors their authors made so small that the next
 * term of the error shows long after it has vanished beside those of other schemes. So runs are long here
 * (errors add up above the rounding while steps are short), and for problems without a closed form the
 * observed order is extrapolated: its own error is proportional to h.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, OdeSystem, Scheme, System} from '../../lib/index.js';
import {dopri5, gaussLegendre, newton, ode, simulate, tsit5} from '../../lib/index.js';
import {difference, largest, norm, order} from '../simulate/numbers.js';
import {mechanical} from './problems.js';

const span = 20;
const exactly = newton({tolerance: {absolute: 1e-15, relative: 1e-15}});

/** The state at the end of the span, with so many steps in a unit of time. */
function end(system: System, initial: Initial, scheme: Scheme, n: number): Float64Array {
  const path = simulate(system, initial, {scheme, dt: 1 / n, steps: n * span, saveAt: 'end', newton: exactly});
  path.dispose();
  const blocks = system.kind === 'ode' ? [path.values('y')] : [path.values('q'), path.values('v')];
  return Float64Array.from(blocks.flatMap(series => [...series.subarray(series.length / 2)]));
}

interface Closed {
  readonly title: string;
  readonly system: OdeSystem;
  readonly y0: readonly number[];
  readonly exact: (t: number) => readonly number[];
  /** Steps in a unit of time, with the principal term alone left in the error and ten times above the rounding. */
  readonly steps: number;
}

/** The eccentric anomaly E = t + e sin E, by Newton. */
function anomaly(t: number, e: number): number {
  let E = t;
  for (let k = 0; k < 30; k++) E -= (E - e * Math.sin(E) - t) / (1 - e * Math.cos(E));
  return E;
}

const eccentricity = 0.3;
const closed: readonly Closed[] = [
  {
    title: "Kepler's problem",
    system: ode(({y}) => {
      const [q, v] = tf.split(y, 2);
      return tf.concat([v, tf.neg(tf.div(q, tf.pow(tf.sum(tf.square(q)), 1.5)))]);
    }),
    y0: [1 - eccentricity, 0, 0, Math.sqrt((1 + eccentricity) / (1 - eccentricity))],
    exact: t => {
      const [E, b] = [anomaly(t, eccentricity), Math.sqrt(1 - eccentricity ** 2)];
      const r = 1 - eccentricity * Math.cos(E);
      return [Math.cos(E) - eccentricity, b * Math.sin(E), -Math.sin(E) / r, (b * Math.cos(E)) / r];
    },
    steps: 128,
  },
  {
    title: "y' = y cos t",
    system: ode(({y, t}) => tf.mul(y, tf.cos(t))),
    y0: [1],
    exact: t => [Math.exp(Math.sin(t))],
    steps: 64,
  },
];

// Times at all places of their steps, near the end of the span.
const places = Array.from({length: 23}, (_, i) => span - 1 + (i + 0.37) / 23);

describe('orders of explicit pairs', () => {
  /** Of order 8, with h = 1/64: 1e-15. */
  let references: readonly Float64Array[];
  before(() => {
    references = mechanical.map(({system, initial}) => end(system, initial, gaussLegendre({stages: 4}), 64));
  });

  for (const scheme of [dopri5(), tsit5()]) {
    for (const {title, system, y0, exact, steps: n} of closed) {
      it(`${scheme.name}, ode, ${title}: at the ends of steps and between them`, () => {
        const errors = [n / 2, n].map(count => norm(difference(end(system, {y: y0}, scheme, count), exact(span))));
        expect(order(errors[0], errors[1])).to.be.closeTo(5, 0.05);
        const between = [n / 2, n].map(count => {
          const path = simulate(system, {y: y0}, {scheme, dt: 1 / count, t1: span, saveAt: places});
          path.dispose();
          return largest(
            difference(
              path.values('y'),
              places.flatMap(t => [...exact(t)]),
            ),
          );
        });
        expect(order(between[0], between[1])).to.be.closeTo(5, 0.1);
      });
    }

    for (const [i, {title, system, initial}] of mechanical.entries()) {
      it(`${scheme.name}, mechanics, ${title}`, () => {
        const [first, second, third] = [32, 64, 128].map(n =>
          norm(difference(end(system, initial, scheme, n), references[i])),
        );
        expect(2 * order(second, third) - order(first, second)).to.be.closeTo(5, 0.08);
      });
    }
  }
});
