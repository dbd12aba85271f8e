/**
 * VTK's XML files .vtu of unstructured grids: numbers as text, as base64, or appended, raw or as base64; plain or
 * compressed by zlib (VTK file formats, kitware.com).
 */
import {parseXml, XmlElement, XmlText, XmlCdata} from '@rgrove/parse-xml';
import {unzlibSync} from 'fflate';
import {shown} from '../../../lib/checks.js';
import {DataError} from '../../../lib/errors.js';
import type {MeshField} from '../mesh.js';
import {numbersIn, sizeOf, type ByteReader, type NumberKind} from './byte-reader.js';
import {FileCells, type FileMesh} from './file-mesh.js';
import {addVtkCells} from './vtk-cells.js';

const kinds: {readonly [type: string]: NumberKind} = {
  Int8: 'i8',
  UInt8: 'u8',
  Int16: 'i16',
  UInt16: 'u16',
  Int32: 'i32',
  UInt32: 'u32',
  Int64: 'i64',
  UInt64: 'u64',
  Float32: 'f32',
  Float64: 'f64',
};

/** Reads the file. @throws DataError with the line of the element */
export function readVtu(reader: ByteReader): FileMesh {
  return new VtuFile(reader).read();
}

/** Gives `length` bytes from a place on. */
type Take = (at: number, length: number) => Uint8Array;

class VtuFile {
  private readonly text: string;
  /** Raw bytes after the underscore of the appended data. */
  private readonly raw: Uint8Array | undefined;
  private appended: {readonly text: string} | undefined;
  private littleEndian = true;
  private header: NumberKind = 'u32';
  private isCompressed = false;

