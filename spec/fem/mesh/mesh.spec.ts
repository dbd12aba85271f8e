/** Meshes by hand: what is read, and what is refused with its place. */
import {expect} from 'chai';
import {meshOf, type MeshParts} from '../../../fem/index.js';
import {nodesOf} from '../../../fem/mesh/mesh.js';

const square: MeshParts = {
  points: [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ],
  cells: {
    tri3: [
      [0, 1, 2],
      [0, 2, 3],
    ],
  },
};

describe('meshOf', () => {
  it('reads rows and flat arrays alike', () => {
    const flat = meshOf({points: [0, 0, 1, 0, 1, 1, 0, 1], dimension: 2, cells: {tri3: [0, 1, 2, 0, 2, 3]}});
    expect(flat).to.deep.equal(meshOf(square));
    expect(flat.dimension).to.equal(2);
    expect(flat.cells.tri3).to.deep.equal(Int32Array.of(0, 1, 2, 0, 2, 3));
  });

  it('reads sets and fields', () => {
    const mesh = meshOf({
      ...square,
      sets: {nodes: {left: [3, 0, 3]}, cells: {upper: [1]}, facets: {right: {line2: [[1, 2]]}}},
      fields: {points: {T: [1, 2, 3, 4]}, cells: {flux: [[1, 2], [3, 4]]}}, // prettier-ignore
    });
    expect(mesh.sets.nodes.left).to.deep.equal(Int32Array.of(0, 3));
    expect(mesh.fields.points.T).to.deep.equal({values: Float64Array.of(1, 2, 3, 4), components: 1});
    expect(mesh.fields.cells.flux).to.deep.equal({values: Float64Array.of(1, 2, 3, 4), components: 2});
    expect(nodesOf(mesh, 'left')).to.deep.equal(Int32Array.of(0, 3));
    expect(nodesOf(mesh, 'right')).to.deep.equal(Int32Array.of(1, 2));
    expect(nodesOf(mesh, 'upper')).to.deep.equal(Int32Array.of(0, 2, 3));
    expect(() => nodesOf(mesh, 'top')).to.throw("there is no set 'top'; there are left, right, upper");
  });

  const wrong: {readonly [what: string]: [MeshParts, RegExp]} = {
    'a node that does not exist': [{...square, cells: {tri3: [[0, 1, 4]]}}, /cells: tri3 0 has node 4, but .* 0 to 3/],
    'an inverted cell': [{...square, cells: {tri3: [[0, 1, 2], [0, 3, 2]]}}, /tri3 1 with nodes 0, 3, 2 is inverted: .* − − − at/], // prettier-ignore
    'a degenerate cell': [{...square, cells: {tri3: [[0, 1, 2], [0, 2, 3], [3, 0, 3]]}}, /tri3 2 .* is degenerate: .* 0 0 0 at/], // prettier-ignore
    'a folded cell': [{...square, cells: {quad4: [[0, 1, 3, 2]]}}, /quad4 0 .* is folded or not convex: .* [+] [+] − − at/], // prettier-ignore
    'a free node': [{...square, cells: {tri3: [[0, 1, 2]]}}, /node 3 belongs to no cell/],
    'an unknown type': [{...square, cells: {wedge6: []} as object}, /cells of type 'wedge6' are not supported/],
    'rows of two lengths': [{...square, points: [[0, 0], [1]]}, /points: row 1 has 1 numbers and row 0 has 2/], // prettier-ignore
    'a point at NaN': [{...square, points: [[0, 0], [1, NaN], [1, 1], [0, 1]]}, /point 1 is at NaN/], // prettier-ignore
    'half a node': [{...square, cells: {tri3: [[0, 1, 1.5]]}}, /tri3 has 1.5 at place 2/],
    'a short row': [{...square, cells: {tri3: [0, 1]}}, /tri3 has 2 numbers, which is no multiple of 3/],
    'no cells': [{...square, cells: {}}, /at least one cell/],
    'a set beyond the nodes': [{...square, sets: {nodes: {a: [4]}}}, /node set 'a' has node 4/],
    'a field too short': [
      {...square, fields: {points: {T: [1, 2, 3]}}},
      /point field 'T' has 3 numbers, but .* 4 rows/,
    ],
  };
  for (const [what, [parts, message]] of Object.entries(wrong))
    it(`refuses ${what}`, () => {
      expect(() => meshOf(parts))
        .to.throw(message)
        .with.property('code', 'bad-mesh');
    });

  it('keeps a middle node at the quarter of an edge, as at a crack', () => {
    const points = [[0, 0], [1, 0], [0, 1], [0.25, 0], [0.5, 0.5], [0, 0.25]]; // prettier-ignore
    expect(() => meshOf({points, cells: {tri6: [[0, 1, 2, 3, 4, 5]]}})).to.not.throw();
    expect(() => meshOf({points, cells: {tri6: [[0, 1, 2, 4, 3, 5]]}})).to.throw(/tri6 0/);
  });
});
