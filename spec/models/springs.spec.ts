/** Springs, dampers and gravity: forces against their energies, conservation, and values in closed form. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {equilibrium, implicitMidpoint, mechanics, newton, simulate, SingularMatrixError} from '../../lib/index.js';
import type {ConservativeTerm, SpringLaw} from '../../models/index.js';
import {conservative, damper, gravity, mechanicalEnergy, rayleigh, spring} from '../../models/index.js';
import {dampers, springs} from '../../models/springs.js';
import {edgeLengths} from '../../models/edges.js';
import {standardGravity} from '../../models/gravity.js';
import {draw, largest, relative, stream} from '../simulate/numbers.js';
import {gradientOf, shaped, valueOf} from './evaluate.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** A rope: pulls, does not push. */
const rope: SpringLaw = {tension: e => tf.mul(7, tf.relu(e)), energy: e => tf.mul(3.5, tf.square(tf.relu(e)))};

const triangle = [
  [0, 1],
  [1, 2],
  [2, 0],
  [3, 0],
] as const;

describe('springs and dampers', () => {
  describe('forces are minus the gradient of their energy', () => {
    const next = stream(7);
    const space = {q: shaped(draw(next, 9), [3, 3]), v: shaped(draw(next, 9), [3, 3])};
    const line = {q: draw(next, 3), v: draw(next, 3)};
    const cases: {
      readonly [name: string]: [ConservativeTerm, {q: number[][] | Float64Array; v: number[][] | Float64Array}];
    } = {
      spring: [spring({stiffness: [1, 2, 3], rest: [0.1, 0.2, 0.3]}), line],
      'spring, hardening': [spring({stiffness: 3, cubic: [0.5, 2, -0.1]}), line],
      "spring, a law of one's own": [spring({law: rope, rest: [-2, 2, -2]}), line],
      'spring on particles, one stiffness an axis': [spring({stiffness: [1, 2, 3]}), space],
      'springs on a line': [
        springs({edges: triangle, stiffness: [1, 2, 3, 4], restLength: [0.1, 0.2, 0.3, 0.4], fixed: [0.7]}),
        line,
      ],
      'springs on a line, cubic, unstressed at zero': [
        springs({edges: triangle, stiffness: 2, cubic: 3, fixed: [0.7]}),
        line,
      ],
      'springs in space': [
        springs({edges: triangle, stiffness: [1, 2, 3, 4], restLength: 0.4, fixed: [[1, 2, 3]]}),
        space,
      ],
      'springs in space, cubic': [
        springs({
          edges: triangle,
          stiffness: 2,
          cubic: [0.1, 0.2, 0.3, 0.4],
          restLength: [0.1, 0.2, 0.3, 0.4],
          fixed: [[1, 2, 3]],
        }),
        space,
      ],
      'springs in space, rest length 0': [
        springs({edges: triangle, stiffness: 2, cubic: 0.5, fixed: [[1, 2, 3]]}),
        space,
      ],
      'springs in space, ropes': [springs({edges: triangle, law: rope, restLength: 0.9, fixed: [[1, 2, 3]]}), space],
      'springs in space, ropes of rest length 0': [springs({edges: triangle, law: rope, fixed: [[1, 2, 3]]}), space],
      'gravity, scalar mass': [gravity({mass: 2, direction: [0, 0, -1]}), space],
      'gravity, lumped mass': [
        gravity({
          mass: shaped(
            draw(next, 9).map(x => x + 2),
            [3, 3],
          ),
          direction: [0.6, 0, -0.8],
        }),
        space,
      ],
      'gravity, consistent mass': [
        gravity({
          mass: [
            [2, 1, 0],
            [1, 2, 1],
            [0, 1, 2],
          ],
          direction: 1,
        }),
        line,
      ],
    };
    for (const [name, [term, state]] of Object.entries(cases)) {
      it(name, () => {
        // Both are a few dozen roundings of the same sums.
        expect(
          relative(
            valueOf(term, state),
            gradientOf(term.energy, state).map(x => -x),
          ),
        ).to.be.below(1e-14);
      });
    }
  });

  describe('values', () => {
    const at = (q: number[] | number[][], v = q): {q: number[] | number[][]; v: number[] | number[][]} => ({q, v});

    it('a cubic spring of stiffness k and ratio c pulls k(e + c e³)', () => {
      expect([...valueOf(spring({stiffness: 10, cubic: 0.5, rest: 1}), at([3, 0]))]).to.deep.equal([
        -10 * (2 + 0.5 * 8),
        10 * (1 + 0.5),
      ]);
    });

    it('decimals keep double precision', () => {
      expect(valueOf(spring({stiffness: 0.1}), at([1]))[0]).to.equal(-0.1);
      expect(valueOf(spring({stiffness: Float64Array.of(0.1)}), at([1]))[0]).to.equal(-0.1);
      expect(valueOf(gravity({mass: 1, direction: 1}), at([0]))[0]).to.equal(standardGravity);
    });

    it('a spring between particles pulls along itself: the triangle 3, 4, 5', () => {
      const term = springs({edges: [[0, 1]], stiffness: 10, restLength: 4});
      // Elongation 5 − 4 = 1, tension 10, direction (0.6, 0.8).
      expect([
        ...valueOf(
          term,
          at([
            [0, 0],
            [3, 4],
          ]),
        ),
      ]).to.deep.equal([6, 8, -6, -8]);
      expect(
        valueOf(
          at => term.energy(at),
          at([
            [0, 0],
            [3, 4],
          ]),
        )[0],
      ).to.equal(5);
    });

    it('on a line a spring keeps its sign when particles pass one another', () => {
      const term = springs({edges: [[0, 1]], stiffness: 10, restLength: 1});
      expect([...valueOf(term, at([2, 0]))]).to.deep.equal([-30, 30]);
    });

    it('a linear spring of rest length 0 is smooth where its ends meet', () => {
      const system = mechanics({mass: 1, forces: springs({edges: [[0, 1]], stiffness: 4, cubic: 1})});
      const trajectory = simulate(
        system,
        {
          q: [
            [0, 0],
            [0, 0],
          ],
          v: [
            [1, 0],
            [-1, 0],
          ],
        },
        {dt: 0.1, steps: 3},
      );
      expect(trajectory.status).to.equal('completed');
      trajectory.dispose();
    });

    it('fixed points are numbered after the particles, and rest', () => {
      const fixed = [[0, 0, 2]];
      const edges = [[0, 1]] as const;
      const state = {q: [[0, 0, 1]], v: [[5, 0, 3]]};
      expect([...valueOf(springs({edges, stiffness: 2, restLength: 0.5, fixed}), state)]).to.deep.equal([0, 0, 1]);
      // Adding 0 turns −0 into 0, which chai tells apart.
      expect([...valueOf(dampers({edges, coefficient: 2, fixed}), state)].map(x => x + 0)).to.deep.equal([0, 0, -6]);
    });

    it('a damper along an edge resists the rate of its length only', () => {
      const term = dampers({edges: [[0, 1]], coefficient: 2});
      const q = [
        [0, 0],
        [3, 4],
      ];
      // Relative velocity 10 along (0.6, 0.8): rate 10, force 20.
      expect(
        [
          ...valueOf(term, {
            q,
            v: [
              [0, 0],
              [6, 8],
            ],
          }),
        ].map(x => Math.round(x * 1e12) / 1e12),
      ).to.deep.equal([12, 16, -12, -16]);
      // A rotation about the first end does not change the length.
      expect(
        largest(
          valueOf(term, {
            q,
            v: [
              [0, 0],
              [-4, 3],
            ],
          }),
        ),
      ).to.equal(0);
      expect([...valueOf(dampers({edges: [[0, 1]], coefficient: 2}), {q: [0, 1], v: [1, 4]})]).to.deep.equal([6, -6]);
    });

    it('a damper of coordinates is −c v, one c or one a coordinate', () => {
      expect([...valueOf(damper({coefficient: 2}), at([1, 2]))]).to.deep.equal([-2, -4]);
      expect([...valueOf(damper({coefficient: [1, 3]}), at([1, 2]))]).to.deep.equal([-1, -6]);
    });

    it('a function is a coefficient of params, a variable is captured', () => {
      const k = tf.variable(tf.scalar(3));
      const term = spring({stiffness: k, rest: params => params.rest as tf.Tensor});
      expect(valueOf(term, {...at([2]), params: {rest: 0.1}})[0]).to.equal(-3 * (2 - 0.1));
      k.dispose();
    });

    it('edgeLengths measures springs that are unstressed in a place', () => {
      expect([
        ...edgeLengths(
          [
            [0, 0],
            [3, 4],
            [3, 0],
          ],
          [
            [0, 1],
            [1, 2],
            [2, 0],
          ],
        ),
      ]).to.deep.equal([5, 4, 3]);
    });

    it('terms are ordinary functions: outside a trace they are evaluated at once', () => {
      const found = tf.tidy(() => {
        const q = tf.tensor2d([
          [0, 0],
          [3, 4],
        ]);
        return springs({edges: [[0, 1]], stiffness: 10, restLength: 4})({
          q,
          v: q,
          t: tf.scalar(0),
          params: {},
        }).arraySync();
      });
      expect(found).to.deep.equal([
        [6, 8],
        [-6, -8],
      ]);
    });
  });

  describe('Rayleigh damping', () => {
    it('of a linear spring is −(αm + βk)v', () => {
      const term = rayleigh({mass: 2, elastic: [spring({stiffness: [3, 5]})], alpha: 0.1, beta: 0.01});
      const expected = [-(0.1 * 2 + 0.01 * 3) * 7, -(0.1 * 2 + 0.01 * 5) * 11];
      expect(relative(valueOf(term, {q: [0.3, 0.4], v: [7, 11]}), expected)).to.be.below(1e-15);
    });

    it('takes the stiffness of the place: the cubic spring k(1 + 3c e²)', () => {
      const term = rayleigh({mass: 1, elastic: [spring({stiffness: 4, cubic: 0.5})], beta: 0.1});
      expect(valueOf(term, {q: [2], v: [3]})[0]).to.be.closeTo(-0.1 * 4 * (1 + 3 * 0.5 * 4) * 3, 1e-13);
    });

    it('is the difference of forces along the velocity: a net of springs and gravity', () => {
      const elastic = [
        springs({edges: triangle, stiffness: 2, cubic: 0.3, restLength: 0.4, fixed: [[1, 2, 3]]}),
        gravity({mass: 1, direction: [0, 0, -1]}),
      ];
      const next = stream(3);
      const [q, v] = [draw(next, 9), draw(next, 9)];
      const force = (s: number): Float64Array => {
        const moved = shaped(
          q.map((x, i) => x + s * v[i]),
          [3, 3],
        );
        return valueOf(elastic[0], {q: moved, v: moved});
      };
      // Fourth-order central difference: h⁴ = 1e-12 of a force of order 1, roundoff 1e-16/h.
      const h = 1e-3;
      const [a, b, c, d] = [force(h), force(-h), force(2 * h), force(-2 * h)];
      const expected = a.map((_, i) => (0.1 * (8 * (a[i] - b[i]) - (c[i] - d[i]))) / (12 * h));
      expect(
        relative(
          valueOf(rayleigh({mass: 1, elastic, beta: 0.1}), {q: shaped(q, [3, 3]), v: shaped(v, [3, 3])}),
          expected,
        ),
      ).to.be.below(1e-9);
    });

    it('damps a mode of frequency ω by ζ = (α/ω + βω)/2', () => {
      const [omega, alpha, beta] = [3, 0.06, 0.02];
      const elastic = [spring({stiffness: omega ** 2})];
      const system = mechanics({mass: 1, forces: [...elastic, rayleigh({mass: 1, elastic, alpha, beta})]});
      const zeta = (alpha / omega + beta * omega) / 2;
      const damped = omega * Math.sqrt(1 - zeta ** 2);
      const t1 = (2 * Math.PI) / damped;
      const trajectory = simulate(system, {q: [1], v: [-zeta * omega]}, {dt: t1 / 1000, t1, saveAt: 'end'});
      // Phase error (ωh)²/12 · 2π = 2e-5 acts on v alone, which is not looked at; the decay's is as small.
      expect(trajectory.values('q')[1]).to.be.closeTo(Math.exp(-zeta * omega * t1), 1e-5);
      trajectory.dispose();
    });
  });

  describe('conservation', () => {
    const edges = [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 0],
      [0, 2],
    ] as const;
    const masses = [
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 3],
      [4, 4, 4],
    ];
    const next = stream(11);
    const start = {q: shaped(draw(next, 12), [4, 3]), v: shaped(draw(next, 12), [4, 3])};

    /** Linear and angular momentum of the last state saved. */
    const momenta = (q: Float64Array, v: Float64Array): number[] => {
      const sum = [0, 0, 0, 0, 0, 0];
      for (let i = 0; i < 4; i++) {
        const [x, y, z] = q.subarray(q.length - 12 + 3 * i);
        const [a, b, c] = v.subarray(v.length - 12 + 3 * i);
        [a, b, c, y * c - z * b, z * a - x * c, x * b - y * a].forEach((p, axis) => (sum[axis] += masses[i][0] * p));
      }
      return sum;
    };

    slow('between particles, no springs and dampers whatever exert a net force or a net torque', () => {
      const coordinate = fc.double({min: -10, max: 10, noNaN: true});
      const state = fc
        .integer({min: 2, max: 6})
        .chain(n =>
          fc.record({
            q: fc.array(fc.tuple(coordinate, coordinate, coordinate), {minLength: n, maxLength: n}),
            v: fc.array(fc.tuple(coordinate, coordinate, coordinate), {minLength: n, maxLength: n}),
            edges: fc.array(
              fc.tuple(fc.integer({min: 0, max: n - 1}), fc.integer({min: 0, max: n - 1})).filter(([i, j]) => i !== j),
              {minLength: 1, maxLength: 10},
            ),
          }),
        )
        .filter(({q, edges}) => edges.every(([i, j]) => Math.hypot(...q[i].map((x, axis) => x - q[j][axis])) > 1e-2));
      fc.assert(
        fc.property(state, ({q, v, edges}) => {
          const terms = [
            springs({edges, stiffness: 3, cubic: 0.1, restLength: 1.5}),
            dampers({edges, coefficient: 0.7}),
          ];
          for (const term of terms) {
            const f = valueOf(term, {q, v});
            const sum = [0, 0, 0, 0, 0, 0];
            q.forEach(([x, y, z], i) => {
              const [a, b, c] = f.subarray(3 * i, 3 * i + 3);
              [a, b, c, y * c - z * b, z * a - x * c, x * b - y * a].forEach((p, axis) => (sum[axis] += p));
            });
            // Forces reach 3 · 30³/10, arms 17; sums of a few dozen such terms are rounded at 1e-16.
            expect(largest(sum)).to.be.below(1e-9 * Math.max(1, largest(f)));
          }
        }),
        runs(15),
      );
    });

    it('a free net keeps linear and angular momentum under implicit midpoint, dampers or not', () => {
      const system = mechanics({
        mass: masses,
        forces: [springs({edges, stiffness: 50, restLength: 1}), dampers({edges, coefficient: 0.5})],
      });
      const trajectory = simulate(system, start, {
        scheme: implicitMidpoint(),
        dt: 0.05,
        steps: 100,
        newton: newton({tolerance: {absolute: 1e-14, relative: 1e-14}}),
      });
      const [q, v] = [trajectory.values('q'), trajectory.values('v')];
      // Quadratic invariants of Newton's equations are kept exactly (Hairer, Lubich & Wanner, IV.2.1): what
      // is left are 100 residuals and roundings of 1e-14 · dt · 50.
      momenta(q, v).forEach((p, i) =>
        expect(p, `momentum ${i}`).to.be.closeTo(momenta(q.subarray(0, 12), v.subarray(0, 12))[i], 1e-11),
      );
      trajectory.dispose();
    });

    it('without dampers the energy error of midpoint is of second order; with them energy falls', () => {
      const elastic = springs({edges, stiffness: 50, cubic: 0.5, restLength: 1});
      const free = mechanics({mass: masses, forces: elastic});
      const energies = (system: typeof free, dt: number): Float64Array => {
        const trajectory = simulate(system, start, {
          scheme: implicitMidpoint(),
          dt,
          t1: 1,
          observe: mechanicalEnergy(system),
        });
        trajectory.dispose();
        return trajectory.values('observed');
      };
      const error = (dt: number): number => largest(energies(free, dt).map((e, _, all) => e - all[0]));
      expect(Math.log2(error(0.01) / error(0.005))).to.be.closeTo(2, 0.05);
      const damped = energies(mechanics({mass: masses, forces: [elastic, dampers({edges, coefficient: 1})]}), 0.01);
      damped.slice(1).forEach((e, i) => expect(e).to.be.below(damped[i]));
    });

    it('mechanicalEnergy adds kinetic energy for every kind of mass to the potentials', () => {
      const [q, v] = [
        [1, 2],
        [3, 4],
      ];
      const kinetic = (mass: Parameters<typeof mechanics>[0]['mass']): number =>
        valueOf(mechanicalEnergy(mechanics({mass, forces: []})), {q, v})[0];
      expect(kinetic(2)).to.equal(25);
      expect(kinetic([1, 3])).to.equal(4.5 + 24);
      expect(
        kinetic([
          [2, 1],
          [1, 2],
        ]),
      ).to.equal(25 + 12);
      expect(kinetic(({q}) => q)).to.equal(4.5 + 16);
      const term = conservative(
        ({q}) => tf.neg(q),
        ({q}) => tf.mul(0.5, tf.sum(tf.square(q))),
      );
      expect(
        valueOf(mechanicalEnergy(mechanics({mass: 2, forces: [term, damper({coefficient: 1})]})), {q, v})[0],
      ).to.equal(25 + 2.5);
    });
  });

  it('an unstressed net that is straight has no stiffness across itself: said by equilibrium', () => {
    const system = mechanics({
      mass: 1,
      forces: [
        springs({
          edges: [
            [0, 1],
            [0, 2],
          ],
          stiffness: 1,
          restLength: 1,
          fixed: [
            [-1, 0],
            [1, 0],
          ],
        }),
        gravity({mass: 1, direction: [0, -1]}),
      ],
    });
    expect(() => equilibrium(system, {q: [[0, 0]]})).to.throw(SingularMatrixError);
  });
});
