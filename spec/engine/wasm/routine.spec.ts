/** Routines that call compiled functions: their order, their arguments, what they return, their loops and decisions. */
import {expect} from 'chai';
import {numericKernels} from '../../../lib/engine/wasm/kernels.js';
import {routine} from '../../../lib/engine/wasm/routine.js';
import {wasm} from '../../../lib/engine/index.js';
import {routinesOf} from '../../../lib/engine/routines.js';
import {add, constant, input, mul} from '../../../lib/graph/build.js';
import {namedGraph} from '../../../lib/graph/named-graph.js';

const memory = new WebAssembly.Memory({initial: 1, maximum: 1});
const doubles = new Float64Array(memory.buffer);
const {axpy, copy, largest, sumOfSquares} = numericKernels(memory);

describe('a routine of compiled functions', () => {
  beforeEach(() => doubles.fill(0));

  it('calls them in their order and returns what the last one does', () => {
    doubles.set([3, -4], 0);
    const run = routine(memory, {parameters: [], results: ['f64']}, w => {
      w.run(copy, 16, 0, 2);
      w.run(axpy, 16, 16, 0, 2, {number: 0.5});
      w.call(sumOfSquares, [16, 2], 'f64')();
    });
    expect(run()).to.equal(1.5 ** 2 + 2 ** 2);
    expect([...doubles.subarray(0, 4)]).to.deep.equal([3, -4, 1.5, -2]);
  });

  it('hands its own numbers on, and stores what calls between return', () => {
    doubles.set([1, 2], 0);
    const run = routine(memory, {parameters: ['f64', 'f64'], results: ['f64']}, w => {
      w.store(w.int(64), w.call(sumOfSquares, [0, 2], 'f64'));
      w.run(axpy, 0, 0, 0, 2, w.parameter(1));
      w.run(axpy, 0, 0, 0, 2, w.parameter(0));
      const most = w.keep('f64', w.call(largest, [0, 2], 'f64'));
      w.store(w.int(64), w.get(most), 8);
      w.get(most)();
    });
    // x − s x twice: (1 − 3)(1 − 0.5) = −1.
    expect(run(0.5, 3)).to.equal(2);
    expect([...doubles.subarray(8, 10)]).to.deep.equal([5, 2]);
    expect([...doubles.subarray(0, 2)]).to.deep.equal([-1, -2]);
  });

  it('ends where it returns in the midst of a loop, with addresses that move', () => {
    doubles.set([1, 2, 4, NaN, 8], 0);
    // Copies numbers while they are at most 4; the place of the first that is not.
    const run = routine<(count: number) => number>(memory, {parameters: ['i32'], results: ['i32']}, w => {
      const [k, at, to] = [w.local('i32'), w.keep('i32', w.int(0)), w.keep('i32', w.int(80))];
      w.for(k, w.int(0), w.get(w.parameter(0)), () => {
        const size = w.call(largest, [at, 1], 'f64');
        w.if(w.op('i32.eqz', w.op('f64.le', size, w.number(4))), () => w.return(w.get(k)));
        w.run(copy, to, at, 1);
        for (const moving of [at, to]) w.set(moving, w.plus(w.get(moving), w.int(8)));
      });
      w.int(-1)();
    });
    expect(run(2)).to.equal(-1);
    expect([...doubles.subarray(10, 15)]).to.deep.equal([1, 2, 0, 0, 0]);
    expect(run(5)).to.equal(3);
    expect([...doubles.subarray(10, 15)]).to.deep.equal([1, 2, 4, 0, 0]);
  });

  it('calls functions of JavaScript', () => {
    const run = routine<(x: number) => number>(memory, {parameters: ['f64'], results: ['f64']}, w =>
      w.call(Math.atan2, [w.parameter(0), {number: 1}], 'f64')(),
    );
    expect(run(1)).to.equal(Math.PI / 4);
  });
});

describe('programs in one memory', () => {
  const x = input('x', [3]);
  const doubled = {main: namedGraph({y: mul(x, constant(Float64Array.of(2), []))})};
  const moved = {main: namedGraph({y: add(x, constant(Float64Array.of(1, 10, 100), [3]))})};

  it('are called by one routine, and each has buffers of its own', () => {
    const engine = wasm.inOneMemory?.() ?? wasm;
    const [first, second, room] = [engine.compile(doubled), engine.compile(moved), engine.compile({}, {extra: {z: 5}})];
    const routines = routinesOf(first);
    if (routines === undefined) throw new Error('compiled programs have routines');
    first.buffer('x').set([1, 2, 3]);
    const places = [first, second].map(one => ({x: one.buffer('x').byteOffset, y: one.buffer('y').byteOffset}));
    const z = room.buffer('z');
    routine(routines.memory, {parameters: [], results: []}, w => {
      w.run(first.program('main'));
      w.run(routines.vectors.copy, places[1].x, places[0].y, 3);
      w.run(second.program('main'));
      w.run(routines.vectors.copy, z.byteOffset + 8, places[1].y, 3);
    })();
    expect([...first.buffer('x')]).to.deep.equal([1, 2, 3]);
    expect([...second.buffer('x')]).to.deep.equal([2, 4, 6]);
    expect([...z]).to.deep.equal([0, 3, 14, 106, 0]);
    for (const one of [second, room])
      expect(one.buffer(one === room ? 'z' : 'x').buffer).to.equal(routines.memory.buffer);
  });

  it('compute what they compute in a memory of their own, where those lie that come later', () => {
    const engine = wasm.inOneMemory?.() ?? wasm;
    const first = engine.compile(doubled);
    first.buffer('x').set([0.1, 0.2, 0.3]);
    const later = engine.compile(moved);
    for (const [one, programs] of [
      [first, doubled],
      [later, moved],
    ] as const) {
      const alone = wasm.compile(programs);
      for (const each of [one, alone]) {
        each.buffer('x').set([0.1, 0.2, 0.3]);
        each.run('main');
      }
      expect([...one.buffer('y')]).to.deep.equal([...alone.buffer('y')]);
    }
    expect(later.buffer('x').buffer).not.to.equal(first.buffer('x').buffer);
  });
});
