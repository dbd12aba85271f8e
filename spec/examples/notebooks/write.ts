/** Runs notebooks and stores their outputs in them: npm run notebooks [-- name …]. */
import {readdirSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import path from 'node:path';
import {root} from '../../package/sources.js';
import {execute, printed, readNotebook, withOutputs} from './runner.js';

const wanted = process.argv.slice(2);
for (const file of readdirSync(path.join(root, 'examples/notebooks')).filter(
  name => name.endsWith('.ipynb') && (wanted.length === 0 || wanted.some(word => name.includes(word))),
)) {
  const notebook = readNotebook(`examples/notebooks/${file}`);
  const start = performance.now();
  try {
    const outputs = await execute(notebook);
    await writeFile(
      path.join(root, 'examples/notebooks', file),
      `${JSON.stringify(withOutputs(notebook, outputs), null, 1)}\n`,
    );
    console.log(
      `${file}, ${((performance.now() - start) / 1000).toFixed(1)} s: ${outputs.map(printed).join(' | ').slice(0, 400)}`,
    );
  } catch (error) {
    console.log(`${file}: ${String(error).slice(0, 900)}`);
  }
}
