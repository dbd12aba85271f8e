/** Newton's matrix of projected element blocks: what it is, where it leads, and that gradients do not see it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ElementsSpec, LinearSolver, StiffgradError} from '../../lib/index.js';
import {
  auto,
  backtracking,
  cg,
  cholesky,
  elements,
  equilibrium,
  full,
  implicitEuler,
  mechanics,
  newton,
  NewtonError,
  simulate,
  trapezoid,
  unrolledAdjoint,
} from '../../lib/index.js';
import type {Node} from '../../lib/graph/node.js';
import {restScheme} from '../../lib/simulate/rest-scheme.js';
import {jacobianProgram} from '../../lib/step/jacobian-program.js';
import {traceRun} from '../../lib/step/trace-step.js';
import {readParams} from '../../lib/system/params.js';
import {evaluate} from '../graph/evaluate.js';
import {slow} from '../tiers.js';

type Hessian = NonNullable<ElementsSpec['hessian']>;

/** ½ k (l − L)² from a fixed anchor to one node. */
const anchored: ElementsSpec['energy'] = ({x, data, params}) => {
  const length = tf.sqrt(tf.sum(tf.square(tf.sub(x, data.anchor))));
  return tf.mul(0.5, tf.mul(params.k as tf.Tensor, tf.square(tf.sub(length, params.rest as tf.Tensor))));
};

/** The shallow truss of von Mises: a node on two compressed bars from (±1, 0), straight and about to buckle. */
const truss = (hessian: Hessian) =>
  mechanics({
    mass: 1,
    forces: elements({
      nodes: [[0], [0]],
      energy: anchored,
      data: {
        anchor: [
          [-1, 0],
          [1, 0],
        ],
      },
      hessian,
    }),
  });
const params = {k: 100, rest: 1.25};

/** A square net of springs, pushed together at its edge; diagonals keep it from shearing. */
function pushedNet(m: number, share: number, hessian: Hessian): {system: ReturnType<typeof mechanics>; q: number[][]} {
  const places = Array.from({length: m * m}, (_, a): [number, number] => [a % m, Math.floor(a / m)]);
  const nodes = places.flatMap(([x, y], a) =>
    [
      [1, 0],
      [0, 1],
      [1, 1],
      [-1, 1],
    ].flatMap(([dx, dy]) => (x + dx >= 0 && x + dx < m && y + dy < m ? [[a, a + dx + m * dy]] : [])),
  );
  const rest = nodes.map(([a, b]) => Math.hypot(places[a][0] - places[b][0], places[a][1] - places[b][1]));
  const energy: ElementsSpec['energy'] = ({x, data, params: {k}}) => {
    const length = tf.sqrt(tf.sum(tf.square(tf.sub(tf.gather(x, 1), tf.gather(x, 0)))));
    return tf.mul(0.5, tf.mul(k as tf.Tensor, tf.square(tf.sub(length, data.rest))));
  };
  const q = places.map(([x, y], a) => [share * x, share * y, 0.02 * Math.sin(3 * a)]);
  const edge = places.map(([x, y]) => (x % (m - 1) === 0 || y % (m - 1) === 0 ? 1e4 : 0));
  // Held at the edge by stiff springs to where it is, with a little weight.
  const held = elements({
    nodes: places.map((_, a) => [a]),
    data: {place: q, hold: edge},
    energy: ({x, data}) =>
      tf.add(
        tf.mul(tf.mul(0.5, data.hold), tf.sum(tf.squaredDifference(tf.reshape(x, [3]), data.place))),
        tf.mul(0.5, tf.slice(tf.reshape(x, [3]), 2, 1)),
      ),
  });
  return {system: mechanics({mass: 1, forces: [elements({nodes, energy, data: {rest}, hessian}), held]}), q};
}

