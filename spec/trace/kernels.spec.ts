/** Every kernel that can be traced, on random shapes and attributes, against tfjs itself. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {TraceError} from '../../lib/errors.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {topological} from '../../lib/graph/node.js';
import {refusals, supportedKernels, trace} from '../../lib/trace/trace.js';
import {agree, choice, flag, floats, integer, shapeOf, truths, wholes} from './agreement.js';
import type {Case, Draw, Drawn} from './agreement.js';
import {runs} from '../property.js';

type Op = (x: tf.Tensor) => tf.Tensor;

const unary =
  (f: Op, low = -2, high = 2, gradient = true) =>
  (g: Draw): Case => ({inputs: [floats(g, shapeOf(g), low, high)], f, gradient});

/** A shape and one that broadcasts against it. */
function broadcasting(g: Draw): [number[], number[]] {
  const shape = shapeOf(g, 0, 3);
  const other = shape.slice(integer(g, 0, shape.length)).map(n => (flag(g) ? n : 1));
  return flag(g) ? [shape, other] : [other, shape];
}

const binary =
  (f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor, low = -2, high = 2, gradient = true) =>
  (g: Draw): Case => {
    const [a, b] = broadcasting(g);
    return {inputs: [floats(g, a, low, high), floats(g, b, low, high)], f, gradient};
  };

const logical =
  (f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor) =>
  (g: Draw): Case => {
    const [a, b] = broadcasting(g);
    return {inputs: [truths(g, a), truths(g, b)], f};
  };

const wholePair =
  (f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor, low: number, high: number) =>
  (g: Draw): Case => {
    const [a, b] = broadcasting(g);
    return {inputs: [wholes(g, a, low, high), wholes(g, b, low, high)], f};
  };

function reducing(g: Draw): {shape: number[]; axes: number[] | undefined; keep: boolean} {
  const shape = shapeOf(g, 1, 4, 3);
  const axes = shape.map((_, axis) => axis).filter(() => flag(g));
  return {
    shape,
    axes: flag(g) || axes.length === 0 ? undefined : axes.map(axis => (flag(g) ? axis : axis - shape.length)),
    keep: flag(g),
  };
}

type Reduce = (x: tf.Tensor, axes: number[] | undefined, keep: boolean) => tf.Tensor;
const reduction =
  (f: Reduce, gradient = true, kind: 'float' | 'truth' = 'float') =>
  (g: Draw): Case => {
    const {shape, axes, keep} = reducing(g);
    return {inputs: [kind === 'float' ? floats(g, shape) : truths(g, shape)], f: x => f(x, axes, keep), gradient};
  };

/** Rows of coordinates inside the leading axes of a shape; distinct where wanted. */
function coordinates(g: Draw, shape: readonly number[], depth: number, count: number, distinct: boolean): Drawn {
  const total = shape.slice(0, depth).reduce((a, b) => a * b, 1);
  const flat = distinct
    ? g(
        fc.shuffledSubarray,
        Array.from({length: total}, (_, i) => i),
        {minLength: Math.min(count, total), maxLength: Math.min(count, total)},
      )
    : Array.from({length: count}, () => integer(g, 0, total - 1));
  const values = flat.flatMap(at => {
    const row: number[] = [];
    for (let axis = depth - 1, rest = at; axis >= 0; rest = Math.floor(rest / shape[axis--]))
      row.unshift(rest % shape[axis]);
    return row;
  });
  return {shape: [flat.length, depth], values, dtype: 'int32'};
}

function scattering(g: Draw, distinct: boolean): {shape: number[]; indices: Drawn; updates: Drawn} {
  const shape = shapeOf(g, 1, 3, 4);
  const depth = integer(g, 1, shape.length);
  const indices = coordinates(g, shape, depth, integer(g, 1, 4), distinct);
  return {shape, indices, updates: floats(g, [indices.shape[0], ...shape.slice(depth)])};
}

function paddings(g: Draw, shape: readonly number[], most: (n: number) => number): [number, number][] {
  return shape.map(n => [integer(g, 0, most(n)), integer(g, 0, most(n))]);
}

const equations = [
  'ij,jk->ik',
  'ij,kj->ik',
  'bij,bjk->bik',
  'ij,ij->',
  'ij,ij->i',
  'i,j->ij',
  'ij->ji',
  'ij->i',
  'ijk->j',
  'i,i->',
  'abc,cd->abd',
  'bij,j->bi',
];

function einsum(g: Draw): Case {
  const equation = choice(g, equations);
  const [left] = equation.split('->');
  const sizes = new Map<string, number>();
  const inputs = left.split(',').map(term => {
    for (const label of term) if (!sizes.has(label)) sizes.set(label, integer(g, 1, 4));
    return floats(
      g,
      [...term].map(label => sizes.get(label) ?? 1),
    );
  });
  return {inputs, f: (...tensors) => tf.einsum(equation, ...tensors), gradient: false};
}

