/**
 * One of Newton's iterations (assembly, linear system, residual) of an elastic block of 27,744 unknowns, direct and by
 * multigrid, beside scikit-fem with SciPy's SuperLU and with PyAMG (peers/solid_scikit.py), on one thread and in turns:
 * `npx tsx bench/solid.ts [n] [rounds]` prints a table. STIFFGRAD_BENCH_PYTHON names a Python with scikit-fem, scipy and pyamg.
 */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {box, loads, materials, solid, supports} from '../fem/index.js';
import {auto, cg, newmark, newton, simulate, type LinearSolver} from '../lib/index.js';

const [n, rounds] = [Number(process.argv[2] ?? 16), Number(process.argv[3] ?? 3)];

interface Step {
  /** Milliseconds of one of Newton's iterations, and of its assembly where that is known. */
  readonly iteration: number;
  readonly assembly?: number;
  readonly iterations: number;
  readonly norm: number;
}

const mesh = box([2, 1, 1], [2 * n, n, n], 'tet4');
const cells = mesh.cells.tet4!;
const E = Float64Array.from({length: cells.length / 4}, (_, cell) => {
  const [x, y, z] = [0, 1, 2].map(
    axis => cells.subarray(4 * cell, 4 * cell + 4).reduce((sum, node) => sum + mesh.points[3 * node + axis], 0) / 4,
  );
  return 1 + 0.3 * Math.sin(10 * x + 7 * y + 3 * z);
});
const body = solid({
  mesh,
  material: materials.neoHookean({E, nu: 0.3}),
  density: 1,
  supports: [supports.held('left')],
  loads: [loads.bodyForce([0, 0, -0.01])],
});

/** A step of Newmark's scheme with a new matrix in each iteration; everything is compiled and analyzed before. */
function own(linear: LinearSolver): () => Step {
  const options = {scheme: newmark(), dt: 0.5, steps: 1, newton: newton({linear, jacobian: 'fresh'})};
  const prepared = simulate.prepare(body, body.start, options);
  return () => {
    const begin = performance.now();
    const path = prepared.run();
    const total = performance.now() - begin;
    const {newtonIterations: iterations} = path.stats;
    const norm = Math.hypot(...path.values('q').subarray(body.free.length));
    path.dispose();
    return {iteration: total / iterations, iterations, norm};
  };
}

const python = spawn(process.env.STIFFGRAD_BENCH_PYTHON ?? 'python3', [
  fileURLToPath(new URL('peers/solid_scikit.py', import.meta.url)),
  String(n),
]);
python.stderr.pipe(process.stderr);
const answers = createInterface({input: python.stdout});
async function peer(what: string): Promise<Step> {
  const answered = once(answers, 'line') as Promise<string[]>;
  python.stdin.write(`${what}\n`);
  const [line] = await answered;
  return JSON.parse(line) as Step;
}

const multigrid = cg({preconditioner: 'multigrid'});
const contestants: Record<string, () => Step | Promise<Step>> = {
  'stiffgrad, direct': own(auto()),
  'scikit-fem, SuperLU': () => peer('direct'),
  'stiffgrad, multigrid': own(multigrid),
  'scikit-fem, PyAMG': () => peer('multigrid'),
};
const best: Record<string, Step> = {};
for (let round = 0; round <= rounds; round++)
  for (const [name, step] of Object.entries(contestants)) {
    const taken = await step();
    // The first round is for compilers.
    if (round > 0 && !(taken.iteration >= best[name]?.iteration)) best[name] = taken;
  }
python.stdin.end();
const names = Object.keys(contestants);
console.log(`${body.free.length} unknowns; least of ${rounds} rounds`);
console.log(
  '| | ms an iteration | of it assembly | iterations | norm | in units of the peer |\n| - | - | - | - | - | - |',
);
names.forEach((name, k) => {
  const {iteration, assembly, iterations, norm} = best[name];
  const ratio = k % 2 === 0 ? (iteration / best[names[k + 1]].iteration).toFixed(2) : '1';
  console.log(
    `| ${name} | ${iteration.toFixed(0)} | ${assembly?.toFixed(0) ?? ''} | ${iterations} | ${norm} | ${ratio} |`,
  );
});