  constructor(private readonly reader: ByteReader) {
    const {bytes} = reader;
    reader.at = Math.max(0, reader.find('<AppendedData'));
    const tagEnd = bytes.indexOf(62, reader.at);
    const tag = reader.at === 0 ? '' : new TextDecoder().decode(bytes.subarray(reader.at, tagEnd));
    if (/encoding\s*=\s*["']raw["']/.test(tag)) {
      const start = bytes.indexOf(95, tagEnd) + 1;
      const end = lastIndexOf(bytes, '</AppendedData>');
      if (start === 0 || end < start) throw reader.error('<AppendedData> has no end. Is the file cut short?');
      this.raw = bytes.subarray(start, end);
      const decoder = new TextDecoder();
      // As many lines as before for messages: raw bytes come last.
      this.text = `${decoder.decode(bytes.subarray(0, tagEnd + 1))}${decoder.decode(bytes.subarray(end))}`;
    } else this.text = new TextDecoder().decode(bytes);
    reader.at = 0;
  }

  private error(sentence: string, at?: XmlElement): DataError {
    const line = at === undefined || at.start < 0 ? undefined : this.text.slice(0, at.start).split('\n').length;
    const where = line === undefined ? '' : `, line ${line}`;
    return new DataError('bad-mesh-file', `${this.reader.file}${where}: ${sentence}`, {
      file: this.reader.file,
      ...(line === undefined ? {} : {line}),
    });
  }

  read(): FileMesh {
    const root = this.parse();
    const {type, byte_order: order, header_type: header = 'UInt32', compressor} = root.attributes;
    if (root.name !== 'VTKFile' || type !== 'UnstructuredGrid')
      throw this.error(
        `only a VTKFile of the type UnstructuredGrid can be read, not ${root.name} ${shown(type)}.`,
        root,
      );
    this.littleEndian = order !== 'BigEndian';
    if (header !== 'UInt32' && header !== 'UInt64') throw this.error(`header_type ${shown(header)} is unknown.`, root);
    this.header = kinds[header];
    this.isCompressed = compressor !== undefined && compressor !== '';
    if (this.isCompressed && compressor !== 'vtkZLibDataCompressor')
      throw this.error(`the compressor ${compressor} is not supported; save with zlib or without compression.`, root);
    const appended = childrenOf(root, 'AppendedData')[0];
    if (appended !== undefined && this.raw === undefined)
      this.appended = {text: textOf(appended).replace(/\s+/g, '').replace(/^_/, '')};
    const grid = childrenOf(root, 'UnstructuredGrid')[0];
    const pieces = grid === undefined ? [] : childrenOf(grid, 'Piece');
    if (pieces.length === 0) throw this.error('there is no Piece of an UnstructuredGrid.', root);
    const cells = new FileCells();
    const points: Float64Array[] = [];
    const fields = pieces.map(piece => this.piece(piece, cells, points));
    return {
      points: concatenated(points),
      cells,
      pointFields: this.merged(fields.map(({pointFields}) => pointFields)),
      cellFields: this.merged(fields.map(({cellFields}) => cellFields)),
    };
  }

  private parse(): XmlElement {
    try {
      const {root} = parseXml(this.text, {includeOffsets: true});
      if (root !== null) return root;
    } catch (cause) {
      const error = this.error(`this is no well-formed XML: ${(cause as Error).message.split('\n')[0]}`);
      error.cause = cause;
      throw error;
    }
    throw this.error('this XML has no element.');
  }

  private piece(
    piece: XmlElement,
    cells: FileCells,
    points: Float64Array[],
  ): {readonly pointFields: Fields; readonly cellFields: Fields} {
    const pointCount = this.attribute(piece, 'NumberOfPoints');
    const cellCount = this.attribute(piece, 'NumberOfCells');
    const first = points.reduce((sum, {length}) => sum + length / 3, 0);
    const place = childrenOf(piece, 'Points').flatMap(one => childrenOf(one, 'DataArray'))[0];
    if (place === undefined) throw this.error('the Piece has no Points.', piece);
    points.push(this.array(place, 3 * pointCount));
    const arrays = childrenOf(piece, 'Cells').flatMap(one => childrenOf(one, 'DataArray'));
    const named = (name: string): XmlElement => {
      const found = arrays.find(({attributes}) => attributes.Name === name);
      if (found === undefined) throw this.error(`the Cells have no DataArray ${name}.`, piece);
      return found;
    };
    const ends = this.array(named('offsets'), cellCount);
    const types = this.array(named('types'), cellCount);
    const connectivity = this.array(named('connectivity'), cellCount === 0 ? 0 : ends[cellCount - 1]);
    const wrong = connectivity.find(node => !(node >= 0 && node < pointCount));
    if (wrong !== undefined)
      throw this.error(`a cell has node ${wrong}, but there are nodes 0 to ${pointCount - 1}.`, named('connectivity'));
    addVtkCells(cells, connectivity, ends, types, first, sentence => this.error(sentence, named('types')));
    return {
      pointFields: this.fieldsOf(piece, 'PointData', pointCount),
      cellFields: this.fieldsOf(piece, 'CellData', cellCount),
    };
  }

  private attribute(element: XmlElement, name: string): number {
    const value = Number(element.attributes[name]);
    if (!Number.isSafeInteger(value) || value < 0)
      throw this.error(`${name} must be a whole number, not ${shown(element.attributes[name])}.`, element);
    return value;
  }

  private fieldsOf(piece: XmlElement, name: string, rows: number): Fields {
    const fields: {[name: string]: MeshField} = {};
    for (const array of childrenOf(piece, name).flatMap(one => childrenOf(one, 'DataArray'))) {
      const {Name: field = name, NumberOfComponents: given} = array.attributes;
      const components = given === undefined || given === '' ? 1 : this.attribute(array, 'NumberOfComponents');
      if (Object.hasOwn(fields, field)) throw this.error(`there are two fields ${shown(field)}.`, array);
      if (components > 0) fields[field] = {values: this.array(array, rows * components), components};
    }
    return fields;
  }

  /** Fields that all pieces have, one piece after the other. */
  private merged(pieces: readonly Fields[]): Fields {
    const names = Object.keys(pieces[0]).filter(name => pieces.every(fields => Object.hasOwn(fields, name)));
    return Object.fromEntries(
      names.map(name => [
        name,
        {components: pieces[0][name].components, values: concatenated(pieces.map(fields => fields[name].values))},
      ]),
    );
  }

  /** The numbers of a DataArray. @param count how many there must be */
  private array(element: XmlElement, count: number): Float64Array {
    const {type = '', format = 'ascii', Name: name = 'Points'} = element.attributes;
    const kind = kinds[type];
    if (kind === undefined) throw this.error(`the DataArray ${shown(name)} is of ${shown(type)}.`, element);
    const values = format === 'ascii' ? this.textNumbers(element) : this.encodedNumbers(element, format, kind);
    if (values.length !== count)
      throw this.error(`the DataArray ${shown(name)} has ${values.length} numbers where ${count} are needed.`, element);
    return values;
  }

  private textNumbers(element: XmlElement): Float64Array {
    const words = textOf(element).match(/\S+/g) ?? [];
    const values = Float64Array.from(words, word => Number(word.replace(/inf$/i, 'Infinity')));
    const wrong = values.findIndex((value, i) => Number.isNaN(value) && !/^[+-]?nan$/i.test(words[i]));
    if (wrong >= 0) throw this.error(`${shown(words[wrong])} is no number.`, element);
    return values;
  }

  private encodedNumbers(element: XmlElement, format: string, kind: NumberKind): Float64Array {
    let take: Take;
    let at = 0;
    let isText = true;
    if (format === 'appended') {
      at = this.attribute(element, 'offset');
      const {raw, appended} = this;
      if (raw !== undefined) {
        isText = false;
        take = (from, length) => raw.subarray(from, from + length);
      } else if (appended !== undefined) take = base64(appended.text);
      else throw this.error('the file has no AppendedData. Is it cut short?', element);
    } else if (format === 'binary') take = base64(textOf(element).replace(/\s+/g, ''));
    else throw this.error(`format ${shown(format)} is unknown.`, element);
    const bytes = this.block(take, at, isText, element);
    if (bytes.length % sizeOf(kind) !== 0)
      throw this.error(`${bytes.length} bytes are no whole number of ${element.attributes.type}.`, element);
    return numbersIn(bytes, kind, this.littleEndian);
  }

  /** The bytes of one array, behind its header. Base64 has the header of compressed blocks apart from these. */
  private block(take: Take, at: number, isText: boolean, element: XmlElement): Uint8Array {
    const width = sizeOf(this.header);
    const whole = (from: number, length: number): Uint8Array => {
      const bytes = take(from, length);
      if (bytes.length < length)
        throw this.error(
          `${length} bytes are needed, but only ${bytes.length} are there. Is the file cut short?`,
          element,
        );
      return bytes;
    };
    const numbers = (from: number, count: number): Float64Array =>
      numbersIn(whole(from, count * width), this.header, this.littleEndian);
    if (!this.isCompressed) {
      const [length] = numbers(at, 1);
      return whole(at, width + length).subarray(width);
    }
    const [blocks, size, last] = numbers(at, 3);
    if (blocks === 0) return new Uint8Array();
    const head = (3 + blocks) * width;
    const lengths = numbers(at, 3 + blocks).subarray(3);
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const contents = whole(at + (isText ? 4 * Math.ceil(head / 3) : head), total);
    const out = new Uint8Array(last === 0 ? blocks * size : (blocks - 1) * size + last);
    let from = 0;
    let to = 0;
    for (const length of lengths) {
      const part = this.inflated(contents.subarray(from, from + length), element);
      if (to + part.length > out.length) throw this.error('a compressed block is longer than announced.', element);
      out.set(part, to);
      from += length;
      to += part.length;
    }
    if (to !== out.length) throw this.error('the compressed blocks are shorter than announced.', element);
    return out;
  }

  private inflated(block: Uint8Array, element: XmlElement): Uint8Array {
    try {
      return unzlibSync(block);
    } catch (cause) {
      const error = this.error('a compressed block is damaged.', element);
      error.cause = cause;
      throw error;
    }
  }
}

type Fields = {readonly [name: string]: MeshField};

const childrenOf = (element: XmlElement, name: string): XmlElement[] =>
  element.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);

