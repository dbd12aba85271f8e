/**
 * Gmsh's files .msh of versions 2.2 and 4.1, as text and binary, in either order of bytes (Gmsh reference manual, file
 * formats). Physical groups become sets, node and element data fields; everything else is passed over.
 */
import {shown} from '../../../lib/checks.js';
import type {DataError} from '../../../lib/errors.js';
import {cellShapes, cellTypes, type CellShape} from '../cell-types.js';
import type {MeshField} from '../mesh.js';
import {type ByteReader, type NumberKind} from './byte-reader.js';
import {FileCells, supportedCells, type FileMesh} from './file-mesh.js';

const shapesByNumber = new Map(cellShapes.map(shape => [shape.gmsh, shape]));

/** Names that Gmsh's manual has for element types that are not supported. */
const otherTypes: {readonly [number: number]: string} = {
  6: 'prism with 6 nodes',
  7: 'pyramid with 5 nodes',
  13: 'prism with 18 nodes',
  14: 'pyramid with 14 nodes',
  18: 'prism with 15 nodes',
  19: 'pyramid with 13 nodes',
  20: 'triangle with 9 nodes',
  21: 'triangle with 10 nodes',
  26: 'line with 4 nodes',
  29: 'tetrahedron with 20 nodes',
  36: 'quadrilateral with 16 nodes',
  92: 'hexahedron with 64 nodes',
};

/** Reads the file. @throws DataError with the line, or the byte of a binary file */
export function readGmsh(reader: ByteReader): FileMesh {
  return new GmshFile(reader).read();
}

class GmshFile {
  private isBinary = false;
  private littleEndian = true;
  private version = 0;
  private size: NumberKind = 'u64';
  /** Names of physical groups, by dimension and number. */
  private readonly names = new Map<string, string>();
  /** Physical groups of geometric entities, by dimension and number. */
  private readonly entities = new Map<string, readonly number[]>();
  /** Places of nodes and elements by their numbers in the file. */
  private readonly nodePlaces = new Map<number, number>();
  private readonly elementPlaces = new Map<number, number>();
  private points = new Float64Array();
  private readonly cells = new FileCells();
  private readonly groups = new Map<string, number[]>();
  /** Data that came before the elements, as they may. */
  private readonly data: (() => void)[] = [];
  private readonly fields = {
    NodeData: {} as {[name: string]: MeshField},
    ElementData: {} as {[name: string]: MeshField},
  };

  constructor(private readonly reader: ByteReader) {}

  read(): FileMesh {
    const {reader} = this;
    const found = new Set<string>();
    for (let line = reader.filledLine(); line !== undefined; line = reader.filledLine()) {
      if (!line.startsWith('$')) throw reader.error(`a section must begin here, as $Nodes; found ${shown(line)}.`);
      const section = line.slice(1);
      if (section !== 'MeshFormat' && this.version === 0) {
        if (section === 'Comments') this.skip(section);
        else throw reader.error(`$MeshFormat must come first, not ${shown(line)}.`);
        continue;
      }
      found.add(section);
      this.section(section);
    }
    for (const section of ['Nodes', 'Elements'])
      if (!found.has(section)) throw reader.error(`the file ends without $${section}. Is it cut short?`);
    this.data.forEach(read => read());
    return {
      points: this.points,
      cells: this.cells,
      groups: [...this.groups].map(([key, cells]) => ({name: this.names.get(key) ?? key.split(' ')[1], cells})),
      pointFields: this.fields.NodeData,
      cellFields: this.fields.ElementData,
    };
  }

  private section(section: string): void {
    switch (section) {
      case 'MeshFormat':
        this.format();
        break;
      case 'PhysicalNames':
        this.physicalNames();
        break;
      case 'Entities':
        this.readEntities(false);
        break;
      case 'PartitionedEntities':
        this.readEntities(true);
        break;
      case 'Nodes':
        if (this.version < 4) this.nodes2();
        else this.nodes4();
        break;
      case 'Elements':
        if (this.version < 4) this.elements2();
        else this.elements4();
        break;
      case 'NodeData':
      case 'ElementData':
        this.readData(section);
        break;
      default:
        this.skip(section);
        return;
    }
    const end = this.reader.filledLine();
    if (end !== `$End${section}`)
      throw this.reader.error(
        end === undefined
          ? `the file ends within $${section}. Is it cut short?`
          : `$End${section} must follow, but there is ${shown(end)}. Is the number of entries right?`,
      );
  }

  private skip(section: string): void {
    const end = this.reader.find(`$End${section}`);
    if (end < 0) throw this.reader.error(`$${section} has no end. Is the file cut short?`);
    this.reader.at = end;
    this.reader.line();
  }

