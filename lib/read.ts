/**
 * Numbers of tensors, read at once. tfjs gives zeros for what a lost graphics processor held, and on webgpu, which reads
 * by promises, it may give them for anything: neither may pass for a result.
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
 *   they are on webgpu
 */
export function numbersOf(tensor: tf.Tensor): Float64Array {
  const {tensorInfo} = tf.engine().state as unknown as {
    readonly tensorInfo: WeakMap<object, {readonly backend: tf.KernelBackend}>;
  };
  const holder = tensorInfo.get(tensor.dataId)?.backend ?? tf.backend();
  return readFrom(holder, tensor.dataId, () => tensor.dataSync());
}

/** The numbers that a backend holds under an id. @throws DeviceError, as `numbersOf` does */
export function readFrom(
  holder: tf.KernelBackend,
  id: object,
  read = (): ArrayLike<number> => holder.readSync(id) as Float32Array,
): Float64Array {
  const {gpgpu, texData, device, tensorMap} = holder as OnDevice;
  // A read keeps what it found, right or not: this is looked at before.
  const isHere = ((texData ?? tensorMap)?.get(id)?.values ?? undefined) !== undefined;
  const values = new Float64Array(read());
  if (isHere) return values;
  // And this after, since a device may be lost in a read.
  if (gpgpu?.gl?.isContextLost?.() === true)
    throw new DeviceError(
      'device-lost',
      "tfjs's webgl backend has lost its graphics processor and the values of its tensors, because the driver was reset or memory ran out. Reload the page; or call tf.removeBackend('webgl') and tf.setBackend('cpu'), and create the tensors again.",
    );
  if (device !== undefined && tensorMap !== undefined)
    throw new DeviceError(
      'device-asynchronous',
      "Tensors on tfjs's webgpu backend cannot be read synchronously. Pass arrays (await tensor.data()) or tensors of another backend; for engine 'tensor' use tf.setBackend('webgl').",
    );
  return values;
}
