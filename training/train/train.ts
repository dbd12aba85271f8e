/**
 * The training loop: mini-batches in a seeded order, one optimizer step a batch, validation and early stopping
 * an epoch, and checkpoints from which a killed run goes on to the very weights it would have had.
 */
import {StiffgradError} from '../../lib/errors.js';
import {throwIfAborted} from '../../lib/checks.js';
import {isFailedSimulation} from '../identify/failed-simulation.js';
import type {AnySystem} from '../../lib/internal.js';
import {Checkpoints} from './checkpoints.js';
import {acceptedChanges, identityOf, requireSame, type Identity} from './identity.js';
import {type EpochMetrics, type MetricsSink, openMetrics} from './metrics.js';
import {type Learner, learnerOf, scalarValue} from './learner.js';
import {
  type AnyTraining,
  type CompiledTraining,
  type CompleteTraining,
  type TrainingLossAt,
  type TrainingProblem,
  isCompiledTraining,
  readProblem,
  stepInputs,
  type Examples,
} from './problem.js';
import {Random} from './random.js';
import {TrainingState} from './state.js';
import {shownTraining, type TrainingResult} from './training-report.js';

/**
 * Trains variables on examples with one of tfjs's optimizers, or by a compiled step with its own. With the same seed it
 * gives the same weights to the bit, whether or not it was interrupted and resumed.
 * @throws OptionError for a problem that is not well posed; CheckpointError for a checkpoint that is damaged,
 *   in the way, or belongs to another run; errors of the loss (unless onFailure is 'skip'); StiffgradError
 *   'not-finite' for a loss or gradient that is not a number
 */
export async function train<T, S extends AnySystem = never>(
  given: TrainingProblem<T> | CompiledTraining<T, S>,
): Promise<TrainingResult> {
  const problem = readProblem(given as AnyTraining<T>);
  const {data, seed, checkpoint, resume} = problem;
  const accepted = acceptedChanges(resume);
  if (isCompiledTraining(problem)) await begin(problem);
  const learner = learnerOf(problem);
  const state = new TrainingState({learner, examples: data.length, seed});
  const checkpoints = checkpoint === undefined ? undefined : new Checkpoints(checkpoint.directory, checkpoint.keep);
  await checkpoints?.open();
  try {
    const latest = resume === false ? undefined : await checkpoints?.latest();
    if (latest === undefined) await checkpoints?.requireEmpty();
    const keeping = checkpoints === undefined ? undefined : await keepingOf(problem, learner, checkpoints);
    const metricsLength =
      latest === undefined || keeping === undefined
        ? 0
        : state.restore(latest.content, latest.file, {
            accepted,
            probe: keeping.probe,
            changes: (saved, file) => requireSame(saved, keeping.identity, problem, accepted, file),
          });
    const metrics = await openMetrics(problem.metrics, metricsLength);
    try {
      return await new Run(
        problem,
        learner,
        state,
        metrics,
        keeping,
        latest === undefined ? undefined : state.counters.step,
      ).toEnd();
    } finally {
      await metrics.close();
    }
  } finally {
    await checkpoints?.close();
  }
}

/** The checkpoints of a run, and how it is recognized. */
interface CheckpointContext {
  readonly checkpoints: Checkpoints;
  readonly identity: Identity;
  /** The loss of the data's first batch: another loss, or variables exchanged, give another. */
  readonly probe: (at: TrainingLossAt) => number | null;
}

/** A step knows its variables once it has evaluated a loss. */
async function begin<T>(problem: CompleteTraining<T> & CompiledTraining<T>): Promise<void> {
  const {step, seed} = problem;
  const examples = await firstBatch(problem);
  const batch = stepInputs(problem, examples, {step: 0, epoch: 0, random: new Random(seed)});
  try {
    step.loss(batch);
  } catch (error) {
    if (!isFailedSimulation(error) || step.variables.length === 0) throw error;
  }
}

const firstBatch = <T>({data, batchSize}: CompleteTraining<T>): Promise<T[]> =>
  examplesAt(
    data,
    Uint32Array.from({length: Math.min(batchSize, data.length)}, (_, i) => i),
  );

async function keepingOf<T>(
  problem: CompleteTraining<T>,
  learner: Learner<T>,
  checkpoints: Checkpoints,
): Promise<CheckpointContext> {
  const identity = await identityOf(problem, learner);
  const batch = await firstBatch(problem);
  const probe = (at: TrainingLossAt): number | null => {
    try {
      const value = learner.loss(batch, at);
      return Number.isFinite(value) ? value : null;
    } catch (error) {
      if (isFailedSimulation(error)) return null;
      throw error;
    }
  };
  // The first evaluation without a tape may create variables: it is made now, not between a step and its checkpoint.
  probe({step: 0, epoch: 0, random: new Random(problem.seed)});
  return {checkpoints, identity, probe};
}

