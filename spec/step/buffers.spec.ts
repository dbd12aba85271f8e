/**
 * The table of buffers holds for every program that is compiled: names, shapes, and lives. What is misspelt does not
 * compile.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {historyAdjoint, historyForward} from '../../lib/adjoint/timed-pull.js';
import type {Engine, Programs} from '../../lib/engine/engine.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {constant} from '../../lib/graph/build.js';
import type {Graph, Node} from '../../lib/graph/node.js';
import {isOp, topological} from '../../lib/graph/node.js';
import {
  adaptive,
  bilateral,
  event,
  gmres,
  kvaerno5,
  mechanics,
  newton,
  ode,
  radauIIA5,
  trapezoid,
} from '../../lib/index.js';
import type {SimulateOptions, System} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';
import type {BufferName, BufferShape, StepExecutable} from '../../lib/step/buffers.js';
import {bufferInput, graphOf, bufferKind, hasLifetime} from '../../lib/step/buffers.js';
import {CompiledStep} from '../../lib/step/compiled.js';
import {denseHessianPrograms} from '../../lib/step/dense-hessian-programs.js';
import {hessianPrograms, instantHessianPrograms} from '../../lib/step/hessian-programs.js';
import {historyTangentPrograms} from '../../lib/step/history-programs.js';
import {denseWithoutInterpolant} from '../../lib/step/interpolant.js';
import type {TracedStep} from '../../lib/step/traced-step.js';
import {slow} from '../tiers.js';

/** Directions, and states that are observed, in numbers that nothing else has. */
const [directions, states] = [7, 11];

interface Compiled {
  readonly step: CompiledStep;
  readonly traced: TracedStep;
  /** Numbers in the user's blocks. */
  readonly own: number;
  readonly groups: readonly Programs[];
}

/** Every group of programs that a run and its derivatives may ask for. */
function compiledFor(system: System, initial: Parameters<typeof prepare>[1], options: SimulateOptions): Compiled {
  const prepared = prepare(system, initial, options);
  const groups: Programs[] = [];
  const engine: Engine = {
    ...interpreter,
    compile: (programs, more) => (groups.push(programs), interpreter.compile(programs, more)),
  };
  const {traced, linear} = prepared;
  const step = new CompiledStep(traced, engine);
  const context = {...prepared, compiled: step, engine};
  const solver = step.matrices.sweepSolver(linear);
  const {sequential, jacobian} = step.matrices;
  const whole = step.derived.step;
  const dense = denseWithoutInterpolant(whole);
  new CompiledStep(prepared.start.traced, engine).forward(linear);
  step.forward(linear);
  step.forward(linear, 'narrow');
  if (sequential !== undefined) step.sequentialPrograms(linear, sequential);
  if (step.implicit)
    void [
      step.products,
      step.fullProduct,
      step.storedProduct,
      step.unrolled,
      step.tangentResidual(directions, false),
      step.tangentResidual(directions, true),
    ];
  void [
    step.adjoint(solver),
    step.fullAdjoint(solver),
    step.tangent(directions, solver),
    step.pullDerived,
    step.secondOrderDerived(directions),
    step.observe(states),
  ];
  for (const timed of [false, true])
    step.group(`hessian.${timed}`, () => hessianPrograms(whole, jacobian, directions, timed));
  step.group('instantHessian', () => instantHessianPrograms(whole, directions));
  if (dense !== undefined) step.group('denseHessian', () => denseHessianPrograms(whole, dense, jacobian, directions));
  step.group('historyTangent', () => historyTangentPrograms(whole, jacobian, directions));
  void [historyForward(context), historyAdjoint(context)];
  return {step, traced, own: prepared.start.traced.inputs.x.size, groups};
}

const weights = Array.from({length: 3}, (_, i) => Array.from({length: 3}, (__, j) => Math.sin(1 + i + 3 * j)));
/** A mass and a force of parameters through matrices that are worth computing once, driven, damped. */
const system = mechanics({
  mass: ({params}) => tf.add(tf.matMul(params.w as tf.Tensor2D, params.w as tf.Tensor2D, false, true), tf.eye(3)),
  forces: ({q, v, t, params}) =>
    tf.sub(
      tf.reshape(tf.matMul(tf.reshape(tf.tanh(tf.sub(q, tf.mul(v, 0.1))), [1, 3]), params.w as tf.Tensor2D), [3]),
      tf.mul(q, tf.sin(t)),
    ),
});
const initial = {q: [0.3, -0.2, 0.1], v: [0, 0.5, -0.5]};
const params = {w: weights};
const observe = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sum(tf.square(q));
const wall = event({when: ({q}) => tf.sum(q as tf.Tensor), then: ({q, v}) => ({q, v: tf.neg(v as tf.Tensor)})});
const pendulum = mechanics({
  mass: 2,
  forces: ({q}) => tf.mul(q, 0),
  constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
});

