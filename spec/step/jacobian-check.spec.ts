/** The first Jacobian of a step against its tangent: what is wrong is told by row and name, what is right passes, on every engine. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitEuler, mechanics, newton, ode, simulate, sparseLu, StiffgradError} from '../../lib/index.js';
import {gather} from '../../lib/graph/build.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {run} from '../../lib/integrate/run.js';
import type {JacobianProgram} from '../../lib/step/jacobian-program.js';
import {deserializeError, serializeError} from '../../lib/simulate/workers/serialize-error.js';

const n = 6;
const rowOf = (count: number) =>
  mechanics({
    mass: 1,
    forces: ({q}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [count - 1])]));
      const tension = tf.mul(tf.sinh(d), 30);
      return tf.sub(tf.concat([tf.slice(tension, [1], [count - 1]), tf.zeros([1])]), tension);
    },
  });
const start = (count: number) => ({
  q: Array.from({length: count}, (_, i) => Math.sin(i + 1)),
  v: new Array<number>(count).fill(0),
});

/** The Jacobian with one entry forgotten, as a dependence rule that is wrong would have it. */
function without(program: JacobianProgram, row: number, column: number): JacobianProgram {
  const {
    pattern: {rowPointers, columns},
    values,
  } = program;
  const kept = [...columns.keys()].filter(
    k => !(k >= rowPointers[row] && k < rowPointers[row + 1] && columns[k] === column),
  );
  expect(kept.length).to.equal(columns.length - 1);
  return {
    ...program,
    values: gather(values, Int32Array.from(kept), [kept.length]),
    pattern: {
      ...program.pattern,
      columns: Int32Array.from(kept, k => columns[k]),
      rowPointers: rowPointers.map((k, i) => (i > row ? k - 1 : k)),
    },
  };
}

/** Runs with what `change` makes of the Jacobian. */
function runWith(
  engine: 'wasm' | 'interpreter' | 'tensor',
  step: number,
  change: (program: JacobianProgram) => JacobianProgram,
): void {
  // A step of another length is not another structure, a force of another constant is; -0 stands for no force at all.
  const system = mechanics({mass: 1, forces: [...[rowOf(n).forces].flat(), ({v}) => tf.mul(v, -step)]});
  const prepared = prepare(system, start(n), {
    scheme: implicitEuler(),
    dt: 0.1,
    steps: 2,
    engine,
    newton: newton({linear: sparseLu()}),
  });
  const {compiled} = prepared;
  const {jacobian} = compiled.matrices;
  if (jacobian === undefined) throw new Error('an implicit step without a Jacobian');
  Object.assign(compiled.matrices, {cachedJacobian: change(jacobian)});
  const {error} = run(prepared);
  if (error !== undefined) throw error;
}

function errorOf(work: () => void): StiffgradError {
  try {
    work();
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the first Jacobian of a step is compared with its tangent', () => {
  (['wasm', 'interpreter'] as const).forEach((engine, i) => {
    it(`an entry that the pattern lacks is told by its row (${engine})`, () => {
      const error = errorOf(() => runWith(engine, 0.1 + i, program => without(program, 3, 4)));
      expect(error.code).to.equal('jacobian-pattern');
      expect(error.data).to.include({row: 3, name: 'velocity[3]'});
      expect(error.message).to.match(/row 3 \(velocity\[3\]\)/);
      expect(deserializeError(serializeError(error)!).code).to.equal('jacobian-pattern');
    });

    it(`so are values in each other's places (${engine})`, () => {
      const exchanged = (program: JacobianProgram): JacobianProgram => {
        const order = Int32Array.from(program.pattern.columns.keys());
        [order[0], order[1]] = [order[1], order[0]];
        return {...program, values: gather(program.values, order, [order.length])};
      };
      expect(errorOf(() => runWith(engine, 0.3 + i, exchanged)).data).to.include({row: 0});
    });
  });

  it('it stays an error: the next run of the same step tells it again', () => {
    for (let again = 0; again < 2; again++)
      expect(
        errorOf(() => runWith('wasm', 0.7, program => (again === 0 ? without(program, 0, 1) : program))).code,
      ).to.equal('jacobian-pattern');
  });

  it('what is right passes, in single precision and on a kink too', () => {
    for (const engine of ['wasm', 'interpreter', 'tensor'] as const) {
      runWith(engine, 0.5, program => program);
      // The force's slope jumps where the start stands.
      const kinked = mechanics({mass: 1, forces: ({q}) => tf.mul(tf.relu(tf.sub(q, 0.1)), -1000)});
      const path = simulate(
        kinked,
        {q: [0.1, 0.1, 1], v: [0, 0, 0]},
        {scheme: implicitEuler(), dt: 0.1, steps: 2, engine},
      );
      expect(path.values('q')[0]).to.be.closeTo(0.1, 1e-6);
    }
  });

  it('entries that cancel to nothing pass: only rounding is left of their tangent', () => {
    // 0.1 + 0.2 − 0.3 is 5.6e-17, and zero where the sum is made in another order.
    const cancelling = ode(({y}) =>
      tf.sub(tf.add(tf.mul(tf.reverse(y), 0.1), tf.mul(tf.reverse(y), 0.2)), tf.mul(tf.reverse(y), 0.3)),
    );
    const path = simulate(cancelling, {y: [1, 2, 3]}, {scheme: implicitEuler(), dt: 0.1, steps: 1});
    expect([...path.values('y').slice(3)]).to.deep.equal([1, 2, 3]);
  });

  it('is done once for a structure, and changes no bit of a result', () => {
    const options = {scheme: implicitEuler(), dt: 0.1, steps: 3};
    const [first, second] = [0, 1].map(() => simulate(rowOf(7), start(7), options));
    expect(second.values('q')).to.deep.equal(first.values('q'));
    expect(second.stats.milliseconds.compile).to.be.below(first.stats.milliseconds.compile);
  });
});