/** ∂f/∂q of a system at q, dense, and Newton's matrix for it. */
function stiffness(
  system: ReturnType<typeof mechanics>,
  q: Float64Array,
  shape: number[],
  leaves: Record<string, number>,
): {exact: number[][]; matrix: number[][]} {
  const step = traceRun(system, restScheme(), shape, readParams(leaves)).step;
  const {z, x} = step.inputs;
  const dense = (residual: Node): number[][] => {
    const {pattern, values} = jacobianProgram(residual, z);
    const parameters = step.parameters.map(({node}) => node);
    const [found] = evaluate(
      [values],
      [z, x, ...parameters],
      [q, new Float64Array(x.size), ...Object.values(leaves).map(value => Float64Array.of(value))],
    );
    return Array.from({length: pattern.n}, (_, row) => {
      const line = new Array<number>(pattern.n).fill(0);
      for (let k = pattern.rowPointers[row]; k < pattern.rowPointers[row + 1]; k++) line[pattern.columns[k]] = found[k];
      return line;
    });
  };
  const {residual, residualBlocks, residualModel} = step.functions;
  return {exact: dense(residualBlocks ?? (residual as Node)), matrix: dense(residualModel ?? (residual as Node))};
}

/** The smallest pivot of elimination: positive where the matrix is positive definite. */
function leastPivot(a: number[][]): number {
  const work = a.map(row => [...row]);
  let least = Infinity;
  work.forEach((pivotRow, k) => {
    least = Math.min(least, pivotRow[k]);
    for (let i = k + 1; i < work.length; i++) {
      const factor = work[i][k] / pivotRow[k];
      if (factor !== 0) for (let j = k; j < work.length; j++) work[i][j] -= factor * pivotRow[j];
    }
  });
  return least;
}

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as StiffgradError).code;
  }
  return 'none';
};

