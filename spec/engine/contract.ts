/**
 * What every engine promises beside right values: buffers shared by name, kept for life, and outputs that change at
 * once.
 */
import {expect} from 'chai';
import type {Engine} from '../../lib/engine/engine.js';
import {
  add,
  broadcastTo,
  constant,
  full,
  input,
  mul,
  reshape,
  scalar,
  scale,
  sub,
  sum,
  unary,
} from '../../lib/graph/build.js';
import type {Graph, Node} from '../../lib/graph/node.js';

export const graph = (inputs: readonly Node<'input'>[], outputs: {readonly [name: string]: Node}): Graph => ({
  inputs,
  outputs: Object.entries(outputs).map(([name, node]) => ({name, node})),
});

/** The tests, to be called where an engine is described; the numbers in them are exact in float32. */
export function contract(engine: Engine): void {
  it('updates a value in place, and two by each other at once', () => {
    const [x, y] = [input('x', [2]), input('y', [2])];
    const executable = engine.compile({
      advance: graph([x], {x: scale(x, 2)}),
      exchange: graph([x, y], {x: y, y: x}),
      rotate: graph([x, y], {x: sub(scalar(0), y), y: x, old: x}),
      both: graph([x, y], {x: add(x, y), y: sub(x, y), same: reshape(x, [1, 2])}),
    });
    const buffer = (name: string): number[] => Array.from(executable.buffer(name));
    executable.buffer('x').set([1, 2]);
    executable.buffer('y').set([30, 40]);
    executable.run('advance');
    expect(buffer('x')).to.deep.equal([2, 4]);
    executable.run('exchange');
    expect([buffer('x'), buffer('y')]).to.deep.equal([
      [30, 40],
      [2, 4],
    ]);
    executable.run('rotate');
    expect([buffer('x'), buffer('y'), buffer('old')]).to.deep.equal([
      [-2, -4],
      [30, 40],
      [30, 40],
    ]);
    executable.run('both');
    expect([buffer('x'), buffer('y'), buffer('same')]).to.deep.equal([
      [28, 36],
      [-32, -44],
      [-2, -4],
    ]);
  });

  it('hands values from one program to the next by name, and keeps its arrays for life', () => {
    const [x, z] = [input('x', [3]), input('z', [3])];
    const executable = engine.compile({
      first: graph([x], {z: unary('square', x)}),
      second: graph([z, x], {total: sum(mul(z, x), [0])}),
    });
    const [bufferX, total] = [executable.buffer('x'), executable.buffer('total')];
    bufferX.set([1, 2, 3]);
    executable.run('first');
    executable.run('second');
    expect(total[0]).to.equal(36);
    expect(executable.buffer('total')).to.equal(total);
    expect(() => engine.compile({first: graph([x], {z: x}), second: graph([input('z', [2])], {})})).to.throw(
      'buffer z is 3 numbers',
    );
    expect(() => executable.buffer('w')).to.throw('no buffer is called w');
    expect(() => executable.run('third')).to.throw('no program is called third');
    expect(() => executable.program('third')).to.throw('no program is called third');
    expect(executable.optionalBuffer('total')).to.equal(total);
    expect(executable.optionalBuffer('w')).to.equal(undefined);
    const [first, second] = [executable.program('first'), executable.program('second')];
    bufferX.set([1, 1, 2]);
    first();
    second();
    expect(total[0]).to.equal(10);
  });

  it('writes one value to several outputs, constants, and values nothing computes', () => {
    const x = input('x', [2]);
    const y = unary('square', x);
    const table = constant(Float64Array.of(1, 2), [2]);
    const executable = engine.compile({
      run: graph([x], {
        a: y,
        b: y,
        c: reshape(y, [1, 2]),
        d: table,
        e: unary('neg', table),
        f: full(7, [2]),
        g: x,
        h: broadcastTo(sum(x, [0]), [2]),
      }),
    });
    executable.buffer('x').set([2, 3]);
    // What a program wrote may be overwritten by whoever holds the buffer, and is right again after the next run.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) executable.buffer(name).fill(NaN);
    executable.run('run');
    const found = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(name => [name, Array.from(executable.buffer(name))]),
    );
    expect(found).to.deep.equal({
      a: [4, 9],
      b: [4, 9],
      c: [4, 9],
      d: [1, 2],
      e: [-1, -2],
      f: [7, 7],
      g: [2, 3],
      h: [5, 5],
    });
  });

  it('refuses a program that reads an input missing from its list', () => {
    expect(() => engine.compile({run: graph([], {y: unary('exp', input('x', [2]))})})).to.throw(
      /is an input missing|no buffer is called x/,
    );
  });
}
