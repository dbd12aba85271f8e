/** A rectangular mesh of springs, hung at some of its knots. */
import type {Check} from '../lib/checks.js';
import {any, boolean, object, refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import {particleMass} from './chain.js';
import type {Coefficient} from './coefficient.js';
import {isZero} from './coefficient.js';
import {damper} from './damper.js';
import type {Edge} from './edges.js';
import {edgeLengths} from './edges.js';
import type {SystemWithEnergy} from './energy.js';
import {withEnergy} from './energy.js';
import {pointsAndFixed, range, type Drawn, type Figure} from './figure.js';
import {gravity} from './gravity.js';
import type {Elasticity} from './spring.js';
import {dampers, springsOf} from './springs.js';

/** A knot of a mesh by row and column, from 0. */
export type Knot = readonly [row: number, column: number];

/** The argument of `springMesh`. */
export type SpringMeshSpec = Elasticity & {
  /** Knots in y direction, at least 1. */
  readonly rows: number;
  /** Knots in x direction, at least 1. */
  readonly columns: number;
  /** 3 (default): the mesh lies in the plane z = 0, gravity along −z. 2: it hangs in the plane, gravity along −y. */
  readonly dimension?: 2 | 3;
  /** Between neighbouring knots [length]; default 1. */
  readonly spacing?: number;
  /** Diagonal springs in each cell, of the same law; default false. Without them a mesh shears freely. */
  readonly diagonals?: boolean;
  /** [length], one number or [edges]; default the edges' lengths in `positions`. Shorter ones stretch the mesh. */
  readonly restLength?: Coefficient;
  /** Knots that do not move; 'corners' (default) are all four in 3-D and the two of row 0 in 2-D. [] is a free mesh. */
  readonly held?: 'corners' | readonly Knot[];
  /** Of each knot [mass], one number or [particles]; default 1. */
  readonly mass?: Coefficient;
  /** Along each edge [force · time / length], one number or [edges]; default 0. */
  readonly damping?: Coefficient;
  /** Of each knot against the ground [force · time / length]; default 0. */
  readonly drag?: Coefficient;
  /** [length / time²]; default 0. */
  readonly g?: Coefficient;
};

/** Made by `springMesh`. */
export interface SpringMesh extends SystemWithEnergy, Drawn {
  /** Positions of the moving knots, [particles][dim]: x = column · spacing, y = −row · spacing. An initial q. */
  readonly positions: number[][];
  /** The fixed knots, [fixed][dim]. */
  readonly fixed: number[][];
  /** Along rows, then along columns, then diagonals; particles are numbered by rows, fixed knots after them. */
  readonly edges: readonly Edge[];
  /** The number of a knot: its row in q, or a number after these if it is fixed. */
  particle(row: number, column: number): number;
}

/**
 * A mesh of springs. Fixed knots are not unknowns: they are not in q, and act as fixed points. Springs
 * along rows and columns, and optional diagonals, all follow one law, with coefficients of one number
 * or [edges].
 * @throws OptionError 'bad-net', 'bad-coefficient', 'bad-spring'; ShapeError 'coefficient-shape' when traced
 */
export function springMesh(spec: SpringMeshSpec): SpringMesh {
  refuseUnknownOptions(
    spec,
    {
      stiffness: any,
      cubic: any,
      law: object,
      rows: any,
      columns: any,
      dimension: any,
      spacing: any,
      diagonals: boolean,
      restLength: any,
      held: heldChoice,
      mass: any,
      damping: any,
      drag: any,
      g: any,
    },
    'springMesh',
  );
  const {rows, columns, dimension = 3, spacing = 1, damping = 0, drag = 0, g = 0} = spec;
  requireMesh(spec);
  const held = heldKnots(spec, dimension);
  const particle = numbering(rows, columns, held);
  const place = (row: number, column: number): number[] => [column * spacing, 0 - row * spacing, 0].slice(0, dimension);

  const positions: number[][] = [];
  const fixed: number[][] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      (held.has(row * columns + column) ? fixed : positions).push(place(row, column));
  }
  if (positions.length === 0) throw new OptionError('bad-net', 'springMesh: every knot is fixed, so nothing can move.');
  const edges = meshEdges(spec, particle);
  const joined = {edges, fixed: fixed.length > 0 ? fixed : undefined};
  const mass = particleMass(spec.mass ?? 1, 'springMesh');
  const down = dimension === 2 ? [0, -1] : [0, 0, -1];
  const forces: ForceTerm[] = [
    springsOf({...spec, ...joined, restLength: spec.restLength ?? edgeLengths([...positions, ...fixed], edges)}),
  ];
  if (!isZero(damping)) forces.push(dampers({...joined, coefficient: damping}));
  if (!isZero(drag)) forces.push(damper({coefficient: drag}));
  if (!isZero(g)) forces.push(gravity({mass, g, direction: down}));
  const figure: Figure = {points: pointsAndFixed(fixed), springs: edges, fixed: range(positions.length, fixed.length)};
  return {...withEnergy(mass, forces), positions, fixed, edges, particle, figure};
}

