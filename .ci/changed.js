/** Runs the specs of the folders that differ from the last commit: `npm run test:changed`. For the work at hand; the whole suite is `npm test`. */
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';

const changed = execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], {encoding: 'utf8'})
  .split('\n')
  .filter(line => line !== '')
  .map(line => line.slice(3).split(' -> ').pop() ?? '');
const folders = new Set();
for (const path of changed) {
  const [top, layer] = path.split('/');
  if (top === 'spec') folders.add(path.split('/').slice(0, -1).join('/'));
  else if (top === 'lib') {
    folders.add(`spec/${layer}`);
  } else if (top === 'models' || top === 'training' || top === 'sweep' || top === 'examples')
    folders.add(`spec/${top}`);
  if (/\.ts$|\.md$/.test(path)) folders.add('spec/package');
}
const specs = [...folders].filter(folder => existsSync(folder)).sort();
if (specs.length === 0) console.log('Nothing differs from the last commit.');
else {
  console.log(specs.join(' '));
  const {status} = spawnSync('npx', ['mocha', '--parallel', ...specs.map(folder => `${folder}/**/*.spec.ts`)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
