/** Runs in pieces with the contacts of what comes near, against the run with all contacts: motion and derivatives. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {moreau, newton, NewtonError, OptionError, simulate, StiffgradError} from '../../../lib/index.js';
import {
  multibody,
  rigidContact,
  simulateNear,
  type BodySpec,
  type NearSegment,
  type NearSpec,
  type RigidContact,
  type Shape,
} from '../../../models/index.js';
import {plane, sphere} from '../../../models/multibody/shapes.js';
import {largest} from '../../simulate/numbers.js';

const [radius, dt, steps] = [0.1, 0.01, 24];
const ball = sphere({radius});
const floor = plane();
const law = {friction: ({mu}: {mu: tf.Tensor}) => mu} as never as {friction: number};
const touching = (a: string, b: string, wall?: Shape): RigidContact =>
  rigidContact(a, b, {shapes: [wall ?? ball, ball], ...law});
const one = {mass: 1, inertia: [0.004, 0.004, 0.004]};
const system = {
  gravity: [0, 0, -9.81] as const,
  bodies: {
    // Rolls into the second, on which the third falls; the fourth is far away.
    a: {...one, position: [0, 0, 0.1], velocity: [3, 0, 0], angularVelocity: [0, 30, 0]},
    b: {...one, position: [0.5, 0.02, 0.1]},
    c: {...one, position: [0.55, 0.05, 0.4]},
    d: {...one, position: [9, 0, 0.3]},
  } satisfies {[name: string]: BodySpec},
};
const near: NearSpec = {
  system,
  reach: {a: radius, b: radius, c: radius, d: radius},
  planes: [floor],
  contact: touching,
  margin: 0.02,
};

describe('contacts of what comes near', () => {
  it('move bodies as all contacts do, and have their derivatives', () => {
    const run = simulateNear(near, {dt, steps, piece: 8, params: {mu: 0.3}});
    expect(run.pieces.map(piece => piece.steps).reduce((a, b) => a + b)).to.equal(steps);
    // Of 6 pairs and 4 on the floor.
    run.pieces.forEach(({contacts}) => expect(contacts).to.be.within(2, 6));
    // Read as a trajectory: where a body was, and its picture with all balls on the floor.
    const ways = run.system.pose(run, 'b').position;
    expect([...ways.slice(-3)]).to.deep.equal([...run.q.slice(-21, -18)]);
    const {figure} = run.system;
    expect([figure.radius, figure.ground]).to.deep.equal([Array(4).fill(radius), [{normal: [0, 0, 1], offset: 0}]]);
    const drawn = figure.points({q: tf.tensor1d([...run.q.slice(-28)]), t: tf.scalar(0), params: {}}).dataSync();
    [0, 1, 2, 3].forEach(i => expect(drawn[3 * i]).to.be.closeTo(run.q[run.q.length - 28 + 7 * i], 1e-6));
    const names = Object.keys(system.bodies);
    const contacts = names.flatMap((b, i) => [
      touching('ground', b, floor),
      ...names.slice(0, i).map(a => touching(a, b)),
    ]);
    const whole = multibody({...system, contacts});
    const all = simulate.vjp(whole, whole.initial, {scheme: moreau(), dt, steps, saveAt: 'end', params: {mu: 0.3}});
    const end = all.trajectory.values('q').slice(-28);
    all.trajectory.dispose();
    // The first has hit the second, and was stopped.
    expect(end[7] - 0.5).to.be.greaterThan(0.1);
    expect(largest(run.q.slice(-28).map((x, i) => x - end[i]))).to.be.lessThan(1e-6);
    const [still, seen] = [0, 1].map(x => names.map(name => [name === 'b' ? x : 0, 0, 0, 0, 0, 0, 0]));
    const expected = all.pullback({q: [still, seen]});
    const {initial, params} = run.pullback({q: Float64Array.from(seen.flat())});
    const mu = (expected.params.mu as Float64Array)[0];
    expect(Math.abs(mu)).to.be.greaterThan(1e-4);
    expect((params.mu as Float64Array)[0]).to.be.closeTo(mu, 1e-5 * Math.max(1, Math.abs(mu)));
    const byV = expected.initial.v as Float64Array;
    expect(largest(byV)).to.be.greaterThan(0.01);
    expect(largest(initial.v.map((x, i) => x - byV[i]))).to.be.lessThan(1e-5);
  });

  it('end a piece where two have met that were not thought to, and say what is wrong', () => {
    // Thrown up, it falls back within the piece: no straight line leads there.
    const thrown = {gravity: [0, 0, -10] as const, bodies: {a: {...one, position: [0, 0, 0.2], velocity: [0, 0, 0.5]}} satisfies {[name: string]: BodySpec}}; // prettier-ignore
    const short = {...near, system: thrown, reach: {a: radius}};
    const run = simulateNear(short, {dt, steps: 30, piece: 30, params: {mu: 0.3}});
    expect(run.pieces).to.have.length(2);
    expect(run.pieces.map(({contacts}) => contacts)).to.deep.equal([0, 1]);
    expect(() => run.values('y' as 'q')).to.throw(OptionError, /the series t, q and v, not 'y'/);
    expect(run.q[30 * 7 + 2]).to.be.closeTo(radius, 1e-9);
    // What each piece leaves is handed over as it ends, also of one that a step without a solution cut short.
    const told: NearSegment[] = [];
    simulateNear(short, {dt, steps: 30, piece: 12, params: {mu: 0.3}, onPiece: piece => told.push(piece)});
    expect(told.map(({first}) => first)).to.deep.equal([0, 12, ...told.slice(2).map(({first}) => first)]);
    expect(told.reduce((sum, {steps: count}) => sum + count, 0)).to.equal(30);
    const last = told[told.length - 1];
    expect([...last.q.slice(-7)]).to.deep.equal([...run.q.slice(-7)]);
    expect([...told[1].q.slice(0, 7)]).to.deep.equal([...told[0].q.slice(-7)]);
    expect(last.t[last.steps]).to.be.closeTo(30 * dt, 1e-12);
    const before: NearSegment[] = [];
    // Not a number from t = 0.15 on.
    const broken = ({t}: {t: tf.Tensor}) => tf.mul(tf.sqrt(tf.sub(0.145, t)), tf.ones([1, 6]));
    const failing = {...short, system: {...thrown, forces: [broken]}};
    expect(() => simulateNear(failing, {dt, steps: 30, piece: 12, params: {mu: 0.3}, onPiece: piece => before.push(piece)})).to.throw(StiffgradError); // prettier-ignore
    expect(before.map(({steps: count}) => count)).to.deep.equal([12, 2]);
    const refused = (spec: Partial<NearSpec>, options: object = {}): (() => unknown) => () =>
      simulateNear({...short, ...spec}, {dt, steps: 5, params: {mu: 0.3}, ...options}); // prettier-ignore
    expect(refused({reach: {z: 1}})).to.throw(OptionError, /reach names body 'z'/);
    expect(refused({margin: 0})).to.throw(OptionError, /margin/);
    expect(refused({planes: [ball]})).to.throw(OptionError, /planes\[0\]/);
    expect(refused({}, {steps: 0.5})).to.throw(OptionError, /steps/);
    expect(refused({}, {newton: 'fast'})).to.throw(OptionError, /newton/);
    // A step without a number fails in its parts, too, which only a run that takes it in parts says.
    const parts = {dt, steps: 30, piece: 12, params: {mu: 0.3}, newton: newton({onFailure: 'halve'})};
    expect(() => simulateNear(failing, parts)).to.throw(NewtonError, /h = 0\.0000/);
  });
});