function layered(g: Draw): Case {
  const [m, k, n] = [integer(g, 1, 4), integer(g, 1, 4), integer(g, 1, 4)];
  const [transposeA, transposeB] = [flag(g), flag(g)];
  const activation = choice(g, ['linear', 'relu', 'elu', 'relu6', 'prelu', 'leakyrelu', 'sigmoid'] as const);
  const inputs = [
    floats(g, transposeA ? [k, m] : [m, k]),
    floats(g, transposeB ? [n, k] : [k, n]),
    floats(g, [n]),
    floats(g, [n]),
  ];
  return {
    inputs,
    // tfjs's own gradients of the fused product fall back to separate kernels, or are missing.
    gradient: false,
    f: (a, b, bias, alpha) =>
      tf.fused.matMul({
        a,
        b,
        transposeA,
        transposeB,
        bias,
        activation,
        preluActivationWeights: alpha,
        leakyreluAlpha: 0.3,
      }),
  };
}

function cumulative(f: (x: tf.Tensor, axis: number, exclusive: boolean, reverse: boolean) => tf.Tensor) {
  return (g: Draw): Case => {
    const shape = shapeOf(g, 1, 3, 5);
    const [axis, exclusive, reverse] = [integer(g, 0, shape.length - 1), flag(g), flag(g)];
    // tfjs has no gradient of cumprod, and a wrong one of cumsum off the last axis.
    return {inputs: [floats(g, shape)], f: x => f(x, axis, exclusive, reverse), gradient: false};
  };
}

type Pair = [number, number];

/** Sizes of a convolution that tfjs takes: dilations and strides above 1 exclude each other. */
function convolved(g: Draw, channels = integer(g, 1, 2)) {
  const filter: Pair = [integer(g, 1, 3), integer(g, 1, 3)];
  const dilated = flag(g);
  return {
    x: [integer(g, 1, 2), integer(g, 5, 7), integer(g, 5, 6), channels] as const,
    filter,
    strides: (dilated ? [1, 1] : [integer(g, 1, 2), integer(g, 1, 2)]) as Pair,
    dilations: (dilated ? [integer(g, 1, 2), integer(g, 1, 2)] : [1, 1]) as Pair,
    pad: choice(g, ['same', 'valid'] as const),
  };
}

const conv2d = (g: Draw): Case => {
  const {x, filter, strides, dilations, pad} = convolved(g);
  return {
    inputs: [floats(g, x), floats(g, [...filter, x[3], integer(g, 1, 3)])],
    // tfjs has no gradient of dilated convolutions.
    gradient: dilations.every(d => d === 1),
    f: (a, w) => tf.conv2d(a as tf.Tensor4D, w as tf.Tensor4D, strides, pad, 'NHWC', dilations),
  };
};

const depthwise = (g: Draw): Case => {
  const {x, filter, strides, dilations, pad} = convolved(g);
  return {
    inputs: [floats(g, x), floats(g, [...filter, x[3], integer(g, 1, 2)])],
    gradient: dilations.every(d => d === 1),
    f: (a, w) => tf.depthwiseConv2d(a as tf.Tensor4D, w as tf.Tensor4D, strides, pad, 'NHWC', dilations),
  };
};

/** The kernels that go back, by tf.grad inside the function; they are linear, and differentiated again. */
const goingBack =
  (forward: (g: Draw) => Case, wrt: 0 | 1) =>
  (g: Draw): Case => {
    let {inputs, f, gradient} = forward(g);
    while (gradient === false) ({inputs, f, gradient} = forward(g));
    const y = tf.tidy(() => (f(...inputs.map(({shape}) => tf.zeros([...shape]))) as tf.Tensor).shape);
    return {
      inputs: [...inputs, floats(g, y)],
      gradient: false,
      f: (x, w, dy) =>
        wrt === 0
          ? tf.grad(own => tf.sum(tf.mul(f(own, w) as tf.Tensor, dy)))(x)
          : tf.grad(own => tf.sum(tf.mul(f(x, own) as tf.Tensor, dy)))(w),
    };
  };

const fusedConvolution =
  (f: typeof tf.fused.conv2d, depthwiseFilter: boolean) =>
  (g: Draw): Case => {
    const {x, filter, strides, dilations, pad} = convolved(g);
    const last = integer(g, 1, 2);
    const outputs = depthwiseFilter ? x[3] * last : last;
    const activation = choice(g, ['linear', 'relu', 'elu', 'relu6', 'prelu', 'leakyrelu', 'sigmoid'] as const);
    return {
      inputs: [floats(g, x), floats(g, [...filter, x[3], last]), floats(g, [outputs]), floats(g, [1, 1, outputs])],
      gradient: false,
      f: (a, w, bias, alpha) =>
        f({
          x: a as tf.Tensor4D,
          filter: w as tf.Tensor4D,
          strides,
          dilations,
          pad,
          bias,
          activation,
          preluActivationWeights: alpha,
          leakyreluAlpha: 0.3,
        }),
    };
  };

const pooling =
  (f: typeof tf.maxPool) =>
  (g: Draw): Case => {
    const {x, filter, strides, pad} = convolved(g);
    return {inputs: [floats(g, x)], f: a => f(a as tf.Tensor4D, filter, strides, pad)};
  };

const resizing =
  (f: typeof tf.image.resizeBilinear) =>
  (g: Draw): Case => {
    const size: Pair = [integer(g, 1, 9), integer(g, 1, 9)];
    const aligned = flag(g);
    const halfPixels = !aligned && flag(g);
    return {
      inputs: [floats(g, [integer(g, 1, 2), integer(g, 2, 5), integer(g, 2, 5), 2])],
      f: x => f(x as tf.Tensor4D, size, aligned, halfPixels),
    };
  };

