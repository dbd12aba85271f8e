/** Queues' servers for tests: Redis, Valkey or PostgreSQL as Debian's packages install them, on a free port of this machine. */
import {execFileSync, spawn, spawnSync, type ChildProcess} from 'node:child_process';
import {chmodSync, chownSync, existsSync, readdirSync} from 'node:fs';
import {createServer, connect} from 'node:net';
import {userInfo} from 'node:os';
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
  await opened(port);
  return {port, process: child, stop: signal => stopped(child, signal)};
}

async function opened(port: number): Promise<void> {
  for (let i = 0; i < 200; i++) {
    const open = await new Promise<boolean>(resolve => {
      // A connection that is given up after a while says no more than that it is closed.
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false)).on('close', () => resolve(false)); // prettier-ignore
      setTimeout(() => socket.destroy(), 200).unref();
    });
    if (open) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

async function stopped(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise(resolve => {
    child.once('exit', resolve);
    child.kill(signal);
  });
}

/** The folder of PostgreSQL's programs, or undefined where it is not installed: Debian keeps them out of PATH. */
export const postgresPrograms = ((): string | undefined => {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return undefined;
  const newest = readdirSync(versions).sort((a, b) => Number(b) - Number(a))[0];
  const folder = path.join(versions, newest ?? '', 'bin');
  return existsSync(path.join(folder, 'initdb')) ? folder : undefined;
})();

/** Who runs PostgreSQL, which refuses to be run by root. */
function owner(): {uid?: number; gid?: number} {
  if (userInfo().uid !== 0) return {};
  const id = (option: string): number => Number(execFileSync('id', [option, 'postgres'], {encoding: 'utf8'}));
  return {uid: id('-u'), gid: id('-g')};
}

/** A data folder whose user 'me' has the password 'secret'. */
export function initPostgres(folder: string, passwordFile: string): void {
  const who = owner();
  if (who.uid !== undefined) [folder, passwordFile].forEach(file => chownSync(file, who.uid!, who.gid!));
  execFileSync(
    path.join(postgresPrograms!, 'initdb'),
    ['-D', folder, '-U', 'me', '-A', 'scram-sha-256', '--pwfile', passwordFile, '--no-sync'],
    {...who, stdio: 'pipe', cwd: folder},
  );
}

/** Options of a server that speaks TLS with the certificate in its data folder: its owner alone may read the key. */
export function postgresTls(folder: string): string[] {
  const [certificate, key] = ['ca.pem', 'key.pem'].map(name => path.join(folder, name));
  const who = owner();
  if (who.uid !== undefined) chownSync(key, who.uid, who.gid!);
  chmodSync(key, 0o600);
  return ['-c', 'ssl=on', '-c', `ssl_cert_file=${certificate}`, '-c', `ssl_key_file=${key}`];
}

export async function startPostgres(folder: string, port: number, more: readonly string[] = []): Promise<Server> {
  const child = spawn(
    path.join(postgresPrograms!, 'postgres'),
    ['-D', folder, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', folder, ...more],
    {...owner(), stdio: 'ignore', cwd: folder},
  );
  await opened(port);
  await accepting(port);
  return {port, process: child, stop: signal => stopped(child, signal)};
}

/** PostgreSQL listens before it has read its log: until then it refuses whoever comes ('the database system is starting up'). */
async function accepting(port: number): Promise<void> {
  const ask = path.join(postgresPrograms!, 'pg_isready');
  for (let i = 0; i < 200; i++) {
    if (spawnSync(ask, ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
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
