/**
 * What goes wrong, and what is said of it: each case is the error class of the interface with its code
 * and a sentence that names the place and the way out. After each of them no tensor is left, the
 * backend and the trace are as before, and a good run works.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ForceTerm, Initial, Mass, Scheme, Derivative, MechanicalSystem} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  adaptive,
  backtracking,
  blendedEuler,
  compliant,
  dde,
  defineScheme,
  equilibrium,
  explicitEuler,
  implicitEuler,
  implicitMidpoint,
  InconsistentStateError,
  mechanics,
  newmark,
  NewtonError,
  newton,
  ode,
  OptionError,
  rk4,
  ShapeError,
  simulate,
  SingularMatrixError,
  StiffgradError,
  subSteps,
  theta,
  TraceError,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {isTracing} from '../../lib/trace/trace.js';

type ErrorClass = new (code: string, message: string) => StiffgradError;

/** JavaScript has no types to stop these: what a user gives by mistake. */
const wrong = <T>(value: unknown): T => value as T;

const spring: ForceTerm = ({q}) => tf.mul(q, -10);
const start: Initial = {q: [1, 2], v: [0, 0]};
const run =
  (
    forces: ForceTerm | readonly ForceTerm[],
    mass: Mass = 1,
    initial: Initial = start,
    options: Partial<RunSettings> = {},
  ) =>
  (): void =>
    simulate(mechanics({mass, forces}), initial, {dt: 0.1, steps: 3, ...options}).dispose();
const given = (options: {readonly [name: string]: unknown}): (() => void) => run(spring, 1, start, wrong(options));

/** q⁺ of the midpoint rule, one step of 0.1 of a unit mass on 10 N/m from 1 at rest: (1 − 0.025)/(1 + 0.025). */
const goodRun = 0.9512195121951219;

/** The error of a failure, with everything around it as before. */
function failure(f: () => unknown): StiffgradError {
  const before = tf.memory();
  const backend = tf.getBackend();
  let caught: unknown;
  try {
    f();
  } catch (error) {
    caught = error;
  }
  expect(tf.memory()).to.include({numTensors: before.numTensors, numDataBuffers: before.numDataBuffers});
  expect(tf.getBackend()).to.equal(backend);
  expect(isTracing()).to.equal(false);
  const path = simulate(mechanics({mass: 1, forces: spring}), {q: [1], v: [0]}, {dt: 0.1, steps: 1});
  // A rounding or two.
  expect(path.values('q')[1]).to.be.closeTo(goodRun, 4e-16);
  path.dispose();
  expect(caught, 'an error').to.be.instanceOf(StiffgradError);
  return caught as StiffgradError;
}

function expectError(f: () => unknown, kind: ErrorClass, code: string, ...words: RegExp[]): StiffgradError {
  const error = failure(f);
  expect(error, error.message).to.be.instanceOf(kind);
  expect(error.code, error.message).to.equal(code);
  expect(error.name).to.equal(kind.name);
  for (const word of words) expect(error.message).to.match(word);
  // Sentences: a full stop at the end, one at a time.
  expect(error.message)
    .to.match(/[.)?]$/)
    .and.not.to.match(/[^.]\.\.[^.]|[^.]\.\.$|\[object/);
  return error;
}

