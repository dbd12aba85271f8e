/** Every primitive on random shapes and attributes against the interpreter; special values of every function. */
import * as fc from 'fast-check';
import {add, binary, broadcastTo, max, mul, slice, sum, unary} from '../../../lib/graph/build.js';
import type {Graph} from '../../../lib/graph/node.js';
import {binaryNames, unaryNames} from '../../../lib/graph/node.js';
import {agree} from './agreement.js';
import {cases, graphOf, long, x, y} from './cases.js';
import {runs} from '../../property.js';

describe('wasm engine: primitives', () => {
  for (const [op, graphs] of Object.entries(cases)) {
    it(`${op} gives what the interpreter gives`, () => {
      fc.assert(
        fc.property(graphs, fc.nat(100), (graph, seed) => agree(graph, seed)),
        runs(120),
      );
    });
  }

  const special = [0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-310, 1e300, -1e300, Infinity, -Infinity, NaN, 3, 7.25];
  const everyPair = special.flatMap(a => special.map(b => [a, b]));

  it('long sums, of products, along either axis, agree', () => {
    fc.assert(
      fc.property(long, long, fc.nat(100), (rows, columns, seed) => {
        const m = x([rows, columns]);
        const product = mul(m, y([rows, columns]));
        agree(
          graphOf(
            [m, y([rows, columns])],
            sum(product, [0, 1]),
            sum(product, [1]),
            sum(product, [0]),
            max(m, [1]),
            unary('neg', product),
          ),
          seed,
        );
      }),
      runs(30),
    );
  });

  it('nested functions agree, several pairs at once: in sums, with slopes, over what they read', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 5}), long, fc.nat(100), (rows, columns, seed) => {
        const m = x([rows, columns]);
        const bent = unary(
          'tanh',
          add(unary('softplus', add(m, broadcastTo(y([columns]), [rows, columns]))), unary('exp', unary('sin', m))),
        );
        agree(
          graphOf(
            [m, y([columns])],
            bent,
            unary('sigmoid', unary('softplus', m)),
            sum(bent, [0]),
            sum(bent, [1]),
            max(unary('log1p', unary('exp', m)), [1]),
          ),
          seed,
        );
        agree({inputs: [m] as unknown as Graph['inputs'], outputs: [{name: 'x', node: unary('softplus', m)}]}, seed);
      }),
      runs(30),
    );
  });

  it('functions of one number agree at special values, alone and in pairs', () => {
    for (const fn of unaryNames) {
      const n = special.length;
      const graph = graphOf([x([n])], unary(fn, x([n])), unary(fn, slice(x([n]), [n - 1], [1])));
      agree(graph, 0, executable => executable.buffer('x').set(special));
    }
  });

  it('functions of one number agree over their ranges', () => {
    const n = 20_001;
    for (const [low, high] of [
      [-1, 1],
      [-30, 30],
      [0, 1e-300],
      [-1e-5, 1e-5],
      [-800, 800],
      [-1e6, 1e6],
    ]) {
      for (const fn of unaryNames) {
        const graph = graphOf([x([n])], unary(fn, x([n])));
        // The golden ratio's multiples fill the range evenly.
        agree(graph, 0, executable =>
          executable
            .buffer('x')
            .forEach((_, i, values) => (values[i] = low + (high - low) * ((i * 0.6180339887498949) % 1))),
        );
      }
    }
  });

  it('functions of two numbers agree at special values, alone and in pairs', () => {
    for (const fn of binaryNames) {
      const n = everyPair.length;
      const graph = graphOf([x([n]), y([n])], binary(fn, x([n]), y([n])));
      agree(graph, 0, executable => {
        executable.buffer('x').set(everyPair.map(([a]) => a));
        executable.buffer('y').set(everyPair.map(([, b]) => b));
      });
    }
  });
});
