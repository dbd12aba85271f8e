/** Hertz's contacts, a strip that folds onto itself, a finger that touches, and derivatives through contact. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  box,
  loads,
  mapped,
  materials,
  obstacles,
  solid,
  supports,
  type Body,
  type ContactLoad,
} from '../../../fem/index.js';
import {backtracking, equilibrium, implicitEuler, newton, simulate, type Params} from '../../../lib/index.js';
import {twoParts} from './two-parts.js';

const leaf =
  (name: string) =>
  (params: Params): tf.Tensor =>
    tf.reshape(params[name] as tf.Tensor, []);

/** Pressures, places and forces at the points of a contact. */
const read = (
  body: Body,
  touch: ContactLoad,
  q: Float64Array,
  t: number,
): {readonly pressures: Float64Array; readonly places: Float64Array; readonly forces: Float64Array} => ({
  pressures: body.evaluate(at => touch.pressure(body, at), {q, t}),
  places: body.evaluate(at => touch.places(body, at), {q, t}),
  forces: body.evaluate(at => touch.forces(body, at), {q, t}),
});
/** The state of rest at each time in turn, from the last one. */
const loaded = (body: Body, times: readonly number[]): Float64Array =>
  times.reduce((q, t) => {
    const found = equilibrium(body, {q, t});
    const values = found.values('q');
    found.dispose();
    return values;
  }, body.start.q);

