/** Standard errors name what they assume of the residuals, and the other error where it is another one. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {identify} from '../../../training/identify/identify.js';
import {autoregressive} from '../../../training/identify/noise.js';
import {free} from '../../../training/identify/parameters.js';
import {posterior} from '../../../training/estimate/posterior.js';
import {errorText} from '../../../training/report/number-text.js';

const t = Float64Array.from({length: 120}, (_, i) => 0.1 * i);
const system = ode<{slope: tf.Tensor}>(({y, params}) => tf.add(tf.mul(0, y), params.slope));

/** 2 + 0.5 t and errors that remember φ of themselves from sample to sample. */
function problemWith(phi: number, residuals?: 'correlated' | 'independent') {
  const noise = gaussian(6);
  let e = 0;
  const y = t.map(time => 2 + 0.5 * time + 0.1 * (e = phi * e + noise()));
  return {
    ...{system, scheme: rk4(), dt: 0.1, initial: {y: 2}, data: {t, y}, parameters: {slope: free(0)}},
    ...(residuals === undefined ? {} : {residuals}),
  };
}

describe('what standard errors assume', () => {
  it('stands by ±, with both errors where residuals that may be correlated say another one', async () => {
    const [correlated, independent] = [
      await identify(problemWith(0.95)),
      await identify(problemWith(0.95, 'independent')),
    ];
    const [wide, narrow] = [correlated, independent].map(fit => errorText(fit.standardError.slope));
    expect(correlated.standardError.slope).to.be.above(2 * independent.standardError.slope);
    expect(String(correlated))
      .to.include(`± ${wide} (± ${narrow} if the residuals are independent)`)
      .and.include(
        "±: standard errors if the residuals may be correlated in time (residuals: 'correlated', the default)",
      );
    expect(String(independent))
      .to.include(`± ${narrow} (± ${wide} if the residuals are correlated)`)
      .and.include("±: standard errors if the residuals are independent of each other (residuals: 'independent')");
    expect(correlated.html())
      .to.include(`${wide} (± ${narrow} if the residuals are independent)`)
      .and.include('Standard errors and intervals if the residuals may be correlated in time');
    expect(JSON.parse(JSON.stringify(independent)))
      .to.have.property('assumption')
      .that.matches(/independent of each other/);
  });

  it('is one error where both assumptions agree', async () => {
    for (const residuals of ['correlated', 'independent'] as const) {
      const fit = await identify(problemWith(0, residuals));
      expect(String(fit)).to.match(/slope = [\d.]+ ± [\d.]+\n {2}±: standard errors if the residuals/);
      expect(fit.html()).to.not.match(/\(± /);
    }
  });

  it('stands by an autoregression and by draws', async () => {
    const problem = {...problemWith(0.9, 'independent'), noise: autoregressive()};
    const fit = await identify(problem);
    expect(fit.assumption).to.match(/^after the fitted autoregression the residuals are independent/);
    const drawn = await posterior(fit, {method: 'laplace', draws: 50});
    expect((drawn as {toString: () => string}).toString()).to.include(
      `±: standard deviations of the draws, if ${fit.assumption}`,
    );
    expect(drawn.html()).to.include('of the draws, if after the fitted autoregression');
  });
});