describe('elements, hessian', () => {
  it('is that of the closed form: k nnᵀ for a compressed bar, the rest across it dropped or reversed', () => {
    // Two bars of length 1, L = 1.25: along x 2k, across 2k (1 − L/l) = −50.
    for (const [hessian, across] of [
      ['exact', -50],
      ['projected', 0],
      ['absolute', 50],
    ] as const) {
      const {exact, matrix} = stiffness(truss(hessian), new Float64Array(2), [1, 2], params);
      expect(exact[1][1]).to.be.closeTo(50, 1e-12);
      expect(matrix[0][0]).to.be.closeTo(-200, 1e-12);
      expect(matrix[1][1]).to.be.closeTo(0 - across, 1e-12);
    }
  });

  it('takes the nodes of an element as a typed array, too', () => {
    const bar = (nodes: readonly ArrayLike<number>[]): Float64Array =>
      equilibrium(
        mechanics({
          mass: 1,
          forces: [
            elements({
              nodes: nodes as readonly number[][],
              energy: ({x}) => tf.square(tf.sub(tf.sub(tf.gather(x, 1), tf.gather(x, 0)), 2)),
            }),
            ({q}) => tf.neg(tf.mul(q, tf.tensor1d([1, 0]))),
          ],
        }),
        {q: [0, 1]},
      ).values('q');
    // The first node is drawn to 0, the second rests 2 from it.
    expect(bar([Int32Array.of(0, 1)])).to.deep.equal(bar([[0, 1]]));
    expect(bar([[0, 1]])[1]).to.be.closeTo(2, 1e-9);
  });

  it('leads a compressed truss to where it rests, √(L² − 1) high, where Newton alone stays on the saddle', () => {
    const start = {q: [[0.01, 0.02]]};
    const rest = (hessian: Hessian, step = backtracking()): Float64Array =>
      equilibrium(truss(hessian), start, {params, newton: newton({step, maxIterations: 100})}).values('q');
    for (const step of [backtracking(), full()]) expect(Math.abs(rest('exact', step)[1])).to.be.below(1e-12);
    for (const hessian of ['projected', 'absolute'] as const) expect(rest(hessian)[1]).to.be.closeTo(0.75, 1e-13);
  });

  it('gives the derivatives of the closed form there: dy/dL = L/y, dy/dk = 0', () => {
    const {pullback} = equilibrium.vjp(
      truss('absolute'),
      {q: [[0.01, 0.02]]},
      {params, newton: newton({step: backtracking(), maxIterations: 100})},
    );
    const bars = pullback({q: [[0, 1]]}).params as {k: Float64Array; rest: Float64Array};
    expect(bars.rest[0]).to.be.closeTo(1.25 / 0.75, 1e-12);
    expect(bars.k[0]).to.be.closeTo(0, 1e-14);
  });

  slow('lets a compressed net buckle into a stable shape, with both engines alike', () => {
    const method = newton({step: backtracking(), maxIterations: 200});
    const found = (['wasm', 'interpreter'] as const).map(engine => {
      const {system, q} = pushedNet(4, 0.8, 'projected');
      return equilibrium(system, {q}, {params: {k: 1e3}, newton: method, engine}).values('q');
    });
    const plain = pushedNet(4, 0.8, 'exact');
    const saddle = equilibrium(plain.system, {q: plain.q}, {params: {k: 1e3}, newton: method}).values('q');
    const curvature = (q: Float64Array): number =>
      leastPivot(stiffness(plain.system, q, [16, 3], {k: 1e3}).exact.map(row => row.map(value => -value)));
    expect(curvature(saddle)).to.be.below(0);
    expect(curvature(found[0])).to.be.above(0);
    // Newton's last corrections are the exact Jacobian's: both are at the root to the tolerance of 1e-12.
    found[0].forEach((value, i) => expect(value).to.be.closeTo(found[1][i], 1e-11));
  });

  slow('takes implicit steps by a positive definite matrix, which the exact one is not', () => {
    const options = {scheme: implicitEuler(), dt: 0.2, steps: 3, params: {k: 1e3}, saveAt: 'end'} as const;
    const run = (hessian: Hessian) => {
      const {system, q} = pushedNet(4, 0.8, hessian);
      return () =>
        simulate(
          system,
          {q, v: q.map(() => [0, 0, 0])},
          {...options, newton: newton({linear: cholesky(), step: backtracking(), maxIterations: 100})},
        );
    };
    expect(run('exact')).to.throw(NewtonError, 'positive definite');
    expect(run('projected')).not.to.throw();
  });

  it('converges by the model alone, linearly, where no matrix is made: conjugate gradients', () => {
    const start = {q: [[0.01, 0.1]], v: [[0, 0]]};
    const end = (linear: LinearSolver): Float64Array =>
      simulate(truss('projected'), start, {
        scheme: implicitEuler(),
        dt: 0.3,
        steps: 1,
        params,
        saveAt: 'end',
        newton: newton({linear, step: backtracking(), maxIterations: 400}),
      }).values('q');
    const [products, direct] = [end(cg()), end(auto())];
    direct.forEach((value, i) => expect(products[i]).to.be.closeTo(value, 1e-12));
  });

  slow('leaves gradients of steps exact: finite differences, forwards and backwards', () => {
    const system = truss('projected');
    const initial = {q: [[0.05, 0.1]], v: [[0, 0.2]]};
    const run = (k: number, rest: number) =>
      ({
        scheme: trapezoid(),
        dt: 0.05,
        steps: 12,
        params: {k, rest},
        saveAt: 'end',
        newton: newton({step: backtracking(), maxIterations: 100}),
      }) as const;
    const end = (k: number, rest: number): number => simulate(system, initial, run(k, rest)).values('q')[3];
    const {pullback} = simulate.vjp(system, initial, run(100, 1.25));
    const bars = pullback({q: [[[0, 0]], [[0, 1]]]}).params as {k: Float64Array; rest: Float64Array};
    const h = 1e-5;
    const byK = (end(100 + h, 1.25) - end(100 - h, 1.25)) / (2 * h);
    const byRest = (end(100, 1.25 + h) - end(100, 1.25 - h)) / (2 * h);
    // Central differences: h² of truncation, 1e-13/h of what Newton leaves.
    expect(bars.k[0]).to.be.closeTo(byK, 1e-7);
    expect(bars.rest[0] / byRest).to.be.closeTo(1, 1e-7);
    const {tangent} = simulate.jvp(system, initial, run(100, 1.25), {params: {k: 0, rest: 1}});
    expect(tangent.q[3]).to.be.closeTo(bars.rest[0], 1e-12 * Math.abs(byRest));
    // The same as without any projection: the path is that of the exact equations.
    expect(end(100, 1.25)).to.be.closeTo(simulate(truss('exact'), initial, run(100, 1.25)).values('q')[3], 1e-11);
  });

  it('refuses a name it does not know, and the unrolled adjoint', () => {
    expect(codeOf(() => truss('clamped' as Hessian))).to.equal('bad-elements');
    const initial = {q: [[0, 0.1]], v: [[0, 0]]};
    expect(
      codeOf(() => simulate(truss('projected'), initial, {dt: 0.1, steps: 1, params, adjoint: unrolledAdjoint()})),
    ).to.equal('bad-adjoint');
  });
});
