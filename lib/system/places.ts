/** Entries of flat arrays, found and named. */
import type {Shape} from '../graph/node.js';

/** The first entry that is not finite, or −1. */
export function firstNotFinite(values: Float64Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}

/** An entry's place in a shape, as one writes it: [1, 0]. */
export function indexText(shape: Shape, at: number): string {
  if (shape.length === 0) return '';
  const index: number[] = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index.unshift(at % shape[axis]);
    at = Math.floor(at / shape[axis]);
  }
  return `[${index.join(', ')}]`;
}
