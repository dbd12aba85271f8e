/** What the interpreter promises beside what every engine does: memory used twice changes nothing, and none is allocated in a run. */
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';
import fc from 'fast-check';
import {interpreter} from '../../lib/engine/interpreter.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {withoutDeclarations} from '../../lib/graph/declarations.js';
import {primitiveOf} from '../../lib/graph/primitives/index.js';
import {simplifyNodes} from '../../lib/graph/simplify.js';
import {Choices, draws} from '../graph/choices.js';
import {vectors} from '../graph/evaluate.js';
import {program, programDraws} from '../graph/programs.js';
import {graph} from './contract.js';
import type {Allocations} from './allocation-rows.js';
import {allocationRows, allowed} from './allocation-rows.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** Every node on its own, each into an array of its own: no memory is used twice. */
function plainly(programs: readonly Node[], values: ReadonlyMap<Node, Float64Array>): Float64Array[] {
  const outputs = withoutDeclarations(programs);
  const results = new Map<Node, Float64Array>(values);
  const of = (node: Node): Float64Array => results.get(node) ?? new Float64Array(0);
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const out = new Float64Array(node.size);
    primitiveOf(node).evaluate(node)(node.operands.map(of), out);
    results.set(node, out);
  }
  return outputs.map(of);
}

describe('engine: interpreter', () => {
  slow('gives with reused memory what every node gives on its own, and the same again', () => {
    fc.assert(
      fc.property(draws(programDraws), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const {inputs, outputs} = program(choices, {steps: 20});
        const all = [...outputs, ...simplifyNodes(outputs, inputs)];
        const executable = interpreter.compile({
          run: graph(inputs, Object.fromEntries(all.map((node, i) => [`y${i}`, node]))),
        });
        const first = vectors(inputs, random);
        for (const values of [first, vectors(inputs, random), first]) {
          inputs.forEach((node, k) => executable.buffer(node.attributes.name).set(values[k]));
          executable.run('run');
          const expected = plainly(all, new Map(inputs.map((node, k) => [node, values[k]])));
          // Copied into arrays, so that a difference is shown; the two zeros count as one.
          expected.forEach((x, i) =>
            expect(Array.from(executable.buffer(`y${i}`), value => value + 0)).to.deep.equal(
              Array.from(x, value => value + 0),
            ),
          );
          inputs.forEach((node, k) => expect(executable.buffer(node.attributes.name)).to.deep.equal(values[k]));
        }
      }),
      runs(120),
    );
  });

  describe('allocates nothing while it runs', () => {
    // In a process of its own: V8 puts on the heap what a function returns that it does not inline, and which it does depends
    // on all that ran before.
    const program = fileURLToPath(new URL('allocations.ts', import.meta.url));
    let allocated: Allocations;

    before(() => {
      const output = execFileSync(process.execPath, ['--no-concurrent-recompilation', '--import', 'tsx', program], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      allocated = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Allocations;
    });

    for (const name of allocationRows.keys()) {
      it(name, () =>
        expect(allocated[name].bytes, 'bytes for each run').to.be.below(allowed(name, allocated[name].elements)),
      );
    }
  });
});
