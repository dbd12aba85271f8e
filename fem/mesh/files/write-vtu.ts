/**
 * Meshes with fields as .vtu files, and .pvd files that list them by time, for ParaView and all else that reads VTK's
 * XML (VTK file formats, kitware.com).
 */
import {
  boolean,
  each,
  finite,
  object,
  optional,
  readBy,
  readOptions,
  requireValue,
  shown,
  text,
} from '../../../lib/checks.js';
import {nodeFs} from '../../../lib/builtin.js';
import {DataError, OptionError} from '../../../lib/errors.js';
import {typesIn} from '../cell-types.js';
import {cellCount, pointCount, type FieldValues, type Mesh, type MeshField, readField} from '../mesh.js';
import {byName} from '../transform.js';

/** Fields to write besides those of the mesh, by name: a number or a row for each point or cell. */
export interface FieldsToWrite {
  readonly points?: {readonly [name: string]: FieldValues};
  readonly cells?: {readonly [name: string]: FieldValues};
}

type Kind = 'Float64' | 'Int32' | 'Int64' | 'UInt8';
interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly components: number;
  readonly values: Float64Array | Int32Array | Uint8Array;
}

const writeOptions = {
  /** Numbers as text, with all their digits, in place of bytes; default false. */
  ascii: optional(boolean, false),
};

/**
 * The mesh and its fields as a .vtu file: points, cells, named sets as cell and point fields `set:<name>` of 0 and 1,
 * the mesh's own fields, and further ones. Vectors of the plane get a third component 0, as VTK needs.
 * @param path where the file is written, in Node; undefined to write none
 * @param fields a number or a row for each point and cell; they replace fields of the mesh with their name
 * @returns the file's bytes, UTF-8 text with `ascii`
 * @throws OptionError 'bad-mesh' where a field has another length
 * @throws DataError 'mesh-unwritable' where the path cannot be written
 */
export async function writeVtu(
  path: string | undefined,
  mesh: Mesh,
  fields: FieldsToWrite = {},
  options: {readonly ascii?: boolean} = {},
): Promise<Uint8Array> {
  const {ascii} = readOptions(options, writeOptions, 'writeVtu');
  const bytes = vtuBytes(mesh, fields, ascii);
  if (path !== undefined) await write(path, bytes, 'writeVtu');
  return bytes;
}

async function write(path: string, bytes: Uint8Array, owner: string): Promise<void> {
  requireValue(path, text, `${owner}: path`);
  try {
    if (nodeFs === undefined) throw new Error('there is no file system here; pass undefined and use the bytes');
    await nodeFs.promises.writeFile(path, bytes);
  } catch (cause) {
    const error = new DataError('mesh-unwritable', `${path} cannot be written: ${(cause as Error).message}.`, {path});
    error.cause = cause;
    throw error;
  }
}

function vtuBytes(mesh: Mesh, fields: FieldsToWrite, ascii: boolean): Uint8Array {
  const {points, dimension} = mesh;
  const [nodes, cells] = [pointCount(mesh), cellCount(mesh.cells)];
  const types = typesIn(mesh.cells);
  const ends = new Int32Array(cells);
  const numbers = new Uint8Array(cells);
  let cell = 0;
  let end = 0;
  for (const {shape, nodes: rows} of types)
    for (let i = 0; i < rows.length; i += shape.nodes) {
      end += shape.nodes;
      ends[cell] = end;
      numbers[cell++] = shape.vtk;
    }
  const connectivity = new Int32Array(end);
  let at = 0;
  for (const {nodes: rows} of types) {
    connectivity.set(rows, at);
    at += rows.length;
  }
  const file = new VtuText(ascii);
  file.text(
    '<?xml version="1.0"?>\n'
      + '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
      + `<UnstructuredGrid>\n<Piece NumberOfPoints="${nodes}" NumberOfCells="${cells}">\n`,
  );
  file.columns('Points', [column('Points', inSpace({values: points, components: dimension}))]);
  file.columns('Cells', [
    {name: 'connectivity', kind: 'Int32', components: 1, values: connectivity},
    {name: 'offsets', kind: 'Int32', components: 1, values: ends},
    {name: 'types', kind: 'UInt8', components: 1, values: numbers},
  ]);
  file.columns('PointData', [
    ...columnsOf({...mesh.fields.points, ...readAll(fields.points, nodes, 'point')}, dimension),
    ...membership(mesh.sets.nodes, nodes),
  ]);
  file.columns('CellData', [
    ...columnsOf({...mesh.fields.cells, ...readAll(fields.cells, cells, 'cell')}, dimension),
    ...membership(mesh.sets.cells, cells),
  ]);
  file.text('</Piece>\n</UnstructuredGrid>\n');
  return file.end();
}

const readAll = (
  fields: {readonly [name: string]: FieldValues} = {},
  count: number,
  kind: 'point' | 'cell',
): {[name: string]: MeshField} =>
  byName(fields, (field, name) => readField(field, count, `writeVtu: ${kind} field ${shown(name)}`));

/** Vectors of one or two components with zeros behind them. */
function inSpace({values, components}: MeshField): MeshField {
  if (components >= 3) return {values, components};
  const rows = values.length / components;
  const wide = new Float64Array(3 * rows);
  for (let row = 0; row < rows; row++) wide.set(values.subarray(row * components, (row + 1) * components), 3 * row);
  return {values: wide, components: 3};
}

