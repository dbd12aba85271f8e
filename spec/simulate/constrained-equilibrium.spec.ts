/** Rest under constraints: chains and catenary in closed form, contact, rolling, redundant rows, and gradients. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Numeric, NumericParams, Params} from '../../lib/index.js';
import {
  bilateral,
  compliant,
  equilibrium,
  InconsistentStateError,
  mechanics,
  nonholonomic,
  unilateral,
} from '../../lib/index.js';
import {gravity} from '../../models/index.js';
import {cables, contacts, planeContact, distanceConstraints} from '../../models/links.js';
import {rodChain} from '../../models/linkages.js';
import {order, richardson} from './numbers.js';
import {slow} from '../tiers.js';

const g = 9.81;
const number = (value: unknown): tf.Tensor => value as tf.Tensor;

/** A chain of total length L between (0, 0) and (1, 0), and points on a parabola to start from. */
function hanging(links: number): {system: ReturnType<typeof rodChain>; q: number[][]} {
  const system = rodChain({links, length: ({length}: Params) => tf.div(number(length), links), g, to: [1, 0]});
  return {
    system,
    q: Array.from({length: links - 1}, (_, i) => [(i + 1) / links, -3 * ((i + 1) / links) * (1 - (i + 1) / links)]),
  };
}

function rest(links: number, length: number): {q: Float64Array; lambda: Float64Array} {
  const {system, q} = hanging(links);
  const found = equilibrium(system, {q}, {params: {length}});
  found.dispose();
  return {q: found.values('q'), lambda: found.values('lambda')};
}

describe('a chain at rest', () => {
  // reference/gradients-closed-form.json: length 2, span 1, unit masses at the inner nodes; 30 digits there.
  const cases = [
    {
      links: 4,
      thrust: 0.48203331392522325478,
      nodes: [
        [0.1529730816846584, -0.4760244072312877],
        [0.5, -0.8359859579065747],
        [0.8470269183153416, -0.4760244072312877],
      ],
    },
    {
      links: 10,
      thrust: 1.1473853597007627204,
      nodes: [
        [0.04941394571055748, -0.1937995406839605],
        [0.1117164494064012, -0.3838479503937747],
        [0.1951406354035052, -0.5656181492458434],
      ],
    },
    {
      links: 11,
      thrust: 1.2613580434274812988,
      nodes: [
        [0.04447420151291244, -0.1762949138218635],
        [0.09915440593259039, -0.3496959705784232],
        [0.1696248021057538, -0.5173019803240968],
      ],
    },
  ];
  for (const {links, thrust, nodes} of cases) {
    it(`of ${links} links hangs where the closed form has it, and pulls with H = ${thrust.toFixed(4)} m g`, () => {
      const {q, lambda} = rest(links, 2);
      nodes.flat().forEach((x, i) => expect(q[i]).to.be.closeTo(x, 1e-14));
      // λ is minus the tension, along the first link: its share across.
      expect((-lambda[0] * q[0]) / (2 / links)).to.be.closeTo(thrust * g, 1e-12);
    });
  }

  slow('of more and more links is the catenary: sag 0.7963883558602993 by extrapolation, order 2', () => {
    const sag = 0.7963883558602993368;
    const found = [32, 64, 128, 256].map(links => -rest(links, 2).q[links - 1]);
    expect(order(found[2] - sag, found[3] - sag)).to.be.closeTo(2, 0.01);
    expect(richardson(found, [2, 4, 6])).to.be.closeTo(sag, 1e-10);
  });

  it('has the derivative of sag and thrust by length of finite differences', () => {
    const links = 10;
    const {system, q} = hanging(links);
    const middle = 2 * (links / 2 - 1) + 1;
    const unit = (size: number, at: number): number[] => Array.from({length: size}, (_, i) => (i === at ? 1 : 0));
    const {equilibrium: found, pullback} = equilibrium.vjp(system, {q}, {params: {length: 2}});
    found.dispose();
    const derivative = (cotangent: {q?: Numeric; lambda?: Numeric}): number =>
      (pullback(cotangent).params.length as Float64Array)[0];
    const difference = (f: (length: number) => number): number => {
      const by = (h: number): number => (f(2 + h) - f(2 - h)) / (2 * h);
      return (4 * by(1e-3) - by(2e-3)) / 3;
    };
    // Richardson's next term is some h⁴ = 1e-12.
    expect(derivative({q: unit(2 * (links - 1), middle)})).to.be.closeTo(
      difference(length => rest(links, length).q[middle]),
      1e-10,
    );
    expect(derivative({lambda: unit(links, 0)})).to.be.closeTo(
      difference(length => rest(links, length).lambda[0]),
      1e-8,
    );
  });

  it("is differentiable on tfjs's tape, λ too, and leaves nothing behind", () => {
    const {system, q} = hanging(4);
    const exact = equilibrium.vjp(system, {q}, {params: {length: 2}});
    exact.equilibrium.dispose();
    const expected = (exact.pullback({lambda: [1, 0, 0, 0]}).params.length as Float64Array)[0];
    const before = tf.memory().numTensors;
    const gradient = tf.tidy(
      () =>
        tf
          .grad(length =>
            tf.slice(
              equilibrium(system, {q}, {params: {length} as unknown as NumericParams}).lambda as tf.Tensor,
              [0],
              [1],
            ),
          )(tf.scalar(2))
          .dataSync()[0],
    );
    expect(gradient).to.be.closeTo(expected, 1e-5 * Math.abs(expected));
    const found = equilibrium(system, {q}, {params: {length: 2}});
    expect(found.lambda?.shape).to.deep.equal([4]);
    found.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });
});