  private format(): void {
    const {reader} = this;
    const version = reader.word('the version');
    if (!/^(2(\.[0-2])?|4\.1)$/.test(version))
      throw reader.error(
        `version ${version} of the format is not supported; save the mesh as 4.1 or 2.2 (Mesh.MshFileVersion).`,
      );
    this.version = Number(version);
    this.isBinary = reader.integer('the file type') === 1;
    const size = reader.integer('the data size');
    if (size !== 8 && size !== 4) throw reader.error(`the data size must be 8 or 4, not ${size}.`);
    this.size = size === 8 ? 'u64' : 'u32';
    reader.line();
    if (!this.isBinary) return;
    const one = reader.take(4, 'the mark of the byte order');
    if (one[0] === 1 && one[3] === 0) this.littleEndian = true;
    else if (one[0] === 0 && one[3] === 1) this.littleEndian = false;
    else throw reader.error('the mark of the byte order must be the number 1. Was the file copied as text?');
  }

  private value(kind: NumberKind, what: string): number {
    if (!this.isBinary) return kind === 'f64' ? this.reader.number(what) : this.reader.integer(what);
    return this.reader.binary(kind, 1, this.littleEndian, what)[0];
  }

  private values(kind: NumberKind, count: number, what: string): Float64Array {
    return this.isBinary ? this.reader.binary(kind, count, this.littleEndian, what) : this.reader.numbers(count, what);
  }

  private count(what: string): number {
    const count = this.value(this.size, what);
    // Every entry has a byte at least.
    if (count < 0 || count > this.reader.bytes.length)
      throw this.reader.error(`${what} is ${count}, more than the file has bytes.`);
    return count;
  }

  private physicalNames(): void {
    const {reader} = this;
    for (let left = reader.count('the number of names'); left > 0; left--) {
      const line = reader.filledLine();
      const [, dimension, number, name] = /^(\d+)\s+(-?\d+)\s+"(.*)"/.exec(line ?? '') ?? [];
      if (name === undefined)
        throw reader.error(`a dimension, a number and a "name" must stand here, not ${shown(line)}.`);
      this.names.set(`${dimension} ${number}`, name);
    }
  }

  private readEntities(partitioned: boolean): void {
    if (this.version < 4) return this.skipRest(partitioned ? 'PartitionedEntities' : 'Entities');
    if (partitioned) {
      this.count('the number of partitions');
      this.values('i32', 2 * this.count('the number of ghost entities'), 'a ghost entity');
    }
    const counts = [0, 1, 2, 3].map(() => this.count('a number of entities'));
    counts.forEach((count, dimension) => {
      for (let i = 0; i < count; i++) {
        const number = this.value('i32', "an entity's number");
        if (partitioned) {
          this.values('i32', 2, "an entity's parent");
          this.values('i32', this.count('the number of partitions'), 'a partition');
        }
        this.values('f64', dimension === 0 ? 3 : 6, "an entity's box");
        const physical = this.values('i32', this.count('the number of physical groups'), 'a physical group');
        this.entities.set(`${dimension} ${number}`, Array.from(physical, Math.abs));
        if (dimension > 0) this.values('i32', this.count('the number of bounding entities'), 'a bounding entity');
      }
    });
  }

  private skipRest(section: string): void {
    const end = this.reader.find(`$End${section}`);
    if (end < 0) throw this.reader.error(`$${section} has no end. Is the file cut short?`);
    this.reader.at = end;
  }

  private addNode(number: number, at: number): void {
    if (this.nodePlaces.has(number)) throw this.reader.error(`node ${number} is given twice.`);
    this.nodePlaces.set(number, at);
  }

  private nodes2(): void {
    const count = this.reader.count('the number of nodes');
    if (this.isBinary) this.reader.line();
    this.requireRoom(count, 28, 8);
    this.points = new Float64Array(3 * count);
    for (let i = 0; i < count; i++) {
      this.addNode(this.value('i32', "a node's number"), i);
      this.points.set(this.values('f64', 3, "a node's coordinates"), 3 * i);
    }
  }

  /** @throws DataError where the rest of the file cannot hold so many entries */
  private requireRoom(count: number, binary: number, text: number): void {
    const {bytes, at} = this.reader;
    if (count * (this.isBinary ? binary : text) > bytes.length - at + text)
      throw this.reader.error(`there must be ${count} entries here, for which the rest of the file is too short.`);
  }

  private nodes4(): void {
    const [blocks, count] = [this.count('the number of blocks'), this.count('the number of nodes')];
    this.values(this.size, 2, 'the least and the greatest number of a node');
    this.requireRoom(count, 32, 8);
    this.points = new Float64Array(3 * count);
    let next = 0;
    for (let block = 0; block < blocks; block++) {
      const [dimension, , parametric] = this.values('i32', 3, "a block's entity");
      const length = this.count('the number of nodes in a block');
      if (next + length > count)
        throw this.reader.error(`the blocks have more nodes than the ${count} that $Nodes announces.`);
      const numbers = this.values(this.size, length, "a node's number");
      const width = 3 + (parametric === 0 ? 0 : dimension);
      const coordinates = this.values('f64', width * length, "a node's coordinates");
      numbers.forEach((number, i) => {
        this.addNode(number, next);
        this.points.set(coordinates.subarray(i * width, i * width + 3), 3 * next++);
      });
    }
    if (next !== count) throw this.reader.error(`the blocks have ${next} nodes, but $Nodes announces ${count}.`);
  }

