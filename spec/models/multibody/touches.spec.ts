/** Signed distances of shapes, against geometry done by hand: values, directions, points, derivatives, forces that are gradients. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {OptionError, type NumericParams} from '../../../lib/index.js';
import type {Multibody, Shape} from '../../../models/index.js';
import {contact, multibody, rigidContact} from '../../../models/index.js';
import {box, capsule, ellipsoid, hull, implicitSurface, plane, sphere} from '../../../models/multibody/shapes.js';
import {heightField} from '../../../models/multibody/surfaces.js';
import {largest} from '../../simulate/numbers.js';
import {forcesOf, gradientOf, valueOf} from '../evaluate.js';
import {slow} from '../../tiers.js';

type V3 = [number, number, number];
type Q4 = [number, number, number, number];
interface Pose {
  position?: V3;
  rotation?: Q4;
}

const inertia = [1, 1, 1];
const pair = (shapes: readonly [Shape, Shape]): Multibody =>
  multibody({bodies: {a: {mass: 1, inertia}, b: {mass: 1, inertia}}, contacts: [rigidContact('a', 'b', {shapes})]});
const poses = (...all: Pose[]) => ({
  q: all.map(({position = [0, 0, 0], rotation = [1, 0, 0, 0]}) => [...position, ...unit(rotation)]),
  // Of the shape of q, for a system of numbers; the last of each row is not read.
  v: all.map(() => [0, 0, 0, 0, 0, 0, 0]),
});
const unit = (rotation: Q4): number[] => rotation.map(x => x / Math.hypot(...rotation));

/** All gaps of two shapes, of bodies at these poses; shapes are given at the origin. */
function gaps(shapes: readonly [Shape, Shape], a: Pose, b: Pose, params?: NumericParams): number[] {
  const [constraint] = pair(shapes).constraints;
  return [...valueOf(({q, t, params: given}) => constraint.gap!({q, t, params: given} as never) as tf.Tensor, {...poses(a, b), params})]; // prettier-ignore
}
/** Of points that there are: the others are further apart than the boxes are long. */
const there = (all: number[], far: number): number[] => all.filter(x => x < far);

const about = (axis: V3, angle: number): Q4 => [
  Math.cos(angle / 2),
  ...(axis.map(x => (x * Math.sin(angle / 2)) / Math.hypot(...axis)) as V3),
];
const close = (found: readonly number[], expected: readonly number[], by = 1e-12): void => {
  expect(found).to.have.length(expected.length);
  found.forEach((x, i) => expect(x, `${i} of ${found.join(', ')}`).to.be.closeTo(expected[i], by));
};

const ball = sphere({radius: 0.1});
const rod = capsule({radius: 0.2, from: [-1, 0, 0], to: [1, 0, 0]});
const crate = box({size: [2, 1, 0.6]});

