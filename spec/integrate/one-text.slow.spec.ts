/**
 * Newton's decisions, an attempt at a step, the controller, saving, a pull and a loss are each written once: a change of the
 * text holds on every engine.
 */
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';

/** Status, iterations, steps and the last time of a run. */
type Told = readonly [string, number, number, number];
/**
 * A run alone has its gradient, and so have members with times of their own; one of a batch has none; a loss has its
 * gradient alone.
 */
interface Outcome {
  readonly [run: string]: readonly [Told, readonly number[]] | Told | readonly number[];
}

interface Change {
  readonly file: string;
  /** As the loader leaves it: without spaces. */
  readonly from: string;
  readonly to: string;
}

const script = fileURLToPath(new URL('changed-text.mjs', import.meta.url));

function outcome(change: Change | null): Outcome {
  const printed = execFileSync(process.execPath, ['--import', 'tsx', script, JSON.stringify(change)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(printed.trim().split('\n').at(-1) as string) as Outcome;
}

const engines = ['wasm', 'interpreter', 'tensor'];
const runs = ['grid', 'adaptive', 'explicit'] as const;
const isBatch = (name: string): boolean => name.endsWith('batch');
const isMembers = (name: string): boolean => name.endsWith('members');
const isLoss = (name: string): boolean => name.includes('loss');
const toldOf = (all: Outcome, name: string): Told => (isBatch(name) ? all[name] : all[name][0]) as Told;

describe('integrate: control flow is written once', () => {
  let usual: Outcome;
  before(() => void (usual = outcome(null)));

  /** The runs, alone and in a batch, on every engine, of which something tells that they have changed. */
  const changed = (change: Change, differs: (is: Told, was: Told) => boolean): string[] => {
    const now = outcome(change);
    const runsOf = Object.keys(usual).filter(name => !isLoss(name) && !isMembers(name));
    return runsOf.filter(name => differs(toldOf(now, name), toldOf(usual, name)));
  };
  const named = (...among: (typeof runs)[number][]): string[] =>
    engines.flatMap(engine => among.flatMap(run => [`${engine}, ${run}`, `${engine}, ${run}, batch`]));

  it("Newton's acceptance", () => {
    const change = {file: 'newton/emit-newton.ts', from: 'newtonKappa=.01', to: 'newtonKappa=1e-13'};
    expect(changed(change, (is, was) => is[1] > was[1])).to.have.members(named('grid', 'adaptive'));
  });

  it('an attempt', () => {
    const change = {
      file: 'integrate/emit-step.ts',
      from: 'less(b.result(largestNext),Infinity)',
      to: 'less(b.result(largestNext),.9)',
    };
    expect(changed(change, is => is[0] !== 'completed')).to.have.members(named(...runs));
  });

  /** Whether a change makes adaptive steps shorter in every way of running, and no others. */
  const shortensAdaptiveSteps = (change: Change): void => {
    const now = outcome(change);
    const all = Object.keys(usual).filter(name => !isLoss(name));
    const shorter = all.filter(name => !isMembers(name) && toldOf(now, name)[3] < toldOf(usual, name)[3]);
    expect(shorter).to.have.members(named('adaptive', 'explicit'));
    const more = all.filter(name => isMembers(name) && toldOf(now, name)[2] > toldOf(usual, name)[2]);
    expect(more).to.have.members(engines.flatMap(one => [`${one}, adaptive, members`, `${one}, explicit, members`]));
  };

  it('the controller', () =>
    shortensAdaptiveSteps({file: 'history/pid-controller.ts', from: 'Math.max(error,', to: 'Math.max(9*error,'}));

  it('what follows an accepted step', () =>
    shortensAdaptiveSteps({
      file: 'history/step-sequence.ts',
      from: 'this.controller.accept(h,error)',
      to: 'this.controller.accept(h,9*error)',
    }));

  it('a pull: the solve with the Jacobian, the program of the step, and that of states within it', () => {
    const without = (from: string): string[] => {
      const now = outcome({file: 'adjoint/emit-pull.ts', from, to: '0'});
      const gradients = Object.keys(usual).filter(name => !isBatch(name) && !isLoss(name));
      return gradients.filter(name => JSON.stringify(now[name][1]) !== JSON.stringify(usual[name][1]));
    };
    const members = (...among: (typeof runs)[number][]): string[] =>
      engines.flatMap(engine => among.map(run => `${engine}, ${run}, members`));
    const all = (...among: (typeof runs)[number][]): string[] => [
      ...named(...among).filter(name => !isBatch(name)),
      ...members(...among),
    ];
    expect(without('b.call(solve,[row])')).to.have.members(all('grid', 'adaptive'));
    expect(without('b.call(pullStep)')).to.have.members(all(...runs));
    expect(without('b.call(pullDense)')).to.have.members(members(...runs));
  });

  it('saving', () => {
    const change = {file: 'history/saver.ts', from: 'this.saved.push(t)', to: 'this.saved.push(2*t)'};
    expect(changed(change, (is, was) => is[3] === 2 * was[3])).to.have.members(named('adaptive', 'explicit'));
  });

  it('a loss', () => {
    const now = outcome({file: 'simulate/loss-gradient.ts', from: 'loss.addTo(sums)', to: '0'});
    const losses = Object.keys(usual).filter(isLoss);
    expect(losses).to.have.length(2 * engines.length * runs.length);
    for (const name of losses) {
      expect(usual[name], name).to.not.deep.equal([0]);
      expect(now[name], name).to.not.deep.equal(usual[name]);
    }
  });
});
