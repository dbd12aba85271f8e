/** Random programs and their derivatives: the compiled engine against the interpreter. */
import * as fc from 'fast-check';
import {batch} from '../../lib/graph/batch.js';
import {input} from '../../lib/graph/build.js';
import {orZeros, pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {Graph} from '../../lib/graph/node.js';
import {simplify} from '../../lib/graph/simplify.js';
import {agree} from './agreement.js';
import {buildProgram, steps} from './random-programs.js';

describe('wasm engine: random programs', () => {
  it('agrees with the interpreter to the bit', () => {
    fc.assert(fc.property(steps(25), fc.nat(1000), (list, seed) => {
      const graph = buildProgram(list);
      agree(graph, seed);
    }), {numRuns: 600});
  });

  /** Three directions at once, as a coloured Jacobian; and transposed. */
  function derivatives({inputs, outputs}: Graph): Graph {
    const values = outputs.map(({node}) => node);
    const wrt = inputs.slice(0, 3);
    const seeds = wrt.map(node => input(`d.${node.attributes.name}`, node.shape));
    const directions = wrt.map(node => input(`directions.${node.attributes.name}`, [3, ...node.shape]));
    const tangents = pushforward(values, new Map(wrt.map((node, i) => [node, seeds[i]]))).map((tangent, i) => orZeros(tangent, values[i]));
    const batched = batch(tangents, new Map(seeds.map((node, i) => [node, directions[i]])), 3);
    const cotangents = values.map((node, i) => input(`bar.${i}`, node.shape));
    const pulled = pullback(values, wrt, cotangents).map((bar, i) => orZeros(bar, wrt[i]));
    return simplify({
      inputs: [...inputs, ...directions, ...cotangents],
      outputs: [...batched.map((node, i) => ({name: `dy${i}`, node})), ...pulled.map((node, i) => ({name: `x${i}Bar`, node}))],
    });
  }

  it('agrees to the bit on their tangents in several directions and on their transposed products', () => {
    fc.assert(fc.property(steps(15), fc.nat(1000), (list, seed) => {
      agree(derivatives(buildProgram(list)), seed);
    }), {numRuns: 200});
  });
});
