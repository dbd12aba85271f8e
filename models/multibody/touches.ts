/**
 * Where shapes of two bodies touch: the signed distance of every point of contact, its direction, and how the point
 * moves. All contacts of one sort are one batch of tensors.
 */
import type * as tf from '@tensorflow/tfjs';
import type {BodyPose} from './bodies.js';
import {boxOnBox, ballOnBox, boxSlots} from './box-meetings.js';
import {ballOnBall, ballOnPlane, ballOnSegment, ellipsoidOnPlane, segmentOnSegment, segmentSlots} from './meetings.js';
import {turned} from './numbers.js';
import type {Meet, Pair, Share, TouchingShapes} from './pairs.js';
import {liesOn, type Shape, type SurfaceFunction} from './shapes.js';
import {difference, pointVelocity, sidesOf, type Instant, type Sides, type SomePose} from './state.js';
import {ballOnSurface} from './surfaces.js';
import {rotateBack, sub, type Vec} from './vectors.js';

/**
 * One sort of pairs: as many points of contact as it has for each pair, which are contacts of the same coefficients.
 */
export interface Sort<C extends TouchingShapes> {
  /** By points of contact. */
  readonly contacts: readonly C[];
  readonly touches: Touches;
}

interface SortKind {
  readonly fits: (pair: Pair) => boolean;
  /** Points of contact of a pair. */
  readonly slots: number;
  /** @param yields whether the contacts are compliant */
  readonly meet: (pairs: readonly Pair[], yields: boolean) => Meet;
}

const of = (under: Shape['kind'], over: readonly Shape['kind'][]) => (pair: Pair) =>
  pair.under.kind === under && over.includes(pair.over.kind);

const kinds: readonly SortKind[] = [
  {fits: of('plane', ['sphere', 'capsule', 'box', 'hull']), slots: 1, meet: ballOnPlane},
  {fits: of('sphere', ['sphere']), slots: 1, meet: ballOnBall},
  {fits: of('capsule', ['sphere']), slots: 1, meet: ballOnSegment},
  {fits: of('capsule', ['capsule']), slots: segmentSlots, meet: segmentOnSegment},
  {fits: of('box', ['sphere']), slots: 1, meet: ballOnBox},
  {fits: of('box', ['box']), slots: boxSlots, meet: boxOnBox},
  {fits: of('plane', ['ellipsoid']), slots: 1, meet: ellipsoidOnPlane},
];

/**
 * The points of contact by their sort, in the order of `kinds`, and then those of every surface.
 * @param yields whether each point has a stiffness to itself, as in `contact`
 * @throws OptionError 'unknown-body'
 */
export function touchesOf<C extends TouchingShapes>(
  contacts: readonly C[],
  places: (name: string, asked: string) => BodyPose,
  yields = false,
): Sort<C>[] {
  const ground = places('ground', '').index;
  const pairs = contacts.flatMap((contact): Pair<C>[] => {
    const [a, b] = [places(contact.a, 'a contact'), places(contact.b, 'a contact')];
    const [first, second] = contact.shapes;
    const above = liesOn(second, first);
    const [on, of, under, over] = above ? [a, b, first, second] : [b, a, second, first];
    const pair = {contact, on, of, under, over};
    const balls = over.balls(of.position, axis => turned(of.rotation, axis));
    const single = under.kind === 'plane' || over.kind === 'sphere';
    return single && balls.length > 0 ? balls.map(ball => ({...pair, ball})) : [{...pair, ball: undefined}];
  });
  const surfaces = [...new Set(pairs.flatMap(({under: {value}}) => (value === undefined ? [] : [value])))];
  const all = [...kinds, ...surfaces.map(onSurface)];
  return all.flatMap(({fits, slots, meet}) => {
    const own = pairs.filter(fits);
    if (own.length === 0) return [];
    const rows = Array.from({length: slots}, () => own).flat();
    return [{contacts: rows.map(({contact}) => contact), touches: new Touches(own, rows, meet(own, yields), ground)}];
  });
}

const onSurface = (value: SurfaceFunction): SortKind => ({
  fits: ({under}) => under.value === value,
  slots: 1,
  meet: pairs => ballOnSurface(pairs, value),
});

/** The gap [points] and its direction, in the world. */
export interface TouchGap {
  readonly gap: tf.Tensor;
  readonly normal: Vec;
  /** Where forces act, from the centres of both sides, in their body axes. */
  readonly arms: readonly [Vec, Vec];
  /** Share of the stiffness of contacts that yield; default 1. */
  readonly share?: Share;
}

/** Points of contact of one sort as functions of where bodies are. */
export class Touches {
  /** For every point, the bodies below and those above. */
  readonly sides: Sides;
  /** The bodies of every pair. */
  private readonly pairs: Sides;

  /**
   * @param rows the pair of every point
   * @param ground its number
   */
  constructor(
    pairs: readonly Pair[],
    rows: readonly Pair[],
    private readonly meet: Meet,
    ground: number,
  ) {
    const of = (list: readonly Pair[]): Sides => {
      const indices = list.map(pair => ({a: pair.on.index, b: pair.of.index}));
      return sidesOf(indices, ground);
    };
    this.sides = of(rows);
    this.pairs = of(pairs);
  }

  gapAt({pose, params}: Pick<Instant, 'pose' | 'params'>): TouchGap {
    const [under, over] = this.pairs;
    const {gap, normal, point, share} = this.meet(under.pose(pose), over.pose(pose), params);
    const arm = ({position, rotation}: SomePose): Vec =>
      rotateBack(rotation, position === undefined ? point : sub(point, position));
    const [on, of] = this.sides;
    return {gap, normal, arms: [arm(on.pose(pose)), arm(of.pose(pose))], ...(share && {share})};
  }

  /** Velocity of the upper bodies' points of contact relative to the lower ones', world axes. */
  velocity({pose, twist}: Pick<Instant, 'pose' | 'twist'>, {arms}: TouchGap): Vec {
    const [onA, onB] = this.sides.map((side, i) => pointVelocity(side.pose(pose), side.twist(twist), arms[i]));
    return difference(onB, onA);
  }
}
