/** BullMQ as its users install it: loaded at the first use, and named in no type that others see. */
import type * as BullMQ from 'bullmq';
import {OptionError} from '../lib/errors.js';

/** BullMQ, where it is installed. @throws OptionError 'no-bullmq' */
export async function bullmqPackage(): Promise<typeof BullMQ> {
  try {
    return await import('bullmq');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OptionError(
      'no-bullmq',
      'bullmq() needs two packages that are not installed here: npm install bullmq ioredis.',
    );
  }
}
