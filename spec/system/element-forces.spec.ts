/** A force by `elements` is the force written by hand: in every scheme, however it is used, with all its derivatives. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {ElementsSpec, ForceTerm, Scheme} from '../../lib/index.js';
import {
  bdf2,
  elements,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  kvaerno3,
  mechanics,
  newmark,
  newton,
  radauIIA5,
  simulate,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

type Hessian = NonNullable<ElementsSpec['hessian']>;
type P = {readonly k: tf.Tensor};
type At = Parameters<ForceTerm<P>>[0];

const n = 2;
const nodes = Array.from({length: n}, (_, i) => [i, i + 1]);
const rest = [1, 0.9];

/** Springs of energy k (l² − L²)²/4 between the rows of q [n + 1, 2]: the stretch l² − L² times the way from row to row. */
const stretches = (q: tf.Tensor): {way: tf.Tensor; stretch: tf.Tensor} => {
  const way = tf.sub(tf.slice(q, [1, 0], [n, 2]), tf.slice(q, [0, 0], [n, 2]));
  return {way, stretch: tf.sub(tf.sum(tf.square(way), 1, true), tf.tensor2d(rest.map(l => [l * l])))};
};
const spread = (pulls: tf.Tensor): tf.Tensor =>
  tf.sub(
    tf.pad(pulls as tf.Tensor2D, [
      [0, 1],
      [0, 0],
    ]),
    tf.pad(pulls as tf.Tensor2D, [
      [1, 0],
      [0, 0],
    ]),
  );

const energy =
  (stiffness?: tf.Tensor): ElementsSpec<P>['energy'] =>
  ({x, data, params}) => {
    const way = tf.sub(tf.gather(x, 1), tf.gather(x, 0));
    const stretch = tf.sub(tf.sum(tf.square(way)), tf.square(data.rest));
    const k = stiffness ?? data.k ?? params.k;
    return tf.mul(tf.mul(0.25, k), tf.square(stretch));
  };

/** Softer where the chain moves or is displaced: a number that depends on the state. */
const softness = ({q, v}: At): tf.Tensor => tf.div(1, tf.add(1, tf.add(tf.sum(tf.square(v)), tf.square(tf.mean(q)))));
/** One of each spring, [n, 1]. */
const softnesses = ({q, v}: At): tf.Tensor =>
  tf.div(1, tf.add(1, tf.square(tf.add(tf.slice(q, [0, 0], [n, 1]), tf.slice(v, [1, 1], [n, 1])))));

interface Use {
  readonly byHand: ForceTerm<P>;
  readonly byElements: (hessian: Hessian) => ForceTerm<P>;
}

const pulled = (at: At, k: tf.Tensor): tf.Tensor => {
  const {way, stretch} = stretches(at.q);
  return spread(tf.mul(tf.mul(k, stretch), way));
};

/** Where a force may stand, and what its elements may read. */
const uses: {readonly [name: string]: Use} = {
  plain: {
    byHand: at => pulled(at, at.params.k),
    byElements: hessian => elements<P>({nodes, energy: energy(), data: {rest}, hessian}),
  },
  'times a function of the state': {
    byHand: at => tf.mul(softness(at), pulled(at, at.params.k)),
    byElements: hessian => {
      const force = elements<P>({nodes, energy: energy(), data: {rest}, hessian});
      return at => tf.mul(softness(at), force(at));
    },
  },
  saturated: {
    byHand: at => tf.mul(30, tf.tanh(tf.div(pulled(at, at.params.k), 30))),
    byElements: hessian => {
      const force = elements<P>({nodes, energy: energy(), data: {rest}, hessian});
      return at => tf.mul(30, tf.tanh(tf.div(force(at), 30)));
    },
  },
  'of other coordinates': {
    byHand: at => tf.mul(tf.cos(at.q), pulled({...at, q: tf.sin(at.q)}, at.params.k)),
    byElements: hessian => {
      const force = elements<P>({nodes, energy: energy(), data: {rest}, hessian});
      return at => tf.mul(tf.cos(at.q), force({...at, q: tf.sin(at.q)}));
    },
  },
  'an energy that reads the state': {
    byHand: at => pulled(at, tf.mul(at.params.k, softness(at))),
    byElements: hessian => at =>
      elements<P>({nodes, energy: energy(tf.mul(at.params.k, softness(at))), data: {rest}, hessian})(at),
  },
  'data that read the state': {
    byHand: at => pulled(at, tf.mul(at.params.k, softnesses(at))),
    byElements: hessian => at =>
      elements<P>({
        nodes,
        energy: energy(),
        data: {rest, k: tf.reshape(tf.mul(at.params.k, softnesses(at)), [n])},
        hessian,
      })(at),
  },
};