describe('rest in contact', () => {
  it('three balls stacked on the ground carry what lies on them, and touch only their neighbours', () => {
    const mass = [
      [1, 1],
      [2, 2],
      [3, 3],
    ];
    const stack = mechanics({
      mass,
      // Beside their weight a spring to the axis, so that the stack does not fall over.
      forces: [gravity({mass, g, direction: [0, -1]}), ({q}) => tf.mul(q, tf.tensor1d([-100, 0]))],
      constraints: [
        planeContact({normal: [0, 1], radius: 0.5}),
        contacts({
          edges: [
            [0, 1],
            [1, 2],
          ],
          distance: 1,
        }),
      ],
    });
    const found = equilibrium(stack, {
      q: [
        [0.01, 0.6],
        [0, 1.8],
        [0, 2.9],
      ],
    });
    found.dispose();
    [0, 0.5, 0, 1.5, 0, 2.5].forEach((x, i) => expect(found.values('q')[i]).to.be.closeTo(x, 1e-10));
    [6 * g, 0, 0, 5 * g, 3 * g].forEach((push, i) => expect(found.values('lambda')[i]).to.be.closeTo(push, 1e-8));
  });

  it('a mass on a spring meets a stop, or does not', () => {
    const spring = (stop: number): number[] => {
      const system = mechanics({
        mass: 2,
        forces: ({q}) => tf.sub(2 * g, tf.mul(100, q)),
        constraints: [unilateral(({q}) => tf.sub(stop, q))],
      });
      const found = equilibrium(system, {q: 0});
      found.dispose();
      return [found.values('q')[0], found.values('lambda')[0]];
    };
    const free = (2 * g) / 100;
    expect(spring(1)[0]).to.be.closeTo(free, 1e-12);
    expect(spring(1)[1]).to.be.closeTo(0, 1e-12);
    expect(spring(0.1)[0]).to.be.closeTo(0.1, 1e-12);
    expect(spring(0.1)[1]).to.be.closeTo(2 * g - 10, 1e-11);
  });

  it('of two cables the longer one is slack', () => {
    const hung = mechanics({
      mass: 3,
      forces: [gravity({mass: 3, g, direction: [0, -1]})],
      constraints: [
        cables({
          edges: [
            [1, 0],
            [2, 0],
          ],
          fixed: [
            [0, 0],
            [0, 0.5],
          ],
          length: [1, 2],
        }),
      ],
    });
    const found = equilibrium(hung, {q: [[0.1, -0.9]]});
    found.dispose();
    [0, -1].forEach((x, i) => expect(found.values('q')[i]).to.be.closeTo(x, 1e-10));
    [3 * g, 0].forEach((x, i) => expect(found.values('lambda')[i]).to.be.closeTo(x, 1e-9));
  });
});

