/** The report: what it says for given numbers, that it is one whole self-contained page, and how it is written. */
import fc from 'fast-check';
import {lstat, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect} from 'chai';
import {DataError, OptionError, ShapeError} from '../../../lib/errors.js';
import {gaussian} from '../../../training/data/noise.js';
import {errorText, fixedText, measuredText, numberText, quantityText} from '../../../training/report/number-text.js';
import {page, writeReport, type Report} from '../../../training/report/report.js';
import {autocorrelation, goodnessOfFit, histogram} from '../../../training/report/residual-statistics.js';
import {elementsOf} from '../well-formed.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

function sample(n: number): Report {
  const noise = gaussian(1);
  const t = Float64Array.from({length: n}, (_, i) => i / 610);
  const simulated = t.map(time => 0.1 * Math.sin(20 * time));
  return {
    title: 'Oscillator <1>',
    description: 'Spring & damper',
    referenceName: 'published',
    parameters: [
      {
        name: 'M',
        unit: 'kg',
        description: 'moving mass',
        estimate: 95.10934,
        standardError: 0.2134,
        reference: 95.1089,
      },
      {name: 'c', unit: 'N·s/m', estimate: -3.17384, standardError: 0.0206, interval: [-3.3, -3.1]},
      {name: 'idle', estimate: 5, standardError: Infinity},
      {name: 'lag', unit: 's', estimate: 0.001},
    ],
    fits: [{name: 'position', unit: 'm', t, measured: simulated.map(value => value + 1e-4 * noise()), simulated}],
    history: [10, 1, 0.1].map((cost, iteration) => ({iteration, cost})),
    correlation: {labels: ['M', 'c'], values: [1, -0.9, -0.9, 1]},
    statistics: [
      {name: 'iterations', value: 3},
      {name: 'steps', value: 24840},
      {name: 'scheme', value: 'trapezoid'},
    ],
    warnings: ['The data do not depend on idle.'],
    notes: ['A note.'],
  };
}

