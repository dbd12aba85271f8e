/** The tensor engine on a graphics processor, or on Chromium's emulation of one: right numbers, and an error when it is lost. */
import {expect} from 'chai';
import {answerInPage, chromiumOrSkip} from './chromium.js';
import type {Graphics} from './graphics-program.js';

describe('on a graphics processor', function () {
  this.timeout(200_000);
  let there: Graphics;

  before(async function () {
    const chromium = await chromiumOrSkip(this);
    there = await answerInPage(chromium, './graphics-program.js', 'graphics', {
      flags: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    });
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
