/** docs/primitives.md says what the code says. */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {readFileSync} from 'node:fs';
import {documentPath, primitivesDocument} from '../../bench/docs-primitives.js';
import {primitives} from '../../lib/graph/primitives/index.js';
import {refusals, supportedKernels} from '../../lib/trace/trace.js';

describe('docs/primitives.md', () => {
  const text = primitivesDocument();

  it('is up to date: npx tsx bench/docs-primitives.ts writes it', () => {
    expect(readFileSync(documentPath, 'utf8')).to.equal(text);
  });

  it('says of every primitive what it means', () => {
    for (const op of Object.keys(primitives))
      expect(text).to.match(new RegExp(`^\\| \`${op}\` \\|[^|]*\\| [^|]+ \\|`, 'm'));
  });

  it("has every kernel of tfjs's cpu backend in one of its two lists", () => {
    const known = new Set([...supportedKernels, ...refusals.map(({kernel}) => kernel)]);
    const missing = tf
      .getKernelsForBackend('cpu')
      .map(({kernelName}) => kernelName)
      .filter(kernel => !known.has(kernel));
    expect(missing).to.deep.equal([]);
    for (const {kernel} of refusals) expect(supportedKernels).to.not.include(kernel);
  });
});
