/** Stiffness matrices of linear elements on boxes, assembled by hand: what tests of solvers for large systems share. */
import {csrPattern} from '../../lib/linear/pattern.js';
import type {Matrix} from './matrices.js';

/** A matrix with the positions of its nodes. */
export interface MeshMatrix extends Matrix {
  readonly coordinates: Float64Array;
}

/** The six tetrahedra of a cube (Kuhn's triangulation), or the two triangles of a square, as orders of the axes. */
const ORDERS = {
  2: [
    [0, 1],
    [1, 0],
  ],
  3: [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ],
} as const;

/**
 * −∇·σ(u) + `mass` u on a box of cubes of edge 1, held at its face x = 0. Isotropic with E = 1, in the plane with plane
 * strain.
 * @param cells cubes along each axis
 */
export function elasticity(cells: readonly number[], {nu = 0.3, mass = 0} = {}): MeshMatrix {
  const dimension = cells.length as 2 | 3;
  const lambda = nu / ((1 + nu) * (1 - 2 * nu));
  const mu = 1 / (2 * (1 + nu));
  return assemble(cells, dimension, mass, (a, b, i, j) => {
    let same = 0;
    for (let c = 0; c < dimension; c++) same += a[c] * b[c];
    return lambda * a[i] * b[j] + mu * a[j] * b[i] + (i === j ? mu * same : 0);
  });
}

/** −Δu + `mass` u on the same boxes. */
export function poisson(cells: readonly number[], {mass = 0} = {}): MeshMatrix {
  return assemble(cells, 1, mass, (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0));
}

function assemble(
  cells: readonly number[],
  size: number,
  mass: number,
  entry: (a: readonly number[], b: readonly number[], i: number, j: number) => number,
): MeshMatrix {
  const dimension = cells.length as 2 | 3;
  const orders = ORDERS[dimension];
  const across = [cells[0], ...cells.slice(1).map(count => count + 1)];
  const nodes = across.reduce((product, count) => product * count, 1);
  // The face x = 0 is held: its nodes have number −1 or below.
  const number = (place: readonly number[]): number =>
    place.slice(1).reduce((sum, k, axis) => sum * across[axis + 1] + k, place[0] - 1);
  const coordinates = new Float64Array(nodes * dimension);
  const offsets: number[][] = [];
  const total = 3 ** dimension;
  for (let k = 0; k < total; k++)
    offsets.push(Array.from({length: dimension}, (_, c) => (Math.floor(k / 3 ** (dimension - 1 - c)) % 3) - 1));
  const used = offsets.filter(offset => offset.every(step => step >= 0) || offset.every(step => step <= 0));
  const slot = new Int32Array(total).fill(-1);
  used.forEach((offset, s) => (slot[offset.reduce((sum, step) => 3 * sum + step + 1, 0)] = s));
  const square = size * size;
  const blocks = new Float64Array(nodes * used.length * square);
  const gradients = orders.map(order => {
    // Along a path of edges, λ_k has the gradient e_k − e_{k+1}.
    const unit = (axis: number | undefined): number[] =>
      Array.from({length: dimension}, (_, c) => (c === axis ? 1 : 0));
    return Array.from({length: dimension + 1}, (_, k) => {
      const before = k === 0 ? unit(undefined) : unit(order[k - 1]);
      const after = k === dimension ? unit(undefined) : unit(order[k]);
      return before.map((value, c) => value - after[c]);
    });
  });
  const volume = 1 / orders.length;
  const element = orders.map((_, o) =>
    gradients[o].map(a =>
      gradients[o].map(b =>
        Array.from({length: square}, (__, k) => volume * entry(a, b, Math.floor(k / size), k % size)),
      ),
    ),
  );
  const cellCount = cells.reduce((product, count) => product * count, 1);
  for (let cell = 0; cell < cellCount; cell++) {
    const corner: number[] = [];
    for (let axis = dimension - 1, rest = cell; axis >= 0; axis--) {
      corner[axis] = rest % cells[axis];
      rest = Math.floor(rest / cells[axis]);
    }
    orders.forEach((order, o) => {
      const places = [corner];
      for (const axis of order) places.push(places[places.length - 1].map((k, c) => (c === axis ? k + 1 : k)));
      places.forEach((one, a) => {
        const row = number(one);
        if (one[0] === 0) return;
        places.forEach((other, b) => {
          if (other[0] === 0) return;
          const s = slot[one.reduce((sum, k, c) => 3 * sum + other[c] - k + 1, 0)];
          const at = (row * used.length + s) * square;
          for (let k = 0; k < square; k++) blocks[at + k] += element[o][a][b][k];
          if (a === b) for (let i = 0; i < size; i++) blocks[at + i * size + i] += (mass * volume) / (dimension + 1);
        });
      });
    });
  }
  const n = nodes * size;
  const rowPointers = new Int32Array(n + 1);
  const columns = new Int32Array(n * used.length * size);
  const values = new Float64Array(columns.length);
  let end = 0;
  for (let node = 0; node < nodes; node++) {
    const place: number[] = [];
    for (let axis = dimension - 1, rest = node; axis >= 0; axis--) {
      place[axis] = (rest % across[axis]) + (axis === 0 ? 1 : 0);
      rest = Math.floor(rest / across[axis]);
    }
    place.forEach((k, c) => (coordinates[node * dimension + c] = k));
    for (let i = 0; i < size; i++) {
      used.forEach((offset, s) => {
        const other = place.map((k, c) => k + offset[c]);
        if (other[0] < 1 || other.some((k, c) => k < 0 || k > cells[c])) return;
        for (let j = 0; j < size; j++) {
          columns[end] = number(other) * size + j;
          values[end++] = blocks[(node * used.length + s) * square + i * size + j];
        }
      });
      rowPointers[node * size + i + 1] = end;
    }
  }
  return {
    pattern: csrPattern(rowPointers, columns.slice(0, end), true),
    values: values.slice(0, end),
    coordinates,
  };
}
