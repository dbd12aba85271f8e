/** Measured records: what they may look like, and that each error names record, series and sample. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Numeric} from '../../../lib/index.js';
import {DataError, OptionError, ShapeError, StiffgradError} from '../../../lib/index.js';
import type {CheckedRecord, MeasuredRecord} from '../../../training/identify/records.js';
import {checkRecord} from '../../../training/identify/records.js';
import {commonStep, requireFewSteps, requireGrid} from '../../../training/identify/sampling.js';
import {runs} from '../../property.js';

const mechanical = {q: 'q', v: 'v'} as const;
const read = (record: MeasuredRecord): CheckedRecord => checkRecord(record, 1, mechanical);

function errorOf(f: () => unknown): StiffgradError {
  try {
    f();
  } catch (error) {
    expect(error).to.be.instanceOf(StiffgradError);
    return error as StiffgradError;
  }
  throw new Error('nothing was thrown');
}

const t = [0, 0.1, 0.2];

describe('records', () => {
  it('takes numbers, nested arrays, Float64Arrays and tensors', () => {
    const tensor = tf.tensor2d([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    for (const q of [
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      Float64Array.of(1, 2, 3, 4, 5, 6),
      tensor,
    ] as Numeric[]) {
      const {
        channels: [{measured, outputs, shape, simulated}],
      } = read({t: Float64Array.from(t), q});
      expect([...measured]).to.deep.equal([1, 2, 3, 4, 5, 6]);
      expect([outputs, [...shape], simulated]).to.deep.equal([2, [2], 'q']);
    }
    tensor.dispose();
    expect(read({t: 1, q: 5}).channels[0].measured, 'one sample').to.deep.equal(Float64Array.of(5));
    expect(read({t, q: [1, 2, 3], v: [0, 0, 0]}).channels.map(({name}) => name)).to.deep.equal(['q', 'v']);
    expect(read({t, q: [1, 2, 3]}).name).to.equal('record 2');
  });

  it('takes weights of every shape', () => {
    const q = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    const weighed = (weights: MeasuredRecord['weights']): number[] => [
      ...read({t, q, v: q, weights}).channels[0].weights,
    ];
    expect(weighed(undefined)).to.deep.equal([1, 1, 1, 1, 1, 1]);
    expect(weighed(7)).to.deep.equal([7, 7, 7, 7, 7, 7]);
    expect(weighed([7])).to.deep.equal([7, 7, 7, 7, 7, 7]);
    expect(weighed([1, 10]), 'one an output').to.deep.equal([1, 10, 1, 10, 1, 10]);
    expect(weighed([[1, 10]]), 'one an output, as a row').to.deep.equal([1, 10, 1, 10, 1, 10]);
    expect(weighed([1, 2, 3]), 'one a sample').to.deep.equal([1, 1, 2, 2, 3, 3]);
    expect(weighed([[1], [2], [3]]), 'one a sample, as a column').to.deep.equal([1, 1, 2, 2, 3, 3]);
    expect(
      weighed([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
      'one a measurement',
    ).to.deep.equal([1, 2, 3, 4, 5, 6]);
    expect(weighed(Float64Array.of(1, 2, 3, 4, 5, 6)), 'the same flat').to.deep.equal([1, 2, 3, 4, 5, 6]);
    expect(weighed({q: [1, 10], v: 2}), 'by series').to.deep.equal([1, 10, 1, 10, 1, 10]);
    expect(weighed({v: 2}), 'by series, without this one').to.deep.equal([1, 1, 1, 1, 1, 1]);
    expect([...read({t, q, v: q, weights: {v: [0, 3]}}).channels[1].weights]).to.deep.equal([0, 3, 0, 3, 0, 3]);
    // As many outputs as samples: one an output, unless it is a column.
    const square = [
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ];
    expect(() => read({t, q: square, weights: [1, 2, 3]})).to.throw(
      ShapeError,
      'give them with the shape [1, 3] for outputs, or [3, 1] for samples',
    );
    expect([...read({t, q: square, weights: [[1, 2, 3]]}).channels[0].weights]).to.deep.equal([
      1, 2, 3, 1, 2, 3, 1, 2, 3,
    ]);
    expect([...read({t, q: square, weights: [[1], [2], [3]]}).channels[0].weights]).to.deep.equal([
      1, 1, 1, 2, 2, 2, 3, 3, 3,
    ]);
  });

  const cases: readonly [string, MeasuredRecord, typeof StiffgradError, string, RegExp, object][] = [
    [
      'a measurement that is no number',
      {
        t,
        q: [
          [1, 2],
          [3, NaN],
          [5, 6],
        ],
      },
      DataError,
      'not-finite',
      /record 2: q is NaN in sample 1\. .*missing: 'skip'/,
      {record: 'record 2', series: 'q', index: 1},
    ],
    [
      'a measurement that is not finite where NaN is left out',
      {t, q: [1, Infinity, 3], missing: 'skip'},
      DataError,
      'not-finite',
      /record 2: q is Infinity in sample 1\. Remove the sample, or make it NaN, which is what missing: 'skip' leaves out/,
      {record: 'record 2', series: 'q', index: 1},
    ],
    [
      'a time that is none',
      {t: [0, Infinity, 1], q: [1, 2, 3]},
      DataError,
      'not-finite',
      /record 2: t\[1\] is Infinity/,
      {record: 'record 2', series: 't', index: 1},
    ],
    [
      'times that go back',
      {name: 'swing', t: [0, 0.2, 0.1], q: [1, 2, 3]},
      DataError,
      'time-order',
      /swing: times must increase, but t\[2\] = 0\.1 follows 0\.2/,
      {record: 'swing', index: 2},
    ],
    [
      'times with an axis too many',
      {t: [[0], [1], [2]], q: [1, 2, 3]},
      ShapeError,
      'time-shape',
      /t has shape \[3, 1\]/,
      {record: 'record 2'},
    ],
    ['no samples', {t: [], q: []}, DataError, 'too-short', /record 2 has no samples/, {record: 'record 2'}],
    [
      'too few measurements',
      {t, q: [1, 2]},
      ShapeError,
      'data-shape',
      /q has shape \[2\] for 3 times; it needs the shape \[3, \.\.\.\]/,
      {series: 'q'},
    ],
    [
      'outputs before samples',
      {
        t,
        q: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      },
      ShapeError,
      'data-shape',
      /q has shape \[2, 3\] for 3 times/,
      {series: 'q', shape: [2, 3]},
    ],
    [
      'nothing to compare',
      {t},
      OptionError,
      'no-data',
      /record 2 has nothing to compare with: give q or v/,
      {record: 'record 2'},
    ],
    [
      'a series the system lacks',
      {t, y: [1, 2, 3]},
      OptionError,
      'no-series',
      /record 2 has y, but the system's state is q and v\. .*observe/,
      {series: 'y'},
    ],
    [
      'a negative weight',
      {t, q: [1, 2, 3], weights: [1, -1, 1]},
      DataError,
      'bad-weight',
      /weight 1 of q is -1/,
      {series: 'q', index: 1},
    ],
    [
      'weights of no shape',
      {
        t,
        q: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        weights: [1, 2, 3, 4],
      },
      ShapeError,
      'weights-shape',
      /weights of shape \[4\] for q; give one, 2 \(one per output\), 3 \(one per sample\) or 6/,
      {series: 'q'},
    ],
    [
      'weights the wrong way round',
      {
        t,
        q: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        weights: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      },
      ShapeError,
      'weights-shape',
      /shape \[2, 3\]/,
      {series: 'q'},
    ],
    [
      'a misspelt option',
      {t, q: [1, 2, 3], weight: 1} as MeasuredRecord,
      OptionError,
      'unknown-option',
      /record 2 has no option 'weight'.*Did you mean 'weights'/,
      {option: 'weight'},
    ],
    [
      'weights for a series that is none',
      {t, q: [1, 2, 3], weights: {x: 1} as MeasuredRecord['weights']},
      OptionError,
      'unknown-option',
      /weights has no option 'x'/,
      {option: 'x'},
    ],
    [
      'an input that is no signal',
      {t, q: [1, 2, 3], inputs: {u: [1, 2, 3] as never}},
      OptionError,
      'not-a-signal',
      /record 2: inputs\.u must be made by signal/,
      {},
    ],
  ];
  for (const [what, record, kind, code, message, data] of cases) {
    it(`refuses ${what}`, () => {
      const error = errorOf(() => read(record));
      expect(error).to.be.instanceOf(kind);
      expect(error.code).to.equal(code);
      expect(error.message).to.match(message);
      expect(error.data).to.deep.include(data);
    });
  }
});

describe('sampling', () => {
  const even = (interval: number, n: number, start = 0): Float64Array =>
    Float64Array.from({length: n}, (_, i) => start + i * interval);
  const text = (...args: Parameters<typeof requireGrid>): string => errorOf(() => requireGrid(...args)).message;

  it('accepts what lies on the grid, and a last step that is shorter', () => {
    requireGrid(even(0.1, 50), 0, 0.1, 'r');
    requireGrid(even(0.1, 50), 0, 0.02, 'r');
    requireGrid(even(1 / 610.35, 5000, 17.3), 17.3, 1 / 610.35, 'r');
    requireGrid(Float64Array.of(0, 1), 0, 0.3, 'r');
    requireGrid(Float64Array.of(2), 0, 0.1, 'r');
    requireGrid(Float64Array.of(0.3, 0.5, 1.1), 0, 0.1, 'r');
  });

  it('tells the step that would do', () => {
    expect(text(even(0.01, 100), 0, 0.003, 'run 7')).to.equal(
      "run 7: t[1] = 0.01 is not on the grid 0 + n·0.003 of the simulation. dt = 0.0025 would meet all its times. Or use offGrid: 'interpolate', which reads the simulation between its steps.",
    );
    expect(text(even(0.01, 100), 0, 0.02, 'r')).to.contain('dt = 0.01 would');
    expect(text(Float64Array.of(0, 0.3, 0.5, 1.1, 2), 0, 0.25, 'r')).to.contain('dt = 0.1 would');
    expect(text(even(0.1, 10, 5.03), 5, 0.1, 'r'), 'from a start of its own').to.contain('dt = 0.01 would');
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 40}),
        fc.array(fc.integer({min: 1, max: 9}), {minLength: 3, maxLength: 30}),
        fc.double({min: 1e-4, max: 1e4, noNaN: true}),
        (parts, steps, unit) => {
          let sum = 0;
          const times = Float64Array.from([0, ...steps], step => (sum += step) * unit);
          const dt = unit * (parts / 7.3);
          const step = commonStep(times, 0, dt);
          // Every time is a multiple of `unit`, and dt is between a seventh and five of it: there is one, no longer than dt.
          expect(step)
            .to.be.a('number')
            .and.be.at.most(dt * (1 + 1e-6));
          requireGrid(times, 0, step as number, 'r');
        },
      ),
      runs(),
    );
  });

  it('knows an even clock that was rounded, times without order, and times too large', () => {
    const frames = even(1 / 30, 90).map(time => Number(time.toFixed(5)));
    expect(text(frames, 0, 1 / 30, 'film')).to.match(
      /^film: t\[1\] = 0\.03333 .*evenly spaced except for 0\.0000033 \(rounded when they were written\?\): give t as 0 \+ i·0\.0333333333333\.$/,
    );
    expect(text(frames, 0, 0.1, 'film'), "with a step that is not the clock's").to.match(
      /give t as 0 \+ i·0\.03333\d+, and dt = 0\.03333/,
    );
    expect(text(Float64Array.of(0, 0.1234567, 0.5432109, 1.7), 0, 0.1, 'r')).to.match(
      /no common step .* offGrid: 'interpolate'/,
    );
    const unix = even(0.001, 1000, 1.7e9);
    expect(text(unix, 1.7e9, 0.001, 'r')).to.contain('Count time from the start of the record');
  });

  it('lets times lie between the steps where it is told to', () => {
    requireGrid(Float64Array.of(0, 0.1234567, 0.5432109, 1.7), 0, 0.1, 'r', 'interpolate');
    expect(text(even(0.1, 5), 1, 0.1, 'r', 'interpolate')).to.contain('before the start of the simulation');
  });

  it('refuses milliseconds taken for seconds, where a fit would not end', () => {
    const error = errorOf(() => requireFewSteps(even(20, 600), 0, 1e-4, 'r'));
    expect(error.code).to.equal('too-many-steps');
    expect(error.message).to.match(
      /^r has 1\.2e\+8 steps of dt = 0\.0001, 200000 from one sample to the next: are its times in the same unit/,
    );
    requireFewSteps(even(0.02, 600), 0, 1e-4, 'r');
    requireFewSteps(Float64Array.of(0, 1000), 0, 1e-3, 'two samples of a slow decay');
    requireFewSteps(even(1e-3, 1e6), 0, 1e-5, 'a long record, a hundred steps a sample');
  });

  it('refuses a record that begins before its start, or ends there', () => {
    const early = errorOf(() => requireGrid(even(0.1, 5), 1, 0.1, 'r'));
    expect(early).to.be.instanceOf(DataError);
    expect(early.message).to.contain('first sample is at 0, before the start of the simulation at 1');
    expect(text(Float64Array.of(0), 0, 0.1, 'r')).to.contain('one sample, which is the start itself');
  });
});
