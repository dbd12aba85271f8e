/** Adaptive steps of the default scheme: a tolerance that suits another scheme is said. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, ode, simulate, trapezoid, tsit5, type Scheme} from '../../lib/index.js';

const decay = ode(({y}) => tf.neg(y));

function warnings(rtol: number | undefined, scheme?: Scheme): readonly string[] {
  const control = rtol === undefined ? {} : {control: adaptive({rtol, atol: 1e-9})};
  const run = simulate(decay, {y: 1}, {dt: 0.01, t1: 0.05, saveAt: 'end', ...control, ...(scheme && {scheme})});
  const found = run.warnings;
  run.dispose();
  return found;
}

describe('the default scheme', () => {
  it('with a tight tolerance is a warning that names schemes of higher order', () => {
    for (const rtol of [3e-7, 1e-9])
      expect(warnings(rtol).join()).to.match(new RegExp(`order 2.*rtol ${rtol}.*tsit5.*kvaerno5`));
  });

  it('is none where the tolerance is loose, the steps are constant or the scheme was chosen', () => {
    expect(warnings(1e-6)).to.deep.equal([]);
    expect(warnings(undefined)).to.deep.equal([]);
    expect(warnings(1e-8, trapezoid())).to.deep.equal([]);
    expect(warnings(1e-8, tsit5())).to.deep.equal([]);
  });
});
