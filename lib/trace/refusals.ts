/** The tfjs kernels that cannot be traced, and why; the table in the docs is made from this one. */

export interface Refusal {
  readonly kernel: string;
  readonly reason: string;
}

const convolution =
  'convolutions and pooling over three axes, dilations and positions of maxima are not supported; write the '
  + 'stencil with slices, padding or tf.einsum';
const mistaken =
  "tfjs's own gradient is wrong at padding or half pixels; use the forward kernel, whose gradient is repaired "
  + '([repairs](tfjs-repairs.md))';
const image = 'image operations are not supported; interpolate with tf.gather and arithmetic';
const complex = 'complex numbers are not supported; keep real and imaginary parts as two tensors';
const text = 'text has no derivative and no place in a simulation';
const ragged =
  'ragged and sparse containers have shapes that depend on values; use dense tensors with tf.gather and tf.scatterND';
const shapeFromValues = 'the shape of its result depends on values, and shapes are fixed when a function is traced';
const random =
  'the trace would record one draw as a constant; draw random numbers outside the function and pass them as params';
const detection = 'object detection has no place in a simulation';

const reasons: Readonly<Record<string, readonly string[]>> = {
  [convolution]: [
    'AvgPool3D',
    'AvgPool3DGrad',
    'Conv3D',
    'Conv3DBackpropFilterV2',
    'Conv3DBackpropInputV2',
    'Dilation2D',
    'Dilation2DBackpropFilter',
    'Dilation2DBackpropInput',
    'MaxPool3D',
    'MaxPool3DGrad',
    'MaxPoolWithArgmax',
    'Pool',
  ],
  [mistaken]: ['AvgPoolGrad', 'ResizeBilinearGrad', 'ResizeNearestNeighborGrad'],
  [image]: ['CropAndResize', 'Draw', 'FlipLeftRight', 'FromPixels', 'RotateWithOffset', 'Transform'],
  [complex]: ['Complex', 'ComplexAbs', 'FFT', 'IFFT', 'Imag', 'Real'],
  [text]: ['StaticRegexReplace', 'StringNGrams', 'StringSplit', 'StringToHashBucketFast'],
  [ragged]: [
    'RaggedGather',
    'RaggedRange',
    'RaggedTensorToTensor',
    'SparseFillEmptyRows',
    'SparseReshape',
    'SparseSegmentMean',
    'SparseSegmentSum',
  ],
  [shapeFromValues]: ['BroadcastArgs', 'Unique', 'Where'],
  [random]: ['Multinomial'],
  [detection]: ['NonMaxSuppressionV3', 'NonMaxSuppressionV4', 'NonMaxSuppressionV5'],
};

export const refusals: readonly Refusal[] = Object.entries(reasons)
  .flatMap(([reason, kernels]) => kernels.map(kernel => ({kernel, reason})))
  .sort((a, b) => (a.kernel < b.kernel ? -1 : 1));

const byKernel = new Map(refusals.map(({kernel, reason}) => [kernel, reason]));

export function reasonAgainst(kernel: string): string {
  return byKernel.get(kernel) ?? 'its meaning in double precision is not known here';
}