describe('errors: shapes', () => {
  it('a force of another shape than q', () => {
    const words = [/^forces\[0\] must return a tensor of the shape of q, \[2\]; it returned a tensor of shape \[\]/];
    expectError(
      run(({t}) => t),
      ShapeError,
      'force-shape',
      ...words,
    );
    expectError(
      run(({q}) => tf.concat([q, q])),
      ShapeError,
      'force-shape',
      /\[4\]/,
    );
    expectError(
      run(({q}) => tf.reshape(q, [1, 2])),
      ShapeError,
      'force-shape',
      /\[1, 2\]/,
    );
    expectError(run([spring, ({q}) => tf.sum(q)]), ShapeError, 'force-shape', /^forces\[1\]/);
  });

  it('a force that is no tensor', () => {
    expectError(
      run(wrong(() => 3)),
      ShapeError,
      'force-shape',
      /^forces\[0\] must return a tensor of the shape of q, \[2\]; it returned 3, of type number/,
    );
    expectError(run(wrong(() => undefined)), ShapeError, 'force-shape', /it returned nothing/);
  });

  it('operations inside a force that do not fit', () => {
    const error = expectError(
      run([spring, ({q}) => tf.add(q, tf.ones([3]))]),
      ShapeError,
      'shape-mismatch',
      /^forces\[1\]: .*\[2\].*\[3\]/,
    );
    expect(error.data.term).to.equal('forces[1]');
    expectError(
      run(({q}) => tf.matMul(q as tf.Tensor2D, q as tf.Tensor2D)),
      ShapeError,
      'shape-mismatch',
      /^forces\[0\]: .*matMul/,
    );
  });

  it('a mass of wrong shape, as numbers or as a function', () => {
    const words = [/^mass has shape \[3\]: give a number, one mass per coordinate \[2\], or a matrix \[2, 2\]/];
    expectError(run(spring, [1, 2, 3]), ShapeError, 'mass-shape', ...words);
    expectError(
      run(spring, () => tf.ones([3])),
      ShapeError,
      'mass-shape',
      ...words,
    );
    expectError(
      run(spring, [
        [1, 2, 3],
        [4, 5, 6],
      ]),
      ShapeError,
      'mass-shape',
      /\[2, 3\]/,
    );
    expectError(
      run(
        spring,
        wrong(() => 1),
      ),
      ShapeError,
      'mass-shape',
      /^mass must return a tensor; it returned 1, of type number/,
    );
    expectError(run(spring, [[1, 2], [3]]), ShapeError, 'ragged-array', /^mass is not a full array/);
  });

  it('a coefficient written as a force, in a constraint and of a delay', () => {
    const held = wrong<() => tf.Tensor>(({params}: {params: {c: tf.Tensor}}) => params.c);
    const soft = mechanics({mass: 1, forces: spring, constraints: [compliant(({q}) => q, {compliance: held})]});
    const late = dde({derivative: ({delayed: [y]}) => y, delays: [held], maxDelay: 2, history: () => tf.scalar(1)});
    for (const [told, going] of [
      ['constraints[0].compliance', () => simulate(soft, {q: 1, v: 0}, {dt: 0.1, steps: 1, params: {c: 1}})],
      ['dde: delays[0]', () => simulate(late, {y: 1}, {dt: 0.1, steps: 1, params: {c: 1}})],
    ] as const)
      expect(going)
        .to.throw(OptionError)
        .with.property('message')
        .that.includes(told)
        .and.includes('given the params themselves: ({k}) => k, not ({params}) => params.k.');
  });

  it('q and v that differ, ragged arrays, no numbers', () => {
    expectError(
      run(spring, 1, {q: [1, 2], v: [0]}),
      ShapeError,
      'initial-shape',
      /^initial\.v has shape \[1\], but initial\.q has \[2\]/,
    );
    expectError(run(spring, 1, {q: [1, 2], v: [[0, 0]]}), ShapeError, 'initial-shape', /\[1, 2\]/);
    expectError(run(spring, 1, {q: [], v: []}), ShapeError, 'initial-shape', /initial\.q is empty/);
    expectError(
      run(spring, 1, {q: [[1, 2], [3]], v: [0, 0]}),
      ShapeError,
      'ragged-array',
      /^initial\.q is not a full array: at depth 1 one entry has 2 elements and another 1/,
    );
    expectError(
      run(spring, 1, wrong({q: [1, 'a'], v: [0, 0]})),
      OptionError,
      'not-numeric',
      /^initial\.q\[1\] is 'a', not a number\.$/,
    );
    expectError(
      run(spring, 1, wrong({q: [Float64Array.of(1, 2)], v: [[0, 0]]})),
      OptionError,
      'not-numeric',
      /^initial\.q\[0\] is an object, not a number\..* An array may not contain typed arrays or tensors/,
    );
    expectError(
      run(spring, 1, wrong({q: null, v: [0, 0]})),
      OptionError,
      'not-numeric',
      /^initial\.q must be .* not null/,
    );
  });

  it('the derivative of an ode', () => {
    const ofTwo = ode(({y}) => tf.concat([y, y]));
    expectError(
      () => simulate(ofTwo, {y: [1]}, {dt: 0.1, steps: 1}),
      ShapeError,
      'derivative-shape',
      /^The derivative must return a tensor of the shape of y, \[1\]; it returned a tensor of shape \[2\]/,
    );
    expectError(
      () => simulate(ode(wrong<Derivative>(() => 1)), {y: [1]}, {dt: 0.1, steps: 1}),
      ShapeError,
      'derivative-shape',
      /number/,
    );
    expectError(
      () => simulate(ode(wrong<Derivative>(() => [1])), {y: [1]}, {dt: 0.1, steps: 1}),
      ShapeError,
      'derivative-shape',
      /returned an array \(tf\.stack/,
    );
  });

  it("blocks of a scheme of one's own", () => {
    const half = defineScheme({name: 'half', order: 1, unknown: [], update: (_, {x}) => ({q: x.q})});
    expectError(
      run(spring, 1, start, {scheme: half}),
      ShapeError,
      'block-shape',
      /^half: update must give 'v' of shape \[2\]; it gave only 'q'\.$/,
    );
    const returning = (blocks: unknown): (() => unknown) =>
      run(spring, 1, start, {
        scheme: defineScheme({name: 'half', order: 1, unknown: [], update: () => blocks as never}),
      });
    const gave = (blocks: unknown, message: RegExp): unknown =>
      expectError(returning(blocks), ShapeError, 'block-shape', message);
    const [q, v] = [tf.zeros([2]), tf.zeros([2])];
    gave({q, vv: v}, /'v' of shape \[2\]; it gave only 'q', 'vv'\. Is 'vv' meant to be 'v'\?$/);
    gave({q, speed: v}, /it gave only 'q', 'speed'\.$/);
    gave({q, v: 1}, /'v' of shape \[2\]; it gave 1, not a tensor\.$/);
    gave({}, /'q' of shape \[2\]; it gave no blocks\.$/);
    gave(undefined, /'q' of shape \[2\]; it gave undefined, not an object of blocks\.$/);
    const summed = defineScheme({
      name: 'summed',
      order: 1,
      unknown: ['v'],
      residual: ({v}) => ({v: tf.sum(v)}),
      update: ({v}, {x}) => ({q: x.q, v}),
    });
    expectError(
      run(spring, 1, start, {scheme: summed}),
      ShapeError,
      'block-shape',
      /^summed: residual must give 'v' of shape \[2\]; it gave shape \[\]/,
    );
  });
});

describe('errors: numbers', () => {
  it('NaN or Infinity in the initial state, parameters, mass and captured variables', () => {
    expectError(
      run(spring, 1, {q: [1, NaN], v: [0, 0]}),
      InconsistentStateError,
      'not-finite',
      /^initial\.q\[1\] is NaN/,
    );
    expectError(
      run(spring, 1, {
        q: [
          [1, 2],
          [3, 4],
        ],
        v: [
          [0, 0],
          [0, -Infinity],
        ],
      }),
      InconsistentStateError,
      'not-finite',
      /^initial\.v\[1, 1\] is -Infinity/,
    );
    expectError(
      run(({q, params}) => tf.mul(q, (params.spring as {k: tf.Tensor}).k), 1, start, {params: {spring: {k: NaN}}}),
      InconsistentStateError,
      'not-finite',
      /^params\.spring\.k is NaN/,
    );
    expectError(run(spring, [1, NaN]), InconsistentStateError, 'not-finite', /^The mass is not finite at \[1\]: NaN/);
    const stiffness = tf.variable(tf.scalar(NaN), true, 'stiffness');
    expectError(
      run(({q}) => tf.mul(q, stiffness)),
      InconsistentStateError,
      'not-finite',
      /^The captured variable stiffness is NaN/,
    );
    stiffness.dispose();
  });

  it('a captured tensor that is disposed after the trace', () => {
    const gone = tf.variable(tf.scalar(1), true, 'gone');
    const system = mechanics({mass: 1, forces: ({q}) => tf.mul(q, gone)});
    const options = {dt: 0.1, steps: 1};
    const prepared = simulate.prepare(system, start, options);
    gone.dispose();
    for (const again of [
      () => prepared.run(),
      () => prepared.vjp({}),
      () => simulate(system, start, options),
      () => simulate.vjp(system, start, options),
    ]) {
      expectError(
        again,
        OptionError,
        'disposed-tensor',
        /^The captured variable gone \(shape \[\]\) of a traced function was disposed/,
        /tf\.keep/,
      );
    }
  });

  it('a recurrent layer that keeps a state of its own', () => {
    const layer = tf.layers.simpleRNN({units: 1, stateful: true, batchInputShape: [2, 1, 1]});
    const network = tf.sequential({layers: [layer]});
    const system = mechanics({
      mass: 1,
      forces: ({q}) => tf.reshape(network.predict(tf.reshape(q, [2, 1, 1])) as tf.Tensor, [2]),
    });
    // The layer's own state is a tensor that stays.
    expect(() => simulate(system, start, {dt: 0.1, steps: 1})).to.throw(OptionError, /stateful: true.*stateful: false/);
    network.dispose();
  });

  it('a force that is not finite at the start, where the scheme evaluates it there', () => {
    expectError(
      run(({q}) => tf.log(tf.sub(q, 5)), 1, start, {scheme: newmark()}),
      InconsistentStateError,
      'not-finite',
      /^a\[0\] of the initial state is NaN: a force or the mass/,
    );
  });

  it('a mass that is zero, negative or a singular matrix: its rows', () => {
    const rows = (mass: Mass, ...words: RegExp[]): unknown =>
      expectError(run(spring, mass), SingularMatrixError, 'singular-mass', ...words).data.rows;
    expect(rows(0, /^mass is 0: every coordinate needs a positive mass/)).to.deep.equal([0]);
    expectError(run(spring, [1, 0]), OptionError, 'wrong-scheme', /coordinates without a mass, and mass\[1\] is 0/);
    expect(rows([1, -2], /^mass\[1\] is -2/)).to.deep.equal([1]);
    expect(
      rows(
        [
          [1, 2],
          [2, 4],
        ],
        /^The mass matrix is singular: its rows 0, 1 depend on one another/,
      ),
    ).to.deep.equal([0, 1]);
    const three = run(
      spring,
      [
        [1, 0, 1],
        [0, 5, 0],
        [1, 0, 1],
      ],
      {q: [1, 2, 3], v: [0, 0, 0]},
    );
    expect(expectError(three, SingularMatrixError, 'singular-mass', /rows 0, 2 depend/).data.rows).to.deep.equal([
      0, 2,
    ]);
    const massless = run(spring, ({params}) => params.m as tf.Tensor, start, {params: {m: 0}, scheme: rk4()});
    expectError(massless, SingularMatrixError, 'singular-mass', /^mass is 0/);
  });
});

describe('errors: traces', () => {
  it("JavaScript's operators on tensors", () => {
    type Force = (at: {readonly q: tf.Tensor}) => tf.Tensor;
    for (const force of [
      ({q}: {q: number}): number => -3 * q,
      ({q}: {q: number}): number => q + 1,
      ({q}: {q: number}): number => (q > 0 ? 1 : q),
      ({q}: {q: number}): string => `${q}`,
    ])
      expectError(run(force as unknown as Force), TraceError, 'value-read', /operator of JavaScript.*tf\.mul\(-3, q\)/);
  });

  it('reading a value in a force or a mass', () => {
    const words = [/^forces\[0\] reads the value of a tensor \(Multiply\)/, /tf\.where instead of if/];
    expectError(
      run(({q}) => tf.mul(q, tf.mul(q, 2).dataSync()[0])),
      TraceError,
      'value-read',
      ...words,
    );
    expectError(
      run(({q}) => ((tf.sum(q).arraySync() as number) > 0 ? q : tf.neg(q))),
      TraceError,
      'value-read',
      /Sum/,
    );
    expectError(
      run(spring, ({q}) => tf.scalar(q.dataSync()[0])),
      TraceError,
      'value-read',
      /^mass reads/,
    );
  });

  it('an asynchronous force, mass or derivative', () => {
    expectError(
      run(wrong(async ({q}: {q: tf.Tensor}) => Promise.resolve(q))),
      TraceError,
      'asynchronous',
      /^forces\[0\] is asynchronous: it returned a promise/,
    );
    expectError(
      run([spring, wrong(async ({q}: {q: tf.Tensor}) => tf.mul(q, (await q.data())[0]))]),
      TraceError,
      'asynchronous',
      /^forces\[1\]/,
    );
    expectError(
      run(
        spring,
        wrong(async () => Promise.resolve(tf.scalar(1))),
      ),
      TraceError,
      'asynchronous',
      /^mass/,
    );
    expectError(
      () =>
        simulate(
          ode(wrong<Derivative>(async ({y}: {y: tf.Tensor}) => Promise.resolve(y))),
          {y: [1]},
          {dt: 0.1, steps: 1},
        ),
      TraceError,
      'asynchronous',
      /^derivative/,
    );
  });

  it('an unsupported kernel, named with its term and reason', () => {
    const {data} = expectError(
      run([
        spring,
        ({q}) =>
          tf.reshape(
            tf.conv3d(tf.reshape(q, [2, 1, 1, 1]) as tf.Tensor4D, tf.ones([1, 1, 1, 1, 1]) as tf.Tensor5D, 1, 'valid'),
            [2],
          ),
      ]),
      TraceError,
      'unsupported-kernel',
      /^forces\[1\] uses the tfjs kernel Conv3D/,
      /convolutions/,
    );
    expect(data).to.include({kernel: 'Conv3D', term: 'forces[1]'});
  });

  it('a parameter that was not given', () => {
    expectError(
      run(({q, params}) => tf.mul(q, params.stiffness as tf.Tensor), 1, start, {params: {k: 1}}),
      TraceError,
      'not-a-tensor',
      /^forces\[0\] gives mul an operand that is undefined: a parameter of a name that the run's params do not have/,
    );
  });

  it('random numbers and disposed tensors', () => {
    expectError(
      run(({q}) => tf.mul(q, tf.randomNormal([2]))),
      TraceError,
      'random',
      /^forces\[0\] draws random numbers/,
    );
    const gone = tf.scalar(1);
    gone.dispose();
    expectError(
      run(({q}) => tf.mul(q, gone)),
      TraceError,
      'disposed-tensor',
      /^forces\[0\] uses a tensor that has been disposed/,
    );
    expectError(run(spring, 1, {q: gone, v: 0}), OptionError, 'disposed-tensor', /^initial\.q is a disposed tensor/);
  });

  it('a simulation inside a force', () => {
    expectError(
      run(({q}) => {
        run(spring)();
        return q;
      }),
      OptionError,
      'nested',
      /^simulate cannot run inside a traced function/,
    );
  });

  it("a user's own error passes unchanged", () => {
    const mine = new RangeError('no such spring');
    const before = tf.memory().numTensors;
    expect(
      run(() => {
        throw mine;
      }),
    ).to.throw(mine);
    expect(tf.memory().numTensors).to.equal(before);
    expect(isTracing()).to.equal(false);
  });
});

describe('errors: steps that fail', () => {
  /** Dry friction, 5 N within ±1 mm/s, on two driven springs. */
  const stickSlip: readonly ForceTerm[] = [
    ({q}) => tf.mul(q, -100),
    ({v}) => tf.mul(-5, tf.tanh(tf.mul(1000, v))),
    ({t}) => tf.mul([50, 0], tf.sin(tf.mul(3, t))),
  ];
  const sticking = (options: Partial<RunSettings> & {steps?: number} = {}) =>
    simulate(
      mechanics({mass: 1, forces: stickSlip}),
      {q: [0.1, 0], v: [0, 0]},
      {scheme: implicitEuler(), dt: 0.01, steps: 100, ...options},
    );

  it('a diverging step: its number, time, history and worst rows', () => {
    const {data, message} = expectError(
      sticking,
      NewtonError,
      'newton-diverged',
      /^Step 5 of implicitEuler, from t = 0\.05 with h = 0\.01: Newton did not converge in 50 iterations \(residual /,
    );
    expect(message).to.match(
      /Worst rows: velocity\[0\] \(-1\.00e-1\)\. Take a smaller dt, newton\(\{step: backtracking\(\)\}\) or newton\(\{onFailure: 'halve'\}\)\.$/,
    );
    expect(data).to.include({step: 5, status: 'newton-diverged', h: 0.01});
    expect(data.t).to.be.closeTo(0.05, 1e-15);
    expect(data.history).to.have.length(50);
    const [worst] = data.rows as {name: string; residual: number}[];
    expect(worst.name).to.equal('velocity[0]');
    expect(Math.abs(worst.residual)).to.be.closeTo(0.1, 0.01);
  });

  it('rows of the coupled form carry the names of the state', () => {
    expectError(
      () => sticking({scheme: implicitEuler({form: 'coupled'})}),
      NewtonError,
      'newton-diverged',
      /Worst rows: v\[0\]/,
    );
  });

  it('advice that is followed already is not given', () => {
    const message = (how: Parameters<typeof newton>[0]): string =>
      failure(() => sticking({newton: newton(how)})).message;
    expect(message({maxIterations: 3})).to.match(/in 3 iterations.*backtracking/);
    expect(message({maxIterations: 3, step: subSteps(0.9)})).to.match(/backtracking.*halve/);
    expect(message({maxIterations: 1, step: backtracking()})).to.match(
      /Take a smaller dt or newton\(\{onFailure: 'halve'\}\)\.$/,
    );
  });

  it('without throwing: the status, what was reached, and nothing but it', () => {
    const before = tf.memory().numTensors;
    const path = sticking({throw: false});
    expect(path.status).to.equal('newton-diverged');
    expect(path.stats.failures).to.deep.equal({'newton-diverged': 1});
    expect(path.stats.steps).to.equal(5);
    expect(path.q.shape).to.deep.equal([6, 2]);
    expect(path.values('t')).to.have.length(6);
    expect(path.values('t')[5]).to.be.closeTo(0.05, 1e-15);
    const whole = sticking({newton: newton({step: backtracking()})});
    // The tolerance's margin, 1e-14, a step, in either run.
    path.values('q').forEach((x, i) => expect(x).to.be.closeTo(whole.values('q')[i], 1e-12));
    path.dispose();
    whole.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('without throwing, the gradient of what was reached', () => {
    const system = mechanics({mass: 1, forces: stickSlip});
    const initial = {q: [0.1, 0], v: [0, 0]};
    const gradient = (options: Partial<RunSettings> & {steps?: number}): Float64Array | undefined => {
      const {trajectory, pullback} = simulate.vjp(system, initial, {
        scheme: implicitEuler(),
        dt: 0.01,
        steps: 5,
        ...options,
      });
      const last = trajectory.values('q').map((_, i) => (i >= 10 ? 1 : 0));
      trajectory.dispose();
      return pullback({q: last}).initial.q;
    };
    expect(gradient({steps: 100, throw: false})).to.deep.equal(gradient({}));
  });

  it('a state that becomes infinite in an explicit scheme', () => {
    const stiff = ({q}: {q: tf.Tensor}): tf.Tensor => tf.mul(q, -1e6);
    for (const [scheme, name] of [
      [explicitEuler(), 'explicitEuler'],
      [verlet(), 'verlet'],
      [rk4(), 'rk4'],
    ] as const) {
      const blown = (raise: boolean) =>
        simulate(mechanics({mass: 1, forces: stiff}), start, {scheme, dt: 1, steps: 1000, throw: raise});
      const {data} = expectError(
        () => blown(true),
        NewtonError,
        'not-finite',
        new RegExp(
          `^Step \\d+ of ${name}, from t = \\d+ with h = 1: `
            + 'the new state is infinite or NaN in [qv]\\[\\d\\] \\(-?(Infinity|NaN)\\)',
        ),
        /smaller dt, or an implicit scheme/,
      );
      const path = blown(false);
      path.dispose();
      expect(path.status).to.equal('not-finite');
      expect(path.stats.steps).to.equal(data.step);
      path.values('q').forEach(x => expect(Number.isFinite(x)).to.equal(true));
    }
  });

  it('a force or a derivative that is not finite along the way', () => {
    expectError(
      run(({q}) => tf.neg(tf.sqrt(tf.sub(q, [0.99, 0]))), 1, start, wrong({steps: 100})),
      NewtonError,
      'not-finite',
      /^Step \d of implicitMidpoint, .*: the residual became infinite or NaN in iteration \d, in velocity\[0\] \(NaN\)\. Check the model/,
    );
    const root = ode(({y}) => tf.sub(tf.sqrt(y), 1));
    expectError(
      () => simulate(root, {y: [0]}, {dt: 0.1, steps: 2, scheme: implicitEuler()}),
      NewtonError,
      'not-finite',
      /a derivative of the model is infinite or NaN, in the Newton matrix's rows y\[0\]/,
    );
  });

  it('a singular Newton matrix: its rows by name', () => {
    // 1 − h²K/4 = 0 in the first coordinate, to the last bit.
    const critical = run(({q}) => tf.mul([256, -1], q), 1, start, {dt: 0.125});
    const {data} = expectError(
      critical,
      SingularMatrixError,
      'singular-step',
      /^Step 0 of implicitMidpoint, from t = 0 with h = 0\.125: the Newton matrix is singular; velocity\[0\]/,
    );
    expect(data.rows).to.deep.equal(['velocity[0]']);
    const path = simulate(mechanics({mass: 1, forces: ({q}) => tf.mul([256, -1], q)}), start, {
      dt: 0.125,
      steps: 3,
      throw: false,
    });
    path.dispose();
    expect(path.status).to.equal('singular');
  });

  it('an equilibrium that is not there, or not unique', () => {
    const floating = mechanics({mass: 1, forces: ({q}) => tf.sub(tf.reverse(q), q)});
    expectError(
      () => equilibrium(floating, {q: [1, 2]}, {}),
      SingularMatrixError,
      'singular-step',
      /^The equilibrium: the Newton matrix is singular; q\[0\], q\[1\] depend on one another\. A motion that no force resists/,
    );
    const none = mechanics({mass: 1, forces: ({q}) => tf.sub(tf.exp(tf.neg(q)), -1)});
    const error = failure(() => equilibrium(none, {q: [0]}, {}));
    expect(error.code).to.be.oneOf(['newton-diverged', 'singular-step']);
    expect(error.message).to.match(/^The equilibrium: /);
  });
});

describe('errors: options', () => {
  it('unknown and misspelt ones', () => {
    expectError(
      given({shceme: verlet()}),
      OptionError,
      'unknown-option',
      /^simulate has no option 'shceme'; it has scheme, /,
    );
    expectError(
      given({t0: 5}),
      OptionError,
      'unknown-option',
      /a run begins at the time of its initial state, for example \{q, v, t: 5\}/,
    );
    expectError(given({saveAt: Float64Array.of(0.1)}), OptionError, 'bad-save', /not a typed array: pass Array\.from/);
    expectError(
      () => trapezoid(wrong({gues: 'rest'})),
      OptionError,
      'bad-scheme',
      /^trapezoid has no option 'gues'; it has form, guess/,
    );
    expectError(() => newmark(wrong({betta: 0.25})), OptionError, 'bad-scheme', /^newmark has no option 'betta'/);
    expectError(
      () => newton(wrong({maxIteration: 3})),
      OptionError,
      'bad-newton',
      /^newton has no option 'maxIteration'/,
    );
  });

  it('times', () => {
    const refused = (options: {readonly [name: string]: unknown}, word: RegExp): void =>
      void expectError(given(options), OptionError, 'bad-time', word);
    refused({dt: 0}, /^dt must be a positive number, or a negative one to run backwards in time, not 0/);
    refused({dt: '0.1'}, /^dt must be a positive number, .*, not '0\.1'/);
    refused({dt: Infinity}, /not Infinity/);
    refused({steps: 1.5}, /^steps must be a whole number of at least 0, not 1\.5/);
    refused({t1: 1}, /^Give either steps or t1, not both/);
    refused({steps: undefined}, /^The run has no end: give steps or t1, or a list of times as saveAt/);
    refused({steps: undefined, saveAt: 'end'}, /^The run has no end/);
    refused({steps: undefined, control: adaptive()}, /^The run has no end: give t1, or steps/);
    refused({steps: undefined, t1: -1}, /^t1 = -1 lies before the start t = 0/);
    expectError(
      run(spring, 1, {...start, t: NaN}),
      OptionError,
      'bad-time',
      /^The initial time must be finite, not NaN/,
    );
  });

  it('saveAt', () => {
    const refused = (saveAt: unknown, word: RegExp): void =>
      void expectError(given({saveAt}), OptionError, 'bad-save', word);
    refused([0.2, 0.1], /^saveAt must ascend: entry 1 is 0\.1 after 0\.2/);
    refused([0, 99], /^saveAt: 99 does not lie in the run, from t = 0 to 0\.3/);
    refused([0, '0.1'], /^saveAt: entry 1 is '0\.1', not a time/);
    refused({every: 0}, /\{every\} must be a whole number of at least 1, not 0/);
    refused('some', /^saveAt must be 'all', 'end', \{every: n\} or a list of times, not 'some'/);
    refused({}, /not an object/);
  });

  it('things that were not called, or are given by name', () => {
    expectError(
      given({scheme: implicitMidpoint}),
      OptionError,
      'bad-scheme',
      /^scheme is the function implicitMidpoint: call it, scheme: implicitMidpoint\(\)/,
    );
    expectError(given({scheme: 'rk4'}), OptionError, 'bad-scheme', /as scheme: trapezoid\(\), not 'rk4'/);
    expectError(given({newton: {iterations: 1}}), OptionError, 'bad-newton', /^newton must be made by newton/);
    expectError(
      given({adjoint: 'implicit'}),
      OptionError,
      'bad-adjoint',
      /^adjoint must be implicitAdjoint\(\), unrolledAdjoint\(\), forwardSensitivity\(\) or backsolveAdjoint\(\), or an AdjointMethod, not 'implicit'/,
    );
    expectError(
      given({engine: 'cuda'}),
      OptionError,
      'bad-engine',
      /'cuda'; choose one of auto, wasm, interpreter, tensor/,
    );
  });

  it('systems, states and schemes that do not belong together', () => {
    expectError(
      () => simulate(wrong<MechanicalSystem>({}), start, {dt: 1, steps: 1}),
      OptionError,
      'bad-system',
      /mechanics\(\{mass, forces\}\), ode\(derivative\), sde\(/,
    );
    expectError(run(spring, 1, wrong(null)), OptionError, 'bad-initial', /^The initial state must be \{q, v\}/);
    expectError(run(spring, 1, wrong({v: [1]})), OptionError, 'bad-initial', /^The initial state lacks q/);
    expectError(
      run(spring, 1, {y: [1]}),
      OptionError,
      'bad-initial',
      /^The initial state must be \{q, v\} for a mechanical system.*it has no 'y'/,
    );
    expectError(
      () =>
        simulate(
          ode(({y}) => y),
          {y: [1]},
          {dt: 1, steps: 1, scheme: verlet()},
        ),
      OptionError,
      'wrong-scheme',
      /^Scheme verlet integrates mechanics/,
    );
    expectError(
      () => mechanics({mass: 1, forces: wrong<ForceTerm>('spring')}),
      OptionError,
      'bad-forces',
      /^forces must be a function/,
    );
    expectError(
      () => mechanics({mass: wrong<number>('heavy'), forces: spring}),
      OptionError,
      'bad-mass',
      /^mass must be a number/,
    );
    expectError(() => ode(wrong<Derivative>(3)), OptionError, 'bad-derivative', /function of \{y, t, params\}/);
  });

  it('schemes out of range', () => {
    const refused = (make: () => Scheme, word: RegExp): void => void expectError(make, OptionError, 'bad-scheme', word);
    refused(() => theta(2), /θ must be a number in \[0, 1\], not 2/);
    refused(() => theta(wrong('0.5')), /not '0\.5'/);
    refused(() => newmark({beta: 2}), /beta must be a number in \[0, 1\], not 2/);
    refused(() => trapezoid({form: wrong('implicit')}), /form must be one of 'condensed', 'coupled', not 'implicit'/);
    refused(
      () => trapezoid({guess: wrong('zero')}),
      /guess must be one of 'rest', 'current', 'consistent', 'linearized', 'extrapolated', not 'zero'/,
    );
    refused(() => blendedEuler({alpha: 1, beta: 1, form: 'coupled', unknown: 'increment'}), /needs form 'condensed'/);
    refused(
      () => defineScheme({order: 1, unknown: ['v'], update: () => ({})}),
      /a scheme with unknown v needs residual/,
    );
  });

  it('parameters', () => {
    expectError(given({params: {k: '4'}}), OptionError, 'bad-parameter', /^params\.k is neither a number/);
    expectError(given({params: {k: [[1], [2, 3]]}}), ShapeError, 'ragged-array', /^params\.k is not a full array/);
  });

  it('series, cotangents and tangents that the run does not have', () => {
    const system = mechanics({mass: 1, forces: spring});
    const {trajectory, pullback} = simulate.vjp(system, start, {dt: 0.1, steps: 3});
    expectError(() => trajectory.values('a'), OptionError, 'no-series', /^This run has no a; it has t, q, v/);
    expectError(
      () => pullback({q: [1]}),
      ShapeError,
      'cotangent-shape',
      /^cotangent\.q has 1 numbers; the saved q has shape \[4, 2\], 8 numbers/,
    );
    expectError(() => pullback(wrong({y: [1]})), OptionError, 'no-series', /no y/);
    trajectory.dispose();
    expectError(
      () => simulate.jvp(system, start, {dt: 0.1, steps: 1}, wrong({initial: {y: [1]}})),
      OptionError,
      'bad-tangent',
      /tangent\.initial has y; the initial state has q, v/,
    );
    expectError(
      () => simulate.jvp(system, start, {dt: 0.1, steps: 1}, {params: {k: 1}}),
      OptionError,
      'bad-tangent',
      /tangent\.params\.k: the run has no such parameter/,
    );
  });
});

describe('errors: under a gradient tape', () => {
  it('a failing forward run leaves the tape and the tensors as they were', () => {
    const k = tf.variable(tf.scalar(100));
    const before = tf.memory().numTensors;
    const loss = (dt: number) => (): tf.Scalar => {
      const path = simulate(
        mechanics({
          mass: 1,
          forces: [
            ({q}) => tf.neg(tf.mul(k, q)),
            ({v}) => tf.mul(-5, tf.tanh(tf.mul(1000, v))),
            ({t}) => tf.mul([50], tf.sin(tf.mul(3, t))),
          ],
        }),
        {q: [0.1], v: [0]},
        {scheme: implicitEuler(), dt, steps: 20},
      );
      return tf.sum(tf.square(path.q)) as tf.Scalar;
    };
    expect(() => tf.variableGrads(loss(0.01))).to.throw(NewtonError);
    expect(tf.memory().numTensors).to.equal(before);
    const {value, grads} = tf.variableGrads(loss(1e-4));
    expect(Number.isFinite(value.dataSync()[0])).to.equal(true);
    expect(Number.isFinite(grads[k.name].dataSync()[0])).to.equal(true);
    tf.dispose([value, grads]);
    expect(tf.memory().numTensors).to.equal(before);
    k.dispose();
  });
});
