/** What is traced along with a step (along.ts), as nodes. */
import type {Node} from '../graph/node.js';
import type {Inside} from './inside.js';

export interface TracedAlong {
  readonly theta: Node<'input'>;
  readonly next: Node<'input'>;
  /** A displacement of the state, [own size]. */
  readonly shift: Node<'input'>;
  /** The estimate as [own size], zero where nothing is judged; with a filter, its right-hand side. */
  readonly error?: Node;
  /** h|λ| over what is stable, a scalar. */
  readonly stiffness?: Node;
  /** The function of `shift` whose derivative is the estimate's matrix. */
  readonly filter?: Node;
  /** The unknown of the last step, flat; where this one begins in it, and how much longer it is. */
  readonly last: Node<'input'>;
  readonly ahead: Node<'input'>;
  readonly ratio: Node<'input'>;
  /** A guess of the unknown from these, flat. */
  readonly extrapolated?: Node;
  /** Of blocks that are found in turn: a guess of each, flat, from those before; none where they are not. */
  readonly predicted: readonly Node[];
  /** See `Formulation.effects`. */
  readonly effects?: {readonly [block: string]: number};
  /** What of [own size] is judged. */
  readonly judged?: Uint8Array;
  /** The power of h that the estimate falls with. */
  readonly errorOrder: number;
  /** The state at t + θh, flat; a function of `inside` too, where there is that. */
  readonly dense?: Node;
  /** What the update makes for dense output, see inside.ts. */
  readonly inside?: Inside;
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
  const {error, stiffness, filter, extrapolated, predicted, dense, inside, events, rates, jumps} = along;
  return {
    error, stiffness, filter, extrapolated, dense, inside: inside?.node, events, rates, ...Object.fromEntries(predicted.map((node, k) => [`predicted.${k}`, node])),
    ...Object.fromEntries(jumps.map((node, i) => [`jump.${i}`, node])),
  };
}

/** Its inputs beside those of the step. */
export const alongInputs = ({theta, next, shift, last, ahead, ratio, inside}: TracedAlong): Node<'input'>[] =>
  [theta, next, shift, last, ahead, ratio, ...(inside === undefined ? [] : [inside.input])];
