/**
 * Motion along the borders of switches. Where both outcomes of a comparison push to its border g = 0, the motion stays
 * on it with the mean of both right-hand sides whose ġ is zero (Filippov, Differential Equations with Discontinuous
 * Righthand Sides, 1988, §4): f = f⁻ + α (f⁺ − f⁻), with α such that ∇g·f + g_t = 0. Several borders at once have the
 * shares that solve ġ = b + A α = 0, which is that of Filippov where the right-hand side is a sum over the switches
 * (Dieci & Lopez, A survey of numerical methods for IVPs of ODEs with discontinuous right-hand side, J. Comput. Appl.
 * Math. 236, 2012).
 */
import * as tf from '@tensorflow/tfjs';
import {linalg} from '../linalg/index.js';
import {derivativeAlong} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import type {Blocks, Equations} from './equations.js';
import type {SwitchScope} from './switches.js';

/** The shares [comparisons] of the outcome above each border, at a place; zero where the motion does not slide. */
function slidingShares(equations: Equations, scope: SwitchScope, x: Blocks, t: tf.Tensor): tf.Tensor {
  const {marks, below} = scope.sliding;
  const count = marks.size;
  const names = Object.keys(x);
  const {events, comparisons} = scope.switches;
  const rows = comparisons.map(mode => events.findIndex(event => event.mode === mode && event.change === 'side'));
  const change = (modes: tf.Tensor): tf.Tensor =>
    scope.withModes(modes, undefined, () => {
      const rate = equations.rate(x, t);
      const along = derivativeAlong(
        ({t: time, ...place}) => scope.borders({...place, t: time}).borders,
        {...x, t},
        {...Object.fromEntries(names.map(name => [name, rate[name]])), t: constantTensor(1, [])},
      );
      return tf.gather(along, rows);
    });
  const at = change(below);
  const columns = comparisons.map((_, k) => tf.sub(change(scope.set(below, k, 1)), change(scope.set(below, k, 0))));
  if (count === 1) {
    const slope = tf.where(tf.greater(marks, 0), columns[0], tf.onesLike(columns[0]));
    return tf.div(tf.mul(marks, tf.neg(at)), slope);
  }
  const both = tf.mul(tf.reshape(marks, [count, 1]), tf.reshape(marks, [1, count]));
  const unit = constantTensor(
    Float64Array.from({length: count ** 2}, (_, i) => (i % (count + 1) === 0 ? 1 : 0)),
    [count, count],
  );
  const matrix = tf.add(tf.mul(both, tf.stack(columns, 1)), tf.mul(unit, tf.reshape(tf.sub(1, marks), [count, 1])));
  return tf.reshape(linalg.solve(matrix, tf.reshape(tf.mul(marks, tf.neg(at)), [count, 1])), [count]);
}

/** Equations whose motion may slide. */
export function slidingEquations(equations: Equations, scope: SwitchScope): Equations {
  const shared = new Map<string, {readonly place: readonly tf.Tensor[]; readonly shares: tf.Tensor}[]>();
  const sharesAt = (x: Blocks, t: tf.Tensor): tf.Tensor => {
    const key = Object.keys(x).join();
    const place = [...Object.values(x), t];
    const known = shared.get(key)?.find(one => one.place.every((tensor, i) => tensor === place[i]));
    if (known !== undefined) return known.shares;
    const shares = slidingShares(equations, scope, x, t);
    shared.set(key, [...(shared.get(key) ?? []), {place, shares}]);
    return shares;
  };
  const placeIn = ({y, q, v}: Blocks): Blocks => (equations.kind === 'ode' ? {y} : {q, v});
  scope.sharesAt = (x, t) => sharesAt(placeIn(x), t);
  const along = <T>(x: Blocks, t: tf.Tensor, f: () => T): T => scope.withModes(scope.sliding.below, sharesAt(x, t), f);
  return {
    ...equations,
    force: (q, v, t) => along({q, v}, t, () => equations.force(q, v, t)),
    acceleration: (q, v, t) => along({q, v}, t, () => equations.acceleration(q, v, t)),
    rate: (x, t) => along(placeIn(x), t, () => equations.rate(x, t)),
    rightHandSide: (x, t) => along(placeIn(x), t, () => equations.rightHandSide(x, t)),
  };
}
