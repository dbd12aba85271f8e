/** Trees of parameters and nested numbers as an attacker or a slip of the hand gives them: names that objects inherit, circles, holes. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Numeric, NumericParams} from '../../lib/index.js';
import {MemoryError, mechanics, ode, OptionError, ShapeError, simulate, StiffgradError} from '../../lib/index.js';
import {readParams, toTree} from '../../lib/system/params.js';
import {runs} from '../property.js';

// Whatever the names are, they are looked at.
const decay = ode(({y, params}) => (Object.entries(params).length < 0 ? y : tf.neg(y)));
const run = (params: unknown): Float64Array => {
  const path = simulate(decay, {y: 1}, {dt: 0.1, steps: 1, params: params as NumericParams});
  path.dispose();
  return path.values('y');
};
const clean = (): void => {
  expect(({} as {isAdmin?: unknown}).isAdmin).to.equal(undefined);
  expect(Object.keys(Object.prototype)).to.deep.equal([]);
  expect({}.constructor).to.equal(Object);
  expect(Object.keys(Object)).to.deep.equal([]);
};

describe('trees of parameters', () => {
  afterEach(clean);

  it('whose names are those of what objects inherit change nothing but themselves', () => {
    for (const text of [
      '{"__proto__": {"isAdmin": 1}}',
      '{"constructor": {"prototype": {"isAdmin": 2}}}',
      '{"a": {"__proto__": {"isAdmin": 3}}}',
      '{"toString": 1, "hasOwnProperty": {"call": 2}}',
    ]) {
      run(JSON.parse(text));
      clean();
    }
  });

  it('... and reach the forces and come back as gradients under their names', () => {
    const params = JSON.parse('{"__proto__": {"k": 4}, "constructor": {"prototype": 2}}') as NumericParams;
    const spring = mechanics({
      mass: 1,
      forces: ({q, params: at}) => {
        const own = (tree: object, name: string): never => Object.getOwnPropertyDescriptor(tree, name)?.value as never;
        return tf.neg(tf.mul(q, tf.add(own(own(at, '__proto__'), 'k'), own(own(at, 'constructor'), 'prototype'))));
      },
    });
    const {trajectory, pullback} = simulate.vjp(spring, {q: 1, v: 0}, {dt: 0.1, steps: 1, params, saveAt: 'end'});
    // The midpoint rule: q⁺ = (1 − s)/(1 + s), s = h²k/4 with k = 4 + 2; ∂q⁺/∂k = −(h²/2)/(1 + s)².
    expect(trajectory.values('q')[1]).to.be.closeTo((1 - 0.015) / (1 + 0.015), 1e-15);
    const {params: gradient} = pullback({q: [0, 1]});
    const slope = -0.005 / 1.015 ** 2;
    expect(Object.keys(gradient)).to.have.members(['__proto__', 'constructor']);
    for (const [name, inner] of [
      ['__proto__', 'k'],
      ['constructor', 'prototype'],
    ]) {
      const branch = Object.getOwnPropertyDescriptor(gradient, name)?.value as {[name: string]: Float64Array};
      expect(branch[inner][0]).to.be.closeTo(slope, 1e-15);
    }
    trajectory.dispose();
  });

  it('of any names come back as they were', () => {
    const name = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'a'),
      fc.string({minLength: 1, maxLength: 3}),
    );
    const {tree} = fc.letrec<{tree: unknown; node: unknown}>(tie => ({
      node: fc.oneof({maxDepth: 3}, fc.double({noNaN: true}), tie('tree')),
      tree: fc
        .array(fc.tuple(name, tie('node')), {minLength: 1, maxLength: 4})
        .map(entries => Object.fromEntries(entries) as unknown),
    }));
    fc.assert(
      fc.property(tree, given => {
        const leaves = readParams(given as NumericParams);
        const back = toTree(
          leaves,
          leaves.map(({values}) => values[0]),
        );
        // JSON sees own properties alone, in their order.
        const withoutEmpty = (text: string): string => text;
        if (leaves.length > 0) expect(withoutEmpty(JSON.stringify(back))).to.equal(JSON.stringify(given));
        clean();
      }),
      runs(300, 26),
    );
  });

  it('that contain themselves, or lie too deep, or are no trees are errors', () => {
    const circle: {[name: string]: unknown} = {k: 1};
    circle.inner = {back: circle};
    const deep = Array.from({length: 20_000}).reduce<object>(tree => ({a: tree}), {k: 1});
    for (const [params, message] of [
      [circle, /params\.inner\.back contains itself/],
      [deep, /deeper than 100 levels/],
      [{m: new Map([['k', 1]])}, /params\.m is neither/],
      [{d: new Date(0)}, /params\.d is neither/],
      [new Map([['k', 1]]), /params must be an object/],
      ['k', /params must be an object/],
      [{n: null}, /params\.n is neither/],
    ] as const) {
      expect(() => run(params), String(message))
        .to.throw(OptionError, message)
        .with.property('code', 'bad-parameter');
    }
    // The same branch in two places is no circle.
    const shared = {k: 1};
    expect(readParams({a: shared, b: shared}).map(({name}) => name)).to.deep.equal(['a.k', 'b.k']);
  });

  it('hold typed arrays as leaves', () => {
    expect(readParams({a: Float32Array.of(1, 2) as unknown as Numeric})).to.deep.equal([
      {path: ['a'], name: 'a', values: Float64Array.of(1, 2), shape: [2]},
    ]);
  });
});

describe('nested numbers', () => {
  const refused = (given: unknown, kind: typeof StiffgradError, message: RegExp): void => {
    expect(() => simulate(decay, {y: given as Numeric}, {dt: 0.1, steps: 1}), String(message)).to.throw(kind, message);
    expect(() => run({k: given}), String(message)).to.throw(StiffgradError);
  };

  it('with holes, undefined or null name the place', () => {
    refused([1, , 3], OptionError, /initial\.y\[1\] is undefined, not a number/);
    const sparse: number[] = [];
    sparse[3] = 1;
    refused(sparse, OptionError, /initial\.y\[0\] is undefined, not a number/);
    refused(
      [
        [1, 2],
        [3, undefined],
      ],
      OptionError,
      /initial\.y\[1, 1\] is undefined, not a number/,
    );
    refused(
      [
        [1, 2],
        [null, 4],
      ],
      OptionError,
      /initial\.y\[1, 0\] is null, not a number/,
    );

    refused([[1, 2], , [3, 4]], ShapeError, /not a full array/);
  });

  it('that contain themselves, and arrays of big integers, are errors', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    refused(circle, ShapeError, /nested deeper than \d+ levels; an array may not contain itself/);
    refused(BigInt64Array.of(1n), OptionError, /must be a number/);
    refused(new DataView(new ArrayBuffer(8)), OptionError, /must be a number/);
  });

  it('of a length that no memory holds are an error of memory', () => {
    // By its first entries an array of 10²⁰ numbers.
    const given = Array.from({length: 5}).reduce<unknown>(inner => [inner, ...new Array<number>(9999).fill(0)], 0);
    refused(given, MemoryError, /Not enough memory for initial\.y: 100000000000000000000 numbers, 800 EB/);
  });
});
