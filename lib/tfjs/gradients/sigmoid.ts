/** The sigmoid's slope as σ(x)σ(−x): 1 − σ(x) has lost its digits in single precision where σ is near one. */
import * as tf from '@tensorflow/tfjs';
import {single} from './broadcast.js';

export const sigmoid: tf.GradConfig = {
  kernelName: tf.Sigmoid,
  inputsToSave: ['x'],
  gradFunc: (dy, [x]) => ({x: () => tf.mul(single(dy), tf.mul(tf.sigmoid(x), tf.sigmoid(tf.neg(x))))}),
};