const runs: readonly (readonly [name: string, compiled: () => ReturnType<typeof compiledFor>])[] = [
  [
    'trapezoid, observed',
    () => compiledFor(system, initial, {scheme: trapezoid({guess: 'linearized'}), dt: 0.1, steps: 2, params, observe}),
  ],
  [
    'trapezoid, matrix-free',
    () =>
      compiledFor(system, initial, {scheme: trapezoid(), dt: 0.1, steps: 2, params, newton: newton({linear: gmres()})}),
  ],
  [
    'kvaerno5, adaptive with events',
    () =>
      compiledFor(system, initial, {
        scheme: kvaerno5(),
        dt: 0.1,
        t1: 1,
        params,
        control: adaptive({rtol: 1e-4}),
        events: [wall],
        saveAt: [0.35, 1],
      }),
  ],
  [
    'radauIIA5 with constraints',
    () =>
      compiledFor(
        pendulum,
        {q: [1, 0], v: [0, 0]},
        {scheme: radauIIA5(), dt: 0.1, t1: 1, control: adaptive({rtol: 1e-4})},
      ),
  ],
  [
    'radauIIA5 of an ode',
    () =>
      compiledFor(
        ode(({y, t}) => tf.add(tf.mul(y, -2), tf.sin(t))),
        {y: [1, 2]},
        {scheme: radauIIA5(), dt: 0.1, t1: 1, control: adaptive({rtol: 1e-4}), saveAt: [0.3, 1]},
      ),
  ],
];

const named = ({inputs, outputs}: Graph): [name: string, node: Node][] => [
  ...inputs.map(node => [node.attributes.name, node] as [string, Node]),
  ...outputs.map(({name, node}) => [name, node] as [string, Node]),
];

describe('step: the table of buffers', () => {
  for (const [name, compiled] of runs) {
    slow(`tells the shape of every buffer: ${name}`, () => {
      const {step, traced, own, groups} = compiled();
      const {functions, inputs, state, unknown, parameters} = traced;
      const {derived} = step;
      const sizes: {readonly [S in BufferShape]?: number} = {
        number: 1,
        own,
        unknown: unknown.size,
        block: unknown.blocks[0].size,
        defect: inputs.defect?.size,
        events: functions.events?.size,
        inside: functions.inside?.size,
        kept: step.storage.size,
        layers: step.activations?.size,
        states: states * state.size,
        times: states,
        observed: states * (functions.observed?.size ?? 0),
      };
      let count = 0;
      // The first group is that of the step that begins the run, from the user's blocks to the whole state.
      groups.forEach((programs, at) => {
        const ends: {readonly [S in BufferShape]?: number} =
          at === 0
            ? {...sizes, unknown: undefined, defect: undefined, kept: undefined, state: own, end: state.size}
            : {...sizes, state: state.size, end: state.size};
        for (const [program, graph] of Object.entries(programs)) {
          for (const [buffer, node] of named(graph)) {
            const kind = bufferKind(buffer);
            expect(kind, `${program}: ${buffer}`).to.not.equal(undefined);
            if (kind === undefined) continue;
            const index = Number(buffer.split('.').pop());
            const ofDerived = /^d?derived/i.test(buffer);
            const size =
              kind.shape !== 'parameter'
                ? ends[kind.shape]
                : ofDerived
                  ? derived.values[index].node.size
                  : parameters[index].node.size;
            if (size === undefined) continue;
            count++;
            // pushObserved has one direction, and no axis for it.
            const many = kind.batched === true && program !== 'pushObserved' ? directions : 1;
            expect(node.size, `${program}: ${buffer} is ${kind.shape}`).to.equal(many * size);
          }
        }
      });
      expect(count).to.be.above(100);
    });

    slow(`what is computed ahead changes as seldom as its buffer: ${name}`, () => {
      const families = [
        'parameters',
        'derived',
        'stepStart',
        'sequentialStep',
        'linearize',
        'between',
        'sequentialBegin',
      ];
      let found = 0;
      for (const programs of compiled().groups) {
        for (const {outputs} of Object.values(programs)) {
          for (const {name: buffer, node} of outputs) {
            const lifetime = bufferKind(buffer)?.lifetime ?? 'call';
            if (!families.includes(buffer.split('.')[0])) continue;
            found++;
            for (const below of topological([node]))
              if (isOp(below, 'input'))
                expect(
                  hasLifetime(below.attributes.name, lifetime),
                  `${buffer} reads ${below.attributes.name}`,
                ).to.equal(true);
          }
        }
      }
      if (name !== 'radauIIA5 with constraints') expect(found).to.be.above(0);
    });
  }

  it('refuses a buffer that it does not have', () => {
    const {traced} = prepare(system, initial, {scheme: trapezoid(), dt: 0.1, steps: 1, params});
    const one = constant(Float64Array.of(1), [1]);
    const step = new CompiledStep(traced, interpreter);
    // @ts-expect-error: no buffer is called Q
    expect(() => step.group('own', () => ({own: graphOf({Q: one})}))).to.throw(/no buffer of a step is called Q/);
  });

  it('makes misspelt programs and buffers errors of the compiler', () => {
    const {compiled, linear} = prepare(system, initial, {scheme: trapezoid(), dt: 0.1, steps: 1, params});
    const forward = compiled.forward(linear);
    // @ts-expect-error: residuals
    expect(() => forward.run('residuals')).to.throw(/residuals/);
    // @ts-expect-error: a program of another group
    expect(() => forward.program('pullStep')).to.throw(/pullStep/);
    // @ts-expect-error: zCotangnet
    expect(forward.optionalBuffer('zCotangnet')).to.equal(undefined);
    // @ts-expect-error: of a name that is put together too
    expect(forward.optionalBuffer(`q.${1}`)).to.equal(undefined);
    // @ts-expect-error: as an input
    bufferInput('zz', []);
    // @ts-expect-error: the executable of other programs
    const other: StepExecutable<'pullStep'> = forward;
    expect(other).to.equal(forward);
    const right: BufferName[] = ['p.0', 'pCotangent.pullStep.3', 'dderived.1', 'z'];
    expect(right.map(buffer => bufferKind(buffer)?.shape)).to.deep.equal([
      'parameter',
      'parameter',
      'parameter',
      'unknown',
    ]);
  });
});
