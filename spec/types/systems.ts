/**
 * What the compiler knows of systems and their runs: which parameters they read, q and v or y, one span. Each line
 * under "@ts-expect-error" must be refused. Compiled by types.spec.ts; nothing here runs.
 */
import * as tf from '@tensorflow/tfjs';
import {adaptive, batch, bilateral, constant, elements, equilibrium, event, mechanics, ode, sde, simulate, trapezoid, type Constraint, type DerivativeAt, type Event, type ForceAt, type ForceTerm, type Initial, type MechanicalSystem, type NumericParams, type ObservedAt, type Pullback, type SimulateOptions, type System, type Trajectory, type Vjp, stochastic} from 'stiffgrad';
import {gravity, pendulum, spring} from 'stiffgrad/models';
import {coulomb} from '../../models/friction.js';

type K = {k: tf.Tensor};
const start = {q: [1], v: [0]};
const grid = {dt: 0.1, steps: 3};

// Parameters named once for all functions, in whatever form; models' terms go with them.
const explicit = mechanics<{k: tf.Tensor; c: tf.Tensor2D; nested: {a: tf.Tensor}}>({
  mass: ({params: {c}}) => c,
  forces: [
    ({q, params: {k}}) => tf.neg(tf.mul(k, q)), ({params}) => tf.mul(params.c, params.nested.a), ({q, params}: ForceAt<K>) => tf.mul(params.k, q),
    gravity({mass: 1, direction: [-1]}), spring({stiffness: 3}), coulomb({force: 1, velocityScale: 0.1}),
  ],
  constraints: [bilateral(({q, params}) => tf.sub(q, params.k)), bilateral(({q}) => q)],
});
// By a function that says what it takes.
const inferred = mechanics({mass: 1, forces: ({q, params: {k}}: ForceAt<K>) => tf.mul(k, q)});
const descriptor = ode<K>({derivative: ({y, params: {k}}) => tf.mul(k, y), mass: ({params: {k}}) => k});
// @ts-expect-error: the system has no parameter m
ode<K>({derivative: ({y}) => y, mass: ({params: {m}}) => m as tf.Tensor});
const decay = ode(({y, params: {k}}: DerivativeAt<K>) => tf.mul(k, y));
interface Stiffness {
  readonly k: tf.Tensor;
}
const byInterface = mechanics<Stiffness>({mass: 1, forces: ({q, params: {k}}) => tf.mul(k, q)});
const noisy = sde<{k: tf.Tensor; seed: tf.Tensor}>({
  drift: ({y, params: {k}}) => tf.mul(k, y), diffusion: ({y}) => y, calculus: 'ito', seed: ({seed}) => seed,
});
// @ts-expect-error: there is no such integral
sde({drift: ({y}) => y, diffusion: ({y}) => y, calculus: 'itô', seed: 1});
// @ts-expect-error: a path has a seed
sde({drift: ({y}) => y, diffusion: ({y}) => y, calculus: 'ito'});
// Without names, as ever.
const untyped = mechanics({mass: 1, forces: [({q, params}) => tf.mul(params.k as tf.Tensor, q)]});
const plain = mechanics({mass: [1], forces: ({q}) => tf.neg(q)});
const spheres = mechanics({mass: 1, forces: elements<K>({nodes: [[0, 1]], energy: ({x, params: {k}}) => tf.mul(k, tf.sum(x))})});
// @ts-expect-error: the system has no parameter kk
mechanics<K>({mass: 1, forces: [({q, params: {kk}}) => tf.mul(kk, q)]});
// @ts-expect-error: inside a function, parameters are tensors
mechanics<{k: number}>({mass: 1, forces: [({q}) => q]});
// @ts-expect-error: a misspelt option
mechanics({masses: 1, forces: []});

// Each passes as any system.
export const systems: readonly System[] = [explicit, inferred, decay, noisy, untyped, plain, pendulum({length: 1}), spheres];
export const mechanical: MechanicalSystem = explicit;
export const constraint: Constraint = bilateral(({q, params}: {q: tf.Tensor; params: K}) => tf.sub(q, params.k));
export const terms: ForceTerm[] = [({q, params}) => tf.mul(params.k as tf.Tensor, q), spring({stiffness: 1})];
export const stop: Event = event<K>({when: ({q, params: {k}}) => tf.sub(q, k), then: 'stop'});

