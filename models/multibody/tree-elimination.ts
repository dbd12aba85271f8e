/**
 * A symmetric system of 6 × 6 blocks whose graph is a tree of bodies and joints, [M Gᵀ; G −Q], by block elimination:
 * nodes with at most two neighbours go, many at once, and what remains is a tree again (Miller & Reif's contraction,
 * 1985; on a chain this is cyclic reduction). Its time is linear in the bodies, and the program grows with their
 * logarithm.
 *
 * A joint goes after both of its bodies, or as a leaf after one: what has gone then hangs on at most one joint beyond
 * it, so that no chosen rows of G depend on each other, and every pivot is regular.
 */
import * as tf from '@tensorflow/tfjs';
import {linalg} from '../../lib/index.js';

/** A tree of bodies 0 … n − 1 and joints n, n + 1, …. */
export interface BlockTree {
  readonly bodies: number;
  /** For every joint the body it carries and the one it hangs on, −1 for the ground. */
  readonly joints: readonly {readonly body: number; readonly parent: number}[];
}

/**
 * Nodes that go in one round and have so many neighbours: by numbers of this round, of couplings and of the next round.
 */
interface Leaving {
  readonly nodes: readonly number[];
  /** For each neighbour, the earlier to go first: the coupling, and the neighbour's number in the next round. */
  readonly sides: readonly {readonly couplings: readonly number[]; readonly to: readonly number[]}[];
}

interface Round {
  /** By number of neighbours. */
  readonly leaving: readonly Leaving[];
  /** Nodes and couplings that stay. New couplings of nodes with two neighbours come after these. */
  readonly nodes: readonly number[];
  readonly couplings: readonly number[];
  /** Where the nodes of this round stand among those that stay, then those that leave. */
  readonly places: readonly number[];
}

/** The order of elimination of a tree. */
export interface TreeElimination {
  /** For joints that hang on bodies, whether they go before these. */
  readonly first: readonly boolean[];
  readonly rounds: readonly Round[];
}

export function eliminationOf(tree: BlockTree): TreeElimination {
  const {bodies, joints} = tree;
  const ends = [
    ...joints.map(({body}, i) => [bodies + i, body] as const),
    ...joints.flatMap(({parent}, i) => (parent < 0 ? [] : [[bodies + i, parent] as const])),
  ];
  const neighbours = Array.from({length: bodies + joints.length}, () => new Set<number>());
  for (const [a, b] of ends) {
    neighbours[a].add(b);
    neighbours[b].add(a);
  }
  const order = chosenRounds(tree, neighbours);
  const roundOf = new Int32Array(neighbours.length);
  order.forEach((nodes, round) => nodes.forEach(({node}) => (roundOf[node] = round)));
  const byRound = (a: number, b: number): [number, number] => (roundOf[a] < roundOf[b] ? [a, b] : [b, a]);
  let nodes = [...neighbours.keys()];
  let pairs = ends.map(([a, b]) => byRound(a, b));
  const first = ends.slice(joints.length).map(([joint], i) => pairs[joints.length + i][0] === joint);
  const rounds: Round[] = [];
  for (const leave of order) {
    const here = new Map(nodes.map((node, i) => [node, i]));
    const gone = new Set(leave.map(({node}) => node));
    const staying = nodes.filter(node => !gone.has(node));
    const next = new Map(staying.map((node, i) => [node, i]));
    // No two nodes of one round are neighbours: a coupling of a node that goes has it first.
    const at = new Map<number, Map<number, number>>();
    pairs.forEach(([first, second], i) => {
      if (!gone.has(first)) return;
      const own = at.get(first) ?? new Map<number, number>();
      at.set(first, own.set(second, i));
    });
    const sorted = leave.map(({node, neighbours: [a, b]}) => ({
      node,
      sides: b === undefined ? (a === undefined ? [] : [a]) : byRound(a, b),
    }));
    const leaving = [0, 1, 2].map((count): Leaving => {
      const own = sorted.filter(({sides}) => sides.length === count);
      return {
        nodes: own.map(({node}) => here.get(node) as number),
        sides: Array.from({length: count}, (_, side) => ({
          couplings: own.map(({node, sides}) => at.get(node)?.get(sides[side]) as number),
          to: own.map(({sides}) => next.get(sides[side]) as number),
        })),
      };
    });
    const kept = [...pairs.keys()].filter(i => !gone.has(pairs[i][0]));
    const places = new Array<number>(nodes.length);
    let place = 0;
    for (const node of [...staying, ...leaving.flatMap(({nodes: own}) => own.map(i => nodes[i]))])
      places[here.get(node) as number] = place++;
    rounds.push({leaving, nodes: staying.map(node => here.get(node) as number), couplings: kept, places});
    pairs = [
      ...kept.map(i => pairs[i]),
      ...sorted.flatMap(({sides}) => (sides.length === 2 ? [byRound(sides[0], sides[1])] : [])),
    ];
    nodes = staying;
  }
  return {first, rounds};
}

