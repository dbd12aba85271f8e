/**
 * What goes through a queue, and how it is reached: BullMQ on a server that speaks Redis's protocol, or in PostgreSQL. Its
 * packages, bullmq and ioredis or pg, are installed by those who use it.
 */
import path from 'node:path';
import {
  boolean,
  object,
  positive,
  refuseUnknownOptions,
  requireValue,
  shown,
  text,
  whole,
  type Check,
} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {parse} from './canonical.js';
import type {Case} from './cases.js';
import type {FailedAttempt, Settled} from './engine.js';
import {isCause} from './store.js';
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
    readonly hash: string;
  };
  readonly timeout?: number;
}

/** What a worker answers. */
export type QueuedAnswer = Exclude<Settled, {kind: 'done'}> | {readonly kind: 'done'};

/**
 * What a worker answered, or undefined where it is no answer of a worker of stiffgrad. BullMQ's events are texts of a
 * stream, parsed where they are JSON.
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

const sha256: Check = {what: 'SHA-256 in hexadecimal digits', test: value => /^[0-9a-f]{64}$/.test(String(value))};
const queuedChecks = {case: text, seed: whole, task: object, timeout: positive};
const taskChecks = {module: text, export: text, name: text, version: text, hash: sha256};

/**
 * What came through the queue as a job, whose module is still to be found.
 * @throws OptionError where it is no case, or does not match its name
 */
export function unqueued(data: unknown, name: string): {readonly job: Job; readonly timeout?: number} {
  refuseUnknownOptions(data as object, queuedChecks, 'A queued case');
  const {case: content, seed, task, timeout} = data as QueuedCase;
  for (const key of ['case', 'seed', 'task'] as const)
    requireValue((data as QueuedCase)[key], queuedChecks[key], `A queued case: ${key}`);
  refuseUnknownOptions(task, taskChecks, 'A queued task');
  for (const [key, check] of Object.entries(taskChecks))
    requireValue(task[key as keyof typeof task], check, `A queued task: ${key}`);
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
