/** Random programs: the compiled engine against the interpreter. */
import * as fc from 'fast-check';
import {agree, summed} from './agreement.js';
import {buildProgram, steps} from './random-programs.js';

describe('wasm engine: random programs', () => {
  it('agrees with the interpreter, to the bit where the order of operations is fixed', () => {
    fc.assert(fc.property(steps(25), fc.nat(1000), (list, seed) => {
      const {graph, exact} = buildProgram(list);
      agree(graph, seed, name => (exact.get(name) === true ? 'exact' : summed));
    }), {numRuns: 600});
  });
});