/** tfjs refuses an index outside its axis, and fails where a window ends before it begins. */
function isWindow(describe: () => tf.slice_util.SliceInfo): boolean {
  try {
    const {begin, end, strides} = describe();
    return tf.slice_util.computeOutShape(begin, end, strides).every(n => n >= 0);
  } catch {
    return false;
  }
}

function stridedSlice(g: Draw): Case {
  const shape = shapeOf(g, 1, 3, 5);
  const spec = Array.from({length: integer(g, 1, shape.length)}, (_, axis) => ({
    begin: integer(g, -shape[axis], shape[axis] - 1),
    end: integer(g, -shape[axis], shape[axis]),
    stride: choice(g, [1, 2, -1, -2]),
  }));
  const mask = (): number => integer(g, 0, 2 ** spec.length - 1);
  const [beginMask, endMask] = [mask(), mask()];
  // tfjs mistakes axes where it drops one and steps along another: see the case below the table.
  const shrink = flag(g) && spec.every(({stride}) => stride === 1) ? 1 << integer(g, 0, spec.length - 1) : 0;
  const strides = spec.map(({stride}, i) => ((shrink >> i) & 1 ? 1 : stride));
  const newAxis = spec.length > 1 && flag(g) ? 1 << integer(g, 0, spec.length - 1) : 0;
  const ellipsis = newAxis === 0 && flag(g) ? 1 << integer(g, 0, spec.length - 1) : 0;
  const [begin, end, shrinkMask] = [spec.map(s => s.begin), spec.map(s => s.end), shrink & ~newAxis & ~ellipsis];
  fc.pre(
    isWindow(() =>
      tf.slice_util.sliceInfo(shape, begin, end, strides, beginMask, endMask, ellipsis, newAxis, shrinkMask),
    ),
  );
  return {
    inputs: [floats(g, shape)],
    f: x => tf.stridedSlice(x, begin, end, strides, beginMask, endMask, ellipsis, newAxis, shrinkMask),
    gradient: false,
  };
}

function gathering(g: Draw): Case {
  const shape = shapeOf(g, 1, 3, 4);
  const batchDims = integer(g, 0, Math.min(1, shape.length - 1));
  const axis = integer(g, batchDims, shape.length - 1);
  const rank = integer(g, Math.max(batchDims, 1), 2);
  const indexShape = Array.from({length: rank}, (_, i) => (i < batchDims ? shape[i] : integer(g, 1, 4)));
  // tfjs's gradient of gather with batch dimensions, or of one whose result has other axes than x, is not there.
  return {
    inputs: [floats(g, shape), wholes(g, indexShape, 0, shape[axis])],
    f: (x, indices) => tf.gather(x, indices as tf.Tensor1D, axis, batchDims),
    gradient: batchDims === 0 && rank === 1,
  };
}

function evenGathering(g: Draw): Case {
  const shape = shapeOf(g, 1, 3, 6);
  const axis = integer(g, 0, shape.length - 1);
  const [first, last, count] = [integer(g, 0, shape[axis] - 1), integer(g, 0, shape[axis] - 1), integer(g, 1, 4)];
  const step = Math.trunc((last - first) / count);
  return {
    inputs: [
      floats(g, shape),
      {shape: [count], dtype: 'int32', values: Array.from({length: count}, (_, i) => first + i * step)},
    ],
    f: (x, indices) => tf.gather(x, indices as tf.Tensor1D, axis),
  };
}

