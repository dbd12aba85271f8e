/**
 * Which elements of a linear program's output depend on which elements of its input: the pattern of
 * a Jacobian, only from the dependence rules of the primitives (values are not used). Applied
 * to a tangent, whose factors that are zero by construction have already vanished.
 */
import type {Node} from './node.js';
import {topological} from './node.js';
import {primitiveOf} from './primitives/index.js';
import type {CompressedRows} from './primitives/primitive.js';

/** A sparse boolean matrix by rows; columns ascend in each row. */
export interface SparsityPattern extends CompressedRows {
  readonly rows: number;
  readonly columns: number;
}

function identityPattern(n: number): SparsityPattern {
  return {
    rows: n,
    columns: n,
    pointers: Int32Array.from({length: n + 1}, (_, i) => i),
    indices: Int32Array.from({length: n}, (_, i) => i),
  };
}

/** Grows as it is filled. */
class IndexList {
  private values = new Int32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const grown = new Int32Array(2 * this.length);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length++] = value;
  }

  /** Sorts what was pushed from a place on: by insertion where that is little, as rows of sparse matrices are. */
  sortFrom(start: number): void {
    const {values, length} = this;
    if (length - start > 32) {
      values.subarray(start, length).sort();
      return;
    }
    for (let i = start + 1; i < length; i++) {
      const value = values[i];
      let at = i;
      for (; at > start && values[at - 1] > value; at--) values[at] = values[at - 1];
      values[at] = value;
    }
  }

  finish(): Int32Array {
    return this.values.slice(0, this.length);
  }
}

interface Part {
  readonly relation: 'same' | CompressedRows;
  readonly pattern: SparsityPattern;
}

/** For each result element, the union of what its operands' elements depend on. */
function combine(size: number, columns: number, parts: readonly Part[]): SparsityPattern {
  const seen = new Int32Array(columns).fill(-1);
  const pointers = new Int32Array(size + 1);
  const indices = new IndexList();
  for (let i = 0; i < size; i++) {
    for (let p = 0; p < parts.length; p++) {
      const {relation, pattern} = parts[p];
      const to = relation === 'same' ? i + 1 : relation.pointers[i + 1];
      for (let r = relation === 'same' ? i : relation.pointers[i]; r < to; r++) {
        const source = relation === 'same' ? r : relation.indices[r];
        for (let k = pattern.pointers[source]; k < pattern.pointers[source + 1]; k++) {
          const column = pattern.indices[k];
          if (seen[column] !== i) {
            seen[column] = i;
            indices.push(column);
          }
        }
      }
    }
    indices.sortFrom(pointers[i]);
    pointers[i + 1] = indices.length;
  }
  return {rows: size, columns, pointers, indices: indices.finish()};
}

/** The pattern of ∂output/∂input; undefined inputs of the path contribute nothing. */
export function sparsityPattern(output: Node | undefined, input: Node, outputSize: number): SparsityPattern {
  const patterns = new Map<Node, SparsityPattern>([[input, identityPattern(input.size)]]);
  if (output !== undefined) {
    for (const node of topological([output])) {
      if (patterns.has(node)) continue;
      const parts: Part[] = [];
      node.operands.forEach((operand, k) => {
        const pattern = patterns.get(operand);
        if (pattern === undefined) return;
        const relation = primitiveOf(node).dependence(node, k);
        if (relation !== 'none') parts.push({relation, pattern});
      });
      if (parts.length === 0) continue;
      const only = parts[0];
      const unchanged =
        only.relation === 'same' && parts.every(part => part.relation === 'same' && part.pattern === only.pattern);
      patterns.set(node, unchanged ? only.pattern : combine(node.size, input.size, parts));
    }
  }
  const found = output === undefined ? undefined : patterns.get(output);
  return (
    found ?? {
      rows: outputSize,
      columns: input.size,
      pointers: new Int32Array(outputSize + 1),
      indices: new Int32Array(0),
    }
  );
}

/** The pattern with rows and columns exchanged. */
export function transposePattern(pattern: SparsityPattern): SparsityPattern {
  const pointers = new Int32Array(pattern.columns + 1);
  for (const column of pattern.indices) pointers[column + 1]++;
  for (let i = 0; i < pattern.columns; i++) pointers[i + 1] += pointers[i];
  const next = pointers.slice();
  const indices = new Int32Array(pattern.indices.length);
  for (let row = 0; row < pattern.rows; row++) {
    for (let k = pattern.pointers[row]; k < pattern.pointers[row + 1]; k++) indices[next[pattern.indices[k]]++] = row;
  }
  return {rows: pattern.columns, columns: pattern.rows, pointers, indices};
}
