/** Files of meshes, written by hand: what they say is read, and what is wrong is refused with its line or byte. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import fc from 'fast-check';
import {zlibSync} from 'fflate';
import {readMesh, type ReadMeshOptions} from '../../../fem/index.js';
import {StiffgradError} from '../../../lib/errors.js';
import {cellShape, cellShapes} from '../../../fem/mesh/cell-types.js';
import {runs} from '../../property.js';

/** Numbers as bytes: [kind, ...numbers] in turn, and texts. */
function bytes(parts: readonly (string | readonly [string, ...number[]])[], littleEndian = true): Uint8Array {
  const chunks = parts.map(part => {
    if (typeof part === 'string') return new TextEncoder().encode(part);
    const [kind, ...values] = part as [string, ...number[]];
    const size = {i32: 4, u64: 8, f64: 8, f32: 4, u8: 1, i64: 8, u16: 2, u32: 4}[kind]!;
    const view = new DataView(new ArrayBuffer(size * values.length));
    values.forEach((value, i) => {
      const at = i * size;
      if (kind === 'i32' || kind === 'u32') view.setInt32(at, value, littleEndian);
      else if (kind === 'u64' || kind === 'i64') view.setBigInt64(at, BigInt(value), littleEndian);
      else if (kind === 'f64') view.setFloat64(at, value, littleEndian);
      else if (kind === 'f32') view.setFloat32(at, value, littleEndian);
      else if (kind === 'u16') view.setUint16(at, value, littleEndian);
      else view.setUint8(at, value);
    });
    return new Uint8Array(view.buffer);
  });
  return new Uint8Array(Buffer.concat(chunks));
}

const base64 = (data: Uint8Array): string => Buffer.from(data).toString('base64');

/** Two triangles and an edge of the unit square; nodes are numbered with gaps, node 9 belongs to no cell. */
const gmsh22 = `$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 7 "left"
2 8 "all of it"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
9 5 5 0
4 1 1 0
5 0 1 0
$EndNodes
$Elements
3
11 1 2 7 1 1 5
12 2 2 8 1 1 2 4
13 2 2 8 1 1 4 5
$EndElements
$Periodic
whatever
$EndPeriodic
$NodeData
1
"T"
1
0.0
3
0
1
2
1 3.5
4 4.5
$EndNodeData
$ElementData
1
"stress"
1
0.0
3
0
2
2
12 1 2
13 3 4
$EndElementData
`;

const gmsh41 = `$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
2
1 7 "left"
2 8 "all of it"
$EndPhysicalNames
$Entities
1 1 1 0
1 0 0 0 0
1 0 0 0 0 1 0 1 7 2 1 -1
1 0 0 0 1 1 0 1 8 1 1
$EndEntities
$Nodes
2 4 1 5
1 1 1 2
1
5
0 0 0 0.5
0 1 0 1.5
2 1 0 2
2
4
1 0 0
1 1 0
$EndNodes
$Elements
2 3 11 13
1 1 1 1
11 1 5
2 1 2 2
12 1 2 4
13 1 4 5
$EndElements
`;

const section = (name: string, ...parts: Parameters<typeof bytes>[0]): Parameters<typeof bytes>[0] => [
  `$${name}\n`,
  ...parts,
  `\n$End${name}\n`,
];

const binary22 = (little: boolean): Uint8Array =>
  bytes(
    [
      ...section('MeshFormat', '2.2 1 8\n', ['i32', 1]),
      '$PhysicalNames\n2\n1 7 "left"\n2 8 "all of it"\n$EndPhysicalNames\n',
      ...section('Nodes', '4\n', ...[[1, 0, 0, 0], [2, 1, 0, 0], [4, 1, 1, 0], [5, 0, 1, 0]].flatMap(([n, ...x]) => [['i32', n], ['f64', ...x]] as const)), // prettier-ignore
      ...section('Elements', '3\n', ['i32', 1, 1, 2, 11, 7, 1, 1, 5], ['i32', 2, 2, 2, 12, 8, 1, 1, 2, 4, 13, 8, 1, 1, 4, 5]), // prettier-ignore
      ...section('ElementData', '1\n"stress"\n1\n0.0\n3\n0\n2\n2\n', ['i32', 12], ['f64', 1, 2], ['i32', 13], ['f64', 3, 4]), // prettier-ignore
    ],
    little,
  );

