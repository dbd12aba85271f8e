/** Rest: closed forms, the implicit gradient against them, on the tape and in double precision. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  backtracking,
  bilateral,
  elements,
  equilibrium,
  mechanics,
  newton,
  NewtonError,
  ode,
  SingularMatrixError,
} from '../../lib/index.js';

/** k q + c q³ = g, its real root by Cardano. */
function cubicRoot(k: number, c: number, g: number): number {
  const p = k / c;
  const half = g / (2 * c);
  const root = Math.sqrt(half * half + (p / 3) ** 3);
  return Math.cbrt(half + root) + Math.cbrt(half - root);
}

const spring = mechanics({
  mass: 1,
  forces: ({q, params}) => {
    const {k, c, g} = params as {[name: string]: tf.Tensor};
    return tf.sub(g, tf.add(tf.mul(k, q), tf.mul(c, tf.mul(q, tf.square(q)))));
  },
});
const params = {k: 3, c: 2, g: 9.81};

/** An elastica of length and EI one, EA = 10⁴, clamped by its first two of n + 2 nodes, and loaded across at its tip. */
function cantilever(n: number, load: number, clamp: 'left out' | 'constrained') {
  const l = 1 / n;
  const bars = elements({
    nodes: Array.from({length: n}, (_, i) => [i + 1, i + 2]),
    energy: ({x}) => tf.mul(0.5e4 / l, tf.square(tf.sub(tf.norm(tf.sub(tf.gather(x, 1), tf.gather(x, 0))), l))),
  });
  const turn = ({x}: {x: tf.Tensor}): tf.Tensor => {
    const e = tf.sub(tf.slice(x, [1, 0], [2, 2]), tf.slice(x, [0, 0], [2, 2]));
    const [ex, ey, fx, fy] = tf.unstack(tf.reshape(e, [4]));
    return tf.atan2(tf.sub(tf.mul(ex, fy), tf.mul(ey, fx)), tf.add(tf.mul(ex, fx), tf.mul(ey, fy)));
  };
  // The hinge at the clamp stands for half a length.
  const hinges = elements({
    nodes: Array.from({length: n}, (_, i) => [i, i + 1, i + 2]),
    data: {weight: Float64Array.from({length: n}, (_, i) => (i === 0 ? 1 : 0.5) / l)},
    energy: at => tf.mul(at.data.weight, tf.square(turn(at))),
  });
  const places = Array.from({length: n + 2}, (_, i) => [(i - 1) * l, 0]);
  const tip = tf.tensor2d(places.map((_, i) => [0, i === n + 1 ? load : 0]));
  const held = places.slice(0, 2);
  if (clamp === 'constrained')
    return {
      system: mechanics({
        mass: 1,
        forces: [bars, hinges, () => tip],
        constraints: [bilateral(({q}) => tf.reshape(tf.sub(tf.slice(q, [0, 0], [2, 2]), tf.tensor2d(held)), [4]))],
      }),
      start: {q: places},
    };
  return {
    system: mechanics({
      mass: 1,
      forces: at => {
        const all = {...at, q: tf.concat([tf.tensor2d(held), at.q])};
        return tf.slice(tf.addN([bars(all), hinges(all), tip]), [2, 0], [n, 2]);
      },
    }),
    start: {q: places.slice(2)},
  };
}

