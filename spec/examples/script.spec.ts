/** The command line of the training scripts is read as that of the program. */
import {expect} from 'chai';
import {progress, scriptOptions} from '../../examples/script.js';

describe('the command line of a script', () => {
  const read = (...args: string[]): ReturnType<typeof scriptOptions> =>
    scriptOptions('examples/spiral', {report: 'the page to write, such as page.html'}, ['short'], args);

  it('has a record, options with a text and flags', () => {
    const {record, texts, flags} = read('data.csv', '--report', 'a.html', '--short');
    expect([record, texts.report, [...flags]]).to.deep.equal(['data.csv', 'a.html', ['short']]);
    expect([...read('-h').flags]).to.deep.equal(['help']);
    expect(read()).to.deep.include({record: undefined, flags: new Set()});
  });

  it('is refused in a sentence', () => {
    const cases: readonly [readonly string[], string][] = [
      [['--shrot'], "examples/spiral has no option '--shrot'. Did you mean '--short'?"],
      [['--qqqqqq'], "examples/spiral has no option '--qqqqqq'. See --help."],
      [['--report'], '--report needs a text: the page to write, such as page.html.'],
      [['--short=yes'], "--short takes no text, and has no use for 'yes'."],
      [['--short', '--short'], '--short is given twice; give it once.'],
      [['a.csv', 'b.csv'], "examples/spiral takes one record, and has no use for 'b.csv'."],
    ];
    for (const [args, sentence] of cases) expect(() => read(...args), args.join(' ')).to.throw(sentence);
  });
});

describe('the progress of a script', () => {
  const written = (isTTY: boolean): string => {
    let [text, now] = ['', 5000];
    const {update, finish} = progress('training', {isTTY, write: (part: string) => (text += part)}, () => now);
    for (let step = 1; step <= 1000; step++) {
      now += 25; // 25 s in all
      update(`step ${step}`);
    }
    finish();
    return text;
  };

  it('in a file: a line every ten seconds, and one at the end', () => {
    expect(written(false)).to.equal('training step 400\ntraining step 800\ntraining step 1000 · took 25.0 s\n');
  });

  it('on a terminal: one line, written anew', () => {
    const [first, ...others] = written(true).split('\r\x1B[K');
    expect(first).to.equal('');
    expect(others).to.have.length.within(100, 126);
    expect(others.filter(line => line.includes('\n'))).to.deep.equal(['training step 1000 · took 25.0 s\n']);
  });
});