describe('rest of other kinds', () => {
  it('a compliant rod is stretched by m g C, and its multiplier is minus the weight', () => {
    const hung = rodChain({links: 1, g, mass: 2, compliance: 1e-3});
    const found = equilibrium(hung, {q: [[0.2, -0.9]]});
    found.dispose();
    expect(found.values('q')[1]).to.be.closeTo(-(1 + 2 * g * 1e-3), 1e-12);
    expect(found.values('lambda')[0]).to.be.closeTo(-2 * g, 1e-11);
  });

  it('a wheel between springs rests where it has rolled to', () => {
    // (x, angle): k x + c x/r² = F, its friction −c x/r².
    const [k, c, r, force] = [30, 2, 0.4, 5];
    const wheel = mechanics({
      mass: [1, 0.1],
      forces: ({q}) => tf.sub(tf.tensor1d([force, 0]), tf.mul(q, tf.tensor1d([k, c]))),
      constraints: [nonholonomic(({v}) => tf.sub(tf.slice(v, [0], [1]), tf.mul(r, tf.slice(v, [1], [1]))))],
    });
    const found = equilibrium(wheel, {q: [0, 0]});
    found.dispose();
    const x = force / (k + c / r ** 2);
    expect(found.values('q')[0]).to.be.closeTo(x, 1e-12);
    expect(found.values('q')[1]).to.be.closeTo(x / r, 1e-12);
    expect(found.values('lambda')[0]).to.be.closeTo((-c * x) / r ** 2, 1e-11);
  });

  it('of redundant rows the multipliers are those of least norm, with their gradient', () => {
    const twice = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.add(tf.zerosLike(q), tf.mul(number(params.weight), tf.tensor1d([0, -1]))),
      constraints: [
        distanceConstraints({edges: [[1, 0]], fixed: [[0, 0]], length: 1}),
        bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1)),
      ].map(constraint => ({
        ...constraint,
        gap: (at: Parameters<typeof constraint.gap>[0]) => constraint.gap({...at, q: tf.reshape(at.q, [1, 2])}),
      })),
    });
    const {equilibrium: found, pullback} = equilibrium.vjp(twice, {q: [0.3, -0.8]}, {params: {weight: g}});
    found.dispose();
    expect(found.values('q')[1]).to.be.closeTo(-1, 1e-8);
    // λ₁ + 2λ₂ = −g along the common direction (0, −1)…(0, −2): least norm (1, 2)/5 of it.
    [-g / 5, (-2 * g) / 5].forEach((x, i) => expect(found.values('lambda')[i]).to.be.closeTo(x, 1e-5));
    expect((pullback({lambda: [0, 1]}).params.weight as Float64Array)[0]).to.be.closeTo(-2 / 5, 1e-5);
  });

  it('constraints that contradict each other are told', () => {
    const torn = mechanics({
      mass: 1,
      forces: ({q}) => tf.neg(q),
      constraints: [
        compliant(({q}) => q, {compliance: 1}),
        bilateral(({q}) => tf.sub(q, 1)),
        bilateral(({q}) => tf.sub(q, 2)),
      ],
    });
    expect(() => equilibrium(torn, {q: 0})).to.throw(InconsistentStateError, /contradict/);
  });
});
