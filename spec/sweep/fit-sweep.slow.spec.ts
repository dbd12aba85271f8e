/** Fits from many starts, profiles, bootstraps, cross-validations and posteriors by the processes of a sweep: the same bits as in this one. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';
import {OptionError} from '../../lib/index.js';
import {fitSweep, openStore} from '../../sweep/index.js';
import {indexed, local} from '../../sweep/local.js';
import {
  bootstrap,
  crossValidate,
  identify,
  likelihoodProfile,
  posterior,
  type FitTask,
  type Identification,
} from '../../training/index.js';
import type {PartCase, PartSweep} from '../../training/identify/solve.js';
import {canonical, parse} from '../../sweep/canonical.js';
import task, {other, problem, single} from './tasks/swing.js';

const module = fileURLToPath(new URL('tasks/swing.ts', import.meta.url));

/** What is left out and what is undefined are the same. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, one: unknown) =>
      typeof one === 'number' && !Number.isFinite(one) ? String(one) : one instanceof Float64Array ? [...one] : one,
    ),
  );

/** What passes between processes, as text, without any: cases there, results back. */
const asText = (of: FitTask): PartSweep => ({
  async compute(parts) {
    const results: unknown[] = [];
    for (const part of parts) {
      const given = parse(canonical(part, 'a case')) as PartCase;
      results.push(parse(canonical(await of(given, {signal: new AbortController().signal}), 'a result')));
    }
    return results;
  },
});

const numbers = ({minima, cost, estimate, standardError, correlation, history, noise, rmse}: Identification): unknown =>
  plain({minima, cost, estimate, standardError, correlation, history, noise, rmse});

describe('fits by sweeps', function () {
  this.timeout(120_000);
  let folder: string;
  const sweep = asText(task);
  let fit: Identification;
  const many = {...problem, starts: 6, seed: 4};

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'stiffgrad-fits-'));
    fit = await identify(problem);
  });
  after(() => rm(folder, {recursive: true}));

  it('starts, by processes, and found in the store', async () => {
    const processes = fitSweep({task: {module}, store: folder, engine: local({workers: 2})});
    const here = await identify(many);
    const there = await identify({...many, sweep: processes});
    expect(numbers(there)).to.deep.equal(numbers(here));
    expect(there.minima).to.have.length(2);
    expect(there.estimate.a).to.be.closeTo(2, 0.01);
    expect(there.warnings).to.deep.equal(here.warnings);
    expect((await openStore(folder).status()).done).to.equal(6);
    const again = await identify({...many, sweep: processes});
    expect(numbers(again)).to.deep.equal(numbers(here));
    expect((await openStore(folder).status()).done).to.equal(6);
  });

  it('profiles', async () => {
    const [here, there] = [
      await likelihoodProfile(fit, 'c', {points: 3}),
      await likelihoodProfile(fit, 'c', {points: 3, sweep}),
    ];
    expect(plain(there)).to.deep.equal(plain(here));
    expect(here.values).to.have.length(7);
  });

  it('bootstraps', async () => {
    for (const errors of ['model', 'residuals'] as const) {
      const options = {replicates: 5, errors, seed: 7};
      const [here, there] = [await bootstrap(fit, options), await bootstrap(fit, {...options, sweep})];
      expect(plain(there)).to.deep.equal(plain(here));
      expect(here.replicates).to.equal(5);
    }
  });

  it('cross-validations, of records and of one made when it is asked for', async () => {
    const [here, there] = [await crossValidate(fit), await crossValidate(fit, {sweep})];
    expect(plain(there)).to.deep.equal(plain(here));
    expect(here.folds.map(({leftOut}) => leftOut)).to.deep.equal(['record 1', 'record 2', 'record 3']);
    const alone = {...problem, data: problem.data[0], starts: 2, seed: 4};
    const fitAlone = await identify(alone);
    const [own, elsewhere] = [
      await crossValidate(fitAlone, {folds: 2}),
      await crossValidate(fitAlone, {folds: 2, sweep: asText(single)}),
    ];
    expect(plain(elsewhere)).to.deep.equal(plain(own));
    expect(own.folds.map(({leftOut}) => leftOut)).to.deep.equal(['samples 0 … 20', 'samples 21 … 40']);
  });

  it('posteriors', async () => {
    const options = {chains: 2, draws: 20, warmUp: 20, seed: 5};
    const [here, there] = [await posterior(fit, options), await posterior(fit, {...options, sweep})];
    expect(plain(there)).to.deep.equal(plain(here));
    expect(here.draws.a).to.have.length(40);
  });

  it('by shares: each computes its own, and the last run gathers them', async () => {
    const store = path.join(folder, 'shares');
    const share = (index: number): PartSweep =>
      fitSweep({task: {module}, store, engine: indexed({index, of: 2, workers: 1})});
    const refusal = await identify({...many, sweep: share(0)}).then(
      () => undefined,
      (error: unknown) => error as OptionError,
    );
    expect(refusal?.code).to.equal('sweep-incomplete');
    expect(refusal?.message).to.include('3 of 6 parts are not in the store yet');
    const whole = await identify({...many, sweep: share(1)});
    expect(numbers(whole)).to.deep.equal(numbers((await identify(many)) as unknown as Identification));
  });

  it('refuse a task with another problem, and what is no sweep', async () => {
    const refused = await identify({...many, sweep: asText(other)}).then(
      () => undefined,
      (error: unknown) => error as OptionError,
    );
    expect(refused?.code).to.equal('other-problem');
    expect(refused?.message).to.include("The task's problem is not the analysed one");
    const none = await identify({...many, sweep: local() as never}).then(
      () => undefined,
      (error: unknown) => error as OptionError,
    );
    expect(none).to.be.instanceOf(OptionError);
    expect(none?.message).to.include('fitSweep');
  });
});
