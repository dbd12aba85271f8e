/**
 * The fill of the net's factor against reference orderings (oracles/fill.py): `fill.js [rows …]` prints
 * JSON, one row for each size. Nonzeros are those of L with its diagonal; `stored` adds the zeros that supernodes
 * keep and the upper triangles of their blocks.
 */
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {implicitMidpoint} from '../lib/index.js';
import {eliminate} from '../lib/linear/elimination.js';
import type {Pattern} from '../lib/linear/index.js';
import {amd, symmetricGraph} from '../lib/linear/ordering.js';
import {supernodes} from '../lib/linear/supernodes.js';
import {jacobianProgram} from '../lib/step/jacobian-program.js';
import {traceRun} from '../lib/step/trace-step.js';
import {springMesh} from '../models/index.js';
import type {Fill} from './results.js';

/** Where fill.ts or its compiled form lies, the script lies in bench/oracles of the project. */
const script =
  process.env.STIFFGRAD_FILL_ORACLE ?? fileURLToPath(new URL('../../../../bench/oracles/fill.py', import.meta.url));

function netPattern(rows: number): Pattern {
  const {
    functions: {residual},
    inputs: {z},
  } = traceRun(
    springMesh({
      rows,
      columns: rows,
      held: [
        [0, 0],
        [0, rows - 1],
      ],
      stiffness: 100,
    }),
    implicitMidpoint(),
    [rows * rows - 2, 3],
    [],
  ).step;
  if (residual === undefined) throw new Error('implicit midpoint has a residual');
  return jacobianProgram(residual, z).pattern;
}

function reference({n, rowPointers, columns}: Pattern): Fill['references'] {
  const folder = mkdtempSync(join(tmpdir(), 'stiffgrad-fill-'));
  const file = join(folder, 'pattern.bin');
  try {
    writeFileSync(
      file,
      Buffer.concat(
        [Int32Array.of(n), rowPointers, columns].map(part =>
          Buffer.from(part.buffer, part.byteOffset, part.byteLength),
        ),
      ),
    );
    return JSON.parse(
      execFileSync(process.env.STIFFGRAD_BENCH_PYTHON ?? 'python3', [script, file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as Fill['references'];
  } catch {
    // No Python, or no scipy in it: the page then shows this project's numbers alone.
    return {};
  } finally {
    rmSync(folder, {recursive: true});
  }
}

function measure(rows: number): Fill {
  const pattern = netPattern(rows);
  const begin = performance.now();
  const graph = symmetricGraph(pattern);
  const elimination = eliminate(graph, amd(graph));
  const {size, work} = supernodes(graph, elimination);
  const analysis = performance.now() - begin;
  return {
    rows,
    unknowns: pattern.n,
    entries: pattern.columns.length,
    nonzeros: elimination.below + pattern.n,
    stored: size,
    work,
    analysis,
    references: reference(pattern),
  };
}

console.log(JSON.stringify(process.argv.slice(2).map(Number).map(measure)));
