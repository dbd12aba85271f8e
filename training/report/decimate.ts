/**
 * Fewer points for the same picture: of all samples that fall into one column of pixels, a line chart shows
 * the first, the lowest, the highest and the last (M4: Jugel, Jerzak, Hackenbroich & Markl, VLDB 2014, who
 * prove the picture unchanged). Unlike averages or every n-th sample, it keeps single outliers.
 */

/** Indices of the samples to draw, ascending. `x` in pixels, ascending; NaN in `y` is kept once, as a gap. */
export function decimate(x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  const kept: number[] = [];
  for (let from = 0; from < x.length;) {
    const column = Math.floor(x[from]);
    let to = from + 1;
    while (to < x.length && Math.floor(x[to]) === column) to++;
    keepColumn(kept, y, from, to);
    from = to;
  }
  return kept;
}

function keepColumn(kept: number[], y: ArrayLike<number>, from: number, to: number): void {
  let [lowest, highest, gap] = [-1, -1, -1];
  for (let i = from; i < to; i++) {
    if (Number.isNaN(y[i])) gap = i;
    else {
      if (lowest < 0 || y[i] < y[lowest]) lowest = i;
      if (highest < 0 || y[i] > y[highest]) highest = i;
    }
  }
  const column = [from, lowest, highest, gap, to - 1].filter(i => i >= 0).sort((a, b) => a - b);
  for (const i of column) if (kept[kept.length - 1] !== i) kept.push(i);
}

/** Indices of points of which no two fall on the same pixel: for points, and for lines that turn back in x. */
export function distinctPixels(x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  const kept: number[] = [];
  let [lastX, lastY] = [NaN, NaN];
  for (let i = 0; i < x.length; i++) {
    const [column, row] = [Math.round(x[i]), Math.round(y[i])];
    if (column === lastX && row === lastY) continue;
    kept.push(i);
    [lastX, lastY] = [column, row];
  }
  return kept;
}
