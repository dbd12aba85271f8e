/**
 * What one factorization refuses, or solves inaccurately, goes on to the next; and a mesh held by constraints need not: a
 * coordinate that is held has an equation x_j = 0, whose rounding is no inaccuracy.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem} from '../../lib/index.js';
import {auto, bilateral, equilibrium, lu, mechanics, newmark, newton, simulate} from '../../lib/index.js';
import {SpecialFactor} from '../../lib/linear/direct.js';
import {FallbackFactor} from '../../lib/linear/fallback.js';
import {densePattern, lu as denseLu} from '../../lib/linear/index.js';
import {throwInaccurate} from '../../lib/linear/refinement.js';
import {slow} from '../tiers.js';

/** A strip of springs along rows, columns and diagonals of a grid, its left edge held, unit masses that weigh 1. */
function strip(columns: number, rows: number): {system: MechanicalSystem; q: number[][]} {
  const q = Array.from({length: columns * rows}, (_, k) => [Math.floor(k / rows), k % rows]);
  const edges: [number, number][] = [];
  q.forEach(([i, j], k) => {
    if (i + 1 < columns) edges.push([k, k + rows]);
    if (j + 1 < rows) edges.push([k, k + 1]);
    if (i + 1 < columns && j + 1 < rows) edges.push([k, k + rows + 1], [k + 1, k + rows]);
  });
  const [a, b] = [0, 1].map(end => edges.map(edge => edge[end]));
  const lengths = edges.map(([one, other]) => Math.hypot(q[one][0] - q[other][0], q[one][1] - q[other][1]));
  const incidence = q.map((_, k) => edges.map(([one, other]) => (k === one ? -1 : k === other ? 1 : 0)));
  const system = mechanics({
    mass: 1,
    forces: ({q: at}) => {
      const d = tf.sub(tf.gather(at, a), tf.gather(at, b));
      const length = tf.sqrt(tf.sum(tf.square(d), 1));
      const tension = tf.div(tf.mul(1e4, tf.sub(length, lengths)), length);
      return tf.add(tf.matMul(tf.tensor2d(incidence), tf.mul(d, tf.expandDims(tension, 1))), tf.tensor1d([0, -1]));
    },
    constraints: [
      bilateral(({q: at}) =>
        tf.reshape(tf.sub(tf.slice(at, [0, 0], [rows, 2]), tf.tensor2d(q.slice(0, rows))), [2 * rows]),
      ),
    ],
  });
  return {system, q};
}

/** The stiffness of columns × rows square elements of plane stress (bilinear, 2 × 2 Gauss points; Bathe, §5.3), steel of 10 mm, in newtons and metres. */
function plate(columns: number, rows: number): {system: MechanicalSystem; q: number[][]} {
  const [young, poisson, thickness, density] = [210e9, 0.3, 0.01, 7800];
  const side = 1 / columns;
  const c = (young * thickness) / (1 - poisson * poisson);
  const law = [
    [c, c * poisson, 0],
    [c * poisson, c, 0],
    [0, 0, (c * (1 - poisson)) / 2],
  ];
  const corners = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ];
  const element = Array.from({length: 8}, () => new Array<number>(8).fill(0));
  for (const r of [-1, 1])
    for (const s of [-1, 1]) {
      const strain = [0, 1, 2].map(() => new Array<number>(8).fill(0));
      corners.forEach(([x, y], k) => {
        // Derivatives by x and y of the corner's shape function (1 + x r)(1 + y s)/4; the element is `side` wide, r and s go from −1 to 1.
        const [dx, dy] = [
          (x * (1 + (y * s) / Math.sqrt(3))) / (2 * side),
          (y * (1 + (x * r) / Math.sqrt(3))) / (2 * side),
        ];
        [strain[0][2 * k], strain[1][2 * k + 1], strain[2][2 * k], strain[2][2 * k + 1]] = [dx, dy, dy, dx];
      });
      for (let i = 0; i < 8; i++)
        for (let j = 0; j < 8; j++)
          for (let a = 0; a < 3; a++)
            for (let b = 0; b < 3; b++) element[i][j] += (strain[a][i] * law[a][b] * strain[b][j] * side * side) / 4;
    }
  const q = Array.from({length: (columns + 1) * (rows + 1)}, (_, k) => [
    Math.floor(k / (rows + 1)) * side,
    (k % (rows + 1)) * side,
  ]);
  const size = 2 * q.length;
  const stiffness = Array.from({length: size}, () => new Array<number>(size).fill(0));
  const mass = new Array<number>(q.length).fill(0);
  for (let i = 0; i < columns; i++)
    for (let j = 0; j < rows; j++) {
      const nodes = [
        i * (rows + 1) + j,
        (i + 1) * (rows + 1) + j,
        (i + 1) * (rows + 1) + j + 1,
        i * (rows + 1) + j + 1,
      ];
      const places = nodes.flatMap(node => [2 * node, 2 * node + 1]);
      places.forEach((row, a) => places.forEach((column, b) => (stiffness[row][column] += element[a][b])));
      for (const node of nodes) mass[node] += (density * thickness * side * side) / 4;
    }
  const rest = tf.tensor1d(q.flat());
  const system = mechanics({
    mass: mass.map(m => [m, m]),
    forces: ({q: at}) => {
      const moved = tf.sub(tf.reshape(at, [size]), rest);
      return tf.add(
        tf.reshape(tf.neg(tf.dot(tf.tensor2d(stiffness), moved)), [q.length, 2]),
        tf.tensor2d(mass.map(m => [0, -9.81 * m])),
      );
    },
    constraints: [
      bilateral(({q: at}) =>
        tf.reshape(tf.sub(tf.slice(at, [0, 0], [rows + 1, 2]), tf.tensor2d(q.slice(0, rows + 1))), [2 * (rows + 1)]),
      ),
    ],
  });
  return {system, q};
}

