/**
 * Two index-3 problems of the Test Set for Initial Value Problem Solvers (Mazzia & Magherini 2008): Andrews' squeezing
 * mechanism, whose λ is 1e6 times its coordinates and whose published run begins with tiny steps, and the Fekete
 * problem, points on a sphere that repel one another.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  bilateral,
  generalizedAlpha,
  gaussLegendre,
  kvaerno5,
  mechanics,
  radauIIA5,
  simulate,
} from '../../lib/index.js';

/** β, Θ, γ, Φ, δ, Ω, ε at t = 0.03 s: the Test Set's reference solution. */
const andrewsAt003 = [
  15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
  0.5347301163226948, 1.048080741042263,
];
const andrewsStart = [
  -0.0617138900142764496, 0, 0.45527981916307038, 0.222668390165885885, 0.48736497954384255, -0.222668390165885885,
  1.23054744454982119,
];

function andrews(): ReturnType<typeof mechanics> {
  const [m1, m2, m3, m4, m5, m6, m7] = [0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498];
  const [i1, i2, i3, i4, i5, i6, i7] = [2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5];
  const [xa, ya, xb, yb, xc, yc] = [-0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072];
  const [d, da, e, ea, rr, ra, l0, ss, sa, sb, sc, sd] = [
    0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.07785, 0.035, 0.01874, 0.01043, 0.018, 0.02,
  ];
  const [ta, tb, u, ua, ub, zf, zt, fa, c0, drive] = [
    0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421, 4530, 0.033,
  ];
  const cut = (x: tf.Tensor): tf.Tensor[] => tf.unstack(x);
  const times = (x: tf.Tensor, c: number): tf.Tensor => tf.mul(x, c);
  const sum = (...terms: (tf.Tensor | number)[]): tf.Tensor =>
    terms.slice(1).reduce<tf.Tensor>((a, b) => tf.add(a, b), tf.add(terms[0], 0));
  return mechanics({
    mass: ({q}) => {
      const [, th, , ph, , om] = cut(q);
      const [cosTh, sinPh, sinOm] = [tf.cos(th), tf.sin(ph), tf.sin(om)];
      const at: {readonly [place: string]: tf.Tensor | number} = {
        '0,0': sum(times(cosTh, -2 * da * rr * m2), m1 * ra ** 2 + m2 * (rr ** 2 + da ** 2) + i1 + i2),
        '0,1': sum(times(cosTh, -da * rr * m2), m2 * da ** 2 + i2),
        '1,1': m2 * da ** 2 + i2,
        '2,2': m3 * (sa ** 2 + sb ** 2) + i3,
        '3,3': m4 * (e - ea) ** 2 + i4,
        '3,4': sum(times(sinPh, m4 * zt * (e - ea)), m4 * (e - ea) ** 2 + i4),
        '4,4': sum(
          times(sinPh, 2 * m4 * zt * (e - ea)),
          m4 * (zt ** 2 + (e - ea) ** 2) + m5 * (ta ** 2 + tb ** 2) + i4 + i5,
        ),
        '5,5': m6 * (zf - fa) ** 2 + i6,
        '5,6': sum(times(sinOm, -m6 * u * (zf - fa)), m6 * (zf - fa) ** 2 + i6),
        '6,6': sum(
          times(sinOm, -2 * m6 * u * (zf - fa)),
          m6 * ((zf - fa) ** 2 + u ** 2) + m7 * (ua ** 2 + ub ** 2) + i6 + i7,
        ),
      };
      const rows = Array.from({length: 7}, (_, i) =>
        tf.stack(
          Array.from({length: 7}, (__, j) => tf.add(at[`${Math.min(i, j)},${Math.max(i, j)}`] ?? 0, tf.zerosLike(th))),
        ),
      );
      return tf.stack(rows);
    },
    forces: ({q, v}) => {
      const [, th, ga, ph, , om] = cut(q);
      const [beP, thP, , phP, deP, omP, epP] = cut(v);
      const [sinGa, cosGa, sinTh, cosPh, cosOm] = [tf.sin(ga), tf.cos(ga), tf.sin(th), tf.cos(ph), tf.cos(om)];
      const x = sum(times(cosGa, sd), times(sinGa, sc), xb - xc);
      const y = sum(times(sinGa, sd), times(cosGa, -sc), yb - yc);
      const length = tf.sqrt(tf.add(tf.square(x), tf.square(y)));
      const pull = times(tf.div(tf.sub(length, l0), length), -c0);
      const twice = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.mul(a, tf.add(a, times(b, 2)));
      return tf.stack([
        tf.sub(drive, times(tf.mul(twice(thP, beP), sinTh), m2 * da * rr)),
        times(tf.mul(tf.square(beP), sinTh), m2 * da * rr),
        tf.mul(
          pull,
          tf.add(
            tf.mul(x, tf.sub(times(cosGa, sc), times(sinGa, sd))),
            tf.mul(y, tf.add(times(cosGa, sd), times(sinGa, sc))),
          ),
        ),
        times(tf.mul(tf.square(deP), cosPh), m4 * zt * (e - ea)),
        times(tf.mul(twice(phP, deP), cosPh), -m4 * zt * (e - ea)),
        times(tf.mul(tf.square(epP), cosOm), -m6 * u * (zf - fa)),
        times(tf.mul(twice(omP, epP), cosOm), m6 * u * (zf - fa)),
      ]);
    },
    constraints: [
      bilateral(({q}) => {
        const [be, th, ga, ph, de, om, ep] = cut(q);
        const [bt, pd, oe] = [tf.add(be, th), tf.add(ph, de), tf.add(om, ep)];
        const x = tf.sub(times(tf.cos(be), rr), times(tf.cos(bt), d));
        const y = tf.sub(times(tf.sin(be), rr), times(tf.sin(bt), d));
        return tf.stack([
          sum(x, times(tf.sin(ga), -ss), -xb),
          sum(y, times(tf.cos(ga), ss), -yb),
          sum(x, times(tf.sin(pd), -e), times(tf.cos(de), -zt), -xa),
          sum(y, times(tf.cos(pd), e), times(tf.sin(de), -zt), -ya),
          sum(x, times(tf.cos(oe), -zf), times(tf.sin(ep), -u), -xa),
          sum(y, times(tf.sin(oe), -zf), times(tf.cos(ep), u), -ya),
        ]);
      }),
    ],
  });
}

