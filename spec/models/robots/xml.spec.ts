/** XML of any depth is read or refused with a sentence. */
import {expect} from 'chai';
import {DataError} from '../../../lib/index.js';
import {readMjcf} from '../../../models/robots/index.js';
import {readXml} from '../../../models/robots/xml.js';

const nested = (depth: number): string => '<a>\n'.repeat(depth) + '</a>'.repeat(depth);
const codeOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    return error instanceof DataError ? `${error.code} ${error.message}` : `raw ${String(error)}`;
  }
  return 'read';
};

describe('XML', () => {
  it('is read to a depth that chains of bodies have, and refused beyond it with its line', () => {
    let depth = 0;
    for (let element = readXml(nested(2000), 'deep.xml'); ; element = element.children[0]) {
      depth++;
      if (element.children.length === 0) break;
    }
    expect(depth).to.equal(2000);
    expect(codeOf(() => readXml(nested(2100), 'deep.xml'))).to.match(/^bad-xml deep\.xml, line 2049: .*2048 deep/);
    for (const levels of [1e4, 1e5])
      expect(codeOf(() => readXml(nested(levels), 'deep.xml'))).to.match(/^bad-xml deep/);
    const bodies = `<mujoco><worldbody>${'<body>'.repeat(9000)}${'</body>'.repeat(9000)}</worldbody></mujoco>`;
    expect(codeOf(() => readMjcf(bodies))).to.match(/^bad-xml .*Divide the model/);
  });
});