/** Writes that failed while the training went on. */
interface Unwritten {
  readonly what: 'checkpoints' | 'metrics';
  /** The step of the first one. */
  readonly step: number;
  readonly message: string;
  readonly count: number;
}

/** Between yields to the event loop, in ms: a terminal or a page stays alive, and waiting costs nothing that shows. */
const YIELD = 50;

class Run<T> {
  private readonly began = performance.now();
  private readonly firstStep: number;
  private readonly size: number;
  private readonly steps: number;
  private yielded = performance.now();
  private savedStep = -1;
  private readonly unwritten = new Map<string, Unwritten>();

  constructor(
    private readonly problem: CompleteTraining<T>,
    private readonly learner: Learner<T>,
    private readonly state: TrainingState,
    private readonly metrics: MetricsSink,
    private readonly keeping: CheckpointContext | undefined,
    private readonly resumedFrom: number | undefined,
  ) {
    this.firstStep = state.counters.step;
    this.size = problem.batchSize;
    this.steps = problem.epochs * Math.ceil(problem.data.length / this.size);
  }

  async toEnd(): Promise<TrainingResult> {
    const {state, problem} = this;
    while (state.counters.epoch < problem.epochs && !this.exhausted) {
      if (state.counters.position === 0 && problem.shuffle) state.random.shuffle(state.order);
      while (state.counters.position < problem.data.length) {
        throwIfAborted(problem.signal);
        await this.step();
        if (problem.checkpoint !== undefined && state.counters.step % problem.checkpoint.every === 0) await this.save();
        await this.breathe();
      }
      await this.endEpoch();
    }
    await this.save();
    if (problem.earlyStopping !== undefined) state.takeBest();
    this.learner.publish();
    return this.result();
  }

  private get seconds(): number {
    return (performance.now() - this.began) / 1000;
  }

  /** Early stopping has waited long enough. */
  private get exhausted(): boolean {
    const {earlyStopping} = this.problem;
    return earlyStopping !== undefined && this.state.counters.waited >= earlyStopping.patience;
  }

  private async step(): Promise<void> {
    const {problem, state} = this;
    const {counters, order, random} = state;
    const {step, epoch, position} = counters;
    const rate = problem.schedule?.({step, epoch, steps: this.steps});
    if (rate !== undefined) this.learner.rate = rate;
    const indices = order.subarray(position, position + this.size);
    const batch = await examplesAt(problem.data, indices);
    const found = this.attempt(batch, {step, epoch, random});
    if (found !== undefined) {
      counters.lossSum += found.loss * batch.length;
      counters.lossCount += batch.length;
    } else counters.skipped++;
    counters.step++;
    counters.position = Math.min(position + this.size, problem.data.length);
    this.tell(found);
  }

  /** Loss and gradient's norm, once the step is taken; undefined for one that is skipped. */
  private attempt(batch: readonly T[], at: TrainingLossAt): {loss: number; norm: number} | undefined {
    try {
      return this.learner.take(batch, at);
    } catch (error) {
      if (this.problem.onFailure === 'skip' && isFailedSimulation(error)) return undefined;
      throw error;
    }
  }

  private tell(found: {loss: number; norm: number} | undefined): void {
    const {problem, seconds} = this;
    const {step, epoch} = this.state.counters;
    const learningRate = this.learner.rate;
    this.metrics.write({
      kind: 'step',
      step,
      epoch,
      loss: found?.loss ?? null,
      gradient: found?.norm ?? null,
      learningRate,
      seconds,
    });
    const rate = (step - this.firstStep) / seconds;
    problem.onProgress?.({
      step,
      steps: this.steps,
      epoch,
      epochs: problem.epochs,
      loss: found?.loss ?? NaN,
      learningRate,
      rate,
      secondsLeft: (this.steps - step) / rate,
      ...(this.unwritten.size === 0 ? {} : {warnings: this.unwrittenWarnings}),
    });
  }

