/**
 * The supernodal LU against the scalar one, and against SuperLU where scipy is there (oracles/superlu.py):
 * `npx tsx bench/unsymmetric.ts [rows …]` prints a table. Matrices: advection and diffusion on a square grid, and the first
 * Newton matrix of a net under a follower load (follower.ts). Times are medians in milliseconds, of a first factorization
 * (the scalar LU chooses its pivots then, the supernodal one does nothing else) and of later ones.
 */
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {auto, implicitMidpoint, newton, simulate, sparseLu, supernodalLu, type LinearSolver} from '../lib/index.js';
import {patternFromEntries, type Pattern} from '../lib/linear/index.js';
import {followerNet} from './follower.js';

interface Matrix {
  readonly pattern: Pattern;
  readonly values: Float64Array;
}

/** −Δu + w·∇u by central differences in a turning wind, |w|h/2 = 0.8. */
function advection(k: number): Matrix {
  const [rows, columns, values]: number[][] = [[], [], []];
  const at = (r: number, c: number): number => r * k + c;
  for (let r = 0; r < k; r++) {
    for (let c = 0; c < k; c++) {
      const angle = (7 * r + 3 * c) / k;
      const [x, y] = [0.8 * Math.cos(angle), 0.8 * Math.sin(angle)];
      // By ascending columns, as the pattern has them.
      const row: [boolean, number, number][] = [
        [r > 0, at(r - 1, c), -1 - y],
        [c > 0, at(r, c - 1), -1 - x],
        [true, at(r, c), 4],
        [c + 1 < k, at(r, c + 1), -1 + x],
        [r + 1 < k, at(r + 1, c), -1 + y],
      ];
      for (const [inside, column, value] of row) {
        if (!inside) continue;
        rows.push(at(r, c));
        columns.push(column);
        values.push(value);
      }
    }
  }
  return {pattern: patternFromEntries(k * k, rows, columns), values: Float64Array.from(values)};
}

/** What a run's first step asks to be factored. */
function follower(rows: number): Matrix {
  const found: Matrix[] = [];
  const watching: LinearSolver = {
    name: 'watching',
    analyze(pattern) {
      const analysis = auto().analyze(pattern);
      return {
        kind: analysis.kind,
        n: analysis.n,
        nonzeros: analysis.nonzeros,
        work: analysis.work,
        createFactor: () => analysis.createFactor(),
        factor(values) {
          found.push({pattern, values: values.slice()});
          return analysis.factor(values);
        },
      };
    },
  };
  const {system, positions} = followerNet(rows);
  const options = {
    scheme: implicitMidpoint(),
    dt: 0.01,
    steps: 1,
    params: {k: 100, p: 40},
    newton: newton({linear: watching}),
  };
  simulate(system, {q: positions, v: positions.map(() => [0, 0, 0])}, options).dispose();
  return found[found.length - 1];
}

function median(work: () => void): number {
  const times: number[] = [];
  for (const begin = performance.now(); times.length < 3 || performance.now() - begin < 500;) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

function measure(
  solver: LinearSolver,
  {pattern, values}: Matrix,
): {first: number; factor: number; solve: number; nonzeros: number} {
  const analysis = solver.analyze(pattern);
  const start = performance.now();
  const factor = analysis.factor(values);
  const first = performance.now() - start;
  const x = new Float64Array(pattern.n).fill(1);
  return {
    first,
    factor: median(() => analysis.factor(values)),
    solve: median(() => factor.solve(x, x)),
    nonzeros: analysis.nonzeros,
  };
}

interface Reference {
  readonly nonzeros: number;
  readonly milliseconds: number;
}

function superLu({pattern: {n, rowPointers, columns}, values}: Matrix): Reference | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'stiffgrad-superlu-'));
  const file = join(folder, 'matrix.bin');
  const script = fileURLToPath(new URL('oracles/superlu.py', import.meta.url));
  try {
    writeFileSync(
      file,
      Buffer.concat(
        [Int32Array.of(n), rowPointers, columns, values].map(part =>
          Buffer.from(part.buffer, part.byteOffset, part.byteLength),
        ),
      ),
    );
    return JSON.parse(
      execFileSync(process.env.STIFFGRAD_BENCH_PYTHON ?? 'python3', [script, file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as Reference;
  } catch {
    // No Python, or no scipy in it.
    return undefined;
  } finally {
    rmSync(folder, {recursive: true});
  }
}

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [20, 40, 60, 80, 100];
console.log(
  '| matrix | unknowns | scalar, first | scalar | supernodal | ratio | solve, scalar | solve | fill, scalar | stored | SuperLU | its fill |\n| - | - | - | - | - | - | - | - | - | - | - | - |',
);
for (const [name, make] of [
  ['advection', advection],
  ['follower', follower],
] as const) {
  for (const k of sizes) {
    const matrix = make(k);
    const [scalar, supernodal] = [sparseLu({ordering: 'symmetric'}), supernodalLu()].map(solver =>
      measure(solver, matrix),
    );
    const reference = superLu(matrix);
    const cells = [scalar.first, scalar.factor, supernodal.factor].map(t => t.toFixed(2));
    console.log(
      `| ${name} ${k}² | ${matrix.pattern.n} | ${cells.join(' | ')} | ${(scalar.factor / supernodal.factor).toFixed(1)} | ${scalar.solve.toFixed(3)} | ${supernodal.solve.toFixed(3)} | `
        + `${scalar.nonzeros} | ${supernodal.nonzeros} | ${reference?.milliseconds.toFixed(1) ?? '–'} | ${reference?.nonzeros ?? '–'} |`,
    );
  }
}
