/**
 * What depends on the step's beginning alone is computed once a step, what depends on the place alone once for all
 * products: counted, and the same to the bit.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Engine, Executable, Programs} from '../../lib/engine/engine.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {countWork} from '../../lib/graph/work.js';
import {isOp, topological} from '../../lib/graph/node.js';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  blendedEuler,
  gaussLegendre,
  generalizedAlpha,
  gmres,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  ode,
  radauIIA5,
  sdirk2,
  simulate,
  theta,
  trapezoid,
} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {graphOf} from '../../lib/step/buffers.js';
import {linearization, withLinearization, withParameterProgram, withStepStart} from '../../lib/step/precomputation.js';
import {forwardPrograms, productPrograms} from '../../lib/step/programs.js';
import {counted} from '../engine/counted.js';
import {slow} from '../tiers.js';

const n = 4;
const weights = Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => Math.sin(1 + i + 3 * j)));
/** A force of one layer that is driven by a wave, and a mass that depends on the place. */
const system = mechanics({
  mass: ({q}) => tf.add(1, tf.mul(tf.sin(q), 0.3)),
  forces: ({q, v, t, params}) =>
    tf.sub(
      tf.reshape(tf.matMul(tf.reshape(tf.tanh(tf.sub(q, tf.mul(v, 0.1))), [1, n]), params.w as tf.Tensor2D), [n]),
      tf.mul(q, tf.add(5, tf.sin(tf.mul(t, 3)))),
    ),
});
const initial = {q: [0.3, -0.2, 0.1, 0.4], v: [0, 0.5, -0.5, 0.2]};
const options = (scheme: Scheme) => ({scheme, dt: 0.05, steps: 5, params: {w: weights}, saveAt: 'end'}) as const;

function programsOf(scheme: Scheme): Programs {
  const {traced, compiled} = prepare(system, initial, options(scheme));
  return withParameterProgram({
    ...forwardPrograms(traced, compiled.matrices.matrix),
    keep: graphOf({next: traced.functions.update, kept: compiled.storage.node}),
  });
}

/** How often the interpreter takes the tangens hyperbolicus of an array while `run` runs: once in every force. */
const forces = (run: () => void): number => counted('unary', ({attributes}) => attributes.fn === 'tanh', run);

const tanhs = (programs: Programs, name: string): number =>
  topological(programs[name].outputs.map(({node}) => node)).filter(
    node => isOp(node, 'unary') && node.attributes.fn === 'tanh',
  ).length;
const work = (programs: Programs, name: string): number => countWork(programs[name].outputs.map(({node}) => node));

/** The same numbers for both: smooth, and different in every place. */
function fill(executable: Executable, seed: number): void {
  for (const [k, name] of ['x', 'z', 'direction', 'lastUnknown'].entries())
    executable.optionalBuffer(name)?.forEach((_, i, values) => (values[i] = Math.sin(seed + k + 1.7 * i)));
  executable.optionalBuffer('t')?.fill(0.3 + seed);
  executable.optionalBuffer('h')?.fill(0.05);
  executable.optionalBuffer('p.0')?.set(weights.flat());
}

