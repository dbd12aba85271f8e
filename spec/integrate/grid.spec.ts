/** Times of a run: the grid of steps, what is saved of it, and what is refused. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {SaveAt, SimulateOptions, Trajectory} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {mechanics, newton, OptionError, simulate, trapezoid} from '../../lib/index.js';
import {largest} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const spring = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});

function run(options: Partial<RunSettings> & {steps?: number; t1?: number} & {t?: number}): {
  t: number[];
  q: number[];
  steps: number;
} {
  const {t, ...rest} = options;
  const path = simulate(spring, {q: 1, v: 0, t}, {scheme: trapezoid(), dt: 0.1, ...rest} as SimulateOptions);
  path.dispose();
  return {t: [...path.values('t')], q: [...path.values('q')], steps: path.stats.steps};
}

describe('times of a run', () => {
  it('steps, or an end', () => {
    expect(run({steps: 3}).t).to.deep.equal([0, 0.1, 0.2, 3 * 0.1]);
    expect(run({t1: 0.3}).t).to.deep.equal([0, 0.1, 0.2, 0.3]);
    expect(run({t: 2, t1: 2.3}).t).to.deep.equal([2, 2.1, 2 + 2 * 0.1, 2.3]);
    expect(run({steps: 0})).to.deep.equal({t: [0], q: [1], steps: 0});
    expect(run({t1: 0})).to.deep.equal({t: [0], q: [1], steps: 0});
  });

  it('an end off the grid is met by a shorter last step', () => {
    const {t, q} = run({t1: 0.25});
    expect(t).to.deep.equal([0, 0.1, 0.2, 0.25]);
    const shorter = run({t1: 0.05});
    // One step of h: q = (1 − h²/4)/(1 + h²/4).
    expect(shorter.q[1]).to.be.closeTo((1 - 0.05 ** 2 / 4) / (1 + 0.05 ** 2 / 4), 1e-15);
    // The phase of the trapezoid moves on by 2 arctan(h/2) a step.
    expect(q[3]).to.be.closeTo(Math.cos(4 * Math.atan(0.05) + 2 * Math.atan(0.025)), 1e-14);
  });

  it('a span of a tiny share of dt is a step, and times of it are its own', () => {
    // One step of h = t1, and the same between two of them; the start was taken for its end once.
    for (const t1 of [5e-8, 1e-12]) {
      const one = (t: number): number => Math.cos(2 * Math.atan(t / 2));
      const v = (options: {t1?: number; saveAt?: number[]}): Float64Array => {
        const path = simulate(spring, {q: 0, v: 1}, {scheme: trapezoid(), dt: 0.1, ...options} as SimulateOptions);
        path.dispose();
        return path.values('q');
      };
      expect(v({t1})[1] / t1).to.be.closeTo(one(t1), 1e-12);
      const [half, whole] = v({saveAt: [t1 / 2, t1]});
      expect(half / t1).to.be.closeTo(0.5, 1e-12);
      expect(whole / t1).to.be.closeTo(1, 1e-12);
      const [back] = [run({t: 0, dt: -0.1, saveAt: [-t1]})];
      expect([back.t, back.steps]).to.deep.equal([[-t1], 1]);
    }
  });

  it('times that the grid would meet at one and the same step are themselves', () => {
    const path = simulate(
      spring,
      {q: 0, v: 1},
      {scheme: trapezoid(), dt: 0.1, t1: 1, saveAt: [0, 1e-9, 3e-9, 1 - 1e-9, 1]},
    );
    path.dispose();
    expect([...path.values('t')]).to.deep.equal([0, 1e-9, 3e-9, 1 - 1e-9, 1]);
    const q = path.values('q');
    expect(q[1]).to.be.closeTo(1e-9, 1e-17);
    expect(q[2]).to.be.closeTo(3e-9, 1e-17);
    expect((q[4] - q[3]) / 1e-9).to.be.closeTo(path.values('v')[4], 1e-6);
    // Alone, it is the grid's.
    expect(run({t1: 1, saveAt: [1e-9, 0.5]}).t).to.deep.equal([0, 0.5]);
  });

  it('a run that starts late is the same run, bit for bit, where nothing depends on time', () => {
    const early = run({steps: 50});
    for (const t of [0.3, 1e3, 1e6, -1e6]) expect(run({t, steps: 50}).q).to.deep.equal(early.q);
  });

  it("an end that is the grid's own but for rounding changes nothing", () => {
    const whole = run({dt: 1 / 30, steps: 30, saveAt: 'end'});
    expect(run({dt: 1 / 30, t1: 1, saveAt: 'end'}).q).to.deep.equal(whole.q);
    expect(run({t: 7, dt: 1 / 30, t1: 8, saveAt: 'end'}).q).to.deep.equal(whole.q);
  });

  it('what is saved', () => {
    const all = run({steps: 10});
    const some = (saveAt: SaveAt, steps: readonly number[]): void => {
      const found = run({steps: 10, saveAt});
      expect(found.steps).to.equal(10);
      expect(found.t).to.deep.equal(steps.map(n => all.t[n]));
      expect(found.q).to.deep.equal(steps.map(n => all.q[n]));
    };
    some('all', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    some('end', [0, 10]);
    some({every: 4}, [0, 4, 8]);
    some({every: 20}, [0]);
    some([0.3, 0.7, 1], [3, 7, 10]);
    some([0, 0.1], [0, 1]);
    expect(() => run({steps: 10, saveAt: []})).to.throw(OptionError, /list of times is empty/);
  });

  it('halved steps are saved on the grid', () => {
    // A spring that hardens without bound: full Newton steps from far away need more than 5 iterations.
    const hard = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sinh(tf.mul(q, 6)))});
    const path = simulate(
      hard,
      {q: 1, v: 0},
      {
        scheme: trapezoid(),
        dt: 0.2,
        steps: 3,
        newton: newton({onFailure: 'halve', maxIterations: 5}),
      },
    );
    path.dispose();
    expect([...path.values('t')]).to.deep.equal([0, 0.2, 0.4, 3 * 0.2]);
    expect(path.stats.rejectedSteps).to.be.above(0);
    expect(path.stats.steps).to.equal(3 + path.stats.rejectedSteps);
    expect(largest(path.values('q'))).to.be.below(1.5);
  });

  const refused: readonly (readonly [string, Partial<RunSettings> & {steps?: number; t1?: number}, string])[] = [
    ['neither steps nor t1', {}, 'bad-time'],
    ['both', {steps: 1, t1: 1}, 'bad-time'],
    ['half a step', {steps: 0.5}, 'bad-time'],
    ['an end before the start', {t1: -1}, 'bad-time'],
    ['no step length', {dt: 0, steps: 1}, 'bad-time'],
    ['a time after the end', {steps: 10, saveAt: [1.1]}, 'bad-save'],
    ['a time before the start', {steps: 10, saveAt: [-0.1]}, 'bad-save'],
    ['times that do not ascend', {steps: 10, saveAt: [0.2, 0.1]}, 'bad-save'],
    ['a time twice', {steps: 10, saveAt: [0.1, 0.1]}, 'bad-save'],
    ['the end, and a time after it', {steps: 10, saveAt: [1, 1 + 1e-12]}, 'bad-save'],
    ['every zeroth', {steps: 10, saveAt: {every: 0}}, 'bad-save'],
    ['a misspelt option', {steps: 10, ['savAt' as 'saveAt']: 'all'}, 'unknown-option'],
    ['an engine of no name', {steps: 1, engine: 'fast' as 'auto'}, 'bad-engine'],
  ];
  for (const [title, options, code] of refused) {
    it(`refuses ${title}`, () => {
      expect(() => run(options))
        .to.throw(OptionError)
        .with.property('code', code);
    });
  }

  it('tells progress, the last step always', () => {
    const told: number[] = [];
    run({
      steps: 20,
      onProgress: ({step, steps, t}) => {
        expect(steps).to.equal(20);
        expect(t).to.equal(step * 0.1);
        told.push(step);
      },
    });
    expect(told[told.length - 1]).to.equal(20);
  });

  slow('a run inside the progress of another does not disturb it', () => {
    const stiffness = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q))});
    const outer = (onProgress?: () => void): Trajectory =>
      simulate(
        stiffness,
        {q: 1, v: 0},
        {
          // Slow and long enough for progress, told every tenth of a second, to be told on the way.
          scheme: trapezoid(),
          params: {k: 1},
          dt: 1e-5,
          steps: 300000,
          saveAt: 'end',
          newton: newton({jacobian: 'auto'}),
          engine: 'interpreter',
          onProgress,
        },
      );
    let inner = 0;
    const alone = outer();
    const disturbed = outer(() => {
      simulate(
        stiffness,
        {q: 5, v: 3},
        {scheme: trapezoid(), params: {k: 7}, dt: 0.3, steps: 3, engine: 'interpreter'},
      ).dispose();
      inner++;
    });
    expect(inner).to.be.above(1);
    expect([...disturbed.values('q')]).to.deep.equal([...alone.values('q')]);
    alone.dispose();
    disturbed.dispose();
  });
});
