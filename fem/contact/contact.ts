/**
 * Contact of a body's surface with an obstacle, with another surface, or with itself: at the points of its facets a
 * pressure that grows as the gap closes, and friction.
 */
import * as tf from '@tensorflow/tfjs';
import {any, optional, positive, readOptions, typed} from '../../lib/checks.js';
import {OptionError} from '../../lib/index.js';
import {constantTensor, noEvent} from '../../lib/internal.js';
import {evaluated} from '../body/evaluate.js';
import {
  areas,
  facetsOf,
  scalarsOf,
  timesSection,
  type Facets,
  type Load,
  type LoadPlace,
  type ScalarField,
} from '../body/loads.js';
import {facetsAt, nodeText, type FacetPlace} from '../body/places.js';
import type {Body, BodyState} from '../body/body.js';
import type {Cells} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';
import {bodyDimension} from '../mesh/topology.js';
import {closest} from './closest.js';
import type {RigidObstacle} from './obstacles.js';
import {areConnected, neighbouring, piecesOf} from './pieces.js';

const contactOptions = {
  /** An obstacle, or facets of the body as loads name them: `on` itself for contact of a surface with itself. */
  with: typed<RigidObstacle | FacetPlace>(any),
  /** The gap at which contact begins, d̂. */
  reach: positive,
  /** κ, pressure by length: κ d̂ is the pressure that leaves 0.38 of the reach. */
  stiffness: positive,
  /** Coulomb's μ. */
  friction: optional(typed<ScalarField>(any)),
  /** The velocity at which friction has 0.7 of its size; below it, what sticks creeps. Needed with friction. */
  slip: optional(positive),
};

/** The argument of `contact`. */
export interface ContactSpec {
  readonly with: RigidObstacle | FacetPlace;
  readonly reach: number;
  readonly stiffness: number;
  readonly friction?: ScalarField;
  readonly slip?: number;
}

/** A contact as a load, and what it is like in a state, at the points of its facets. */
export interface ContactLoad extends Load {
  /** Current positions of the points, [points, axes]. */
  readonly places: (body: Body, at: BodyState) => tf.Tensor;
  /** Their distance from what they may touch, [points]. At most the reach from surfaces. */
  readonly gap: (body: Body, at: BodyState) => tf.Tensor;
  /** The pressure there, [points]. */
  readonly pressure: (body: Body, at: BodyState) => tf.Tensor;
  /** Forces on the points, pressure and friction times their areas, [points, axes]. */
  readonly forces: (body: Body, at: BodyState) => tf.Tensor;
}

/** What points touch. */
interface Touch {
  readonly gap: tf.Tensor;
  readonly normal: tf.Tensor;
  /** The velocity of what they touch. */
  readonly velocity: () => tf.Tensor;
  /** Forces at the points as forces at nodes of the other side. */
  readonly reaction?: (forces: tf.Tensor) => tf.Tensor;
}

/**
 * The barrier ends at this share of the reach and goes on as its tangent, so that Newton's trial steps may overlap, and
 * its stiffness is at most 99 κ. Surfaces overlap from 18 κ d̂ on.
 */
const barrierEnd = 0.1;

/** The pressure by κ d̂ at a gap of s d̂: (1 − s)²/s below 1, with a continuous derivative everywhere. */
function barrier(s: tf.Tensor): tf.Tensor {
  const c = tf.clipByValue(s, barrierEnd, 1);
  const value = tf.div(tf.square(tf.sub(1, c)), c);
  return tf.add(value, tf.mul(tf.sub(1, tf.reciprocal(tf.square(c))), tf.sub(s, c)));
}

const rowLengths2 = (x: tf.Tensor): tf.Tensor => tf.sum(tf.square(x), 1, true);

const isObstacle = (given: RigidObstacle | FacetPlace): given is RigidObstacle =>
  typeof given === 'object' && typeof (given as RigidObstacle).distance === 'function';

/** How the points of facets lie to an obstacle. */
const obstacleTouch =
  (obstacle: RigidObstacle) =>
  (x: tf.Tensor, {t, params}: Pick<LoadPlace, 't' | 'params'>): Touch => {
    const distance = (at: tf.Tensor): tf.Tensor => tf.reshape(obstacle.distance({x: at, t, params}), [-1]);
    const slope = tf.grad(at => tf.sum(distance(at)))(x);
    return {
      gap: distance(x),
      normal: tf.div(slope, tf.sqrt(rowLengths2(slope))),
      velocity: () => (obstacle.velocity === undefined ? tf.zerosLike(x) : obstacle.velocity({x, t, params})),
    };
  };

