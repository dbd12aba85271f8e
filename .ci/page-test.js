/** The page of the template 'page', as its server gives it: it names its script, and that is a whole bundle. */
import {setTimeout as wait} from 'node:timers/promises';

const [, , address] = process.argv;

async function text(at) {
  // esbuild answers once it has built: a second or two, more on a busy machine.
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(new URL(at, address));
      if (answer.ok) return await answer.text();
    } catch (error) {
      if (tries > 60) throw error;
    }
    if (tries > 60) throw new Error(`${at} was not served`);
    await wait(500);
  }
}

const [page, script] = [await text('/'), await text('/main.js')];
if (!page.includes('main.js') || !page.includes('id="length"')) throw new Error('the page is not that of the template');
if (!script.includes('rad per metre of length') || script.length < 500_000) throw new Error('the bundle is not whole');
console.log(`served: a page of ${page.length} bytes, its script of ${script.length}`);
