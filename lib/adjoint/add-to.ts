/** x += factor·y, from y[at] on; nothing where a program has no such buffer. */
export function addTo(x: Float64Array | undefined, y: Float64Array | undefined, factor = 1, at = 0): void {
  if (x === undefined || y === undefined) return;
  for (let i = 0; i < x.length; i++) x[i] += factor * y[at + i];
}

/** Up to so many numbers a loop takes less time than a call of `fill` (some 60 ns) or `set` (30 ns). */
const [shortFill, shortSet] = [64, 24];

export function setZero(x: Float64Array): void {
  if (x.length > shortFill) x.fill(0);
  else for (let i = 0; i < x.length; i++) x[i] = 0;
}

/** x = y */
export function copyTo(x: Float64Array, y: Float64Array): void {
  if (x.length > shortSet) x.set(y);
  else for (let i = 0; i < x.length; i++) x[i] = y[i];
}
