/**
 * Vectors of which a matrix makes next to nothing beside its norm: the constants of a diffusion, the rigid-body modes
 * of an elastic body. A smoother hardly reduces them, so that multigrid has to represent them on coarse levels.
 */
import {OptionError, ShapeError} from '../errors.js';

/** What multigrid is told of the near null space. */
export interface NearNullSpaceOptions {
  /**
   * The positions of the nodes, in the order of the unknowns: an array for each node, or all of them one after the
   * other. The near null space is then that of an elastic body: 3 rigid-body modes in the plane, 6 in space.
   */
  readonly coordinates?: ArrayLike<number> | readonly (readonly number[])[];
  /** The vectors themselves, each of as many numbers as the matrix has rows; or a function of the number of rows. */
  readonly nearNullSpace?: readonly Float64Array[] | ((n: number) => readonly Float64Array[]);
  /** The number of unknowns at each node. Default: as the coordinates or the pattern show. */
  readonly blockSize?: number;
}

/** Number of nodes and of coordinates of each; undefined without coordinates in arrays of their own. */
export function nodesOf({coordinates}: NearNullSpaceOptions): number | undefined {
  if (coordinates === undefined || typeof coordinates[0] === 'number') return undefined;
  return coordinates.length;
}

/**
 * @returns vectors of n numbers: those given, the rigid-body modes, or one constant for each unknown of a node
 * @throws ShapeError 'bad-near-null-space'
 */
export function nearNullSpace(options: NearNullSpaceOptions, n: number, blockSize: number): readonly Float64Array[] {
  const given = options.nearNullSpace;
  if (given !== undefined) {
    const vectors = typeof given === 'function' ? given(n) : given;
    vectors.forEach((vector, k) => {
      if (vector.length !== n)
        throw new ShapeError(
          'bad-near-null-space',
          `near null space vector ${k} has ${vector.length} numbers; the matrix has ${n} rows.`,
          {vector: k, length: vector.length, n},
        );
    });
    if (vectors.length === 0) throw new OptionError('bad-linear', 'multigrid: nearNullSpace has no vectors.', {});
    return vectors;
  }
  if (options.coordinates === undefined) return constants(n, blockSize);
  return rigidBodyModes(flat(options.coordinates), n, blockSize);
}

/** One vector for each unknown of a node: 1 there at all nodes. */
function constants(n: number, blockSize: number): Float64Array[] {
  return Array.from({length: blockSize}, (_, component) =>
    Float64Array.from({length: n}, (__, i) => (i % blockSize === component ? 1 : 0)),
  );
}

function flat(coordinates: ArrayLike<number> | readonly (readonly number[])[]): ArrayLike<number> {
  if (typeof coordinates[0] === 'number') return coordinates as ArrayLike<number>;
  return (coordinates as readonly ArrayLike<number>[]).flatMap(row => Array.from(row));
}

/**
 * Translations and rotations about the centre, over the extent of the body so that all have one size. Nodes with 3
 * unknowns in the plane, or 6 in space, have rotations after their displacements.
 */
function rigidBodyModes(coordinates: ArrayLike<number>, n: number, blockSize: number): Float64Array[] {
  const nodes = n / blockSize;
  const dimension = coordinates.length / nodes;
  const hasRotations = blockSize === (dimension * (dimension + 1)) / 2 && dimension > 1;
  if (!Number.isInteger(nodes) || ![1, 2, 3].includes(dimension) || !(blockSize === dimension || hasRotations)) {
    throw new ShapeError(
      'bad-near-null-space',
      `${coordinates.length} coordinates do not fit a matrix of ${n} rows with ${blockSize} unknowns at each node. `
        + 'Where some nodes have fewer unknowns than others, give nearNullSpace.',
      {coordinates: coordinates.length, n, blockSize},
    );
  }
  const centre = [0, 0, 0];
  for (let i = 0; i < coordinates.length; i++) centre[i % dimension] += coordinates[i] / nodes;
  let extent = 0;
  for (let i = 0; i < coordinates.length; i++)
    extent = Math.max(extent, Math.abs(coordinates[i] - centre[i % dimension]));
  const pairs =
    dimension === 1
      ? []
      : dimension === 2
        ? [[0, 1]]
        : [
            [1, 2],
            [2, 0],
            [0, 1],
          ];
  const translations = constants(n, blockSize).slice(0, dimension);
  const rotations = pairs.map(([a, b], axis) => {
    const mode = new Float64Array(n);
    const at = (node: number, c: number): number => (coordinates[node * dimension + c] - centre[c]) / (extent || 1);
    for (let node = 0; node < nodes; node++) {
      mode[node * blockSize + a] = -at(node, b);
      mode[node * blockSize + b] = at(node, a);
      if (hasRotations) mode[node * blockSize + dimension + axis] = 1 / (extent || 1);
    }
    return mode;
  });
  return [...translations, ...rotations];
}
