/** What a worker thread of Node runs. Started by channel.ts, imported by nothing. */
import {nodeThreads} from '../../builtin.js';
import type {Reply, Request} from './messages.js';
import {serve} from './serve.js';

interface Given {
  readonly signal: Int32Array;
  readonly port: {
    postMessage(reply: Reply, transfer: ArrayBuffer[]): void;
    on(event: 'message', listener: (request: Request) => void): void;
  };
}

const {port, signal} = nodeThreads?.workerData as Given;

port.on(
  'message',
  serve((reply, transfer) => {
    port.postMessage(reply, transfer);
    // Wakes the thread that waits for an answer, where one does.
    Atomics.add(signal, 0, 1);
    Atomics.notify(signal, 0);
  }),
);
