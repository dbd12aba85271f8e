/**
 * A worker under the policy of the page: one that is started from an address has the policy of its own answer, none on a plain
 * server, and one that is started from a blob has that of its page. A model that came with a link then reaches no other server.
 */
export function confinedWorker(address: string): Worker {
  const start = `import ${JSON.stringify(new URL(address, location.href).href)};`;
  const blob = URL.createObjectURL(new Blob([start], {type: 'text/javascript'}));
  try {
    return new Worker(blob, {type: 'module'});
  } finally {
    // Its module is being loaded: the address may go when that is done.
    setTimeout(() => URL.revokeObjectURL(blob), 60_000);
  }
}
