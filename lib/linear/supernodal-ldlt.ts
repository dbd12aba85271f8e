/** L D Lᵀ over supernodes, every pivot on the diagonal. */
import type {PanelBlocks, PanelKernels} from './panels.js';
import {Pivots, type PivotRule} from './pivots.js';
import {Supernodal} from './supernodal.js';
import type {Supernodes} from './supernodes.js';

export class SupernodalLdlt extends Supernodal<PanelBlocks> {
  /** The pivots of the last factorization. */
  readonly pivots = new Pivots();
  private scale: Float64Array = new Float64Array(0);
  private rule: PivotRule = 'positive';
  private floor = 0;

  constructor(nodes: Supernodes, kernels: PanelKernels) {
    super(nodes, kernels, true);
  }

  createBlocks(): PanelBlocks {
    return this.kernels.createBlocks();
  }

  clear(blocks: PanelBlocks): Float64Array {
    return this.kernels.clear(blocks);
  }

  /**
   * Factors what was written into the cleared blocks. `scale[k]` is the natural size of pivot k and `floor` the
   * share of it that a pivot needs. False when the rule made it give up.
   */
  factor(blocks: PanelBlocks, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    [this.scale, this.rule, this.floor] = [scale, rule, floor];
    this.pivots.begin();
    return this.factorBlocks(blocks, blocks);
  }

  protected factorColumns(_: PanelBlocks, s: number, c: number, columns: number): boolean {
    const {first, rowPointers, blocks: starts} = this.nodes;
    const width = first[s + 1] - first[s];
    const below = rowPointers[s + 1] - rowPointers[s] - c - columns;
    const at = starts[s] + c * width + c;
    if (!this.factorTriangle(at, width, first[s] + c, columns)) return false;
    this.kernels.divide(columns, at + columns * width, width, below);
    return true;
  }

  /** Up to four columns from place `at` of the blocks on; leaves L and 1/D in `triangle` too. */
  private factorTriangle(at: number, width: number, k: number, columns: number): boolean {
    const {pivots, scale, rule, floor} = this;
    const {numbers: blocks, pivotValues, triangle} = this.kernels;
    const diagonal = (columns * (columns - 1)) / 2;
    for (let t = 0; t < columns; t++) {
      const pivot = pivots.accept(blocks[at + t * width + t], scale[k + t], rule, floor);
      if (pivot === 0) return false;
      pivotValues[k + t] = pivot;
      const reciprocal = 1 / pivot;
      blocks[at + t * width + t] = reciprocal;
      triangle[diagonal + t] = reciprocal;
      for (let r = t + 1; r < columns; r++) {
        const row = at + r * width;
        const l = blocks[row + t] * reciprocal;
        // Row c of this column is not divided yet where c ≥ r.
        for (let c = t + 1; c < r; c++) blocks[row + c] -= l * blocks[at + c * width + t] * pivot;
        blocks[row + r] -= l * blocks[row + t];
        blocks[row + t] = l;
        triangle[(r * (r - 1)) / 2 + t] = l;
      }
    }
    return true;
  }

  solve(blocks: PanelBlocks, _: boolean): void {
    const {count} = this.nodes;
    this.kernels.enter(blocks);
    this.kernels.forward(0, 0, count);
    this.kernels.backward(0, 0, count);
  }
}
