/** A mass on a damped spring. Change a force or a guess, and run npm start again. */
import * as tf from '@tensorflow/tfjs';
import {mechanics} from 'stiffgrad';
import {damper, spring, withFigure} from 'stiffgrad/models';
import {positive} from 'stiffgrad/training';

const system = mechanics({
  mass: 1, // kg
  forces: [spring({stiffness: ({k}) => k as tf.Tensor}), damper({coefficient: ({c}) => c as tf.Tensor})],
});

export default {
  // How npm run simulate draws it: the mass, and the wall 0.3 m away.
  system: withFigure(system, {
    points: ({q}) =>
      tf.tensor2d([
        [q.arraySync() as number, 0],
        [-0.3, 0],
      ]),
    springs: [[1, 0]],
    fixed: [1],
  }),
  initial: {q: 0.1, v: 0}, // m, m/s
  options: {dt: 0.0025, t1: 4, params: {k: 30, c: 1}},
  parameters: {k: positive(30), c: positive(1)}, // what identify estimates, from these guesses: N/m, N·s/m
};
