/**
 * Tables printed in textbooks, as printed: K.-J. Bathe, Finite Element Procedures, examples 9.1–9.4, and
 * A. K. Chopra, Dynamics of Structures, examples 5.2–5.4; and one step of the trapezoidal rule by hand.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {implicitMidpoint, mechanics, newmark, simulate, theta, trapezoid, verlet} from '../../lib/index.js';
import type {EngineCase} from '../simulate/engines.js';
import {engines} from '../simulate/engines.js';

const numbers = (text: string): number[] => text.split(' ').map(Number);

/** Each number within one unit of its last printed digit: the books rounded as they calculated. */
function asPrinted(found: readonly number[], table: string): void {
  const printed = table.split(' ');
  expect(found.length).to.equal(printed.length);
  printed.forEach((text, i) => {
    const unit = 10 ** -(text.split('.')[1]?.length ?? 0);
    expect(found[i], `step ${i + 1}`).to.be.closeTo(Number(text), unit);
  });
}

/** Numbers recomputed to five decimals; float32 has seven digits, of which a few steps of the recursion take one. */
function recomputed(found: readonly number[], table: readonly number[], double: boolean): void {
  expect(found.length).to.equal(table.length);
  table.forEach((value, i) => expect(found[i], `step ${i + 1}`).to.be.closeTo(value, double ? 0.5001e-5 : 5e-5));
}

/** The values of one coordinate of a saved series [saved, n], the start left out. */
const column = (series: Float64Array, n: number, i: number): number[] =>
  Array.from(series).filter((_, k) => k >= n && k % n === i);

describe('Bathe: M = diag(2, 1), K = [[6, −2], [−2, 4]], R = (0, 10), 12 steps of 0.28 from rest', () => {
  const system = mechanics({
    mass: [2, 1],
    forces: [
      ({q}) =>
        tf.neg(
          tf.reshape(
            tf.matMul(
              tf.tensor2d([
                [6, -2],
                [-2, 4],
              ]),
              tf.reshape(q, [2, 1]),
            ),
            [2],
          ),
        ),
      () => tf.tensor1d([0, 10]),
    ],
  });
  const coordinates = (scheme: Scheme, engine: EngineCase['name']): number[][] => {
    const path = simulate(system, {q: [0, 0], v: [0, 0]}, {scheme, dt: 0.28, steps: 12, engine});
    path.dispose();
    return [0, 1].map(i => column(path.values('q'), 2, i));
  };

  for (const {name: engine, double} of engines) {
    it(`Newmark's average acceleration, as printed (${engine})`, () => {
      // Example 9.4; three significant digits.
      const [first, second] = coordinates(newmark(), engine);
      asPrinted(first, '0.00673 0.0505 0.189 0.485 0.961 1.58 2.23 2.76 3.00 2.85 2.28 1.40');
      asPrinted(second, '0.364 1.35 2.68 4.00 4.95 5.34 5.13 4.48 3.64 2.90 2.44 2.31');
    });

    for (const [title, scheme] of [
      ['Verlet', verlet()],
      ['Newmark (0, ½)', newmark({beta: 0})],
    ] as const) {
      it(`the central difference method: ${title} (${engine})`, () => {
        // Example 9.1 prints 1.02 and 2.60 in its last row; the rest was recomputed to five decimals.
        const table = [
          numbers('0 0.03073 0.16753 0.48709 1.01699 1.70088 2.39687 2.91335 3.07135 2.77106 2.03682 1.0223'),
          numbers('0.392 1.44507 2.83378 4.14409 5.01519 5.25699 4.90089 4.16771 3.36834 2.77825 2.53541 2.60083'),
        ];
        const found = coordinates(scheme, engine);
        expect(found.map(row => row[11].toFixed(2))).to.deep.equal(['1.02', '2.60']);
        found.forEach((row, i) => recomputed(row, table[i], double));
      });
    }
  }
});

