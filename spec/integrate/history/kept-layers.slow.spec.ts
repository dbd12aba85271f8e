/**
 * What explicit steps keep of their layers beside their states (step/stored-for-backward.ts), against the same runs that keep states alone: values and gradients
 * to the bit in double precision, with dense output, events and jumps, halves of steps, and a budget that holds few steps.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Engine} from '../../../lib/engine/engine.js';
import {wasm, wasmSingle} from '../../../lib/engine/wasm/wasm.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import type {SimulateOptions} from '../../../lib/index.js';
import {adaptive, dopri5, event, implicitAdjoint, ode, rk4, simulate, tsit5} from '../../../lib/index.js';
import {prepare} from '../../../lib/simulate/prepare.js';
import {mlp} from '../../../models/index.js';

const [rows, hidden] = [4, 12];
const initial = {y: Array.from({length: rows}, (_, i) => [Math.sin(i + 1), Math.cos(3 * i)])};
const control = adaptive({rtol: 1e-4, atol: 1e-6});
const times = Array.from({length: 9}, (_, k) => 0.125 * k);
const adaptiveRun = {dt: 0.05, t1: 1, control, saveAt: times};
const first = ({y}: {y: tf.Tensor}): tf.Tensor => tf.slice(y, [0, 0], [1, 1]).flatten();

const runs: {readonly [name: string]: SimulateOptions} = {
  'adaptive steps with states between them': {scheme: tsit5(), ...adaptiveRun},
  'the same, four of which have room': {scheme: tsit5(), ...adaptiveRun, adjoint: implicitAdjoint({memory: 5e4})},
  'adaptive steps judged by two halves': {scheme: rk4(), dt: 0.1, t1: 1, control},
  'steps of the grid with states between them': {scheme: dopri5(), dt: 0.1, t1: 1, saveAt: times},
  'steps with events': {
    scheme: tsit5(),
    dt: 0.05,
    t1: 1.5,
    control,
    events: [
      event({when: ({y}) => tf.sub(first({y}), 0.7), then: 'record'}),
      event({when: ({y}) => tf.sub(first({y}), 0.6), direction: 'falling', then: ({y}) => ({y: tf.add(y, 0.3)})}),
      event({when: ({t}) => tf.sub(t, 1.2), then: 'stop'}),
    ],
  },
};

describe('simulate: what steps keep of their layers', () => {
  const network = mlp({sizes: [2, hidden, hidden, 2], activation: 'softplus', seed: 3});
  const system = ode(({y}) => tf.sub(network.apply(y), tf.mul(y, 0.8)));

  after(() => {
    for (const variable of network.variables) variable.dispose();
  });

  for (const engine of [wasm, wasmSingle, interpreter]) {
    for (const [name, run] of Object.entries(runs)) {
      it(`changes no number: ${name}, ${engine === wasmSingle ? 'single precision' : engine.name}`, () => {
        const outcome = (keepsLayers: boolean): number[][] => {
          const own: Engine = {...engine, name: `${engine.name}, layers ${keepsLayers}`};
          const options: SimulateOptions = {...run, engine: own};
          const {compiled} = prepare(system, initial, options);
          if (!keepsLayers) Object.defineProperty(compiled, 'activations', {value: undefined});
          expect(compiled.activations === undefined).to.equal(!keepsLayers);
          const {trajectory, pullback} = simulate.vjp(system, initial, options);
          const values = [...trajectory.values('y')];
          const {initial: start, variables} = pullback({y: values.map((_, i) => Math.cos(i))});
          trajectory.dispose();
          return [values, [...(start.y ?? [])], ...[...variables.values()].map(one => [...one])];
        };
        const [kept, recomputed] = [outcome(true), outcome(false)];
        if (engine !== wasmSingle) expect(kept).to.deep.equal(recomputed);
        // Sums in single precision are rounded where they are stored.
        kept.flat().forEach((value, i) => expect(value).to.be.closeTo(recomputed.flat()[i], 2e-6));
      });
    }
  }
});
