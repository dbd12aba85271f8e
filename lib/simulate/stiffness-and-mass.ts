/** Stiffness K = −∂f/∂q and mass M of a mechanical system at a state without velocity, in compressed rows. */
import * as tf from '@tensorflow/tfjs';
import {chooseEngine} from '../engine/index.js';
import {OptionError} from '../errors.js';
import {jacobian} from '../graph/jacobian.js';
import {namedGraph} from '../graph/named-graph.js';
import {settled} from '../graph/newton-matrix.js';
import type {SparsityPattern} from '../graph/sparsity.js';
import {csrPattern, structurallySymmetric, transpose, type Pattern} from '../linear/index.js';
import {ParameterReads} from '../step/parameter-reads.js';
import type {Equations} from '../system/equations.js';
import {mechanicalEquations, type MechanicalSystem} from '../system/mechanics.js';
import type {NumericValue} from '../system/numeric.js';
import {typedTree, type Leaf, type Params} from '../system/params.js';
import {constantTensor, trace, within} from '../trace/trace.js';
import {readCaptured} from './prepare.js';

/** A state of a mechanical system in numbers, and its parameters. */
export interface MechanicalPlace {
  readonly system: MechanicalSystem;
  readonly q: NumericValue;
  readonly t: number;
  readonly leaves: readonly Leaf[];
}

/** The system's equations inside a trace. */
export const equationsAt = ({system, q}: MechanicalPlace, params: Params): Equations =>
  mechanicalEquations(system, params, [
    {name: 'q', shape: q.shape},
    {name: 'v', shape: q.shape},
  ]);

/** K and M at a place in one pattern, and the force. */
export interface Matrices {
  readonly pattern: Pattern;
  readonly K: Float64Array;
  readonly M: Float64Array;
  readonly force: Float64Array;
}

/**
 * @throws OptionError 'bad-modes' where K or M is not symmetric, 'unknown-parameter'
 */
export function matricesAt(place: MechanicalPlace): Matrices {
  const {q, t, leaves} = place;
  const reads = new ParameterReads();
  const {graph, captured} = trace(
    at =>
      within('modes', () => {
        const tree = typedTree(
          leaves,
          leaves.map((_, i) => at[`p.${i}`]),
        );
        const equations = equationsAt(place, reads.watched(tree));
        return {
          force: equations.force(at.q, tf.zerosLike(at.q), constantTensor(t, [])),
          momentum: equations.mass(at.q, at.w),
        };
      }),
    [
      {name: 'q', shape: q.shape},
      {name: 'w', shape: q.shape},
      ...leaves.map(({shape}, i) => ({name: `p.${i}`, shape})),
    ],
  );
  const unread = reads.unread(leaves);
  if (unread !== undefined) throw unread;
  const [force, momentum] = settled(
    graph.outputs.map(({node}) => node),
    'jacobian',
  );
  const [stiffness, mass] = [jacobian(force, graph.inputs[0]), jacobian(momentum, graph.inputs[1])];
  const named = captured.map(({node, tensor}) => ({name: (node.attributes as {name: string}).name, tensor}));
  const executable = chooseEngine('auto').compile({
    all: namedGraph({K: stiffness.values, M: mass.values, F: force}),
  });
  executable.optionalBuffer('q')?.set(q.values);
  leaves.forEach(({values}, i) => executable.optionalBuffer(`p.${i}`)?.set(values));
  named.forEach(({name, tensor}) => executable.optionalBuffer(name)?.set(readCaptured(tensor)));
  executable.run('all');
  const {pattern, ofA, ofB} = union(stiffness.pattern, mass.pattern);
  const [K, M] = [new Float64Array(pattern.columns.length), new Float64Array(pattern.columns.length)];
  const [k, m] = [executable.buffer('K'), executable.buffer('M')];
  ofA.forEach((to, from) => (K[to] = -k[from]));
  ofB.forEach((to, from) => (M[to] = m[from]));
  requireSymmetric(pattern, K, 'stiffness −∂f/∂q');
  requireSymmetric(pattern, M, 'mass');
  return {pattern, K, M, force: executable.buffer('F').slice()};
}

/** The pattern of a sum of two matrices, and where their entries are in it. */
function union(a: SparsityPattern, b: SparsityPattern): {pattern: Pattern; ofA: Int32Array; ofB: Int32Array} {
  const [ofA, ofB] = [new Int32Array(a.indices.length), new Int32Array(b.indices.length)];
  const pointers = new Int32Array(a.rows + 1);
  const columns = new Int32Array(ofA.length + ofB.length);
  let filled = 0;
  for (let row = 0, i = 0, j = 0; row < a.rows; row++) {
    const [endA, endB] = [a.pointers[row + 1], b.pointers[row + 1]];
    while (i < endA || j < endB) {
      const column = Math.min(i < endA ? a.indices[i] : Infinity, j < endB ? b.indices[j] : Infinity);
      if (i < endA && a.indices[i] === column) ofA[i++] = filled;
      if (j < endB && b.indices[j] === column) ofB[j++] = filled;
      columns[filled++] = column;
    }
    pointers[row + 1] = filled;
  }
  return {pattern: csrPattern(pointers, columns.slice(0, filled)), ofA, ofB};
}

/** Two entries that mirror one another differ by rounding alone, at most this share of the largest. */
const symmetryTolerance = 1e-9;

function requireSymmetric(pattern: Pattern, values: Float64Array, name: string): void {
  const {source, columnPointers, rows} = transpose(pattern);
  const limit = symmetryTolerance * values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const mirrored = structurallySymmetric(pattern);
  for (let column = 0; column < pattern.n; column++)
    for (let p = columnPointers[column]; p < columnPointers[column + 1]; p++) {
      if (mirrored && Math.abs(values[p] - values[source[p]]) <= limit) continue;
      if (!mirrored && Math.abs(values[p]) <= limit) continue;
      throw new OptionError(
        'bad-modes',
        `modes: the ${name} at this state is not symmetric, or not finite, in row ${rows[p]} and column ${column}. `
          + 'Forces without an energy, such as follower loads and friction, have no natural frequencies; linearize '
          + 'has their complex eigenvalues.',
        {row: rows[p], column},
      );
    }
}