// Numbers for the parameters, by their names.
simulate(explicit, start, {...grid, params: {k: 1, c: [[1]], nested: {a: tf.scalar(1)}}});
simulate(byInterface, start, {...grid, params: {k: 1}});
simulate(descriptor, {y: 1}, {...grid, params: {k: 1}});
simulate(inferred, start, {...grid, params: {k: 1}, events: [stop]});
simulate(noisy, {y: [1]}, {...grid, scheme: stochastic.eulerMaruyama(), params: {k: 1, seed: 3}}).y.dispose();
// @ts-expect-error: misspelt
simulate(noisy, {y: [1]}, {...grid, params: {kk: 1}});
simulate(untyped, start, {...grid, params: {anything: 1, deeper: {still: [1, 2]}}});
simulate(plain, start, {...grid, params: {unread: 1}});
// @ts-expect-error: misspelt
simulate(inferred, start, {...grid, params: {kk: 1}});
// @ts-expect-error: misspelt, within a branch
simulate(explicit, start, {...grid, params: {k: 1, c: [[1]], nested: {b: 1}}});
// @ts-expect-error: text is no number
simulate(inferred, start, {...grid, params: {k: '1'}});
// @ts-expect-error: a misspelt option
simulate(plain, start, {...grid, shceme: trapezoid()});
simulate(inferred, start, {...grid, params: {k: 1}, observe: ({q, params: {k}}) => tf.mul(k, q)});
simulate(untyped, start, {...grid, observe: ({q, params: {gain}}: ObservedAt<{gain: tf.Tensor}>) => tf.mul(gain, q)});
simulate(inferred, start, {...grid, params: {k: 1}, events: [event({when: ({q, params}) => tf.sub(q, params.k as tf.Tensor), then: 'record'})]});

// q and v, or y.
const path = simulate(inferred, start, {...grid, params: {k: 1}});
export const kept: tf.Tensor = path.q;
const flow = simulate(decay, {y: [1]}, {...grid, params: {k: 1}});
export const state: tf.Tensor = flow.y;
flow.values('y');
// @ts-expect-error: an ode has no q
flow.q;
// @ts-expect-error: nor has its run
flow.values('q');
// @ts-expect-error: a mechanical system has no y
path.y;
// @ts-expect-error: nor has its run
path.values('y');
// @ts-expect-error: an ode starts at y
simulate(decay, start, {...grid, params: {k: 1}});
// @ts-expect-error: a mechanical system starts at q and v
simulate(plain, {y: 1}, grid);
export const again = simulate(plain, path.state(), grid);
export const general: readonly Trajectory[] = batch(plain, [start, {initial: start}], {...grid, workers: 0});
export function lastOf(system: System, initial: Initial, options: SimulateOptions): tf.Tensor | undefined {
  return simulate(system, initial, options).y;
}
const rest = equilibrium(inferred, {q: 1}, {params: {k: 2}});
export const resting: tf.Tensor = rest.q;
// @ts-expect-error: at rest neither
equilibrium(decay, {y: 1}).q;

// One span.
simulate(plain, start, {dt: 0.1, t1: 1});
simulate(plain, start, {dt: 0.1, t1: 1, steps: 100, control: adaptive()});
simulate(plain, start, {dt: 0.1, steps: 100, control: adaptive()});
// @ts-expect-error: two ends
simulate(plain, start, {dt: 0.1, t1: 1, steps: 10});
// @ts-expect-error: two ends
simulate(plain, start, {dt: 0.1, t1: 1, steps: 10, control: constant()});
simulate(plain, start, {dt: 0.1, saveAt: [0.5, 1]});
// @ts-expect-error: no end
simulate(plain, start, {dt: 0.1});
export const annotated: SimulateOptions = {dt: 0.1, steps: 3, params: {k: 1}};
simulate(untyped, start, annotated);
simulate(untyped, start, {...annotated, saveAt: 'end'});

// Derivatives under the names of what they are derivatives by.
const {pullback, trajectory} = simulate.vjp(explicit, start, {...grid, params: {k: 1, c: [[1]], nested: {a: 1}}});
const gradient = pullback({q: trajectory.values('q')});
export const numbers: readonly Float64Array[] = [gradient.params.k, gradient.params.nested.a, gradient.initial.q, gradient.initial.v];
// @ts-expect-error: misspelt
gradient.params.kk;
// @ts-expect-error: an ode's cotangent
pullback({y: [1]});
export const loose: Pullback = gradient;
export const looseRun: Vjp = simulate.vjp(plain, start, grid);
const forward = simulate.jvp(inferred, start, {...grid, params: {k: 1}}, {initial: {q: [1]}, params: {k: 1}});
export const moved: Float64Array = forward.tangent.q;
// @ts-expect-error: misspelt
simulate.jvp(inferred, start, {...grid, params: {k: 1}}, {params: {kk: 1}});
const prepared = simulate.prepare(decay, {y: [1]}, {...grid, params: {k: 1}});
export const second: tf.Tensor = prepared.run({params: {k: 2}}).y;
// @ts-expect-error: misspelt
prepared.run({params: {kk: 2}});
const curved = simulate.hvp(inferred, start, {...grid, params: {k: 1}}, ({q, params: {k}}) => tf.mul(k, tf.sum(tf.square(q))), {params: {k: 1}});
export const curvature: Float64Array = curved.product.params.k;
for (const one of simulate.steps(plain, start, grid)) one.values('q');
export const tree: NumericParams = {k: 1, nested: {a: [1, 2]}};
