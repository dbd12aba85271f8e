/**
 * Data in a queue, and the connection to it: BullMQ on a server with Redis's protocol, or in PostgreSQL.
 * Its packages, bullmq and ioredis or pg, are installed by those who use it.
 */
import path from 'node:path';
import {
  boolean,
  object,
  optional,
  positive,
  readOptions,
  shown,
  text,
  typed,
  nonNegativeInteger,
} from '../lib/checks.js';
import type {Check, Options, OptionValues} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {parse} from './canonical.js';
import type {Case} from './cases.js';
import type {FailedAttempt, Settled} from './engine.js';
import {isCause} from './store.js';
import {jobOf, type Job} from './task.js';

const tlsOption: Check<boolean | Readonly<Record<string, unknown>>> = {
  what: 'true, false or options of TLS',
  test: value => boolean.test(value) || object.test(value),
};

const connectionOptions = {
  /**
   * redis://user:password@host:port/db, rediss:// for TLS, or postgres://user:password@host:port/database. The options
   * beside it have precedence.
   */
  url: optional(text),
  /** Default 127.0.0.1. */
  host: optional(text),
  /** Default 6379, PostgreSQL's 5432. */
  port: optional(nonNegativeInteger),
  username: optional(text),
  password: optional(text),
  /** Redis's; default 0. */
  db: optional(nonNegativeInteger),
  /** Options of node:tls: ca, cert, key, servername; true for a server whose certificate the system knows. */
  tls: optional(tlsOption),
};

/** Address and credentials of the server. @interface */
export type QueueConnection = Options<typeof connectionOptions>;

const sha256: Check<string> = {
  what: 'SHA-256 in hexadecimal digits',
  test: value => /^[0-9a-f]{64}$/.test(String(value)),
};
const queuedTask = {
  /** From the working folder, with slashes. */
  module: text,
  export: text,
  name: text,
  version: text,
  hash: sha256,
};
const queuedCase = {
  case: text,
  seed: nonNegativeInteger,
  task: typed<OptionValues<typeof queuedTask>>(object),
  timeout: optional(positive),
};

/** Names and numbers of a case: no code. A worker makes the case's name of them again. */
export type QueuedCase = Options<typeof queuedCase>;

/** The answer of a worker. */
export type QueuedAnswer = Exclude<Settled, {kind: 'done'}> | {readonly kind: 'done'};

/**
 * The answer of a worker, or undefined if another program answered. BullMQ's events are texts of a stream, parsed if
 * they are JSON.
 */
export function answerOf(value: unknown): QueuedAnswer | undefined {
  let given = value;
  try {
    if (typeof value === 'string') given = JSON.parse(value);
  } catch {
    return undefined;
  }
  const {kind, failure} = (given ?? {}) as {kind?: unknown; failure?: Partial<FailedAttempt> | null};
  if (kind === 'done') return {kind};
  const {attempt, cause, error} = failure ?? {};
  if (kind !== 'failed' || !isCause(cause) || typeof error?.name !== 'string' || typeof error.message !== 'string')
    return undefined;
  const {message, name, stack} = error;
  return {kind, failure: {attempt, cause, error: {name, message, ...(typeof stack === 'string' ? {stack} : {})}}};
}

export const defaultQueue = 'stiffgrad';
/** How a refused case's reason begins, by which the other side knows it. */
export const refusal = 'refused: ';

export const inPostgres = ({url}: QueueConnection): boolean => /^postgres(ql)?:/.test(url ?? '');

/**
 * Options of the client, ioredis's or pg's. Redis's looks for its server again and again until `ended`; that of
 * PostgreSQL does it at every question. The password is never shown.
 * @throws OptionError
 */
export function clientOptions(
  connection: QueueConnection,
  ended = new AbortController().signal,
): Record<string, unknown> {
  readOptions(connection, connectionOptions, 'bullmq: connection');
  const {url, tls, ...rest} = connection;
  const from: Partial<ReturnType<typeof ofUrl>> = url === undefined ? {} : ofUrl(url);
  const secure = tls === true ? {} : tls === false ? undefined : (tls ?? from.tls);
  if (inPostgres(connection)) {
    const {db, username, ...place} = {...from, ...rest};
    if (rest.db !== undefined)
      throw new OptionError(
        'bad-connection',
        'bullmq: connection.db is only for Redis; give the database of PostgreSQL in the url.',
      );
    // Tables of the queue are made where there are none, under a lock: whoever comes first makes them.
    return {...place, user: username, database: db, ssl: secure, keepAlive: true, migrate: true};
  }
  return {
    ...from,
    ...rest,
    tls: secure,
    maxRetriesPerRequest: null,
    retryStrategy: (times: number) => (ended.aborted ? null : Math.min(100 * times, 2000)),
  };
}

function ofUrl(url: string): {
  host: string;
  port?: number;
  username?: string;
  password?: string;
  db?: number | string;
  tls?: object;
} {
  const {hostname, password, pathname, port, protocol, searchParams, username} = URL.canParse(url)
    ? new URL(url)
    : ({protocol: ''} as URL);
  const postgres = inPostgres({url});
  // A URL may hold a password: the sentence does not repeat it.
  if (!postgres && protocol !== 'redis:' && protocol !== 'rediss:')
    throw new OptionError(
      'bad-connection',
      'bullmq: connection.url must be redis://host:port, rediss://host:port or postgres://host:port/database.',
    );
  const base = decodeURIComponent(pathname.slice(1));
  const secure = postgres ? /^(require|verify)/.test(searchParams.get('sslmode') ?? '') : protocol === 'rediss:';
  return {
    host: hostname,
    ...(port === '' ? {} : {port: Number(port)}),
    ...(username === '' ? {} : {username: decodeURIComponent(username)}),
    ...(password === '' ? {} : {password: decodeURIComponent(password)}),
    ...(base === '' ? {} : {db: postgres ? base : Number(base)}),
    ...(secure ? {tls: {}} : {}),
  };
}

/** A case as it goes through the queue: one attempt. */
export function queued(job: Job, seed: number, timeout: number | undefined): QueuedCase {
  const {module, ...task} = job.task;
  return {
    case: job.case,
    seed,
    task: {...task, module: path.relative(process.cwd(), module).split(path.sep).join('/')},
    ...(timeout === undefined ? {} : {timeout}),
  };
}

/**
 * The job of a queued case, whose module is still to be found.
 * @throws OptionError where it is no case, or does not match its name
 */
export function unqueued(data: unknown, name: string): {readonly job: Job; readonly timeout?: number} {
  const {case: content, seed, timeout, ...read} = readOptions(data as QueuedCase, queuedCase, 'A queued case');
  const task = readOptions(read.task, queuedTask, 'A queued task');
  let job: Job;
  try {
    job = jobOf(task, parse(content) as Case, seed);
  } catch (error) {
    throw new OptionError('bad-case', `The content of a queued case cannot be read: ${(error as Error).message}.`);
  }
  if (job.name !== name || job.case !== content)
    throw new OptionError('bad-case', `The content of the queued case ${shown(name)} does not match its name.`);
  return {job, ...(timeout === undefined ? {} : {timeout})};
}
