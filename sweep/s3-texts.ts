/**
 * A store's texts in a bucket of an object store that speaks S3's protocol, one object each, through Amazon's client,
 * which is loaded at the first use. An object is there whole or not at all; it is written on the condition that its
 * name is free (If-None-Match), so that the first one stays. A server that does not know this condition keeps the last
 * of two writers at the same moment, with the same numbers.
 */
import type * as S3 from '@aws-sdk/client-s3';
import {boolean, object, optional, readOptions, text as aText, typed, type Options} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {patiently} from './patience.js';
import type {Texts} from './texts.js';

const connectionOptions = {
  /** URL of a server that is not Amazon's: 'https://storage.example.org:9000'. Default AWS_ENDPOINT_URL_S3. */
  endpoint: optional(aText),
  /** Default AWS_REGION; with an endpoint us-east-1, which most servers ignore. */
  region: optional(aText),
  /**
   * Default: as Amazon's client finds them, in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, its files, or the machine's
   * role.
   */
  credentials: optional(
    typed<{readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string}>(object),
  ),
  /** Whether the bucket is in the path instead of the host name; default true with an endpoint. */
  pathStyle: optional(boolean),
};

/** Connection to a server, if the environment does not define it. @interface */
export type S3Connection = Options<typeof connectionOptions>;

const statusOf = (error: unknown): number | undefined =>
  (error as {$metadata?: {httpStatusCode?: number}}).$metadata?.httpStatusCode;

/** Codes of errors of a server that is out of reach for the moment. */
const away = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'TimeoutError',
]);

/** A server that is overloaded, failing or out of reach; what it refuses does not pass. */
function passing(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status >= 500 || status === 429 || status === 408 || status === 409;
  const {code = '', name} = error as NodeJS.ErrnoException;
  return away.has(code) || away.has(name);
}

export class S3Texts implements Texts {
  readonly place: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #connection: S3Connection;
  #loaded?: Promise<{readonly s3: typeof S3; readonly client: S3.S3Client}>;

  /**
   * @param address s3://bucket/prefix
   * @throws OptionError
   */
  constructor(
    address: string,
    readonly patience: number,
    connection: S3Connection = {},
  ) {
    const [, bucket, prefix] = /^s3:\/\/([^/]+)\/*(.*?)\/*$/.exec(address) ?? [];
    if (bucket === undefined || prefix === undefined)
      throw new OptionError('bad-store', `A store's address is s3://bucket/prefix, not ${address}.`, {address});
    this.place = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#connection = readOptions(connection, connectionOptions, 'openStore: s3');
  }

  #key(name: string): {readonly Bucket: string; readonly Key: string} {
    return {Bucket: this.#bucket, Key: `${this.#prefix}${name}`};
  }

  /** A request, tried again while the store is patient. */
  async #ask<T>(request: (s3: typeof S3, client: S3.S3Client) => Promise<T>, what: string): Promise<T> {
    this.#loaded ??= load(this.#connection);
    const {s3, client} = await this.#loaded;
    try {
      return await patiently(() => request(s3, client), passing, this.patience, `${this.place} ${what}`);
    } catch (error) {
      if (error instanceof DataError) throw error;
      const {name, message} = error as Error;
      throw new DataError(
        'store-refused',
        `${this.place} ${what}: ${name === 'Error' ? '' : `${name}: `}${message.replace(/\.?$/, '.')} `
          + "Check the bucket's name, the region or endpoint, and the credentials and their permissions.",
        {place: this.place, cause: name},
      );
    }
  }

  async has(name: string): Promise<boolean> {
    return this.#ask(async (s3, client) => {
      // Reads the first byte: the answer to a HEAD does not tell a missing bucket from a missing object.
      const request = new s3.GetObjectCommand({...this.#key(name), Range: 'bytes=0-0'});
      const found = await absentAs(undefined, client.send(request));
      await found?.Body?.transformToString('utf-8');
      return found !== undefined;
    }, 'cannot be reached');
  }

  async read(name: string): Promise<string | undefined> {
    return this.#ask(async (s3, client) => {
      const found = await absentAs(undefined, client.send(new s3.GetObjectCommand(this.#key(name))));
      return found?.Body?.transformToString('utf-8');
    }, 'cannot be read');
  }

  async isThere(): Promise<boolean> {
    const {Bucket, Key: Prefix} = this.#key('');
    const page = await this.#ask(
      (s3, client) => client.send(new s3.ListObjectsV2Command({Bucket, Prefix, MaxKeys: 1})),
      'cannot be read',
    );
    return (page.Contents ?? []).length > 0;
  }

  async write(name: string, text: string): Promise<boolean> {
    let unsure = false;
    return this.#ask(async (s3, client) => {
      try {
        await client.send(
          new s3.PutObjectCommand({...this.#key(name), Body: text, ContentType: 'application/json', IfNoneMatch: '*'}),
        );
        return true;
      } catch (error) {
        // The text may be from an earlier request of this writer, whose answer was lost.
        if (statusOf(error) === 412) return unsure && (await this.read(name)) === text;
        unsure = true;
        throw error;
      }
    }, 'cannot be written');
  }

  async remove(name: string): Promise<void> {
    await this.#ask((s3, client) => client.send(new s3.DeleteObjectCommand(this.#key(name))), 'cannot be written');
  }

  async *list(folder: 'done' | 'failed'): AsyncGenerator<string[], void> {
    const {Bucket, Key: Prefix} = this.#key(`${folder}/`);
    let ContinuationToken: string | undefined;
    do {
      const page = await this.#ask(
        (s3, client) => client.send(new s3.ListObjectsV2Command({Bucket, Prefix, ContinuationToken})),
        'cannot be read',
      );
      yield (page.Contents ?? []).flatMap(({Key}) => (Key === undefined ? [] : [Key.slice(Prefix.length)]));
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  /** An object that was not written whole is not there. */
  removeParts(): Promise<number> {
    return Promise.resolve(0);
  }
}

async function absentAs<T, U>(absent: U, answer: Promise<T>): Promise<T | U> {
  try {
    return await answer;
  } catch (error) {
    // A bucket that is not there is no case without a result.
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return absent;
    throw error;
  }
}

/** @throws OptionError 'no-s3' where the client is not installed */
async function load({
  endpoint = process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL,
  region = process.env.AWS_REGION ?? (endpoint === undefined ? undefined : 'us-east-1'),
  credentials,
  pathStyle = endpoint !== undefined,
}: S3Connection): Promise<{s3: typeof S3; client: S3.S3Client}> {
  let s3: typeof S3;
  try {
    s3 = await import('@aws-sdk/client-s3');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OptionError(
      'no-s3',
      'A store at s3://… needs a package that is not installed here: npm install @aws-sdk/client-s3.',
    );
  }
  const client = new s3.S3Client({
    ...(endpoint === undefined ? {} : {endpoint}),
    ...(region === undefined ? {} : {region}),
    ...(credentials === undefined ? {} : {credentials}),
    forcePathStyle: pathStyle,
    // Further attempts are the store's: after one, a name that is taken may be its own.
    maxAttempts: 1,
    // Servers that are not Amazon's know no other checksums; each text ends with a hash of its own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {s3, client};
}
