/**
 * A step's programs with signs and scalar factors late (graph/factor-out-scalars.ts), where that is less to compute.
 *
 * The residual, the update and the estimate have them late together or not at all, and what they share is one value:
 * the slope at the start of a stiff step is multiplied by the step's length, and what that makes of its rounding is
 * corrected by the unknown that solves the residual. An update that rounds it otherwise would keep both (an ESDIRK
 * method at rest on springs of h²k/m = 2000: a hundred times the rounding of its positions).
 *
 * Runs with and without a record are one run, to the last bit: a gradient that takes steps again from the states of a
 * run without a record finds what one with all its steps recorded finds. So the program that records computes the next
 * state as the one that does not, and has a choice only in what it keeps.
 */
import type {Programs} from '../engine/engine.js';
import type {Graph, Node} from '../graph/node.js';
import {factorOutScalars, withLateScales} from '../graph/factor-out-scalars.js';
import {simplifyNodes} from '../graph/simplify.js';
import {countWork} from '../graph/work.js';
import type {ForwardProgram} from './programs.js';

/** Programs in which the step's beginning and its unknown meet. */
const together: ReadonlySet<string> = new Set<ForwardProgram>(['residual', 'startResidual', 'update', 'estimate']);

export function sinkScalars({keep, ...programs}: Programs & {readonly keep?: Graph}): Programs {
  const alone = Object.entries(programs)
    .filter(([name]) => !together.has(name))
    .map(([name, graph]) => [name, withLateScales(graph)] as const);
  const late: Programs = {
    ...programs,
    ...Object.fromEntries(alone),
    ...lateTogether(Object.entries(programs).filter(([name]) => together.has(name))),
  };
  return keep === undefined ? late : {...late, keep: keeping(keep, late.update)};
}

function lateTogether(programs: readonly (readonly [name: string, graph: Graph])[]): Programs {
  const plain = programs.map(([, {outputs}]) => outputs.map(({node}) => node));
  const values = factorOutScalars(plain.flat(), [...new Set(programs.flatMap(([, {inputs}]) => inputs))]);
  let at = 0;
  const late = plain.map(nodes => nodes.map(() => values[at++]));
  const work = (each: readonly (readonly Node[])[]): number => each.reduce((sum, nodes) => sum + countWork(nodes), 0);
  const less = work(late) < work(plain) ? late : plain;
  return Object.fromEntries(
    programs.map(([name, {inputs, outputs}], i) => [
      name,
      {inputs, outputs: outputs.map((output, j) => ({name: output.name, node: less[i][j]}))},
    ]),
  );
}

/**
 * `keep` with the outputs it shares with `update` as they are there, the others with late scales where that is less
 * with these.
 */
function keeping({inputs, outputs}: Graph, update: Graph): Graph {
  const made = new Map(update.outputs.map(({name, node}) => [name, node]));
  const own = outputs.filter(({name}) => !made.has(name)).map(({node}) => node);
  const beside = (rest: readonly Node[]): Node[] => {
    let at = 0;
    return simplifyNodes(
      outputs.map(({name}) => made.get(name) ?? rest[at++]),
      inputs,
    );
  };
  const [plain, late] = [beside(own), beside(factorOutScalars(own, inputs))];
  const less = countWork(late) < countWork(plain) ? late : plain;
  return {inputs, outputs: outputs.map(({name}, i) => ({name, node: less[i]}))};
}