const column = (name: string, {values, components}: MeshField): Column => ({name, kind: 'Float64', components, values});

const columnsOf = (fields: {readonly [name: string]: MeshField}, dimension: number): Column[] =>
  Object.entries(fields).map(([name, field]) =>
    column(name, field.components === 2 && dimension === 2 ? inSpace(field) : field),
  );

const membership = (sets: {readonly [name: string]: Int32Array}, count: number): Column[] =>
  Object.entries(sets).map(([name, members]) => {
    const values = new Uint8Array(count);
    for (const member of members) values[member] = 1;
    return {name: `set:${name}`, kind: 'UInt8', components: 1, values};
  });

/** Text in an attribute of XML. */
const escaped = (value: string): string => value.replace(/[&<>"\n\r\t]/g, letter => `&#${letter.charCodeAt(0)};`);

/** The file as it grows: elements, and the numbers behind them. */
class VtuText {
  private head = '';
  private readonly chunks: Uint8Array[] = [];
  private offset = 0;

  constructor(private readonly ascii: boolean) {}

  text(part: string): void {
    this.head += part;
  }

  columns(element: string, columns: readonly Column[]): void {
    this.head += `<${element}>\n`;
    for (const {name, kind, components, values} of columns) {
      this.head += `<DataArray type="${kind}" Name="${escaped(name)}" NumberOfComponents="${components}"`;
      if (this.ascii) {
        this.head += ' format="ascii">\n';
        for (let i = 0; i < values.length; i += components)
          this.head += `${Array.from(values.subarray(i, i + components), numberText).join(' ')}\n`;
        this.head += '</DataArray>\n';
      } else {
        this.head += ` format="appended" offset="${this.offset}"/>\n`;
        const size = new Uint8Array(8);
        new DataView(size.buffer).setBigUint64(0, BigInt(values.byteLength), true);
        this.chunks.push(size, littleEndian(values));
        this.offset += 8 + values.byteLength;
      }
    }
    this.head += `</${element}>\n`;
  }

  end(): Uint8Array {
    const encoder = new TextEncoder();
    if (this.ascii) return encoder.encode(`${this.head}</VTKFile>\n`);
    const parts = [
      encoder.encode(`${this.head}<AppendedData encoding="raw">\n_`),
      ...this.chunks,
      encoder.encode('\n</AppendedData>\n</VTKFile>\n'),
    ];
    const all = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

/** VTK reads nan and inf where JavaScript writes NaN and Infinity. */
const numberText = (value: number): string =>
  Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function littleEndian(values: Float64Array | Int32Array | Uint8Array): Uint8Array {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  if (isLittleEndian || values.BYTES_PER_ELEMENT === 1) return bytes;
  const turned = new Uint8Array(bytes.length);
  const size = values.BYTES_PER_ELEMENT;
  for (let i = 0; i < bytes.length; i++) turned[i] = bytes[i - (i % size) + size - 1 - (i % size)];
  return turned;
}

const frameCheck = readBy((frame: MeshFrame, name: string): MeshFrame => {
  requireValue(frame, object, name);
  requireValue(frame.t, finite, `${name}.t`);
  return frame;
});

/** A state of a body at a time: its fields, as `writeVtu` takes them. */
export interface MeshFrame {
  readonly t: number;
  readonly fields?: FieldsToWrite;
}

/**
 * A series for ParaView: one .vtu file for each frame and a .pvd file that lists them with their times.
 * @param path of the .pvd file, in Node; the others lie beside it, named after it with the number of the frame;
 *   undefined to write none
 * @param mesh of all frames
 * @param frames times and fields; a field of displacements, such as `u`, is shown by ParaView's filter Warp By Vector
 * @returns the files by their names, the .pvd first
 * @throws OptionError, DataError as `writeVtu` does
 */
export async function writePvd(
  path: string | undefined,
  mesh: Mesh,
  frames: readonly MeshFrame[],
  options: {readonly ascii?: boolean} = {},
): Promise<{readonly [file: string]: Uint8Array}> {
  const {ascii} = readOptions(options, writeOptions, 'writePvd');
  const read = readOptions({frames}, {frames: each(frameCheck)}, 'writePvd').frames;
  if (path !== undefined && !/\.pvd$/i.test(path))
    throw new OptionError('bad-option', `writePvd: path must end in .pvd, not ${shown(path)}.`);
  const folder = path === undefined ? '' : path.replace(/[^/\\]*$/, '');
  const stem = path === undefined ? 'series' : path.slice(folder.length).replace(/\.pvd$/i, '');
  const digits = String(Math.max(0, read.length - 1)).length;
  const names = read.map((_, i) => `${stem}-${String(i).padStart(digits, '0')}.vtu`);
  const entries = read.map(({t}, i) => `<DataSet timestep="${t}" part="0" file="${escaped(names[i])}"/>\n`);
  const list = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
    + `${entries.join('')}</Collection>\n</VTKFile>\n`; // prettier-ignore
  const files: {[file: string]: Uint8Array} = {[`${stem}.pvd`]: new TextEncoder().encode(list)};
  for (const [i, {fields}] of read.entries()) files[names[i]] = vtuBytes(mesh, fields ?? {}, ascii);
  if (path !== undefined)
    for (const [name, bytes] of Object.entries(files)) await write(`${folder}${name}`, bytes, 'writePvd');
  return files;
}
