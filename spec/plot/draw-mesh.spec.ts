/** Pictures of meshes: where points land, the colours of known values, what is hidden, and what is refused. */
import {expect} from 'chai';
import {box, cylinder, meshOf, plateWithHole} from '../../fem/index.js';
import {OptionError} from '../../lib/index.js';
import {drawMesh} from '../../plot/index.js';
import {elementsOf} from '../training/well-formed.js';

type Point = readonly [number, number];

/** Polygons of a path's data. */
const polygons = (d: string): Point[][] =>
  d
    .split('M')
    .slice(1)
    .map(part => part.replace('z', '').split('L').map(pair => pair.split(' ').map(Number) as unknown as Point)); // prettier-ignore
const areaOf = (corners: readonly Point[]): number =>
  corners.reduce((sum, [x, y], i) => {
    const [u, v] = corners[(i + 1) % corners.length];
    return sum + (x * v - u * y) / 2;
  }, 0);
/** The body's paths by colour, without those of the colour bar. */
const painted = (svg: string): {color: string; areas: number[]; corners: Point[]}[] =>
  [...svg.matchAll(/<path color="(#\w+)" d="([^"]*)"/g)].map(([, color, d]) => ({
    color,
    areas: polygons(d).map(areaOf),
    corners: polygons(d).flat(),
  }));
const totalArea = (svg: string): number =>
  painted(svg).reduce((sum, {areas}) => sum + areas.reduce((a, b) => a + Math.abs(b), 0), 0);
const pathOf = (svg: string, name: string): string =>
  new RegExp(`<path class="${name}" d="([^"]*)"`).exec(svg)?.[1] ?? '';
/** Coordinates have one decimal. */
const rounding = 0.06;

