/** Element energies: against closed forms, against the same force written by hand, and in a Jacobian. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {StiffgradError} from '../../lib/index.js';
import {elements, equilibrium, implicitMidpoint, mechanics, simulate} from '../../lib/index.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {jacobianProgram} from '../../lib/step/jacobian-program.js';
import {traceRun} from '../../lib/step/trace-step.js';
import {readParams} from '../../lib/system/params.js';

/** ½ k (l − rest)² of a straight spring between two nodes. */
const springEnergy = ({
  x,
  data,
  params,
}: {
  x: tf.Tensor;
  data: {[name: string]: tf.Tensor};
  params: {readonly [name: string]: unknown};
}): tf.Tensor => {
  const d = tf.sub(tf.gather(x, 1), tf.gather(x, 0));
  const stretch = tf.sub(tf.sqrt(tf.sum(tf.square(d))), data.rest);
  return tf.mul(tf.mul(0.5, params.k as tf.Tensor), tf.square(stretch));
};

const oneStep = (force: ReturnType<typeof elements>, q: number[][], params: {k: number}): Float64Array => {
  // A step of explicit Euler's velocity from rest with mass 1 and h = 1 is the force itself.
  const path = simulate(
    mechanics({mass: 1, forces: force}),
    {q, v: q.map(row => row.map(() => 0))},
    {
      scheme: {
        name: 'force',
        order: 1,
        mechanics: {unknown: [], update: (_, {x, t, force: f}) => ({q: x.q, v: f(x.q, x.v, t)})},
      },
      dt: 1,
      steps: 1,
      params,
      saveAt: 'end',
    },
  );
  const v = path.values('v');
  path.dispose();
  return v.slice(v.length / 2);
};

