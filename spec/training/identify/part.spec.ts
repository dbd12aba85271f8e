/** What identifies the problem of a part: the contents of each of its options, however it was made. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  event,
  implicitMidpoint,
  mechanics,
  newton,
  rk4,
  signal,
  theta,
  type OptionError,
} from '../../../lib/index.js';
import {
  adam,
  bounded,
  fixed,
  lbfgs,
  levenbergMarquardt,
  multiple,
  positive,
  type IdentificationProblem,
} from '../../../training/index.js';
import {autoregressive, huber, studentT, white} from '../../../training/identify/noise.js';
import {heldProblem, requireSameProblem} from '../../../training/identify/part.js';

type Options = Partial<IdentificationProblem>;

const drag = tf.tensor1d([0.3]);
after(() => drag.dispose());
const oscillator = ({mass = 2, power = 1, drags = drag} = {}) =>
  mechanics<{k: tf.Tensor; u: tf.Tensor}>({
    mass,
    forces: [
      ({q, params: {k}}) => tf.neg(tf.mul(k, power === 1 ? q : tf.mul(q, tf.square(q)))),
      ({params: {u}}) => u,
      ({v}) => tf.neg(tf.mul(tf.squeeze(drags), v)),
    ],
  });

/** Made anew each time: equal problems share no object. */
const problem = (over: Options = {}): IdentificationProblem =>
  ({
    system: oscillator(),
    initial: {q: 0.8, v: 0},
    inputs: {u: signal([0, 0.5, 1], [0, 1, 0.25])},
    data: {t: [0, 0.25, 0.5, 0.75], q: [0.8, 0.79, 0.77, 0.72]},
    parameters: {k: positive(3)},
    scheme: rk4(),
    dt: 0.25,
    ...over,
  }) as never;
const of = (over?: Options): Promise<string> => heldProblem(problem(over)).of();

/** The options that two problems are said to differ in. */
async function differences(a: Options, b: Options): Promise<readonly string[]> {
  const error: unknown = await requireSameProblem(heldProblem(problem(a)), {part: 'start', of: await of(b)}).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error === undefined ? [] : ((error as OptionError).data.differ as string[]);
}

describe('the problem of a part', () => {
  it('is the same whenever it is made, run or not, whatever a part has of its own', async () => {
    const first = await of();
    expect(await of()).to.equal(first);
    const held = heldProblem(problem());
    held.fit.contents();
    expect(await held.of()).to.equal(first);
    const own: Options = {starts: 7, seed: 4, workers: 0, signal: new AbortController().signal, onProgress: () => {}};
    expect(await of({...own, method: undefined})).to.equal(first);
    expect(await differences({}, own)).to.deep.equal([]);
  });

  const pairs: {readonly [what: string]: readonly [Options, Options, ...string[]]} = {
    'a constant of the system': [{}, {system: oscillator({mass: 2.5}) as never}, 'system', 'simulation'],
    'a function of the system': [{}, {system: oscillator({power: 3}) as never}, 'simulation'],
    'a captured tensor': [{}, {system: oscillator({drags: tf.tensor1d([0.4])}) as never}, 'simulation'],
    'values of an input': [{}, {inputs: {u: signal([0, 0.5, 1], [0, 1, 0.5])}}, 'inputs', 'simulation'],
    'times of an input': [{}, {inputs: {u: signal([0, 0.6, 1], [0, 1, 0.25])}}, 'inputs', 'simulation'],
    'times of samples': [{}, {data: {t: [0, 0.25, 0.75, 1], q: [0.8, 0.79, 0.77, 0.72]}}, 'data'],
    'order of samples': [{}, {data: {t: [0, 0.25, 0.5, 0.75], q: [0.8, 0.77, 0.79, 0.72]}}, 'data'],
    'signs of samples': [{}, {data: {t: [0, 0.25, 0.5, 0.75], q: [0.8, -0.79, 0.77, 0.72]}}, 'data'],
    'the start': [{}, {initial: {q: 0.8, v: 0.1}}, 'initial'],
    'a guess': [{}, {parameters: {k: positive(3.5)}}, 'parameters', 'simulation'],
    'a prior': [{}, {parameters: {k: positive(3, {prior: {sd: 1}})}}, 'parameters'],
    'the kind of a parameter': [{parameters: {k: bounded(1, 9, 3)}}, {parameters: {k: fixed(3)}}, 'parameters'],
    bounds: [{parameters: {k: bounded(1, 9, 3)}}, {parameters: {k: bounded(1, 8, 3)}}, 'parameters'],
    'a scheme': [{scheme: theta(0.5)}, {scheme: theta(0.75)}, 'simulation'],
    'its name alone': [{scheme: rk4()}, {scheme: implicitMidpoint()}, 'scheme', 'simulation'],
    steps: [{}, {dt: 0.125}, 'dt'],
    tolerances: [{control: adaptive({rtol: 1e-4})}, {control: adaptive({rtol: 1e-6})}, 'control'],
    "Newton's tolerance": [
      {scheme: theta(0.5), newton: newton({tolerance: {relative: 1e-8}})},
      {scheme: theta(0.5), newton: newton({tolerance: {relative: 1e-6}})},
      'newton',
    ],
    "a method's iterations": [
      {method: levenbergMarquardt({maxIterations: 3})},
      {method: levenbergMarquardt({maxIterations: 4})},
      'method',
    ],
    "lbfgs' tolerance": [{method: lbfgs({tolerance: {cost: 1e-6}})}, {method: lbfgs()}, 'method'],
    "adam's rate": [{method: adam({rate: 0.1})}, {method: adam({rate: 0.2})}, 'method'],
    'a method or none': [{}, {method: lbfgs()}, 'method'],
    'the noise': [{noise: huber()}, {noise: studentT()}, 'noise'],
    "the noise's threshold": [{noise: huber({threshold: 1.5})}, {noise: huber({threshold: 2})}, 'noise'],
    "the noise's scale": [{noise: white({sd: 0.1})}, {noise: white({sd: 0.2})}, 'noise'],
    'the order of the noise': [{noise: autoregressive()}, {noise: autoregressive({order: 2})}, 'noise'],
    'what residuals are': [{residuals: 'independent'}, {}, 'residuals'],
    segments: [{shooting: multiple({segments: 2})}, {shooting: multiple({segments: 3})}, 'shooting'],
    observations: [
      {observe: ({q}) => q as tf.Tensor, data: {t: [0, 0.25], y: [1, 2]}},
      {observe: ({q}) => tf.mul(q as tf.Tensor, 1.5), data: {t: [0, 0.25], y: [1, 2]}},
      'simulation',
    ],
    events: [
      {events: [event({then: 'record', when: ({q}) => q as tf.Tensor, direction: 'falling'})]},
      {events: [event({then: 'record', when: ({q}) => q as tf.Tensor, direction: 'rising'})]},
      'events',
    ],
    "an event's function": [
      {events: [event({then: 'record', when: ({q}) => tf.sub(q as tf.Tensor, 0.1)})]},
      {events: [event({then: 'record', when: ({q}) => tf.sub(q as tf.Tensor, 0.2)})]},
      'simulation',
    ],
  };
  for (const [what, [a, b, ...named]] of Object.entries(pairs))
    it(`is another one with other ${what}`, async () => {
      expect([...(await differences(a, b))].sort()).to.include.members(named);
      expect(await differences(a, {...a})).to.deep.equal([]);
    });
});