const heldChoice: Check = {
  what: "'corners' or a list of knots [row, column]",
  test: value => value === 'corners' || (Array.isArray(value) && value.every(Array.isArray)),
};

function requireMesh({rows, columns, dimension = 3, spacing = 1}: SpringMeshSpec): void {
  for (const [name, value] of [
    ['rows', rows],
    ['columns', columns],
  ] as const) {
    if (!Number.isInteger(value) || value < 1)
      throw new OptionError('bad-net', `springMesh: ${name} must be a whole number of at least 1, not ${value}.`, {
        [name]: value,
      });
  }
  if (rows * columns < 2)
    throw new OptionError('bad-net', 'springMesh: a mesh needs at least two knots.', {rows, columns});
  if (dimension !== 2 && dimension !== 3)
    throw new OptionError('bad-net', `springMesh: dimension must be 2 or 3, not ${String(dimension)}.`, {dimension});
  if (!(spacing > 0) || !Number.isFinite(spacing))
    throw new OptionError('bad-net', `springMesh: spacing must be a positive length, not ${spacing}.`, {spacing});
}

function heldKnots({rows, columns, held = 'corners'}: SpringMeshSpec, dimension: 2 | 3): Set<number> {
  const corners: Knot[] = [
    [0, 0],
    [0, columns - 1],
    ...(dimension === 3
      ? ([
          [rows - 1, 0],
          [rows - 1, columns - 1],
        ] as Knot[])
      : []),
  ];
  return new Set(
    (held === 'corners' ? corners : held).map(([row, column]) => {
      requireKnot(row, column, rows, columns);
      return row * columns + column;
    }),
  );
}

function requireKnot(row: number, column: number, rows: number, columns: number): void {
  const inside =
    Number.isInteger(row) && Number.isInteger(column) && row >= 0 && row < rows && column >= 0 && column < columns;
  if (!inside)
    throw new OptionError(
      'bad-net',
      `springMesh: there is no knot [${row}, ${column}] in ${rows} rows and ${columns} columns, counted from 0.`,
      {row, column},
    );
}

/** Moving knots by rows from 0 on, then the held ones by rows. */
function numbering(rows: number, columns: number, held: ReadonlySet<number>): (row: number, column: number) => number {
  const numbers = new Int32Array(rows * columns);
  let moving = 0;
  let still = numbers.length - held.size;
  numbers.forEach((_, knot) => (numbers[knot] = held.has(knot) ? still++ : moving++));
  return (row, column) => {
    requireKnot(row, column, rows, columns);
    return numbers[row * columns + column];
  };
}

function meshEdges(
  {rows, columns, diagonals = false}: SpringMeshSpec,
  particle: (row: number, column: number) => number,
): Edge[] {
  const edges: Edge[] = [];
  const join = (downwards: number, rightwards: number): void => {
    for (let row = 0; row + downwards < rows; row++) {
      for (let column = Math.max(0, -rightwards); column + Math.max(0, rightwards) < columns; column++) {
        edges.push([particle(row, column), particle(row + downwards, column + rightwards)]);
      }
    }
  };
  join(0, 1);
  join(1, 0);
  if (diagonals) {
    join(1, 1);
    join(1, -1);
  }
  return edges;
}