const textOf = (element: XmlElement): string =>
  element.children.map(child => (child instanceof XmlText || child instanceof XmlCdata ? child.text : '')).join('');

const concatenated = (arrays: readonly Float64Array[]): Float64Array => {
  if (arrays.length === 1) return arrays[0];
  const all = new Float64Array(arrays.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
};

/** Bytes of a base64 text, from a place among its letters. */
const base64 =
  (text: string): Take =>
  (at, length) => {
    const letters = text.slice(at, at + 4 * Math.ceil(length / 3) + 4);
    if (!/^[A-Za-z0-9+/=]*$/.test(letters)) return new Uint8Array();
    // Some writers encode the header apart, so that its padding stands within.
    const parts = letters.split(/(?<==)(?=[^=])/).map(part => atob(part.slice(0, part.length - (part.length % 4))));
    return Uint8Array.from(parts.join('').slice(0, length), letter => letter.charCodeAt(0));
  };

function lastIndexOf(bytes: Uint8Array, text: string): number {
  const wanted = new TextEncoder().encode(text);
  for (let i = bytes.lastIndexOf(wanted[0]); i >= 0; i = i === 0 ? -1 : bytes.lastIndexOf(wanted[0], i - 1))
    if (wanted.every((byte, k) => bytes[i + k] === byte)) return i;
  return -1;
}
