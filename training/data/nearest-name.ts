/**
 * Which of the known names did a misspelt one mean? Optimal string alignment distance (Damerau 1964:
 * insertion, deletion, substitution, swap of neighbours), without regard to case.
 */

/** The known name nearest to `wanted`, or undefined where none is near enough to be meant. */
export function nearestName(wanted: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters wrong is the usual limit of a spelling suggestion (git, TypeScript: 0.4).
  let least = Math.floor(Math.max(wanted.length, 3) / 3) + 1;
  for (const name of known) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length];
}