describe('pictures of meshes', () => {
  it('are well-formed, and say what they show', () => {
    const mesh = plateWithHole([2, 2], 0.5, [2, 2], {quarter: true, cell: 'quad8'});
    const nodes = mesh.points.length / 2;
    const svg = drawMesh(mesh, {
      displacement: mesh.points,
      scale: 0.5,
      field: {values: Array.from({length: nodes}, (_, i) => i), name: 'T < 1', unit: 'K'},
      theme: 'dark',
    });
    expect(elementsOf(svg).slice(0, 3)).to.deep.equal(['svg', 'title', 'desc']);
    expect(svg).to.match(/^<svg class="chart mesh dark"/);
    expect(svg).to.contain('Displacements × 0.5');
    expect(svg).to.contain(`<desc>8 facets, ${nodes} nodes. Displacements × 0.5. T &lt; 1 (K) from 0 to ${nodes - 1}.`);
  });

  it('places points to scale, with displacements as many times as large', () => {
    const mesh = box([2, 1], [1, 1]);
    // The upper corners move to the right by 0.5, drawn as 2: from 0 to 4 in 560 − 28 pixels.
    const displacement = Array.from(mesh.points, (_, i) => (i % 2 === 0 ? 0.5 * mesh.points[i + 1] : 0));
    const svg = drawMesh(mesh, {displacement, scale: 4});
    const [low, high] = [28 + 133, 28];
    const corners = polygons(pathOf(svg, 'edges')).flat();
    for (const wanted of [
      [14, low],
      [280, low],
      [546, high],
      [280, high],
    ] as const)
      // prettier-ignore
      expect(corners.some(([x, y]) => Math.hypot(x - wanted[0], y - wanted[1]) < rounding), wanted.join()).to.equal(true);
    // Undeformed, 2 × 1 at the same place.
    expect(Math.abs(polygons(pathOf(svg, 'outline')).flat().reduce((most, [x]) => Math.max(most, x), 0) - 280)) // prettier-ignore
      .to.be.below(rounding);
  });

  it('gives values their colours, and the colour bar their numbers', () => {
    const mesh = box([2, 1], [2, 1]);
    const svg = drawMesh(mesh, {field: {values: [0, 10], name: 'stress', unit: 'MPa'}});
    // The ends of Cividis.
    expect(painted(svg).map(({color}) => color)).to.deep.equal(['#00224e', '#fee838']);
    const [left, right] = painted(svg).map(({corners}) => corners.map(([x]) => x));
    expect(Math.max(...left)).to.be.closeTo(280, rounding);
    expect(Math.min(...right)).to.be.closeTo(280, rounding);
    const ticks = [...svg.matchAll(/<text class="tick" x="([\d.]+)"[^>]*>([^<]*)</g)].map(([, x, label]) => [
      Number(x),
      label,
    ]);
    expect(ticks).to.deep.equal([0, 2, 4, 6, 8, 10].map(value => [34 + 30 * value, String(value)]));
    expect(svg).to.contain('>stress (MPa)</text>');
    // Beyond a given range values have the colours of its ends; a value that is not finite has none.
    const cut = drawMesh(mesh, {field: {values: [NaN, 10], name: 'T', range: [20, 30]}});
    expect(painted(cut).map(({color}) => color)).to.deep.equal(['#00224e']);
  });

  it('a nodal field that rises along x has bands of equal width', () => {
    for (const cell of ['quad4', 'tri3', 'quad8', 'tri6'] as const) {
      const mesh = box([2, 1], [3, 2], cell);
      const values = Array.from({length: mesh.points.length / 2}, (_, i) => 5 * mesh.points[2 * i]);
      const bands = painted(drawMesh(mesh, {field: {values, name: 'T'}})).map(({areas, corners}) => ({
        area: areas.reduce((a, b) => a + Math.abs(b), 0),
        left: Math.min(...corners.map(([x]) => x)),
      }));
      expect(bands, cell).to.have.length(32);
      bands
        .sort((a, b) => a.left - b.left)
        .forEach(({area, left}, i) => {
          expect(left, cell).to.be.closeTo(14 + (i * 532) / 32, rounding);
          expect(area, cell).to.be.closeTo((532 * 266) / 32, 266 * 2 * rounding);
        });
    }
  });

  it('in space it shows the faces towards the camera, each in its light', () => {
    const cube = box([1, 1, 1], [1, 1, 1]);
    // From the front, along y, one face is seen; from the front right and above three of the six.
    const front = drawMesh(cube, {turn: 0, tilt: 0, height: 300});
    expect(painted(front).map(({areas}) => areas.map(Math.abs))).to.deep.equal([[300 * 300]]);
    const [turn, tilt] = [-0.6, 0.35];
    const svg = drawMesh(cube, {turn, tilt, height: 300});
    expect(painted(svg)).to.have.length(3);
    // A convex body's shadow is the sum of those of its faces: |normal · view| of each.
    const view = [Math.sin(turn) * Math.cos(tilt), Math.cos(turn) * Math.cos(tilt), Math.sin(tilt)].map(Math.abs);
    const upright = Math.cos(tilt) + (Math.abs(Math.sin(turn)) + Math.cos(turn)) * Math.sin(tilt);
    const scale = 300 / upright;
    expect(totalArea(svg) / scale ** 2).to.be.closeTo(view[0] + view[1] + view[2], 1e-3);
    // The top's normal is (0, cos tilt, −sin tilt) to the camera: 0.65 + 0.35 (0.48 cos tilt + 0.8 sin tilt) of 143.
    const light = 0.65 + 0.35 * (0.48 * Math.cos(tilt) + 0.8 * Math.sin(tilt));
    expect(painted(svg).some(({color}) => parseInt(color.slice(1, 3), 16) === Math.round(143 * light))).to.equal(true);
  });

  it('near facets cover far ones', () => {
    // Two squares one behind the other, seen along y: the one in front is drawn last.
    const square = (y: number): number[][] => [[0, y, 0], [1, y, 0], [1, y, 1], [0, y, 1]]; // prettier-ignore
    const sheets = meshOf({points: [...square(0), ...square(1)], cells: {quad4: [[0, 1, 2, 3], [4, 5, 6, 7]]}}); // prettier-ignore
    const svg = drawMesh(sheets, {field: {values: [0, 1], name: 'sheet'}, turn: 0, tilt: 0});
    const reds = painted(svg).map(({color}) => parseInt(color.slice(1, 3), 16));
    expect(reds[0]).to.be.above(100); // the far one, of the highest value
    expect(reds[1]).to.equal(0);
  });

  it('outlines are the rim and sharp edges', () => {
    const count = (svg: string): number => polygons(pathOf(svg, 'outline')).length;
    expect(count(drawMesh(box([1, 1, 1], [2, 2, 2], 'tet4'), {outline: true}))).to.equal(24);
    expect(count(drawMesh(box([1, 1], [3, 3]), {outline: true}))).to.equal(12);
    // A cylinder has two circles; a circle has two nodes for each edge.
    const round = cylinder(1, 2, [4, 3], 'hex20');
    const rim = round.points.filter((z, i) => i % 3 === 2 && z === 0 && Math.abs(Math.hypot(round.points[i - 2], round.points[i - 1]) - 1) < 1e-9); // prettier-ignore
    expect(count(drawMesh(round, {outline: true}))).to.equal(rim.length);
  });

  it('fields by cells colour the facets of their cells', () => {
    const bar = box([3, 1, 1], [3, 1, 1]);
    const svg = drawMesh(bar, {field: {values: [1, 2, 3], name: 'E'}, turn: 0, tilt: 0});
    const xs = painted(svg).map(({color, corners}) => [parseInt(color.slice(5, 7), 16), Math.min(...corners.map(([x]) => x))]); // prettier-ignore
    expect(xs.map(([, x]) => Math.round(x)).sort((a, b) => a - b)).to.deep.equal([14, 191, 369]);
  });

  it('lines are lines', () => {
    const rod = meshOf({points: [[0, 0, 0], [1, 0, 0], [1, 0, 1]], cells: {line2: [[0, 1], [1, 2]]}}); // prettier-ignore
    const svg = drawMesh(rod, {field: {values: [0, 1], name: 'tension', unit: 'N'}, turn: 0, tilt: 0, height: 200});
    expect(svg).to.contain('<g class="lines">');
    const drawn = [...svg.matchAll(/<path color="(#\w+)" d="([^"]*)"/g)];
    expect(drawn.map(([, color]) => color)).to.deep.equal(['#00224e', '#fee838']);
    expect(drawn[0][2]).to.equal('M180 228L380 228');
  });

  it('refuses what does not fit the mesh', () => {
    const mesh = box([1, 1], [2, 1]);
    expect(() => drawMesh(mesh, {displacement: [1, 2]})).to.throw(OptionError, /6 nodes need 12/);
    expect(() => drawMesh(mesh, {field: {values: [1], name: 'T'}})).to.throw(OptionError, /each of 6 nodes/);
    expect(() => drawMesh(mesh, {scale: 0})).to.throw(OptionError, /scale/);
  });
});
