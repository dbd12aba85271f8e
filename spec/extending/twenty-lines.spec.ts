/**
 * Eight extensions of docs/extending.md are at most twenty lines, without blank lines and comments. What they do is checked
 * where the documents are run (spec/package/snippets.slow.spec.ts).
 */
import {expect} from 'chai';
import {readText} from '../package/sources.js';

/** By the heading of their section, the lines between which a definition stands. */
const definitions: {readonly [heading: string]: readonly [first: RegExp, last: RegExp]} = {
  Constraints: [/^const moved = /, /^\}\);$/],
  'A linear solver': [/^const rowScaled/, /^\};$/],
  'A step size controller': [/^const pi\b/, /^\};$/],
  'An adjoint': [/^const everyTenth/, /^\};$/],
  'A kind of constraint': [/^const dullEdge/, /^\}\);$/],
  'A primitive': [/^const lambertW/, /^\}\);$/],
  'A model': [/^function duffing/, /^\}$/],
  'A noise': [/^const laplace/, /^\};$/],
};

describe('docs/extending.md', () => {
  for (const [heading, [first, last]] of Object.entries(definitions))
    it(`${heading}: at most twenty lines, by public names`, () => {
      const text = readText('docs/extending.md').split('\n');
      const section = text.slice(text.findIndex(line => line.replace(/^#+ /, '') === heading && line.startsWith('#')));
      const start = section.findIndex(line => first.test(line));
      const length = section.slice(start).findIndex(line => last.test(line)) + 1;
      const lines = section.slice(start, start + length).filter(line => !/^\s*(\/\/.*)?$/.test(line));
      expect(start).to.be.above(0);
      expect(lines).to.have.length.within(3, 20);
      expect(lines.filter(line => line.length > 120)).to.deep.equal([]);
      const imports = section.slice(0, start).filter(line => line.startsWith('import'));
      for (const line of imports) expect(line).to.match(/from '(@tensorflow\/tfjs|stiffgrad(\/\w+)?)';$/);
    });
});
