/**
 * Decimals keep double precision in a trace. tfjs rounds every number it is given with
 * `new Float32Array(values)`, the global looked up at the call; a trace is synchronous and ours, so
 * while it runs that name stands for `Float64Array`. Arrays of single precision made before still
 * count as what they are, and views of raw bytes stay views of single-precision numbers.
 */
import * as tf from '@tensorflow/tfjs';

const Single = globalThis.Float32Array;

function isFloatArray(value: unknown): boolean {
  return value instanceof Single || value instanceof Float64Array;
}

const standIn = new Proxy(Float64Array, {
  construct(_, args: unknown[]) {
    const bytes =
      args[0] instanceof ArrayBuffer
      || (typeof SharedArrayBuffer !== 'undefined' && args[0] instanceof SharedArrayBuffer);
    return Reflect.construct(bytes ? Single : Float64Array, args) as object;
  },
  get: (target, key) => (key === Symbol.hasInstance ? isFloatArray : (Reflect.get(target, key) as unknown)),
}) as unknown as Float32ArrayConstructor;

/** Lets Float64Array stand for Float32Array; returns what puts it back. Nests. */
export function useDoubles(): () => void {
  const outer = globalThis.Float32Array;
  const platform = tf.env().platform;
  const isTypedArray = platform.isTypedArray;
  globalThis.Float32Array = standIn;
  // Its type knows no Float64Array, which stands for Float32Array here.
  platform.isTypedArray = (value): value is Float32Array =>
    value instanceof Float64Array || isTypedArray.call(platform, value);
  return () => {
    globalThis.Float32Array = outer;
    platform.isTypedArray = isTypedArray;
  };
}
