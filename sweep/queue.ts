/**
 * What goes through a queue, and how it is reached: BullMQ on a server that speaks Redis's protocol, or in PostgreSQL. Its
 * packages, bullmq and ioredis or pg, are installed by those who use it.
 */
import path from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {any, boolean, object, positive, refuseUnknownOptions, requireValue, text, whole} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {parse} from './canonical.js';
import type {Case} from './cases.js';
import {attemptChecks, type Attempts, type Settled} from './engine.js';
import {jobOf, type Job} from './task.js';

/** Address and credentials of the server. */
export interface QueueConnection {
  /**
   * redis://user:password@host:port/db, rediss:// for TLS, or postgres://user:password@host:port/database. What stands beside
   * it goes before what it says.
   */
  readonly url?: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 6379, PostgreSQL's 5432. */
  readonly port?: number;
  readonly username?: string;
  readonly password?: string;
  /** Redis's; default 0. */
  readonly db?: number;
  /** As node:tls takes them: ca, cert, key, servername; true for a server whose certificate the system knows. */
  readonly tls?: boolean | Readonly<Record<string, unknown>>;
}

/** Names and numbers of a case: no code. A worker makes the case's name of them again. */
export interface QueuedCase {
  readonly case: string;
  readonly seed: number;
  readonly task: {
    /** From the working folder, with slashes. */
    readonly module: string;
    readonly export: string;
    readonly name: string;
    readonly version: string;
    readonly hashed: boolean;
  };
  readonly timeout?: number;
  readonly attempts: Attempts;
}

/** What a worker answers. */
export type QueuedAnswer = Exclude<Settled, {kind: 'done'}> | {readonly kind: 'done'};

export const defaultQueue = 'stiffgrad';
/** How a refused case's reason begins, by which the other side knows it. */
export const refusal = 'refused: ';

export const inPostgres = ({url}: QueueConnection): boolean => /^postgres(ql)?:/.test(url ?? '');

/**
 * Options of the client, ioredis's or pg's. Redis's looks for its server again and again until `ended`; that of PostgreSQL does
 * it at every question. The password is never shown.
 * @throws OptionError
 */
export function clientOptions(
  connection: QueueConnection,
  ended = new AbortController().signal,
): Record<string, unknown> {
  refuseUnknownOptions(
    connection,
    {
      url: text,
      host: text,
      port: whole,
      username: text,
      password: text,
      db: whole,
      tls: {what: 'true, false or options of TLS', test: value => boolean.test(value) || object.test(value)},
    },
    'bullmq: connection',
  );
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

/** A case as it goes through the queue. */
export function queued(job: Job, seed: number, timeout: number | undefined, attempts: Attempts): QueuedCase {
  const {module, ...task} = job.task;
  return {
    case: job.case,
    seed,
    task: {...task, module: path.relative(process.cwd(), module).split(path.sep).join('/')},
    ...(timeout === undefined ? {} : {timeout}),
    attempts,
  };
}

/** What came through the queue as a job, whose module is still to be found. @throws OptionError where it is none, or its name is another's */
export function unqueued(
  data: unknown,
  name: string,
): {readonly job: Job; readonly timeout?: number; readonly attempts: Attempts} {
  refuseUnknownOptions(
    data as object,
    {case: text, seed: whole, task: object, timeout: positive, attempts: object},
    'A queued case',
  );
  const {attempts, case: content, seed, task, timeout} = data as QueuedCase;
  refuseUnknownOptions(task, {module: text, export: text, name: text, version: text, hashed: boolean}, 'A queued task');
  for (const key of ['module', 'export', 'name', 'version', 'hashed'] as const)
    requireValue(task[key], {...any, test: value => value !== undefined}, `A queued task: ${key}`);
  refuseUnknownOptions(attempts, attemptChecks, 'A queued case: attempts');
  const job = jobOf(task, parse(content) as Case, seed);
  if (!isDeepStrictEqual([job.name, job.case], [name, content]))
    throw new OptionError('bad-case', `The content of the queued case ${name} does not match its name.`);
  return {job, attempts, ...(timeout === undefined ? {} : {timeout})};
}
