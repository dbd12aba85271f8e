/** The tensor engine on a graphics processor, or on Chromium's emulation of one: right numbers, and an error when it is lost. */
import {expect} from 'chai';
import {answerFromServer, chromiumOrSkip, emulatedGraphics} from './chromium.js';
import type {Graphics} from './graphics-program.js';

(['webgl', 'webgpu'] as const).forEach(backend => {
  describe(`on a graphics processor, by ${backend}`, function () {
    this.timeout(200_000);
    let there: Graphics;

    before(async function () {
      const chromium = await chromiumOrSkip(this);
      there = await answerFromServer(chromium, './graphics-program.js', backend, emulatedGraphics);
      if (there.backend === '') {
        console.log(`        skipped: this Chromium has no ${backend} that can be read`);
        this.skip();
      }
    });

    it('state and gradient are those of the compiled engine, to single precision', () => {
      const [graphics, compiled, ofDevice] = there.numbers;
      const size = Math.max(...compiled.map(Math.abs));
      for (const found of [graphics, ofDevice])
        compiled.forEach((value, i) => expect(found[i], String(i)).to.be.closeTo(value, 2e-6 * size));
      expect(graphics).not.to.deep.equal(compiled);
    });

    it('is read while another backend is the current one where it can be, and else that is told', () => {
      expect(there.elsewhere).to.equal(backend === 'webgl' ? 'nothing was thrown' : 'DeviceError device-asynchronous');
    });

    it('leaves no tensor behind', () => {
      expect(there.tensors).to.equal(0);
    });

    it('that is lost, nothing comes from but an error, and what does not need it goes on', () => {
      expect(there.lost).to.deep.equal(['DeviceError device-lost', 'DeviceError device-lost']);
      expect(there.after).to.deep.equal(there.numbers[1]);
    });
  });
});
