/** Texts of bounded length: what a user gave stands in errors, and a cell of a table or a name may hold megabytes. */

/** A text of about so many letters at most: its beginning, and so many of its end. */
export function shortened(text: string, most: number, end = 0): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - end)} … (${text.length - most} letters left out)${end === 0 ? '' : ` … ${text.slice(-end)}`}`;
}
