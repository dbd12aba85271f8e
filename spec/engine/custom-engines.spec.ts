/** Custom engines: one that counts what another one runs, and one written in thirty lines. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  batch,
  bilateral,
  implicitMidpoint,
  mechanics,
  OptionError,
  rk4,
  simulate,
  type SimulateOptions,
} from '../../lib/index.js';
import {bufferSizes, chooseEngine, factorizationOf, plainVectors} from '../../lib/engine/index.js';
import type {Engine, Executable} from '../../lib/engine/engine.js';
import {valuesOf} from '../../lib/graph/declarations.js';
import {topological, type Graph, type Node} from '../../lib/graph/node.js';
import {primitiveOf} from '../../lib/graph/primitives/index.js';

/** How often each program of `engine` is run, by name. */
function counting(engine: Engine): {readonly engine: Engine; readonly runs: Map<string, number>} {
  const runs = new Map<string, number>();
  const counted = (executable: Executable): Executable => {
    const program = (name: string): (() => void) => {
      const run = executable.program(name);
      return () => {
        runs.set(name, (runs.get(name) ?? 0) + 1);
        run();
      };
    };
    return {...executable, run: name => program(name)(), program};
  };
  return {
    runs,
    engine: {
      name: `counted ${engine.name}`,
      epsilon: engine.epsilon,
      compile: (programs, options) => counted(engine.compile(programs, options)),
    },
  };
}

/** Every node's numbers in an array of their own, by the interpreter's kernels; outputs change when all are known. */
const simple: Engine = {
  name: 'simple',
  epsilon: Number.EPSILON,
  compile(programs, options) {
    const buffers = new Map([...bufferSizes(programs, options)].map(([name, size]) => [name, new Float64Array(size)]));
    const buffer = (name: string): Float64Array => {
      const found = buffers.get(name);
      if (found === undefined) throw new Error(`no buffer is called ${name}`);
      return found;
    };
    const compile = (graph: Graph): (() => void) => {
      const {outputs} = valuesOf(graph);
      const arrays = new Map<Node, Float64Array>(graph.inputs.map(node => [node, buffer(node.attributes.name)]));
      const order = topological(outputs.map(({node}) => node)).filter(({op}) => op !== 'input');
      const array = (node: Node): Float64Array => {
        const known = arrays.get(node) ?? new Float64Array(node.size);
        arrays.set(node, known);
        return known;
      };
      // A reshape holds the same numbers in the same order.
      const steps = order.map(node => ({
        out: array(node),
        operands: node.operands.map(array),
        kernel: primitiveOf(node).evaluate(node),
      }));
      return () => {
        for (const {kernel, operands, out} of steps) kernel(operands, out);
        const values = outputs.map(({node}) => array(node).slice());
        outputs.forEach(({name}, i) => buffer(name).set(values[i]));
      };
    };
    const compiled = new Map(Object.entries(programs).map(([name, graph]) => [name, compile(graph)]));
    const program = (name: string): (() => void) => {
      const found = compiled.get(name);
      if (found === undefined) throw new Error(`no program is called ${name}`);
      return found;
    };
    return {
      buffer,
      program,
      optionalBuffer: name => buffers.get(name),
      has: name => compiled.has(name),
      run: name => program(name)(),
      vectors: plainVectors,
      factorization: factorizationOf,
    };
  },
};

const spring = mechanics({
  mass: [1, 2],
  forces: [({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q))), ({v}) => tf.mul(v, -0.1)],
});
const rod = mechanics({
  mass: 1,
  forces: ({params}) => tf.mul(params.k as tf.Tensor, tf.tensor1d([0, -1])),
  constraints: [bilateral(({q}) => tf.sub(tf.norm(q), 1))],
});
const systems = [
  {name: 'springs', system: spring, initial: {q: [0.5, 1], v: [0, 0.3]}},
  {name: 'a rod', system: rod, initial: {q: [0.6, 0.8], v: [0.8, -0.6]}},
] as const;

describe('an engine from outside', () => {
  const options: SimulateOptions = {scheme: implicitMidpoint(), dt: 0.05, steps: 20, params: {k: 3}};

  for (const {name, system, initial} of systems) {
    for (const make of [
      () => simple,
      () => counting(chooseEngine('interpreter')).engine,
      () => counting(chooseEngine('wasm')).engine,
    ]) {
      it(`${name}, ${make().name}: motion, gradient and tangent are those of the interpreter, to the bit`, () => {
        const [mine, theirs] = [make(), 'interpreter' as const].map(engine => {
          const {trajectory, pullback} = simulate.vjp(system, initial, {...options, engine});
          const q = trajectory.values('q');
          const gradient = pullback({q: Float64Array.from(q, Math.cos)});
          trajectory.dispose();
          const along = simulate.jvp(system, initial, {...options, engine}, {params: {k: 1}});
          along.trajectory.dispose();
          return {
            q,
            k: gradient.params.k,
            start: gradient.initial.q,
            tangent: along.tangent.q,
            engine: trajectory.stats.engine,
          };
        });
        expect(mine.engine).to.equal(make().name);
        expect({...mine, engine: ''}).to.deep.equal({...theirs, engine: ''});
      });
    }
  }

  it('counts the programs that a run takes', () => {
    const {engine, runs} = counting(chooseEngine('interpreter'));
    const total = (): number => [...runs.values()].reduce((sum, times) => sum + times, 0);
    const cost = [1, 2, 3].map(() => {
      const before = total();
      const path = simulate(spring, {q: [0.5, 1], v: [0, 0.3]}, {...options, engine});
      path.dispose();
      expect(total() - before).to.be.at.least(path.stats.newtonIterations + path.stats.steps);
      return total() - before;
    });
    // The compiled step is kept and counted on; its first run checks the Jacobian against a tangent, too.
    expect(cost[0] - cost[1]).to.equal(1);
    expect(cost[2]).to.equal(cost[1]);
  });

  it('two engines of one name are not taken for each other', () => {
    const [first, second] = [1, 2].map(() => {
      const {engine, runs} = counting(chooseEngine('interpreter'));
      return {engine: {...engine, name: 'interpreter'}, runs};
    });
    for (const {engine} of [first, second])
      simulate(spring, {q: [0.5, 1], v: [0, 0.3]}, {...options, engine}).dispose();
    expect(second.runs.size).to.be.greaterThan(0);
    expect(second.runs).to.deep.equal(first.runs);
  });

  it('serves explicit schemes, batches (in this thread), and is refused where it is none', () => {
    const paths = [simple, 'interpreter' as const].map(engine =>
      batch(
        spring,
        [0.1, 0.2, 0.3].map(x => ({q: [x, 1], v: [0, 0]})),
        {...options, scheme: rk4(), engine},
      ),
    );
    for (let i = 0; i < 3; i++) {
      expect(paths[0][i].values('q')).to.deep.equal(paths[1][i].values('q'));
      expect(paths[0][i].stats.thread).to.equal('own');
      for (const path of paths) path[i].dispose();
    }
    expect(() =>
      simulate(spring, {q: [0, 1], v: [0, 0]}, {...options, engine: {name: 'x', epsilon: 1} as unknown as Engine}),
    ).to.throw(OptionError, 'compile(programs, options)');
  });
});