const start = {
  q: Array.from({length: n + 1}, (_, i) => [1.1 * i - 0.3 * Math.cos(i), 0.3 * Math.sin(2 * i)]),
  v: Array.from({length: n + 1}, (_, i) => [0.2 * Math.sin(i), 0.5 * Math.cos(2 * i)]),
};
const away = start.q.map((row, i) => row.map((_, j) => Math.cos(3 * i + j)));
const size = 2 * (n + 1);

const close = (found: ArrayLike<number>, wanted: ArrayLike<number>, tolerance: number, what: string): void => {
  const scale = Array.from(wanted).reduce((most, value) => Math.max(most, Math.abs(value)), 1e-3);
  expect(found.length, what).to.equal(wanted.length);
  for (let i = 0; i < found.length; i++)
    expect(Math.abs(found[i] - wanted[i]), `${what} [${i}]: ${found[i]} for ${wanted[i]}`).to.be.at.most(
      tolerance * scale,
    );
};

interface Numbers {
  readonly q: Float64Array;
  readonly iterations: number;
  readonly k: Float64Array;
  readonly start: Float64Array;
  readonly tangent: Float64Array;
  readonly product: Float64Array;
}

function numbersOf(force: ForceTerm<P>, scheme: Scheme, dt: number, k: number, second: boolean): Numbers {
  const system = mechanics<P>({mass: 1.3, forces: force});
  const options = {
    scheme,
    dt,
    steps: 3,
    params: {k},
    saveAt: 'end',
    // A Jacobian kept from step to step, where it costs much, would change the count.
    newton: newton({jacobian: 'fresh'}),
  } as const;
  const {trajectory, pullback} = simulate.vjp(system, start, options);
  const cotangent = Float64Array.from({length: 2 * size}, (_, i) => (i < size ? 0 : Math.sin(i)));
  const {params, initial} = pullback({q: cotangent});
  const direction = {params: {k: 1}, initial: {q: away}};
  const {tangent} = simulate.jvp(system, start, options, direction);
  const product = second
    ? simulate.hvp(system, start, options, {cotangent: () => ({q: cotangent})}, direction).product.initial.q
    : [];
  return {
    q: trajectory.values('q').slice(size),
    iterations: trajectory.stats.newtonIterations,
    k: params.k,
    start: initial.q,
    tangent: tangent.q.slice(size),
    product: Float64Array.from(product),
  };
}

function compare(found: Numbers, wanted: Numbers): void {
  // Both are at the root to 1e-14 (a hundredth of the tolerance); where Newton's matrix is not the Jacobian more iterations may come nearer.
  close(found.q, wanted.q, 1e-11, 'q');
  close(found.k, wanted.k, 1e-9, 'cotangent of k');
  close(found.start, wanted.start, 1e-9, 'cotangent of the start');
  close(found.tangent, wanted.tangent, 1e-9, 'tangent');
  close(found.product, wanted.product, 1e-8, 'product with the Hessian');
}

const schemes: {readonly [name: string]: Scheme} = {
  newmark: newmark(),
  generalizedAlpha: generalizedAlpha({rhoInf: 0.6}),
  hht: hht(),
  bdf2: bdf2(),
  trapezoid: trapezoid(),
  implicitEuler: implicitEuler(),
  kvaerno3: kvaerno3(),
  gaussLegendre: gaussLegendre({stages: 2}),
  radauIIA5: radauIIA5(),
  verlet: verlet(),
};

describe('elements as a force', () => {
  for (const [name, scheme] of Object.entries(schemes))
    slow(`is the force by hand: ${name}`, () => {
      const {byHand, byElements} = uses.plain;
      const wanted = numbersOf(byHand, scheme, 0.03, 200, true);
      const found = numbersOf(byElements('exact'), scheme, 0.03, 200, true);
      compare(found, wanted);
      // Rounding may ask for one more.
      expect(found.iterations).to.be.closeTo(wanted.iterations, 1);
    });

  for (const name of ['generalizedAlpha', 'bdf2', 'trapezoid'])
    for (const hessian of ['projected', 'absolute'] as const)
      slow(`is the force by hand: ${name}, ${hessian}`, () => {
        const {byHand, byElements} = uses.plain;
        const scheme = schemes[name];
        compare(numbersOf(byElements(hessian), scheme, 0.03, 200, true), numbersOf(byHand, scheme, 0.03, 200, true));
      });

  for (const [name, {byHand, byElements}] of Object.entries(uses))
    slow(`is the force by hand: ${name}`, () => {
      fc.assert(
        fc.property(
          fc.constantFrom('trapezoid', 'hht', 'implicitEuler', 'bdf2'),
          fc.constantFrom<Hessian>('exact', 'projected'),
          fc.double({min: 0.005, max: 0.03, noNaN: true}),
          fc.double({min: 50, max: 300, noNaN: true}),
          (scheme, hessian, dt, k) => {
            const wanted = numbersOf(byHand, schemes[scheme], dt, k, false);
            compare(numbersOf(byElements(hessian), schemes[scheme], dt, k, false), wanted);
          },
        ),
        runs(1),
      );
    });
});
