/** Whole mechanisms in redundant coordinates: chains of rods, the N-four-bar mechanism, the slider-crank. */
import * as tf from '@tensorflow/tfjs';
import {
  callable,
  positiveInteger,
  finite,
  list,
  oneOfNumbers,
  optional,
  positive,
  readOptions,
  typed,
  type Options,
} from '../lib/checks.js';
import type {Constraint, Params} from '../lib/index.js';
import type {Compliance} from '../lib/internal.js';
import {bilateral, OptionError} from '../lib/index.js';
import {particleMass} from './chain.js';
import type {Coefficient} from './coefficient.js';
import {isZero, quantity, requireTensor} from './coefficient.js';
import type {Edge} from './edges.js';
import type {SystemWithEnergy} from './energy.js';
import {withEnergy} from './energy.js';
import {gravity, standardGravity} from './gravity.js';
import type {BodyPoint, Pin} from './planar-bodies.js';
import {pointsAndFixed, range, withFigure, type Drawn, type Figure} from './figure.js';
import {bodyPoints, lumpedMass, pins, weight} from './planar-bodies.js';
import {distanceConstraints} from './links.js';

const rodChainOptions = {
  /** Number of rods. */
  links: positiveInteger,
  /** Length of each rod [length], one number or [links]; default 1. */
  length: optional(typed<Coefficient>(), 1),
  /** Mass of each moving point [mass], one number or [points]; default 1. */
  mass: optional(typed<Coefficient>(), 1),
  /** [length / time²]; default 9.80665. Downwards is −y in the plane, −z in space. */
  g: optional(typed<Coefficient>(), standardGravity),
  /** Compliance of each rod [length / force]; default: rigid. */
  compliance: optional(typed<Compliance>()),
  /** 2 (default): the plane; 3: space. */
  dimension: optional(oneOfNumbers(2, 3), 2),
  /** The fixed end of the last rod, [dim]: a chain between two anchors. Without it the last point is free. */
  to: optional(typed<readonly number[]>(list)),
};

/** The argument of `rodChain`. @interface */
export type RodChainSpec = Options<typeof rodChainOptions>;

/**
 * Point masses joined by massless rods, the first hung from the origin: a pendulum for one link, a
 * multi-link pendulum for more; with `to`, a chain between two anchors. q [points, dim] has a point at
 * the end of every rod except an anchored one: `links` points, or links − 1. λ [links] is minus the
 * tension of each rod.
 * @throws OptionError 'bad-option', 'bad-coefficient', 'bad-constraint'; ShapeError 'coefficient-shape' when traced
 */
export function rodChain(spec: RodChainSpec): SystemWithEnergy & Drawn {
  const read = readOptions(spec, rodChainOptions, 'rodChain');
  const {links, length, g, dimension, to, compliance} = read;
  if (to !== undefined && links < 2)
    throw new OptionError('bad-option', 'rodChain: a chain between two anchors needs at least 2 links.', {links});
  if (to !== undefined && (to.length !== dimension || !to.every(Number.isFinite)))
    throw new OptionError('bad-option', `rodChain: to must be ${dimension} finite numbers, not [${to.join(', ')}].`, {
      to: [...to],
    });
  const points = to === undefined ? links : links - 1;
  const origin = new Array<number>(dimension).fill(0);
  const edges = Array.from({length: links}, (_, i): Edge => [i === 0 ? points : i - 1, i === points ? points + 1 : i]);
  const mass = particleMass(read.mass, 'rodChain');
  const down = dimension === 2 ? [0, -1] : [0, 0, -1];
  const forces = isZero(g) ? [] : [gravity({mass, g, direction: down})];
  const fixed = to === undefined ? [origin] : [origin, [...to]];
  const figure: Figure = {
    points: pointsAndFixed(fixed),
    rods: edges,
    fixed: range(points, fixed.length),
    trails: to === undefined ? [points - 1] : [],
  };
  return withFigure(withEnergy(mass, forces, [distanceConstraints({edges, fixed, length, compliance})]), figure);
}

const fourBarsOptions = {
  /** N, the number of parallelograms side by side. */
  windows: positiveInteger,
  /** Length of each bar [length]; default 1. */
  length: optional(positive, 1),
  /** Mass of each bar [mass]; default 1. */
  mass: optional(quantity('positive'), 1),
  /** [length / time²]; default 9.80665. */
  g: optional(typed<Coefficient>(), standardGravity),
  /** Initial velocity of the first upper joint along x [length / time]; default 1. */
  speed: optional(finite, 1),
};

/** The argument of `fourBars`. @interface */
export type FourBarsSpec = Options<typeof fourBarsOptions>;

/** Made by `fourBars`. */
export interface FourBars extends SystemWithEnergy, Drawn {
  /** Standing bars upright, moving in +x. */
  readonly initial: {readonly q: number[][]; readonly v: number[][]};
  /** The upper joint of standing bar i, for `bodyPoints`. */
  joint(i: number): BodyPoint;
}