const binary41 = (little: boolean): Uint8Array =>
  bytes(
    [
      ...section('MeshFormat', '4.1 1 8\n', ['i32', 1]),
      '$PhysicalNames\n2\n1 7 "left"\n2 8 "all of it"\n$EndPhysicalNames\n',
      ...section('Entities', ['u64', 1, 1, 1, 0], ['i32', 1], ['f64', 0, 0, 0], ['u64', 0], ['i32', 1], ['f64', 0, 0, 0, 0, 1, 0], ['u64', 1], ['i32', 7], ['u64', 2], ['i32', 1, -1], ['i32', 1], ['f64', 0, 0, 0, 1, 1, 0], ['u64', 1], ['i32', 8], ['u64', 1], ['i32', 1]), // prettier-ignore
      ...section('Nodes', ['u64', 1, 4, 1, 5], ['i32', 2, 1, 0], ['u64', 4], ['u64', 1, 2, 4, 5], ['f64', 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0]), // prettier-ignore
      ...section('Elements', ['u64', 2, 3, 11, 13], ['i32', 1, 1, 1], ['u64', 1], ['u64', 11, 1, 5], ['i32', 2, 1, 2], ['u64', 2], ['u64', 12, 1, 2, 4, 13, 1, 4, 5]), // prettier-ignore
    ],
    little,
  );