/** Which nodes go in which round, with their neighbours then. */
function chosenRounds(
  {bodies, joints}: BlockTree,
  neighbours: readonly Set<number>[],
): {readonly node: number; readonly neighbours: readonly number[]}[][] {
  const left = neighbours.map(own => new Set(own));
  const gone = new Uint8Array(left.length);
  const may = (node: number): boolean => {
    const {size} = left[node];
    if (node < bodies || size > 2) return size <= 2;
    const {body, parent} = joints[node - bodies];
    const own = parent < 0 ? [body] : [body, parent];
    return own.every(end => gone[end]) || (size < 2 && own.some(end => gone[end]));
  };
  const rounds: {node: number; neighbours: number[]}[][] = [];
  for (let staying = [...left.keys()]; staying.length > 0; staying = staying.filter(node => !gone[node])) {
    const round: {node: number; neighbours: number[]}[] = [];
    const blocked = new Set<number>();
    for (const node of staying) {
      if (blocked.has(node) || !may(node)) continue;
      round.push({node, neighbours: [...left[node]]});
      for (const other of left[node]) blocked.add(other);
    }
    for (const {node, neighbours: own} of round) {
      gone[node] = 1;
      for (const other of own) left[other].delete(node);
      if (own.length === 2) {
        left[own[0]].add(own[1]);
        left[own[1]].add(own[0]);
      }
    }
    rounds.push(round);
  }
  return rounds;
}

const rows = (x: tf.Tensor, which: readonly number[]): tf.Tensor =>
  which.length === x.shape[0] && which.every((row, i) => row === i)
    ? x
    : tf.gather(x, tf.tensor1d([...which], 'int32'));
const stackedRows = (parts: readonly tf.Tensor[]): tf.Tensor => (parts.length === 1 ? parts[0] : tf.concat([...parts]));

/** Solutions with the pivots of one kind of leaving nodes. */
interface Solved {
  readonly leaving: Leaving;
  /** D⁻¹ r [k, 6, 1], and of every side D⁻¹ C [k, 6, 6]. */
  readonly own: tf.Tensor;
  readonly sides: readonly tf.Tensor[];
}

/**
 * x [nodes, 6, 1] of the system with these blocks.
 * @param pivots diagonal blocks [nodes, 6, 6]
 * @param inverses of those of bodies, [bodies, 6, 6]: where masses are known these are too, and half of all nodes go
 *   with them
 * @param couplings of joints with the bodies they carry, then with those they hang on, [couplings, 6, 6]: rows of the
 *   node that goes first
 * @param right [nodes, 6, 1]
 */
export function solveTree(
  {rounds}: TreeElimination,
  pivots: tf.Tensor,
  inverses: tf.Tensor,
  couplings: tf.Tensor | undefined,
  right: tf.Tensor,
): tf.Tensor {
  const done: {round: Round; solved: readonly Solved[]}[] = [];
  let [D, C, r] = [pivots, couplings, right];
  rounds.forEach((round, number) => {
    const solved: Solved[] = [];
    const minus: {to: readonly number[]; pivot: tf.Tensor; right: tf.Tensor}[] = [];
    const fill: tf.Tensor[] = [];
    for (const leaving of round.leaving) {
      if (leaving.nodes.length === 0) continue;
      const blocks = leaving.sides.map(({couplings: own}) => rows(C as tf.Tensor, own));
      const b = tf.concat([...blocks, rows(r, leaving.nodes)], 2);
      // In the first round bodies alone go: no joint has lost one.
      const x = number === 0 ? tf.matMul(rows(inverses, leaving.nodes), b) : linalg.solve(rows(D, leaving.nodes), b);
      const count = leaving.nodes.length;
      const sides = blocks.map((_, i) => tf.slice(x, [0, 0, 6 * i], [count, 6, 6]));
      const own = tf.slice(x, [0, 0, 6 * blocks.length], [count, 6, 1]);
      blocks.forEach((block, i) => {
        const {to} = leaving.sides[i];
        minus.push({to, pivot: tf.matMul(block, sides[i], true), right: tf.matMul(block, own, true)});
      });
      if (blocks.length === 2) fill.push(tf.neg(tf.matMul(blocks[0], sides[1], true)));
      solved.push({leaving, own, sides});
    }
    done.push({round, solved});
    if (round.nodes.length === 0) return;
    const to = tf.tensor1d(
      minus.flatMap(part => [...part.to]),
      'int32',
    );
    const less = (from: tf.Tensor, parts: readonly tf.Tensor[]): tf.Tensor =>
      parts.length === 0 ? from : tf.sub(from, tf.unsortedSegmentSum(stackedRows(parts), to, round.nodes.length));
    D = less(rows(D, round.nodes), minus.map(part => part.pivot)); // prettier-ignore
    r = less(rows(r, round.nodes), minus.map(part => part.right)); // prettier-ignore
    const kept = round.couplings.length === 0 ? [] : [rows(C as tf.Tensor, round.couplings)];
    C = kept.length + fill.length === 0 ? undefined : stackedRows([...kept, ...fill]);
  });
  let x: tf.Tensor | undefined;
  for (const {round, solved} of done.reverse()) {
    const staying = x;
    const left = solved.map(({leaving, own, sides}) =>
      sides.reduce(
        (sum, side, i) => tf.sub(sum, tf.matMul(side, rows(staying as tf.Tensor, leaving.sides[i].to))),
        own,
      ),
    );
    x = rows(stackedRows([...(staying === undefined ? [] : [staying]), ...left]), round.places);
  }
  return x as tf.Tensor;
}