/**
 * The N-four-bar mechanism (IFToMM benchmark A02: González, Dopico, Lugrís & Cuadrado 2006): 2N + 1 equal slender
 * bars, N + 1 standing on the ground at distances of their length and N lying on top. Bars are planar
 * bodies, q [2N + 1, 3], the standing ones first. Every two bars that meet are pinned to each other: for
 * N ≥ 2 these are 2(N − 1) redundant rows, and in the position where the standing bars lie down the mechanism is
 * singular: N more rows depend on the others.
 * @throws OptionError 'bad-option', 'bad-coefficient'
 */
export function fourBars(spec: FourBarsSpec): FourBars {
  const {windows, length, mass, g, speed} = readOptions(spec, fourBarsOptions, 'fourBars');
  const half = length / 2;
  const foot = (body: number): BodyPoint => ({body, at: [-half, 0]});
  const head = (body: number): BodyPoint => ({body, at: [half, 0]});
  const lying = (i: number): number => windows + 1 + i;
  const joints: Pin[] = [];
  for (let i = 0; i <= windows; i++) {
    joints.push([foot(i), {body: 'ground', at: [i * length, 0]}]);
    const meeting = [head(i), ...(i > 0 ? [head(lying(i - 1))] : []), ...(i < windows ? [foot(lying(i))] : [])];
    meeting.forEach((one, a) => meeting.slice(a + 1).forEach(other => joints.push([one, other])));
  }
  const inertia = lumpedMass({mass, inertia: params => tf.mul(mass(params), length ** 2 / 12)});
  const standing = (i: number): [number[], number[]] => [
    [i * length, half, Math.PI / 2],
    [speed / 2, 0, -speed / length],
  ];
  const across = (i: number): [number[], number[]] => [
    [(i + 0.5) * length, length, 0],
    [speed, 0, 0],
  ];
  const bars = [
    ...Array.from({length: windows + 1}, (_, i) => standing(i)),
    ...Array.from({length: windows}, (_, i) => across(i)),
  ];
  const ends = bodyPoints(bars.flatMap((_, i) => [foot(i), head(i)]));
  return {
    ...withEnergy(inertia, [weight(inertia, g)], [pins(joints)]),
    initial: {q: bars.map(([q]) => q), v: bars.map(([, v]) => v)},
    joint: head,
    figure: {
      points: ({q}) => ends(q),
      rods: bars.map((_, i) => [2 * i, 2 * i + 1] as const),
      fixed: range(0, windows + 1).map(i => 2 * i),
      trails: [1],
    },
  };
}

const sliderCrankOptions = {
  /** Length of the crank [length]. */
  crank: quantity('positive'),
  /** Length of the rod from crank pin to slider [length]. */
  rod: quantity('positive'),
  /** Masses of crank pin and slider [mass], one number or [2]; default 1. */
  mass: optional(typed<Coefficient>(), 1),
  /** The crank's angle from the x axis as a function of time, in radians; without it the crank is free. */
  angle: optional(typed<(at: {readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor>(callable)),
  /** Gravity along −y [length / time²]; default 0. */
  g: optional(typed<Coefficient>(), 0),
};

/** The argument of `sliderCrank`. @interface */
export type SliderCrankSpec = Options<typeof sliderCrankOptions>;

/**
 * A slider-crank: q [2, 2] is the crank pin, which circles the origin, and the slider on the x axis, two
 * point masses. λ [3, or 4 if driven]: minus the tensions of crank and rod, the force of the guide, and the
 * drive's force on the pin, perpendicular to the crank.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function sliderCrank(spec: SliderCrankSpec): SystemWithEnergy & Drawn {
  const {crank, rod, mass, angle, g} = readOptions(spec, sliderCrankOptions, 'sliderCrank');
  const length = (params: Params): tf.Tensor =>
    tf.concat([crank, rod].map(read => tf.reshape(read(params, [], 'a number'), [1])));
  const constraints: Constraint[] = [
    distanceConstraints({
      edges: [
        [2, 0],
        [0, 1],
      ],
      fixed: [[0, 0]],
      length,
    }),
    bilateral(({q}) => tf.slice(tf.reshape(q, [4]), [3], [1])),
  ];
  if (angle !== undefined) {
    constraints.push(
      bilateral(({q, t, params}) => {
        const turned = requireTensor(angle({t, params}), 'sliderCrank: angle');
        const [x, y] = [tf.slice(tf.reshape(q, [4]), [0], [1]), tf.slice(tf.reshape(q, [4]), [1], [1])];
        return tf.sub(tf.mul(y, tf.cos(turned)), tf.mul(x, tf.sin(turned)));
      }),
    );
  }
  const inertia = particleMass(mass, 'sliderCrank');
  const figure: Figure = {
    points: pointsAndFixed([[0, 0]]),
    rods: [
      [2, 0],
      [0, 1],
    ],
    fixed: [2],
    ground: [{normal: [0, 1]}],
  };
  return withFigure(
    withEnergy(inertia, isZero(g) ? [] : [gravity({mass: inertia, g, direction: [0, -1]})], constraints),
    figure,
  );
}
