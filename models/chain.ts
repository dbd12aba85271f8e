/** Masses on a line, joined by springs. */
import * as tf from '@tensorflow/tfjs';
import {positiveInteger as atLeastOne, oneOf, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {ForceTerm, Mass} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, isZero, quantity} from './coefficient.js';
import {damper} from './damper.js';
import type {SystemWithEnergy} from './energy.js';
import {conservative, withEnergy} from './energy.js';
import {range, withFigure, type Drawn, type Figure} from './figure.js';
import {gravity} from './gravity.js';
import type {Elasticity} from './spring.js';
import {elasticityOptions, springLaw} from './spring.js';

const chainOptions = {
  /** Number of masses, at least 1. */
  count: atLeastOne,
  /**
   * 'fixed-free' (default): a wall before the first mass, `count` springs; 'fixed-fixed': another after the last,
   * count + 1; 'free': count − 1.
   */
  ends: optional(oneOf('fixed-free', 'fixed-fixed', 'free'), 'fixed-free'),
  /** [mass], one number or [count]; default 1. */
  mass: optional(typed<Coefficient>(), 1),
  /** Damping of each spring [force · time / length], one number or [springs]; default 0. */
  damping: optional(quantity('non-negative'), 0),
  /** Damping of each mass against the ground [force · time / length], one number or [count]; default 0. */
  drag: optional(typed<Coefficient>(), 0),
  /** Acceleration along the chain, towards larger q [length / time²]; default 0. */
  g: optional(typed<Coefficient>(), 0),
};

/** The argument of `chain`. */
export type ChainSpec = Elasticity & Options<typeof chainOptions>;

type ChainEnds = NonNullable<ChainSpec['ends']>;

/** Differences of neighbours along a line of numbers, one fewer than there are. */
const steps = (x: tf.Tensor): tf.Tensor => tf.sub(tf.slice(x, [1], [x.size - 1]), tf.slice(x, [0], [x.size - 1]));

/**
 * The two difference operators of a chain, each the other's negative transpose. An end on a wall has
 * displacement zero beyond it, a free end tension zero.
 */
function chainDifferences(ends: ChainEnds): {
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
 * @throws OptionError 'bad-option', 'bad-coefficient', 'bad-spring'; ShapeError 'chain-shape', 'coefficient-shape' when
 *   traced
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {chain} from 'stiffgrad/models';
 *
 * const masses = chain({count: 8, mass: 1, stiffness: 1e4, g: 1});
 * console.log(equilibrium(masses, {q: new Float64Array(8)}).values('q')[7]); // → 0.0036
 * ```
 */
export function chain(spec: ChainSpec): SystemWithEnergy & Drawn {
  const schema = {...elasticityOptions, ...chainOptions};
  const {count, ends, damping, drag, g, mass: given} = readOptions(spec, schema, 'chain');
  if (ends === 'free' && count < 2)
    throw new OptionError('bad-option', 'chain: a free chain has at least 2 masses.', {count, ends});
  const law = springLaw(spec, 'chain');
  const {elongation, force} = chainDifferences(ends);
  const stretch = (q: tf.Tensor): tf.Tensor => elongation(requireChain(q, count));

  const forces: ForceTerm[] = [
    conservative(
      ({q, params}) => force(law.tension(stretch(q), params)),
      ({q, params}) => tf.sum(law.energy(stretch(q), params)),
    ),
  ];
  if (!isZero(spec.damping)) {
    forces.push(({v, params}) => {
      const rate = elongation(v);
      return force(tf.mul(damping(params, rate.shape, 'the springs'), rate));
    });
  }
  if (!isZero(drag)) forces.push(damper({coefficient: drag}));
  const mass = particleMass(given, 'chain');
  if (!isZero(g)) forces.push(gravity({mass, g, direction: 1}));
  return withFigure(withEnergy(mass, forces), chainFigure(count, ends));
}

/** Masses one apart where nothing is stressed: a chain knows no lengths. */
function chainFigure(count: number, ends: ChainEnds): Figure {
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
    const mass = read(params, [q.shape[0]], 'the particles');
    if (mass.size === 1) return tf.reshape(mass, []);
    return q.shape.length === 1 ? mass : tf.broadcastTo(tf.reshape(mass, [mass.size, 1]), q.shape);
  };
}
