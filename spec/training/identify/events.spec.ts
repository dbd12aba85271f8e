/** Parameters of jumps, identified: a ball's restitution against its flight in closed form, and what stops a run too early. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {event, InconsistentStateError, mechanics, trapezoid} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {identify} from '../../../training/identify/identify.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {bounded} from '../../../training/identify/parameters.js';
import {multiple} from '../../../training/identify/shooting.js';
import {slow} from '../../tiers.js';

const g = 9.81;
const ball = mechanics<{e: tf.Tensor}>({mass: 1, forces: ({q}) => tf.mul(tf.onesLike(q), -g)});
const floor = event<{e: tf.Tensor}>({
  name: 'floor',
  when: ({q}) => q,
  direction: 'falling',
  then: ({v, params}) => ({v: tf.neg(tf.mul(v, params.e))}),
});

/** Height at t of a ball dropped from 1 that keeps the share e of its speed at each bounce. */
function height(e: number, t: number): number {
  let hit = Math.sqrt(2 / g);
  if (t < hit) return 1 - (g * t * t) / 2;
  for (let up = g * hit * e; ; up *= e) {
    const flight = (2 * up) / g;
    if (t < hit + flight) return up * (t - hit) - (g * (t - hit) ** 2) / 2;
    hit += flight;
  }
}

const t = Float64Array.from({length: 101}, (_, i) => 0.02 * i);
const errors = gaussian(4);
const measured = t.map(time => height(0.8, time) + 0.002 * errors());
// The trapezoidal rule integrates a constant acceleration without an error.
const problem = {
  system: ball,
  initial: {q: 1, v: 0},
  data: {t, q: measured},
  parameters: {e: bounded(0.3, 1, 0.7)},
  scheme: trapezoid(),
  dt: 0.02,
  events: [floor],
  residuals: 'independent' as const,
};

/** Gauss and Newton's step, and the standard error, from differences of the closed form. */
function closedForm(e: number): {step: number; standardError: number} {
  const slope = t.map(time => (height(e + 1e-7, time) - height(e - 1e-7, time)) / 2e-7);
  const residuals = t.map((time, i) => height(e, time) - measured[i]);
  const information = slope.reduce((sum, s) => sum + s * s, 0);
  const variance = residuals.reduce((sum, r) => sum + r * r, 0) / (t.length - 1);
  return {
    step: residuals.reduce((sum, r, i) => sum + r * slope[i], 0) / information,
    standardError: Math.sqrt(variance / information),
  };
}

describe('identify with events', () => {
  slow('finds a restitution, with the standard error of the closed form', async () => {
    const fit = await identify(problem);
    const {step, standardError} = closedForm(fit.estimate.e);
    expect(fit.converged).to.equal(true);
    expect(Math.abs(fit.estimate.e - 0.8)).to.be.below(3 * standardError);
    expect(Math.abs(step)).to.be.below(1e-3 * standardError);
    // Of 101 samples: the standard errors are widened for their number by less than a fortieth.
    expect(fit.standardError.e / standardError).to.be.within(0.98, 1.025);
    expect(fit.trajectory.events.map(({name}) => name)).to.deep.equal(['floor', 'floor', 'floor']);
    const [judged] = await fit.validate({t, q: t.map(time => height(0.8, time))});
    expect(judged.rmse).to.be.below(1e-3);
  });

  slow('finds the same by one backward pass an iteration, and from segments', async () => {
    const {estimate, standardError} = await identify(problem);
    for (const other of [{method: lbfgs()}, {shooting: multiple({segments: 4})}]) {
      const again = await identify({...problem, ...other});
      expect(Math.abs(again.estimate.e - estimate.e)).to.be.below(1e-2 * standardError.e);
    }
  });

  it('says which event stops a run before its record ends', async () => {
    const stopping = event({name: 'ground', when: ({q}) => q, direction: 'falling', then: 'stop'});
    const error = await identify({...problem, events: [stopping]}).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(InconsistentStateError);
    expect((error as Error).message).to.equal(
      `identify: the guess cannot be simulated: record 1 goes to t = 2, but event 'ground' stops the simulation at t = ${Math.sqrt(2 / g)}. Cut the record there, or let the event change the state or only be recorded.`,
    );
  });
});