describe('Chopra: m = 0.2533, k = 10, ζ = 0.05, a half sine of 10 over 0.6, 10 steps of 0.1', () => {
  // c = 2ζ√(km)
  const damping = 2 * 0.05 * Math.sqrt(10 * 0.2533);
  const system = mechanics({
    mass: 0.2533,
    forces: ({q, v, t}) =>
      tf.addN([
        tf.mul(q, -10),
        tf.mul(v, -damping),
        tf.where(tf.lessEqual(t, 0.6 + 1e-9), tf.mul(10, tf.sin(tf.mul(t, Math.PI / 0.6))), tf.zerosLike(t)),
      ]),
  });
  const series = (scheme: Scheme, name: 'q' | 'v' | 'a', steps: number, engine: EngineCase['name']): number[] => {
    const path = simulate(system, {q: 0, v: 0}, {scheme, dt: 0.1, steps, engine});
    path.dispose();
    return Array.from(path.values(name)).slice(1);
  };
  /** Velocities and accelerations divide the rounding of u by h and h²: 1e-4/0.1 and 1e-4/0.01. */
  const near = (found: readonly number[], printed: readonly number[], tolerance: number): void => {
    printed.forEach((value, i) => expect(found[i], `step ${i + 1}`).to.be.closeTo(value, tolerance));
  };

  for (const {name: engine, double} of engines) {
    it(`example 5.3, average acceleration (${engine})`, () => {
      const scheme = newmark();
      asPrinted(
        series(scheme, 'q', 10, engine),
        '0.0437 0.2326 0.6121 1.0825 1.4309 1.4231 0.9622 0.1908 -0.6044 -1.1442',
      );
      const v = series(scheme, 'v', 10, engine);
      // Printed 4.4260 at step 4 in one copy of the table: the digits of 4.7260 confused.
      near(v, numbers('0.8733 2.9057 4.6833 4.7261 2.2421 -2.3996 -6.8192 -8.6092 -7.2932 -3.5026'), 1e-3);
      recomputed(
        v,
        numbers('0.87334 2.9057 4.68334 4.72609 2.24213 -2.39965 -6.81841 -8.60958 -7.29354 -3.50277'),
        double,
      );
      near(
        series(scheme, 'a', 10, engine),
        numbers('17.4666 23.1801 12.3719 -11.5175 -38.1611 -54.6722 -33.6997 -2.1211 28.4423 47.3701'),
        1e-2,
      );
    });

    it(`example 5.4, linear acceleration (${engine})`, () => {
      const scheme = newmark({beta: 1 / 6});
      asPrinted(
        series(scheme, 'q', 10, engine),
        '0.0300 0.2193 0.6166 1.1130 1.4782 1.4625 0.9514 0.1273 -0.6954 -1.2208',
      );
      const v = series(scheme, 'v', 10, engine);
      // Printed 2.1802 at step 5 in one copy of the table: two digits swapped.
      near(v, numbers('0.8995 2.9819 4.7716 4.7419 2.1083 -2.6911 -7.1468 -8.7758 -7.1539 -3.0508'), 1e-3);
      recomputed(
        v,
        numbers('0.89953 2.9819 4.77164 4.742 2.10832 -2.69117 -7.14703 -8.77615 -7.15423 -3.05103'),
        double,
      );
      near(
        series(scheme, 'a', 10, engine),
        numbers('17.9904 23.6566 12.1372 -12.7305 -39.9425 -56.0447 -33.0689 0.4892 31.9491 50.1114'),
        1e-2,
      );
    });

    it(`example 5.2, central differences: Newmark (0, ½) (${engine})`, () => {
      // The row printed at step i is u at i + 1.
      const u = series(newmark({beta: 0}), 'q', 11, engine);
      asPrinted(u.slice(1), '0.1914 0.6293 1.1825 1.5808 1.5412 0.9141 -0.0247 -0.8968 -1.3726 -1.2940');
    });
  }
});

describe('one step of the trapezoidal rule: M = 1, K = 10, h = 0.1, q = 1, v = 0', () => {
  const system = mechanics({mass: 1, forces: ({q}) => tf.mul(q, -10)});
  for (const {name: engine, double} of engines) {
    for (const scheme of [trapezoid(), theta(0.5), newmark(), trapezoid({form: 'coupled'}), implicitMidpoint()]) {
      it(`${scheme.name} (${engine})`, () => {
        const path = simulate(system, {q: 1, v: 0}, {scheme, dt: 0.1, steps: 1, engine});
        path.dispose();
        // q = (1 − 0.025)/(1 + 0.025), v = −1/(1 + 0.025); the source note's misprinted sign gave q = 1.0513.
        const rounding = double ? 1e-13 : 1e-7;
        expect(path.values('q')[1]).to.be.closeTo(0.9512195121951, rounding);
        expect(path.values('v')[1]).to.be.closeTo(-0.9756097560976, rounding);
      });
    }
  }
});
