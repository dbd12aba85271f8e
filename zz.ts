import * as tf from '@tensorflow/tfjs';
import {event, simulate, trapezoid, mechanics} from './lib/index.js';
const driven = mechanics({mass: 1, forces: ({q, v, t}) => tf.addN([tf.neg(tf.sinh(q)), tf.mul(v, -0.1), tf.mul(tf.cos(tf.mul(t, 3)), [0.3, 0.2])])});
const start = {q: [1, 0.7], v: [0.2, -0.1], t: 0.3};
    const stop = event({when: ({q}) => tf.sum(q), then: 'stop'});
    const stopped = simulate(driven, start, {scheme: trapezoid(), dt: 0.1, t1: 9, events: [stop]});
console.log(JSON.stringify(stopped.state()), stopped.events, stopped.values('t').slice(-3));
    const on = simulate(driven, stopped.state(), {scheme: trapezoid(), dt: 0.1, t1: 9, events: [stop]});
console.log(on.events, on.values('t'), on.values('q').slice(0,6));
