/** What is traced along with a step (along.ts), as nodes. */
import type {Node} from '../graph/node.js';

export interface TracedAlong {
  readonly theta: Node<'input'>;
  readonly next: Node<'input'>;
  /** A displacement of the state, [own size]. */
  readonly shift: Node<'input'>;
  /** The estimate as [own size], zero where nothing is judged; with a filter, its right-hand side. */
  readonly error?: Node;
  /** The function of `shift` whose derivative is the estimate's matrix. */
  readonly filter?: Node;
  /** What of [own size] is judged. */
  readonly judged?: Uint8Array;
  /** The power of h that the estimate falls with. */
  readonly errorOrder: number;
  /** The state at t + θh, flat. */
  readonly dense?: Node;
  /** The events' functions of x and t, [events]. */
  readonly events?: Node;
  /** Their rates of change along the motion, [events]. */
  readonly rates?: Node;
  /** By event: the user's blocks after its jump, flat. */
  readonly jumps: readonly (Node | undefined)[];
}

/** Named nodes, for the key of the compiled step. */
export function alongOutputs(along: TracedAlong | undefined): {[name: string]: Node | undefined} {
  if (along === undefined) return {};
  const {error, filter, dense, events, rates, jumps} = along;
  return {error, filter, dense, events, rates, ...Object.fromEntries(jumps.map((node, i) => [`jump.${i}`, node]))};
}
