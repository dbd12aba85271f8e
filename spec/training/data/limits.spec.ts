/** Files that state too much, lie about their size, or would be rounded: a DataError each, before the memory is taken. */
import {execFileSync} from 'node:child_process';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect} from 'chai';
import {zipSync} from 'fflate';
import {DataError, OptionError} from '../../../lib/index.js';
import {readTable, type TableOptions} from '../../../training/index.js';
import {numpyArrays} from '../../../training/data/npz.js';
import {column, doubles, npy, npz, repeated} from './archives.js';
import {parquet} from './parquet-file.js';
import {slow} from '../../tiers.js';

describe('limits of reading', () => {
  let folder = '';
  let count = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stiffgrad-limits-'));
  });
  after(() => rm(folder, {recursive: true}));

  const made = async (content: string | Uint8Array): Promise<string> => {
    const path = join(folder, `made-${count++}`);
    await writeFile(path, content);
    return path;
  };
  async function failure(work: Promise<unknown>): Promise<DataError> {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DataError);
    // A sentence, whatever the file holds.
    expect((error as DataError).message).to.have.length.below(1500);
    return error as DataError;
  }
  const refused = async (content: string | Uint8Array, options?: TableOptions): Promise<DataError> =>
    failure(readTable(await made(content), options));

  describe('NPY', () => {
    it('an empty array of four milliard columns', async () => {
      expect((await refused(npy({descr: '<f8', shape: '0, 4294967295', content: new Uint8Array()}))).code).to.equal(
        'table-empty',
      );
    });

    it('more columns, rows or bytes than may be read', async () => {
      const wide = npy({descr: '|u1', shape: '1, 70000', content: new Uint8Array(70000)});
      expect((await refused(wide)).data).to.include({limit: 'columns', value: 70000, most: 65536});
      expect((await readTable(await made(wide), {limits: {columns: 70000}})).columns).to.have.length(70000);
      expect((await refused(column(1, 2, 3), {limits: {rows: 2}})).data).to.include({limit: 'rows'});
      expect((await refused(column(1, 2, 3), {limits: {memory: 23}})).data).to.include({limit: 'memory', value: 24});
      expect((await refused(column(1, 2, 3), {limits: {bytes: 100}})).data).to.include({limit: 'bytes'});
    });

    it('a type that only the prototype of objects has, and shapes that are none', async () => {
      for (const descr of ['<toString', '<constructor', '<__proto__', '<f2', 'f8', '<c16', '|O8'])
        expect((await refused(npy({descr, shape: '1,', content: doubles(1)}))).code, descr).to.equal('npz-malformed');
      for (const shape of ['-1,', '1e3,', '9007199254740993,', '4294967296, 4294967296', Array(65).fill('1').join(',')])
        expect((await refused(npy({descr: '<f8', shape, content: doubles(1)}))).code, shape).to.equal('npz-malformed');
    });

    it('no columns and no rows are an empty table, and an array for arraysOf', async () => {
      for (const shape of ['5, 0', '0,', '0, 3']) {
        const file = npy({descr: '<f8', shape, content: new Uint8Array()});
        expect((await refused(file)).code, shape).to.equal('table-empty');
        expect((await numpyArrays(file, 'file'))[0].values).to.have.length(0);
      }
    });

    it('whole numbers are exact or an error: 2⁵³ is read, 2⁵³ + 1 is not', async () => {
      const whole = (value: bigint, descr: string): Uint8Array =>
        npy({
          descr,
          shape: '1,',
          content: new Uint8Array((descr === '<u8' ? BigUint64Array : BigInt64Array).from([value]).buffer),
        });
      for (const value of [2n ** 53n, -(2n ** 62n), 2n ** 53n + 2n])
        expect((await readTable(await made(whole(value, '<i8')))).column('array')[0]).to.equal(Number(value));
      for (const [value, descr] of [
        [2n ** 53n + 1n, '<i8'],
        [-(2n ** 53n) - 1n, '<i8'],
        [2n ** 64n - 1n, '<u8'],
      ] as const)
        expect((await refused(whole(value, descr))).code).to.equal('npz-integer');
    });

    it('NaN is an error with its row, or read where it is allowed', async () => {
      expect((await refused(column(0, NaN))).data).to.include({row: 2, column: 'array'});
      expect([...(await readTable(await made(column(0, NaN)), {missing: 'nan'})).column('array')]).to.deep.equal([
        0,
        NaN,
      ]);
      expect((await refused(column(0, Infinity), {missing: 'nan'})).code).to.equal('table-cell');
    });
  });

  describe('NPZ', () => {
    const zeros = (size: number): Uint8Array => npy({descr: '|u1', shape: `${size},`, content: new Uint8Array(size)});

    slow('members that unpack to a thousand times their size, unless what is asked for does not', async () => {
      const some = npz({t: column(0, 1), ballast: zeros(2 ** 26)});
      expect(some.length).to.be.below(70_000);
      expect((await refused(some)).data).to.include({limit: 'ratio'});
      expect([...(await readTable(await made(some), {columns: ['t']})).column('t')]).to.deep.equal([0, 1]);
    });

    it('members that are not asked for are not unpacked', async () => {
      const archive = npz({t: column(0, 1), q: column(5, 6)}, 0);
      archive[Buffer.from(archive).lastIndexOf(Buffer.from(doubles(6))) + 6] ^= 1; // its checksum no longer fits
      expect([...(await readTable(await made(archive), {columns: ['t']})).column('t')]).to.deep.equal([0, 1]);
      expect((await numpyArrays(archive, 'file', {names: ['t']})).map(({name}) => name)).to.deep.equal(['t']);
      expect((await refused(archive)).message).to.match(/'q\.npy' is damaged/);
    });

    it('members that overlap or have one name', async () => {
      const one = npz({x: column(1, 2)});
      expect((await refused(repeated(one, 3, true))).message).to.match(/overlap/);
      expect((await refused(repeated(one, 3, false))).message).to.match(/two members are named 'x\.npy'/);
      const square = npy({descr: '<f8', shape: '1, 2', content: doubles(1, 2)});
      expect((await refused(npz({x: square, 'x[0]': column(3)}))).message).to.match(/two columns are named 'x\[0\]'/);
    });

    it('a size in the directory that is not the member’s', async () => {
      for (const stated of [0, 10, 2 ** 20, 2 ** 31]) {
        const archive = npz({x: column(1, 2, 3)});
        const view = new DataView(archive.buffer);
        view.setUint32(view.getUint32(archive.length - 6, true) + 24, stated, true);
        expect((await refused(archive)).code, String(stated)).to.equal(
          stated === 2 ** 31 ? 'table-limit' : 'npz-malformed',
        );
      }
      expect((await refused(zipSync({'x.txt': doubles(1)}))).message).to.match(/holds no \.npy arrays/);
    });
  });

  describe('Parquet', () => {
    const bytes = Buffer.from(parquet, 'base64');
    const changed = (at: number, by: number): Uint8Array => {
      const copy = new Uint8Array(bytes);
      copy[at] ^= by;
      return copy;
    };

    it('a byte that lets the reader loop for ever: it is ended when its time is over', async () => {
      // The highest bit of a varint: the number of values of the first page becomes huge.
      expect((await refused(changed(12, 128), {limits: {seconds: 0.15}})).data).to.include({limit: 'seconds'});
    });

    it('more rows or memory than may be read', async () => {
      expect((await refused(bytes, {limits: {rows: 2}})).data).to.include({limit: 'rows'});
      expect((await refused(bytes, {limits: {columns: 4}})).data).to.include({limit: 'columns'});
      expect((await refused(bytes, {limits: {memory: 64}})).data).to.include({limit: 'memory'});
    });
  });

  describe('CSV', () => {
    it('columns, rows, bytes, and the characters of a row', async () => {
      expect(
        (await refused(`${Array.from({length: 11}, (_, i) => `c${i}`).join()}\n`, {limits: {columns: 10}})).data,
      ).to.include({limit: 'columns', value: 11});
      const rows = `t\n${'1\n'.repeat(100)}`;
      expect((await refused(rows, {limits: {rows: 99}})).data).to.include({limit: 'rows', value: 100});
      expect((await readTable(await made(rows), {limits: {rows: 100}})).rows).to.equal(100);
      expect((await refused(rows, {limits: {bytes: 50}})).data).to.include({limit: 'bytes'});
      expect((await refused(rows, {limits: {memory: 64}})).data).to.include({limit: 'memory'});
      expect((await refused(`t\n"${'1\n'.repeat(1000)}`, {limits: {record: 1000}})).message).to.match(
        /a quote that is opened and never closed/,
      );
    });

    slow('chunks have no limit but for a chunk', async () => {
      const path = await made(`t\n${'1\n'.repeat(40_000)}`);
      let rows = 0;
      // 8,192 numbers a chunk take 64 KiB; all take half a megabyte.
      for await (const chunk of readTable.chunks(path, {rows: 8192, limits: {memory: 1e5}})) rows += chunk.rows;
      expect(rows).to.equal(40_000);
      expect((await failure(readTable(path, {limits: {memory: 1e5}}))).data).to.include({limit: 'memory'});
    });

    const long = 'x'.repeat(1e5);
    for (const [what, text] of [
      ['cell', `t\n1\n${long}\n`],
      ['cell too many', `t\n1\n1,${long}\n`],
      ['cell of a column without a name', `t,\n1,${long}\n`],
      ['name that is there twice', `${long},${long}\n1,2\n`],
    ])
      it(`a ${what} of 100 kB is not repeated in its error`, async () => {
        expect(((await refused(text)).data.text as string | undefined) ?? '').to.have.length.below(1001);
      });

    it('a name of 100 kB is not repeated in the errors of column', async () => {
      const named = await readTable(await made(`${long},b\n${long},2\n`));
      expect((await failure(Promise.resolve().then(() => named.column('c')))).code).to.equal('table-column');
      expect((await failure(Promise.resolve().then(() => named.column(long)))).code).to.equal('table-text');
    });

    slow('a long cell and a wide header take time in proportion', async () => {
      // Quadratic work would be 10¹² and 10¹⁰ comparisons: minutes, beyond the time a test has.
      expect((await refused(`t\n1\n${'1'.repeat(1e6)}x\n`)).data).to.include({line: 3});
      const names = Array.from({length: 60_000}, (_, i) => `c${i}`);
      const table = await readTable(await made(`${names.join()}\n${names.map((_, i) => i).join()}\n`));
      expect(names.every((name, i) => table.column(name)[0] === i)).to.equal(true);
    });
  });

  it('the time holds though no byte comes: of a pipe that nobody writes to, or a Blob that never ends', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const limits = {seconds: 0.02};
    expect((await failure(readTable(pipe, {limits}))).data).to.include({limit: 'seconds', most: 0.02});
    // The operating system's call that waits for a writer ends with one.
    await writeFile(pipe, '');
    const blob = Object.assign(new Blob(['t,x\n1,2\n']), {arrayBuffer: () => new Promise<never>(() => {})});
    expect((await failure(readTable(blob, {limits}))).data).to.include({limit: 'seconds'});
    expect((await readTable(new Blob(['t,x\n1,2\n']), {limits: {seconds: Infinity}})).rows).to.equal(1);
    const written = readTable(pipe, {limits: {seconds: 5}});
    await writeFile(pipe, 't,x\n1,2\n');
    expect([...(await written).column('x')]).to.deep.equal([2]);
  });

  it('are positive numbers with names', async () => {
    for (const limits of [{rows: 0}, {rows: NaN}, {rows: '5' as unknown as number}, {lines: 5} as object]) {
      const error = await readTable('absent', {limits}).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(OptionError);
    }
  });
});
