/**
 * The built page in a Chromium that is installed (STIFFGRAD_CHROMIUM names one elsewhere): a record is loaded and fitted, with the
 * pointer and by the keyboard alone, wide and narrow, light and dark; axe-core looks at each view. Skipped where there is no browser.
 */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {after, before, describe, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';
import {preview} from 'vite';

const program = [process.env.STIFFGRAD_CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome']
  .filter(name => name !== undefined)
  .map(name => spawnSync('sh', ['-c', `command -v "${name}"`], {encoding: 'utf8'}).stdout.trim())
  .find(found => found !== '');
if (program === undefined) console.log('skipped: no Chromium is installed');

const root = fileURLToPath(new URL('..', import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Where pictures of the page are kept, if anywhere. */
const pictures = process.env.STIFFGRAD_PICTURES;
if (pictures !== undefined) mkdirSync(pictures, {recursive: true});

/** A spring of 25 N/m, damper 0.4 N·s/m, mass 1 kg, from 0.2 m at rest: its closed form, with errors of 0.2 mm of no pattern. */
function record() {
  const [k, c, q0] = [25, 0.4, 0.2];
  const decay = c / 2;
  const omega = Math.sqrt(k - decay ** 2);
  const rows = Array.from({length: 301}, (_, i) => {
    const t = i * 0.01;
    const q = q0 * Math.exp(-decay * t) * (Math.cos(omega * t) + (decay / omega) * Math.sin(omega * t));
    return `${t.toFixed(2)},${(q + 4e-4 * (((i * 0.6180339887498949) % 1) - 0.5)).toFixed(6)}`;
  });
  return {name: 'own.csv', mimeType: 'text/csv', buffer: Buffer.from(`t,q\n${rows.join('\n')}\n`)};
}

describe('the page', {skip: program === undefined, timeout: 240_000}, () => {
  let browser, server, address;

  before(async () => {
    server = await preview({root, logLevel: 'error', preview: {port: 4183, host: '127.0.0.1'}});
    address = server.resolvedUrls.local[0];
    browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--disable-gpu']});
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  /** A page that has no errors, neither its own nor of what it loads. */
  async function opened(options, work, hash = '', wanted = /^$/) {
    const context = await browser.newContext({
      viewport: {width: 1280, height: 900},
      permissions: ['clipboard-write', 'clipboard-read'],
      ...options,
    });
    const page = await context.newPage();
    const errors = [];
    page.on('pageerror', error => errors.push(String(error)));
    page.on(
      'console',
      message => message.type() === 'error' && !wanted.test(message.text()) && errors.push(message.text()),
    );
    try {
      await page.goto(address + hash);
      await work(page);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
    }
  }

  const settled = page =>
    page.waitForFunction(() => /^(Converged|Ended)/.test(document.getElementById('status').textContent), undefined, {
      timeout: 60_000,
    });
  const estimates = page =>
    page.$$eval('#estimates tbody tr', lines =>
      Object.fromEntries(
        lines.map(line => [
          line.cells[0].textContent,
          [Number(line.cells[1].textContent), Number(line.cells[2].textContent.replace('± ', ''))],
        ]),
      ),
    );
  const picture = async (page, name) => {
    if (pictures !== undefined) await page.screenshot({path: path.join(pictures, `${name}.png`), fullPage: true});
  };

  async function accessible(page) {
    await page.evaluate(axe);
    const {violations} = await page.evaluate(() =>
      globalThis.axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      }),
    );
    const serious = violations.filter(({impact}) => impact === 'serious' || impact === 'critical');
    assert.deepEqual(
      serious.map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 120)).join(' | ')}`),
      [],
    );
  }

  test('fits a record of its own within 10 s of loading, and one that is chosen', async () => {
    const began = performance.now();
    await opened({}, async page => {
      await settled(page);
      const seconds = (performance.now() - began) / 1000;
      console.log(`loaded and fitted in ${seconds.toFixed(1)} s`);
      assert.ok(seconds < 10, `${seconds} s`);
      const first = await estimates(page);
      // The record was made with k = 40, c = 0.6.
      assert.ok(
        Math.abs(first.k[0] - 40) < 4 * first.k[1] && Math.abs(first.c[0] - 0.6) < 4 * first.c[1],
        JSON.stringify(first),
      );
      assert.match(await page.getAttribute('#curve img', 'alt'), /Record and fitted model/);
      assert.equal(
        await page.$$eval('#pictures img', all => all.filter(image => image.complete && image.naturalWidth > 0).length),
        4,
      );
      assert.equal(await page.$('.results svg'), null); // a picture of a model is no part of the page
      await accessible(page);
      await picture(page, 'demo-light');

      await page.setInputFiles('#file', record());
      await page.waitForFunction(() => document.getElementById('record').textContent.startsWith('own.csv: 301 rows'));
      // Its start is another: 0.2 m.
      const text = await page.$eval('.cm-content', element => element.innerText);
      assert.match(text, /initial: \{q: 0\.1/);
      await page.click('.cm-line:has-text("initial:")');
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+End');
      await page.keyboard.type('initial: {q: 0.2, v: 0},');
      await page.click('#start');
      await page.waitForFunction(() => !document.getElementById('status').textContent.startsWith('own.csv'));
      await settled(page);
      const own = await estimates(page);
      assert.ok(Math.abs(own.k[0] - 25) < 0.05 && Math.abs(own.c[0] - 0.4) < 0.01, JSON.stringify(own));
    });
  });

  test('by the keyboard alone: a record is chosen and fitted, the editor is entered and left', async () => {
    await opened({}, async page => {
      await settled(page);
      const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
      const tabTo = async id => {
        for (let i = 0; i < 30; i++) {
          if ((await focus()).includes(id)) return;
          await page.keyboard.press('Tab');
        }
        assert.fail(`Tab does not reach ${id}`);
      };
      await tabTo('sample');
      await page.keyboard.press('ArrowDown');
      await page.waitForFunction(() => document.getElementById('record').textContent.includes('21 rows'));
      await settled(page);
      const {growth, decline} = await estimates(page);
      // Howard (2009): 0.55 and 0.84 a year.
      assert.ok(
        Math.abs(growth[0] - 0.55) < 0.1 && Math.abs(decline[0] - 0.84) < 0.1,
        JSON.stringify({growth, decline}),
      );
      await tabTo('cm-content');
      // A fit may be over before anybody looks whether it runs.
      await page.evaluate(() => {
        new MutationObserver(() => (document.body.dataset.ran = 'yes')).observe(document.getElementById('stop'), {
          attributes: true,
        });
      });
      const runs = async key => {
        await page.evaluate(() => delete document.body.dataset.ran);
        await page.keyboard.press(key);
        await page.waitForFunction(() => document.body.dataset.ran === 'yes');
        await settled(page);
      };
      await runs('Control+Enter');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      await tabTo('start');
      await runs('Enter');
    });
  });

  test('says what is wrong with a model, stops, and gives types', async () => {
    await opened({}, async page => {
      await settled(page);
      await page.click('.cm-content');
      await page.waitForFunction(() => document.getElementById('types').textContent.startsWith('Types:'), undefined, {
        timeout: 60_000,
      });
      await page.keyboard.press('Control+End');
      await page.keyboard.type('system.fo');
      await page.waitForSelector('.cm-tooltip-autocomplete >> text=forces', {timeout: 20_000});
      await page.keyboard.press('Escape');
      await page.keyboard.type('rcez;');
      await page.waitForSelector('.cm-lintRange', {timeout: 20_000});
      await page.keyboard.press('Control+a');
      await page.keyboard.type("import {nothing} from 'elsewhere';");
      await page.keyboard.press('Control+Enter');
      await page.waitForFunction(() => document.getElementById('failure').textContent !== '');
      assert.match(await page.textContent('#failure'), /imports 'elsewhere'; there are @tensorflow\/tfjs, stiffgrad/);
      await accessible(page);
    });
  });

  test('shares a model by its address, which does not run by itself', async () => {
    await opened({}, async page => {
      await settled(page);
      await page.click('.cm-line:has-text("initial:")');
      await page.keyboard.press('End');
      await page.keyboard.type(' // a word that is mine');
      await page.click('#share');
      await page.waitForFunction(() => document.getElementById('shared').textContent.includes('link'));
      const link = await page.evaluate(() => location.hash);
      await opened(
        {},
        async other => {
          assert.match(await other.textContent('.cm-content'), /a word that is mine/);
          assert.match(await other.textContent('#status'), /came with the link/);
          assert.match(await other.textContent('#foreign'), /somebody's code/);
          assert.equal(await other.isVisible('#foreign'), true);
          assert.equal(await other.$('#curve img'), null);
          await other.click('#start');
          await settled(other);
        },
        link,
      );
    });
  });

  /** Another model in the editor, whole. */
  async function written(page, text) {
    await page.click('.cm-content');
    await page.keyboard.press('Control+a');
    await page.evaluate(words => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', words);
      const paste = new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true});
      document.querySelector('.cm-content').dispatchEvent(paste);
    }, text);
  }
  const failed = page => page.waitForFunction(() => document.getElementById('failure').textContent !== '');

  for (const [what, sent] of [
    [
      'no markup in place of a picture',
      "{kind: 'progress', iteration: 1, cost: 1, rows: [], curve: '<img src=x onerror=\"document.title = 1\">'}",
    ],
    [
      'no script with a picture',
      '{kind: \'progress\', iteration: 1, cost: 1, rows: [], curve: \'<svg xmlns="http://www.w3.org/2000/svg" onload="document.title = 1"><script>document.title = 1</script></svg>\'}',
    ],
    ['nothing that is no answer', "{kind: 'fitted', sentence: {toString: 1}, rows: 'none'}"],
  ]) {
    test(`takes from a model: ${what}`, async () => {
      const work = async page => {
        await settled(page);
        const title = await page.title();
        const model = await page.evaluate(() => document.querySelector('.cm-content').innerText);
        await written(page, `postMessage(${sent});\nawait new Promise(resolve => setTimeout(resolve, 300));\n${model}`);
        await page.click('#start');
        await page.waitForFunction(() => !document.getElementById('start').disabled, undefined, {timeout: 60_000});
        assert.equal(await page.title(), title);
        assert.equal(await page.$('#curve script, #curve svg, #curve [onerror]'), null);
        if (!sent.includes('<svg')) assert.match(await page.textContent('#failure'), /no SVG|does not know/);
      };
      // A parser that runs nothing says so in the console, too.
      await opened({}, work, '', /Content Security Policy/);
    });
  }

  test('a model reaches no other server', async () => {
    await opened(
      {},
      async page => {
        await settled(page);
        const asked = [];
        page.on('request', request => asked.push(request.url()));
        await written(
          page,
          "const said = await fetch('/index.html').then(() => 'sent', () => 'refused');\nthrow new Error(said);",
        );
        await page.click('#start');
        await failed(page);
        assert.match(await page.textContent('#failure'), /refused/);
        assert.deepEqual(
          asked.filter(url => url.includes('index.html')),
          [],
        );
      },
      '',
      /Content Security Policy|Refused to connect/,
    );
  });

  test('a failed fit leaves neither curve nor table of the one before', async () => {
    await opened({}, async page => {
      await settled(page);
      assert.equal(await page.isVisible('#estimates'), true);
      await written(page, 'export default {};');
      await page.click('#start');
      await failed(page);
      assert.equal(await page.isVisible('#estimates'), false);
      assert.equal(await page.$('.results img'), null);
    });
  });

  test('says of a broken link that it is broken, and runs nothing', async () => {
    for (const hash of ['#fit=AAAAbroken', '#fit=', `#fit=${'A'.repeat(40_000)}`]) {
      await opened(
        {},
        async page => {
          assert.match(await page.textContent('#status'), /link is broken/);
          assert.equal(await page.isDisabled('#stop'), true);
          assert.equal(await page.$('#curve img'), null);
        },
        hash,
      );
    }
  });

  test('advises options of a table that a model can give, and takes them', async () => {
    await opened({}, async page => {
      await settled(page);
      const {name, mimeType, buffer} = record();
      const comma = buffer.toString().replaceAll(',', ';').replaceAll('.', ',');
      await page.setInputFiles('#file', {name, mimeType, buffer: Buffer.from(comma)});
      await page.waitForFunction(() => document.getElementById('record').textContent.startsWith('own.csv'));
      await page.click('#start');
      await failed(page);
      assert.match(await page.textContent('#failure'), /decimal: ','.*table: \{/s);
      const model = await page.evaluate(() => document.querySelector('.cm-content').innerText);
      await written(
        page,
        model.replace('export default {', "export default {\n  table: {decimal: ','},").replace('q: 0.1,', 'q: 0.2,'),
      );
      await page.click('#start');
      await settled(page);
      const {k} = await estimates(page);
      assert.ok(Math.abs(k[0] - 25) < 0.05, String(k));
    });
  });

  test('underlines nothing in its own samples, and has their unit of time', async () => {
    await opened({}, async page => {
      await settled(page);
      const typed = () =>
        page.waitForFunction(() => document.getElementById('types').textContent.startsWith('Types:'), undefined, {
          timeout: 60_000,
        });
      const unit = () =>
        page.$$eval('.results img', all =>
          all.map(image => /time \(([^)]*)\)/.exec(decodeURIComponent(image.src))?.[1]).filter(Boolean),
        );
      for (const [sample, wanted] of [
        ['0', 's'],
        ['1', 'years after 1900'],
      ]) {
        if (sample !== '0') {
          await page.selectOption('#sample', sample);
          await page.waitForFunction(() => document.getElementById('record').textContent.includes('21 rows'));
          await settled(page);
        }
        assert.deepEqual([...new Set(await unit())], [wanted]);
        await page.click('.cm-content');
        await typed();
        await page.keyboard.press('Control+End');
        // A fault of our own shows that the samples were looked at.
        await page.keyboard.type('nothing;');
        await page.waitForSelector('.cm-lintRange', {timeout: 30_000});
        assert.deepEqual(await page.$$eval('.cm-lintRange', all => all.map(one => one.textContent)), ['nothing']);
      }
    });
  });

  test('draws the gallery, whose derivatives are right, and pauses', async () => {
    await opened(
      {},
      async page => {
        for (const id of await page
          .$$eval('#scene option', all => all.map(({value}) => value))
          .then(async () => {
            await page.waitForSelector('#scene option', {state: 'attached'});
            return page.$$eval('#scene option', all => all.map(({value}) => value));
          })) {
          await page.selectOption('#scene', id);
          const title = await page.$eval(`#scene option[value="${id}"]`, option => option.textContent);
          await page.waitForFunction(name => document.querySelector('#scene-curve img')?.alt.includes(name), title, {
            timeout: 60_000,
          });
          await picture(page, `gallery-${id}`);
        }
        await page.selectOption('#scene', 'pendulum');
        const sentence = () => page.textContent('#scene-status');
        await page.waitForFunction(() => /∂gravity/.test(document.getElementById('scene-status').textContent));
        await page.click('#pause');
        assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true');
        const moves = () => page.$eval('#motion img', image => decodeURIComponent(image.src).includes('<animate'));
        assert.equal(await moves(), false);
        await page.click('#pause');
        assert.equal(await moves(), true);
        await page.click('#pause');
        const old = await sentence();
        await page.focus('input[name="length"]');
        await page.keyboard.press('ArrowRight');
        await page.waitForFunction(before => document.getElementById('scene-status').textContent !== before, old);
        // Dimensions: the angle follows from g/l and c/(m l²) alone, so that l ∂/∂l = −g ∂/∂g − 2c ∂/∂c.
        const told = Object.fromEntries(
          [...(await sentence()).matchAll(/∂\/\u2060∂(\w+)[^=]*= ([^\s,]+?)[.,]?(?=\s|$)/g)].map(([, name, value]) => [
            name,
            Number(value.replace('−', '-')),
          ]),
        );
        const at = Object.fromEntries(
          await page.$$eval('#sliders input', all => all.map(({name, value}) => [name, Number(value)])),
        );
        const left = at.length * told.length;
        const [weight, hinge] = [at.g * told.gravity, 2 * at.damping * told.damping];
        const right = -weight - hinge;
        // Three digits are told of each.
        assert.ok(
          Math.abs(left - right) < 0.01 * (Math.abs(left) + Math.abs(weight) + Math.abs(hinge)),
          `${left} and ${right} of ${JSON.stringify(told)}`,
        );
        await accessible(page);
      },
      '#gallery',
    );
  });

  for (const [name, options] of [
    ['narrow', {viewport: {width: 360, height: 780}}],
    ['dark', {colorScheme: 'dark'}],
  ]) {
    test(`is whole ${name}, fit and gallery`, async () => {
      await opened(options, async page => {
        await settled(page);
        const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok((await wide()) <= 0, `${await wide()} px too wide`);
        await accessible(page);
        await picture(page, `demo-${name}`);
        await page.click('#to-gallery');
        await page.waitForSelector('#scene-gradient img', {timeout: 30_000});
        assert.ok((await wide()) <= 0, `${await wide()} px too wide`);
        await accessible(page);
        await picture(page, `gallery-${name}`);
      });
    });
  }
});
