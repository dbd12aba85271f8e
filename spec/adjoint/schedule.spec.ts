/** The binomial schedule: its counts against the formula, and the gradient under every budget. */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {firstPass, leastRecomputation, maxReachableSteps, revolve, split} from '../../lib/adjoint/schedule.js';
import {implicitAdjoint, implicitMidpoint, mechanics, newton, simulate} from '../../lib/index.js';
import {slow} from '../tiers.js';

/** Griewank & Walther's t(n, s) by its own recursion: t(1, s) = 0, t(n, 1) = n(n−1)/2, t(n, s) = min_m m + t(n−m, s−1) + t(m, s). */
function leastByRecursion(steps: number, states: number, known: Map<string, number>): number {
  if (steps === 1) return 0;
  if (states === 1) return (steps * (steps - 1)) / 2;
  const key = `${steps},${states}`;
  let least = known.get(key);
  if (least === undefined) {
    least = Infinity;
    for (let m = 1; m < steps; m++)
      least = Math.min(least, m + leastByRecursion(steps - m, states - 1, known) + leastByRecursion(m, states, known));
    known.set(key, least);
  }
  return least;
}

describe('checkpoint schedule', () => {
  it('has the counts of the binomial formula, which are the least there are', () => {
    const known = new Map<string, number>();
    for (let steps = 1; steps <= 40; steps++) {
      for (let states = 1; states <= 8; states++)
        expect(leastRecomputation(steps, states), `${steps} steps, ${states} states`).to.equal(
          leastByRecursion(steps, states, known),
        );
    }
    expect(maxReachableSteps(3, 2)).to.equal(10);
  });

  slow('goes back over every step once, last first, within its states and its count', () => {
    for (let steps = 1; steps <= 50; steps++) {
      for (let states = 1; states <= steps + 1; states++) {
        const first = firstPass(steps, states);
        const kept = new Set(first);
        const order: number[] = [];
        let advanced = 0;
        let most = kept.size;
        revolve(0, steps, states, {
          has: k => kept.has(k),
          drop: k => kept.delete(k),
          advance(from, to) {
            expect(kept.has(from)).to.equal(true);
            advanced += to - from;
            kept.add(to);
            most = Math.max(most, kept.size);
          },
          reverse(k) {
            expect(kept.has(k)).to.equal(true);
            order.push(k);
          },
        });
        expect(order).to.deep.equal(Array.from({length: steps}, (_, i) => steps - 1 - i));
        // The first pass has already advanced to the last state it kept.
        expect(advanced + first[first.length - 1], `${steps} steps, ${states} states`).to.equal(
          leastRecomputation(steps, states),
        );
        // One more than `states`: the state that is about to be used.
        expect(most).to.be.at.most(states + 1);
      }
    }
  });

  slow('has room for as many states as there are: what waits is not on the stack of calls', () => {
    const [steps, states] = [200_000, 100_000];
    const kept = new Set(firstPass(steps, states));
    let next = steps;
    let advanced = 0;
    revolve(0, steps, states, {
      has: k => kept.has(k),
      drop: k => kept.delete(k),
      advance(from, to) {
        advanced += to - from;
        kept.add(to);
      },
      reverse(k) {
        next--;
        if (k !== next || !kept.has(k)) throw new Error(`step ${k} in place of ${next}`);
      },
    });
    expect(next).to.equal(0);
    // Twice at most: β(100,000, 2) is far beyond.
    expect(advanced).to.be.at.most(2 * steps);
  });

  it('splits where the formula says', () => {
    expect(split(10, 3)).to.be.within(maxReachableSteps(3, 0), maxReachableSteps(3, 1));
  });
});

