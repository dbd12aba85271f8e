/**
 * Numbers of tensors, read at once. tfjs gives zeros for what a lost graphics processor held, which must not pass for a
 * result: webgl tells at once whether it is lost; webgpu only by a promise, so that a known number is read with the
 * others.
 */
import * as tf from '@tensorflow/tfjs';
import {DeviceError} from './errors.js';

/** What tfjs's webgl and webgpu backends keep, as far as it is looked at here; the others have none of it. */
interface OnDevice {
  /** webgl */
  readonly gpgpu?: {readonly gl?: {isContextLost?(): boolean}};
  readonly texData?: Entries;
  /** webgpu */
  readonly device?: object;
  readonly tensorMap?: Entries;
}

interface Entries {
  /** `values` are there while the tensor's numbers lie in the memory of the program as well. */
  get(id: object): {readonly values?: unknown} | undefined;
}

/**
 * @returns a tensor's numbers, as many as it has
 * @throws DeviceError 'device-lost' where they were on a graphics processor that is gone; 'device-asynchronous' where
 *   they are on webgpu and can be read by promises alone
 */
export function numbersOf(tensor: tf.Tensor): Float64Array {
  const {tensorInfo} = tf.engine().state as unknown as {
    readonly tensorInfo: WeakMap<object, {readonly backend: tf.KernelBackend}>;
  };
  const holder = tensorInfo.get(tensor.dataId)?.backend ?? tf.backend();
  return readFrom(holder, tensor, () => tensor.dataSync());
}

/** The numbers that a backend holds of a tensor. @throws DeviceError, as `numbersOf` does */
export function readFrom(
  holder: tf.KernelBackend,
  tensor: tf.TensorInfo,
  read = (): ArrayLike<number> => holder.readSync(tensor.dataId) as Float32Array,
): Float64Array {
  const {gpgpu, texData, device, tensorMap} = holder as OnDevice;
  // A read keeps what it found, right or not: this is looked at before.
  const isHere = ((texData ?? tensorMap)?.get(tensor.dataId)?.values ?? undefined) !== undefined;
  if (!isHere && device !== undefined && tensorMap !== undefined) return readMarked(holder, tensor);
  const values = new Float64Array(read());
  // And this after, since a device may be lost in a read.
  if (!isHere && gpgpu?.gl?.isContextLost?.() === true) throw lost('webgl');
  return values;
}

/** None of its four bytes is 0, as all are in what a lost device gives. */
const mark = {float32: Math.fround(1.2359973), int32: 0x3f9e3529};

/**
 * From webgpu: one copy of the numbers and of a known one behind them, which is found if the device was there to the
 * end.
 */
function readMarked(holder: tf.KernelBackend, tensor: tf.TensorInfo): Float64Array {
  if (holder !== tf.backend() || typeof OffscreenCanvas === 'undefined')
    throw new DeviceError(
      'device-asynchronous',
      "Tensors on tfjs's webgpu backend can be read synchronously only while it is the current backend, and "
        + "where there is an OffscreenCanvas. Call tf.setBackend('webgpu') before, or pass arrays (await "
        + 'tensor.data()).',
    );
  const dtype = tensor.dtype === 'float32' ? 'float32' : 'int32';
  const read = tf.tidy(() => {
    holder.incRef(tensor.dataId); // The tensor made here gives its reference back when it is disposed.
    const flat = tf.reshape(tf.cast(tf.engine().makeTensorFromTensorInfo(tensor), dtype), [-1]);
    return tf.concat([flat, tf.fill([1], mark[dtype], dtype)]).dataSync();
  });
  if (read[read.length - 1] !== mark[dtype]) throw lost('webgpu');
  return new Float64Array(read.subarray(0, read.length - 1));
}

const lost = (backend: 'webgl' | 'webgpu'): DeviceError =>
  new DeviceError(
    'device-lost',
    `tfjs's ${backend} backend has lost its graphics processor and the values of its tensors, because the `
      + 'driver was reset or memory ran '
      + `out${backend === 'webgpu' ? ', or this browser cannot show them on a canvas, as tfjs reads them' : ''}. `
      + `Reload the page; or call tf.removeBackend('${backend}') and tf.setBackend('cpu'), and create the tensors `
      + 'again.',
  );
