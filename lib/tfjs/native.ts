/**
 * Loads TensorFlow's own kernels where `@tensorflow/tfjs-node` is installed. It is an optional package: its install
 * downloads a library, and everything works the same without it.
 */
import * as tf from '@tensorflow/tfjs';
import {restoreNodeUtil} from './node-shim.js';

const PACKAGE = '@tensorflow/tfjs-node';

let reason: string | undefined = `${PACKAGE} has not been asked for yet: call loadTensorflow().`;

/**
 * Loads tfjs-node if it is installed and makes its backend, 'tensorflow', the current one, as tfjs-node itself does.
 * Returns false if that is not possible; `loadTensorflow.unavailableReason()` then says why. Never throws.
 */
export async function loadTensorflow(): Promise<boolean> {
  reason = await attempt();
  return reason === undefined;
}

/** Why the TensorFlow backend is not available, in a sentence; undefined once it is. */
loadTensorflow.unavailableReason = (): string | undefined => reason;

async function attempt(): Promise<string | undefined> {
  if (globalThis.process?.versions?.node === undefined) {
    return `${PACKAGE} runs on Node only.`;
  }
  restoreNodeUtil();
  try {
    // The name is not a literal, so that no bundler follows it
    await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE);
  } catch (error) {
    return isMissing(error) ? `${PACKAGE} is not installed.` : `${PACKAGE} does not load: ${firstLine(error)}`;
  }
  if (tf.findBackend('tensorflow') === null) {
    return `${PACKAGE} was loaded by another copy of @tensorflow/tfjs than this one: keep one version of it.`;
  }
  return (await tf.setBackend('tensorflow')) ? undefined : `the backend of ${PACKAGE} does not start.`;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(PACKAGE);

const firstLine = (error: unknown): string => String(error instanceof Error ? error.message : error).split('\n')[0];
