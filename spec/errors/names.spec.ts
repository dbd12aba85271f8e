/** Errors are told by their names in minified bundles too, keep their class between threads, and their texts are bounded. */
import {expect} from 'chai';
import {build} from 'esbuild';
import * as errors from '../../lib/errors.js';
import {shown} from '../../lib/checks.js';
import {root} from '../package/sources.js';

type Errors = typeof errors;

/** The module as a page's bundler makes it: every class with a name of one letter. */
async function minified(): Promise<Errors & {there(error: unknown): unknown; member(error: unknown): unknown}> {
  const contents = `
    export * from './lib/errors.ts';
    import {deserializeError, inMember, serializeError} from './lib/simulate/workers/serialize-error.ts';
    export const there = error => deserializeError(structuredClone(serializeError(error)));
    export const member = error => inMember(error, 3);`;
  const {outputFiles} = await build({
    stdin: {contents, resolveDir: root, loader: 'ts'},
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  });
  return (await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  )) as never;
}

const names = Object.keys(errors) as (keyof Errors)[];

describe('names of errors', () => {
  it('are those of their classes, in a minified bundle too', async () => {
    const small = await minified();
    expect(names).to.include.members(['StiffgradError', 'NewtonError', 'AbortError', 'MemoryError']);
    // The minifier did rename them, so that what follows says something.
    expect(small.NewtonError.name).not.to.equal('NewtonError');
    for (const name of names)
      for (const {[name]: Class} of [errors, small]) expect(new Class('code', 'Sentence.').name).to.equal(name);
  });

  it('bring them back in their classes from another thread, and in a batch', async () => {
    const small = await minified();
    for (const name of names) {
      const error = new small[name]('code', 'Sentence.', {step: 2});
      error.cause = new small.SingularMatrixError('singular', 'Rows.', {rows: [1]});
      for (const found of [small.there(error), small.member(error)] as errors.StiffgradError[]) {
        expect(found).to.be.instanceOf(small[name]);
        expect(found.name).to.equal(name);
        expect(found.code).to.equal('code');
        expect(found.cause).to.be.instanceOf(small.SingularMatrixError);
      }
    }
  });
});

describe('texts of errors', () => {
  it('are bounded, with their beginning and their end', () => {
    const {message} = new errors.DataError('bad-cell', `Line 7: ${'x'.repeat(1e7)} is no number. Correct it.`);
    expect(message.length).to.be.below(5000);
    expect(message).to.match(/^Line 7: xxx.*letters left out.*xxx is no number\. Correct it\.$/);
    expect(shown('y'.repeat(1e6)).length).to.be.below(200);
    expect(shown('short')).to.equal("'short'");
  });
});
