/** Adjoints that users implement: gradients to the bit, whatever is stored, and errors where steps come out of turn. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {AdjointMethod, Initial, SimulateOptions, StepReplay, System} from '../../../lib/index.js';
import {
  adaptive,
  event,
  implicitMidpoint,
  mechanics,
  newton,
  OptionError,
  simulate,
  tsit5,
} from '../../../lib/index.js';

/** Stores every `stride`-th state, and those between while going back. */
const everyNth = (stride: number): AdjointMethod => ({
  name: `every ${stride}`,
  begin() {
    const stored: Float64Array[] = [];
    return {
      before: (n, snapshot) => void (n % stride === 0 && stored.push(snapshot())),
      reverse(count, steps) {
        for (let k = stored.length - 1, end = count; k >= 0; end = stride * k, k--) {
          const states = [stored[k]];
          steps.restore(stored[k]);
          for (let n = stride * k; n < end - 1; n++) {
            steps.take(n);
            states.push(steps.snapshot());
          }
          for (let n = end - 1; n >= stride * k; n--) {
            steps.restore(states[n - stride * k]);
            steps.pull(n);
          }
        }
      },
    };
  },
});

const swing = mechanics({mass: 1, forces: ({q, params}) => tf.mul(tf.neg(params.g as tf.Tensor), tf.sin(q))});
const start = {q: 1, v: 0.1} as const;
const bounce = event({
  when: ({q}: {q: tf.Tensor}) => q,
  then: ({q, v}: {q: tf.Tensor; v: tf.Tensor}) => ({q, v: tf.mul(v, -0.8)}),
});
const settings = {params: {g: 9.81}, dt: 0.01} as const;
const cases: {readonly [name: string]: SimulateOptions} = {
  'along a grid': {...settings, scheme: implicitMidpoint(), steps: 37},
  'with kept Jacobians': {...settings, scheme: implicitMidpoint(), steps: 37, newton: newton({jacobian: 'chord'})},
  'with explicit steps': {...settings, scheme: tsit5(), steps: 37},
  'with adaptive steps': {...settings, scheme: tsit5(), t1: 0.9, control: adaptive({rtol: 1e-9})},
  'with events': {...settings, scheme: implicitMidpoint(), t1: 1.5, steps: undefined, events: [bounce]},
};

const gradientOf = (options: SimulateOptions): number[] => {
  const {trajectory, pullback} = simulate.vjp(swing as System, start as Initial, options);
  const ones = new Array<number>(trajectory.values('q').length).fill(1);
  const {initial, params} = pullback({q: ones});
  trajectory.dispose();
  return [initial.q, initial.v, params.g as Float64Array].map(Number);
};

describe("an adjoint of one's own", () => {
  for (const [name, options] of Object.entries(cases))
    it(`${name}: the gradient of implicitAdjoint to the bit, whatever is stored`, () => {
      const tensors = tf.memory().numTensors;
      const expected = gradientOf(options);
      expect(expected.every(value => Number.isFinite(value) && value !== 0)).to.equal(true);
      for (const stride of [1, 5, 1000])
        expect(gradientOf({...options, adjoint: everyNth(stride)}), `${stride}`).to.deep.equal(expected);
      expect(tf.memory().numTensors).to.equal(tensors);
    });

  it('is told how many steps a grid has, and counts those taken again', () => {
    const told: unknown[] = [];
    const method: AdjointMethod = {
      name: 'telling',
      begin(run) {
        told.push(run.steps);
        return everyNth(10).begin(run);
      },
    };
    gradientOf({...cases['along a grid'], adjoint: method});
    gradientOf({...cases['with adaptive steps'], adjoint: method});
    expect(told).to.deep.equal([37, undefined]);
  });

  const reversed = (reverse: (count: number, steps: StepReplay, first: Float64Array) => void): (() => unknown) => {
    const method: AdjointMethod = {
      name: 'mine',
      begin() {
        let first: Float64Array = new Float64Array(0);
        return {
          before: (n, snapshot) => void (n === 0 && (first = snapshot())),
          reverse: (count, steps) => reverse(count, steps, first),
        };
      },
    };
    return () => gradientOf({...settings, scheme: implicitMidpoint(), steps: 2, adjoint: method});
  };
  const wrong: readonly [string, () => unknown, string][] = [
    ['leaves steps out', reversed(() => undefined), 'mine: reverse has to pull every step; step 1 is the next'],
    [
      'goes back in another order',
      reversed((_count, steps, first) => {
        steps.restore(first);
        steps.pull(0);
      }),
      'pull(0) comes out of turn; step 1 is the next to pull',
    ],
    [
      'takes a step from elsewhere',
      reversed((_count, steps, first) => {
        steps.restore(first);
        steps.pull(1);
      }),
      'pull(1) comes out of turn; step 0 is the next one from here',
    ],
    ['starts nowhere', reversed((_count, steps) => steps.take(0)), 'restore a snapshot first'],
    ['takes a snapshot nowhere', reversed((_count, steps) => void steps.snapshot()), 'restore a snapshot before'],
    ['restores a copy', reversed((_count, steps, first) => steps.restore(first.slice())), 'itself and not a copy'],
    [
      'has no name',
      () => gradientOf({...cases['along a grid'], adjoint: {...everyNth(1), name: ''}}),
      'an AdjointMethod has a name',
    ],
    ['is none', () => gradientOf({...cases['along a grid'], adjoint: {name: 'x'}}), 'or an AdjointMethod'],
  ];
  for (const [what, call, message] of wrong)
    it(`refuses a method that ${what}`, () => {
      expect(call).to.throw(OptionError, message).with.property('code', 'bad-adjoint');
    });
});
