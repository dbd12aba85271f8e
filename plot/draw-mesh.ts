/**
 * A mesh as a picture: its facets in the colours of a field, by an orthographic camera in space, from far to near
 * (the painter's algorithm; Newell, Newell & Sancha, Proc. ACM Annual Conf. 1972, without their splitting).
 */
import {
  boolean,
  finite,
  nested,
  numbers,
  optional,
  positive,
  readOptions,
  text,
  typed,
  type Options,
} from '../lib/checks.js';
import type {Mesh} from '../fem/internal.js';
import {OptionError} from '../lib/index.js';
import {markup, verbatim, type Markup} from '../lib/markup.js';
import {chartStyle, numberText} from '../training/internal.js';
import {lookOptions} from './charts.js';
import {
  barOf,
  px,
  BAR_HEIGHT,
  camera,
  colorBar,
  lightOn,
  lit,
  normalOf,
  painted,
  palette,
  PLAIN,
  scaleWords,
  SHADES,
  shadeOf,
  TILT,
  TURN,
  type Seen,
} from './shading.js';
import {outlineOf, surfaceOf, type MeshSurface} from './surface.js';

export const fieldOptions = {
  /** Name of the field at the colour bar: 'von Mises stress'. */
  name: text,
  unit: optional(text),
  /** Values of the lowest and the highest colour; default those of the field. */
  range: optional(typed<readonly [number, number]>(numbers)),
};

const drawMeshOptions = {
  ...lookOptions,
  /** Displacements of all nodes, [nodes, axes] row-major. */
  displacement: optional(numbers),
  /** Displacements are drawn so many times as large; default 1. */
  scale: optional(positive, 1),
  /** Colours: `values` has one number for each node or cell; NaN is drawn without colour. */
  field: optional(nested({values: numbers, ...fieldOptions}, 'bad-option')),
  /** Edges of cells; default for up to 800 facets. */
  edges: optional(boolean),
  /** The outline of the undeformed mesh; default if there are displacements. */
  outline: optional(boolean),
  /** In space, angle of the camera about z, radians; default −0.6. */
  turn: optional(finite, TURN),
  /** In space, angle of the camera above the horizon, radians; default 0.35. */
  tilt: optional(finite, TILT),
};

/** Options of `drawMesh`. @interface */
export type DrawMeshOptions = Options<typeof drawMeshOptions>;

/** Beyond so many facets edges would hide the colours of a picture of common size: 800 are 20 pixels wide each. */
const EDGED = 800;
/** Flat pieces of quadratic cells in all: as many as there are of 8 pixels a side in a picture of common size. */
const PIECES = 4000;
const [MARGIN, TOP, LINE] = [14, 24, 18];

const style = `${chartStyle}
.mesh path { fill: currentColor; stroke: currentColor; stroke-width: .5; stroke-linejoin: round; }
.mesh .lines path { fill: none; stroke-width: 3; stroke-linecap: round; }
.mesh .edges { fill: none; stroke: #000; stroke-opacity: .4; }
.mesh .outline { fill: none; stroke: var(--soft); stroke-width: 1; }`;

/**
 * A mesh or a body, deformed and in the colours of a field: the facets of a solid, the cells of a sheet or of a body in
 * the plane, or lines. Curved cells are curved, and colours follow a nodal field within cells.
 * @param body a mesh, or a body, whose mesh it takes
 * @returns SVG
 * @throws OptionError 'bad-option', 'bad-plot' where displacements or a field do not fit the mesh
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {loads, materials, plateWithHole, solid, supports} from 'stiffgrad/fem';
 * import {drawMesh} from 'stiffgrad/plot';
 *
 * const plate = solid({
 *   mesh: plateWithHole([2, 2], 0.25, [6, 4], {quarter: true, cell: 'quad8'}),
 *   material: materials.linearElastic({E: 1000, nu: 0.3}),
 *   density: 1,
 *   supports: [supports.held('left', ['x']), supports.held('bottom', ['y'])],
 *   loads: [loads.traction('right', [10, 0])],
 * });
 * const q = equilibrium(plate, {q: plate.start.q}).values('q');
 * const picture = drawMesh(plate, {
 *   displacement: plate.evaluate(plate.displacement, {q}),
 *   scale: 10,
 *   field: {values: plate.evaluate(at => plate.stress('vonMises', at), {q}), name: 'von Mises stress', unit: 'Pa'},
 * });
 * console.log(picture); // → <svg class="chart mesh"…
 * ```
 */
