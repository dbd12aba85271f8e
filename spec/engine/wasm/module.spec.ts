/** What the engine promises beside numbers: valid modules, fixed memory, no allocation, modules reused. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import wabt from 'wabt';
import {add, input, mul, scalar, sum, unary} from '../../../lib/graph/build.js';
import type {Graph} from '../../../lib/graph/node.js';
import {generate, wasm, wasmSupported} from '../../../lib/engine/wasm/wasm.js';
import {compare, execute, fill} from './agreement.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import {graphs} from '../../graph/programs.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

describe('wasm engine: modules', () => {
  slow('are valid', async () => {
    const toolkit = await wabt();
    fc.assert(
      fc.property(graphs(8), main => {
        const {bytes} = generate({main});
        const module = toolkit.readWasm(bytes, {readDebugNames: false});
        module.validate();
        module.destroy();
      }),
      runs(100),
    );
  });

  it('say whether they can be made', () => {
    expect(wasmSupported()).to.equal(true);
  });

  const x = input('x', [33]);
  const y = input('y', [33]);
  const first: Graph = {inputs: [x], outputs: [{name: 'y', node: unary('sin', x)}]};
  const second: Graph = {
    inputs: [x, y],
    outputs: [
      {name: 'z', node: add(mul(x, y), scalar(1))},
      {name: 'total', node: sum(y, [0])},
    ],
  };

  it('share buffers by name between programs, and keep them for life', () => {
    const executable = wasm.compile({first, second});
    const buffer = executable.buffer('y');
    fill(executable.buffer('x'), 1);
    executable.run('first');
    executable.run('second');
    expect(executable.buffer('y')).to.equal(buffer);
    const expected = execute(interpreter, {first, second}, 1, each => fill(each.buffer('x'), 1));
    for (const name of ['y', 'z', 'total']) compare(name, executable.buffer(name), expected.buffer(name), 'exact');
    expect(() => executable.run('third')).to.throw('third');
    expect(() => executable.buffer('w')).to.throw('w');
  });

  it('hold further buffers on request', () => {
    const executable = wasm.compile({first}, {extra: {room: 5}});
    expect(executable.buffer('room').length).to.equal(5);
    expect(executable.address('room') % 16).to.equal(0);
    expect(executable.buffer('room').byteOffset).to.equal(executable.address('room'));
  });

  it('hold programs with thousands of functions one after another', () => {
    let node = unary('sin', x);
    for (let i = 0; i < 5000; i++) node = i % 3 === 0 ? add(node, x) : unary(i % 3 === 1 ? 'atan' : 'neg', node);
    const [expected, actual] = [interpreter, wasm].map(engine =>
      execute(engine, {long: {inputs: [x], outputs: [{name: 'y', node}]}}, 5),
    );
    compare('y', actual.buffer('y'), expected.buffer('y'), 'exact');
  });

  it('lend their memory to the numerical kernels', () => {
    const executable = wasm.compile({first}, {extra: {w: 33}});
    const {kernels} = executable;
    executable.buffer('x').fill(0.5);
    executable.run('first');
    kernels.axpy(executable.address('w'), executable.address('y'), executable.address('x'), 33, 2);
    expect(executable.buffer('w')[32]).to.equal(executable.buffer('y')[32] - 1);
    expect(executable.kernels).to.equal(kernels);
  });

  it('exchange values: an output may be an input of the same program, and take its old value', () => {
    const [a, b] = [input('a', [5]), input('b', [5])];
    const graph: Graph = {
      inputs: [a, b],
      outputs: [
        {name: 'a', node: b},
        {name: 'b', node: a},
        {name: 'c', node: add(a, b)},
      ],
    };
    const executable = wasm.compile({graph});
    executable.buffer('a').fill(1);
    executable.buffer('b').fill(2);
    executable.run('graph');
    expect([...executable.buffer('a')]).to.deep.equal([2, 2, 2, 2, 2]);
    expect([...executable.buffer('b')]).to.deep.equal([1, 1, 1, 1, 1]);
    expect([...executable.buffer('c')]).to.deep.equal([3, 3, 3, 3, 3]);
  });

  it('do not disturb one another: instances of one module have memories of their own', () => {
    const [one, two] = [wasm.compile({first}), wasm.compile({first})];
    one.buffer('x').fill(1);
    two.buffer('x').fill(2);
    one.run('first');
    two.run('first');
    expect(one.buffer('y')[7]).to.equal(Math.sin(1));
    expect(two.buffer('y')[7]).to.equal(Math.sin(2));
  });

  it('allocate nothing in a call', () => {
    const executable = wasm.compile({first, second});
    const runs = (count: number): void => {
      for (let i = 0; i < count; i++) {
        executable.run('first');
        executable.run('second');
      }
    };
    runs(10_000);
    const before = process.memoryUsage().heapUsed;
    runs(100_000);
    // One object of 16 bytes a run would make 3 MB; what the test runner itself does meanwhile is far below 1.
    expect(process.memoryUsage().heapUsed - before).to.be.below(2 ** 20);
  });
});
