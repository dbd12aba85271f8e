/**
 * From a program's graph to the steps that run it: loop nests and kernels in order, each writing
 * values that are stored.
 */
import type {Graph, Node} from '../../graph/node.js';
import {topological} from '../../graph/node.js';
import type {Loop} from './fuse.js';
import {join, loopOf, mayJoin, visitExpressions, withoutUnread} from './fuse.js';
import {nestsOf} from './nest.js';
import {buildPieces} from './pieces.js';
import {preciseValues, readElsewhere} from './precise.js';
import type {Storage} from './storage.js';
import {kinds, storageChoice} from './storage.js';
import type {PlainStep, Step} from './steps.js';
import {tiled, worthTiles} from './tiles.js';
import {bare} from './view.js';
import {Views} from './view-cache.js';

export interface LoweredProgram {
  readonly graph: Graph;
  readonly steps: readonly Step[];
  /** Values in double precision, whatever the program's is (precise.ts). */
  readonly precise: ReadonlySet<Node>;
  /** Values that some code reads by address. */
  readonly addressed: ReadonlySet<Node>;
}

/**
 * @param isSingle of a program in single precision
 * @param limits what is worth tiles
 */
export function lower(graph: Graph, isSingle = false, limits = worthTiles): LoweredProgram {
  const views = new Views();
  const outputs = graph.outputs.map(output => output.node);
  const precise = isSingle ? preciseValues(outputs) : new Set<Node>();
  const nests = new Nests(views, precise);
  const forced = new Set<Node>(readElsewhere(outputs, precise));
  const choose = storageChoice(outputs, views);
  for (;;) {
    const storage = choose(forced);
    const store = nests.obstacles(storage);
    if (store.size === 0) {
      const steps = withoutUnneeded(new Steps(storage, views, nests).make(), outputs);
      return {graph, steps: tiled(steps, new Set(outputs.map(bare)), limits), precise, addressed: addressedIn(steps)};
    }
    for (const node of store) {
      if (node === undefined || forced.has(node)) throw new Error('a program has a value that no loop can be made for');
      forced.add(node);
    }
  }
}

/** The nests of a value, built for the first time; or what has to be stored before. */
interface BuiltNests {
  readonly loops: readonly Loop[];
  readonly store: ReadonlySet<Node | undefined>;
  /** Values that were asked for, and whether they were stored: valid as long as that does not change. */
  readonly asked: ReadonlyMap<Node, boolean>;
}

/** Nests are built again only where what they read is stored otherwise than before. */
class Nests {
  private readonly known = new Map<Node, BuiltNests>();

  /** As it is now: nests that others join later ask again. */
  private isStored: Storage['isStored'] = () => false;

  constructor(
    private readonly views: Views,
    private readonly precise: ReadonlySet<Node>,
  ) {}

  /** Values to be stored, too, before every nest can be built. */
  obstacles({stored, isStored}: Storage): Set<Node | undefined> {
    this.isStored = isStored;
    const all = new Set<Node | undefined>();
    for (const node of stored) {
      if (kinds[node.op] === 'kernel') continue;
      let built = this.known.get(node);
      if (built === undefined || [...built.asked].some(([read, was]) => isStored(read) !== was))
        this.known.set(node, (built = this.build(node)));
      for (const one of built.store) all.add(one);
    }
    return all;
  }

  loops(node: Node): readonly Loop[] {
    return this.known.get(node)?.loops ?? [];
  }

  private build(node: Node): BuiltNests {
    const asked = new Map<Node, boolean>();
    const store = new Set<Node | undefined>();
    const loops = nestsOf(node).flatMap(nest => {
      const built = buildPieces(
        nest,
        read => {
          const is = this.isStored(read);
          asked.set(read, is);
          return is;
        },
        this.views,
      );
      if (!('store' in built)) return [loopOf(nest, built, this.precise.has(node))];
      store.add(built.store);
      return [];
    });
    return {loops, store, asked};
  }
}

/** Steps in order; each new loop joins an earlier one where that is right and pays. */
class Steps {
  /** Nothing stands where a loop went on to a later one. */
  private readonly steps: (PlainStep | undefined)[] = [];
  /** The step after which a value is there. */
  private readonly readyAt = new Map<Node, number>();