describe('contact, measured', function () {
  this.timeout(60_000);
  const [E, nu] = [1, 0.3];
  const modulus = E / (1 - nu ** 2);

  it('has the width and the peak pressure of a cylinder on a plane (Hertz)', () => {
    // A quarter of radius 1, refined towards the line of contact and pressed by its inner part.
    const mesh = mapped(box([1, 1], [20, 20], 'quad9'), ([x, c]) => {
      const depth = 1 - x;
      const r = 1 - 0.8 * (0.1 * depth + 0.9 * depth ** 3);
      const angle = (Math.PI / 2) * (0.1 * c + 0.9 * c ** 3);
      return [r * Math.sin(angle), 1 - r * Math.cos(angle)];
    });
    const reach = 5e-5;
    const floor = obstacles.halfSpace({point: [0, -reach], normal: [0, 1]});
    const touch = loads.contact('right', {with: floor, reach, stiffness: 0.05 / reach});
    const body = solid({
      mesh,
      material: materials.linearElastic({E, nu}),
      density: 1,
      supports: [
        supports.prescribed('left', ({t}) => tf.mul(t, [0, -0.008])),
        supports.held(([x, y]) => x < 1e-9 && y < 0.79, ['x']),
      ],
      loads: [touch],
    });
    const {pressures, places, forces} = read(body, touch, loaded(body, [0.25, 0.5, 0.75, 1]), 1);
    let [force, moment] = [0, 0];
    pressures.forEach((_, i) => {
      force += 2 * forces[2 * i + 1];
      moment += 2 * forces[2 * i + 1] * places[2 * i] ** 2;
    });
    // Of p₀ √(1 − (x/a)²) the mean of x² is a²/4.
    const a = Math.sqrt((4 * force) / (Math.PI * modulus));
    expect(2 * Math.sqrt(moment / force)).to.be.closeTo(a, 0.015 * a);
    expect(Math.max(...pressures)).to.be.closeTo((2 * force) / (Math.PI * a), 0.005 * ((2 * force) / (Math.PI * a)));
  });

  it('has the radius, peak pressure and force of a ball on a half-space (Hertz)', () => {
    const reach = 6e-4;
    const depth = 0.01;
    const grow = (c: number): number => 4 * (0.05 * c + 0.15 * c ** 3 + 0.8 * c ** 5);
    const mesh = mapped(box([1, 1, 1], [12, 12, 12], 'hex8'), ([x, y, z]) => [grow(x), grow(y), -grow(1 - z)]);
    const centre = ({t}: {t: tf.Tensor}): tf.Tensor =>
      tf.stack([tf.scalar(0), tf.scalar(0), tf.sub(1 + reach, tf.mul(t, depth))]);
    const near = ([x, y, z]: readonly number[]): boolean => z > -1e-9 && x < 0.3 && y < 0.3;
    const touch = loads.contact(near, {with: obstacles.ball({centre, radius: 1}), reach, stiffness: 0.1 / reach});
    const body = solid({
      mesh,
      material: materials.linearElastic({E, nu}),
      density: 1,
      supports: [supports.held('left', ['x']), supports.held('front', ['y']), supports.held('bottom', ['z'])],
      loads: [touch],
    });
    const q = loaded(body, [0.5, 1]);
    const {pressures, places, forces} = read(body, touch, q, 1);
    let [force, moment] = [0, 0];
    pressures.forEach((_, i) => {
      force -= 4 * forces[3 * i + 2];
      moment -= 4 * forces[3 * i + 2] * (places[3 * i] ** 2 + places[3 * i + 1] ** 2);
    });
    const a = Math.cbrt((3 * force) / (4 * modulus));
    const peak = (3 * force) / (2 * Math.PI * a ** 2);
    // Of p₀ √(1 − (r/a)²) the mean of r² is 2 a²/5.
    expect(Math.sqrt((5 * moment) / (2 * force))).to.be.closeTo(a, 0.02 * a);
    expect(Math.max(...pressures)).to.be.closeTo(peak, 0.08 * peak);
    // The ball is at `depth` less the reach; its point lies the gap of the middle above the surface.
    const [gap] = body.evaluate(at => touch.gap(body, at), {q, t: 1});
    const hertz = (4 / 3) * modulus * (depth - reach + gap) ** 1.5;
    // Linear cells are too stiff: with 18³ of them, half the reach, it is 6 %, of which 3 % are the block's size.
    expect(force).to.be.within(hertz, 1.11 * hertz);
  });

  /** A strip, held on its left, whose right end is laid back onto it until t = 1 and pressed down until t = 2. */
  const folding = (touch: ContactLoad | undefined): Body =>
    solid({
      mesh: box([10, 0.5], [20, 1], 'quad8'),
      material: materials.neoHookean({E: 100, nu: 0.3}),
      density: 1,
      supports: [
        supports.held(([x, y]) => y < 1e-9 && x < 4.2),
        supports.prescribed('right', ({X, t}) => {
          const laid = tf.minimum(t, 1);
          const angle = tf.mul(Math.PI, laid);
          const across = tf.sub(tf.slice(X, [0, 1], [-1, 1]), 0.25);
          const x = tf.sub(tf.add(6, tf.mul(4, tf.cos(angle))), tf.mul(tf.sin(angle), across));
          const height = tf.addN([tf.mul(3, tf.sin(angle)), tf.mul(0.55, laid), tf.scalar(0.25)]);
          return tf.sub(tf.concat([x, tf.add(height, tf.mul(tf.cos(angle), across))], 1), X);
        }),
      ],
      loads: [
        loads.pressure(
          ([x, y]) => y < 1e-9 && x > 6,
          ({t}) => tf.mul(4, tf.relu(tf.sub(t, 1))),
        ),
        ...(touch === undefined ? [] : [touch]),
      ],
    });

  it('keeps a strip that folds from passing through itself', () => {
    const skin = ([, y]: readonly number[]): boolean => y > 0.5 - 1e-9;
    const touch = loads.contact(skin, {with: skin, reach: 0.1, stiffness: 1000});
    const gapAt = (load: ContactLoad | undefined, end: number): number => {
      const body = folding(load);
      const times = Array.from({length: 16 * end}, (_, k) => (k + 1) / 16);
      const q = loaded(body, times);
      return Math.min(...body.evaluate(at => touch.gap(body, at), {q, t: end}));
    };
    expect(gapAt(undefined, 1.25)).to.be.below(-0.05);
    expect(gapAt(touch, 2)).to.be.above(0.05);
  });

  // A block that hangs over another one's end, so that the contact has an edge; the lower part is prescribed to rise.
  const parts = twoParts(box([2, 1], [4, 2]), box([1, 1], [3, 2]), [1.35, 1.009]);
  const pair = (friction?: (at: {readonly params: Params}) => tf.Tensor): Body =>
    solid({
      mesh: parts,
      material: materials.neoHookean({E: leaf('E'), nu: 0.3}),
      density: 1,
      supports: [supports.prescribed('lower bottom', ({params}) => tf.stack([tf.scalar(0), leaf('height')(params)]))],
      loads: [
        loads.traction('upper top', ({params}) => tf.stack([tf.scalar(0.2), tf.neg(leaf('load')(params))])),
        // What leaves contact in an iteration of Newton's method has a stiffness of its own.
        loads.elasticFoundation('upper top', 1),
        loads.contact('upper bottom', {
          with: 'lower top',
          reach: 0.01,
          stiffness: 2000,
          ...(friction === undefined ? {} : {friction, slip: 0.02}),
        }),
        loads.contact('upper right', {
          with: {
            distance: ({x, params}) => tf.sub(leaf('wall')(params), tf.reshape(tf.slice(x, [0, 0], [-1, 1]), [-1])),
          },
          reach: 0.01,
          stiffness: 500,
        }),
      ],
    });
  const names = ['E', 'height', 'load', 'wall', 'mu'] as const;
  type Values = Record<(typeof names)[number], number>;
  const at: Values = {E: 50, height: 0.001, load: 1, wall: 2.356, mu: 0.4};
  const weights = (body: Body): Float64Array => Float64Array.from(body.free, (_, i) => Math.cos(i));
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
    Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);
  const difference = (value: (params: Values) => number, name: keyof Values): number => {
    const h = 1e-4 * Math.max(at[name], 0.05);
    const along = (s: number): number => value({...at, [name]: at[name] + s * h});
    return (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * h);
  };

  it('has the derivatives of states of rest by stiffness, load and place', () => {
    const body = pair();
    const start = {q: body.start.q};
    const {mu: _, ...still} = at;
    const value = ({mu: _mu, ...params}: Values): number =>
      dot(equilibrium(body, start, {params}).values('q'), weights(body));
    const {pullback} = equilibrium.vjp(body, start, {params: still});
    const {params} = pullback({q: weights(body)});
    for (const name of ['E', 'height', 'load', 'wall'] as const)
      expect((params[name] as Float64Array)[0] / difference(value, name), name).to.be.closeTo(1, 1e-6);
  });

  it('has the derivatives of a run by friction, and by all else', () => {
    const body = pair(({params}) => leaf('mu')(params));
    const options = {scheme: implicitEuler(), newton: newton({step: backtracking()}), dt: 0.01, steps: 12};
    const start = {q: body.start.q, v: body.start.v.map((_, i) => (body.free[i] % 2 === 0 ? 0.3 : 0))};
    const last = (values: ArrayLike<number>): number => dot(Array.from(values).slice(-body.free.length), weights(body));
    const value = (params: Values): number => {
      const run = simulate(body, start, {...options, saveAt: 'end', params});
      const result = last(run.values('q'));
      run.dispose();
      return result;
    };
    const {pullback} = simulate.vjp(body, start, {...options, saveAt: 'end', params: at});
    const cotangent = new Float64Array(2 * body.free.length);
    cotangent.set(weights(body), body.free.length);
    const {params} = pullback({q: cotangent});
    for (const name of names) {
      const along = simulate.jvp(body, start, {...options, saveAt: 'end', params: at}, {params: {[name]: 1}});
      const tangent = last(along.tangent.q);
      along.trajectory.dispose();
      expect((params[name] as Float64Array)[0] / tangent, name).to.be.closeTo(1, 1e-10);
      expect(tangent / difference(value, name), name).to.be.closeTo(1, 1e-6);
    }
  });
});
