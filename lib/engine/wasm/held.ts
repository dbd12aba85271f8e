/**
 * In which format a program's stored values are held. In double precision all are alike. In single precision what
 * others see, inputs and outputs, is double all the same, and so are the values that linear algebra works on:
 * factorizations, solutions, running sums and searches are computed in double precision whatever the loops are.
 */
import type {Node} from '../../graph/node.js';
import {isOp} from '../../graph/node.js';
import type {Format} from './format.js';
import {double} from './format.js';
import type {LoweredProgram} from './lower.js';
import type {KernelStep} from './steps.js';
import {plainSteps} from './steps.js';
import {kinds} from './storage.js';

export class Held {
  /** Values that kernels in double precision read or write. */
  private readonly doubles = new Set<Node>();
  /** Values that products in the programs' format read or write. */
  private readonly multiplied = new Set<Node>();

  constructor(
    private readonly lowered: LoweredProgram,
    readonly format: Format,
  ) {
    if (format === double) return;
    const steps = plainSteps(lowered.steps);
    const kernels = steps.filter((step): step is KernelStep => step.kind === 'kernel');
    const products = kernels.filter(({node}) => node.op === 'matMul');
    for (const step of kernels) if (step.node.op !== 'matMul') valuesOf(step).forEach(node => this.doubles.add(node));
    // A product with any of these is one of linear algebra's, and so on along chains of products.
    for (let before = -1; before < this.doubles.size;) {
      before = this.doubles.size;
      for (const step of products)
        if (valuesOf(step).some(node => kinds[node.op] !== 'leaf' && this.doubles.has(node)))
          valuesOf(step).forEach(node => this.doubles.add(node));
    }
    for (const step of products)
      if (this.productFormat(step.node) === format) valuesOf(step).forEach(node => this.multiplied.add(node));
  }

  /** Format in which a product is computed. */
  productFormat(node: Node): Format {
    return this.doubles.has(node) ? double : this.format;
  }

  /** Whether a value may be written where others see it: a product's is converted on the way. */
  mayBeOutput(node: Node): boolean {
    return !this.multiplied.has(node);
  }

  /** Inputs that products read in another format than their buffers'. */
  get converted(): Node<'input'>[] {
    return [...this.multiplied].filter(node => isOp(node, 'input'));
  }

  /** Format of a value in the programs' own memory. */
  own(node: Node): Format {
    return this.doubles.has(node) || this.lowered.precise.has(node) ? double : this.format;
  }
}

function valuesOf({node, operands}: KernelStep): Node[] {
  return [node, ...operands.map(({of}) => of)];
}
