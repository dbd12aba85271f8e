/**
 * The entries in a browser: bundled as they are, without settings and without anything of Node, and run in
 * headless Chromium where there is one, for the same gradient as here.
 */
import {expect} from 'chai';
import {answer, type Answer} from './browser-program.js';
import {answerInPage, bundle, chromiumOrSkip} from './chromium.js';
import {entries} from './sources.js';

describe('in a browser', function () {
  this.timeout(200_000);

  for (const [name, source] of Object.entries(entries)) {
    it(`${name} is bundled without anything of Node`, async () => {
      const {metafile, warnings} = await bundle(`export * from '../../${source}'`);
      const left = Object.values(metafile.outputs).flatMap(({imports}) => imports.map(({path: to}) => to));
      expect(left).to.deep.equal([]);
      expect(warnings.map(({text}) => text)).to.deep.equal([]);
      // Packages whose browser field puts an empty module in place of Node's are not counted: theirs is the same promise.
      expect(Object.keys(metafile.inputs).filter(input => /^node:/.test(input))).to.deep.equal([]);
    });
  }

  it('what is not used of the models is left out', async () => {
    const {metafile} = await bundle("export {spring} from '../../models/index.js'");
    const inputs = Object.values(metafile.outputs).flatMap(output =>
      Object.entries(output.inputs)
        .filter(([, {bytesInOutput}]) => bytesInOutput > 0)
        .map(([name]) => name),
    );
    expect(inputs).to.include('models/spring.ts').and.to.include('lib/engine/tensor/gradients.ts');
    expect(inputs).not.to.include('models/pendulum.ts');
  });

  describe('a gradient in Chromium is that of Node', () => {
    let chromium = '';

    before(async function () {
      chromium = await chromiumOrSkip(this);
    });

    for (const {where, policy, engines} of [
      {where: 'compiled', policy: '', engines: ['wasm', 'interpreter']},
      // Inline scripts may run, WebAssembly and eval may not.
      {
        where: 'by the interpreter where WebAssembly is forbidden',
        policy: "script-src 'unsafe-inline'",
        engines: ['interpreter', 'interpreter'],
      },
    ]) {
      it(where, async () => {
        const there = await answerInPage<Answer>(chromium, './browser-program.js', 'answer', {policy});
        const here = await answer();
        expect(there.engines).to.deep.equal(engines);
        expect(there.chart).to.equal(true);
        expect(there.table).to.match(/file system/);
        expect(there.rows).to.deep.equal([0, 0.5, 1.5, -2]);
        // Nothing here calls a function of Math that one V8 may round otherwise than the next.
        expect(there.numbers).to.deep.equal(here.numbers);
        const gradient = here.numbers[1].slice(1);
        // float32 in and out: the state that the loss sees is rounded, 6e-8 relative.
        there.tape.forEach((value, i) =>
          expect(value, `tape ${i}`).to.be.closeTo(gradient[i], 1e-6 * Math.max(...gradient.map(Math.abs))),
        );
      });
    }
  });
});
