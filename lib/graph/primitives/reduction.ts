/** Sums, extremes and running sums along axes. */
import {argExtreme, binary, cumsum, div, expandReduced, max, min, mul, sum, viewTable} from '../build.js';
import type {Shape} from '../node.js';
import {sizeOf, stridesOf} from '../node.js';
import type {Kernel, Primitive, Relation} from './primitive.js';
import {evenRows, rows} from './primitive.js';
import type {Groups} from './summation.js';
import {rowLength, sums} from './summation.js';

function groups(shape: Shape, axes: readonly number[]): Groups {
  const strides = stridesOf(shape);
  const kept = shape.map((_, axis) => axis).filter(axis => !axes.includes(axis));
  return {
    starts: viewTable(
      kept.map(axis => shape[axis]),
      0,
      kept.map(axis => strides[axis]),
    ),
    offsets: viewTable(
      axes.map(axis => shape[axis]),
      0,
      axes.map(axis => strides[axis]),
    ),
  };
}

function groupRows(shape: Shape, axes: readonly number[]): Relation {
  const {starts, offsets} = groups(shape, axes);
  return evenRows(starts.length, offsets.length, (i, k) => starts[i] + offsets[k]);
}

export const sumPrimitive: Primitive<'sum'> = {
  evaluate(node) {
    const [{shape}] = node.operands;
    const {axes} = node.attributes;
    const loop = sums(groups(shape, axes), rowLength(shape, axes));
    return ([x], out) => loop(x, out);
  },
  tangent: (node, [dx]) => (dx === undefined ? undefined : sum(dx, node.attributes.axes)),
  transpose: (node, cotangent) => [expandReduced(cotangent, node.operands[0].shape, node.attributes.axes)],
  dependence: node => groupRows(node.operands[0].shape, node.attributes.axes),
  batch: (node, [x]) =>
    sum(
      x,
      node.attributes.axes.map(axis => axis + 1),
    ),
};

/** The largest and the smallest of each group, each with a loop of its own: see loops.ts. */
const extremeKernels = {
  max:
    ({starts, offsets}: Groups): Kernel =>
    ([x], out) => {
      for (let i = 0; i < out.length; i++) {
        let best = -Infinity;
        for (let k = 0; k < offsets.length; k++) best = Math.max(best, x[starts[i] + offsets[k]]);
        out[i] = best;
      }
    },
  min:
    ({starts, offsets}: Groups): Kernel =>
    ([x], out) => {
      for (let i = 0; i < out.length; i++) {
        let best = Infinity;
        for (let k = 0; k < offsets.length; k++) best = Math.min(best, x[starts[i] + offsets[k]]);
        out[i] = best;
      }
    },
};

function extremePrimitive<O extends 'max' | 'min'>(op: O): Primitive<O> {
  return {
    evaluate: node => extremeKernels[op](groups(node.operands[0].shape, node.attributes.axes)),
    /** Elements that share the extreme share the derivative in equal parts. */
    tangent(node, [dx]) {
      if (dx === undefined) return undefined;
      const [x] = node.operands;
      const {axes} = node.attributes;
      const attained = binary('equal', x, expandReduced(node, x.shape, axes));
      const share = div(attained, expandReduced(sum(attained, axes), x.shape, axes));
      return sum(mul(share, dx), axes);
    },
    dependence: node => groupRows(node.operands[0].shape, node.attributes.axes),
    batch: (node, [x]) =>
      (op === 'max' ? max : min)(
        x,
        node.attributes.axes.map(axis => axis + 1),
      ),
  };
}

export const maxPrimitive = extremePrimitive('max');
export const minPrimitive = extremePrimitive('min');

const argKernels = {
  argMax:
    ({starts, offsets}: Groups): Kernel =>
    ([x], out) => {
      for (let i = 0; i < out.length; i++) {
        let best = 0;
        for (let k = 1; k < offsets.length; k++) if (x[starts[i] + offsets[k]] > x[starts[i] + offsets[best]]) best = k;
        out[i] = best;
      }
    },
  argMin:
    ({starts, offsets}: Groups): Kernel =>
    ([x], out) => {
      for (let i = 0; i < out.length; i++) {
        let best = 0;
        for (let k = 1; k < offsets.length; k++) if (x[starts[i] + offsets[k]] < x[starts[i] + offsets[best]]) best = k;
        out[i] = best;
      }
    },
};

function argPrimitive<O extends 'argMax' | 'argMin'>(op: O): Primitive<O> {
  return {
    evaluate: node => argKernels[op](groups(node.operands[0].shape, [node.attributes.axis])),
    tangent: () => undefined,
    dependence: () => 'none',
    batch: (node, [x]) => argExtreme(op, x, node.attributes.axis + 1),
  };
}

export const argMaxPrimitive = argPrimitive('argMax');
export const argMinPrimitive = argPrimitive('argMin');

export const cumsumPrimitive: Primitive<'cumsum'> = {
  evaluate(node) {
    const {axis, exclusive, reverse} = node.attributes;
    const length = node.shape[axis];
    const stride = stridesOf(node.shape)[axis];
    const outer = sizeOf(node.shape.slice(0, axis));
    const step = reverse ? -stride : stride;
    return ([x], out) => {
      for (let block = 0; block < outer; block++) {
        for (let inner = 0; inner < stride; inner++) {
          let at = block * length * stride + inner + (reverse ? (length - 1) * stride : 0);
          let total = 0;
          for (let k = 0; k < length; k++, at += step) {
            const value = x[at];
            out[at] = exclusive ? total : total + value;
            total += value;
          }
        }
      }
    };
  },
  tangent: (node, [dx]) =>
    dx === undefined ? undefined : cumsum(dx, node.attributes.axis, node.attributes.exclusive, node.attributes.reverse),
  transpose: (node, cotangent) => [
    cumsum(cotangent, node.attributes.axis, node.attributes.exclusive, !node.attributes.reverse),
  ],
  dependence(node) {
    const {axis, exclusive, reverse} = node.attributes;
    const stride = stridesOf(node.shape)[axis];
    const length = node.shape[axis];
    return rows(node.size, (i, push) => {
      const k = Math.floor(i / stride) % length;
      for (let other = 0; other < length; other++) {
        if (reverse ? other > k : other < k) push(i + (other - k) * stride);
      }
      if (!exclusive) push(i);
    });
  },
  batch: (node, [x]) => cumsum(x, node.attributes.axis + 1, node.attributes.exclusive, node.attributes.reverse),
};