/** Points [n, 3] that repel one another as charges do, in a resisting medium, spread evenly by Rakhmanov's spiral. */
function fekete(n: number): {system: ReturnType<typeof mechanics>; q: number[][]} {
  const system = mechanics({
    mass: 1,
    forces: ({q, v}) => {
      const apart = tf.sub(tf.expandDims(q, 1), tf.expandDims(q, 0));
      const squared = tf.add(tf.sum(tf.square(apart), 2, true), tf.reshape(tf.eye(n), [n, n, 1]));
      return tf.sub(tf.sum(tf.div(apart, squared), 1), tf.mul(v, 0.5));
    },
    constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q), 1), 1))],
  });
  const q = Array.from({length: n}, (_, i) => {
    const [z, angle] = [1 - (2 * i + 1) / n, 2.4 * i];
    const r = Math.sqrt(1 - z * z);
    return [r * Math.cos(angle), r * Math.sin(angle), z];
  });
  return {system, q};
}

describe('index-3 problems of the Test Set', () => {
  for (const scheme of [radauIIA5(), kvaerno5()]) {
    it(`Andrews' squeezing mechanism, ${scheme.name}: the reference at t = 0.03, from a first step of 1e-8 or less`, function () {
      this.timeout(60000);
      for (const first of [1e-8, 1e-10]) {
        const path = simulate(
          andrews(),
          {q: andrewsStart, v: new Array(7).fill(0)},
          {scheme, dt: 1e-5, t1: 0.03, saveAt: 'end', control: adaptive({rtol: 1e-7, atol: {q: 1e-8, v: 1e-4}, first})},
        );
        path.dispose();
        const q = path.values('q').subarray(7);
        // Angles up to 16 rad; the motion multiplies errors of single steps by about a thousand.
        andrewsAt003.forEach((angle, i) =>
          expect(q[i], `angle ${i}, first step ${first}`).to.be.closeTo(angle, 1e-4 * Math.max(1, Math.abs(angle))),
        );
      }
    });
  }

  for (const scheme of [radauIIA5(), gaussLegendre({stages: 2}), kvaerno5(), generalizedAlpha()]) {
    it(`Fekete's points, ${scheme.name}: steps of 1e-6 and 1e-8 stay on the sphere, with λ of rest`, () => {
      const {system, q} = fekete(6);
      for (const dt of [1e-6, 1e-8]) {
        const path = simulate(system, {q, v: q.map(() => [0, 0, 0])}, {scheme, dt, steps: 20});
        path.dispose();
        expect(path.status).to.equal('completed');
        const [end, lambda] = [path.values('q').subarray(20 * 18), path.values('lambda').subarray(20 * 6)];
        for (let i = 0; i < 6; i++) {
          const p = [...end.subarray(3 * i, 3 * i + 3)];
          expect(Math.hypot(...p)).to.be.closeTo(1, 1e-14);
          // M a = f + 2λp with p·a = −|v|²: λ = −f·p/2, and f·p = Σ (1 − p·pⱼ)/|p − pⱼ|² = ½(n − 1) on the unit sphere.
          // What rounding of the positions leaves of λ in a step of h is of the size of eps/h² (Arnold & Brüls 2007, §5).
          expect(lambda[i], `λ ${i}, dt ${dt}`).to.be.closeTo(-5 / 4, 1e-6 + (100 * Number.EPSILON) / dt ** 2);
        }
      }
    });
  }
});
