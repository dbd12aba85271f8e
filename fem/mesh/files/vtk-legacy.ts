/**
 * VTK's legacy files of unstructured grids, versions 2.0 to 5.1, as text and binary (VTK file formats, kitware.com).
 * Binary numbers are big-endian.
 */
import {shown} from '../../../lib/checks.js';
import type {MeshField} from '../mesh.js';
import {sizeOf, type ByteReader, type NumberKind} from './byte-reader.js';
import {FileCells, type FileMesh} from './file-mesh.js';
import {addVtkCells} from './vtk-cells.js';

const kinds: {readonly [type: string]: NumberKind} = {
  char: 'i8',
  signed_char: 'i8',
  unsigned_char: 'u8',
  short: 'i16',
  unsigned_short: 'u16',
  int: 'i32',
  unsigned_int: 'u32',
  long: 'i64',
  unsigned_long: 'u64',
  float: 'f32',
  double: 'f64',
  vtkIdType: 'i32',
  vtktypeint64: 'i64',
  vtktypeuint64: 'u64',
  vtktypeint32: 'i32',
  vtktypeuint32: 'u32',
};

/** Reads the file. @throws DataError with the line, or the byte of a binary file */
export function readVtkLegacy(reader: ByteReader): FileMesh {
  return new LegacyFile(reader).read();
}

class LegacyFile {
  private isBinary = false;
  private version = 0;
  private points: Float64Array | undefined;
  private ends: Float64Array<ArrayBufferLike> | undefined;
  private connectivity: Float64Array = new Float64Array();
  private types: Float64Array | undefined;
  private fields: {[name: string]: MeshField} = {};
  /** How many rows the fields that follow have. */
  private rows = 0;
  private readonly pointFields: {[name: string]: MeshField} = {};
  private readonly cellFields: {[name: string]: MeshField} = {};

  constructor(private readonly reader: ByteReader) {}

  read(): FileMesh {
    const {reader} = this;
    const [, version] = /^# vtk DataFile Version (\d+\.\d+)/i.exec(reader.line()) ?? [];
    if (version === undefined) throw reader.error("the first line must be '# vtk DataFile Version' and a number.");
    this.version = Number(version);
    if (!(this.version >= 1 && this.version < 6)) throw reader.error(`version ${version} is not supported.`);
    reader.line();
    const form = reader.line().trim().toUpperCase();
    if (form !== 'ASCII' && form !== 'BINARY')
      throw reader.error(`ASCII or BINARY must stand here, not ${shown(form)}.`);
    this.isBinary = form === 'BINARY';
    const dataset = reader.filledLine() ?? '';
    if (!/^DATASET\s+UNSTRUCTURED_GRID$/i.test(dataset))
      throw reader.error(`only DATASET UNSTRUCTURED_GRID can be read, not ${shown(dataset)}.`);
    for (let line = reader.filledLine(); line !== undefined; line = reader.filledLine())
      this.section(line.split(/\s+/));
    const {points, ends, types} = this;
    if (points === undefined || ends === undefined || types === undefined)
      throw reader.error(
        `the file ends without ${points === undefined ? 'POINTS' : ends === undefined ? 'CELLS' : 'CELL_TYPES'}. `
          + 'Is it cut short?',
      );
    if (ends.length !== types.length)
      throw reader.error(`there are ${ends.length} CELLS, but ${types.length} CELL_TYPES.`);
    const cells = new FileCells();
    addVtkCells(cells, this.connectivity, ends, types, 0, sentence => reader.error(sentence));
    return {points, cells, pointFields: this.pointFields, cellFields: this.cellFields};
  }

  private section([keyword, ...words]: readonly string[]): void {
    const {reader} = this;
    switch (keyword.toUpperCase()) {
      case 'POINTS':
        this.points = this.values(words[1], 3 * this.wordCount(words[0], 'the number of points'), 'a coordinate');
        return;
      case 'CELLS':
        return this.cells(this.wordCount(words[0], 'the number of cells'), this.wordCount(words[1], 'their size'));
      case 'CELL_TYPES':
        this.types = this.values('int', this.wordCount(words[0], 'the number of types'), 'a type');
        return;
      case 'POINT_DATA':
        this.rows = this.dataRows(words[0], (this.points?.length ?? 0) / 3, 'POINTS');
        this.fields = this.pointFields;
        return;
      case 'CELL_DATA':
        this.rows = this.dataRows(words[0], this.ends?.length ?? 0, 'CELLS');
        this.fields = this.cellFields;
        return;
      case 'SCALARS':
        return this.scalars(words);
      case 'VECTORS':
      case 'NORMALS':
        return this.attribute(words[0], words[1], 3);
      case 'TENSORS':
        return this.attribute(words[0], words[1], 9);
      case 'TENSORS6':
        return this.attribute(words[0], words[1], 6);
      case 'GLOBAL_IDS':
      case 'PEDIGREE_IDS':
        return this.attribute(words[0], words[1], 1);
      case 'TEXTURE_COORDINATES':
        return this.attribute(words[0], words[2], this.wordCount(words[1], 'the number of coordinates'));
      case 'COLOR_SCALARS': {
        const components = this.wordCount(words[1], 'the number of components');
        this.attribute(words[0], this.isBinary ? 'unsigned_char' : 'float', components);
        return;
      }
      case 'LOOKUP_TABLE':
        this.values(this.isBinary ? 'unsigned_char' : 'float', 4 * this.wordCount(words[1], 'its size'), 'a colour');
        return;
      case 'FIELD':
        return this.fieldArrays(this.wordCount(words[1], 'the number of arrays'));
      case 'METADATA':
        while (!reader.done && reader.line().trim() !== '');
        return;
      default:
        throw reader.error(`${shown(keyword)} is no section of an unstructured grid. Is the one before it complete?`);
    }
  }

