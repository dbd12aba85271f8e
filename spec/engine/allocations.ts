/** Run by the interpreter's test in a process of its own, without background compilation, which depends on what else the machine does: prints what runs put on the heap. */
import {interpreter} from '../../lib/engine/interpreter.js';
import {Choices, generator} from '../graph/choices.js';
import type {Case} from '../graph/cases.js';
import type {Allocations} from './allocation-rows.js';
import {allocationRows, allowed} from './allocation-rows.js';
import {graph} from './contract.js';

/**
 * Bytes for each call, in the best of many blocks of calls: V8 keeps every intermediate number on the heap until it has
 * compiled a loop, which takes it some thousand calls. A block is so long that the measurement itself, some thousand
 * bytes, is less.
 * @param enough to end with
 */
function leastAllocation(call: () => void, enough: number): number {
  const end = performance.now() + 5000;
  let least = Infinity;
  while (least >= enough && performance.now() < end) {
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 1000; i++) call();
    const each = (process.memoryUsage().heapUsed - before) / 1000;
    // Less than nothing: what was there before has been collected in between.
    if (each >= 0) least = Math.min(least, each);
  }
  return least;
}

function allocated(row: string, build: (choices: Choices) => Case): Allocations[string] {
  // Choices that give every case some elements and more than one axis.
  const {inputs, node} = build(new Choices(Array.from({length: 24}, (_, k) => 3 + 10 * k)));
  const executable = interpreter.compile({
    run: graph(
      inputs.map(input => input.node),
      {y: node},
    ),
  });
  const random = generator(1);
  for (const {
    node: {attributes},
    draw,
  } of inputs)
    executable.buffer(attributes.name).set(draw(random));
  return {bytes: leastAllocation(() => executable.run('run'), allowed(row, node.size)), elements: node.size};
}

console.log(
  JSON.stringify(Object.fromEntries([...allocationRows].map(([row, build]) => [row, allocated(row, build)]))),
);
