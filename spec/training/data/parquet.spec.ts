/** Parquet files as tables. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect} from 'chai';
import {DataError} from '../../../lib/index.js';
import {readTable, tableChunks} from '../../../training/index.js';
import {parquet} from './parquet-file.js';

describe('Parquet', () => {
  let folder: string;
  let path: string;
  const bytes = Buffer.from(parquet, 'base64');
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stiffgrad-parquet-'));
    path = join(folder, 'made.parquet');
    await writeFile(path, bytes);
  });
  after(() => rm(folder, {recursive: true}));

  const failure = async (work: Promise<unknown>): Promise<DataError> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DataError);
    return error as DataError;
  };

  it('gives numbers of every width, text, and gaps as NaN', async () => {
    const table = await readTable(path, {missing: 'nan'});
    expect(table.columns).to.deep.equal(['t', 'n', 'q', 'who', 'big']);
    expect(table.rows).to.equal(3);
    expect(['t', 'n', 'q', 'big'].map(name => [...table.column(name)])).to.deep.equal([
      [0, 0.5, 1],
      [7, -8, 9],
      [1.5, NaN, 2.5],
      [1, 2, 3],
    ]);
    expect(table.text('who')).to.deep.equal(['a', 'b', 'c']);
    expect((await readTable(path, {columns: ['n', 't']})).columns).to.deep.equal(['t', 'n']);
    expect((await readTable(path, {columns: ['n'], text: ['n']})).text('n')).to.deep.equal(['7', '-8', '9']);
  });

  it('tells the row of a gap, a column that is not there, and a file that is cut short', async () => {
    expect((await failure(readTable(path))).message).to.match(/row 2, column 'q' is empty where a number is needed/);
    expect((await failure(readTable(path, {columns: ['m']}))).message).to.match(/no column 'm'/);
    const cut = join(folder, 'cut.parquet');
    await writeFile(cut, bytes.subarray(0, bytes.length - 40));
    expect((await failure(readTable(cut))).code).to.equal('parquet-malformed');
    expect((await failure(tableChunks(path).next())).message).to.match(/not a text file/);
  });
});