describe('step: what depends on the beginning alone', () => {
  it('leaves one force a residual to the trapezoidal rule, and to Kværnø’s what its stages take', () => {
    for (const [scheme, own] of [
      [trapezoid(), 1],
      [trapezoid({form: 'coupled'}), 1],
      [theta(0.6), 1],
      [kvaerno5(), 6],
    ] as const) {
      const whole = programsOf(scheme);
      const programs = withStepStart(whole);
      expect(tanhs(whole, 'residual'), scheme.name).to.equal(own + 1);
      expect(tanhs(programs, 'residual'), scheme.name).to.equal(own);
      // Kværnø's guess is made of it anyway.
      expect(tanhs(programs, 'guess'), scheme.name).to.equal(1);
    }
    // By counted work: that of the implicit Euler scheme, with one force, and the sum of two.
    const one = work(programsOf(implicitEuler()), 'residual');
    expect(work(programsOf(trapezoid()), 'residual')).to.be.above(1.7 * one);
    expect(work(withStepStart(programsOf(trapezoid())), 'residual')).to.be.below(1.1 * one);
  });

  it('takes a drive at known times, and a mass at a known place', () => {
    const sines = (programs: Programs): number =>
      topological(programs.residual.outputs.map(({node}) => node)).filter(
        node => isOp(node, 'unary') && node.attributes.fn === 'sin',
      ).length;
    // sin 3t at one end or both, and the mass where the velocities are weighed: the beginning with β = 0.
    expect(
      [implicitEuler(), trapezoid(), blendedEuler({alpha: 1, beta: 0})].map(scheme => [
        sines(programsOf(scheme)),
        sines(withStepStart(programsOf(scheme))),
      ]),
    ).to.deep.equal([
      [2, 1],
      [3, 1],
      [2, 0],
    ]);
  });

  it('is counted once a step in a run', () => {
    let [residuals, jacobians] = [0, 0];
    const steps = 7;
    const count = forces(() => {
      const trajectory = simulate(system, initial, {...options(trapezoid()), steps, engine: 'interpreter'});
      ({residualEvaluations: residuals, jacobianEvaluations: jacobians} = trajectory.stats);
      trajectory.dispose();
    });
    // One more is taken before the first Jacobian, which is compared with its tangent.
    expect(count - residuals - jacobians - steps).to.be.within(0, 4);
    expect(residuals).to.be.at.least(2 * steps);
  });

  it('stays where it is cheap', () => {
    const spring = mechanics({mass: 2, forces: ({q}) => tf.mul(q, -3)});
    for (const scheme of [trapezoid(), implicitMidpoint(), newmark()]) {
      const {traced, compiled} = prepare(spring, initial, {scheme, dt: 0.1, steps: 1});
      const programs = forwardPrograms(traced, compiled.matrices.matrix);
      expect(withStepStart(programs), scheme.name).to.equal(programs);
    }
    expect(withStepStart({update: graphOf({})})).to.deep.equal({update: graphOf({})});
  });

  const schemes = [
    trapezoid(),
    trapezoid({form: 'coupled'}),
    trapezoid({guess: 'linearized'}),
    theta(0.7, {guess: 'rest'}),
    blendedEuler({alpha: 0.5, beta: 0}),
    implicitMidpoint(),
    newmark(),
    generalizedAlpha({rhoInf: 0.7}),
    bdf2(),
    sdirk2(),
    kvaerno5(),
    gaussLegendre({stages: 2}),
    radauIIA5(),
  ];
  for (const engine of [interpreter, wasm] as readonly Engine[]) {
    slow(`changes no bit of any program: ${engine.name}`, () => {
      for (const scheme of schemes) {
        const whole = programsOf(scheme);
        const [plain, apart] = [engine.compile(whole), engine.compile(withStepStart(whole))];
        const outputs = Object.fromEntries(
          Object.entries(whole).map(([name, graph]) => [name, graph.outputs.map(output => output.name)]),
        );
        for (const seed of [1, 2]) {
          const found = [plain, apart].map(executable => {
            fill(executable, seed);
            if (executable.has('parameters')) executable.run('parameters');
            executable.run('guess');
            const guessed = executable.buffer('z').slice();
            return [
              guessed,
              ...['startResidual', 'residual', 'jacobian', 'startJacobian', 'residual', 'keep', 'update'].flatMap(
                (name, k) => {
                  if (!executable.has(name)) return [];
                  executable.buffer('z').forEach((_, i, z) => (z[i] = guessed[i] + Math.cos(k + i) / 8));
                  executable.run(name);
                  return outputs[name].map(output => executable.buffer(output).slice());
                },
              ),
            ];
          });
          expect(found[1], scheme.name).to.deep.equal(found[0]);
        }
      }
    });

    it(`changes no bit of matrix-free products, and leaves them no force: ${engine.name}`, () => {
      const {traced} = prepare(system, initial, options(trapezoid()));
      const whole = productPrograms(traced);
      const programs = withLinearization(whole);
      expect([
        tanhs(whole, 'apply'),
        tanhs(programs, 'apply'),
        tanhs(programs, 'applyTransposed'),
        tanhs(programs, linearization),
      ]).to.deep.equal([1, 0, 0, 1]);
      const found = [whole, programs].map(each => {
        const executable = engine.compile(each);
        fill(executable, 1);
        if (executable.has(linearization)) executable.run(linearization);
        return ['apply', 'applyTransposed'].map(name => {
          executable.run(name);
          return executable.buffer(name === 'apply' ? 'Jd' : 'JTd').slice();
        });
      });
      expect(found[1]).to.deep.equal(found[0]);
    });
  }

  it('is computed once for all products of a Krylov solve', () => {
    let [residuals, iterations] = [0, 0];
    const count = forces(() => {
      const trajectory = simulate(system, initial, {
        ...options(implicitMidpoint()),
        steps: 4,
        engine: 'interpreter',
        newton: newton({linear: gmres()}),
      });
      ({residualEvaluations: residuals, newtonIterations: iterations} = trajectory.stats);
      expect(trajectory.stats.linearIterations).to.be.above(4 * iterations);
      trajectory.dispose();
    });
    // A residual each, and the place of products once for the correction and once for the next one's estimate.
    expect(count - residuals).to.be.within(iterations, 2 * iterations + 4);
  });

  it('leaves one force to each block that is found in turn, the residual’s own numbers', () => {
    const {traced, compiled} = prepare(system, initial, {...options(kvaerno3()), control: adaptive({rtol: 1e-4})});
    const {sequential} = compiled.matrices;
    if (sequential === undefined) throw new Error('the stages of a diagonally implicit method are found in turn');
    const programs = sequential.programs as Programs;
    expect(tanhs(programs, 'sequentialStep')).to.equal(1);
    for (const engine of [interpreter, wasm] as readonly Engine[]) {
      const [whole, apart] = [forwardPrograms(traced, compiled.matrices.matrix), programs].map(each =>
        engine.compile(each, {extra: {z: traced.unknown.size}}),
      );
      for (const executable of [whole, apart]) fill(executable, 1);
      whole.run('residual');
      apart.run('sequentialStep');
      for (let k = 0; k < sequential.blocks; k++) {
        expect(tanhs(programs, `sequentialResidual.${k}`)).to.equal(1);
        apart.buffer('zs').set(apart.buffer('z').subarray(k * n, (k + 1) * n));
        if (apart.has(`sequentialBegin.${k}`)) apart.run(`sequentialBegin.${k}`);
        apart.run(`sequentialResidual.${k}`);
        expect(apart.buffer('Rs'), engine.name).to.deep.equal(whole.buffer('R').slice(k * n, (k + 1) * n));
      }
    }
  });

  it('belongs to each step of an adaptive run, whose guess goes on from the last', () => {
    const drive = ode(({y, t}) => tf.add(tf.mul(y, -2), tf.sin(tf.mul(t, 5))));
    const setup = {
      scheme: radauIIA5(),
      control: adaptive({rtol: 1e-9, atol: 1e-9}),
      dt: 0.02,
      t1: 1,
      saveAt: 'end',
    } as const;
    const {traced, compiled} = prepare(drive, {y: [1]}, setup);
    const programs = withStepStart(
      forwardPrograms(traced, compiled.matrices.matrix, undefined, compiled.matrices.filter),
    );
    for (const name of ['guess', 'extrapolate'])
      expect(
        programs[name].outputs.map(output => output.name),
        name,
      ).to.include('stepStart.0');
    for (const engine of ['wasm', 'interpreter'] as const) {
      const trajectory = simulate(drive, {y: [1]}, {...setup, engine});
      // y' = −2y + sin 5t, y(0) = 1: (2 sin 5t − 5 cos 5t + 34 e^(−2t))/29.
      expect(trajectory.values('y')[1], engine).to.be.closeTo(
        (2 * Math.sin(5) - 5 * Math.cos(5) + 34 * Math.exp(-2)) / 29,
        1e-8,
      );
      trajectory.dispose();
    }
  });
});
