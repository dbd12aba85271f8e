/** Arrays of one kind, one after the other in a new one. */
export function joined<A extends Uint8Array | Float64Array>(kind: new (length: number) => A, parts: readonly A[]): A {
  const all = new kind(parts.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
