/** What a page's worker thread runs. Started by channel.ts, imported by nothing. */
import type {Request} from './messages.js';
import {serve} from './serve.js';

/** The part of a worker's global scope that is used; the compiler knows that of pages only. */
const scope = globalThis as unknown as {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  onmessage: (event: {readonly data: Request}) => void;
};
const answer = serve((reply, transfer) => scope.postMessage(reply, transfer));
scope.onmessage = ({data}) => answer(data);