const close = (one: Float64Array, other: Float64Array, what: string): void => {
  expect(one.length, what).to.equal(other.length);
  // Two factorizations of matrices with a condition of some 1e6, both iterated to rounding.
  one.forEach((x, i) => expect(x, `${what}, ${i}`).to.be.closeTo(other[i], 1e-9 * Math.max(1, Math.abs(other[i]))));
};

describe('A mesh held by constraints', () => {
  for (const [what, columns, rows, mesh] of [
    ['springs', 10, 3, strip],
    ['springs', 24, 4, strip],
    ['elements', 4, 2, plate],
    ['elements', 12, 3, plate],
  ] as const) {
    slow(`rests and moves by auto() as by lu(): ${columns} × ${rows} ${what}`, () => {
      const {system, q} = mesh(columns, rows);
      const v = q.map(() => [0, 0]);
      const resting = [auto(), lu()].map(linear => equilibrium(system, {q}, {newton: newton({linear})}).values('q'));
      close(resting[0], resting[1], 'equilibrium');
      const moving = [auto(), lu()].map(linear => {
        const run = simulate(system, {q, v}, {scheme: newmark(), dt: 0.01, steps: 3, newton: newton({linear})});
        const values = run.values('q');
        run.dispose();
        return values;
      });
      close(moving[0], moving[1], 'newmark');
    });
  }
});

/** Takes every matrix and solves no right-hand side that begins with a negative number. */
class Choosy extends SpecialFactor {
  readonly kind = 'choosy';
  readonly size = 0;
  private readonly inner = denseLu().analyze(this.pattern).createFactor();

  override get isJudged(): boolean {
    return true;
  }

  tryRefactor(values: Float64Array): boolean {
    this.inner.refactor(values);
    this.usable = true;
    return true;
  }

  protected substitute(x: Float64Array, at: number): void {
    const refused = x[at] < 0;
    const part = x.subarray(at, at + this.n);
    this.inner.solve(part, part);
    if (refused) {
      part.fill(NaN);
      throwInaccurate('choosy', 1, 0);
    }
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }
}

describe('A factor that solves inaccurately', () => {
  const pattern = densePattern(2);
  const values = Float64Array.of(4, 1, 1, 3);
  const make = (): FallbackFactor =>
    new FallbackFactor(new Choosy(pattern), () => denseLu().analyze(pattern).createFactor());

  it('hands the matrix on, with the right-hand sides as they were, in place and transposed', () => {
    for (const way of ['solve', 'solveTransposed'] as const) {
      const factor = make();
      factor.refactor(values);
      const x = Float64Array.of(5, 4, -5, -4);
      factor[way](x, x, 2);
      expect(
        [...x].map(value => Math.round(value * 1e12) / 1e12),
        way,
      ).to.deep.equal([1, 1, -1, -1]);
      expect(factor.kind).to.equal('lu');
      factor.refactor(values);
      expect(factor.kind, 'the next matrix is tried anew').to.equal('choosy');
    }
  });

  it('leaves other errors alone', () => {
    expect(() => make().solve(new Float64Array(2), new Float64Array(2)))
      .to.throw()
      .with.property('code', 'not-factored');
  });
});
