/** The adjoint of dense output: cotangents of states within a step go back to all that its interpolation is made of. */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import {addTo} from './add-to.js';
import type {CourseBars} from './history-cotangents.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** A state within a step, and its cotangent. */
export interface Looked {
  readonly theta: number;
  readonly bar: Float64Array;
}

/** What such cotangents ask of all but the step's end; the arrays are the next step's, too. */
export interface Between {
  readonly xBar: Float64Array;
  readonly zBar?: Float64Array;
  readonly insideBar?: Float64Array;
  readonly tBar: number;
  readonly hBar: number;
}

export type PullWithin = (record: StepRecord, k: number, h: number, end: Float64Array, looked: readonly Looked[], endBar: Float64Array) => Between;

/**
 * @param executable the context's courseAdjoint, of a run with dense output
 * @returns adds to the cotangent of the step's end, and gives what the rest is asked
 */
export function withinStep(context: StepContext, executable: Executable, bars: CourseBars): PullWithin {
  const buffers = stepBuffers(executable);
  const pull = executable.program('pullDense');
  const look = executable.has('inside') ? executable.program('inside') : undefined;
  const [next, thetas, denseBar] = ['next', 'theta', 'denseBar'].map(name => executable.find(name));
  const [endBars, xBars, tBars, hBars, thetaBars] = ['dNextBar', 'dXBar', 'dTBar', 'dHBar', 'dThetaBar'].map(name => executable.buffer(name));
  const zBars = !context.compiled.implicit ? undefined : executable.buffer('dZBar');
  const insideBars = executable.find('dInsideBar');
  const xBar = new Float64Array(xBars.length);
  const zBar = zBars?.slice();
  const insideBar = insideBars?.slice();
  return (record, k, h, end, looked, endBar) => {
    for (const sum of [xBar, zBar, insideBar]) sum?.fill(0);
    let [tBar, hBar] = [0, 0];
    record.load(k, buffers);
    look?.();
    next?.set(end);
    for (const {theta, bar} of looked) {
      thetas?.fill(theta);
      denseBar?.set(bar);
      pull();
      bars.add('pullDense');
      addTo(endBar, endBars);
      addTo(xBar, xBars);
      addTo(zBar, zBars);
      addTo(insideBar, insideBars);
      // The saved time is a constant: θ = (time − t)/h.
      tBar += tBars[0] - thetaBars[0] / h;
      hBar += hBars[0] - thetaBars[0] * theta / h;
    }
    return {xBar, zBar, insideBar, tBar, hBar};
  };
}
