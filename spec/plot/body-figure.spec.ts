/** Animations of bodies: places and shades of frames, the colour bar, and what the player's script paints. */
import {runInNewContext} from 'node:vm';
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {box, materials, solid, supports} from '../../fem/index.js';
import {ShapeError, simulate, trapezoid} from '../../lib/index.js';
import {animate, bodyFigure} from '../../plot/index.js';
import {elementsOf} from '../training/well-formed.js';

/** A bar that swings along its axis, fixed at its left end. */
const bar = solid({
  mesh: box([2, 1], [2, 1]),
  material: materials.linearElastic({E: 1, nu: 0}),
  density: 1,
  supports: [supports.held('left'), supports.held(() => true, ['y'])],
});
const run = () => simulate(bar, {q: [0.1, 0.2, 0.1, 0.2], v: [0, 0, 0, 0]}, {scheme: trapezoid(), dt: 0.1, t1: 0.3});
const stretch = {
  values: (at: {q: tf.Tensor}) => tf.slice(tf.reshape(bar.displacement(at), [-1, 2]), [0, 0], [6, 1]),
  name: 'u',
  unit: 'm',
};

interface Data {
  readonly at: number[][];
  readonly faces: number[][];
  readonly shades: number[][];
  readonly box: number[];
  readonly dots: number[];
  readonly palette?: number[][];
}
const scriptOf = (html: string): string => /<script>\n([\s\S]*?)\n<\/script>/.exec(html)![1];
const dataOf = (html: string): Data => JSON.parse(/\(document\.body, (\{.*\})\);/.exec(scriptOf(html))![1]) as Data;

/** The colours with which the player's script fills its first frame, without a browser. */
function filled(html: string): string[] {
  const found: string[] = [];
  const context = {
    fillStyle: '',
    ...Object.fromEntries(
      ['setTransform', 'beginPath', 'moveTo', 'lineTo', 'closePath', 'stroke', 'arc', 'rect'].map(name => [
        name,
        () => undefined,
      ]),
    ),
    fill: () => void found.push(context.fillStyle),
  };
  const element = {clientWidth: 432, clientHeight: 332, getContext: () => context, setAttribute: () => undefined};
  const query = {matches: true, addEventListener: () => undefined};
  runInNewContext(scriptOf(html), {
    document: {body: {querySelector: () => element, isConnected: true}},
    getComputedStyle: () => ({getPropertyValue: (name: string) => name}),
    matchMedia: () => query,
    ResizeObserver: class {
      observe(): void {
        return undefined;
      }
    },
    performance,
    devicePixelRatio: 1,
  });
  return found;
}

describe('animations of bodies', () => {
  it('take the surface of a body, displaced and in the colours of a field', () => {
    const path = run();
    const html = animate(path, {figure: bodyFigure(bar, {field: {...stretch, range: [-0.01, 0.21]}, scale: 2})}).html();
    const {at, shades, faces, box: sides, dots} = dataOf(html);
    expect(dots).to.deep.equal([]);
    // Two quadrilaterals of sixteen pieces each; the right end at 2 + 2 · 0.2 = 2.4 of the first frame is the farthest.
    expect(faces).to.have.length(32);
    expect(sides).to.deep.equal([4096, Math.round(4096 / 2.4)]);
    expect(Math.max(...at[0].filter((_, i) => i % 2 === 0))).to.equal(4096);
    const last = path.values('q').slice(-4);
    expect(Math.max(...at[3].filter((_, i) => i % 2 === 0))).to.be.closeTo((4096 * (2 + 2 * last[3])) / 2.4, 1);
    // u rises linearly from 0 to 0.2: over eight columns of pieces their middles lie at odd sixteenths.
    const columns = faces.map(face => Math.min(...face.map(i => at[0][2 * i])));
    const order = [...new Set(columns)].sort((a, b) => a - b);
    faces.forEach((_, f) => {
      const u = (0.2 * (2 * order.indexOf(columns[f]) + 1)) / 16;
      expect(shades[0][f]).to.equal(Math.floor(((u + 0.01) / 0.22) * 32));
    });
    expect(html).to.contain('<p>Displacements × 2</p>');
    expect(html).to.contain('>u (m)</text>');
    expect(elementsOf(html.replace(/<script>[\s\S]*<\/script>/, ''))).to.include('canvas');
  });

  it('need no figure, and take colours by cells and a range', () => {
    const path = run();
    expect(dataOf(animate(path).html()).faces).to.have.length(32);
    const figure = bodyFigure(bar, {field: {values: () => tf.tensor1d([1, 3]), name: 'E', range: [0, 4]}});
    expect([...new Set(dataOf(animate(path, {figure}).html()).shades[0])].sort((a, b) => a - b)).to.deep.equal([8, 24]);
    const odd = {...figure, field: {...figure.field!, values: () => tf.tensor1d([1, 2, 3])}};
    expect(() => animate(path, {figure: odd})).to.throw(ShapeError, /3 numbers; give one for each of 48 points or 32/);
  });

  it('move without a script: each frame in its turn', () => {
    const animation = animate(run(), {figure: bodyFigure(bar, {field: stretch})});
    const svg = animation.svg({frames: 3});
    expect(elementsOf(svg).slice(0, 3)).to.deep.equal(['svg', 'title', 'desc']);
    const turns = [...svg.matchAll(/display="(\w+)"><animate[^>]*values="([^"]*)" keyTimes="([^"]*)"/g)];
    expect(turns.map(([, , values, times]) => `${values} ${times}`)).to.deep.equal([
      'inline;none 0;0.25',
      'none;inline;none 0;0.25;0.75',
      'none;inline 0;0.75',
    ]);
    expect(turns.map(([, first]) => first)).to.deep.equal(['inline', 'none', 'none']);
    expect(elementsOf(animation.strip({frames: 2})).filter(name => name === 'g')).to.have.length(2);
  });

  it('are painted by the player, in space with light and from far to near', () => {
    expect(new Set(filled(animate(run(), {figure: bodyFigure(bar)}).html()))).to.deep.equal(
      new Set(['rgb(143,168,196)']),
    );
    // A cube that is seen from the front right, from above: left and bottom faces are covered by what comes after them.
    const cube = solid({mesh: box([1, 1, 1], [1, 1, 1]), material: materials.linearElastic({E: 1, nu: 0}), density: 1}); // prettier-ignore
    const path = simulate(cube, cube.start, {scheme: trapezoid(), dt: 0.1, t1: 0.1});
    const animation = animate(path);
    const colors = filled(animation.html());
    expect(colors).to.have.length(96);
    const still = [...animation.strip({frames: 1}).matchAll(/<path color="(#\w+)"/g)].map(([, color]) => color);
    // The script and the stills have one camera and one light.
    const hex = (rgb: string): string => `#${rgb.match(/\d+/g)!.map(c => Number(c).toString(16).padStart(2, '0')).join('')}`; // prettier-ignore
    expect(colors.map(hex).sort()).to.deep.equal(still.sort());
    expect(new Set(colors.slice(-16)).size).to.be.below(4);
  });
});
