/** Two tiers of one engine: interpreted and compiled programs give the same bits in the same buffers, whenever one becomes the other. */
import {expect} from 'chai';
import fc from 'fast-check';
import {automatic} from '../../lib/engine/automatic.js';
import type {CompileOptions, Executable} from '../../lib/engine/engine.js';
import {routinesOf} from '../../lib/engine/routines.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {full, input, mul, sub} from '../../lib/graph/build.js';
import {namedGraph} from '../../lib/graph/named-graph.js';
import {implicitMidpoint, mechanics, simulate} from '../../lib/index.js';
import {graphs} from '../graph/programs.js';
import {runs} from '../property.js';
import {compare, fill} from './wasm/agreement.js';
import {slow} from '../tiers.js';

const isCompiled = (executable: Executable): boolean => routinesOf(executable) !== undefined;

/** The logistic map, x ← 3.7 x (1 − x), in which a difference of one bit grows. */
function logistic(options?: CompileOptions): Executable {
  const x = input('x', [1]);
  return automatic.compile({step: namedGraph({x: mul(full(3.7, [1]), mul(x, sub(full(1, [1]), x)))})}, options);
}

describe('engine: automatic', () => {
  it('interprets at first, and compiles after many calls', () => {
    const executable = logistic();
    const calls = (count: number): void => {
      for (let i = 0; i < count; i++) executable.run('step');
    };
    calls(10);
    expect(isCompiled(executable)).to.equal(false);
    calls(1000);
    expect(isCompiled(executable)).to.equal(true);
  });

  it('compiles at once what will be called often', () => {
    expect(isCompiled(logistic({calls: 10}))).to.equal(false);
    expect(isCompiled(logistic({calls: 1e4}))).to.equal(true);
    const executable = logistic();
    executable.expect?.(10);
    expect(isCompiled(executable)).to.equal(false);
    executable.expect?.(Infinity);
    expect(isCompiled(executable)).to.equal(true);
  });

  it('keeps buffers and functions through the change, with the bits of compiled code', () => {
    const [tiered, compiled] = [logistic(), logistic({calls: Infinity})];
    const x = tiered.buffer('x');
    const step = tiered.program('step');
    x[0] = compiled.buffer('x')[0] = 0.3;
    for (let i = 0; i < 2000; i++) {
      step();
      compiled.run('step');
    }
    expect(isCompiled(tiered)).to.equal(true);
    expect(tiered.buffer('x')).to.equal(x);
    expect(x[0]).to.equal(compiled.buffer('x')[0]);
    expect(x[0]).to.be.within(0.1, 0.95);
  });

  slow('random programs: the bits of compiled code before and after, in the room that was left for it', () => {
    fc.assert(
      fc.property(graphs(12), graph => {
        const [tiered, compiled] = [automatic.compile({main: graph}), wasm.compile({main: graph})];
        const agree = (): void => {
          for (const executable of [tiered, compiled]) {
            graph.inputs.forEach((node, i) => fill(executable.buffer(node.attributes.name), i + 1));
            executable.run('main');
          }
          for (const {name} of graph.outputs) compare(name, tiered.buffer(name), compiled.buffer(name), 'exact');
        };
        agree();
        tiered.expect?.(Infinity);
        expect(isCompiled(tiered)).to.equal(true);
        agree();
      }),
      runs(40),
    );
  });

  it('a run has the same bits in both tiers, and so has its gradient', () => {
    const system = mechanics({mass: [1, 2], forces: ({q, v}) => q.square().mul(q).mul(-9).sub(v.mul(0.3))});
    const states = [4, 4000].map(steps => {
      const {trajectory, pullback} = simulate.vjp(
        system,
        {q: [1, -0.5], v: [0, 1]},
        {scheme: implicitMidpoint(), dt: 0.05, steps, saveAt: [0.2]},
      );
      const q = trajectory.values('q');
      trajectory.dispose();
      return [...q, ...(pullback({q: [1, 2]}).initial.q ?? [])];
    });
    expect(states[0]).to.deep.equal(states[1]);
  });
});