describe('checkpointed gradients', () => {
  const system = mechanics({
    mass: [1, 2, 1.5],
    forces: [
      ({q, v, params}) => tf.sub(tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q))), tf.mul(v, 0.2)),
      ({t}) => tf.stack([tf.sin(t), tf.cos(t), tf.mul(t, 0.1)]),
    ],
  });
  const steps = 23;
  const gradient = (memory: number | undefined, jacobian: 'fresh' | 'auto'): {flat: number[]; recomputed: number} => {
    const {trajectory, pullback} = simulate.vjp(
      system,
      {q: [0.5, -0.2, 0.1], v: [0, 1, 0]},
      {
        scheme: implicitMidpoint({guess: 'extrapolated'}),
        dt: 0.1,
        steps,
        params: {k: [4, 9, 30]},
        saveAt: {every: 2},
        adjoint: implicitAdjoint({memory}),
        newton: newton({jacobian}),
      },
    );
    const {initial, params, recomputedSteps} = pullback({
      q: trajectory.values('q').map(Math.cos),
      v: trajectory.values('v'),
    });
    trajectory.dispose();
    return {
      flat: [...(initial.q ?? []), ...(initial.v ?? []), ...(params.k as Float64Array)],
      recomputed: recomputedSteps,
    };
  };

  slow('are the same to the bit under every budget, at the count the formula gives', () => {
    const all = gradient(undefined, 'fresh');
    expect(all.recomputed).to.equal(0);
    // The state here has q, v and what the guess carries: nine numbers.
    const bytes = 9 * 8;
    // All steps fit where there is room for t, h and the three positions at the midpoint of each.
    const every = steps * 5 * 8;
    expect(gradient(every, 'fresh')).to.deep.equal(all);
    for (let room = 2; room * bytes < every; room++) {
      const {flat, recomputed} = gradient(room * bytes, 'fresh');
      expect(flat, `${room} states`).to.deep.equal(all.flat);
      expect(recomputed).to.be.greaterThan(0);
      const first = firstPass(steps, room);
      expect(recomputed).to.equal(leastRecomputation(steps, room) - first[first.length - 1] + steps);
    }
  });

  slow('are the same to the bit along many steps, from room for 42 states to room for all', () => {
    const pendulum = mechanics({mass: 1, forces: ({q, params}) => tf.mul(tf.neg(params.k as tf.Tensor), tf.sin(q))});
    const many = (memory: number): number[] => {
      const {trajectory, pullback} = simulate.vjp(
        pendulum,
        {q: 0.5, v: 0},
        {
          scheme: implicitMidpoint(),
          dt: 1e-3,
          steps: 30_000,
          params: {k: 3},
          saveAt: 'end',
          adjoint: implicitAdjoint({memory}),
          newton: newton({jacobian: 'fresh'}),
        },
      );
      const {initial, params} = pullback({q: [0, 1]});
      trajectory.dispose();
      return [...(initial.q ?? []), ...(initial.v ?? []), ...(params.k as Float64Array)];
    };
    const all = many(2 ** 30);
    for (const memory of [2 ** 10, 2 ** 15, 6e5]) expect(many(memory), `${memory} bytes`).to.deep.equal(all);
  });

  it('are the same to the bit with a Jacobian that is kept across steps', () => {
    const all = gradient(undefined, 'auto');
    for (const memory of [2 * 9 * 8, 7 * 9 * 8, 40 * 9 * 8])
      expect(gradient(memory, 'auto').flat, `${memory} bytes`).to.deep.equal(all.flat);
  });

  it('keep the Jacobians of the plain run, to the bit and for every budget of memory', () => {
    const weights = (rows: number, columns: number): number[][] =>
      Array.from({length: rows}, (_, i) =>
        Array.from({length: columns}, (__, j) => Math.sin(1 + 7 * i + 13 * j) / Math.sqrt(rows)),
      );
    const network = mechanics({
      mass: 1,
      forces: ({q, v, params}) => {
        const hidden = tf.tanh(tf.matMul(tf.reshape(tf.concat([q, v]), [1, 16]), params.w as tf.Tensor2D));
        return tf.sub(
          tf.reshape(tf.matMul(tf.tanh(tf.matMul(hidden, params.u as tf.Tensor2D)), params.o as tf.Tensor2D), [8]),
          tf.mul(q, 100),
        );
      },
    });
    const start = {q: new Float64Array(8).fill(0.1), v: new Float64Array(8)};
    const options = {dt: 0.02, steps: 9, params: {w: weights(16, 24), u: weights(24, 24), o: weights(24, 8)}};
    const plain = simulate(network, start, options);
    expect(plain.stats.jacobianEvaluations).to.be.below(4);
    expect(
      simulate(network, start, {...options, newton: newton({jacobian: 'fresh'})}).stats.jacobianEvaluations,
    ).to.be.at.least(9);
    const pulled = (memory?: number): number[] => {
      const {trajectory, pullback} = simulate.vjp(network, start, {...options, adjoint: implicitAdjoint({memory})});
      expect(trajectory.stats.jacobianEvaluations).to.equal(plain.stats.jacobianEvaluations);
      expect(trajectory.values('q')).to.deep.equal(plain.values('q'));
      expect(trajectory.values('v')).to.deep.equal(plain.values('v'));
      const {initial, params} = pullback({q: trajectory.values('q').map(Math.cos)});
      return [...(initial.q ?? []), ...(params.w as Float64Array)];
    };
    const all = pulled();
    // A state, the length of the last step and a dense matrix of eight unknowns.
    for (const room of [2, 3, 5]) expect(pulled(room * (16 + 1 + 64) * 8), `${room} places`).to.deep.equal(all);
  });
});