describe('readMesh of .msh', () => {
  const forms: {readonly [form: string]: string | Uint8Array} = {
    '2.2 text': gmsh22,
    '2.2 text with Windows line ends': gmsh22.replaceAll('\n', '\r\n'),
    '2.2 binary': binary22(true),
    '2.2 binary, big-endian': binary22(false),
    '4.1 text': gmsh41,
    '4.1 binary': binary41(true),
    '4.1 binary, big-endian': binary41(false),
  };
  for (const [form, source] of Object.entries(forms))
    it(`${form}: points, cells and named groups`, async () => {
      const mesh = await readMesh(source);
      expect(mesh.dimension).to.equal(2);
      // Nodes in the order of the file, which is another one in the text of version 4.1.
      const places = form === '4.1 text' ? [0, 3, 1, 2] : [0, 1, 2, 3];
      const square = [[0, 0], [1, 0], [1, 1], [0, 1]]; // prettier-ignore
      expect(Array.from(mesh.points)).to.deep.equal((form === '4.1 text' ? places.map(i => square[[0, 1, 2, 3].indexOf(i)]) : square).flat()); // prettier-ignore
      const number = (corner: number): number => places.indexOf(corner);
      expect(Array.from(mesh.cells.tri3!)).to.deep.equal([0, 1, 2, 0, 2, 3].map(number));
      expect(Array.from(mesh.cells.line2!)).to.deep.equal([0, 3].map(number));
      expect(mesh.sets.cells['all of it']).to.deep.equal(Int32Array.of(0, 1));
      expect(mesh.sets.cells.left).to.deep.equal(Int32Array.of(2));
      expect(Array.from(mesh.sets.nodes.left).sort()).to.deep.equal([0, 3].map(number).sort());
      // Outwards: the body on its left.
      expect(Array.from(mesh.sets.facets.left.line2!)).to.deep.equal([3, 0].map(number));
      if (form.startsWith('2.2'))
        expect(Array.from(mesh.fields.cells.stress.values)).to.deep.equal([1, 2, 3, 4, NaN, NaN]);
    });

  it('data at nodes, NaN where there is none; a point without a cell goes, or is kept', async () => {
    const mesh = await readMesh(gmsh22);
    expect(Array.from(mesh.fields.points.T.values)).to.deep.equal([3.5, NaN, 4.5, NaN]);
    const whole = await readMesh(gmsh22, {cells: 'keep', dimension: 3});
    expect(whole.points).to.have.length(15);
    expect(Array.from(whole.points.subarray(6, 9))).to.deep.equal([5, 5, 0]);
  });

  it('turns inverted cells around where it is asked to', async () => {
    const turned = gmsh22.replace('1 2 4\n', '1 4 2\n');
    const message = await readMesh(turned).catch((error: Error) => error.message);
    expect(message).to.match(/^the mesh: Mesh: tri3 0 with nodes 0, 2, 1 is inverted: .* \{cells: 'orient'\} turns/);
    expect((await readMesh(turned, {cells: 'orient'})).cells.tri3).to.deep.equal(Int32Array.of(0, 1, 2, 0, 2, 3));
  });

  for (const shape of cellShapes.filter(({dimension}) => dimension === 3))
    it(`${shape.type}: Gmsh's order of nodes becomes VTK's, also of a cell turned around`, async () => {
      // The middles of Gmsh's edges and faces, by the corners between them (Gmsh reference manual, node ordering).
      const corners = shape.corners === 4
        ? [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        : [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]; // prettier-ignore
      const parts = shape.corners === 4
        ? ['01', '12', '20', '30', '32', '31']
        : ['01', '03', '04', '12', '15', '23', '26', '37', '45', '47', '56', '67', '0321', '0154', '0473', '1265', '2376', '4567', '01234567']; // prettier-ignore
      const middles = parts
        .slice(0, shape.nodes - shape.corners)
        .map(part => [0, 1, 2].map(k => [...part].reduce((sum, c) => sum + corners[Number(c)][k], 0) / part.length));
      const file = (points: number[][]): string =>
        `$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n${points.length}\n${points.map((x, i) => `${i + 1} ${x.join(' ')}`).join('\n')}\n$EndNodes\n`
        + `$Elements\n1\n1 ${shape.gmsh} 0 ${points.map((_, i) => i + 1).join(' ')}\n$EndElements\n`;
      const requireMiddles = async (points: number[][], options?: ReadMeshOptions): Promise<void> => {
        const mesh = await readMesh(file(points), options);
        const row = Array.from(mesh.cells[shape.type]!, node =>
          Array.from(mesh.points.subarray(3 * node, 3 * node + 3)),
        );
        const mean = (places: readonly number[]): number[] =>
          [0, 1, 2].map(k => places.reduce((sum, place) => sum + row[place][k], 0) / places.length);
        const {edges, faceNodes} = cellShape(shape.type);
        if (shape.order === 2) edges.forEach((edge, i) => expect(row[shape.corners + i]).to.deep.equal(mean(edge)));
        faceNodes.forEach((face, i) => expect(row[20 + i]).to.deep.equal(mean(face)));
      };
      await requireMiddles([...corners, ...middles]);
      await requireMiddles([...corners, ...middles].map(([x, y, z]) => [y, x, z]), {cells: 'orient'}); // prettier-ignore
    });
});

const legacyHead = (form: string, version = '3.0'): string =>
  `# vtk DataFile Version ${version}\ntitle\n${form}\nDATASET UNSTRUCTURED_GRID\n`;
const legacyText = `${legacyHead('ASCII')}POINTS 4 float
0 0 0 1 0 0
1 1 0 0 1 0
CELLS 2 7
3 0 1 2
2 0 3
CELL_TYPES 2
5 3
POINT_DATA 4
SCALARS T float 1
LOOKUP_TABLE default
1 2 3 4
VECTORS u%20v double
0 0 0 1 0 0 1 1 0 0 1 0
CELL_DATA 2
FIELD FieldData 1
s 1 2 double
10 20
METADATA
INFORMATION 0

`;
const legacyBinary = bytes(
  [
    legacyHead('BINARY', '4.2'), 'POINTS 4 double\n', ['f64', 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
    '\nCELLS 2 7\n', ['i32', 3, 0, 1, 2, 2, 0, 3], '\nCELL_TYPES 2\n', ['i32', 5, 3],
    '\nPOINT_DATA 4\nSCALARS T float\nLOOKUP_TABLE default\n', ['f32', 1, 2, 3, 4],
    '\nVECTORS u%20v double\n', ['f64', 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
    '\nCELL_DATA 2\nFIELD FieldData 1\ns 1 2 double\n', ['f64', 10, 20], '\n',
  ],
  false,
); // prettier-ignore
const legacy51 = bytes(
  [
    legacyHead('BINARY', '5.1'), 'POINTS 4 double\n', ['f64', 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
    '\nCELLS 3 5\nOFFSETS vtktypeint64\n', ['i64', 0, 3, 5], '\nCONNECTIVITY vtktypeint64\n', ['i64', 0, 1, 2, 0, 3],
    '\nCELL_TYPES 2\n', ['i32', 5, 3], '\nPOINT_DATA 4\nSCALARS T float\nLOOKUP_TABLE default\n', ['f32', 1, 2, 3, 4],
    '\nVECTORS u%20v double\n', ['f64', 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
    '\nCELL_DATA 2\nFIELD FieldData 1\ns 1 2 double\n', ['f64', 10, 20], '\n',
  ],
  false,
); // prettier-ignore

describe('readMesh of VTK', () => {
  type Array = (type: string, name: string, components: number, kind: string, values: number[]) => string;
  const vtu = (array: Array, attributes = '', appended: string | Uint8Array = ''): Uint8Array => {
    const head = `<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian" ${attributes}>
<UnstructuredGrid><Piece NumberOfPoints="4" NumberOfCells="2">
<Points>${array('Float64', 'Points', 3, 'f64', [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0])}</Points>
<Cells>${array('Int64', 'connectivity', 1, 'i64', [0, 1, 2, 0, 3])}${array('Int32', 'offsets', 1, 'i32', [3, 5])}
${array('UInt8', 'types', 1, 'u8', [5, 3])}</Cells>
<PointData>${array('Float32', 'T', 1, 'f32', [1, 2, 3, 4])}
${array('Float64', 'u v', 3, 'f64', [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0])}</PointData>
<CellData>${array('Float64', 's', 1, 'f64', [10, 20])}</CellData>
</Piece></UnstructuredGrid>\n`;
    return bytes([head, ...(typeof appended === 'string' ? [appended] : []), '</VTKFile>\n']);
  };
  const element = (type: string, name: string, components: number, rest: string, content: string): string =>
    `<DataArray type="${type}" Name="${name}" NumberOfComponents="${components}" ${rest}>${content}</DataArray>`;
  const plain = (data: Uint8Array): Uint8Array => new Uint8Array(Buffer.concat([bytes([['u32', data.length]]), data]));
  const inBlocks = (data: Uint8Array): [head: Uint8Array, blocks: Uint8Array] => {
    // Blocks of 16 bytes.
    const parts = Array.from({length: Math.ceil(data.length / 16)}, (_, i) =>
      zlibSync(data.subarray(16 * i, 16 * i + 16)),
    );
    const head = bytes([['u32', parts.length, 16, data.length % 16, ...parts.map(({length}) => length)]]);
    return [head, new Uint8Array(Buffer.concat(parts))];
  };
  const encoded: Array = (type, name, components, kind, values) =>
    element(type, name, components, 'format="binary"', base64(plain(bytes([[kind, ...values]]))));
  const compressed: Array = (type, name, components, kind, values) =>
    element(type, name, components, 'format="binary"', inBlocks(bytes([[kind, ...values]])).map(base64).join('')); // prettier-ignore
  const appended = (encode: (data: Uint8Array) => Uint8Array | string, encoding: string): Uint8Array => {
    const parts: (Uint8Array | string)[] = [];
    let offset = 0;
    const array: Array = (type, name, components, kind, values) => {
      const at = offset;
      const part = encode(bytes([[kind, ...values]]));
      parts.push(part);
      offset += part.length;
      return element(type, name, components, `format="appended" offset="${at}"`, '');
    };
    const attributes = encode === encodeBlocks ? 'compressor="vtkZLibDataCompressor"' : '';
    const whole = Buffer.from(vtu(array, attributes)).toString('latin1').replace('</VTKFile>', '');
    const content = Buffer.concat(parts.map(part => Buffer.from(part as Uint8Array)));
    return new Uint8Array(Buffer.concat([Buffer.from(`${whole}<AppendedData encoding="${encoding}">\n  _`), content, Buffer.from('\n</AppendedData>\n</VTKFile>\n')])); // prettier-ignore
  };
  const encodeBlocks = (data: Uint8Array): Uint8Array => new Uint8Array(Buffer.concat(inBlocks(data)));

  const forms: {readonly [form: string]: string | Uint8Array} = {
    'legacy text': legacyText,
    'legacy binary': legacyBinary,
    'legacy binary 5.1': legacy51,
    '.vtu text': vtu((type, name, components, _, values) => element(type, name, components, 'format="ascii"', values.join(' '))), // prettier-ignore
    '.vtu base64': vtu(encoded),
    '.vtu base64, compressed': vtu(compressed, 'compressor="vtkZLibDataCompressor"'),
    '.vtu appended, raw': appended(plain, 'raw'),
    '.vtu appended, raw and compressed': appended(encodeBlocks, 'raw'),
    '.vtu appended, base64': appended(data => base64(plain(data)), 'base64'),
  };
  for (const [form, source] of Object.entries(forms))
    it(`${form}: points, cells and fields`, async () => {
      const mesh = await readMesh(source);
      expect(Array.from(mesh.points)).to.deep.equal([0, 0, 1, 0, 1, 1, 0, 1]);
      expect(mesh.cells).to.deep.equal({tri3: Int32Array.of(0, 1, 2), line2: Int32Array.of(0, 3)});
      expect(mesh.fields).to.deep.equal({
        points: {
          T: {values: Float64Array.of(1, 2, 3, 4), components: 1},
          'u v': {values: Float64Array.of(0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0), components: 3},
        },
        cells: {s: {values: Float64Array.of(10, 20), components: 1}},
      });
    });

  it('is refused with its line or element', async () => {
    const wrong: readonly (readonly [string | Uint8Array, RegExp])[] = [
      [legacyText.slice(0, 100), /line \d+: .* cut short|line \d+: a coordinate must be 12 numbers/],
      [legacyText.replace('0 0 0 1 0 0\n', '0 0 0 1 x 0\n'), /line 6: a coordinate must be a number, not 'x'/],
      [legacyText.replace('2 0 3', '4 0 3'), /line 10: cell 1 has 4 nodes, more than CELLS 2 7 leaves/],
      [legacyText.replace('5 3', '5 13'), /cell 1 has the type 13 \(VTK_WEDGE\), which is not supported/],
      [legacyText.replace('UNSTRUCTURED_GRID', 'POLYDATA'), /line 4: only DATASET UNSTRUCTURED_GRID/],
      [legacyText.replace('CELL_DATA 2', 'CELL_DATA 3'), /there are 3 values for 2 CELLS/],
      [legacyBinary.slice(0, 150), /byte \d+: a coordinate .* must have 96 bytes here, but the file has \d+/],
      [vtu(encoded).slice(0, 700), /this is no well-formed XML/],
      [Buffer.from(vtu(encoded)).toString().replace('NumberOfCells="2"', 'NumberOfCells="3"'), /line 5: the DataArray 'offsets' has 2 numbers where 3 are needed/], // prettier-ignore
      [appended(plain, 'raw').slice(0, -60), /AppendedData> has no end|bytes are needed/],
      [Buffer.from(vtu(encoded)).toString().replace('version="0.1"', 'version="0.1" compressor="vtkLZ4DataCompressor"'), /vtkLZ4DataCompressor is not supported/], // prettier-ignore
    ];
    for (const [source, message] of wrong) {
      const error = await readMesh(source).catch((reason: Error) => reason);
      expect(error).to.have.property('code', 'bad-mesh-file');
      expect((error as Error).message).to.match(message);
    }
  });
});

describe('readMesh of .obj and .stl', () => {
  it('.obj: triangles, quadrilaterals, polygons, lines and groups', async () => {
    const mesh = await readMesh(
      '# a comment\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\ng one\nf 1/1/1 2//1 3\ng two three\nf 1 2 3 4\n'
        + 'v 0.5 2 1\ng\nf -5 -4 -3 -1 \\\n -2\nl 1 2 3\n',
    );
    expect(mesh.dimension).to.equal(3);
    expect(mesh.cells).to.deep.equal({
      tri3: Int32Array.of(0, 1, 2, 0, 1, 2, 0, 2, 4, 0, 4, 3),
      quad4: Int32Array.of(0, 1, 2, 3),
      line2: Int32Array.of(0, 1, 1, 2),
    });
    expect(mesh.sets.cells).to.deep.equal({one: Int32Array.of(0), two: Int32Array.of(4), three: Int32Array.of(4)});
  });

  const facet = (...corners: string[]): string =>
    `facet normal 0 0 1\nouter loop\n${corners.map(corner => `vertex ${corner}\n`).join('')}endloop\nendfacet\n`;
  const stlText = `solid it\n${facet('0 0 0', '1 0 0', '1 1 0')}${facet('0 0 0', '1 1 0', '0 1 0')}endsolid it\n`;

  it('.stl: text and binary, with corners at one place joined', async () => {
    const binary = bytes([
      'solid, says the header of a binary file'.padEnd(80), ['u32', 2],
      ['f32', 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0], ['u16', 0],
      ['f32', 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0], ['u16', 0],
    ]); // prettier-ignore
    for (const source of [stlText, binary]) {
      const mesh = await readMesh(source);
      expect(Array.from(mesh.points)).to.deep.equal([0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0]);
      expect(mesh.cells).to.deep.equal({tri3: Int32Array.of(0, 1, 2, 0, 2, 3)});
    }
  });

  it('is refused with its line', async () => {
    const wrong: readonly (readonly [string, ReadMeshOptions | undefined, RegExp])[] = [
      ['v 0 0 0\nv 1 0 0\nf 1 2 3\n', undefined, /line 3: '3' names no vertex; there are 2/],
      ['v 0 0 zero\n', undefined, /line 1: a vertex needs three finite coordinates/],
      ['v 0 0 0\n', undefined, /the file has no face/],
      [
        stlText.replace('vertex 1 1 0\nendloop', 'endloop'),
        undefined,
        /line 7: a facet must have three vertices, not 2/,
      ],
      [stlText.replace('endsolid it\n', ''), undefined, /ends without 'endsolid'. Is it cut short/],
      ['nothing\nof the kind\n', undefined, /no file of Gmsh, VTK, .obj or .stl/],
      ['nothing\nof the kind\n', {format: 'gmsh'}, /line 1: a section must begin here, as \$Nodes; found 'nothing'/],
    ];
    for (const [source, options, message] of wrong) {
      const error = await readMesh(source, options).catch((reason: Error) => reason);
      expect((error as Error).message).to.match(message);
    }
  });
});

describe('readMesh', () => {
  it('refuses .msh files that are not as they must be, with their line or byte', async () => {
    const wrong: readonly (readonly [string | Uint8Array, RegExp])[] = [
      [gmsh22.slice(0, 135), /line \d+: there must be 5 entries here, for which the rest of the file is too short/],
      [gmsh22.slice(0, 200), /line \d+: .*(cut short|too short)/],
      [gmsh22.replace('2.2 0 8', '3.0 0 8'), /line 2: version 3.0 of the format is not supported/],
      [gmsh22.replace('12 2 2 8 1 1 2 4', '12 6 2 8 1 1 2 4'), /line 20: elements of type 6 \(prism with 6 nodes\)/],
      [
        gmsh22.replace('12 2 2 8 1 1 2 4', '12 2 2 8 1 1 2 3'),
        /line 20: element 12 has node 3, which is not in \$Nodes/,
      ],
      [gmsh22.replace('$Nodes\n5', '$Nodes\n4'), /\$EndNodes must follow, but there is '5 0 1 0'/],
      [gmsh22.replace('2 1 0 0', '2 1 0 oh'), /line 12: a node's coordinates must be a number, not 'oh'/],
      [gmsh22.replace('13 2 2', '12 2 2'), /element 12 is given twice/],
      [gmsh41.replace('2 3 11 13', '2 4 11 13'), /the blocks have 3 elements, but \$Elements announces 4/],
      [binary41(true).slice(0, 520), /byte \d+: .*(cut short|too short)/],
      [gmsh22.replace('$Nodes\n5', '$Nodes\n5000000000'), /must be 5000000000 entries here, .* too short/],
    ];
    for (const [source, message] of wrong) {
      const error = await readMesh(source).catch((reason: Error) => reason);
      expect(error).to.have.property('code', 'bad-mesh-file');
      expect((error as Error).message).to.match(message);
    }
  });

  it('takes a path, bytes of any kind, or text, and names the file in errors', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'stiffgrad-mesh-'));
    try {
      const file = path.join(folder, 'square.msh');
      writeFileSync(file, gmsh22);
      const read = await readMesh(file);
      const data = new TextEncoder().encode(gmsh22);
      for (const source of [gmsh22, data, data.buffer, new Blob([data])])
        expect(await readMesh(source)).to.deep.equal(read);
      writeFileSync(file, gmsh22.slice(0, 100));
      expect(await readMesh(file).catch((error: Error) => error.message)).to.include(`${file}, line `);
      const missing = await readMesh(path.join(folder, 'none.msh')).catch((error: Error) => error);
      expect(missing).to.have.property('code', 'mesh-unreadable');
    } finally {
      rmSync(folder, {recursive: true});
    }
    expect(await readMesh(3 as never).catch((error: Error) => error.message)).to.include('path, bytes or text, not 3');
  });

  it('refuses any damaged file with an error of this package', async () => {
    const sources = [gmsh22, gmsh41, binary22(true), binary41(false), legacyText, legacyBinary, legacy51].map(source =>
      typeof source === 'string' ? new TextEncoder().encode(source) : source,
    );
    const where = fc.double({min: 0, max: 1, maxExcluded: true, noNaN: true});
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sources), where, fc.option(fc.nat({max: 255})), async (whole, at, byte) => {
        const place = Math.floor(at * whole.length);
        const damaged = whole.slice(0, byte === null ? place : whole.length);
        if (byte !== null) damaged[place] = byte;
        const read = readMesh(damaged, {format: whole[0] === 36 ? 'gmsh' : 'vtk'});
        await read.catch((error: unknown) => expect(error).to.be.instanceOf(StiffgradError));
      }),
      runs(150),
    );
  });
});
