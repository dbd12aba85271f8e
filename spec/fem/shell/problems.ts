/** Published problems of shells by MacNeal and Harder (Finite Elem. Anal. Des. 1, 1985), and that of Sze, Liu and Lo. */
import {box, loads, mapped, shell, supports, type ShellBody} from '../../../fem/index.js';
import {equilibrium} from '../../../lib/index.js';

export type ShellCell = 'quad4' | 'tri3';

/** A problem whose displacement is small: the body and the displacement that is told. */
export interface ShellProblem {
  readonly body: ShellBody;
  readonly place: readonly number[];
  readonly component: number;
  /** The load by that of the problem, so small that the shell is linear. */
  readonly scale: number;
}

const degree = Math.PI / 180;

/** A quarter of a roof under its weight on two diaphragms: 0.3024 downwards in the middle of the free edge. */
export function scordelisLo(n: number, cell: ShellCell): ShellProblem {
  const [R, L, t] = [25, 50, 0.25];
  const mesh = mapped(box([1, 1], [n, n], cell), ([s, y]) => [
    R * Math.sin(40 * degree * s),
    (y * L) / 2,
    R * Math.cos(40 * degree * s),
  ]);
  const scale = 1e-4;
  const body = shell({
    mesh,
    thickness: t,
    E: 4.32e8,
    nu: 0,
    density: 1,
    supports: [
      supports.held('bottom', ['x', 'z']),
      supports.held('top', ['y', 'rx', 'rz']),
      supports.held('left', ['x', 'ry', 'rz']),
    ],
    loads: [loads.bodyForce([0, 0, (-90 / t) * scale])],
  });
  return {body, place: [R * Math.sin(40 * degree), L / 2, R * Math.cos(40 * degree)], component: 2, scale: -scale};
}

/** An octant of a cylinder between diaphragms, pinched by two forces: 1.8248e-5 below them. */
export function pinchedCylinder(n: number, cell: ShellCell): ShellProblem {
  const [R, L] = [300, 600];
  const mesh = mapped(box([1, 1], [n, n], cell), ([s, y]) => [
    R * Math.sin(90 * degree * s),
    (y * L) / 2,
    R * Math.cos(90 * degree * s),
  ]);
  const top = mesh.points.length / 3 - n - 1;
  const body = shell({
    mesh,
    thickness: 3,
    E: 3e6,
    nu: 0.3,
    density: 1,
    supports: [
      supports.held('bottom', ['x', 'z']),
      supports.held('top', ['y', 'rx', 'rz']),
      supports.held('left', ['x', 'ry', 'rz']),
      supports.held('right', ['z', 'rx', 'ry']),
    ],
    loads: [loads.pointLoad([top], [0, 0, -0.25])],
  });
  return {body, place: [0, L / 2, R], component: 2, scale: -1};
}

/** A quadrant of a hemisphere with a hole of 18°, pulled along x and pushed along y: 0.0940. */
export function hemisphere(n: number, cell: ShellCell): ShellProblem {
  const mesh = mapped(box([1, 1], [n, n], cell), ([s, h]) => {
    const [around, up] = [90 * degree * s, 72 * degree * h];
    return [10 * Math.cos(up) * Math.cos(around), 10 * Math.cos(up) * Math.sin(around), 10 * Math.sin(up)];
  });
  const scale = 1e-3;
  const body = shell({
    mesh,
    thickness: 0.04,
    E: 6.825e7,
    nu: 0.3,
    density: 1,
    supports: [
      supports.held('left', ['y', 'rx', 'rz']),
      supports.held('right', ['x', 'ry', 'rz']),
      supports.held([0], ['z']),
    ],
    loads: [loads.pointLoad([0], [scale, 0, 0]), loads.pointLoad([n], [0, -scale, 0])],
  });
  return {body, place: [10, 0, 0], component: 0, scale};
}

/** The displacement of a problem, by its load. */
export function displacementOf({body, place, component, scale}: ShellProblem): number {
  const found = equilibrium(body, {q: body.start.q});
  const value = body.evaluate(body.probe([place]), {q: found.values('q')})[component];
  found.dispose();
  return value / scale;
}

/**
 * A ring that is cut open, clamped at one side of the slit and lifted at the other by 0.8 for each unit of length (Sze,
 * Liu & Lo, Finite Elem. Anal. Des. 40, 2004): the inner end rises by 13.891, the outer by 17.528.
 */
export const slitRing = (outwards: number, around: number, cell: ShellCell): ShellBody =>
  shell({
    mesh: mapped(box([1, 1], [outwards, around], cell), ([s, h]) => {
      const [r, angle] = [6 + 4 * s, 360 * degree * h];
      return [r * Math.cos(angle), r * Math.sin(angle), 0];
    }),
    thickness: 0.03,
    E: 21e6,
    nu: 0,
    density: 1,
    supports: [supports.held('bottom')],
    loads: [loads.traction('top', [0, 0, 0.8 / 0.03])],
  });
