/**
 * Numbers of a graphics processor that is gone are an error. Backends in a browser:
 * spec/package/graphics.slow.spec.ts.
 */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DeviceError} from '../lib/index.js';
import {readFrom} from '../lib/read.js';

describe('numbers of a device', () => {
  const tensor = {dataId: {}, shape: [1], dtype: 'float32'} as tf.TensorInfo;
  const webgl = (lost: boolean): tf.KernelBackend =>
    ({gpgpu: {gl: {isContextLost: () => lost}}, texData: new Map(), readSync: () => Float32Array.of(0.5)}) as never;

  it('are read while it is there', () => {
    expect([...readFrom(webgl(false), tensor)]).to.deep.equal([0.5]);
  });

  it('are an error once it is lost, or where they can be read by promises alone', () => {
    expect(() => readFrom(webgl(true), tensor)).to.throw(DeviceError, 'webgl backend has lost');
    const webgpu = {device: {}, tensorMap: new Map()} as never;
    expect(() => readFrom(webgpu, tensor)).to.throw(DeviceError, 'synchronously only while it is the current backend');
  });
});