describe('equilibrium', () => {
  it('takes the start of a run, velocities and all, which count as zero', () => {
    const rest = equilibrium(spring, {q: [1.5], v: [7]}, {params});
    expect(rest.values('q')[0]).to.be.closeTo(cubicRoot(3, 2, 9.81), 1e-14 * 4);
    rest.dispose();
  });

  it('finds the root, from near and far', () => {
    const exact = cubicRoot(3, 2, 9.81);
    for (const start of [0, 1.5, 100, -40]) {
      const rest = equilibrium(spring, {q: [start]}, {params});
      expect(rest.values('q')[0], `from ${start}`).to.be.closeTo(exact, 1e-14 * 4);
      rest.dispose();
    }
  });

  it('has the gradient of the implicit function', () => {
    const q = cubicRoot(3, 2, 9.81);
    const slope = 3 + 3 * 2 * q * q;
    const {equilibrium: rest, pullback} = equilibrium.vjp(spring, {q: [1]}, {params});
    const cotangents = pullback({q: [1]}).params as {[name: string]: Float64Array};
    expect(cotangents.g[0]).to.be.closeTo(1 / slope, 1e-15);
    expect(cotangents.k[0]).to.be.closeTo(-q / slope, 1e-15);
    expect(cotangents.c[0]).to.be.closeTo(-(q ** 3) / slope, 1e-14);
    rest.dispose();
  });

  it("is differentiable on tfjs's tape, and leaves nothing behind", () => {
    const g = tf.variable(tf.scalar(9.81));
    const system = mechanics({mass: 1, forces: ({q}) => tf.sub(g, tf.mul(q, 4))});
    const before = tf.memory().numTensors;
    const {value, grads} = tf.variableGrads(
      () =>
        tf.sum(
          equilibrium(system, {
            q: [
              [0, 1],
              [2, 3],
            ],
          }).q,
        ) as tf.Scalar,
      [g],
    );
    expect(value.dataSync()[0]).to.be.closeTo(9.81, 1e-5, 'four times 9.81/4, in float32');
    expect(grads[g.name].dataSync()[0]).to.be.closeTo(1, 1e-6);
    tf.dispose([value, grads]);
    expect(tf.memory().numTensors).to.equal(before);
    const rest = equilibrium(system, {
      q: [
        [0, 1],
        [2, 3],
      ],
    });
    expect(rest.q.shape).to.deep.equal([2, 2]);
    rest.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    g.dispose();
  });

  it('is the fixed point of an ode', () => {
    // Lotka–Volterra rests at (c/d, a/b).
    const system = ode(({y, params: p}) => {
      const {a, b, c, d} = p as {[name: string]: tf.Tensor};
      const [prey, hunters] = [tf.gather(y, 0), tf.gather(y, 1)];
      return tf.stack([tf.mul(prey, tf.sub(a, tf.mul(b, hunters))), tf.mul(hunters, tf.sub(tf.mul(d, prey), c))]);
    });
    const rest = equilibrium(system, {y: [30, 25]}, {params: {a: 0.55, b: 0.028, c: 0.84, d: 0.026}});
    expect(rest.values('y')[0]).to.be.closeTo(0.84 / 0.026, 1e-11);
    expect(rest.values('y')[1]).to.be.closeTo(0.55 / 0.028, 1e-11);
    rest.dispose();
  });

  it('says so where there is none, or more than one', () => {
    const none = mechanics({mass: 1, forces: ({q}) => tf.add(tf.square(q), 1)});
    expect(() => equilibrium(none, {q: [0.3]})).to.throw(NewtonError);
    const free = mechanics({
      mass: 1,
      forces: ({q}) => tf.mul(tf.sub(tf.gather(q, 0), tf.gather(q, 1)), tf.tensor1d([-1, 1])),
    });
    expect(() => equilibrium(free, {q: [0, 1]})).to.throw(SingularMatrixError, /q\[0\], q\[1\]/);
  });

  describe('slender structures', () => {
    const tipOf = (found: {values(name: 'q'): Float64Array}): number => found.values('q').at(-1) as number;

    it('finds the elastica by default, where backtracking does not', () => {
      const {system, start} = cantilever(10, 2, 'left out');
      // 0.49346 (Mattiasson 1981, PL²/EI = 2); elements of a tenth of the length are off by its square.
      expect(tipOf(equilibrium(system, start))).to.be.closeTo(0.49346, 0.49346 / 100);
      const damped = newton({step: backtracking(), maxIterations: 40});
      expect(() => equilibrium(system, start, {newton: damped})).to.throw(NewtonError, 'did not converge');
    });

    describe('clamped', () => {
      let free = NaN;
      before(() => {
        const {system, start} = cantilever(6, 1, 'left out');
        free = tipOf(equilibrium(system, start));
      });

      it('finds it where constraints clamp it, too', () => {
        const {system, start} = cantilever(6, 1, 'constrained');
        expect(tipOf(equilibrium(system, start))).to.be.closeTo(free, 1e-9);
      });
    });
  });
});
