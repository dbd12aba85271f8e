/**
 * Tables: the four measured files where they are present, and made files with one fault each, whose
 * error must name the place.
 */
import {existsSync} from 'node:fs';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect} from 'chai';
import fc from 'fast-check';
import {DataError, OptionError} from '../../../lib/errors.js';
import {readTable, type Table} from '../../../training/data/table.js';
import {type TableOptions} from '../../../training/data/table-options.js';
import {saved} from './numpy-files.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

let folder = '';

async function made(text: string | Uint8Array, options?: TableOptions, name = 'made.csv'): Promise<Table> {
  const path = join(folder, name);
  await writeFile(path, text);
  return readTable(path, options);
}

async function failure(attempt: Promise<unknown> | (() => unknown)): Promise<DataError> {
  try {
    await (typeof attempt === 'function' ? attempt() : attempt);
  } catch (error) {
    expect(error).to.be.instanceOf(DataError);
    return error as DataError;
  }
  throw new Error('expected a DataError');
}

describe('readTable', () => {
  slow('reads text, bytes and blobs as it reads files', async () => {
    const text = '# a remark\nt;y\n0;1.5\n1;2,5\n'.replace(',', '.');
    const bytes = new TextEncoder().encode(text);
    for (const source of [text, bytes, bytes.buffer, new Blob([text])]) {
      const table = await readTable(source);
      expect([table.columns, [...table.column('t')], [...table.column('y')]]).to.deep.equal([
        ['t', 'y'],
        [0, 1],
        [1.5, 2.5],
      ]);
    }
    const headless = await readTable('1 2\n3 4\n'.replaceAll(' ', ','), {header: false});
    expect([headless.columns, [...headless.column('c1')]]).to.deep.equal([
      ['c0', 'c1'],
      [2, 4],
    ]);
    expect((await failure(readTable('a,b\n1,2\n2,x\n'))).message).to.match(/^the text, line/);
    const long = Array.from({length: 20_000}, (_, i) => `${i},${2 * i}`).join('\n');
    expect((await readTable(`t,y\n${long}`)).column('y')[19_999]).to.equal(39_998);
    const named = new File([text], 'record.csv');
    expect((await readTable(named)).rows).to.equal(2);
  });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'table-'));
  });
  after(() => rm(folder, {recursive: true}));

  describe('measured records', () => {
    const measured = new URL('../../../../shared/measured/', import.meta.url).pathname;

    function record(name: string, check: (table: Table) => void): void {
      slow(name, async function () {
        const path = join(measured, name);
        if (!existsSync(path)) {
          console.log(`      skipped: ${name} is not here`);
          this.skip();
        }
        check(await readTable(path));
      });
    }

    // The expected rows are the files' own first and last lines.
    record('emps/train.csv', table => {
      expect(table.columns).to.deep.equal(['t_s', 'qg_ref_m', 'qm_meas_m', 'vir_V']);
      expect(table.rows).to.equal(24841);
      expect(table.column('vir_V')[0]).to.equal(2.53862809);
      expect(table.column('qm_meas_m')[24840]).to.equal(0.00361505);
    });

    record('silverbox/SNLS80mV.csv', table => {
      expect(table.columns, 'the nameless column that a comma at the line end makes').to.deep.equal(['V1', 'V2']);
      expect(table.rows).to.equal(131072);
      expect([table.column('V1')[1], table.column('V2')[1]]).to.deep.equal([0.0066102, 0.012971]);
    });

    record('pendulum/single.csv', table => {
      expect(table.columns).to.deep.equal(['split', 'segment', 'time_s', 'theta_rad', 'dtheta_rad_s']);
      expect(table.text('split')[0]).to.equal('id');
      expect(new Set(table.text('split'))).to.deep.equal(new Set(['id', 'vad']));
      expect(table.column('theta_rad')[1]).to.equal(1.52510131);
    });

    record('lynx-hare/hudson-bay-lynx-hare.csv', table => {
      expect(table.columns).to.deep.equal(['Year', 'Lynx', 'Hare']);
      expect(table.rows).to.equal(21);
      expect([...table.column('Year')]).to.deep.equal(Array.from({length: 21}, (_, i) => 1900 + i));
      expect(table.column('Lynx')[20]).to.equal(8.6);
    });
  });

  describe('forms of a file', () => {
    const expected = {columns: ['t', 'x'], t: [0, 1], x: [-1.5, 2e-3]};
    const forms: readonly [string, string, string?][] = [
      ['commas', 't,x\n0,-1.5\n1,2e-3\n'],
      ['no line end after the last row', 't,x\n0,-1.5\n1,2e-3'],
      ['Windows line ends', 't,x\r\n0,-1.5\r\n1,2e-3\r\n'],
      ['a byte order mark', '\ufefft,x\n0,-1.5\n1,2e-3\n'],
      ['tabs', 't\tx\n0\t-1.5\n1\t2e-3\n', 'made.tsv'],
      ['semicolons', 't;x\n0;-1.5\n1;+2.0E-3\n'],
      ['quotes and blanks', '"t" , "x"\n 0, "-1.5"\n1 ,2e-3 \n'],
      ['comments and blank lines', '# by hand\n\nt,x\n# first\n0,-1.5\n\n1,.002\n'],
    ];
    for (const [name, text, file] of forms) {
      it(name, async () => {
        const table = await made(text, {}, file);
        expect(table.columns).to.deep.equal(expected.columns);
        expect([...table.column('t')]).to.deep.equal(expected.t);
        expect([...table.column('x')]).to.deep.equal(expected.x);
      });
    }

    describe('below lines that it skips', () => {
      // What an oscilloscope writes: a stray quote, delimiters of another kind, and no marks of a comment.
      const above = 'Scope 5" probe; 10x\nRate,\t1000 Hz\n\n';
      const below = 't,x\n0,1\n1,2\n';
      const utf16 = (text: string): Uint8Array => new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'));
      const sources: [string, string | Uint8Array][] = [
        ['ends of Unix', above + below],
        ['ends of Windows', (above + below).replaceAll('\n', '\r\n')],
        ['ends of both kinds', above + below.replaceAll('\n', '\r\n')],
        ['a byte order mark', `\ufeff${above}${below}`],
        ['UTF-16', utf16(above + below)],
        ['UTF-16 of Windows', utf16((above + below).replaceAll('\n', '\r\n'))],
      ];
      for (const [name, source] of sources) {
        it(name, async () => {
          const table = await readTable(source, {skip: 3});
          expect([table.columns, [...table.column('t')], [...table.column('x')]]).to.deep.equal([
            ['t', 'x'],
            [0, 1],
            [1, 2],
          ]);
        });
      }

      it('and where it is not told to, it says how many', async () => {
        const found = await readTable(`measured on a Monday\n${below}`).then(
          () => undefined,
          (error: unknown) => error as DataError,
        );
        expect(found?.message).to.match(
          /line 2: 2 fields, but the header has 1.*leave out the lines above it with skip: 1\./,
        );
      });

      it('longer than the first part of a file, cut anywhere', async () => {
        for (const length of [2 ** 16 - 4, 2 ** 16 - 3, 2 ** 16 - 2, 2 ** 17]) {
          const long = `${'"'.repeat(length)}\r\n\r\n`;
          for (const text of [long + below, utf16(long + below)])
            expect([...(await made(text, {skip: 2})).column('x')]).to.deep.equal([1, 2]);
        }
      });

      it('in the parts of a large file, without a header, and with blanks between columns', async () => {
        const parts: number[][] = [];
        for await (const part of readTable.chunks(`${above}0 1\n1 2\n2 3\n`, {
          skip: 3,
          header: false,
          delimiter: ' ',
          rows: 2,
        }))
          parts.push([...part.column('c1')]);
        expect(parts).to.deep.equal([[1, 2], [3]]);
        expect([...(await readTable(`${above}t x\n0 1\n`, {skip: 3})).column('x')]).to.deep.equal([1]);
      });

      it('errors count the lines of the file', async () => {
        const {message, data} = await failure(readTable(`${above}t,x\n0,1\n1,two\n`, {skip: 3}));
        expect(message).to.match(/^the text, line 6, column 'x': 'two'/);
        expect(data.line).to.equal(6);
        const short = await failure(readTable(`${above}t,x\n0,1\n1\n`.replaceAll('\n', '\r\n'), {skip: 3}));
        expect(short.data.line).to.equal(6);
      });

      it('refuses more lines than there are, and files that have none', async () => {
        expect((await failure(readTable(above + below, {skip: 6}))).message).to.equal(
          'the text has no header line after the first 6, which skip leaves out, only comments or blank lines.',
        );
        const array = new Uint8Array(Buffer.from(saved, 'base64'));
        const refusal: unknown = await readTable(array, {skip: 1}).catch((error: unknown) => error);
        expect(refusal).to.be.instanceOf(OptionError);
        expect((refusal as Error).message).to.equal(
          'readTable: skip leaves out lines of a text, but the bytes is not a text file.',
        );
      });
    });

    it('keeps codes that look like numbers as text where told', async () => {
      const table = await made('code,x\n007,1\n12,2\n', {text: ['code']});
      expect(table.text('code')).to.deep.equal(['007', '12']);
    });

    it('keeps quoted delimiters and line ends inside a field', async () => {
      const table = await made('name,x\n"a, b\nc",1\n', {});
      expect(table.text('name')).to.deep.equal(['a, b\nc']);
    });

    it('returns every double that was written, to the last bit', async () => {
      const doubles = fc.array(fc.double({noNaN: true, noDefaultInfinity: true}), {minLength: 1, maxLength: 40});
      await fc.assert(
        fc.asyncProperty(doubles, async values => {
          const table = await made(`x\n${values.map(String).join('\n')}\n`);
          expect([...table.column('x')].map(x => x + 0)).to.deep.equal(values.map(x => x + 0)); // "-0" is written "0"
        }),
        runs(30),
      );
    });
  });

  describe('a fault names its place', () => {
    const rows = (count: number): string[] => Array.from({length: count}, (_, i) => `${i},${i * 0.5}`);

    /** A file of 2000 data rows whose line 1234 reads as given; line 1 is the header. */
    function brokenLine(line: string): string {
      const lines = ['t,x', ...rows(2000)];
      lines[1233] = line;
      return lines.join('\n');
    }

    const cells: readonly [string, string, string, RegExp][] = [
      ['a word', '1232,abc', 'abc', /'abc' is not a number \(the column holds numbers since line 2\)/],
      ['nan', '1232,NaN', 'NaN', /'NaN' is not a finite number/],
      ['inf', '1232,-inf', '-inf', /not a finite number/],
      ['an empty cell', '1232,', '', /is empty where a number is needed/],
      ['a decimal comma', '1232,"3,5"', '3,5', /decimal comma/],
      [
        'a comma of decimals or thousands',
        '1232,"1,234"',
        '1,234',
        /decimals or of thousands.*decimal: ','.*remove it/,
      ],
      ['a whole number beyond 2⁵³', '1232,9007199254740993', '9007199254740993', /cannot represent exactly.*`text`/],
      ['a negative one', '1232,-1700000000000000100', '-1700000000000000100', /cannot represent exactly/],
      ['an overflow', '1232,1e999', '1e999', /larger than a double/],
      ['a hexadecimal', '1232,0x10', '0x10', /not a number/],
    ];
    for (const [name, line, text, sentence] of cells) {
      it(`${name} in line 1234`, async () => {
        const error = await failure(made(brokenLine(line)));
        expect(error.message)
          .to.match(/made\.csv, line 1234, column 'x'/)
          .and.match(sentence);
        expect(error.code).to.equal('table-cell');
        expect(error.data).to.include({line: 1234, column: 'x', text});
      });
    }

    it('whole numbers beyond 2⁵³ that are doubles, and measurements, are read', async () => {
      const cells = [
        '9007199254740992',
        '-9007199254740994',
        '+18446744073709551616',
        '1700000000000000100.',
        '1e23',
        '30075646577065670',
      ];
      // The last is how JavaScript writes …672, its nearest double.
      const values = [2 ** 53, -(2 ** 53) - 2, 2 ** 64, 1.7e18, 1e23, 30075646577065672];
      expect([...(await made(['x', ...cells].join('\n'))).column('x')]).to.deep.equal(values);
      // As text they are whole: 100 ns apart.
      const stamps = ['1700000000000000100', '1700000000000000200', '1700000000000000300'];
      expect((await failure(made(['t_ns', ...stamps].join('\n')))).data).to.include({line: 2, column: 't_ns'});
      const text = (await made(['t_ns', ...stamps].join('\n'), {text: ['t_ns']})).text('t_ns').map(BigInt);
      expect(text.map(stamp => Number(stamp - text[0]))).to.deep.equal([0, 100, 200]);
    });

    it('a missing field in line 1234', async () => {
      const error = await failure(made(brokenLine('1232')));
      expect(error.message).to.match(/line 1234: 1 field, but the header has 2; 'x' is the first without a value/);
      expect(error.data).to.include({line: 1234, fields: 1, expected: 2});
    });

    it('a delimiter at the end of the header alone', async () => {
      const error = await failure(readTable('t,x,\n0,1\n1,2\n'));
      expect(error.message).to.match(
        /line 2: 2 fields, but the header has 3; the last name in the header is empty\. .* Remove the delimiter at the end of the header, or complete the row\.$/,
      );
      expect(await failure(readTable('t,x,u\n0,1\n1,2\n')))
        .to.have.property('message')
        .that.contains("'u' is the first");
    });

    it('a field too many in line 1234', async () => {
      const error = await failure(made(brokenLine('1232,1,2')));
      expect(error.message).to.match(/line 1234: 3 fields, but the header has 2; '2' is the first without a column/);
    });

    it('a quote never closed', async () => {
      const error = await failure(made(brokenLine('1232,"1')));
      expect(error.code).to.equal('table-malformed');
      expect(error.message).to.match(/quote is opened and never closed/);
    });

    it('counts comments, blank lines and quoted line ends', async () => {
      const error = await failure(made('# one\n\nname,x\n# four\n"a\nb",1\n\n"c\nd",bad\n'));
      expect(error.data.line).to.equal(8);
    });

    it('an empty first cell of a number column is found when the column turns out to hold numbers', async () => {
      const error = await failure(made('t,x\n0,\n1,2\n'));
      expect(error.data).to.include({line: 2, column: 'x', text: ''});
    });

    it('data under no name', async () => {
      const error = await failure(made('t,\n0,\n1,5\n'));
      expect(error.message).to.match(/line 3: field 2 \('5'\) has no name/);
    });

    it('a header of numbers, a row that would be lost: refused, read as a row, or taken at its word', async () => {
      const error = await failure(made('0,0.5\n0.1,0.4\n'));
      expect(error.code).to.equal('table-header');
      expect(error.message).to.match(/line 1: the header is a row of numbers \('0, 0.5'\).*\{header: false\}/);
      const plain = await made('0,0.5\n0.1,0.4\n', {header: false});
      expect(plain.columns).to.deep.equal(['c0', 'c1']);
      expect([...plain.column('c0')]).to.deep.equal([0, 0.1]);
      expect([...plain.column('c1')]).to.deep.equal([0.5, 0.4]);
      const named = await made('# a remark\n0;0,5\n1;0,25\n', {
        header: false,
        columns: ['t', 'x'],
        delimiter: ';',
        text: ['x'],
      });
      expect(named.text('x')).to.deep.equal(['0,5', '0,25']);
      expect([...(await made('1,2\n3,4\n', {header: true})).column('2')]).to.deep.equal([4]);
      const wrong = await made('1,2\n', {header: false, columns: ['t']}).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(wrong).to.be.instanceOf(OptionError);
    });

    it('decimal commas are told, and read where the option says so', async () => {
      const text = 't;x;note\n0,5;-1,25e-3;a,b\n1;,5;c\n1e2;2,;d\n';
      const untold = await made(text);
      expect(() => untold.column('x')).to.throw(/decimal: ','/);
      const table = await made(text, {decimal: ','});
      expect([...table.column('t')]).to.deep.equal([0.5, 1, 100]);
      expect([...table.column('x')]).to.deep.equal([-1.25e-3, 0.5, 2]);
      expect(table.text('note')).to.deep.equal(['a,b', 'c', 'd']);
      expect((await failure(made('t;x\n0;1\n1;1.250\n', {decimal: ','}))).message).to.match(/has a decimal point/);
      expect([...(await made('x\n0,5\n1,5\n', {decimal: ','})).column('x')]).to.deep.equal([0.5, 1.5]);
      expect([...(await made('t\tx\n0\t1,5\n', {decimal: ','})).column('x')]).to.deep.equal([1.5]);
      // As a spreadsheet writes it that keeps the comma between fields: cells with decimals in quotes.
      const quoted = await made('t,x\n"0,5","-1,25"\n1,"2,5"\n', {decimal: ','});
      expect([...quoted.column('t')]).to.deep.equal([0.5, 1]);
      expect([...quoted.column('x')]).to.deep.equal([-1.25, 2.5]);
      const remarked = await made('t;x\n"0,5";"1,5"\n', {decimal: ','});
      expect([...remarked.column('x')]).to.deep.equal([1.5]);
      const alike = await made('t,x\n1,5\n', {decimal: ',', delimiter: ','}).catch((reason: unknown) => reason);
      expect(alike).to.be.instanceOf(OptionError);
    });

    it('columns between blanks, found by themselves where the header is words above numbers', async () => {
      const table = await made('# from a rig\n  t    stage position\n 0.0   1.5\t 2\n10.0  -1.5  3e1\n');
      expect(table.columns).to.deep.equal(['t', 'stage', 'position']);
      expect([...table.column('position')]).to.deep.equal([2, 30]);
      const one = await made('stage position\n1.5\n2.5\n');
      expect([...one.column('stage position')]).to.deep.equal([1.5, 2.5]);
      const plain = await made('0  1\n\n 2 3\n', {delimiter: ' ', header: false});
      expect([...plain.column('c1')]).to.deep.equal([1, 3]);
      const short = await failure(made('t x\n0 1\n2\n'));
      expect(short.data).to.include({line: 3});
      const commas = await made('t x\n0,5 1,5\n', {decimal: ','});
      expect([...commas.column('x')]).to.deep.equal([1.5]);
    });

    it('a name twice in the header', async () => {
      const error = await failure(made('#\nt,x,t\n0,1,2\n'));
      expect(error.data).to.include({line: 2, column: 't'});
    });

    it('no such file, a folder, a file without anything, without rows, of bytes', async () => {
      expect((await failure(readTable(join(folder, 'absent.csv')))).message).to.match(
        /absent\.csv cannot be read: there is no such file/,
      );
      expect((await failure(readTable(folder))).message).to.match(/is a folder/);
      expect((await failure(made(''))).message).to.match(/is empty/);
      expect((await failure(made('# only\n\n'))).message).to.match(/no header line/);
      expect((await failure(made('t,x\n'))).message).to.match(/header \(line 1\) but no rows/);
      expect((await failure(made(new Uint8Array([80, 65, 82, 48, 0, 0]), {}, 'made.bin'))).message).to.match(
        /not a text file/,
      );
      expect((await failure(made(new Uint8Array([80, 65, 82, 49, 0, 0]), {}, 'made.parquet'))).message).to.match(
        /cannot be read as Parquet/,
      );
    });

    it('a column that is not there, with the nearest that is', async () => {
      const table = await made('time,position,voltage\n0,1,2\n');
      const error = await failure(() => table.column('Postion'));
      expect(error.message).to.match(
        /no column 'Postion'. Did you mean 'position'\? It has: time, position, voltage\./,
      );
      expect((await failure(() => table.text('current'))).data.nearest).to.equal(undefined);
      expect((await failure(made('t,x\n0,1\n', {text: ['y']}))).code).to.equal('table-column');
    });

    it('numbers asked of a text column', async () => {
      const table = await made('name,x\n,1\nanna,2\n');
      const error = await failure(() => table.column('name'));
      expect(error.message).to.match(/holds text \(line 3: 'anna'\).*text\('name'\)/);
    });

    it('numbers below a second header, of units', async () => {
      const table = await made('time,x\ns,m\n0,1\n0.1,2\n');
      const error = await failure(() => table.column('x'));
      expect(error.message).to.match(
        /holds text \(line 2: 'm'\).*second header, for example of units.*begin it with #/,
      );
      expect([...(await made('time,x\n#s,m\n0,1\n0.1,2\n')).column('x')]).to.deep.equal([1, 2]);
    });
  });
});
