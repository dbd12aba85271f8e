/** Triangulated polygons: area, holes, every piece of a side an edge of the boundary, angles. */
import {expect} from 'chai';
import fc from 'fast-check';
import {boundary, polygon, type Mesh} from '../../../fem/index.js';
import {facetNodes} from '../../../fem/mesh/topology.js';
import {requireGoodCells, requireReferencedNodes} from '../../../fem/mesh/quality.js';
import {eulerCharacteristic, volume} from './measure.js';
import {runs} from '../../property.js';

type Point = readonly [number, number];
const square = (from: number, to: number): Point[] => [[from, from], [to, from], [to, to], [from, to]]; // prettier-ignore
const ngon = (n: number, radius: number, centre: Point = [0, 0]): Point[] =>
  Array.from({length: n}, (_, i) => [
    centre[0] + radius * Math.cos((2 * Math.PI * i) / n),
    centre[1] + radius * Math.sin((2 * Math.PI * i) / n),
  ]);

/** The least angle of all triangles, in degrees. */
function leastAngle({points, cells}: Mesh): number {
  let least = 180;
  const rows = cells.tri3!;
  for (let i = 0; i < rows.length; i++) {
    const at = (k: number): Point => {
      const node = rows[i - (i % 3) + ((i + k) % 3)];
      return [points[2 * node], points[2 * node + 1]];
    };
    const [a, b, c] = [at(0), at(1), at(2)];
    const u = Math.atan2(b[1] - a[1], b[0] - a[0]);
    const v = Math.atan2(c[1] - a[1], c[0] - a[0]);
    least = Math.min(least, ((v - u + 2 * Math.PI) % (2 * Math.PI)) * (180 / Math.PI));
  }
  return least;
}

function requireSound(mesh: Mesh, area: number, holes: number): void {
  requireReferencedNodes(mesh);
  requireGoodCells(mesh);
  expect(volume(mesh)).to.be.closeTo(area, 1e-12 * area);
  expect(eulerCharacteristic(mesh)).to.equal(1 - holes);
  const named = Object.values(mesh.sets.facets).reduce((sum, {line2, line3}) => sum + (line2 ?? line3)!.length, 0);
  const {line2, line3} = boundary(mesh);
  expect(named).to.equal((line2 ?? line3)!.length);
}

describe('polygon', () => {
  it('fills a square, its sides named by their first corner', () => {
    const mesh = polygon(square(0, 1), {h: 0.1});
    requireSound(mesh, 1, 0);
    expect(leastAngle(mesh)).to.be.above(30);
    expect(mesh.sets.nodes.side2).to.have.length(11);
    for (const node of mesh.sets.nodes.side2) expect(mesh.points[2 * node + 1]).to.equal(1);
  });

  it('names sides alike for an outline in the other direction', () => {
    const mesh = polygon(square(0, 1).reverse(), {h: 0.25});
    requireSound(mesh, 1, 0);
    for (const node of mesh.sets.nodes.side0) expect(mesh.points[2 * node + 1]).to.equal(1);
  });

  it('leaves holes out', () => {
    const holes = [ngon(24, 0.3, [-0.4, 0]), square(0.2, 0.6)];
    const mesh = polygon(square(-1, 1), {h: 0.12, holes});
    const area24 = 12 * Math.sin(Math.PI / 12) * 0.09;
    requireSound(mesh, 4 - area24 - 0.16, 2);
    expect(leastAngle(mesh)).to.be.above(22);
    expect(facetNodes(mesh.sets.facets.hole0)).to.deep.equal(mesh.sets.nodes.hole0);
    requireSound(polygon(square(-1, 1), {h: 0.3, holes, cell: 'tri6'}), 4 - area24 - 0.16, 2);
  });

  it('keeps the sides of a gap far below the size of elements', () => {
    const slit: Point[] = [[0, 0], [4, 0], [4, 2], [2.01, 2], [2, 0.5], [1.99, 2], [0, 2]]; // prettier-ignore
    requireSound(polygon(slit, {h: 0.5}), 8 - 0.02 * 0.75, 0);
    const thin: Point[] = [[0, 0], [3, 0], [3, 0.01], [0, 0.01]]; // prettier-ignore
    requireSound(polygon(thin, {h: 1}), 0.03, 0);
  });

  it('fills any star', () => {
    fc.assert(
      fc.property(fc.array(fc.double({min: 0.2, max: 1, noNaN: true}), {minLength: 3, maxLength: 12}), radii => {
        const corners = ngon(radii.length, 1).map(([x, y], i): Point => [x * radii[i], y * radii[i]]);
        const area = radii.reduce((sum, r, i) => sum + r * radii[(i + 1) % radii.length], 0);
        requireSound(polygon(corners, {h: 0.2}), (area / 2) * Math.sin((2 * Math.PI) / radii.length), 0);
      }),
      runs(20),
    );
  });

  it('refuses outlines that cross, and holes outside', () => {
    const bow: Point[] = [[0, 0], [1, 1], [1, 0], [0, 1]]; // prettier-ignore
    expect(() => polygon(bow, {h: 0.1})).to.throw('side 0 of the outline crosses or touches side 2 of the outline');
    expect(() => polygon(square(0, 1), {h: 0.1, holes: [square(2, 3)]})).to.throw('holes[0] lies outside');
    expect(() => polygon(square(0, 1), {h: 0.1, holes: [square(0.5, 1.5)]})).to.throw('crosses or touches');
    expect(() => polygon([[0, 0], [1, 0]], {h: 1})).to.throw('needs at least 3 corners'); // prettier-ignore
    expect(() => polygon(square(0, 1), {h: 0})).to.throw('polygon: h must be a positive number');
    expect(() => polygon([[0, 0], [0, 0], [1, 1]], {h: 1})).to.throw('corners 0 and 1 of the outline'); // prettier-ignore
  });
});
