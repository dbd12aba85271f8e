/** What a store asks of an object store, over HTTP in memory: conditional writes, pages of names, and failures on demand. */
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';

/** What happens to a request beside the usual: refused as overloaded, or done with the answer lost. */
export type Trouble = 'busy' | 'unanswered' | undefined;

export class ObjectServer {
  /** 'bucket/key' → text. */
  readonly objects = new Map<string, string>();
  requests = 0;
  trouble: (request: IncomingMessage, count: number) => Trouble = () => undefined;
  /** Names on a page: few, that lists have several. */
  pageSize = 7;
  readonly #server: Server;

  constructor(readonly bucket: string) {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @returns its address */
  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise(resolve => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const trouble = this.trouble(request, ++this.requests);
    if (trouble === 'busy') return refuse(response, 503, 'SlowDown');
    if (!(request.headers.authorization ?? '').includes('Credential=reader/'))
      return refuse(response, 403, 'InvalidAccessKeyId');
    const url = new URL(request.url ?? '', 'http://localhost');
    const [, bucket, key] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(url.pathname)) ?? [];
    if (bucket !== this.bucket) return refuse(response, 404, 'NoSuchBucket');
    const name = `${bucket}/${key}`;
    const {method = ''} = request;
    if (method === 'PUT' && request.headers['if-none-match'] === '*' && this.objects.has(name))
      return trouble === 'unanswered' ? (response.destroy() as never) : refuse(response, 412, 'PreconditionFailed');
    if (method === 'PUT') this.objects.set(name, body);
    if (method === 'DELETE') this.objects.delete(name);
    if (trouble === 'unanswered') return response.destroy() as never;
    if (method === 'PUT' || method === 'DELETE') return void response.writeHead(method === 'PUT' ? 200 : 204).end();
    if (url.searchParams.get('list-type') === '2') return this.#list(url.searchParams, response);
    const text = this.objects.get(name);
    if (text === undefined) return refuse(response, 404, 'NoSuchKey');
    response.writeHead(200, {'content-length': Buffer.byteLength(text)}).end(method === 'HEAD' ? undefined : text);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const start = `${this.bucket}/${query.get('prefix') ?? ''}`;
    const after = query.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].filter(key => key.startsWith(start) && key > after).sort();
    const page = keys.slice(0, this.pageSize);
    const contents = page.map(key => `<Contents><Key>${key.slice(this.bucket.length + 1)}</Key></Contents>`).join('');
    const more = keys.length > page.length;
    const next = more ? `<NextContinuationToken>${page[page.length - 1]}</NextContinuationToken>` : '';
    response
      .writeHead(200, {'content-type': 'application/xml'})
      .end(`<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents}${next}</ListBucketResult>`);
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, {'content-type': 'application/xml'})
    .end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
