/** Text from a file as it stands in a sentence: a cell of 100 MB is not repeated in the error that tells of it. */

/** Enough to find the place by. */
const LONGEST = 80;

export function excerpt(text: string, longest = LONGEST): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 3)}...`;
}
