/** Terms of models evaluated in double precision, traced as in a run: a run of no steps that observes them. */
import type {ForceTerm, MechanicalSystem, Numeric, NumericParams} from '../../lib/index.js';
import {mechanics, simulate} from '../../lib/index.js';
import type {Energy, Potential} from '../../models/index.js';

export interface State {
  readonly q: Numeric;
  readonly v: Numeric;
  readonly t?: number;
  readonly params?: NumericParams;
}

const still = mechanics({mass: 1, forces: []});

/** Any function of a state, flat. */
export function valueOf(f: ForceTerm, {q, v, t, params}: State): Float64Array {
  // One force of several reads some of the system's parameters; spread, they all count as read.
  const trajectory = simulate(
    still,
    {q, v, t},
    {dt: 1, steps: 0, params, observe: at => f({...at, params: {...at.params}})},
  );
  trajectory.dispose();
  return trajectory.values('observed');
}

/** The gradient with respect to q of a scalar function of a state, flat. */
export function gradientOf(energy: Energy | Potential, {q, v, t, params}: State): Float64Array {
  const {trajectory, pullback} = simulate.vjp(still, {q, v, t}, {dt: 1, steps: 0, params, observe: energy});
  trajectory.dispose();
  return pullback({observed: [1]}).initial.q as Float64Array;
}

/** The sum of a system's forces, flat. */
export function forcesOf(system: MechanicalSystem, state: State): Float64Array {
  return system.forces.map(force => valueOf(force, state)).reduce((sum, f) => sum.map((x, i) => x + f[i]));
}

/** Numbers as nested arrays of a shape. */
export function shaped(values: Float64Array, [rows, columns]: readonly [number, number]): number[][] {
  return Array.from({length: rows}, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));
}