/** How the points of facets lie to another surface, or to the other parts of their own. */
function surfaceTouch(mesh: Mesh, facets: Facets, others: Cells, reach: number): Side['touch'] {
  const {block, rule} = facets;
  const d = mesh.dimension;
  if (bodyDimension(mesh.cells) < d)
    throw new OptionError(
      'bad-contact',
      'contact: surfaces and lines in space have no inside; they can touch obstacles, and not one another.',
    );
  const pieces = piecesOf(others, mesh.points.length / d);
  const own = Array.from({length: block.count}, (_, i) =>
    block.nodes.subarray(i * block.shape.nodes, (i + 1) * block.shape.nodes),
  );
  // Twice the reach: a piece within the reach of a facet has its corners farther off where it is longer than that.
  const neighbours = neighbouring(pieces, own, mesh.points, d, 2 * reach);
  const row = (facet: number): Uint8Array => neighbours.subarray(facet * pieces.count, (facet + 1) * pieces.count);
  const excluded = own.flatMap((_, facet) => Array.from({length: rule.count}, () => Array.from(row(facet)))).flat();
  const within =
    (depth: number): Side['touch'] =>
    (x, {X, u, velocity}) => {
      const near = closest(pieces, x, tf.add(X, u), {
        excluded: constantTensor(excluded, [x.shape[0], pieces.count]),
        depth,
        limit: reach,
      });
      return {
        gap: near.gap,
        normal: near.normal,
        velocity: () => near.interpolated(velocity()),
        reaction: near.spread,
      };
    };
  const all = within(Infinity);
  if (!areConnected(mesh, block.nodes, pieces.corners[0])) return all;
  // Through the body its other side lies behind the surface and is no obstacle. Half of the way to it still is; where
  // the undeformed surface sees no other side, as much as the reach.
  const behind = deepest(mesh, {facets, touch: all});
  if (behind === undefined || behind.gap > -1e-9 * reach) return within(reach);
  if (behind.gap > -2 * reach)
    throw overlap(mesh, behind, 'If this is its own other side, take a reach below half of its thickness.');
  return within(-behind.gap / 2);
}

/** The facets of one type. */
interface Side {
  readonly facets: Facets;
  readonly touch: (x: tf.Tensor, place: Pick<LoadPlace, 'X' | 'u' | 't' | 'params' | 'velocity'>) => Touch;
}

/** A contact's points in a state. */
interface Touching extends Touch {
  /** Current positions, [points, axes]. */
  readonly x: tf.Tensor;
  readonly pressure: tf.Tensor;
  /** Forces on the points, [points, axes]. */
  readonly forces: tf.Tensor;
}

/**
 * Contact of facets with an obstacle, with another surface of the mesh (of this body, or of another part of the mesh),
 * or with themselves. At each quadrature point of the facets a pressure κ d̂ (1 − s)²/s acts, where s is the gap by the
 * reach d̂: a barrier as that of Li et al., Incremental potential contact, ACM Trans. Graph. 39, 2020. With `friction`
 * μ a shear stress −μ p w/√(w² + ε²) opposes the sliding velocity w, ε the `slip`. At rest there is no friction.
 * Surfaces are searched at every evaluation, so that contacts may come and go; a search takes a time and memory in
 * proportion to points · pieces of the other surface.
 * @throws OptionError 'bad-contact'; 'overlap' where the surfaces overlap in the undeformed mesh, with node and depth
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {equilibrium} from 'stiffgrad';
 * import {box, obstacles, loads, materials, solid, supports} from 'stiffgrad/fem';
 *
 * const floor = obstacles.halfSpace({point: [0, 0], normal: [0, 1]});
 * const touch = loads.contact('bottom', {with: floor, reach: 0.01, stiffness: 1e4});
 * const block = solid({
 *   mesh: box([1, 1], [4, 4]),
 *   material: materials.linearElastic({E: 100, nu: 0}),
 *   density: 1,
 *   supports: [supports.prescribed('top', () => tf.tensor1d([0, -0.1]))],
 *   loads: [touch],
 * });
 * const q = equilibrium(block, {q: block.start.q}).values('q');
 * const pressures = block.evaluate(at => touch.pressure(block, at), {q});
 * console.log(pressures[0].toFixed(2)); // → 10.72
 * ```
 */
