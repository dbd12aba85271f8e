/**
 * From a program's graph to the steps that run it: loop nests and kernels in order, each writing
 * values that are stored.
 */
import type {Graph, Node} from '../../graph/node.js';
import type {Expression} from './expression.js';
import {children} from './expression.js';
import type {Nest} from './nest.js';
import {nestsOf} from './nest.js';
import type {Operand} from './operands.js';
import type {Built} from './pieces.js';
import {Views, buildPieces} from './pieces.js';
import type {Storage} from './storage.js';
import {chooseStorage, kinds} from './storage.js';

export interface LoopStep {
  readonly kind: 'loop';
  readonly nest: Nest;
  readonly built: Built;
  readonly writes: readonly Node[];
  readonly reads: ReadonlySet<Node>;
}

export interface KernelStep {
  readonly kind: 'kernel';
  readonly node: Node;
  readonly operands: readonly Operand[];
  readonly writes: readonly Node[];
  readonly reads: ReadonlySet<Node>;
}

export type Step = LoopStep | KernelStep;

export interface Lowered {
  readonly graph: Graph;
  readonly steps: readonly Step[];
  /** Values that some code reads by address. */
  readonly addressed: ReadonlySet<Node>;
}

export function lower(graph: Graph): Lowered {
  const views = new Views();
  const forced = new Set<Node>();
  for (;;) {
    const storage = chooseStorage(graph.outputs.map(output => output.node), forced, views);
    const steps = stepsOf(storage, views);
    if (!('store' in steps)) return {graph, steps, addressed: addressedIn(steps)};
    if (forced.has(steps.store)) throw new Error(`no loop can be made for ${steps.store.op}`);
    forced.add(steps.store);
  }
}

function stepsOf(storage: Storage, views: Views): Step[] | {store: Node} {
  const steps: Step[] = [];
  for (const node of storage.stored) {
    if (kinds[node.op] === 'kernel') {
      const operands = storage.operands.get(node) ?? [];
      steps.push({kind: 'kernel', node, operands, writes: [node], reads: new Set(operands.map(({of}) => of))});
      continue;
    }
    for (const nest of nestsOf(node)) {
      const built = buildPieces(nest, storage.isStored, views);
      if ('store' in built) return built;
      steps.push({kind: 'loop', nest, built, writes: [node], reads: readsOf(built)});
    }
  }
  return steps;
}

/** Stored values a nest reads. */
function readsOf(built: Built): Set<Node> {
  const reads = new Set<Node>();
  visitExpressions(built, e => {
    if (e.kind === 'load' || e.kind === 'lookup' || e.kind === 'loadAt') reads.add(e.of);
  });
  return reads;
}

export function visitExpressions(built: Built, visit: (e: Expression) => void): void {
  const seen = new Set<Expression>();
  const walk = (e: Expression): void => {
    if (seen.has(e)) return;
    seen.add(e);
    visit(e);
    children(e).forEach(walk);
  };
  for (const piece of built.pieces) {
    for (const {value, position} of piece.assignments) {
      walk(value);
      if (position !== undefined) walk(position);
    }
  }
}

function addressedIn(steps: readonly Step[]): Set<Node> {
  const addressed = new Set<Node>();
  for (const step of steps) {
    if (step.kind === 'kernel') {
      addressed.add(step.node);
      for (const {of} of step.operands) addressed.add(of);
      continue;
    }
    for (const {node, combine} of step.nest.roots) if (combine === 'scatter' || combine === 'scatterAt') addressed.add(node);
    visitExpressions(step.built, e => {
      if (e.kind === 'lookup' || e.kind === 'loadAt') addressed.add(e.of);
    });
  }
  return addressed;
}