  private wordCount(word: string | undefined, what: string): number {
    const count = Number(word);
    if (word === undefined || !Number.isSafeInteger(count) || count < 0)
      throw this.reader.error(`${what} must be a whole number, not ${shown(word)}.`);
    return count;
  }

  private dataRows(word: string | undefined, expected: number, of: string): number {
    const count = this.wordCount(word, 'the number of values');
    if (count !== expected) throw this.reader.error(`there are ${count} values for ${expected} ${of}.`);
    return count;
  }

  private values(type: string | undefined, count: number, what: string): Float64Array {
    const {reader} = this;
    if (!this.isBinary) return reader.numbers(count, what);
    const name = type?.toLowerCase() ?? '';
    if (name === 'bit') {
      const packed = reader.take(Math.ceil(count / 8), what);
      return Float64Array.from({length: count}, (_, i) => (packed[i >> 3] >> (7 - (i & 7))) & 1);
    }
    const kind = kinds[name === 'vtkidtype' ? 'vtkIdType' : name];
    if (kind === undefined) throw reader.error(`numbers of the type ${shown(type)} are not supported.`);
    return reader.binary(kind, count, false, `${what} (${count} numbers of ${sizeOf(kind)} bytes)`);
  }

  private cells(count: number, size: number): void {
    const {reader} = this;
    if (this.version >= 5) {
      // The count is that of the offsets, one more than there are cells.
      const [offsets, offsetType] = this.keyword('OFFSETS');
      const all = this.values(offsetType, count, offsets);
      const [nodes, nodeType] = this.keyword('CONNECTIVITY');
      this.connectivity = this.values(nodeType, size, nodes);
      this.ends = all.subarray(1);
      return;
    }
    const all = this.values('int', size, 'a node of a cell');
    this.ends = new Float64Array(count);
    const nodes = new Float64Array(Math.max(0, size - count));
    let from = 0;
    let to = 0;
    for (let cell = 0; cell < count; cell++) {
      const length = all[from++];
      if (!(length >= 0 && from + length <= all.length))
        throw reader.error(`cell ${cell} has ${length} nodes, more than CELLS ${count} ${size} leaves for it.`);
      for (let i = 0; i < length; i++) nodes[to++] = all[from++];
      this.ends[cell] = to;
    }
    if (from !== size) throw reader.error(`the ${count} cells take ${from} numbers, but CELLS announces ${size}.`);
    this.connectivity = nodes;
  }

  private keyword(name: string): [what: string, type: string] {
    const line = this.reader.filledLine() ?? '';
    const [, type] = new RegExp(`^${name}\\s+(\\w+)$`, 'i').exec(line) ?? [];
    if (type === undefined) throw this.reader.error(`${name} and a type must stand here, not ${shown(line)}.`);
    return [`a number of ${name}`, type];
  }

  private add(encoded: string, values: Float64Array, components: number): void {
    let name = encoded;
    try {
      name = decodeURIComponent(encoded);
    } catch {
      // A name with a percent sign of its own.
    }
    if (Object.hasOwn(this.fields, name)) throw this.reader.error(`there are two fields ${shown(name)}.`);
    this.fields[name] = {values, components};
  }

  private attribute(name: string, type: string | undefined, components: number): void {
    this.add(name, this.values(type, components * this.rows, `a value of ${shown(name)}`), components);
  }

  private scalars([name, type, components = '1']: readonly string[]): void {
    const {reader} = this;
    // The table of colours may be left out.
    const before = reader.at;
    const line = reader.filledLine() ?? '';
    if (!/^LOOKUP_TABLE\s/i.test(line)) reader.at = before;
    this.attribute(name, type, this.wordCount(components, 'the number of components'));
  }

  private fieldArrays(count: number): void {
    const {reader} = this;
    for (let i = 0; i < count; i++) {
      let line = reader.filledLine();
      if (line !== undefined && /^METADATA$/i.test(line)) {
        while (!reader.done && reader.line().trim() !== '');
        line = reader.filledLine();
      }
      const [name, components, rows, type] = (line ?? '').split(/\s+/);
      if (type === undefined)
        throw reader.error(`a name, two counts and a type of a field must stand here, not ${shown(line)}.`);
      const [width, length] = [this.wordCount(components, 'a count'), this.wordCount(rows, 'a count')];
      if (type.toLowerCase() === 'string') {
        if (this.isBinary) throw reader.error(`the field ${shown(name)} is text, which is not supported.`);
        for (let row = 0; row < width * length; row++) reader.line();
        continue;
      }
      const values = this.values(type, width * length, `a value of ${shown(name)}`);
      // What stands before POINT_DATA and CELL_DATA belongs to the file as a whole.
      if (this.fields !== this.pointFields && this.fields !== this.cellFields) continue;
      if (length !== this.rows)
        throw reader.error(`the field ${shown(name)} has ${length} rows, where ${this.rows} are needed.`);
      if (width > 0) this.add(name, values, width);
    }
  }
}