  private async endEpoch(): Promise<void> {
    const {problem, state} = this;
    const {counters} = state;
    this.learner.publish();
    counters.epoch++;
    const {epoch, step, skipped} = counters;
    const loss = counters.lossCount > 0 ? counters.lossSum / counters.lossCount : NaN;
    const due =
      problem.validation !== undefined && (epoch % (problem.validation.every ?? 1) === 0 || epoch === problem.epochs);
    const validation = due ? await this.validate() : undefined;
    const line: EpochMetrics = {
      kind: 'epoch',
      epoch,
      step,
      loss,
      validation,
      learningRate: this.learner.rate,
      skipped,
    };
    counters.history.push(line);
    this.metrics.write(line);
    if (problem.validation === undefined || due) this.judge(epoch, validation ?? loss);
    Object.assign(counters, {position: 0, lossSum: 0, lossCount: 0});
    await this.written('metrics', async () => void (await this.metrics.flush()));
  }

  private judge(epoch: number, loss: number): void {
    const {counters} = this.state;
    const least = this.problem.earlyStopping?.least ?? 0;
    const {best} = counters;
    if (Number.isFinite(loss) && (best === undefined || loss < best.loss - least * Math.abs(best.loss))) {
      this.state.markBest(epoch, loss);
      counters.waited = 0;
    } else counters.waited++;
  }

  /** Mean over the validation's examples, in batches as large as the training's. */
  private async validate(): Promise<number> {
    const {validation} = this.problem;
    const {data, loss: own} = validation as NonNullable<typeof validation>;
    const {step, epoch} = this.state.counters;
    let sum = 0;
    for (let from = 0; from < data.length; from += this.size) {
      const indices = Uint32Array.from({length: Math.min(this.size, data.length - from)}, (_, i) => from + i);
      const batch = await examplesAt(data, indices);
      // A copy of the generator: to look must not change what comes.
      sum +=
        batch.length
        * (own === undefined
          ? this.learner.loss(batch, {step, epoch, random: this.state.random.copy()})
          : scalarValue(() => own(batch)));
    }
    return sum / data.length;
  }

  private async save(): Promise<void> {
    const {state, keeping} = this;
    const {step, epoch, position} = state.counters;
    // An epoch's end is another state than its last step's.
    const mark = 2 * step + (position === 0 ? 1 : 0);
    if (keeping === undefined || mark === this.savedStep) return;
    const probe = keeping.probe({step, epoch, random: state.random.copy()});
    await this.written('checkpoints', async () => {
      await keeping.checkpoints.write(step, state.save(keeping.identity, probe, await this.metrics.flush()));
      this.savedStep = mark;
    });
  }

  /** A full disk does not end a training: its state is in memory, and the next checkpoint may find room. */
  private async written(what: Unwritten['what'], write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof StiffgradError) || !/^(checkpoint|metrics)-unwritable$/.test(error.code)) throw error;
      const {step} = this.state.counters;
      const before = this.unwritten.get(what) ?? {what, step, message: error.message, count: 0};
      this.unwritten.set(what, {...before, count: before.count + 1});
    }
  }

  private get unwrittenWarnings(): string[] {
    const latest = Math.floor(this.savedStep / 2);
    const has = this.savedStep >= 0 ? ` The latest checkpoint is that of step ${latest}.` : ' There is no checkpoint.';
    return [...this.unwritten.values()].map(({what, step, message, count}) => {
      const often = count === 1 ? 'Once' : `${count} times`;
      const last = this.keeping === undefined ? '' : has;
      return `${often} the ${what} were not written, at first after step ${step}: ${message}${last}`;
    });
  }

  private async breathe(): Promise<void> {
    if (performance.now() - this.yielded < YIELD) return;
    await new Promise(resolve => setTimeout(resolve, 0));
    this.yielded = performance.now();
  }

  private get warnings(): string[] {
    const {learner} = this;
    const own = [...learner.warnings, ...this.unwrittenWarnings];
    if (this.state.counters.step === this.firstStep) return own;
    const still = learner.variables.flatMap(({name}, i) =>
      learner.moved.has(i)
        ? []
        : [
            `variables[${i}] ('${name}') never got a gradient: no loss depended on it. Remove it from the list, or `
              + 'check where the loss should use it.',
          ],
    );
    return [...own, ...still];
  }

  private result(): TrainingResult {
    const {epoch, step, history, best, skipped} = this.state.counters;
    return shownTraining({
      epochs: epoch,
      steps: step,
      history,
      best,
      skipped,
      stopped: this.exhausted ? 'early' : 'epochs',
      resumedFrom: this.resumedFrom,
      seconds: this.seconds,
      warnings: this.warnings,
    });
  }
}

async function examplesAt<T>(data: Examples<T>, indices: Uint32Array): Promise<T[]> {
  // An array's examples are here already: waiting for each would cost more than small steps do.
  if (!('get' in data)) return Array.from(indices, index => data[index]);
  const batch: T[] = [];
  for (const index of indices) batch.push(await data.get(index));
  return batch;
}
