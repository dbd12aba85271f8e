/** A rectangular mesh of springs, hung at some of its knots. */
import {
  boolean,
  positiveInteger,
  oneOfNumbers,
  optional,
  positive,
  readOptions,
  typed,
  type Check,
  type Options,
  type OptionValues,
} from '../lib/checks.js';
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
import {elasticityOptions, type Elasticity} from './spring.js';
import {dampers, springsOf} from './springs.js';

/** A knot of a mesh by row and column, from 0. */
export type Knot = readonly [row: number, column: number];

const heldChoice: Check<'corners' | readonly Knot[]> = {
  what: "'corners' or a list of knots [row, column]",
  test: value => value === 'corners' || (Array.isArray(value) && value.every(Array.isArray)),
};

const meshOptions = {
  /** Knots in y direction, at least 1. */
  rows: positiveInteger,
  /** Knots in x direction, at least 1. */
  columns: positiveInteger,
  /** 3 (default): the mesh lies in the plane z = 0, gravity along −z. 2: it hangs in the plane, gravity along −y. */
  dimension: optional(oneOfNumbers(2, 3), 3),
  /** Between neighbouring knots [length]; default 1. */
  spacing: optional(positive, 1),
  /** Diagonal springs in each cell, of the same law; default false. Without them a mesh shears freely. */
  diagonals: optional(boolean, false),
  /** [length], one number or [edges]; default the edges' lengths in `positions`. Shorter ones stretch the mesh. */
  restLength: optional(typed<Coefficient>()),
  /** Knots that do not move; 'corners' (default) are all four in 3-D and the two of row 0 in 2-D. [] is a free mesh. */
  held: optional(heldChoice, 'corners'),
  /** Mass of each knot, one number or [particles]; default 1. */
  mass: optional(typed<Coefficient>(), 1),
  /** Along each edge [force · time / length], one number or [edges]; default 0. */
  damping: optional(typed<Coefficient>(), 0),
  /** Damping of each knot against the ground [force · time / length]; default 0. */
  drag: optional(typed<Coefficient>(), 0),
  /** [length / time²]; default 0. */
  g: optional(typed<Coefficient>(), 0),
};

/** The argument of `springMesh`. */
export type SpringMeshSpec = Elasticity & Options<typeof meshOptions>;
type ReadMesh = OptionValues<typeof meshOptions>;

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
 * @throws OptionError 'bad-option', 'bad-coefficient', 'bad-spring'; ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {springMesh} from 'stiffgrad/models';
 *
 * const cloth = springMesh({rows: 4, columns: 4, stiffness: 1e3, mass: 0.1});
 * console.log(cloth.positions.length); // → 12
 * ```
 */
export function springMesh(spec: SpringMeshSpec): SpringMesh {
  const read = readOptions(spec, {...elasticityOptions, ...meshOptions}, 'springMesh');
  const {rows, columns, dimension, spacing, damping, drag, g} = read;
  if (rows * columns < 2)
    throw new OptionError('bad-option', 'springMesh: a mesh needs at least two knots.', {rows, columns});
  const held = heldKnots(read);
  const particle = numbering(rows, columns, held);
  const place = (row: number, column: number): number[] => [column * spacing, 0 - row * spacing, 0].slice(0, dimension);

  const positions: number[][] = [];
  const fixed: number[][] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      (held.has(row * columns + column) ? fixed : positions).push(place(row, column));
  }
  if (positions.length === 0)
    throw new OptionError('bad-option', 'springMesh: every knot is fixed, so nothing can move.');
  const edges = meshEdges(read, particle);
  const joined = {edges, fixed: fixed.length > 0 ? fixed : undefined};
  const mass = particleMass(read.mass, 'springMesh');
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

function heldKnots({rows, columns, held, dimension}: ReadMesh): Set<number> {
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
      'bad-option',
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

function meshEdges({rows, columns, diagonals}: ReadMesh, particle: (row: number, column: number) => number): Edge[] {
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
