/** Scripts of clusters hand a sweep's file and its counts on as they are, whatever they contain. */
import {execFileSync} from 'node:child_process';
import {expect} from 'chai';
import fc from 'fast-check';
import {OptionError} from '../../lib/index.js';
import {engines} from '../../sweep/index.js';
import {runs} from '../property.js';

/** Names that a file may have, hostile ones above all. */
const file = fc
  .string({
    unit: fc.oneof(fc.constantFrom(...'\'"`$(){}<>|&;*?[]~!#=%\\ \t\n\r-.'), fc.string({minLength: 1, maxLength: 2})),
    minLength: 1,
    maxLength: 12,
  })
  .filter(name => !name.includes('\0') && !/\p{Surrogate}/u.test(name));
const named = (name: string): string => (name.startsWith('-') ? `./${name}` : name);

/** The words that bash makes of many lines, each after the variable of its own. */
function wordsOf(lines: readonly string[]): string[][] {
  const script = lines.map(line => `${line.replace(/^srun /, 'words ')}\n`).join('');
  const program = `words() { printf '%s\\0' "$@" END; }\nSLURM_ARRAY_TASK_ID=7\n${script}`;
  const out = execFileSync('bash', ['--norc'], {input: program}).toString();
  const all: string[][] = [[]];
  for (const word of out.split('\0').slice(0, -1)) {
    if (word === 'END') all.push([]);
    else all.at(-1)!.push(word);
  }
  return all.slice(0, -1);
}

describe('scripts of clusters', () => {
  it("of Slurm are one command to bash, with the file's own name", () => {
    const names = [
      "it's.ts",
      '$(touch pwned).ts',
      '-x.ts',
      '"; rm -rf x; "',
      'a\nb.ts',
      "'",
      '`id`',
      ...fc.sample(file, 200),
    ];
    const lines = names.map(name => {
      const [, command] = engines.clusterScripts.slurm({file: name, shards: 3, workers: 2}).split('where it was.\n');
      return command.trimEnd();
    });
    expect(wordsOf(lines)).to.deep.equal(
      names.map(name => ['npx', 'stiffgrad', 'sweep', named(name), '--index', '7', '--of', '3', '--workers', '2']),
    );
  });

  it('of Kubernetes have the words as JSON, in which nothing but the index is a variable', () => {
    fc.assert(
      fc.property(file, name => {
        const script = engines.clusterScripts.kubernetes({file: name, shards: 4, workers: 1});
        const [, list] = /command: (\[.*\])\n/.exec(script)!;
        const words = (JSON.parse(list) as string[]).map(word =>
          word.replace(/\$\$|\$\((\w+)\)/g, (found, variable: string | undefined) =>
            found === '$$' ? '$' : `<${variable}>`,
          ),
        );
        expect(words.slice(3, 6)).to.deep.equal([named(name), '--index', '<JOB_COMPLETION_INDEX>']);
        expect(script).to.match(/\n {2}name: [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\n/);
        // Unprintable characters would be no YAML.

        expect(script).not.to.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/);
      }),
      runs(),
    );
  });

  it('refuse what is no file and no count', () => {
    const usual = {file: 'study.ts', shards: 2, workers: 1};
    const bad = [
      {file: ''},
      {file: 'a\0b'},
      {file: 3},
      {shards: '2; rm -rf x'},
      {shards: 1.5},
      {workers: 0},
      {workers: -1},
      {time: 3},
    ];
    for (const script of Object.values(engines.clusterScripts))
      for (const one of bad) expect(() => script({...usual, ...one} as never)).to.throw(OptionError, /clusterScripts/);
  });
});
