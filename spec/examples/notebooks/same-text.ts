/** What a notebook prints against what is stored in it: words as they are, numbers to a tolerance. */
import {expect} from 'chai';

/** Times that a fit took are not of the fit; the banner is tfjs's. */
const withoutSeconds = (text: string): string => text.replace(/\d+(\.\d+)? s\b/g, '');

/** Numbers as near as another machine's Math.sin and float32 sums let them be. */
export function sameText(found: string, stored: string): void {
  const number = /-?\d+\.\d+(?:e[+-]?\d+)?/g;
  const [now, then] = [found, stored].map(withoutSeconds);
  expect(now.replace(number, '#')).to.equal(then.replace(number, '#'));
  const [values, expected] = [now, then].map(text => (text.match(number) ?? []).map(Number));
  expected.forEach((value, i) => expect(values[i], stored).to.be.closeTo(value, 1e-4 * Math.max(1, Math.abs(value))));
}
