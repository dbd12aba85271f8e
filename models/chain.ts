/** Masses on a line, joined by springs. */
import * as tf from '@tensorflow/tfjs';
import {any, object, refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm, Mass} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting, isZero} from './coefficient.js';
import {damper} from './damper.js';
import type {SystemWithEnergy} from './energy.js';
import {conservative, withEnergy} from './energy.js';
import {range, withFigure, type Drawn, type Figure} from './figure.js';
import {gravity} from './gravity.js';
import type {Elasticity} from './spring.js';
import {springLaw} from './spring.js';

/** The argument of `chain`. */
export type ChainSpec = Elasticity & {
  /** Number of masses, at least 1. */
  readonly count: number;
  /** 'fixed-free' (default): a wall before the first mass, `count` springs; 'fixed-fixed': another after the last, count + 1; 'free': count − 1. */
  readonly ends?: 'fixed-free' | 'fixed-fixed' | 'free';
  /** [mass], one number or [count]; default 1. */
  readonly mass?: Coefficient;
  /** Of each spring [force · time / length], one number or [springs]; default 0. */
  readonly damping?: Coefficient;
  /** Of each mass against the ground [force · time / length], one number or [count]; default 0. */
  readonly drag?: Coefficient;
  /** Acceleration along the chain, towards larger q [length / time²]; default 0. */
  readonly g?: Coefficient;
};

/** Differences of neighbours along a line of numbers, one fewer than there are. */
const steps = (x: tf.Tensor): tf.Tensor => tf.sub(tf.slice(x, [1], [x.size - 1]), tf.slice(x, [0], [x.size - 1]));

/**
 * The two difference operators of a chain, each the other's negative transpose. An end on a wall has
 * displacement zero beyond it, a free end tension zero.
 */
function chainDifferences(ends: 'fixed-free' | 'fixed-fixed' | 'free'): {
  elongation(q: tf.Tensor): tf.Tensor;
  force(tension: tf.Tensor): tf.Tensor;
} {
  const walls: [number, number] = ends === 'free' ? [0, 0] : ends === 'fixed-free' ? [1, 0] : [1, 1];
  const open: [number, number] = [1 - walls[0], 1 - walls[1]];
  return {
    elongation: q => steps(tf.pad(q, [walls])),
    force: tension => steps(tf.pad(tension, [open])),
  };
}

/**
 * A chain on a line. q [count] are displacements from the positions where all springs are unstressed; spring
 * coefficients (stiffness, cubic, damping) are one number or one per spring, in order from the wall.
 * @throws OptionError 'bad-chain', 'bad-coefficient', 'bad-spring'; ShapeError 'chain-shape', 'coefficient-shape' when traced
 */
export function chain(spec: ChainSpec): SystemWithEnergy & Drawn {
  refuseUnknownOptions(
    spec,
    {stiffness: any, cubic: any, law: object, count: any, ends: any, mass: any, damping: any, drag: any, g: any},
    'chain',
  );
  const {count, ends = 'fixed-free', damping = 0, drag = 0, g = 0} = spec;
  if (!Number.isInteger(count) || count < 1)
    throw new OptionError('bad-chain', `chain: count must be a whole number of at least 1, not ${count}.`, {count});
  if (!['fixed-free', 'fixed-fixed', 'free'].includes(ends))
    throw new OptionError(
      'bad-chain',
      `chain: ends must be 'fixed-free', 'fixed-fixed' or 'free', not '${String(ends)}'.`,
      {ends},
    );
  if (ends === 'free' && count < 2)
    throw new OptionError('bad-chain', 'chain: a free chain has at least 2 masses.', {count, ends});
  const law = springLaw(spec, 'chain');
  const viscosity = coefficient(damping, 'chain: damping', 'non-negative');
  const {elongation, force} = chainDifferences(ends);
  const stretch = (q: tf.Tensor): tf.Tensor => elongation(requireChain(q, count));

  const forces: ForceTerm[] = [
    conservative(
      ({q, params}) => force(law.tension(stretch(q), params)),
      ({q, params}) => tf.sum(law.energy(stretch(q), params)),
    ),
  ];
  if (!isZero(damping)) {
    forces.push(({v, params}) => {
      const rate = elongation(v);
      return force(tf.mul(fitting(viscosity(params), rate.shape, 'chain: damping', 'the springs'), rate));
    });
  }
  if (!isZero(drag)) forces.push(damper({coefficient: drag}));
  const mass = particleMass(spec.mass ?? 1, 'chain');
  if (!isZero(g)) forces.push(gravity({mass, g, direction: 1}));
  return withFigure(withEnergy(mass, forces), chainFigure(count, ends));
}

/** Masses one apart where nothing is stressed: a chain knows no lengths. */
function chainFigure(count: number, ends: 'fixed-free' | 'fixed-fixed' | 'free'): Figure {
  const walls = ends === 'free' ? [] : ends === 'fixed-free' ? [0] : [0, count + 1];
  const rest = range(1, count);
  const joined = [...(walls.length > 0 ? [count] : []), ...range(0, count), ...(walls.length > 1 ? [count + 1] : [])];
  return {
    points: ({q}) => {
      const x = tf.concat([tf.add(q, tf.tensor1d(rest)), tf.tensor1d(walls)]);
      return tf.stack([x, tf.zerosLike(x)], 1);
    },
    springs: joined.slice(1).map((to, i) => [joined[i], to] as const),
    fixed: range(count, walls.length),
  };
}

function requireChain(q: tf.Tensor, count: number): tf.Tensor {
  if (q.shape.length === 1 && q.shape[0] === count) return q;
  throw new ShapeError(
    'chain-shape',
    `chain: q has shape [${q.shape.join(', ')}]; a chain of ${count} masses has [${count}].`,
    {q: q.shape, count},
  );
}

/** One mass for all particles or one each, [particles], as a mass of the shape of q. */
export function particleMass(value: Coefficient, name: string): Mass {
  const read = coefficient(value, `${name}: mass`, 'positive');
  return ({q, params}) => {
    const mass = fitting(read(params), [q.shape[0]], `${name}: mass`, 'the particles');
    if (mass.size === 1) return tf.reshape(mass, []);
    return q.shape.length === 1 ? mass : tf.broadcastTo(tf.reshape(mass, [mass.size, 1]), q.shape);
  };
}
