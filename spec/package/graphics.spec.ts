/** The tensor engine on a graphics processor, or on Chromium's emulation of one: right numbers, and an error when it is lost. */
import path from 'node:path';
import {expect} from 'chai';
import {build} from 'esbuild';
import {chromiumOrSkip, pageText} from './chromium.js';
import type {Graphics} from './graphics-program.js';
import {root} from './sources.js';

const contents = `
  import {graphics} from './graphics-program.js';
  const show = value => { document.querySelector('pre').textContent = btoa(unescape(encodeURIComponent(JSON.stringify(value)))); };
  graphics().then(show, error => show({error: String(error?.stack)}));`;

describe('on a graphics processor', function () {
  this.timeout(200_000);
  let there: Graphics & {readonly error?: string};

  before(async function () {
    const chromium = await chromiumOrSkip(this);
    const {outputFiles} = await build({
      stdin: {contents, resolveDir: path.join(root, 'spec/package'), loader: 'ts'},
      bundle: true,
      format: 'esm',
      target: 'es2022',
      write: false,
      logLevel: 'silent',
    });
    const text = await pageText(chromium, outputFiles[0].text, {
      flags: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    });
    there = JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as typeof there;
    expect(there.error).to.equal(undefined);
    if (there.backend === '') {
      console.log('        skipped: this Chromium has no WebGL');
      this.skip();
    }
  });

  it('state and gradient are those of the compiled engine, to single precision', () => {
    const [graphics, compiled] = there.numbers;
    const size = Math.max(...compiled.map(Math.abs));
    compiled.forEach((value, i) => expect(graphics[i], String(i)).to.be.closeTo(value, 2e-6 * size));
    expect(graphics).not.to.deep.equal(compiled);
  });

  it('that is lost, nothing comes from but an error, and what does not need it goes on', () => {
    expect(there.lost).to.deep.equal(['DeviceError device-lost', 'DeviceError device-lost']);
    expect(there.after).to.deep.equal(there.numbers[1]);
  });
});
