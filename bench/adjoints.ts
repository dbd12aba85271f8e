/**
 * Every adjoint on one problem, a chain of masses on hardening springs whose gradient is taken with respect to
 * every stiffness and the initial state: `times` by the number of masses, `errors` of the gradient, `decay` what damping does
 * to the continuous adjoint; and `memory NAME STEPS`, in a process of its own with --expose-gc.
 */
import * as tf from '@tensorflow/tfjs';
import type {Adjoint, Initial, Scheme, SimulateOptions} from '../lib/index.js';
import {
  backsolveAdjoint,
  forwardSensitivity,
  gaussLegendre,
  implicitAdjoint,
  kvaerno3,
  mechanics,
  rk4,
  simulate,
  trapezoid,
  unrolledAdjoint,
} from '../lib/index.js';
import type {AdjointsResults} from './results.js';

/** Of the checkpointed run: what 40 steps of 8 masses leave. */
const smallMemory = 2 ** 13;

const adjoints: Readonly<Record<string, Adjoint>> = {
  'implicitAdjoint()': implicitAdjoint(),
  [`implicitAdjoint({memory: ${smallMemory}})`]: implicitAdjoint({memory: smallMemory}),
  'unrolledAdjoint()': unrolledAdjoint(),
  'forwardSensitivity()': forwardSensitivity(),
  'backsolveAdjoint()': backsolveAdjoint({drift: Infinity}),
};

/** n unit masses in a row, one end on a wall, springs k(d + d³/2) with k = 10, damping c, gravity 1; 10 units of time. */
function problem(
  n: number,
  c = 0.1,
): {system: ReturnType<typeof mechanics>; initial: Initial; params: {k: Float64Array}; end: number} {
  const system = mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(0.5, tf.mul(d, tf.square(d)))));
      return tf.add(
        tf.sub(tf.sub(tf.concat([tf.slice(tension, [1], [n - 1]), tf.zeros([1])]), tension), tf.mul(v, c)),
        1,
      );
    },
  });
  return {
    system,
    initial: {q: new Float64Array(n), v: new Float64Array(n)},
    params: {k: new Float64Array(n).fill(10)},
    end: 10,
  };
}

type Gradient = () => Float64Array;

/** The run alone, and with its gradient of Σ(q² + v²) at the end. */
function prepare(
  n: number,
  steps: number,
  adjoint: Adjoint,
  {scheme = trapezoid(), c}: {scheme?: Scheme; c?: number} = {},
): {forward: () => void; gradient: Gradient} {
  const {system, initial, params, end} = problem(n, c);
  const options: SimulateOptions = {scheme, dt: end / steps, steps, saveAt: 'end', params, adjoint};
  const simulation = simulate.prepare(system, initial, options);
  const ends = (x: Float64Array): Float64Array => x.map((value, i) => (i < n ? 0 : 2 * value));
  return {
    forward: () => simulation.run().dispose(),
    gradient: () => {
      const {trajectory, pullback} = simulation.vjp();
      trajectory.dispose();
      const {
        initial: {q, v},
        params: {k},
      } = pullback({q: ends(trajectory.values('q')), v: ends(trajectory.values('v'))});
      return Float64Array.from([...(q as Float64Array), ...(v as Float64Array), ...(k as Float64Array)]);
    },
  };
}

/** The gradient and a product with the Hessian, along one direction. */
function hessian(n: number, steps: number): () => void {
  const {system, initial, params, end} = problem(n);
  const simulation = simulate.prepare(system, initial, {
    scheme: trapezoid(),
    dt: end / steps,
    steps,
    saveAt: 'end',
    params,
  });
  const loss = ({q, v}: {q: tf.Tensor; v: tf.Tensor}): tf.Tensor =>
    tf.add(tf.sum(tf.square(tf.slice(q, [1, 0], [1, n]))), tf.sum(tf.square(tf.slice(v, [1, 0], [1, n]))));
  return () => simulation.hvps(loss, [{params: {k: new Float64Array(n).fill(1)}}]).trajectory.dispose();
}

const relative = (a: Float64Array, b: Float64Array): number =>
  Math.hypot(...a.map((x, i) => x - b[i])) / Math.hypot(...b);

