/** Surfaces in space from .obj and .stl files. */
import {shown} from '../../../lib/checks.js';
import {coincident} from '../transform.js';
import type {ByteReader} from './byte-reader.js';
import {FileCells, type FileGroup, type FileMesh} from './file-mesh.js';

/**
 * Wavefront .obj: vertices, lines, faces with three corners as tri3, with four as quad4, with more as tri3 around the
 * first corner. Groups and objects become sets; textures, normals and materials are passed over.
 * @throws DataError with the line
 */
export function readObj(reader: ByteReader): FileMesh {
  const points: number[] = [];
  const cells = new FileCells();
  const groups = new Map<string, number[]>();
  let current: string[] = [];
  const add = (type: 'line2' | 'tri3' | 'quad4', nodes: readonly number[]): void => {
    const cell = cells.add(type, nodes);
    for (const name of current) groups.set(name, [...(groups.get(name) ?? []), cell]);
  };
  const nodesIn = (words: readonly string[]): number[] =>
    words.map(word => {
      const number = Number(word.split('/')[0]);
      const node = number < 0 ? points.length / 3 + number : number - 1;
      if (!Number.isInteger(number) || number === 0 || node < 0 || node >= points.length / 3)
        throw reader.error(`${shown(word)} names no vertex; there are ${points.length / 3} before this line.`);
      return node;
    });
  while (!reader.done) {
    let line = reader.line();
    while (line.endsWith('\\') && !reader.done) line = `${line.slice(0, -1)} ${reader.line()}`;
    const [keyword, ...words] = line.replace(/#.*$/, '').trim().split(/\s+/);
    if (keyword === 'v') {
      const x = words.slice(0, 3).map(Number);
      if (x.length < 3 || !x.every(Number.isFinite)) throw reader.error('a vertex needs three finite coordinates.');
      points.push(...x);
    } else if (keyword === 'f') {
      const nodes = nodesIn(words);
      if (nodes.length < 3) throw reader.error(`a face needs three vertices at least, not ${nodes.length}.`);
      if (nodes.length <= 4) add(nodes.length === 3 ? 'tri3' : 'quad4', nodes);
      else for (let i = 1; i + 1 < nodes.length; i++) add('tri3', [nodes[0], nodes[i], nodes[i + 1]]);
    } else if (keyword === 'l') {
      const nodes = nodesIn(words);
      nodes.slice(1).forEach((node, i) => add('line2', [nodes[i], node]));
    } else if (keyword === 'g' || keyword === 'o') current = words;
  }
  if (cells.count === 0) throw reader.error('the file has no face.');
  const named = Array.from(groups, ([name, list]): FileGroup => ({name, cells: list}));
  return {points: Float64Array.from(points), cells, groups: named};
}

/**
 * Stereolithography .stl, as text or binary. Corners at equal coordinates become one node; triangles two of whose
 * corners are one node, which cover nothing, are left out.
 * @throws DataError with the line, or the byte of a binary file
 */
export function readStl(reader: ByteReader): FileMesh {
  const corners = isBinaryStl(reader.bytes) ? binaryCorners(reader) : textCorners(reader);
  if (corners.length === 0) throw reader.error('the file has no triangle.');
  const nodes = coincident(corners, 3, 0);
  const points: number[] = [];
  nodes.forEach((node, corner) => {
    if (node * 3 === points.length) points.push(...corners.subarray(3 * corner, 3 * corner + 3));
  });
  const cells = new FileCells();
  for (let i = 0; i < nodes.length; i += 3) {
    const [a, b, c] = nodes.subarray(i, i + 3);
    if (a !== b && b !== c && c !== a) cells.add('tri3', [a, b, c]);
  }
  return {points: Float64Array.from(points), cells};
}

/** Whether the length is that of a binary file: 80 bytes of text, a count, 50 bytes for each triangle. */
export const isBinaryStl = (bytes: Uint8Array): boolean =>
  bytes.length >= 84
  && bytes.length === 84 + 50 * new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(80, true);

function binaryCorners(reader: ByteReader): Float64Array {
  reader.take(80, 'the header');
  const [count] = reader.binary('u32', 1, true, 'the number of triangles');
  const corners = new Float64Array(9 * count);
  for (let i = 0; i < count; i++) {
    corners.set(reader.binary('f32', 12, true, 'a triangle').subarray(3), 9 * i);
    reader.take(2, "a triangle's attribute");
  }
  const wrong = corners.findIndex(x => !Number.isFinite(x));
  if (wrong >= 0) throw reader.error(`triangle ${Math.floor(wrong / 9)} has a corner at ${corners[wrong]}.`);
  return corners;
}

function textCorners(reader: ByteReader): Float64Array {
  if (!/^\s*solid\b/i.test(new TextDecoder().decode(reader.bytes.subarray(0, 100))))
    throw reader.error(
      "the file neither begins with 'solid' nor has the length that its count of triangles gives. Is it cut short?",
    );
  const corners: number[] = [];
  let ended = false;
  let inFacet = 0;
  for (let line = reader.filledLine(); line !== undefined; line = reader.filledLine()) {
    const [keyword, ...words] = line.toLowerCase().split(/\s+/);
    if (keyword === 'vertex') {
      const x = words.map(Number);
      if (x.length !== 3 || !x.every(Number.isFinite)) throw reader.error('a vertex needs three finite coordinates.');
      corners.push(...x);
      inFacet++;
    } else if (keyword === 'endfacet') {
      if (inFacet !== 3) throw reader.error(`a facet must have three vertices, not ${inFacet}.`);
      inFacet = 0;
    } else if (keyword === 'endsolid') ended = true;
  }
  if (!ended) throw reader.error("the file ends without 'endsolid'. Is it cut short?");
  return Float64Array.from(corners);
}