describe('report', () => {
  it('forbids everything but its own style: no scripts, no pictures, no net', () => {
    const [, policy] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(page(sample(20))) ?? [];
    expect(policy.split('; ')).to.deep.equal([
      "default-src 'none'",
      "style-src 'unsafe-inline'",
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    // Before anything it is to hold for.
    expect(page(sample(20)).indexOf('Content-Security-Policy')).to.be.below(page(sample(20)).indexOf('<title>'));
  });

  it('is one well-formed page that asks nothing of the net and runs nothing', () => {
    const html = page(sample(3000));
    const elements = elementsOf(html);
    expect(html.match(/<svg class="chart"/g)).to.have.length(6);
    expect(elements).to.not.include.members(['script']).and.not.include.members(['link']);
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).to.not.match(/https?:|url\(|@import|src=/);
    expect(html)
      .to.contain('<html lang="en">')
      .and.contain('<title>Oscillator &lt;1&gt;</title>')
      .and.contain('Spring &amp; damper');
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size, 'ids are unique').to.equal(ids.length);
  });

  it('tells the parameters with the digits that their errors leave', () => {
    const html = page(sample(100));
    const row = (name: string): string[] =>
      [...html.match(new RegExp(`<th scope="row">${name}.*?</tr>`))![0].matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(
        ([, text]) => text,
      );
    expect(row('M')).to.deep.equal(['95.11', '0.21', '0.22 %', '94.69 … 95.53', '95.1089', '+0.00046 %', '0.0']);
    expect(row('c')).to.deep.equal(['−3.174', '0.021', '0.65 %', '−3.300 … −3.100', '', '', '']);
    expect(row('idle')).to.deep.equal(['5', '∞', '∞', '−∞ … ∞', '', '', '']);
    expect(row('lag')).to.deep.equal(['0.001', 'fixed', '', '', '', '', '']);
    expect(html).to.contain('24,840').and.contain('The data do not depend on idle.').and.contain('−0.90');
  });

  slow('of the longest record stays below 2 MB', () => {
    const noise = gaussian(2);
    const n = 131_072;
    const t = Float64Array.from({length: n}, (_, i) => i / 610.35);
    const simulated = t.map(() => noise());
    const fit = {t, simulated, measured: simulated.map(value => value + noise()), unit: 'V'};
    const html = page({
      ...sample(10),
      fits: [
        {...fit, name: 'train'},
        {...fit, name: 'test'},
      ],
    });
    expect(html.length).to.be.below(1_000_000);
  });

  it('leaves out what it was not given', () => {
    const {title, parameters, fits} = sample(50);
    const html = page({title, parameters: parameters.map(({reference: _, ...rest}) => rest), fits});
    elementsOf(html);
    expect(html).to.not.match(/Convergence|Correlation of the estimates|Warnings|Notes|published|difference/);
  });

  it('shows a perfect fit, a constant one and a failed one', () => {
    const t = [0, 1, 2, 3];
    for (const [measured, simulated] of [
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
      [
        [1, 1, 1, 1],
        [2, 2, 2, 2],
      ],
      [
        [1, 2, 3, 4],
        [1, NaN, NaN, NaN],
      ],
    ]) {
      const html = page({title: 'x', parameters: [], fits: [{name: 'y', t, measured, simulated}]});
      elementsOf(html);
      expect(html).to.not.match(/NaN|undefined/);
    }
  });

  it('refuses lengths that do not match', () => {
    expect(() =>
      page({title: 'x', parameters: [], fits: [{name: 'y', t: [0, 1], measured: [0], simulated: [0, 1]}]}),
    ).to.throw(OptionError, /'y' has 2 times, 1 measured and 2 simulated/);
    expect(() => page({title: 'x', parameters: [], fits: [], correlation: {labels: ['a'], values: []}})).to.throw(
      OptionError,
      /needs 1 values, not 0/,
    );
  });

  describe('written to a file', () => {
    let folder = '';
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'report-'));
    });
    after(() => rm(folder, {recursive: true}));

    it('by twenty writers at once is written by each, and is one of theirs', async () => {
      const path = join(folder, 'many', 'report.html');
      const pages = Array.from({length: 20}, (_, i) => ({...sample(20), title: `writer ${i}`}));
      await Promise.all(pages.map(page => writeReport(path, page)));
      expect(pages.map(page)).to.include(await readFile(path, 'utf8'));
      expect(await readdir(join(folder, 'many'))).to.deep.equal(['report.html']);
    });

    it('is written to a device, which stays one, and through no link that lies where the part was', async function () {
      if (process.platform === 'win32') this.skip();
      await writeReport('/dev/null', sample(20));
      expect((await stat('/dev/null')).isCharacterDevice()).to.equal(true);
      // The part's name was the path's with the process's number: a link there was written through.
      const [path, other] = [join(folder, 'linked.html'), join(folder, 'other')];
      await writeFile(other, 'precious');
      await symlink(other, `${path}.${process.pid}.partial`);
      await writeReport(path, sample(20));
      expect(await readFile(other, 'utf8')).to.equal('precious');
      expect((await lstat(path)).isFile()).to.equal(true);
    });

    it('over a file that only its owner may read stays so', async function () {
      if (process.platform === 'win32') this.skip();
      const path = join(folder, 'private.html');
      await writeFile(path, '', {mode: 0o600});
      await writeReport(path, sample(20));
      expect((await stat(path)).mode & 0o777).to.equal(0o600);
    });

    it('makes its folder, replaces an older report, and leaves nothing beside it', async () => {
      const path = join(folder, 'new', 'report.html');
      await writeReport(path, sample(20));
      await writeReport(path, {...sample(20), title: 'second'});
      expect(await readFile(path, 'utf8'))
        .to.contain('<title>second</title>')
        .and.match(/<\/html>\n$/);
      expect(await readdir(join(folder, 'new'))).to.deep.equal(['report.html']);
    });

    it('where that cannot be: an error that names the file', async () => {
      await writeFile(join(folder, 'file'), '');
      let error: unknown;
      await writeReport(join(folder, 'file', 'report.html'), sample(20)).catch((cause: unknown) => (error = cause));
      expect(error).to.be.instanceOf(DataError);
      expect((error as DataError).message).to.contain(join(folder, 'file', 'report.html'));
    });
  });

  describe('numbers as text', () => {
    it('follow their error', () => {
      expect(measuredText(95.10934, 0.2134)).to.equal('95.11');
      expect(measuredText(203.5, 6.338)).to.equal('203.5');
      expect(measuredText(-3.1648, 0.206)).to.equal('−3.16');
      expect(measuredText(12345.678, 230)).to.equal('12350');
      expect(measuredText(6.7e-11, 1e-15)).to.equal('6.70000 × 10⁻¹¹');
      expect(measuredText(0.00055015643, 7.2668e-6)).to.equal('0.0005502');
      expect(measuredText(0, 0.05)).to.equal('0.000');
      expect(errorText(0.2134)).to.equal('0.21');
      expect(errorText(6.338)).to.equal('6.3');
      expect(errorText(234)).to.equal('230');
      expect(errorText(7.2668e-6)).to.equal('7.3 × 10⁻⁶');
      expect(errorText(Infinity)).to.equal('∞');
    });

    it('have a true minus and superscripts, and nothing is −0', () => {
      expect(numberText(-1.5e-7)).to.equal('−1.5 × 10⁻⁷');
      expect(numberText(24840)).to.equal('24840');
      expect(numberText(0)).to.equal('0');
      expect(numberText(NaN)).to.equal('–');
      expect(fixedText(-0.04, 1)).to.equal('0.0');
      expect(fixedText(-0.96, 1)).to.equal('−1.0');
    });

    it('read back as what they were', () => {
      fc.assert(
        fc.property(fc.double({min: -1e20, max: 1e20, noNaN: true}), fc.integer({min: 1, max: 12}), (value, digits) => {
          const back = Number(
            numberText(value, digits)
              .replace('−', '-')
              .replace(
                / × 10(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/,
                (_, sign: string, power: string) =>
                  `e${sign === '' ? '' : '-'}${[...power].map(digit => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(digit)).join('')}`,
              ),
          );
          expect(Math.abs(back - value)).to.be.at.most(
            0.500001 * 10 ** (Math.floor(Math.log10(Math.abs(value) || 1)) + 1 - digits),
          );
        }),
        runs(),
      );
    });

    it('take SI prefixes where the unit does', () => {
      expect(quantityText(3.3e-6, 'm')).to.equal('3.3 µm');
      expect(quantityText(0.25, 'V')).to.equal('0.25 V');
      expect(quantityText(1.2e-7, 'kg')).to.equal('1.2 × 10⁻⁷ kg');
      expect(quantityText(0.0042, 'rad/s')).to.equal('4.2 mrad/s');
      expect(quantityText(25e3, 'Pa')).to.equal('25 kPa');
      expect(quantityText(0.05, 'mm'), 'a unit that has a prefix gets no second').to.equal('0.05 mm');
      expect(quantityText(0.5)).to.equal('0.5');
    });
  });

  describe('statistics of residuals', () => {
    it('RMSE, worst and R² by hand', () => {
      const {rmse, worst, worstAt, r2, samples} = goodnessOfFit([1, 2, 3, 6], [1, 2, 5, 5]);
      expect({samples, worst, worstAt}).to.deep.equal({samples: 4, worst: 2, worstAt: 2});
      expect(rmse).to.be.closeTo(Math.sqrt(5 / 4), 1e-15);
      expect(r2).to.be.closeTo(1 - 5 / 14, 1e-15);
    });

    it('leaves out samples that are missing, and not those that were not simulated', () => {
      expect(goodnessOfFit([1, NaN, 2, 3, 6], [1, 7, 2, 5, 5])).to.deep.equal({
        ...goodnessOfFit([1, 2, 3, 6], [1, 2, 5, 5]),
        worstAt: 3,
      });
      expect(goodnessOfFit([1, 2], [1, NaN]).rmse).to.be.NaN;
    });

    it('judge columns each by its own mean, whatever their units', () => {
      const measured = Array.from({length: 40}, (_, i) => [300 + Math.sin(i), 1e-3 * Math.cos(2 * i)]);
      const simulated = measured.map(([a, b], i) => [a + (i % 2 === 0 ? 0.5 : -0.5), 0 * b]);
      const {r2, rmse, samples, worstAt} = goodnessOfFit(measured, simulated);
      const each = [0, 1].map(k =>
        goodnessOfFit(
          measured.map(row => row[k]),
          simulated.map(row => row[k]),
        ),
      );
      expect(samples).to.equal(80);
      expect(r2).to.be.closeTo((each[0].r2 + each[1].r2) / 2, 1e-12);
      expect(r2).to.be.below(0.5);
      expect(rmse).to.be.closeTo(Math.hypot(each[0].rmse, each[1].rmse) / Math.SQRT2, 1e-12);
      expect(worstAt).to.equal(each[0].worstAt);
      // Flat numbers, as those of a trajectory, are taken as the rows they are compared with.
      expect(goodnessOfFit(measured, Float64Array.from(simulated.flat()))).to.deep.equal({
        ...{samples, rmse, r2, worstAt},
        worst: each[0].worst,
      });
      for (const [a, b] of [
        [
          [1, 2, 3],
          [0, 1, 2, 3],
        ],
        [measured, simulated.slice(1)],
        [measured, simulated.map(row => [...row, 0])],
      ] as const)
        expect(() => goodnessOfFit(a, b)).to.throw(ShapeError, 'give as many of each');
      expect(() => goodnessOfFit([1, Infinity], [1, 1])).to.throw(DataError, 'measured is Infinity in sample 1');
    });

    it('leave out what is missing, and refuse columns', () => {
      const gap = fc.constant(NaN);
      const value = fc.integer({min: -1000, max: 1000});
      fc.assert(
        fc.property(fc.array(fc.oneof({weight: 4, arbitrary: value}, gap), {minLength: 2, maxLength: 200}), values => {
          const there = values.filter(one => !Number.isNaN(one));
          if (there.length === 0) {
            expect(() => histogram(values)).to.throw(DataError, 'no values');
            return;
          }
          expect(histogram(values)).to.deep.equal(histogram(there));
          const {values: found, band} = autocorrelation(values);
          expect(band).to.equal(1.96 / Math.sqrt(there.length));
          expect([...found].every(one => Math.abs(one) <= 1)).to.equal(true);
        }),
        runs(),
      );
      // One gap in a slow wave leaves its correlation.
      const wave = Float64Array.from({length: 300}, (_, i) => Math.sin(i / 25));
      const [whole, some] = [wave, wave.map((x, i) => (i % 50 === 9 ? NaN : x))].map(autocorrelation);
      whole.values.forEach((one, i) => expect(some.values[i]).to.be.closeTo(one, 0.03));
      for (const of of [histogram, autocorrelation]) {
        expect(() =>
          of([
            [1, 2],
            [3, 4],
          ]),
        ).to.throw(ShapeError, 'one number per sample');
        expect(() => of([1, -Infinity])).to.throw(DataError, '-Infinity in sample 1');
      }
    });

    it('a histogram holds every value once', () => {
      fc.assert(
        fc.property(fc.array(fc.double({min: -1e3, max: 1e3, noNaN: true}), {minLength: 1, maxLength: 500}), values => {
          const {share} = histogram(values);
          expect(share.reduce((sum, part) => sum + part, 0)).to.be.closeTo(1, 1e-9);
          expect(share.length).to.be.at.most(60);
        }),
        runs(),
      );
    });

    it('the autocorrelation of a first-order process is φ to the lag', () => {
      const noise = gaussian(4);
      const phi = 0.9;
      let state = 0;
      const {lags, values, band} = autocorrelation(
        Float64Array.from({length: 50_000}, () => (state = phi * state + noise())),
      );
      expect(band).to.be.closeTo(1.96 / Math.sqrt(50_000), 1e-12);
      expect(values[0]).to.equal(1);
      // Bartlett's formula: standard error √((1+φ²)/(1−φ²)/n) = 0.014 at long lags
      lags.forEach((lag, i) => expect(values[i]).to.be.closeTo(phi ** lag, 0.06));
    });
  });
});