  private shapeOf(number: number): CellShape {
    const shape = shapesByNumber.get(number);
    if (shape !== undefined) return shape;
    const name = otherTypes[number];
    throw this.reader.error(
      `elements of type ${number}${name === undefined ? '' : ` (${name})`} are not supported. `
        + supportedCells(cellTypes),
    );
  }

  /** @param nodes by their numbers in the file, in Gmsh's order */
  private addElement(number: number, shape: CellShape, nodes: ArrayLike<number>, groups: readonly number[]): void {
    const row = Array.from({length: shape.nodes}, (_, i) => {
      const node = nodes[shape.gmshOrder?.[i] ?? i];
      const place = this.nodePlaces.get(node);
      if (place === undefined) throw this.reader.error(`element ${number} has node ${node}, which is not in $Nodes.`);
      return place;
    });
    if (this.elementPlaces.has(number)) throw this.reader.error(`element ${number} is given twice.`);
    const cell = this.cells.add(shape.type, row);
    this.elementPlaces.set(number, cell);
    for (const group of groups) {
      const key = `${shape.dimension} ${group}`;
      const members = this.groups.get(key);
      if (members === undefined) this.groups.set(key, [cell]);
      else members.push(cell);
    }
  }

  private elements2(): void {
    const {reader} = this;
    const count = reader.count('the number of elements');
    const physical = (tags: ArrayLike<number>): number[] =>
      tags.length > 0 && tags[0] !== 0 ? [Math.abs(tags[0])] : [];
    if (!this.isBinary) {
      for (let i = 0; i < count; i++) {
        const number = reader.integer("an element's number");
        const shape = this.shapeOf(reader.integer("an element's type"));
        const tags = reader.numbers(reader.count('the number of tags'), 'a tag');
        this.addElement(number, shape, reader.numbers(shape.nodes, 'a node of an element'), physical(tags));
      }
      return;
    }
    reader.line();
    for (let read = 0; read < count;) {
      const [type, length, tagCount] = this.values('i32', 3, 'the head of a block of elements');
      const shape = this.shapeOf(type);
      if (length < 1 || read + length > count || tagCount < 0)
        throw reader.error(`a block of ${length} elements with ${tagCount} tags does not fit in ${count} elements.`);
      const width = 1 + tagCount + shape.nodes;
      const rows = this.values('i32', width * length, 'an element');
      for (let i = 0; i < rows.length; i += width) {
        const nodes = rows.subarray(i + 1 + tagCount, i + width);
        this.addElement(rows[i], shape, nodes, physical(rows.subarray(i + 1, i + 1 + tagCount)));
      }
      read += length;
    }
  }

  private elements4(): void {
    const [blocks, count] = [this.count('the number of blocks'), this.count('the number of elements')];
    this.values(this.size, 2, 'the least and the greatest number of an element');
    for (let block = 0; block < blocks; block++) {
      const [dimension, entity, type] = this.values('i32', 3, "a block's entity");
      const shape = this.shapeOf(type);
      const length = this.count('the number of elements in a block');
      const groups = this.entities.get(`${dimension} ${entity}`) ?? [];
      const rows = this.values(this.size, length * (1 + shape.nodes), 'an element');
      for (let i = 0; i < rows.length; i += 1 + shape.nodes)
        this.addElement(rows[i], shape, rows.subarray(i + 1, i + 1 + shape.nodes), groups);
    }
    if (this.cells.count !== count)
      throw this.reader.error(`the blocks have ${this.cells.count} elements, but $Elements announces ${count}.`);
  }

  /** Numbers at nodes or in elements; those that are not given are NaN. */
  private readData(section: 'NodeData' | 'ElementData'): void {
    const {reader} = this;
    const texts = Array.from({length: reader.count('the number of texts')}, () => reader.filledLine() ?? '');
    reader.numbers(reader.count('the number of reals'), 'a time');
    const integers = reader.numbers(reader.count('the number of integers'), 'an integer');
    const [step, components, count] = integers;
    if (!(components >= 1) || !(count >= 0)) throw reader.error(`$${section} must say how many numbers it has.`);
    if (this.isBinary) reader.line();
    const rows = Array.from({length: count}, (): [number, Float64Array] => [
      this.value('i32', 'a number of a node or an element'),
      this.values('f64', components, 'a value'),
    ]);
    const label = (texts[0] ?? section).replace(/^"|"$/g, '');
    const fields = this.fields[section];
    const name = Object.hasOwn(fields, label) ? `${label} ${step}` : label;
    if (Object.hasOwn(fields, name)) throw reader.error(`there are two fields ${shown(name)} of $${section}.`);
    const error = (number: number): DataError =>
      reader.error(`$${section} ${shown(name)} is about ${number}, which does not exist.`);
    const field = {values: new Float64Array(), components};
    fields[name] = field;
    this.data.push(() => {
      const places = section === 'NodeData' ? this.nodePlaces : this.elementPlaces;
      field.values = new Float64Array(places.size * components).fill(NaN);
      for (const [number, values] of rows) {
        const place = places.get(number);
        if (place === undefined) throw error(number);
        field.values.set(values, place * components);
      }
    });
  }
}
