/** Cloth: its energy where it is rolled and twisted, the catenary, derivatives, and bad input. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, cloth, loads, mapped, meshOf, supports, type Body} from '../../../fem/index.js';
import {bdf2, equilibrium, OptionError, simulate, type NumericParams, type Params} from '../../../lib/index.js';
import {slow} from '../../tiers.js';

type ClothCell = 'quad4' | 'tri3';
const flat = ([x, y]: readonly number[]): number[] => [x, y, 0];
const material = {thickness: 0.01, E: 100, nu: 0, density: 1};

/** x with f(x) = 0 of an increasing function. */
function root(f: (x: number) => number, from: number, to: number): number {
  let [low, high] = [from, to];
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (f(middle) < 0) low = middle;
    else high = middle;
  }
  return low;
}

/** A strip on an arc over a span of 0.8, and the sag of a catenary of its length. */
function hanging(n: number, cell: ClothCell): {body: Body; sag: number} {
  const half = root(h => 0.8 - Math.sin(h) / h, 0.01, 3);
  const R = 0.4 / Math.sin(half);
  const length = 2 * n * R * Math.sin(half / n);
  const body = cloth({
    mesh: mapped(box([1, 0.1], [n, 1], cell), ([s, y]) => {
      const angle = half * (2 * s - 1);
      return [R * Math.sin(angle), y, R * (Math.cos(half) - Math.cos(angle))];
    }),
    ...{thickness: 1e-3, E: 1e8, nu: 0, bending: 1e-6, density: 1000},
    supports: [supports.held('left'), supports.held('right')],
    loads: [loads.gravity([0, 0, -10])],
  });
  const a = root(x => length - 2 * x * Math.sinh(0.4 / x), 0.1, 10);
  return {body, sag: a * (Math.cosh(0.4 / a) - 1)};
}

describe('cloth', function () {
  this.timeout(60_000);
  for (const cell of ['quad4', 'tri3'] as const) {
    it(`of ${cell} has the energy of a plate where it is rolled up`, () => {
      const [n, h, angle] = [12, 0.1, 0.3];
      const mesh = mapped(box([n * h, 0.2], [n, 2], cell), flat);
      const R = h / 2 / Math.sin(angle / 2);
      const q = Array.from({length: mesh.points.length / 3}, (_, node) => {
        const x = mesh.points[3 * node];
        return [R * Math.sin((angle * x) / h) - x, 0, R * (1 - Math.cos((angle * x) / h))];
      }).flat();
      const body = cloth({...material, mesh});
      const D = (100 * 0.01 ** 3) / 12;
      const energy = body.evaluate(at => body.energy(at), {q})[0];
      // Between the middles of the first cell and of the last, of width 0.2.
      expect(energy / (0.5 * D * (angle / h) ** 2 * 0.2 * h * (n - 1))).to.be.closeTo(1, 1e-9);
    });

    slow(`of ${cell} hangs as a catenary, with order two`, () => {
      const error = (n: number): number => {
        const {body, sag} = hanging(n, cell);
        const found = equilibrium(body, {q: body.start.q});
        const middle = body.mesh.points[3 * (n / 2) + 2];
        const u = body.evaluate(at => body.displacement(at), {q: found.values('q')});
        found.dispose();
        return Math.abs(middle + u[3 * (n / 2) + 2] + sag);
      };
      const [coarse, fine] = [8, 16].map(error);
      expect(fine).to.be.below(7e-4);
      expect(Math.log2(coarse / fine)).to.be.within(1.7, 2.2);
    });
  }

  it('of squares has the energy of a plate where it is twisted a little', () => {
    const mesh = mapped(box([1, 1], [2, 2]), flat);
    const twist = 1e-4;
    const q = Array.from({length: 9}, (_, node) => [0, 0, twist * mesh.points[3 * node] * mesh.points[3 * node + 1]]);
    const body = cloth({...material, bending: 3, mesh});
    const slack = cloth({...material, bending: 0, mesh});
    const [bent, stretched] = [body, slack].map(one => one.evaluate(at => one.energy(at), {q: q.flat()})[0]);
    expect((bent - stretched) / (3 * twist ** 2)).to.be.closeTo(1, 1e-6);
  });

  slow('has derivatives by bending and thickness as it moves', () => {
    const leaf =
      (name: string) =>
      (params: Params): tf.Tensor =>
        params[name] as tf.Tensor;
    const body = cloth({
      mesh: mapped(box([1, 0.5], [3, 1], 'tri3'), flat),
      ...{E: 100, nu: 0.3, density: 1, thickness: leaf('t'), bending: leaf('D')},
      supports: [supports.held('left')],
      loads: [loads.gravity([0, 0.2, -1])],
    });
    const t = [0.01, 0.011, 0.012, 0.013, 0.012, 0.011];
    const options = {scheme: bdf2(), dt: 0.1, steps: 4, saveAt: 'end' as const};
    const weights = Float64Array.from(body.free, (_, i) => Math.cos(i));
    const value = (p: NumericParams): number => {
      const run = simulate(body, body.start, {...options, params: p});
      const q = run.values('q').slice(-weights.length);
      run.dispose();
      return q.reduce((sum, x, i) => sum + x * weights[i], 0);
    };
    const {trajectory, pullback} = simulate.vjp(body, body.start, {...options, params: {t, D: 1e-4}});
    const padded = new Float64Array(2 * weights.length);
    padded.set(weights, weights.length);
    const found = pullback({q: padded}).params as {t: Float64Array; D: Float64Array};
    const along = found.t.reduce((sum, g, i) => sum + 0.01 * g * Math.sin(i + 1), 1e-4 * found.D[0]);
    const at = (h: number): number => value({t: t.map((x, i) => x + h * 0.01 * Math.sin(i + 1)), D: 1e-4 * (1 + h)});
    const h = 1e-3;
    const difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    expect(along / difference).to.be.closeTo(1, 1e-6);
    trajectory.dispose();
  });

  it('refuses edges of three cells, and cells in opposite senses', () => {
    const points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]; // prettier-ignore
    const of =
      (...tri3: number[][]) =>
      (): unknown =>
        cloth({...material, mesh: meshOf({points, cells: {tri3}})});
    expect(of([0, 1, 2], [1, 0, 3], [0, 1, 4])).to.throw(OptionError, /edge of nodes 0 and 1 has 3 cells/);
    expect(of([0, 1, 2], [0, 1, 3], [1, 0, 4])).to.throw(OptionError, /3 cells/);
    expect(of([0, 1, 2], [0, 1, 3], [0, 2, 4])).to.throw(OptionError, /in one sense by both cells/);
  });
});