describe('elements', () => {
  it('gives the spring force k (l − rest) along the line between its nodes', () => {
    const force = elements({nodes: [[0, 1]], energy: springEnergy, data: {rest: [1]}});
    const f = oneStep(
      force,
      [
        [0, 0],
        [3, 4],
      ],
      {k: 10},
    );
    // l = 5, stretched by 4: 40 N along (3, 4)/5.
    [24, 32, -24, -32].forEach((expected, i) => expect(f[i]).to.be.closeTo(expected, 1e-12));
  });

  it('adds up at shared nodes, and is zero in sum and in torque', () => {
    const nodes = [
      [0, 1],
      [1, 2],
      [2, 0],
      [0, 3],
    ];
    const q = [
      [0, 0, 0],
      [1, 0.2, 0],
      [0.3, 0.9, 0.1],
      [-0.5, 0.1, 1.2],
    ];
    const f = oneStep(elements({nodes, energy: springEnergy, data: {rest: [0.5, 0.6, 0.7, 0.8]}}), q, {k: 7});
    for (let axis = 0; axis < 3; axis++) {
      const [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
      const total = q.reduce((sum, _, i) => sum + f[3 * i + axis], 0);
      const torque = q.reduce((sum, row, i) => sum + row[b] * f[3 * i + c] - row[c] * f[3 * i + b], 0);
      // Rounding of a dozen terms of size 10.
      expect(total).to.be.closeTo(0, 1e-13);
      expect(torque).to.be.closeTo(0, 1e-13);
    }
  });

  it('is a graph of a size without regard to the number of elements, with a Jacobian as sparse as the mesh', () => {
    const programOf = (count: number): {nonzeros: number; n: number} => {
      const nodes = Array.from({length: count - 1}, (_, i) => [i, i + 1]);
      const system = mechanics({
        mass: 1,
        forces: elements({nodes, energy: springEnergy, data: {rest: new Float64Array(count - 1).fill(0.1)}}),
      });
      const traced = traceRun(system, implicitMidpoint(), [count, 2], readParams({k: 3})).step;
      const {pattern} = jacobianProgram(traced.functions.residual as Node, traced.inputs.z);
      return {nonzeros: pattern.columns.length, n: pattern.n};
    };
    // Each node of a chain in the plane has two coordinates and two neighbours.
    expect(programOf(10).nonzeros).to.equal(4 * (10 + 2 * 9));
    expect(programOf(40).nonzeros).to.equal(4 * (40 + 2 * 39));
  });

  it('assembles its Jacobian from blocks in programs that do not grow with the mesh, also of tetrahedra', () => {
    const volume = ({x}: {x: tf.Tensor}): tf.Tensor => {
      const d = tf.sub(tf.slice(x, [1, 0], [3, 3]), tf.slice(x, [0, 0], [1, 3])) as tf.Tensor2D;
      return tf.sum(tf.square(tf.sub(tf.matMul(d, d, false, true), tf.eye(3))));
    };
    const programOf = (cubes: number): {size: number; colors: number} => {
      // Cubes in a row, each cut into six tetrahedra along its diagonal (Kuhn).
      const node = (c: number, corner: number): number => 4 * (c + (corner >> 2)) + (corner & 3);
      const paths = [
        [1, 3],
        [1, 5],
        [2, 3],
        [2, 6],
        [4, 5],
        [4, 6],
      ];
      const nodes = Array.from({length: cubes}, (_, c) =>
        paths.map(([a, b]) => [node(c, 0), node(c, a), node(c, b), node(c, 7)]),
      ).flat();
      const traced = traceRun(
        mechanics({mass: 1, forces: elements({nodes, energy: volume})}),
        implicitMidpoint(),
        [4 * (cubes + 1), 3],
        [],
      ).step;
      const {values, colors} = jacobianProgram(traced.functions.residualBlocks as Node, traced.inputs.z);
      return {size: topological([values]).length, colors};
    };
    const [few, many] = [programOf(3), programOf(12)];
    expect(few.colors).to.equal(0);
    expect(many).to.deep.equal(few);
  });

  it('carries gradients to params and captured variables, and nothing leaks', () => {
    const factor = tf.variable(tf.scalar(2));
    const before = tf.memory().numTensors;
    const energy: Parameters<typeof elements>[0]['energy'] = at => tf.mul(factor, springEnergy(at));
    const system = mechanics({
      mass: [
        [1, 1],
        [2, 2],
        [1, 1],
      ],
      forces: elements({
        nodes: [
          [0, 1],
          [1, 2],
        ],
        energy,
        data: {rest: [1, 1]},
      }),
    });
    const end = (k: number): number => {
      const path = simulate(
        system,
        {
          q: [
            [0, 0],
            [1.2, 0.1],
            [2.1, 0.5],
          ],
          v: [
            [0, 0],
            [0, 1],
            [0, 0],
          ],
        },
        {dt: 0.05, steps: 20, params: {k}, saveAt: 'end'},
      );
      const q = path.values('q');
      path.dispose();
      return q[q.length - 1];
    };
    const {trajectory, pullback} = simulate.vjp(
      system,
      {
        q: [
          [0, 0],
          [1.2, 0.1],
          [2.1, 0.5],
        ],
        v: [
          [0, 0],
          [0, 1],
          [0, 0],
        ],
      },
      {dt: 0.05, steps: 20, params: {k: 5}, saveAt: 'end'},
    );
    const cotangent = new Float64Array(12);
    cotangent[11] = 1;
    const gradient = pullback({q: cotangent});
    const h = 1e-5;
    const difference = (end(5 + h) - end(5 - h)) / (2 * h);
    // Central differences: truncation h², rounding 1e-16/h.
    expect((gradient.params.k as Float64Array)[0]).to.be.closeTo(difference, 1e-9);
    // The energy is factor·k·…: d/dfactor = (k/factor) d/dk.
    expect((gradient.variables.get(factor) as Float64Array)[0]).to.be.closeTo((5 / 2) * difference, 1e-8);
    trajectory.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    factor.dispose();
  });

  it('takes data from params inside a force, and flat arrays with a row for each element', () => {
    // Two bars of stiffness k·L², held at one end and loaded at the other: x₁ = F/K₁, x₂ = F/K₂.
    const flat = Float64Array.of(0, 2, 0, 3);
    const system = mechanics<{k: tf.Tensor}>({
      mass: 1,
      forces: [
        at =>
          elements<{k: tf.Tensor}>({
            nodes: [[0], [1]],
            data: {k: at.params.k, row: flat, twice: tf.mul(2, at.params.k)},
            energy: ({x, data: {k, row, twice}}) => {
              const [rest, length] = tf.unstack(row);
              const shape = tf.mul(tf.square(length), tf.add(tf.mul(0.25, k), tf.mul(0.125, twice)));
              return tf.mul(shape, tf.square(tf.sub(tf.reshape(x, []), rest)));
            },
          })(at),
        ({q}) => tf.onesLike(q),
      ],
    });
    const {equilibrium: state, pullback} = equilibrium.vjp(system, {q: [0.1, 0.1]}, {params: {k: [5, 7]}});
    const [first, second] = [5 * 4, 7 * 9];
    expect(state.values('q')[0]).to.be.closeTo(1 / first, 1e-15);
    expect(state.values('q')[1]).to.be.closeTo(1 / second, 1e-15);
    // d(1/(k L²))/dk = −1/(k² L²).
    const {k} = pullback({q: [1, 1]}).params;
    expect(k[0]).to.be.closeTo(-1 / (25 * 4), 1e-15);
    expect(k[1]).to.be.closeTo(-1 / (49 * 9), 1e-15);
  });

  it('refuses what it cannot be, by name', () => {
    const codeOf = (make: () => unknown): string => {
      try {
        make();
      } catch (error) {
        return (error as StiffgradError).code;
      }
      return 'none';
    };
    const run = (spec: Parameters<typeof elements>[0]): unknown =>
      oneStep(
        elements(spec),
        [
          [0, 0],
          [1, 0],
        ],
        {k: 1},
      );
    expect(codeOf(() => elements({nodes: [], energy: springEnergy}))).to.equal('bad-elements');
    expect(codeOf(() => elements({nodes: [[0, 1], [0]], energy: springEnergy}))).to.equal('bad-elements');
    expect(codeOf(() => elements({nodes: [[0, -1]], energy: springEnergy}))).to.equal('bad-elements');
    expect(codeOf(() => elements({nodes: [[0, 1]], energy: springEnergy, data: {rest: [1, 2]}}))).to.equal(
      'element-data',
    );
    const thirds = {rest: Float64Array.of(1, 2, 3)};
    expect(
      codeOf(() =>
        elements({
          nodes: [
            [0, 1],
            [1, 0],
          ],
          energy: springEnergy,
          data: thirds,
        }),
      ),
    ).to.equal('element-data');
    expect(codeOf(() => run({nodes: [[0, 2]], energy: springEnergy, data: {rest: [1]}}))).to.equal('element-node');
    expect(codeOf(() => run({nodes: [[0, 1]], energy: ({x}) => x}))).to.equal('element-energy');
  });
});