export function contact(on: FacetPlace, spec: ContactSpec): ContactLoad {
  const {with: other, reach, stiffness, friction, slip} = readOptions(spec, contactOptions, 'contact', 'bad-contact');
  if ((friction === undefined) !== (slip === undefined))
    throw new OptionError(
      'bad-contact',
      'contact: friction and slip must be given together; slip is the velocity below which friction fades.',
    );
  const sidesOf = (mesh: Mesh): Side[] => {
    const facets = isObstacle(other) ? undefined : facetsAt(mesh, other, 'contact: with');
    return facetsOf(mesh, on, 'contact').map(own => ({
      facets: own,
      touch: facets === undefined ? obstacleTouch(other as RigidObstacle) : surfaceTouch(mesh, own, facets, reach),
    }));
  };
  const known = new WeakMap<Mesh, Side[]>();
  const sides = (mesh: Mesh): Side[] => {
    let found = known.get(mesh);
    if (found === undefined) known.set(mesh, (found = sidesOf(mesh)));
    return found;
  };
  const touching = ({facets, touch}: Side, place: LoadPlace): Touching => {
    const atPoints = (values: tf.Tensor): tf.Tensor => tf.reshape(facets.interpolated(values), [-1, values.shape[1]!]);
    const X = atPoints(place.X);
    const x = tf.add(X, atPoints(place.u));
    const found = touch(x, place);
    const pressure = tf.mul(stiffness * reach, barrier(tf.div(found.gap, reach)));
    const size = timesSection(tf.mul(areas(facets, place), tf.reshape(pressure, [-1, 1])), facets, place);
    let direction = found.normal;
    if (friction !== undefined) {
      const w = tf.sub(atPoints(place.velocity()), found.velocity());
      const sliding = tf.sub(w, tf.mul(found.normal, tf.sum(tf.mul(w, found.normal), 1, true)));
      const speed = tf.sqrt(tf.add(rowLengths2(sliding), slip! ** 2));
      const mu = scalarsOf(friction, {X, t: place.t, params: place.params}, 'contact: friction');
      direction = tf.sub(direction, tf.mul(mu, tf.div(sliding, speed)));
    }
    return {...found, x, pressure, forces: tf.mul(size, direction)};
  };
  const nodal = (side: Side, place: LoadPlace): tf.Tensor => {
    const {forces, reaction} = touching(side, place);
    const {block, rule, assembled} = side.facets;
    const action = assembled(tf.reshape(forces, [block.count, rule.count, -1]), place.X.shape[0]);
    return reaction === undefined ? action : tf.sub(action, reaction(forces));
  };
  const inState =
    (of: (at: Touching) => tf.Tensor): ContactLoad['gap'] =>
    (body, at) =>
      noEvent(() => tf.concat(sides(body.mesh).map(side => of(touching(side, body.loadPlace(at))))));
  return {
    prepare: mesh => {
      requireApart(mesh, sides(mesh), reach);
      return place =>
        noEvent(() =>
          sides(mesh)
            .map(side => nodal(side, place))
            .reduce((sum, force) => tf.add(sum, force)),
        );
    },
    places: inState(({x}) => x),
    gap: inState(({gap}) => gap),
    pressure: inState(({pressure}) => pressure),
    forces: inState(({forces}) => forces),
  };
}

/** The smallest gap in the undeformed mesh, and the nearest node; undefined where it depends on parameters. */
function deepest(mesh: Mesh, {facets, touch}: Side): {readonly gap: number; readonly node: number} | undefined {
  const {block, rule, interpolated} = facets;
  const d = mesh.dimension;
  const gapAt = ({q}: {readonly q: tf.Tensor}): tf.Tensor => {
    const X = tf.reshape(q, [-1, d]);
    const u = tf.zerosLike(X);
    const x = tf.reshape(interpolated(X), [-1, d]);
    return noEvent(() => touch(x, {X, u, t: constantTensor(0, []), params: {}, velocity: () => u}).gap);
  };
  let gaps: Float64Array;
  try {
    gaps = evaluated(gapAt, {q: mesh.points});
  } catch (error) {
    if (error instanceof OptionError) throw error;
    return undefined;
  }
  const least = gaps.reduce((best, gap, i) => (gap < gaps[best] ? i : best), 0);
  const [facet, point] = [Math.floor(least / rule.count), least % rule.count];
  const weights = rule.N.subarray(point * block.shape.nodes, (point + 1) * block.shape.nodes);
  return {gap: gaps[least], node: block.nodes[facet * block.shape.nodes + weights.indexOf(Math.max(...weights))]};
}

const overlap = (mesh: Mesh, {gap, node}: {readonly gap: number; readonly node: number}, remedy: string): OptionError =>
  new OptionError(
    'overlap',
    `contact: near ${nodeText(mesh, node)} the undeformed surface lies ${(-gap).toPrecision(3)} inside of what it may `
      + `touch. ${remedy}`,
    {node, depth: -gap},
  );

/**
 * Surfaces do not overlap in the undeformed mesh. An obstacle that depends on parameters is not known yet.
 * @throws OptionError 'overlap'
 */
function requireApart(mesh: Mesh, sides: readonly Side[], reach: number): void {
  for (const side of sides) {
    const least = deepest(mesh, side);
    if (least !== undefined && least.gap < -1e-9 * reach) throw overlap(mesh, least, 'Move the body or the obstacle.');
  }
}
