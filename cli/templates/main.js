import * as tf from '@tensorflow/tfjs';
import {simulate} from 'stiffgrad';
import {pendulum} from 'stiffgrad/models';
import {plot} from 'stiffgrad/plot';

const system = pendulum({length: ({l}) => l, damping: 0.2});
const by = id => document.getElementById(id);

function show() {
  const l = Number(by('length').value);
  const {trajectory, pullback} = simulate.vjp(system, {q: 2, v: 0}, {dt: 0.01, t1: 6, params: {l}});
  const last = new Float64Array(trajectory.values('q').length);
  last[last.length - 1] = 1;
  by('told').textContent = l.toFixed(2) + ' m';
  by('picture').innerHTML = plot(trajectory, {unit: 'rad', title: 'Angle over time'});
  by('gradient').textContent =
    'The last angle changes by ' + Number(pullback({q: last}).params.l).toFixed(3) + ' rad per metre of length.';
  trajectory.dispose();
}
await tf.ready();
by('length').oninput = show;
show();