  constructor(
    private readonly storage: Storage,
    private readonly views: Views,
    private readonly nests: Nests,
  ) {}

  make(): PlainStep[] {
    const {storage, nests, steps} = this;
    for (const node of scalarsFirst(storage.stored)) {
      if (kinds[node.op] === 'kernel') {
        const operands = storage.operands.get(node) ?? [];
        this.readyAt.set(
          node,
          steps.push({
            kind: 'kernel',
            node,
            operands,
            writes: new Set([node]),
            reads: new Set(operands.map(({of}) => of)),
          }) - 1,
        );
        continue;
      }
      let last = -1;
      for (const loop of nests.loops(node)) last = Math.max(last, this.place(loop));
      this.readyAt.set(node, last);
    }
    return steps.filter(step => step !== undefined);
  }

  private place(loop: Loop): number {
    const {steps} = this;
    let first = 0;
    for (const node of loop.reads) first = Math.max(first, this.readyAt.get(node) ?? 0);
    for (let i = first; i < steps.length; i++) {
      const joined = this.joined(steps[i], loop);
      if (joined === undefined) continue;
      steps[i] = joined;
      this.gather(i);
      return i;
    }
    return steps.push(loop) - 1;
  }

  private joined(earlier: PlainStep | undefined, later: Loop): Loop | undefined {
    if (earlier?.kind !== 'loop' || !mayJoin(earlier, later)) return undefined;
    return join(earlier, later, this.storage.isStored, this.views);
  }

  /** Joins loop i with earlier loops whose values it reads, and which no step between them reads. */
  private gather(i: number): void {
    const {steps, readyAt} = this;
    const latest = (before: number): number => {
      let j = -1;
      for (const node of steps[i]?.reads ?? []) {
        const at = readyAt.get(node) ?? -1;
        if (at > j && at < before) j = at;
      }
      return j;
    };
    for (let j = latest(i); j >= 0; j = latest(j)) {
      const [earlier, loop] = [steps[j], steps[i]];
      if (earlier?.kind !== 'loop' || loop?.kind !== 'loop' || !mayJoin(earlier, loop)) continue;
      const moved = earlier.nest.roots.map(({node}) => node);
      const reads = (step: PlainStep | undefined): boolean =>
        step !== undefined && moved.some(node => step.reads.has(node));
      if (steps.slice(j + 1, i).some(reads)) continue;
      // Other parts of a value may be written in between, which its readers wait for.
      if (earlier.nest.roots.some(root => root.source !== root.node)) continue;
      const joined = join(earlier, loop, this.storage.isStored, this.views);
      if (joined === undefined) continue;
      steps[i] = joined;
      steps[j] = undefined;
      for (const node of moved) readyAt.set(node, i);
    }
  }
}

/** Scalars made of inputs come first, so that no loop is kept from joining another by a factor that it reads. */
function scalarsFirst(stored: readonly Node[]): readonly Node[] {
  const early = new Set<Node>();
  for (const node of topological(stored)) {
    if (
      node.size === 1
      && kinds[node.op] !== 'kernel'
      && node.operands.every(operand => kinds[operand.op] === 'leaf' || early.has(operand))
    )
      early.add(node);
  }
  return [...stored.filter(node => early.has(node)), ...stored.filter(node => !early.has(node))];
}

/** Values that only the loop that computes them uses are not written. */
function withoutUnneeded(steps: readonly PlainStep[], outputs: readonly Node[]): PlainStep[] {
  const needed = new Set<Node>(outputs.map(bare));
  for (const step of steps) for (const node of step.reads) needed.add(node);
  return steps
    .map(step => (step.kind === 'loop' ? withoutUnread(step, node => needed.has(node)) : step))
    .filter(step => step.writes.size > 0);
}

function addressedIn(steps: readonly PlainStep[]): Set<Node> {
  const addressed = new Set<Node>();
  for (const step of steps) {
    if (step.kind === 'kernel') {
      addressed.add(step.node);
      for (const {of} of step.operands) addressed.add(of);
      continue;
    }
    for (const {node, combine} of step.nest.roots)
      if (combine === 'scatter' || combine === 'scatterAt') addressed.add(node);
    visitExpressions(step.built, e => {
      if (e.kind === 'lookup' || e.kind === 'loadAt') addressed.add(e.of);
    });
  }
  return addressed;
}