export function drawMesh(body: Mesh | {readonly mesh: Mesh}, options: DrawMeshOptions = {}): string {
  const given = readOptions(options, drawMeshOptions, 'drawMesh', 'bad-option');
  const mesh = 'mesh' in body ? body.mesh : body;
  const surface = surfaceOf(mesh, (facets, order) =>
    order === 1 ? 1 : Math.min(4, Math.max(2, Math.floor(Math.sqrt(PIECES / facets)))),
  );
  const {displacement, field, scale, theme = 'auto', width = 560} = given;
  const coordinates = mesh.points.length;
  if (displacement !== undefined && displacement.length !== coordinates)
    throw new OptionError(
      'bad-plot',
      `drawMesh: displacement has ${displacement.length} numbers; the mesh's ${coordinates / mesh.dimension} nodes `
        + `need ${coordinates}.`,
    );
  const view = mesh.dimension === 3 ? camera(given.turn, given.tilt) : (x: number, y: number): Seen => [x, y, 0];
  const seen = (points: ArrayLike<number>): Seen[] => {
    const at = surface.sampled(points, mesh.dimension);
    const axis = (s: number, k: number): number => (k < mesh.dimension ? at[s * mesh.dimension + k] : 0);
    return Array.from({length: surface.samples}, (_, s) => view(axis(s, 0), axis(s, 1), axis(s, 2)));
  };
  const moved = displacement === undefined ? mesh.points : mesh.points.map((x, i) => x + scale * displacement[i]);
  const places = seen(moved);
  const isOutlined = given.outline ?? displacement !== undefined;
  const before = isOutlined ? seen(mesh.points) : [];

  const {at: pixel, bottom} = layOut([...places, ...before], width, given.height ?? 420);
  const join = (samples: readonly number[], from: readonly Seen[]): string =>
    samples.map((s, i) => `${i === 0 ? 'M' : 'L'}${pixel(from[s])}`).join('');
  const outline = isOutlined
    ? outlineOf(surface, normalsOf(surface, before))
        .map(samples => join(samples, before))
        .join('')
    : '';

  const values = field === undefined ? undefined : fieldValues(field.values, mesh, surface);
  const bar = field === undefined ? undefined : barOf(field, [field.values]);
  const words = displacement === undefined ? '' : scaleWords(scale);
  const edges = given.edges ?? surface.facets.length <= EDGED;
  const drawn = facetsDrawn(surface, places, pixel, values, bar?.domain ?? [0, 1], edges);
  const height = Math.round(bottom + (words === '' ? 0 : LINE) + (bar === undefined ? 6 : BAR_HEIGHT));
  const title = given.title ?? (field === undefined ? 'Mesh' : field.name);
  const unit = field?.unit === undefined ? '' : ` (${field.unit})`;
  const description =
    given.description
    ?? [
      `${surface.facets.length} facets, ${coordinates / mesh.dimension} nodes.`,
      words === '' ? '' : `${words}.`,
      bar === undefined ? '' : `${field!.name}${unit} from ${bar.domain.map(value => numberText(value)).join(' to ')}.`,
    ]
      .filter(sentence => sentence !== '')
      .join(' ');
  const name = `chart mesh${theme === 'auto' ? '' : ` ${theme}`}`;
  const size = markup`viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const kind = surface.dimension === 1 ? markup` class="lines"` : undefined;
  const caption = markup`<text class="tick" x="${MARGIN}" y="${px(bottom + 14)}">${words}</text>`;
  return String(
    markup`<svg class="${name}" xmlns="http://www.w3.org/2000/svg" ${size} role="img"><title>${title}</title>
<desc>${description}</desc><style>${verbatim(style)}</style><text class="heading" x="${MARGIN}" y="15">${title}</text>
${outline === '' ? '' : markup`<path class="outline" d="${outline}"/>`}<g${kind}>${drawn}</g>
${words === '' ? '' : caption}${bar === undefined ? '' : colorBar(bar, width, height - BAR_HEIGHT + 4)}</svg>`,
  );
}

/** What is seen, as large as the picture allows, in its middle. */
function layOut(
  places: readonly Seen[],
  width: number,
  most: number,
): {readonly at: (place: Seen) => string; readonly bottom: number} {
  const [left, low, right, high] = places.reduce(
    ([a, b, c, d], [x, y]) => [Math.min(a, x), Math.min(b, y), Math.max(c, x), Math.max(d, y)],
    [Infinity, Infinity, -Infinity, -Infinity],
  );
  const room = [width - 2 * MARGIN, most];
  const scale = Math.min(room[0] / Math.max(right - left, 1e-300), room[1] / Math.max(high - low, 1e-300));
  const bottom = TOP + (high - low) * scale + 8;
  const indent = (width - (right - left) * scale) / 2;
  return {
    bottom,
    at: ([x, y]) => `${px(indent + (x - left) * scale)} ${px(TOP + 4 + (high - y) * scale)}`,
  };
}

/** Values by samples, or by facets where the field has one number for each cell. */
function fieldValues(
  values: ArrayLike<number>,
  mesh: Mesh,
  surface: MeshSurface,
): {readonly samples?: Float64Array; readonly facets?: Float64Array} {
  const nodes = mesh.points.length / mesh.dimension;
  if (values.length === nodes) return {samples: surface.sampled(values, 1)};
  const cells = 1 + surface.facets.reduce((most, {cell}) => Math.max(most, cell), 0);
  // A body's cells come first, so that its field may leave out those of its boundary.
  if (values.length >= cells) return {facets: Float64Array.from(surface.facets, ({cell}) => values[cell])};
  throw new OptionError(
    'bad-plot',
    `drawMesh: field.values has ${values.length} numbers; give one for each of ${nodes} nodes, or one for each cell.`,
  );
}

const normalsOf = ({facets}: MeshSurface, places: readonly Seen[]): Seen[] =>
  facets.map(({sides}) => normalOf(sides.map(({samples}) => places[samples[0]])));

/** A part of a piece in one colour. */
interface Patch {
  readonly corners: readonly Seen[];
  readonly shade: number;
}

/** Pieces, and their edges: in the plane all of one colour together, in space facet by facet from far to near. */
function facetsDrawn(
  surface: MeshSurface,
  places: readonly Seen[],
  pixel: (place: Seen) => string,
  values: ReturnType<typeof fieldValues> | undefined,
  range: readonly [number, number],
  edges: boolean,
): (Markup | undefined)[] {
  const isFlat = places.every(([, , away]) => away === 0);
  const outlineOfPatch = (corners: readonly Seen[]): string =>
    `M${corners.map(pixel).join('L')}${corners.length > 2 ? 'z' : ''}`;
  const patchesOf = (piece: readonly number[], f: number): Patch[] => {
    const corners = piece.map(s => places[s]);
    if (values === undefined) return [{corners, shade: -1}];
    if (values.facets !== undefined)
      return Number.isFinite(values.facets[f]) ? [{corners, shade: shadeOf(values.facets[f], range)}] : [];
    return banded(corners, piece.map(s => values.samples![s]), range); // prettier-ignore
  };
  const edgesOf = (f: number): string =>
    surface.facets[f].sides.map(({samples}) => `M${samples.map(s => pixel(places[s])).join('L')}`).join('');
  const edgePath = (of: readonly number[]): Markup | undefined =>
    edges && surface.dimension > 1 ? markup`<path class="edges" d="${of.map(edgesOf).join('')}"/>` : undefined;
  const polygonsOf = (f: number): {readonly color: string; readonly d: string}[] =>
    surface.facets[f].pieces.flatMap(piece => {
      const corners = piece.map(s => places[s]);
      // The far side of a solid is hidden by its near side.
      if (!isFlat && surface.dimension === 3 && normalOf(corners)[2] >= 0) return [];
      const light = isFlat ? 1 : lightOn(corners);
      return patchesOf(piece, f).map(patch => ({
        color: lit(palette[patch.shade] ?? PLAIN, light),
        d: outlineOfPatch(patch.corners),
      }));
    });
  const all = surface.facets.map((_, f) => f);
  if (isFlat) return [...painted(all.flatMap(polygonsOf)), edgePath(all)];
  const away = surface.facets.map(({pieces}) => {
    const samples = pieces.flat();
    return samples.reduce((sum, s) => sum + places[s][2], 0) / samples.length;
  });
  return all
    .sort((a, b) => away[b] - away[a])
    .flatMap(f => {
      const polygons = polygonsOf(f);
      return polygons.length > 0 ? [...painted(polygons), edgePath([f])] : [];
    });
}

/** A piece cut along the borders of shades, between which values are linear along its edges. */
function banded(corners: readonly Seen[], values: readonly number[], range: readonly [number, number]): Patch[] {
  if (values.some(value => !Number.isFinite(value))) return [];
  const shades = values.map(value => shadeOf(value, range));
  if (corners.length < 3) return [{corners, shade: shadeOf((values[0] + values[1]) / 2, range)}];
  if (shades.every(shade => shade === shades[0])) return [{corners, shade: shades[0]}];
  const [low, high] = range;
  const border = (shade: number): number => low + ((high - low) * shade) / SHADES;
  const found: Patch[] = [];
  for (let shade = Math.min(...shades); shade <= Math.max(...shades); shade++) {
    let part = corners.map((corner, i) => ({corner, value: values[i]}));
    // The lowest and the highest shade also have what is beyond the range.
    if (shade > 0) part = cut(part, border(shade), 1);
    if (shade < SHADES - 1) part = cut(part, border(shade + 1), -1);
    if (part.length > 2) found.push({corners: part.map(({corner}) => corner), shade});
  }
  return found;
}

type ValuedCorner = {readonly corner: Seen; readonly value: number};

/** The part of a convex polygon whose values are at least `border` (side 1) or at most that (side −1). */
function cut(polygon: readonly ValuedCorner[], border: number, side: 1 | -1): ValuedCorner[] {
  return polygon.flatMap((a, i) => {
    const b = polygon[(i + 1) % polygon.length];
    const [da, db] = [side * (a.value - border), side * (b.value - border)];
    const kept = da >= 0 ? [a] : [];
    if (da * db >= 0) return kept;
    const share = da / (da - db);
    const between = (k: 0 | 1 | 2): number => a.corner[k] + share * (b.corner[k] - a.corner[k]);
    return [...kept, {corner: [between(0), between(1), between(2)] as const, value: border}];
  });
}