const cases: {readonly [kernel: string]: (g: Draw) => Case} = {
  Abs: unary(tf.abs),
  Acos: unary(tf.acos, -0.9, 0.9),
  Acosh: unary(tf.acosh, 1.2, 4),
  Add: binary(tf.add),
  AddN: g => {
    const shape = shapeOf(g);
    return {
      inputs: Array.from({length: integer(g, 1, 4)}, () => floats(g, shape)),
      f: (...tensors) => tf.addN(tensors),
    };
  },
  All: reduction((x, axes, keep) => tf.all(x, axes, keep), false, 'truth'),
  Any: reduction((x, axes, keep) => tf.any(x, axes, keep), false, 'truth'),
  ArgMax: g => ({inputs: [floats(g, shapeOf(g, 1, 3))], f: x => tf.argMax(x, 0), gradient: false}),
  ArgMin: g => ({inputs: [floats(g, shapeOf(g, 1, 3))], f: x => tf.argMin(x, -1), gradient: false}),
  Asin: unary(tf.asin, -0.9, 0.9),
  Asinh: unary(tf.asinh),
  Atan: unary(tf.atan),
  Atan2: binary(tf.atan2, 0.2, 2),
  Atanh: unary(tf.atanh, -0.8, 0.8),
  BatchMatMul: g => {
    const [m, k, n] = [integer(g, 1, 4), integer(g, 1, 4), integer(g, 1, 4)];
    const batch = shapeOf(g, 0, 2, 3);
    // tfjs counts batches modulo the smaller one, which is right only where whole leading axes repeat.
    const other = batch.slice(integer(g, 0, batch.length));
    const [transposeA, transposeB] = [flag(g), flag(g)];
    const same = other.length === batch.length;
    return {
      inputs: [
        floats(g, [...batch, ...(transposeA ? [k, m] : [m, k])]),
        floats(g, [...other, ...(transposeB ? [n, k] : [k, n])]),
      ],
      f: (a, b) => tf.matMul(a, b, transposeA, transposeB),
      gradient: same,
    };
  },
  BatchToSpaceND: g => {
    const block = [integer(g, 1, 2), integer(g, 1, 2)];
    const x = floats(g, [block[0] * block[1] * integer(g, 1, 2), integer(g, 2, 3), integer(g, 2, 3), integer(g, 1, 2)]);
    const crops = block.map(() => [integer(g, 0, 1), integer(g, 0, 1)] as [number, number]);
    return {inputs: [x], f: tensor => tf.batchToSpaceND(tensor, block, crops)};
  },
  Bincount: g => {
    const n = integer(g, 1, 6);
    return {
      inputs: [wholes(g, [n], 0, 5), flag(g) ? floats(g, [n]) : floats(g, [0])],
      f: (x, weights) => tf.bincount(x as tf.Tensor1D, weights as tf.Tensor1D, 4),
      gradient: false,
    };
  },
  BitwiseAnd: g => {
    const shape = shapeOf(g);
    return {inputs: [wholes(g, shape, 0, 64), wholes(g, shape, 0, 64)], f: tf.bitwiseAnd};
  },
  Cast: g => ({
    inputs: [floats(g, shapeOf(g), -4, 4)],
    f: x => [
      tf.cast(x, 'int32'),
      tf.cast(x, 'bool'),
      tf.cast(tf.cast(x, 'int32'), 'float32'),
      tf.cast(tf.greater(x, 0), 'float32'),
    ],
    gradient: false,
  }),
  Ceil: unary(tf.ceil),
  ClipByValue: unary(x => tf.clipByValue(x, -0.75, 0.5)),
  Concat: g => {
    const shape = shapeOf(g, 1, 3);
    const axis = integer(g, 0, shape.length - 1);
    const parts = Array.from({length: integer(g, 1, 3)}, () =>
      floats(
        g,
        shape.map((n, i) => (i === axis ? integer(g, 1, 3) : n)),
      ),
    );
    return {inputs: parts, f: (...tensors) => tf.concat(tensors, axis)};
  },
  Cos: unary(tf.cos),
  Cosh: unary(tf.cosh),
  Cumprod: cumulative(tf.cumprod),
  Cumsum: cumulative(tf.cumsum),
  DenseBincount: g => {
    const shape = shapeOf(g, 1, 2, 4);
    const binaryOutput = shape.length === 2 && flag(g);
    return {
      inputs: [wholes(g, shape, 0, 5), flag(g) ? floats(g, shape) : floats(g, [0])],
      f: (x, weights) => tf.denseBincount(x as tf.Tensor1D, weights as tf.Tensor1D, 4, binaryOutput),
      gradient: false,
    };
  },
  DepthToSpace: g => {
    const block = integer(g, 2, 3);
    return {
      inputs: [floats(g, [integer(g, 1, 2), integer(g, 1, 3), integer(g, 1, 3), block * block * integer(g, 1, 2)])],
      f: x => tf.depthToSpace(x as tf.Tensor4D, block, 'NHWC'),
      gradient: false,
    };
  },
  Diag: g => ({inputs: [floats(g, shapeOf(g, 1, 3))], f: x => tf.diag(x), gradient: false}),
  Einsum: einsum,
  Elu: unary(tf.elu),
  EluGrad: g => ({
    inputs: [floats(g, shapeOf(g))],
    f: x => tf.grad((z: tf.Tensor) => tf.sum(tf.elu(z)))(x),
    gradient: false,
  }),
  Equal: wholePair(tf.equal, 0, 3),
  Erf: unary(tf.erf),
  Exp: unary(tf.exp),
  ExpandDims: g => {
    const shape = shapeOf(g);
    const axis = integer(g, -shape.length - 1, shape.length);
    return {inputs: [floats(g, shape)], f: x => tf.expandDims(x, axis)};
  },
  Expm1: unary(tf.expm1),
  Fill: g => {
    const [shape, value, dtype] = [shapeOf(g), integer(g, 0, 3), choice(g, ['float32', 'int32'] as const)];
    return {inputs: [], f: () => tf.fill(shape, value, dtype)};
  },
  Floor: unary(tf.floor),
  FloorDiv: g => {
    const [a, b] = broadcasting(g);
    return {inputs: [wholes(g, a, -9, 9), wholes(g, b, 1, 4)], f: (x, y) => [tf.floorDiv(x, y), tf.div(x, y)]};
  },
  FusedBatchNorm: g => {
    const shape = shapeOf(g, 4, 4, 3);
    const channel = [shape[3]];
    const [x, mean, gain, offset] = [floats(g, shape), floats(g, channel), floats(g, channel), floats(g, channel)];
    const [scaled, shifted] = [flag(g), flag(g)];
    const f = (t: tf.Tensor, m: tf.Tensor, v: tf.Tensor, s: tf.Tensor, o: tf.Tensor) =>
      tf.batchNorm(
        t as tf.Tensor4D,
        m as tf.Tensor1D,
        v as tf.Tensor1D,
        shifted ? (o as tf.Tensor1D) : undefined,
        scaled ? (s as tf.Tensor1D) : undefined,
        0.01,
      );
    return {inputs: [x, mean, floats(g, channel, 0.5, 2), gain, offset], f, gradient: scaled && shifted};
  },
  GatherNd: g => {
    const {shape, indices} = scattering(g, false);
    return {inputs: [floats(g, shape), indices], f: (x, at) => tf.gatherND(x, at), gradient: false};
  },
  GatherV2: g => (flag(g) ? gathering(g) : evenGathering(g)),
  Greater: wholePair(tf.greater, 0, 3),
  GreaterEqual: wholePair(tf.greaterEqual, 0, 3),
  Identity: unary(x => tf.clone(x)),
  IsFinite: unary(x => tf.isFinite(tf.div(x, tf.relu(x))), -2, 2, false),
  IsInf: unary(x => tf.isInf(tf.div(1, tf.relu(x))), -2, 2, false),
  IsNan: unary(x => tf.isNaN(tf.sqrt(x)), -2, 2, false),
  LeakyRelu: unary(x => tf.leakyRelu(x, 0.3)),
  Less: wholePair(tf.less, 0, 3),
  LessEqual: wholePair(tf.lessEqual, 0, 3),
  LinSpace: g => {
    const [start, stop, count] = [integer(g, -3, 3), integer(g, -3, 3), integer(g, 1, 6)];
    return {inputs: [], f: () => tf.linspace(start, stop, count)};
  },
  Log: unary(tf.log, 0.1, 4),
  Log1p: unary(tf.log1p, -0.5, 4),
  LogicalAnd: logical(tf.logicalAnd),
  LogicalNot: g => ({inputs: [truths(g, shapeOf(g))], f: x => tf.logicalNot(x)}),
  LogicalOr: logical(tf.logicalOr),
  LRN: g => {
    const [radius, shape] = [integer(g, 1, 3), shapeOf(g, 4, 4, 4)];
    return {
      inputs: [floats(g, shape)],
      f: x => tf.localResponseNormalization(x as tf.Tensor4D, radius, 1.5, 0.7, 0.6),
      gradient: false,
    };
  },
  LRNGrad: g => {
    const [radius, shape] = [integer(g, 1, 3), shapeOf(g, 4, 4, 4)];
    return {
      inputs: [floats(g, shape), floats(g, shape)],
      f: (x, w) =>
        tf.grad((z: tf.Tensor) =>
          tf.sum(tf.mul(w, tf.localResponseNormalization(z as tf.Tensor4D, radius, 1.5, 0.7, 0.6))),
        )(x),
      gradient: false,
    };
  },
  Max: reduction((x, axes, keep) => tf.max(x, axes, keep)),
  Maximum: binary(tf.maximum),
  Mean: reduction((x, axes, keep) => tf.mean(x, axes, keep)),
  Min: reduction((x, axes, keep) => tf.min(x, axes, keep)),
  Minimum: binary(tf.minimum),
  MirrorPad: g => {
    const mode = choice(g, ['reflect', 'symmetric'] as const);
    const shape = shapeOf(g, 1, 3, 4);
    const widths = paddings(g, shape, n => (mode === 'reflect' ? n - 1 : n));
    return {inputs: [floats(g, shape)], f: x => tf.mirrorPad(x, widths, mode), gradient: false};
  },
  Mod: g => {
    const [a, b] = broadcasting(g);
    return {inputs: [floats(g, a, -5, 5), floats(g, b, 0.7, 2)], f: tf.mod, gradient: false};
  },
  Multiply: binary(tf.mul),
  Neg: unary(tf.neg),
  NotEqual: wholePair(tf.notEqual, 0, 3),
  OneHot: g => {
    const [depth, on, off] = [integer(g, 2, 5), integer(g, 0, 3), integer(g, 0, 3)];
    const dtype = choice(g, ['float32', 'int32'] as const);
    return {inputs: [wholes(g, shapeOf(g, 0, 2), -1, depth + 1)], f: x => tf.oneHot(x, depth, on, off, dtype)};
  },
  OnesLike: unary(x => tf.add(tf.onesLike(x), tf.mul(x, 0))),
  Pack: g => {
    const shape = shapeOf(g, 0, 2);
    const axis = integer(g, -shape.length - 1, shape.length);
    return {
      inputs: Array.from({length: integer(g, 1, 3)}, () => floats(g, shape)),
      f: (...tensors) => tf.stack(tensors, axis),
      gradient: axis >= 0,
    };
  },
  PadV2: g => {
    const shape = shapeOf(g, 1, 3);
    const [widths, value] = [paddings(g, shape, () => 2), choice(g, [0, 0.7])];
    return {inputs: [floats(g, shape)], f: x => tf.pad(x, widths, value)};
  },
  Pow: binary(tf.pow, 0.3, 2),
  Prelu: g => {
    const shape = shapeOf(g, 1, 3);
    return {inputs: [floats(g, shape), floats(g, shape)], f: (x, alpha) => tf.prelu(x, alpha)};
  },
  Prod: reduction((x, axes, keep) => tf.prod(x, axes, keep), false),
  Range: g => {
    const [start, stop, step] = [integer(g, -5, 5), integer(g, -5, 5), choice(g, [1, 2, -1, -2, 0.5])];
    const dtype = choice(g, ['float32', 'int32'] as const);
    return {
      inputs: [],
      f: () => tf.range(start, stop, dtype === 'int32' ? Math.sign(step) * Math.ceil(Math.abs(step)) : step, dtype),
    };
  },
  RealDiv: binary(tf.div, 0.3, 2),
  Reciprocal: unary(tf.reciprocal, 0.3, 2),
  Relu: unary(tf.relu),
  Relu6: unary(x => tf.relu6(tf.mul(x, 5))),
  Reshape: g => {
    const shape = shapeOf(g, 1, 3);
    return {inputs: [floats(g, shape)], f: x => tf.reshape(x, [-1, shape[0]])};
  },
  Reverse: g => {
    const shape = shapeOf(g, 1, 3);
    const axes = shape.map((_, axis) => axis).filter(() => flag(g));
    return {inputs: [floats(g, shape)], f: x => tf.reverse(x, axes)};
  },
  Round: g => ({inputs: [{...floats(g, [4]), values: [0.5, 1.5, -0.5, -2.5]}], f: x => tf.round(x)}),
  Rsqrt: unary(tf.rsqrt, 0.3, 2),
  ScatterNd: g => {
    const {shape, indices, updates} = scattering(g, false);
    return {inputs: [indices, updates], f: (at, x) => tf.scatterND(at, x, shape), gradient: false};
  },
  SearchSorted: g => {
    const rows = integer(g, 1, 3);
    const sorted = Array.from({length: rows}, () => [...floats(g, [5]).values].sort((a, b) => a - b)).flat();
    const side = choice(g, ['left', 'right'] as const);
    return {
      inputs: [{shape: [rows, 5], values: sorted, dtype: 'float32'}, floats(g, [rows, integer(g, 1, 4)])],
      f: (s, x) => tf.searchSorted(s, x, side),
      gradient: false,
    };
  },
  Select: g => {
    const [a, b] = broadcasting(g);
    return {
      inputs: [truths(g, a.length > b.length ? a : b), floats(g, a), floats(g, b)],
      f: (c, x, y) => tf.where(c, x, y),
      gradient: a.length === b.length && a.every((n, i) => n === b[i]),
    };
  },
  Selu: unary(tf.selu),
  Sigmoid: unary(tf.sigmoid),
  Sign: unary(tf.sign),
  Sin: unary(tf.sin),
  Sinh: unary(tf.sinh),
  Slice: g => {
    const shape = shapeOf(g, 1, 4);
    const begin = shape.map(n => integer(g, 0, n - 1));
    const size = shape.map((n, i) => (flag(g) ? -1 : integer(g, 1, n - begin[i])));
    return {inputs: [floats(g, shape)], f: x => tf.slice(x, begin, size)};
  },
  Softmax: g => ({inputs: [floats(g, shapeOf(g, 1, 3))], f: x => [tf.softmax(x), tf.logSoftmax(x)]}),
  Softplus: unary(tf.softplus),
  SpaceToBatchND: g => {
    const block = [integer(g, 1, 2), integer(g, 1, 2)];
    const x = floats(g, [integer(g, 1, 2), block[0] * 2, block[1] * 2, integer(g, 1, 2)]);
    const widths = block.map(b => [b, 0]);
    return {inputs: [x], f: tensor => tf.spaceToBatchND(tensor, block, widths)};
  },
  SparseToDense: g => {
    const {shape, indices} = scattering(g, true);
    const full = coordinates(g, shape, shape.length, indices.shape[0], true);
    return {
      inputs: [full, floats(g, [full.shape[0]]), floats(g, [])],
      f: (at, x, fallback) => tf.sparseToDense(at, x, shape as [number], fallback as tf.Scalar),
      gradient: false,
    };
  },
  SplitV: g => {
    const shape = shapeOf(g, 1, 3);
    const axis = integer(g, 0, shape.length - 1);
    const first = integer(g, 1, shape[axis]);
    const sizes = first === shape[axis] ? 1 : flag(g) ? [first, shape[axis] - first] : [first, -1];
    return {inputs: [floats(g, shape)], f: x => tf.split(x, sizes, axis)};
  },
  Sqrt: unary(tf.sqrt, 0.3, 4),
  Square: unary(tf.square),
  SquaredDifference: binary(tf.squaredDifference),
  Step: unary(x => tf.step(x, 0.3)),
  StridedSlice: stridedSlice,
  Sub: binary(tf.sub),
  Sum: reduction((x, axes, keep) => tf.sum(x, axes, keep)),
  Tan: unary(tf.tan, -1, 1),
  Tanh: unary(tf.tanh),
  TensorScatterUpdate: g => {
    const {shape, indices, updates} = scattering(g, false);
    return {
      inputs: [floats(g, shape), indices, updates],
      f: (x, at, values) => tf.tensorScatterUpdate(x, at, values),
      gradient: false,
    };
  },
  Tile: g => {
    const shape = shapeOf(g, 1, 3, 3);
    const reps = shape.map(() => integer(g, 1, 3));
    return {inputs: [floats(g, shape)], f: x => tf.tile(x, reps)};
  },
  TopK: g => {
    const shape = shapeOf(g, 1, 3, 5);
    const k = integer(g, 1, shape[shape.length - 1]);
    const x = flag(g) ? floats(g, shape) : {...wholes(g, shape, 0, 3), dtype: 'float32' as const};
    return {inputs: [x], f: tensor => Object.values(tf.topk(tensor, k)), gradient: false};
  },
  Transpose: g => {
    const shape = shapeOf(g, 1, 4);
    const permutation = g(
      fc.shuffledSubarray,
      shape.map((_, axis) => axis),
      {minLength: shape.length},
    );
    return {inputs: [floats(g, shape)], f: x => tf.transpose(x, permutation)};
  },
  Unpack: g => {
    const shape = shapeOf(g, 1, 3);
    const axis = integer(g, -shape.length, shape.length - 1);
    return {inputs: [floats(g, shape)], f: x => tf.unstack(x, axis), gradient: axis >= 0};
  },
  UnsortedSegmentSum: g => {
    const shape = shapeOf(g, 1, 3);
    const count = integer(g, 1, 4);
    const ids = wholes(g, [shape[0]], -1, count + 1);
    // tfjs's gradient gathers at every id, and fails at one beyond the segments.
    return {
      inputs: [floats(g, shape), ids],
      f: (x, at) => tf.unsortedSegmentSum(x, at as tf.Tensor1D, count),
      gradient: ids.values.every(id => id < count),
    };
  },
  AvgPool: pooling(tf.avgPool),
  Conv2D: conv2d,
  Conv2DBackpropFilter: goingBack(conv2d, 1),
  Conv2DBackpropInput: goingBack(conv2d, 0),
  DepthwiseConv2dNative: depthwise,
  DepthwiseConv2dNativeBackpropFilter: goingBack(depthwise, 1),
  DepthwiseConv2dNativeBackpropInput: goingBack(depthwise, 0),
  FusedConv2D: fusedConvolution(tf.fused.conv2d, false),
  FusedDepthwiseConv2D: fusedConvolution(tf.fused.depthwiseConv2d as unknown as typeof tf.fused.conv2d, true),
  MaxPool: pooling(tf.maxPool),
  MaxPoolGrad: g => {
    const {inputs, f} = pooling(tf.maxPool)(g);
    return {inputs, gradient: false, f: x => tf.grad(own => tf.sum(tf.square(f(own) as tf.Tensor)))(x)};
  },
  ResizeBilinear: resizing(tf.image.resizeBilinear),
  ResizeNearestNeighbor: resizing(tf.image.resizeNearestNeighbor),
  ZerosLike: unary(x => tf.add(tf.zerosLike(x), x)),
  _FusedMatMul: layered,
};

