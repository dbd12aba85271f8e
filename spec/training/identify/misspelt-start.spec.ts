/** Names of parameters that are nearly those of an initial state. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode} from '../../../lib/index.js';
import {identify} from '../../../training/identify/identify.js';
import {free, type Parameters} from '../../../training/identify/parameters.js';

const t = [0, 0.1, 0.2, 0.3];
const failure = (parameters: Parameters, own: Parameters = {}): Promise<string> =>
  identify({
    system: mechanics({mass: 1, forces: ({q}) => tf.neg(q), states: {heat: {initial: 0, rate: ({q}) => q}}}),
    initial: {q: 1, v: 0},
    dt: 0.1,
    data: {t, q: [1, 0.995, 0.98, 0.955], parameters: own},
    parameters,
  }).then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('identify: a misspelt initial state', () => {
  it('is an error that names what was meant, of the problem or of a record', async () => {
    for (const [name, meant] of [
      ['inital.q', 'initial.q'],
      ['Initial.v', 'initial.v'],
      ['initial.Q', 'initial.q'],
      ['intial.haet', 'initial.heat'],
    ] as const) {
      const sentence = new RegExp(
        `there is no (record 1: )?${name.replace('.', '\\.')} to estimate.*Did you mean '${meant}'`,
      );
      expect(await failure({[name]: free(1)})).to.match(sentence);
      expect(await failure({}, {[name]: free(1)})).to.match(sentence);
    }
    expect(await failure({'initial.x': free(1)})).to.match(/no initial\.x to estimate; .* and initial\.heat\.$/);
  });

  it('is not what a group of parameters is', async () => {
    const system = ode(({y, params}) => tf.neg(tf.mul((params.internal as {y: tf.Tensor}).y, y)));
    const fit = await identify({
      ...{system, initial: {y: 1}, dt: 0.1, data: {t, y: t.map(time => Math.exp(-2 * time))}},
      parameters: {'internal.y': free(1)},
    });
    expect(fit.estimate['internal.y']).to.be.closeTo(2, 0.01);
  });
});