/** V8 has optimised what it will by then, in milliseconds. */
const warmUp = 800;
/** Turns that all take one after another; what has taken so many milliseconds takes no more of them. */
const rounds = 40;
const enough = 2000;

/** The least of some turns, in milliseconds: what else the machine does falls on all of them alike. */
function race(works: Readonly<Record<string, () => unknown>>): Record<string, number> {
  const least: Record<string, number> = {};
  const took = (work: () => unknown): number => {
    const begin = performance.now();
    work();
    return performance.now() - begin;
  };
  for (const work of Object.values(works)) for (let spent = 0; spent < warmUp;) spent += took(work);
  const spent: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) {
      if ((spent[name] ?? 0) > enough) continue;
      const time = took(work);
      spent[name] = (spent[name] ?? 0) + time;
      least[name] = Math.min(least[name] ?? Infinity, time);
    }
  }
  return least;
}

const steps = 1000;

function times(): AdjointsResults['times'] {
  return [2, 4, 8, 16, 32].map(n => {
    const each = Object.entries(adjoints).map(([name, adjoint]) => [name, prepare(n, steps, adjoint)] as const);
    const {
      'simulate.hvp': hvp,
      forward,
      ...gradients
    } = race({
      forward: each[0][1].forward,
      ...Object.fromEntries(each.map(([name, {gradient}]) => [name, gradient])),
      'simulate.hvp': hessian(n, steps),
    });
    return {n, parameters: 3 * n, steps, forward, gradients, hvp};
  });
}

function errors(): AdjointsResults['errors'] {
  const n = 8;
  const ofMotion = prepare(n, 2000, implicitAdjoint(), {scheme: gaussLegendre({stages: 3})}).gradient();
  const schemes = [trapezoid(), kvaerno3(), rk4()];
  return schemes.flatMap(scheme =>
    [250, 500, 1000, 2000].map(count => {
      const ofRun = prepare(n, count, implicitAdjoint(), {scheme}).gradient();
      return {
        scheme: scheme.name,
        steps: count,
        run: relative(ofRun, ofMotion),
        adjoints: Object.fromEntries(
          Object.entries(adjoints).map(([name, adjoint]) => [
            name,
            relative(prepare(n, count, adjoint, {scheme}).gradient(), ofRun),
          ]),
        ),
      };
    }),
  );
}

/** Damping makes the motion forget where it came from. */
function decay(): AdjointsResults['decay'] {
  return [0, 0.1, 0.5, 1, 2, 4, 8].map(c => {
    const options = {scheme: rk4(), c};
    try {
      return {
        c,
        error: relative(
          prepare(8, steps, backsolveAdjoint({drift: Infinity}), options).gradient(),
          prepare(8, steps, implicitAdjoint(), options).gradient(),
        ),
      };
    } catch (error) {
      return {c, error: null, code: (error as {code?: string}).code};
    }
  });
}

/** Bytes that are held between a run and its gradient. */
function memory(name: string, count: number): number {
  const {gc} = globalThis as {gc?: () => void};
  if (gc === undefined) throw new Error('adjoints.js memory needs node --expose-gc');
  const used = (): number => {
    gc();
    gc();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const {system, initial, params, end} = problem(8);
  const run = (length: number): (() => void) => {
    const {trajectory, pullback} = simulate.vjp(system, initial, {
      scheme: trapezoid(),
      dt: end / length,
      steps: length,
      saveAt: 'end',
      params,
      adjoint: adjoints[name],
    });
    trajectory.dispose();
    return () => void pullback({q: new Float64Array(16).fill(1)});
  };
  // Everything compiled; some runs more, so that no code is being optimised meanwhile.
  for (let i = 0; i < 20; i++) run(10)();
  const before = used();
  const pull = run(count);
  const held = used() - before;
  pull();
  return held;
}

const [what, name, count] = process.argv.slice(2);
if (what === 'names') console.log(JSON.stringify(Object.keys(adjoints)));
else if (what === 'memory') console.log(JSON.stringify(memory(name, Number(count))));
else console.log(JSON.stringify({times: times(), errors: errors(), decay: decay()}));