/** Their numbers are checked where they are defined, in spec/linalg, spec/tfjs and spec/extending, and against the primitives below. */
const ownKernels = [
  'LinalgCholesky',
  'LinalgEigh',
  'LinalgLeastSquares',
  'LinalgLu',
  'LinalgSolve',
  'LinalgSvd',
  'LinalgTriangularSolve',
  'StiffgradGradient',
  'StiffgradMapped',
];

describe('trace: kernels against tfjs', () => {
  before(() => tf.setBackend('cpu'));

  for (const [kernel, draw] of Object.entries(cases)) {
    it(kernel, () =>
      fc.assert(
        fc.property(fc.gen(), g => agree(kernel, draw(g))),
        runs(15),
      ),
    );
  }

  /** Runs a function of one counted tensor 0, 1, 2, … of the given shape. */
  function ofCounted(shape: readonly number[], f: (x: tf.Tensor) => tf.Tensor): number[] {
    const {graph} = trace(({x}) => ({y: f(x)}), [{name: 'x', shape}]);
    const executable = interpreter.compile({f: graph});
    executable.buffer('x').forEach((_, i, x) => (x[i] = i));
    executable.run('f');
    return [...executable.buffer('y')];
  }

  it('stridedSlice that drops one axis and steps along another (tfjs takes wrong elements)', () => {
    expect(
      ofCounted([1, 2, 3], x => tf.stridedSlice(x, [0, -1, 0], [0, 0, 0], [1, 2, 1], 0, 3, 0, 0, 4)),
    ).to.deep.equal([3]);
    expect(ofCounted([2, 5], x => tf.stridedSlice(x, [1, 4], [2, 0], [1, -2], 0, 0, 0, 0, 1))).to.deep.equal([9, 7]);
  });

  it('all, any and argMax of no elements (tfjs: false of both, and position 0)', () => {
    const none = (x: tf.Tensor): tf.Tensor => tf.greater(tf.slice(x, [0, 0], [2, 0]), 0);
    const asked = (f: (truths: tf.Tensor, axis?: number, keep?: boolean) => tf.Tensor): number[] =>
      ofCounted([2, 3], x => {
        const rows = f(none(x), 1);
        return tf.concat([
          tf.cast(rows, 'float32'),
          tf.where(rows, 5, 7),
          tf.reshape(tf.cast(f(none(x), 1, true), 'float32'), [2]),
          tf.reshape(tf.cast(f(none(x)), 'float32'), [1]),
        ]);
      });
    // As of numpy: any([]) is False, all([]) is True.
    expect(asked((truths, axis, keep) => tf.any(truths, axis, keep))).to.deep.equal([0, 0, 7, 7, 0, 0, 0]);
    expect(asked((truths, axis, keep) => tf.all(truths, axis, keep))).to.deep.equal([1, 1, 5, 5, 1, 1, 1]);
    // Of the other axis there are no results, as before.
    expect(ofCounted([2, 3], x => tf.concat([tf.cast(tf.any(none(x), 0), 'float32'), tf.ones([1])]))).to.deep.equal([
      1,
    ]);
    for (const f of [tf.argMax, tf.argMin])
      expect(() => ofCounted([2, 3], x => f(tf.slice(x, [0, 0], [2, 0]), 1)))
        .to.throw(TraceError, /shape \[2, 0\] looks for a position along axis 1, which has no elements/)
        .with.property('code', 'empty-axis');
  });

  it('sum, product, mean and extremes of no elements are 0, 1, NaN, −∞ and ∞', () => {
    const nothing = (x: tf.Tensor): tf.Tensor => tf.slice(x, [0], [0]);
    expect(
      ofCounted([3], x => tf.stack([tf.sum, tf.prod, tf.mean, tf.max, tf.min].map(f => f(nothing(x))))),
    ).to.deep.equal([0, 1, NaN, -Infinity, Infinity]);
  });

  it('matMul with a batch that repeats inside (tfjs pairs wrong matrices)', () => {
    // x[i, j] y[i, 0] for x = [[0, 1], [2, 3]], y = [[0], [1]] as batches of 1 × 1 matrices.
    const product = ofCounted([2, 2, 1, 1], x => tf.matMul(x, tf.reshape(tf.range(0, 2), [2, 1, 1, 1])));
    expect(product).to.deep.equal([0, 0, 2, 3]);
  });

  it('einsum where tfjs has none or a wrong one: repeated labels, several terms, ellipsis', () => {
    expect(ofCounted([3, 3], x => tf.einsum('ii->', x))).to.deep.equal([12]);
    expect(ofCounted([3, 3], x => tf.einsum('ii->i', x))).to.deep.equal([0, 4, 8]);
    expect(ofCounted([2, 2], x => tf.einsum('ij,jk->', x, x))).to.deep.equal([2 * 1 + 4 * 5]);
    expect(ofCounted([2, 2], x => tf.einsum('ij,jk,kl->il', x, x, x))).to.deep.equal([6, 11, 22, 39]);
    expect(ofCounted([2, 2, 2], x => tf.einsum('...ij,jk->...ik', x, tf.eye(2)))).to.deep.equal([
      0, 1, 2, 3, 4, 5, 6, 7,
    ]);
    expect(ofCounted([2, 3], x => tf.einsum('...j->j...', x))).to.deep.equal([0, 3, 1, 4, 2, 5]);
    expect(ofCounted([2, 2], x => tf.einsum('ij,ji', x, x))).to.deep.equal([0 + 2 * 2 + 9]);
  });

  it('even windows of known indices are slices, diagonals strided places: no tables', () => {
    const ops = (f: (x: tf.Tensor) => tf.Tensor): string[] =>
      topological(trace(({x}) => ({y: f(x)}), [{name: 'x', shape: [6, 2]}]).graph.outputs.map(({node}) => node)).map(
        ({op}) => op,
      );
    expect(ops(x => tf.gather(x, [4, 2, 0])))
      .to.include('slice')
      .and.not.include('gather');
    expect(ops(x => tf.gather(x, [1, 1, 1])))
      .to.include('broadcast')
      .and.not.include('gather');
    expect(ops(x => tf.gather(x, [0, 1, 3]))).to.include('gather');
    expect(ops(x => tf.gather(x, tf.add(tf.range(0, 3, 1, 'int32'), tf.scalar(1, 'int32')))))
      .to.include('slice')
      .and.not.include('gatherAt');
    expect(ops(x => tf.diag(x)))
      .to.include('place')
      .and.not.include('scatter');
    expect(
      ops(x =>
        tf.mirrorPad(
          x,
          [
            [2, 1],
            [0, 0],
          ],
          'reflect',
        ),
      ),
    ).not.to.include('gather');
  });

  it('every supported kernel has a case, and every case a kernel', () => {
    expect([...Object.keys(cases), ...ownKernels].sort()).to.deep.equal([...supportedKernels].sort());
  });

  it('every kernel of the cpu backend is supported or refused with a reason', () => {
    const known = new Set([...supportedKernels, ...refusals.map(({kernel}) => kernel)]);
    expect(
      tf
        .getKernelsForBackend('cpu')
        .map(({kernelName}) => kernelName)
        .filter(kernel => !known.has(kernel)),
    ).to.deep.equal([]);
    for (const {kernel, reason} of refusals) {
      expect(supportedKernels, kernel).not.to.include(kernel);
      expect(reason, kernel).to.match(/\w+ \w+/);
    }
  });
});
