/** Spring meshes: geometry, equilibria in closed form, conservation, and the size of what they become. */
import {expect} from 'chai';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {equilibrium, implicitMidpoint, newton, OptionError, simulate} from '../../lib/index.js';
import {jacobianProgram} from '../../lib/step/jacobian-program.js';
import type {TracedStep} from '../../lib/step/traced-step.js';
import {traceRun} from '../../lib/step/trace-step.js';
import type {SpringMesh} from '../../models/index.js';
import {chain, springMesh} from '../../models/index.js';
import {largest, relative} from '../simulate/numbers.js';
import {forcesOf} from './evaluate.js';

const zerosLike = (positions: number[][]): number[][] => positions.map(row => row.map(() => 0));

describe('springMesh', () => {
  describe('geometry', () => {
    it('holds the corners, which are not in q, and numbers the rest by rows', () => {
      const small = springMesh({rows: 3, columns: 3, stiffness: 1});
      expect(small.positions).to.deep.equal([
        [1, 0, 0],
        [0, -1, 0],
        [1, -1, 0],
        [2, -1, 0],
        [1, -2, 0],
      ]);
      expect(small.fixed).to.deep.equal([
        [0, 0, 0],
        [2, 0, 0],
        [0, -2, 0],
        [2, -2, 0],
      ]);
      expect([small.particle(0, 1), small.particle(1, 1), small.particle(0, 0), small.particle(2, 2)]).to.deep.equal([
        0, 2, 5, 8,
      ]);
      expect(small.edges).to.have.length(12);
      expect(springMesh({rows: 3, columns: 3, stiffness: 1, diagonals: true}).edges).to.have.length(20);
    });

    it('hangs from the top in the plane, or from any knots', () => {
      expect(springMesh({rows: 2, columns: 3, dimension: 2, stiffness: 1}).fixed).to.deep.equal([
        [0, 0],
        [2, 0],
      ]);
      expect(springMesh({rows: 2, columns: 3, dimension: 2, stiffness: 1, held: [[1, 1]]}).fixed).to.deep.equal([
        [1, -1],
      ]);
      expect(springMesh({rows: 2, columns: 3, stiffness: 1, held: []}).fixed).to.have.length(0);
    });

    it('is unstressed where it is drawn', () => {
      const drawn = springMesh({rows: 4, columns: 3, spacing: 0.3, stiffness: 100, diagonals: true});
      // Lengths are rounded once: 1e-16 · 100.
      expect(largest(forcesOf(drawn, {q: drawn.positions, v: zerosLike(drawn.positions)}))).to.be.below(1e-13);
    });
  });

  describe('equilibria', () => {
    it('a rope of springs with rest length 0 between two points is a parabola', () => {
      const [n, k, g] = [12, 200, 9.81];
      const rope = springMesh({rows: 1, columns: n + 1, dimension: 2, spacing: 0.5, stiffness: k, restLength: 0, g});
      const rest = equilibrium(rope, {q: rope.positions});
      // Linear in each axis: k(y₋ − 2y + y₊) = m g, with y = 0 at both ends.
      const expected = rope.positions.flatMap(([x], i) => [x, (-g / (2 * k)) * (i + 1) * (n - i - 1)]);
      expect(relative(rest.values('q'), expected)).to.be.below(1e-13);
      rest.dispose();
    });

    it('a rope with rest length: the horizontal tension is one, the vertical one grows by each weight', () => {
      const [n, k, L, g] = [12, 5000, 0.55, 9.81];
      const rope = springMesh({rows: 1, columns: n + 1, dimension: 2, spacing: 0.5, stiffness: k, restLength: L, g});
      const sagging = rope.positions.map(([x]) => [x, -x * (n * 0.5 - x) * 0.3]);
      const rest = equilibrium(rope, {q: sagging});
      const q = rest.values('q');
      const points = [rope.fixed[0], ...rope.positions.map((_, i) => [q[2 * i], q[2 * i + 1]]), rope.fixed[1]];
      const tensions = points.slice(1).map(([x, y], i) => {
        const [dx, dy] = [x - points[i][0], y - points[i][1]];
        const length = Math.hypot(dx, dy);
        return [dx, dy].map(d => (k * (length - L) * d) / length);
      });
      // Weights of 9.81 met to 1e-15 · k.
      tensions.slice(1).forEach(([x, y], i) => {
        expect(x).to.be.closeTo(tensions[0][0], 1e-9);
        expect(y - tensions[i][1]).to.be.closeTo(g, 1e-9);
      });
      // Half of what hangs on each end; it pulls outwards.
      expect(tensions[0][1]).to.be.closeTo((-(n - 1) * g) / 2, 1e-9);
      expect(tensions[0][0]).to.be.above(0);
      rest.dispose();
    });

    it('a column hangs like a chain', () => {
      const [rows, k, g] = [6, 300, 9.81];
      const line = springMesh({rows, columns: 1, dimension: 2, stiffness: k, cubic: 0.5, g});
      // From a stretched start: across an unstressed line springs have no stiffness.
      const byNet = equilibrium(line, {q: line.positions.map(([x, y]) => [x, 1.1 * y])});
      const byChain = equilibrium(chain({count: rows - 1, stiffness: k, cubic: 0.5, g}), {
        q: new Float64Array(rows - 1),
      });
      expect(
        relative(
          byNet.values('q').filter((_, i) => i % 2 === 1),
          byChain.values('q').map((q, i) => -q - (i + 1)),
        ),
      ).to.be.below(1e-13);
      byNet.dispose();
      byChain.dispose();
    });

    it('a mesh hung at its corners sags symmetrically, its corners carrying all its weight', () => {
      const [size, k, g, m] = [7, 400, 9.81, 0.05];
      const cloth = springMesh({rows: size, columns: size, stiffness: k, diagonals: true, mass: m, g, restLength: 0.9});
      const rest = equilibrium(cloth, {q: cloth.positions});
      const q = rest.values('q');
      const z = (row: number, column: number): number => {
        const number = cloth.particle(row, column);
        return number < cloth.positions.length ? q[3 * number + 2] : 0;
      };
      for (let row = 0; row < size; row++) {
        for (let column = 0; column < size; column++) {
          expect(z(row, column)).to.be.closeTo(z(column, row), 1e-10);
          expect(z(row, column)).to.be.closeTo(z(size - 1 - row, column), 1e-10);
          expect(z(row, column)).to.be.at.most(0);
        }
      }
      // Newton's third law inside the mesh leaves the corners with m g for each moving knot.
      const points = [...cloth.positions.map((_, i) => [...q.subarray(3 * i, 3 * i + 3)]), ...cloth.fixed];
      let carried = 0;
      for (const [i, j] of cloth.edges) {
        const outer = [i, j].find(end => end >= cloth.positions.length);
        if (outer === undefined) continue;
        const inner = points[i === outer ? j : i];
        const d = inner.map((x, axis) => x - points[outer][axis]);
        const length = Math.hypot(...d);
        carried -= (k * (length - 0.9) * d[2]) / length;
      }
      expect(carried).to.be.closeTo(cloth.positions.length * m * g, 1e-9);
      rest.dispose();
    });
  });

  it('a free mesh under gravity falls as one body', () => {
    const [dt, steps, g] = [0.02, 50, 9.81];
    const free = springMesh({rows: 3, columns: 4, stiffness: 100, damping: 1, held: [], g});
    const trajectory = simulate(
      free,
      {q: free.positions, v: free.positions.map(([x, y]) => [0, 0, Math.sin(3 * x + y)])},
      {
        scheme: implicitMidpoint(),
        dt,
        steps,
        saveAt: 'end',
        newton: newton({tolerance: {absolute: 1e-13, relative: 1e-13}}),
      },
    );
    const v = trajectory.values('v');
    const mean = (axis: number, from: number): number =>
      v.slice(from, from + 36).reduce((sum, x, i) => (i % 3 === axis ? sum + x / 12 : sum), 0);
    expect(mean(0, 36)).to.be.closeTo(0, 1e-12);
    expect(mean(1, 36)).to.be.closeTo(0, 1e-12);
    expect(mean(2, 36)).to.be.closeTo(mean(2, 0) - g * dt * steps, 1e-11);
    trajectory.dispose();
  });

  it('conserves energy to second order, hung and swinging', () => {
    const hung = springMesh({rows: 3, columns: 3, stiffness: 80, g: 9.81, diagonals: true});
    const error = (dt: number): number => {
      const trajectory = simulate(
        hung,
        {q: hung.positions, v: zerosLike(hung.positions)},
        {scheme: implicitMidpoint(), dt, t1: 1, observe: hung.energy},
      );
      trajectory.dispose();
      const energies = trajectory.values('observed');
      return largest(energies.map(e => e - energies[0]));
    };
    expect(Math.log2(error(0.01) / error(0.005))).to.be.closeTo(2, 0.05);
  });

  describe('what it becomes', () => {
    const traced = (system: SpringMesh): TracedStep =>
      traceRun(system, implicitMidpoint(), [system.positions.length, 3], []).step;
    const nodes = ({functions: {residual}}: TracedStep): number => topological([residual as Node]).length;
    const build = (size: number, diagonals: boolean): TracedStep =>
      traced(springMesh({rows: size, columns: size, stiffness: 100, diagonals, damping: 0.1, drag: 0.01, g: 9.81}));

    it('a graph of the same few nodes at any size', () => {
      const [small, large] = [nodes(build(4, true)), nodes(build(20, true))];
      expect(large).to.equal(small);
      expect(large).to.be.below(100);
    });

    for (const {diagonals, neighbours} of [
      {diagonals: false, neighbours: 4},
      {diagonals: true, neighbours: 8},
    ]) {
      it(`a Jacobian of ${3 * (neighbours + 1)} entries a row at most, ${neighbours} neighbours each`, () => {
        const {
          functions: {residual},
          inputs: {z},
        } = build(20, diagonals);
        if (residual === undefined) throw new Error('implicit midpoint has a residual');
        const {pattern, colors} = jacobianProgram(residual, z);
        expect(pattern.n).to.equal(3 * (400 - 4));
        const widths = Array.from(
          {length: pattern.n},
          (_, row) => pattern.rowPointers[row + 1] - pattern.rowPointers[row],
        );
        expect(Math.max(...widths)).to.equal(3 * (neighbours + 1));
        // A greedy colouring needs no more than the neighbours of neighbours: 13 or 25 knots of 3 axes each.
        expect(colors).to.be.at.most(3 * (neighbours === 4 ? 13 : 25));
      });
    }

    it('of any size: 200 × 200 knots are more numbers than arguments fit on a stack', () => {
      const {edges, positions} = springMesh({rows: 200, columns: 200, stiffness: 1});
      expect([edges.length, positions.length]).to.deep.equal([2 * 200 * 199, 200 * 200 - 4]);
    });

    it('a sparse factor: a 20 × 20 mesh is solved without a dense matrix', () => {
      const cloth = springMesh({rows: 20, columns: 20, stiffness: 100, g: 9.81});
      const trajectory = simulate(
        cloth,
        {q: cloth.positions, v: zerosLike(cloth.positions)},
        {dt: 0.01, steps: 2, saveAt: 'end'},
      );
      const n = 3 * cloth.positions.length;
      expect(trajectory.stats.linear).not.to.equal('dense');
      expect(trajectory.stats.nonzeros).to.be.below((n * n) / 8);
      trajectory.dispose();
    });
  });

  describe('refuses', () => {
    const cases: {readonly [name: string]: Parameters<typeof springMesh>[0]} = {
      'no rows': {rows: 0, columns: 3, stiffness: 1},
      'half a column': {rows: 2, columns: 2.5, stiffness: 1},
      'a single knot': {rows: 1, columns: 1, stiffness: 1, held: []},
      'a held knot outside': {rows: 2, columns: 2, stiffness: 1, held: [[2, 0]]},
      'a mesh with every knot held': {rows: 2, columns: 2, stiffness: 1},
      'no spacing': {rows: 3, columns: 3, stiffness: 1, spacing: 0},
      'four dimensions': {rows: 3, columns: 3, stiffness: 1, dimension: 4 as 3},
    };
    for (const [name, spec] of Object.entries(cases)) {
      it(name, () =>
        expect(() => springMesh(spec))
          .to.throw(OptionError)
          .with.property('code', 'bad-option'),
      );
    }
    it('a knot that is not there', () =>
      expect(() => springMesh({rows: 3, columns: 3, stiffness: 1}).particle(3, 0))
        .to.throw(OptionError)
        .with.property('code', 'bad-option'));
  });
});
