/** What a worker thread of Node runs. Started by channel.ts, imported by nothing. */
import {type MessagePort, workerData} from 'node:worker_threads';
import type {Request} from './messages.js';
import {serve} from './serve.js';

const {port, signal} = workerData as {readonly port: MessagePort; readonly signal: Int32Array};

const answer = serve((reply, transfer) => {
  port.postMessage(reply, transfer);
  // Wakes the thread that waits for an answer, where one does.
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
});
port.on('message', (request: Request) => answer(request));
