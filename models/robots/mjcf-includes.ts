/** Files that an MJCF file includes: the elements of each stand in the place of its <include>. */
import {readXml, type ParsedElement, type FileReader} from './xml.js';

/** A path without '.', and without '..' where a folder precedes it. */
const plain = (path: string): string =>
  path
    .split(/[\\/]/)
    .reduce<string[]>((parts, part) => {
      if (part === '.' || (part === '' && parts.length > 0)) return parts;
      const up = part === '..' && parts.length > 0 && parts[parts.length - 1] !== '..';
      return up ? parts.slice(0, -1) : [...parts, part];
    }, [])
    .join('/');

/**
 * The element with all files included. As MuJoCo does, a path is sought from the folder of the main file first, then
 * from that of the file that includes it, and no file is included twice. A file that is not given is told as
 * unsupported.
 * @throws DataError 'bad-xml', 'bad-model-file'
 */
export function included(
  root: ParsedElement,
  given: {readonly [path: string]: string},
  reader: FileReader,
): ParsedElement {
  const texts = new Map(Object.entries(given).map(([path, text]) => [plain(path), text]));
  const done = new Set<string>();
  const expand = (element: ParsedElement, folder: string): ParsedElement => ({
    ...element,
    children: element.children.flatMap(child =>
      child.tag === 'include' ? from(child, folder) : expand(child, folder),
    ),
  });
  const from = (include: ParsedElement, folder: string): readonly ParsedElement[] => {
    reader.expect(include, 'file');
    const file = reader.required(include, 'file');
    const path = [plain(file), plain(`${folder}${file}`)].find(one => texts.has(one));
    if (path === undefined) {
      reader.unsupported(
        include,
        `<include file="${file}">, whose text is not given: pass files: {'${plain(file)}': text}`,
      );
      return [];
    }
    if (done.has(path)) reader.fail(include, `file ${path} is included twice.`);
    done.add(path);
    return expand(readXml(texts.get(path) as string, path), path.slice(0, path.lastIndexOf('/') + 1)).children;
  };
  return expand(root, '');
}
