/** BullMQ as its users install it: loaded at the first use, and named in no type that others see. */
import type * as BullMQ from 'bullmq';
import {OptionError} from '../lib/errors.js';
import {inPostgres, type QueueConnection} from './queue.js';

/**
 * BullMQ, where it is installed, and its backend for a server; undefined is Redis's.
 * @throws OptionError 'no-bullmq'
 */
export async function bullmqPackage(
  connection: QueueConnection,
): Promise<typeof BullMQ & {readonly backend: undefined}> {
  try {
    const all = await import('bullmq');
    // Its types have a signature for each backend; the calls are the same.
    return {...all, backend: (inPostgres(connection) ? all.createPostgresBackend : undefined) as undefined};
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw missing(connection);
  }
}

/** Makes BullMQ's clients, whose driver is asked for there. @throws OptionError 'no-bullmq' */
export function withDriver<T>(connection: QueueConnection, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (/'(pg|ioredis)'/.test((error as Error).message)) throw missing(connection);
    throw error;
  }
}

const missing = (connection: QueueConnection): OptionError =>
  new OptionError(
    'no-bullmq',
    'engines.bullmq() needs two packages that are not both installed here: '
      + `npm install bullmq ${inPostgres(connection) ? 'pg' : 'ioredis'}.`,
  );
