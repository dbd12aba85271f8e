/** A queue's server for tests: Redis or Valkey as Debian's packages install them, on a free port of this machine. */
import {execFileSync, spawn, type ChildProcess} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createServer, connect} from 'node:net';
import path from 'node:path';

/** The server's program, or undefined where neither is installed. */
export const serverProgram = ['valkey-server', 'redis-server']
  .flatMap(name => (process.env.PATH ?? '').split(path.delimiter).map(folder => path.join(folder, name)))
  .find(file => existsSync(file));

export interface Server {
  readonly port: number;
  readonly process: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as {port: number};
  await new Promise(resolve => server.close(resolve));
  return port;
}

/** Started, without anything kept on the disk: what is killed has forgotten all. */
export async function startServer(port: number, more: readonly string[] = []): Promise<Server> {
  const plain = more.includes('--tls-port') ? [] : ['--port', String(port)];
  const child = spawn(
    serverProgram!,
    [...plain, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', ...more],
    {stdio: 'ignore'},
  );
  for (let i = 0; i < 200; i++) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      setTimeout(() => socket.destroy(), 200).unref();
    });
    if (open) break;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return {
    port,
    process: child,
    async stop(signal: NodeJS.Signals = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      await new Promise(resolve => {
        child.once('exit', resolve);
        child.kill(signal);
      });
    },
  };
}

/** A certificate of its own authority for 127.0.0.1; false where openssl is not installed. */
export function certificate(folder: string): boolean {
  const at = (name: string): string => path.join(folder, name);
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, {stdio: 'pipe'});
  try {
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=127.0.0.1',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      at('key.pem'),
      '-out',
      at('ca.pem'),
    );
    return true;
  } catch {
    return false;
  }
}
