/**
 * Coulomb's and Moreau's laws, e = 0, between balls and planes in every step of a run in pieces, counted from states
 * and forces alone.
 */
import type {NearSegment} from '../../../models/index.js';

type V3 = readonly [number, number, number];

const cross = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const dot = (a: readonly number[], b: readonly number[]): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Duff et al. 2017, of which λ's components are told. */
function tangents([x, y, z]: readonly number[]): [number[], number[]] {
  const sign = z < 0 ? -1 : 1;
  const a = -1 / (sign + z);
  return [
    [1 + sign * x * x * a, sign * x * y * a, -sign * x],
    [x * y * a, sign + y * y * a, -y],
  ];
}

/**
 * The worst of all steps, in velocities [m/s] and impulses [kg m/s]: what a force pulls; the lesser of an impulse and
 * the speed with which its contact leaves; how fast a contact sinks; how far friction is beyond its cone, and what it
 * lacks of the power it can take, of large impulses over the impulse. Then the largest force, and how deep balls are in
 * each other and in planes.
 */
export function lawsOfBalls(
  pieces: readonly Pick<NearSegment, 'steps' | 'pairs' | 'q' | 'v' | 'lambda'>[],
  given: {
    readonly n: number;
    readonly h: number;
    readonly radius: number;
    readonly mu: number;
    readonly walls: readonly {readonly at: V3; readonly normal: V3}[];
    /** Of contacts that are springs. */
    readonly compliance?: number;
  },
): {worst: number; most: number; deepest: number} {
  const {n, h, radius, mu, walls, compliance = 0} = given;
  let [worst, most, deepest] = [0, 0, 0];
  for (const {steps, pairs, q: states, v: speeds, lambda} of pieces) {
    const flat = pairs.filter(([a]) => a < 0).length;
    const rows = 3 * pairs.length;
    for (let k = 0; k < steps; k++) {
      const all = lambda.subarray(k * rows, (k + 1) * rows);
      // Geometry of the step's start, velocities of its end.
      const q = states.subarray(7 * n * k, 7 * n * (k + 1));
      const v = speeds.subarray(6 * n * (k + 1), 6 * n * (k + 2));
      const ended = states.subarray(7 * n * (k + 1), 7 * n * (k + 2));
      const centre = (i: number, from = q): number[] => [...from.subarray(7 * i, 7 * i + 3)];
      const surface = (i: number, arm: readonly number[]): number[] => {
        const [w, ...u] = q.subarray(7 * i + 3, 7 * i + 7);
        const twist = v.subarray(6 * i, 6 * i + 6);
        const t = cross(u, [...twist.subarray(3)]).map(x => 2 * x);
        const spin = cross(u, t).map((x, axis) => x + w * t[axis] + twist[3 + axis]);
        return cross(spin, arm).map((x, axis) => x + twist[axis]);
      };
      const judge = (
        gap: number,
        normal: readonly number[],
        u: readonly number[],
        push: number,
        rub: Float64Array,
      ): void => {
        const along = dot(u, normal);
        const slip = tangents(normal).map(direction => dot(u, direction));
        most = Math.max(most, push);
        const apart = (compliance > 0 ? gap + compliance * push : Math.max(gap, 0)) / h;
        worst = Math.max(
          worst,
          h * -push,
          Math.min(h * push, Math.abs(along + apart), compliance > 0 ? Infinity : Math.abs(along)),
          -along - apart,
          h * (Math.hypot(...rub) - mu * push),
          (mu * push * Math.hypot(...slip) + rub[0] * slip[0] + rub[1] * slip[1]) / Math.max(1 / h, push),
        );
      };
      let [onWall, onBall] = [0, 0];
      for (const [a, b] of pairs) {
        const middle = centre(b);
        if (a < 0) {
          const {at, normal} = walls[-1 - a];
          const c = onWall++;
          const gap = (from: readonly number[]): number => dot(normal, from.map((x, axis) => x - at[axis])) - radius; // prettier-ignore
          deepest = Math.max(deepest, -gap(centre(b, ended)));
          judge(gap(middle), normal, surface(b, normal.map(x => -radius * x)), all[c], all.subarray(flat + 2 * c, flat + 2 * c + 2)); // prettier-ignore
          continue;
        }
        const c = onBall++;
        const [from, balls] = [3 * flat, pairs.length - flat];
        const apart = middle.map((x, axis) => x - centre(a)[axis]);
        const length = Math.hypot(...apart);
        const normal = apart.map(x => x / length);
        const after = centre(b, ended).map((x, axis) => x - centre(a, ended)[axis]);
        deepest = Math.max(deepest, 2 * radius - Math.hypot(...after));
        const other = surface(a, normal.map(x => (length - radius) * x)); // prettier-ignore
        const u = surface(b, normal.map(x => -radius * x)).map((x, axis) => x - other[axis]); // prettier-ignore
        const at = from + balls + 2 * c;
        judge(length - 2 * radius, normal, u, all[from + c], all.subarray(at, at + 2));
      }
    }
  }
  return {worst, most, deepest};
}
