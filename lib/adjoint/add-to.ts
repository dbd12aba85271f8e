/** x += factor·y, from y[at] on; nothing where a program has no such buffer. */
export function addTo(x: Float64Array | undefined, y: Float64Array | undefined, factor = 1, at = 0): void {
  if (x === undefined || y === undefined) return;
  for (let i = 0; i < x.length; i++) x[i] += factor * y[at + i];
}

/** Up to so many numbers a loop takes less time than a call of `fill` (some 60 ns). */
const short = 64;

export function setZero(x: Float64Array): void {
  if (x.length > short) x.fill(0);
  else for (let i = 0; i < x.length; i++) x[i] = 0;
}