describe('signed distances', () => {
  slow('of a ball and a capsule: beside it, and beyond its end; in either order', () => {
    close(gaps([rod, ball], {}, {position: [0.4, 0, 0.5]}), [0.2]);
    close(gaps([rod, ball], {}, {position: [1.3, 0, 0.4]}), [0.5 - 0.3]);
    close(gaps([ball, rod], {position: [1.3, 0.4, 0]}, {}), [0.2]);
    close(gaps([ball, rod], {position: [1.3, 0.4, 0]}, {rotation: about([0, 0, 1], Math.PI / 2)}), [Math.hypot(1.3, 0) - 0.3]); // prettier-ignore
  });

  slow('of two capsules: crossing at an angle, along each other, end to end', () => {
    const [nearest, ...ends] = gaps([rod, rod], {}, {position: [0.3, 0.1, 0.7], rotation: about([0, 0, 1], 0.5)});
    expect(nearest).to.be.closeTo(0.7 - 0.4, 1e-12);
    expect(Math.min(...ends)).to.be.greaterThan(0.3);
    // Along each other by 0.8: an end of each, and the other ends, which lie beyond; the first point is lifted by both radii.
    const beyond = Math.hypot(1.2, 0.5) - 0.4;
    close(gaps([rod, rod], {}, {position: [1.2, 0, 0.5]}), [0.1 + 0.4, 0.1, beyond, beyond, 0.1]);
    close(gaps([rod, rod], {}, {position: [2.5, 0, 0]}), [0.1 + 0.4, 0.1, 2.1, 2.1, 0.1]);
    // The nearest of many points of both.
    const [a, b] = [about([1, 2, 3], 1), about([-1, 1, 0.5], 2)];
    const at: V3 = [0.4, 0.9, 1];
    let least = Infinity;
    const along = (rotation: Q4, s: number): number[] => turn(rotation, [s, 0, 0]);
    for (let s = -500; s <= 500; s++)
      for (let t = -500; t <= 500; t++)
        least = Math.min(least, Math.hypot(...along(b, t / 500).map((x, i) => x + at[i] - along(a, s / 500)[i])));
    expect(gaps([rod, rod], {rotation: a}, {position: at, rotation: b})[0]).to.be.closeTo(least - 0.4, 1e-5);
  });

  it('of two capsules that cross: the distance of the axes, and of the ends where they are parallel', () => {
    const across = (sine: number): number[] => gaps([rod, rod], {}, {position: [0, 0, 0.5], rotation: about([0, 0, 1], Math.asin(sine))}); // prettier-ignore
    for (const sine of [1.0001e-3, 0.01, 0.5]) expect(across(sine)[0]).to.be.closeTo(0.1, 1e-15);
    for (const share of [0.1, 0.5, 0.9]) {
      const [first, ...ends] = across(1e-3 * Math.sqrt(share));
      expect(first).to.be.closeTo(0.1 + 0.4 * (1 - share) ** 2, 1e-9);
      // The length is 2 and the axes are 0.5 apart: what the first point would have told sooner is L² sin²θ/(8 d).
      for (const gap of ends) expect(gap - 0.1).to.be.closeTo((4 * 1e-6 * share) / (8 * 0.5), 1e-11);
    }
  });

  slow('of two capsules at angles from none to rounding: gaps, forces and their derivatives are finite', () => {
    const bodies = {a: {mass: 1, inertia}, b: {mass: 1, inertia}};
    const shapes = [rod, rod] as const;
    const [rigid] = pair(shapes).constraints;
    const gap = ({q, t, params}: never) => tf.sum(rigid.gap!({q, t, params} as never) as tf.Tensor);
    const yields = multibody({bodies, contacts: [contact('a', 'b', {shapes, stiffness: 1000})]});
    for (const angle of [0, 1e-17, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, Math.PI]) {
      const state = poses({}, {position: [0.3, 0, 0.38], rotation: about([0, 1, 0], angle)});
      const all = [gradientOf(gap as never, state), gradientOf(yields.energy as never, state), forcesOf(yields, state)];
      expect(all.flatMap(x => [...x]).every(Number.isFinite), `${angle}`).to.equal(true);
    }
  });

  slow('of a ball and a box: before a face, an edge and a corner, and inside', () => {
    const gap = (position: V3): number[] => gaps([crate, ball], {}, {position});
    close(gap([0.5, 0.2, 0.7]), [0.3]);
    close(gap([1.3, 0.2, 0.7]), [0.5 - 0.1]);
    close(gap([1.2, -0.8, 0.9]), [0.7 - 0.1]);
    close(gap([0, 0, 0.25]), [-0.15]);
    close(gap([-0.98, 0.2, 0.25]), [-0.12]);
    close(gap([0.7, 0.2, 0.3]), [-0.1]);
    close(gaps([ball, crate], {position: [0, 0, 0.7]}, {rotation: about([1, 0, 0], Math.PI / 2)}), [0.1]);
  });

  describe('of two boxes', () => {
    const cube = box({size: [1, 1, 1]});
    const far = 2;
    const points = (a: Pose, b: Pose, shapes: readonly [Shape, Shape] = [cube, cube]): number[] => there(gaps(shapes, a, b), far); // prettier-ignore

    slow('straight on each other: four corners; turned by 45°: eight; a corner over: four', () => {
      close(points({}, {position: [0, 0, 1.1]}), [0.1, 0.1, 0.1, 0.1]);
      close(points({}, {position: [0, 0, 0.99]}), Array<number>(4).fill(-0.01));
      close(points({}, {position: [0, 0, 1.1], rotation: about([0, 0, 1], Math.PI / 4)}), Array<number>(8).fill(0.1));
      close(points({}, {position: [0.7, -0.6, 1.1]}), Array<number>(4).fill(0.1));
      close(points({}, {position: [0, 1.05, 0.3]}), Array<number>(4).fill(0.05));
    });

    slow('planks laid across: four; small under large and large under small: four', () => {
      const plank = box({size: [3, 0.2, 0.1]});
      const across = there(gaps([plank, plank], {}, {position: [0, 0, 0.15], rotation: about([0, 0, 1], Math.PI / 2)}), 3); // prettier-ignore
      close(across, Array<number>(4).fill(0.05));
      const large = box({size: [4, 4, 1]});
      close(points({}, {position: [0, 0, 1.2]}, [cube, large]), Array<number>(4).fill(0.2));
      close(points({}, {position: [0, 0, 1.2]}, [large, cube]), Array<number>(4).fill(0.2));
    });

    it('tilted: the corners at their heights', () => {
      const angle = 0.1;
      const found = points({}, {position: [0, 0, 1.2], rotation: about([0, 1, 0], angle)}, [box({size: [4, 4, 1]}), cube]); // prettier-ignore
      const high = 1.2 - 0.5 - 0.5 * Math.cos(angle);
      const side = 0.5 * Math.sin(angle);
      close(found.sort((a, b) => a - b), [high - side, high - side, high + side, high + side]); // prettier-ignore
    });

    it('edge against edge, at right angles and askew: the distance of the edges', () => {
      // Both stand on an edge, along x and along y.
      const below = {rotation: about([1, 0, 0], Math.PI / 4)};
      const above = (yaw: number): Pose => ({
        position: [0.1, 0.05, Math.SQRT2 + 0.03],
        rotation: composed(about([0, 0, 1], yaw), about([1, 0, 0], Math.PI / 4)),
      });
      close(points(below, above(Math.PI / 2)), [0.03]);
      close(points(below, above(1)), [0.03]);
    });

    it('is never more than the distance of points of both, and least where they touch', () => {
      let seed = 7;
      const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
      for (let i = 0; i < 6; i++) {
        const rotation: Q4 = [next(), next(), next(), next()];
        // Falls on the middle of the lower box: the lowest corner is what touches.
        const corners = [-0.5, 0.5].flatMap(x => [-0.5, 0.5].flatMap(y => [-0.5, 0.5].map(z => turn(unit(rotation) as Q4, [x, y, z])))); // prettier-ignore
        const lowest = corners.reduce((a, b) => (b[2] < a[2] ? b : a));
        const at: V3 = [-lowest[0] + 0.1 * next(), -lowest[1] + 0.1 * next(), -lowest[2] + 0.5 - 0.01];
        const found = points({}, {position: at, rotation}, [box({size: [4, 4, 1]}), cube]);
        expect(Math.min(...found)).to.be.closeTo(-0.01, 1e-12);
      }
    });
  });

  slow('of an ellipsoid and a plane: the least of n·x of its points; of a hull: its corners', () => {
    const radii: V3 = [0.3, 0.2, 0.1];
    const rotation = about([1, 2, 3], 1.1);
    const normal: V3 = [0.2, -0.3, 1];
    const n = normal.map(x => x / Math.hypot(...normal));
    let least = Infinity;
    for (let u = 0; u < Math.PI; u += 0.005)
      for (let w = 0; w < 2 * Math.PI; w += 0.005) {
        const x = turn(rotation, [radii[0] * Math.sin(u) * Math.cos(w), radii[1] * Math.sin(u) * Math.sin(w), radii[2] * Math.cos(u)]); // prettier-ignore
        least = Math.min(least, n[0] * (x[0] + 0.1) + n[1] * x[1] + n[2] * (x[2] + 0.5));
      }
    const [found] = gaps([plane({normal}), ellipsoid({radii})], {}, {position: [0.1, 0, 0.5], rotation});
    expect(found).to.be.closeTo(least, 1e-5);
    close(gaps([ellipsoid({radii}), plane()], {position: [0, 0, 1]}, {}), [0.9]);
    const wedge = hull({points: [[0, 0, -0.1], [0.5, 0, 0.2], [0, 0.5, 0.3]]}); // prettier-ignore
    close(gaps([plane(), wedge], {}, {position: [0, 0, 1]}), [0.9, 1.2, 1.3]);
  });

  describe('of a ball and a surface', () => {
    const [a, b, c] = [0.8, 0.5, 0.4];
    const egg = implicitSurface({
      value: ({x, y, z}) => tf.sub(tf.addN([tf.square(tf.div(x, a)), tf.square(tf.div(y, b)), tf.square(tf.div(z, c))]), 1), // prettier-ignore
    });

    slow('is the way along the normal of an ellipsoid, outside and inside', () => {
      for (const [u, w] of [
        [0.3, 1],
        [1.2, 4],
        [2.5, 5.5],
      ] as const) {
        const foot = [a * Math.sin(u) * Math.cos(w), b * Math.sin(u) * Math.sin(w), c * Math.cos(u)];
        const slope = [foot[0] / a ** 2, foot[1] / b ** 2, foot[2] / c ** 2];
        for (const way of [0.02, 0.1, 0.25, -0.05]) {
          const position = foot.map((x, i) => x + (way * slope[i]) / Math.hypot(...slope)) as V3;
          expect(gaps([egg, ball], {}, {position})[0], `${way}`).to.be.closeTo(way - 0.1, 1e-9);
        }
      }
    });

    slow('finds a bowl and a pipe that the ball nearly fills, from near their middles', () => {
      const squares = (...all: readonly tf.Tensor[]): tf.Tensor => tf.addN(all.map(x => tf.square(x)));
      const bowl = implicitSurface({value: ({x, y, z}) => tf.sub(1, squares(x, y, z))});
      const pipe = implicitSurface({value: ({x, y}) => tf.sub(1, squares(x, y))});
      const full = sphere({radius: 0.9});
      for (const [x, y, z] of [
        [0.1, 0, 0],
        [0.05, -0.07, 0.1],
        [-0.02, 0.03, -0.01],
        [0.15, 0.1, 0.05],
      ] as const) {
        // prettier-ignore
        close(gaps([bowl, full], {}, {position: [x, y, z]}), [0.1 - Math.hypot(x, y, z)]);
        close(gaps([pipe, full], {}, {position: [x, y, z]}), [0.1 - Math.hypot(x, y)]);
      }
    });

    slow('turns and moves with its body, and reads params', () => {
      const grown = implicitSurface({
        value: ({x, y, z, params}) => tf.sub(tf.addN([tf.square(x), tf.square(y), tf.square(z)]), tf.square((params as {r: tf.Tensor}).r)), // prettier-ignore
      });
      close(gaps([ball, grown], {position: [1, 2, 3.7]}, {position: [1, 2, 3], rotation: about([1, 1, 0], 1)}, {r: 0.5}), [0.1]); // prettier-ignore
    });

    slow('of heights on a grid: slopes and parabolas are what they are', () => {
      const [nodes, size] = [9, 2];
      const heights = (f: (x: number, y: number) => number): number[][] =>
        Array.from({length: nodes}, (_, j) =>
          Array.from({length: nodes}, (_, i) => f((i / (nodes - 1) - 0.5) * size, (j / (nodes - 1) - 0.5) * size)),
        );
      const slope = heightField({heights: heights((x, y) => 0.3 * x - 0.2 * y), size: [size, size]});
      const n = [-0.3, 0.2, 1].map(x => x / Math.hypot(0.3, 0.2, 1));
      const above = (x: number, y: number, z: number, by: number): V3 => [x, y, z].map((p, i) => p + by * n[i]) as V3;
      close(gaps([slope, ball], {}, {position: above(0.31, -0.17, 0.093 + 0.034, 0.15)}), [0.05], 1e-10);
      const bowl = heightField({heights: heights(x => x ** 2), size: [size, size]});
      const normal = [-2 * 0.3, 0, 1].map(x => x / Math.hypot(0.6, 1));
      const position = [0.3, 0.1, 0.09].map((x, i) => x + 0.12 * normal[i]) as V3;
      close(gaps([bowl, ball], {}, {position}), [0.02], 1e-9);
      // Beyond the edge it goes on level, along x.
      close(gaps([slope, ball], {}, {position: [1.5, 0, 0.45]}), [0.15 / Math.hypot(1, 0.2) - 0.1], 1e-9);
    });

    it('refuses what is no surface', () => {
      expect(() => gaps([implicitSurface({value: ({x}) => tf.sum(x)}), ball], {}, {})).to.throw(/surface-shape|\[1\]/);
      expect(() => heightField({heights: [[0, 0]], size: [1, 0]})).to.throw(OptionError, 'size');
      expect(() => gaps([heightField({heights: [[0, 0]], size: [1, 1]}), ball], {}, {})).to.throw(/at least \[2, 2\]/);
    });
  });

  const egg = implicitSurface({
    value: ({x, y, z}) => tf.sub(tf.addN([tf.square(x), tf.mul(2, tf.square(y)), tf.mul(3, tf.square(z))]), 1),
  });
  const hills = heightField({heights: [[0, 0.1, 0.2], [0.1, -0.1, 0], [0.2, 0, 0.3]], size: [3, 3]}); // prettier-ignore
  const tilt = about([0.3, 1, 0.2], 0.15);
  const touching: {readonly [name: string]: readonly [readonly [Shape, Shape], Pose]} = {
    'ball and capsule': [[rod, sphere({radius: 0.3})], {position: [0.4, 0.1, 0.45]}],
    'capsules across': [[rod, rod], {position: [0.1, 0.2, 0.35], rotation: about([0.1, 0.2, 1], 1)}],
    'capsules along': [[rod, rod], {position: [0.5, 0.02, 0.37], rotation: about([0, 1, 0], 0.01)}],
    'capsules nearly along': [[rod, rod], {position: [0.3, 0.01, 0.38], rotation: about([0, 0.3, 1], 0.015)}],
    'capsules at the border of their share': [
      [rod, rod],
      {position: [0.3, 0.01, 0.38], rotation: about([0.1, 0.3, 1], 0.031)},
    ],
    'ball on a face': [[crate, sphere({radius: 0.3})], {position: [0.4, 0.1, 0.5]}],
    'ball on an edge': [[crate, sphere({radius: 0.3})], {position: [1.1, 0.1, 0.5]}],
    'ball on a corner': [[crate, sphere({radius: 0.3})], {position: [1.1, 0.6, 0.4]}],
    'edges of boxes': [
      [box({size: [1, 1, 1]}), box({size: [1, 1, 1]})],
      {position: [0.1, 0.05, 1.19], rotation: composed(about([0, 0, 1], 0.7), about([1, 0.1, 0], Math.PI / 4))},
    ],
    'a corner on a box': [[crate, box({size: [1, 1, 1]})], {position: [0, 0, 1.05], rotation: about([1, 0.7, 0], 0.8)}],
    ellipsoid: [[plane(), ellipsoid({radii: [0.3, 0.2, 0.1]})], {position: [0, 0, 0.09], rotation: tilt}],
    surface: [[egg, sphere({radius: 0.3})], {position: [0.6, 0.3, 0.6]}],
    hills: [[hills, sphere({radius: 0.3})], {position: [0.3, 0.2, 0.15]}],
  };
  for (const [name, [shapes, pose]] of Object.entries(touching))
    slow(`forces are gradients of the energy: ${name}`, () => {
      const bodies = {a: {mass: 1, inertia}, b: {mass: 1, inertia}};
      const system = multibody({bodies, contacts: [contact('a', 'b', {shapes, stiffness: 1000})]});
      const state = poses({rotation: about([1, 0, 0], 0)}, pose);
      const forces = forcesOf(system, state);
      expect(largest(forces.subarray(6, 9))).to.be.greaterThan(0.1);
      const slope = gradientOf(system.energy as never, state);
      for (const body of [0, 1]) {
        const c = slope.subarray(7 * body, 7 * body + 7);
        const [w, x, y, z] = state.q[body].slice(3);
        // ∂E along the rate ½ q∘(0, ω) of the quaternion.
        const turns = [
          0.5 * (-x * c[3] + w * c[4] + z * c[5] - y * c[6]),
          0.5 * (-y * c[3] - z * c[4] + w * c[5] + x * c[6]),
          0.5 * (-z * c[3] + y * c[4] - x * c[5] + w * c[6]),
        ];
        const expected = [...c.subarray(0, 3), ...turns].map(value => -value);
        close([...forces.subarray(6 * body, 6 * body + 6)], expected, 1e-7 * largest(forces));
      }
    });
});

function turn([w, ...u]: Q4, a: readonly number[]): number[] {
  const cross = (b: readonly number[], d: readonly number[]): number[] => [
    b[1] * d[2] - b[2] * d[1],
    b[2] * d[0] - b[0] * d[2],
    b[0] * d[1] - b[1] * d[0],
  ];
  const t = cross(u, a).map(x => 2 * x);
  return cross(u, t).map((x, i) => x + a[i] + w * t[i]);
}

/** The second first. */
function composed([w, x, y, z]: Q4, [e, i, j, k]: Q4): Q4 {
  return [
    w * e - x * i - y * j - z * k,
    w * i + x * e + y * k - z * j,
    w * j - x * k + y * e + z * i,
    w * k + x * j - y * i + z * e,
  ];
}
