/** Weights along one axis with which an image is resized, as those of tfjs's kernels. */

/** One axis: row o of the matrix holds the weights of the n inputs in output o. */
export type Weights = number[][];

const weigh = (outputs: number, inputs: number, weight: (output: number, input: number) => number): Weights =>
  Array.from({length: outputs}, (_, o) => Array.from({length: inputs}, (__, i) => weight(o, i)));

/** How sample points lie among those of the input. */
export interface Resize {
  alignCorners: boolean;
  halfPixelCenters: boolean;
}

function scale(inputs: number, outputs: number, alignCorners: boolean): number {
  return alignCorners && outputs > 1 ? (inputs - 1) / (outputs - 1) : inputs / outputs;
}

/** Linear interpolation at the sample points of tfjs's (and TensorFlow's) resizeBilinear. */
export function linear(inputs: number, outputs: number, {alignCorners, halfPixelCenters}: Resize): Weights {
  const ratio = scale(inputs, outputs, alignCorners);
  return weigh(outputs, inputs, (o, i) => {
    const at = halfPixelCenters ? ratio * (o + 0.5) - 0.5 : ratio * o;
    const lower = Math.max(0, Math.floor(at));
    const upper = Math.min(inputs - 1, Math.ceil(at));
    const share = at - lower;
    return (i === lower ? 1 - share : 0) + (i === upper ? share : 0);
  });
}

/** The nearest of them, as tfjs's resizeNearestNeighbor takes it. */
export function nearest(inputs: number, outputs: number, {alignCorners, halfPixelCenters}: Resize): Weights {
  const ratio = scale(inputs, outputs, alignCorners);
  return weigh(outputs, inputs, (o, i) => {
    const at = ratio * (halfPixelCenters ? o + 0.5 : o);
    return i === Math.max(0, Math.min(inputs - 1, alignCorners ? Math.round(at) : Math.floor(at))) ? 1 : 0;
  });
}
