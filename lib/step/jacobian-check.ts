/**
 * Checks a sparse Jacobian against the tangent it was derived from, along one random direction: pattern, colouring
 * and decompression are correct, or the row sums differ (the test of SparseMatrixColorings and of PETSc's
 * coloured Jacobians). Done once for every structure, when its values are first available.
 */
import type {Executable, Programs} from '../engine/engine.js';
import {interpreter} from '../engine/interpreter.js';
import {wasmSupported} from '../engine/wasm/wasm.js';
import {automatic} from '../engine/automatic.js';
import {MemoryError, StiffgradError} from '../errors.js';
import {dependents} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {withoutDeclarations} from '../graph/declarations.js';
import type {Pattern} from '../linear/index.js';
import type {Layout} from './layout.js';
import type {JacobianProgram} from './jacobian-program.js';

/**
 * Share of Σ|J_ij d_j| that a row may be off. An entry that is missing or misplaced shows with its own share of the
 * row; rounding reaches this only where ten digits cancel within an entry.
 */
const tolerance = 1e-6;

/**
 * Roundings of the largest number on the way that a row may be off where its entries cancel altogether: as many as a
 * long sum has terms.
 */
const roundings = 1e4;

/**
 * Components between ½ and 3/2 of either sign, the same every time, so that a run stays a function of its arguments.
 */
function direction(size: number): Float64Array {
  // mulberry32 (Ettinger, public domain)
  let state = 0x5eed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return Float64Array.from({length: size}, () => (next() < 0.5 ? -1 : 1) * (0.5 + next()));
}

/**
 * Values at the point where the engine stands, once. The engine 'auto' interprets them, as to compile them would take
 * longer, unless they are so many that all of them at once would take a large memory.
 */
function valuesAt(values: readonly Node[], at: (name: string) => Float64Array | undefined): Float64Array[] {
  const inputs = topological(withoutDeclarations(values)).filter((node): node is Node<'input'> => isOp(node, 'input'));
  const program = compileOnce({
    evaluate: {inputs, outputs: values.map((node, i) => ({name: `value ${i}`, node}))},
  });
  for (const {
    attributes: {name},
  } of inputs) {
    const known = at(name);
    if (known !== undefined) program.buffer(name).set(known);
  }
  program.run('evaluate');
  return values.map((_, i) => program.buffer(`value ${i}`));
}

function compileOnce(programs: Programs): Executable {
  if (!wasmSupported()) return interpreter.compile(programs);
  try {
    return automatic.compile(programs);
  } catch (error) {
    if (error instanceof MemoryError) return interpreter.compile(programs);
    throw error;
  }
}

interface Mismatch {
  readonly row: number;
  readonly sum: number;
}

function mismatch(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  d: Float64Array,
  expected: Float64Array,
  floor = 0,
): Mismatch | undefined {
  for (let row = 0; row < n; row++) {
    let [sum, size] = [0, Math.abs(expected[row])];
    for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) {
      const term = values[k] * d[columns[k]];
      sum += term;
      size += Math.abs(term);
    }
    // What is not finite is for Newton's iteration to tell.
    if (Math.abs(sum - expected[row]) > tolerance * size + floor) return {row, sum};
  }
  return undefined;
}

/**
 * @param values of the program, just computed
 * @param at where the program's inputs stand
 * @throws StiffgradError 'jacobian-pattern'
 */
export function checkJacobian(
  {pattern, values: computed, tangent, direction: seed}: JacobianProgram,
  values: Float64Array,
  at: Executable,
  unknown: Layout,
): void {
  const d = direction(pattern.n);
  const inputs = (name: string): Float64Array | undefined =>
    name === seed.attributes.name ? d : at.optionalBuffer(name);
  const expected = tangent === undefined ? new Float64Array(pattern.n) : valuesAt([tangent], inputs)[0];
  if (mismatch(pattern, values, d, expected) === undefined) return;
  // On a kink, or in single precision, another engine may stand on the other side: the same arithmetic for both
  // decides.
  const linear = tangent === undefined ? [] : [...dependents([tangent], [seed])];
  const [again, ...within] = valuesAt([computed, ...linear], inputs);
  const largest = within.reduce((most, numbers) => numbers.reduce((one, x) => Math.max(one, Math.abs(x)), most), 0);
  const found = mismatch(pattern, again, d, expected, roundings * Number.EPSILON * largest);
  if (found === undefined) return;
  const {row, sum} = found;
  const name = unknown.rowName(row);
  throw new StiffgradError(
    'jacobian-pattern',
    'An error inside stiffgrad: the sparse Jacobian of this step is not its tangent. Along a random direction '
      + `row ${row} (${name}) gives ${sum} instead of ${expected[row]}. `
      + 'Please report it with the system. As a workaround, newton({linear: gmres()}) forms no Jacobian.',
    {row, name, sparse: sum, tangent: expected[row]},
  );
}
