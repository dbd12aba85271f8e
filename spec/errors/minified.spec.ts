/** Errors keep their names where a minifier renames classes, and are known by class and by name in a bundle. */
import {build} from 'esbuild';
import {expect} from 'chai';
import * as errors from '../../lib/errors.js';
import {root} from '../package/sources.js';

describe('errors in a minified bundle', () => {
  it('keep their names', async () => {
    const contents =
      "import * as errors from './lib/errors.js'; export const made = Object.entries(errors).map(([name, Class]) => [name, new Class('code', 'sentence'), Class.name]);";
    const {outputFiles} = await build({
      stdin: {contents, resolveDir: root},
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      write: false,
    });
    const {made} = (await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)) as {
      made: readonly (readonly [string, Error & {code: string}, string])[];
    };
    expect(made.map(([name]) => name).sort()).to.deep.equal(Object.keys(errors).sort());
    // Else the bundle is not what this test is about.
    expect(made.some(([name, , className]) => name !== className)).to.equal(true);
    for (const [name, error] of made) {
      expect(error.name).to.equal(name);
      expect(String(error)).to.equal(`${name}: sentence`);
      expect(error.code).to.equal('code');
    }
  });
});
