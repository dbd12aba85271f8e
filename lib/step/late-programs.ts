/**
 * A step's programs with signs and scalar factors late (graph/scales.ts), each where that is less to compute. Runs
 * with and without a record are one run, to the last bit: a gradient that takes steps again from the states of a run
 * without a record finds what one with all its steps recorded finds. So the program that records computes the next
 * state as the one that does not, and has a choice only in what it keeps.
 */
import type {Programs} from '../engine/engine.js';
import type {Graph, Node} from '../graph/node.js';
import {lateScales, withLateScales} from '../graph/scales.js';
import {simplifyNodes} from '../graph/simplify.js';
import {countWork} from '../graph/work.js';

export function latePrograms(programs: Programs): Programs {
  const late = Object.fromEntries(Object.entries(programs).map(([name, graph]) => [name, withLateScales(graph)]));
  return 'keep' in programs && 'update' in late ? {...late, keep: keeping(programs.keep, late.update)} : late;
}

/** `keep` with the outputs it shares with `update` as they are there, the others with late scales where that is less with these. */
function keeping({inputs, outputs}: Graph, update: Graph): Graph {
  const made = new Map(update.outputs.map(({name, node}) => [name, node]));
  const own = outputs.filter(({name}) => !made.has(name)).map(({node}) => node);
  const beside = (rest: readonly Node[]): Node[] => {
    let at = 0;
    return simplifyNodes(outputs.map(({name}) => made.get(name) ?? rest[at++]), inputs);
  };
  const [plain, late] = [beside(own), beside(lateScales(own, inputs))];
  const less = countWork(late) < countWork(plain) ? late : plain;
  return {inputs, outputs: outputs.map(({name}, i) => ({name, node: less[i]}))};
}
