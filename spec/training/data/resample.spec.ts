/** An even clock, decimation and the part held still, against scipy and closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {DataError, OptionError, ShapeError, signal} from '../../../lib/index.js';
import {decimate, resample, still, upsample} from '../../../training/data/resample.js';
import {runs} from '../../property.js';

describe('resample', () => {
  it('takes an uneven record to an even clock, as a signal of its kind', () => {
    // CubicSpline(t, values, bc_type='natural'), scipy 1.17, at 0.1, as in the tests of signals.
    const t = [0, 0.3, 1, 1.2, 2.5];
    const values = [1.1, -0.4, 0.7, 2.3, 0.2];
    const even = resample(t, values, 0.1, 'cubic');
    expect(even.t).to.have.length(26);
    expect(even.values[1]).to.be.closeTo(0.5412563508563509, 1e-14);
    expect(even.values[25]).to.be.closeTo(0.2, 1e-13);
    expect([...resample([0, 1, 3], [0, 2, 4], 0.5).values]).to.deep.equal([0, 1, 2, 2.5, 3, 3.5, 4]);
    expect([
      ...resample(
        [0, 1, 3],
        [
          [0, 1],
          [2, 1],
          [4, 5],
        ],
        1,
      ).values,
    ]).to.deep.equal([0, 1, 2, 1, 3, 3, 4, 5]);
    expect(() => resample(t, values, 0)).to.throw(OptionError, 'the interval');
    expect([...resample([2, 2.1], [5, 6], 1).values]).to.deep.equal([5]);
    expect(signal(even.t, even.values).shape).to.deep.equal([]);
  });
});

describe('decimate', () => {
  it("is scipy's, away from the ends", () => {
    // scipy.signal.decimate(np.sin(0.3 * np.arange(200) + 0.002 * np.arange(200)**2), 4, ftype='fir')[20:24], scipy 1.17.
    const x = Float64Array.from({length: 200}, (_, i) => Math.sin(0.3 * i + 0.002 * i * i));
    const expected = [-0.7908563517374587, 1.021836158124381, -0.9073938056730027, 0.584634968425898];
    const found = decimate(x, 4);
    expect(found).to.have.length(50);
    expected.forEach((value, i) => expect(found[20 + i]).to.be.closeTo(value, 1e-12));
  });

  it('keeps what the slower clock can hold, and takes out what would be an alias', () => {
    const tone = (share: number): Float64Array =>
      Float64Array.from({length: 4000}, (_, i) => Math.sin(Math.PI * share * i));
    // Shares of the old Nyquist frequency; the new one is a tenth of it.
    const rms = (values: Float64Array): number =>
      Math.sqrt(values.slice(20, -20).reduce((sum, value) => sum + value ** 2, 0) / (values.length - 40));
    // Ripples of Hamming's window are 0.02 dB.
    expect(rms(decimate(tone(0.05), 10))).to.be.closeTo(Math.SQRT1_2, 4e-3);
    for (const share of [0.12, 0.19, 0.5])
      expect(rms(decimate(tone(share), 10)), `${share}`).to.be.below(Math.SQRT1_2 * 10 ** (-50 / 20));
    // A straight line, ends included: reflection in the end points continues it.
    decimate(
      Float64Array.from({length: 300}, (_, i) => 3 - 0.1 * i),
      7,
    ).forEach((value, k) => expect(value).to.be.closeTo(3 - 0.7 * k, 1e-12));
    expect(() => decimate([1, 2, 3], 2)).to.throw(OptionError, 'more than 20 numbers');
  });
});

describe('upsample', () => {
  it('finds a band-limited quantity between its samples', () => {
    // Tones of 3, 5 and 40 samples a period.
    const tone = (x: number): number =>
      Math.sin((2 * Math.PI * x) / 3.1) + Math.cos((2 * Math.PI * x) / 5) + Math.sin((2 * Math.PI * x) / 40);
    const found = upsample(
      Float64Array.from({length: 400}, (_, i) => tone(i)),
      4,
    );
    expect(found).to.have.length(1597);
    found.subarray(160, -160).forEach((value, i) => expect(value).to.be.closeTo(tone((i + 160) / 4), 2e-4));
    found.forEach((value, i) => i % 4 === 0 && expect(value).to.equal(tone(i / 4)));
    expect([
      ...upsample(
        Float64Array.from({length: 40}, (_, i) => i),
        1,
      ),
    ]).to.deep.equal(Array.from({length: 40}, (_, i) => i));
    expect(() => upsample([1, 2], 2)).to.throw(OptionError, 'more than 32');
  });
});

describe('stillSamples', () => {
  it('counts what stays where it began', () => {
    const held = Float64Array.from({length: 100}, (_, i) =>
      i < 40 ? 0.3 + 1e-4 * Math.sin(7 * i) : 0.3 * Math.cos(0.1 * (i - 40)),
    );
    // 0.3(1 − cos 0.1 n) leaves a hundredth of the range 0.6 at n = 3.
    expect(still(held)).to.equal(43);
    expect(still(held, 1e-6)).to.equal(1);
    expect(still([2, 2, 2])).to.equal(3);
  });

  it('of several columns until the first of them moves; a missing number does not move', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({min: 1, max: 9}), fc.integer({min: -5, max: 5})), {minLength: 1, maxLength: 4}),
        fc.uniqueArray(fc.nat(29), {maxLength: 8}),
        (columns, holes) => {
          // Column k rests at its level for its number of samples, and then moves by 1, 2, 3, …
          const rows = Array.from({length: 30}, (_, i) =>
            columns.map(([still, level]) => level + Math.max(0, i - still + 1)),
          );
          const least = Math.min(...columns.map(([still]) => still));
          expect(still(rows)).to.equal(least);
          expect(still(tf.tensor(rows))).to.equal(least);
          const kept = holes.filter(i => i > 0 && i !== least);
          expect(still(rows.map((row, i) => (kept.includes(i) ? row.map(() => NaN) : row)))).to.equal(least);
        },
      ),
      runs(),
    );
    expect(still([NaN, 4, 4, NaN, 5])).to.equal(4);
    expect(still([NaN, NaN])).to.equal(2);
    expect(() => still([1, 1, Infinity])).to.throw(DataError, 'samples.still: values is Infinity in sample 2');
  });

  it('filters of one series refuse columns and missing samples', () => {
    const long = Array.from({length: 99}, (_, i) => Math.sin(i));
    for (const filter of [decimate, upsample]) {
      expect(() =>
        filter(
          long.map(x => [x, x]),
          2,
        ),
      ).to.throw(ShapeError, 'one number per sample');
      expect(() =>
        filter(
          long.map((x, i) => (i === 7 ? NaN : x)),
          2,
        ),
      ).to.throw(DataError, 'values is NaN in sample 7');
    }
  });
});
