/** Meshes from files: which format a file has, and where its bytes come from. */
import {nodeFs} from '../../../lib/builtin.js';
import {oneOf, optional, oneOfNumbers, readOptions, shown, type Options} from '../../../lib/checks.js';
import {DataError, OptionError} from '../../../lib/errors.js';
import type {Mesh} from '../mesh.js';
import {ByteReader} from './byte-reader.js';
import {meshOfFile, type FileMesh} from './file-mesh.js';
import {readGmsh} from './gmsh.js';
import {isBinaryStl, readObj, readStl} from './surfaces.js';
import {readVtkLegacy} from './vtk-legacy.js';
import {readVtu} from './vtu.js';

const readers = {
  gmsh: readGmsh,
  vtk: readVtkLegacy,
  vtu: readVtu,
  obj: readObj,
  stl: readStl,
} satisfies {readonly [format: string]: (reader: ByteReader) => FileMesh};

type Format = keyof typeof readers;

const readMeshOptions = {
  /** Default: what the contents say, then the file's ending. */
  format: optional(oneOf<Format>('gmsh', 'vtk', 'vtu', 'obj', 'stl')),
  /**
   * How many coordinates points get. Default: 2 where z is 0 everywhere and there are no solid cells, otherwise 3;
   * always 3 for .obj and .stl.
   */
  dimension: optional(oneOfNumbers<2 | 3>(2, 3)),
  /**
   * 'check' (default) leaves out points that belong to no cell and refuses cells that are inverted or degenerate;
   * 'orient' turns inverted cells around first; 'keep' takes points and cells as they are.
   */
  cells: optional(oneOf('check', 'orient', 'keep'), 'check'),
};

/** Options of `readMesh`. */
export type ReadMeshOptions = Options<typeof readMeshOptions>;

/**
 * Reads a mesh: Gmsh .msh 2.2 and 4.1, VTK legacy .vtk, .vtu, .obj or .stl, as text or binary.
 *
 * Named groups of the file (Gmsh's physical groups; groups of .obj) become cell sets and node sets, those on the
 * boundary of the body also facet sets; a group without a name has its number. Data at points and in cells become
 * fields. Nodes of quadratic cells are put in VTK's order.
 * @param source a path, in Node only; the file's bytes; or its text, which has more than one line
 * @throws DataError 'bad-mesh-file' with the line or the byte: a file that is cut short, has wrong counts, cells that
 *   are not supported, or text where a number must be; 'mesh-unreadable' where there is no such file
 * @throws OptionError 'bad-mesh' where cells are inverted or degenerate
 */
export async function readMesh(
  source: string | Uint8Array | ArrayBuffer | Blob,
  options: ReadMeshOptions = {},
): Promise<Mesh> {
  const given = readOptions(options, readMeshOptions, 'readMesh');
  const {bytes, file} = await bytesOf(source);
  const format = given.format ?? formatOf(bytes, file);
  const mesh = readers[format](new ByteReader(bytes, file));
  const dimension = given.dimension ?? (format === 'obj' || format === 'stl' ? 3 : undefined);
  try {
    return meshOfFile(mesh, dimension, given.cells);
  } catch (error) {
    if (!(error instanceof OptionError) || given.cells !== 'check') throw error;
    const hint = /is inverted/.test(error.message) ? " {cells: 'orient'} turns such cells around." : '';
    throw new OptionError(error.code, `${file}: ${error.message}${hint}`, {...error.data, file});
  }
}

async function bytesOf(source: string | Uint8Array | ArrayBuffer | Blob): Promise<{bytes: Uint8Array; file: string}> {
  if (source instanceof Uint8Array) return {bytes: source, file: 'the mesh'};
  if (source instanceof ArrayBuffer) return {bytes: new Uint8Array(source), file: 'the mesh'};
  if (typeof Blob !== 'undefined' && source instanceof Blob)
    return {bytes: new Uint8Array(await source.arrayBuffer()), file: 'the mesh'};
  if (typeof source !== 'string')
    throw new OptionError('bad-option', `readMesh takes a path, bytes or text, not ${shown(source)}.`);
  if (source.includes('\n')) return {bytes: new TextEncoder().encode(source), file: 'the mesh'};
  if (nodeFs === undefined)
    throw new DataError('mesh-unreadable', `${source} cannot be read here: pass the file's bytes, not its path.`, {
      file: source,
    });
  try {
    return {bytes: await nodeFs.promises.readFile(source), file: source};
  } catch (cause) {
    const error = new DataError('mesh-unreadable', `${source} cannot be read: ${(cause as Error).message}.`, {
      file: source,
    });
    error.cause = cause;
    throw error;
  }
}

function formatOf(bytes: Uint8Array, file: string): Format {
  const start = new TextDecoder().decode(bytes.subarray(0, 1000)).trimStart();
  if (start.startsWith('$')) return 'gmsh';
  if (/^# vtk DataFile/i.test(start)) return 'vtk';
  if (/^(<\?xml|<VTKFile|<!--)/.test(start)) return 'vtu';
  const [, ending] = /\.(\w+)$/.exec(file.toLowerCase()) ?? [];
  if (ending === 'obj' || ending === 'stl') return ending;
  if (isBinaryStl(bytes) || /^solid\b/i.test(start)) return 'stl';
  if (/^(#.*\s+)*(v|o|g|mtllib|usemtl|vn|vt)\s/.test(start)) return 'obj';
  throw new DataError(
    'bad-mesh-file',
    `${file}: this is no file of Gmsh, VTK, .obj or .stl. If it is, name its format: readMesh(…, {format: 'stl'}).`,
    {file},
  );
}
