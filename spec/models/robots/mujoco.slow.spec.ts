/**
 * Files without contact against MuJoCo: accelerations at random states, and motions. MuJoCo's numbers are in oracle.json,
 * made by make-oracle.py.
 */
import {readFileSync} from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DataError, explicitEuler, implicitMidpoint, linalg, newmark, rk4, simulate} from '../../../lib/index.js';
import type {Scheme} from '../../../lib/index.js';
import {readMjcf, readUrdf, type RobotModel} from '../../../models/robots/index.js';
import {largest} from '../../simulate/numbers.js';

interface State {
  readonly position: readonly number[];
  readonly velocity: readonly number[];
}
interface Entry {
  readonly controls: {readonly [name: string]: number};
  readonly mass: number;
  readonly states: readonly (State & {readonly acceleration: readonly number[]})[];
  readonly motion?: State & {readonly t: number; readonly change: number};
}
const text = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const {models} = JSON.parse(text('oracle.json')) as {models: {[name: string]: Entry}};
/** Rules of defaults, frames and bounds, a file each; by make-settings.py. */
const {files} = JSON.parse(text('settings.json')) as {
  files: {
    [name: string]: State & {xml: string; refused?: string; controls: {[name: string]: number}; acceleration: number[]};
  };
};
const read = (name: string): RobotModel =>
  name.endsWith('.urdf')
    ? readUrdf(text(`urdf/${name}`), {limits: false})
    : readMjcf(text(`mjcf/${name}`), {controls: models[name].controls});

const difference = (a: ArrayLike<number>, b: readonly number[]): number =>
  largest(b.map((x, i) => a[i] - x)) / Math.max(1, largest([...b]));

/** Of coordinates without constraints: M⁻¹ f. */
function freeAcceleration(model: RobotModel, state: State): Float64Array {
  const start = model.state({position: state.position, velocity: state.velocity});
  const mass = model.mass as (at: {q: tf.Tensor; params: object}) => tf.Tensor;
  const path = simulate(model, start, {
    scheme: explicitEuler(),
    dt: 1,
    steps: 0,
    observe: ({q, v, t, params}) => {
      const force = model.forces.map(term => term({q, v, t, params})).reduce((sum, f) => tf.add(sum, f));
      return tf.reshape(linalg.solve(mass({q, params}), tf.reshape(force, [force.size, 1])), [force.size]);
    },
  });
  path.dispose();
  return path.values('observed');
}

/** A scheme that carries the acceleration starts with that of the constrained equations. */
function heldAcceleration(model: RobotModel, state: State): Float64Array {
  const start = model.state({position: state.position, velocity: state.velocity});
  const path = simulate(model, start, {scheme: newmark(), dt: 1e-3, steps: 0});
  path.dispose();
  return path.values('a');
}

/** In MuJoCo's axes: those of a ball's angular acceleration are turned as its velocities are. */
function asInFile(model: RobotModel, state: State, a: Float64Array): Float64Array {
  const {q} = model.state({position: state.position});
  const series: {[name: string]: Float64Array} = {q: Float64Array.from(q as number[]), v: a};
  return model.coordinates({values: (name: string) => series[name] ?? Float64Array.of(0)} as never).velocity;
}

describe('files against MuJoCo', function () {
  this.timeout(60_000);

  for (const [name, {states, mass}] of Object.entries(models)) {
    it(`${name}: accelerations to 1e-9, with the mass of all bodies`, () => {
      const model = read(name);
      for (const state of states) {
        const held = model.constraints !== undefined && model.constraints.length > 0;
        const a = held ? heldAcceleration(model, state) : freeAcceleration(model, state);
        expect(difference(asInFile(model, state, a), state.acceleration)).to.be.below(1e-9);
      }
      const sum = Object.values(model.spec.bodies).reduce((all, body) => all + (body.mass as number), 0);
      expect(sum).to.be.closeTo(mass, 1e-12 * mass);
    });
  }

  for (const [name, {xml, refused, controls, ...state}] of Object.entries(files))
    it(`${name}: ${refused === undefined ? 'accelerations to 1e-9' : 'is refused'}`, () => {
      const reader = xml.startsWith('<robot') ? readUrdf : readMjcf;
      if (refused !== undefined) expect(() => reader(xml, {controls})).to.throw(DataError, /line \d/);
      else {
        const model = reader(xml, {controls});
        const a = asInFile(model, state, freeAcceleration(model, state));
        expect(difference(a, state.acceleration)).to.be.below(1e-9);
      }
    });

  const end = (name: string, scheme: Scheme, dt: number): {model: RobotModel; error: number} => {
    const model = read(name);
    const [first] = models[name].states;
    const motion = models[name].motion!;
    const path = simulate(model, model.state({position: first.position, velocity: first.velocity}), {
      scheme,
      dt,
      t1: motion.t,
      saveAt: 'end',
    });
    path.dispose();
    const {position, velocity} = model.coordinates(path);
    const half = [position.slice(position.length / 2), velocity.slice(velocity.length / 2)];
    return {model, error: Math.max(difference(half[0], motion.position), difference(half[1], motion.velocity))};
  };

  for (const [name, {motion}] of Object.entries(models)) {
    if (motion === undefined) continue;
    it(`${name}: the motion of rk4 comes nearer with the fourth power of the step`, () => {
      const [coarse, fine] = [0.002, 0.001].map(dt => end(name, rk4(), dt).error);
      expect(fine).to.be.below(5e-6);
      // Where MuJoCo's own step says less, its digits end.
      if (fine > 50 * motion.change) expect(Math.log2(coarse / fine)).to.be.within(3.5, 4.8);
    });
  }

  for (const name of ['double-pendulum.xml', 'motors.xml'])
    it(`${name}: the motion of the midpoint rule comes nearer with the square of the step`, () => {
      const [coarse, fine] = [0.004, 0.002].map(dt => end(name, implicitMidpoint(), dt).error);
      expect(Math.log2(coarse / fine)).to.be.within(1.8, 2.2);
    });
});
