/** Every parameter of every model: the gradient through implicit steps against central differences. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem, NumericParams, Params} from '../../lib/index.js';
import {implicitMidpoint, mechanics, newton, simulate} from '../../lib/index.js';
import type {Coefficient} from '../../models/index.js';
import {
  chain,
  damper,
  doublePendulum,
  drivenBy,
  gravity,
  mlp,
  springMesh,
  neuralDissipation,
  neuralForce,
  neuralPotential,
  pendulum,
  rayleigh,
  spring,
} from '../../models/index.js';
import {harmonicDrive, rampDrive} from '../../models/drive.js';
import {coulomb, stribeck} from '../../models/friction.js';
import {dampers, springs} from '../../models/springs.js';
import {draw, slope, stream} from '../simulate/numbers.js';
import {shaped} from './evaluate.js';

/** The parameter of a name, as a coefficient. */
const p =
  (name: string): Coefficient =>
  (params: Params) =>
    params[name] as tf.Tensor;

interface Case {
  readonly system: MechanicalSystem;
  readonly params: {readonly [name: string]: number | readonly number[] | readonly (readonly number[])[]};
  readonly start: {readonly q: number | number[] | number[][]; readonly v: number | number[] | number[][]};
}

const line = {q: [0.3, -0.2, 0.5], v: [0.4, 0.1, -0.3]};
const space = {
  q: [
    [0, 0, 0.1],
    [1, 0.2, 0],
    [0.1, 1, -0.2],
  ],
  v: [
    [0.1, 0.2, 0.3],
    [-0.2, 0.1, 0],
    [0.3, -0.1, 0.2],
  ],
};
const edges = [
  [0, 1],
  [1, 2],
  [2, 0],
  [3, 0],
] as const;
const with1 = (forces: Parameters<typeof mechanics>[0]['forces']): MechanicalSystem => mechanics({mass: 1, forces});

const potential = mlp({sizes: [3, 4, 1], seed: 1});
const free = mlp({sizes: [3, 4, 3], activation: 'softplus', seed: 2});
const passive = mlp({sizes: [3, 4, 9], activation: 'sigmoid', seed: 3});
const elastic = [spring({stiffness: p('k'), cubic: 0.3})];
const cloth = springMesh({
  rows: 3,
  columns: 3,
  stiffness: p('k'),
  cubic: p('cubic'),
  restLength: p('restLength'),
  mass: p('mass'),
  damping: p('damping'),
  drag: p('drag'),
  g: p('g'),
  diagonals: true,
});

const cases: {readonly [name: string]: Case} = {
  spring: {
    system: with1(spring({stiffness: p('k'), cubic: p('cubic'), rest: p('rest')})),
    params: {k: [4, 5, 6], cubic: 0.5, rest: [0.1, 0.2, 0.3]},
    start: line,
  },
  damper: {
    system: with1([spring({stiffness: 4}), damper({coefficient: p('c')})]),
    params: {c: [0.1, 0.2, 0.3]},
    start: line,
  },
  'springs and dampers': {
    system: with1([
      springs({edges, stiffness: p('k'), cubic: p('cubic'), restLength: p('L'), fixed: p('fixed')}),
      dampers({edges, coefficient: p('c'), fixed: p('fixed')}),
    ]),
    params: {k: [4, 5, 6, 7], cubic: [0.1, 0.2, 0.3, 0.4], L: [0.8, 0.9, 1, 1.1], c: 0.2, fixed: [[-1, -1, 0.3]]},
    start: space,
  },
  rayleigh: {
    system: with1([...elastic, rayleigh({mass: 1, elastic, alpha: p('alpha'), beta: p('beta')})]),
    params: {k: [4, 5, 6], alpha: 0.1, beta: 0.05},
    start: line,
  },
  gravity: {
    system: mechanics({
      mass: ({params}) => params.m as tf.Tensor,
      forces: [
        spring({stiffness: 3}),
        gravity({mass: ({params}) => params.m as tf.Tensor, g: p('g'), direction: [0, -0.6, -0.8]}),
      ],
    }),
    params: {m: 2, g: 9.81},
    start: space,
  },
  coulomb: {
    system: with1([spring({stiffness: 4}), coulomb({force: p('force'), velocityScale: p('scale')})]),
    params: {force: [0.3, 0.2, 0.1], scale: 0.2},
    start: line,
  },
  stribeck: {
    system: with1([
      spring({stiffness: 4}),
      stribeck({
        coulomb: p('low'),
        static: p('high'),
        stribeckVelocity: p('speed'),
        viscous: p('viscous'),
        velocityScale: p('scale'),
      }),
    ]),
    params: {low: 0.2, high: [0.3, 0.4, 0.5], speed: 0.4, viscous: 0.1, scale: 0.1},
    start: line,
  },
  harmonic: {
    system: with1([
      spring({stiffness: 4}),
      drivenBy(harmonicDrive({amplitude: p('amplitude'), frequency: p('frequency'), phase: p('phase')}), {
        gain: p('gain'),
      }),
    ]),
    params: {amplitude: 2, frequency: 0.8, phase: 0.3, gain: [1, 0, 2]},
    start: line,
  },
  ramp: {
    system: with1([
      spring({stiffness: 4}),
      drivenBy(rampDrive({from: p('from'), to: p('to'), start: 0.13, end: 0.57})),
    ]),
    params: {from: 0.5, to: 2},
    start: line,
  },
  chain: {
    system: chain({
      count: 3,
      stiffness: p('k'),
      cubic: p('cubic'),
      mass: p('mass'),
      damping: p('damping'),
      drag: p('drag'),
      g: p('g'),
    }),
    params: {k: [30, 40, 50], cubic: 0.5, mass: [1, 2, 3], damping: [0.1, 0.2, 0.3], drag: 0.1, g: 9.81},
    start: line,
  },
  net: {
    system: cloth,
    params: {k: 40, cubic: 0.5, restLength: 0.9, mass: [1, 1.1, 1.2, 1.3, 1.4], damping: 0.1, drag: 0.2, g: 9.81},
    start: {q: cloth.positions, v: shaped(draw(stream(1), 15), [5, 3])},
  },
  pendulum: {
    system: pendulum({length: p('length'), mass: p('mass'), g: p('g'), damping: p('damping')}),
    params: {length: 0.8, mass: 1.3, g: 9.81, damping: 0.2},
    start: {q: 1, v: 0.5},
  },
  pendulums: {
    system: pendulum({length: p('length'), mass: p('mass'), g: 9.81}),
    params: {length: [0.8, 0.9, 1], mass: [1, 2, 3]},
    start: line,
  },
  doublePendulum: {
    system: doublePendulum({lengths: p('lengths'), masses: p('masses'), g: p('g'), damping: p('damping')}),
    params: {lengths: [1, 0.7], masses: [1, 0.5], g: 9.81, damping: [0.3, 0.2]},
    start: {q: [0.5, -0.4], v: [0.5, 1]},
  },
  neuralForce: {
    system: with1([
      spring({stiffness: 4}),
      neuralForce((x, params) => free.apply(x, params), {inputs: ['v'], scale: p('scale')}),
    ]),
    params: {...(free.params as Case['params']), scale: 0.7},
    start: line,
  },
  neuralPotential: {
    system: with1(neuralPotential((x, params) => potential.apply(x, params))),
    params: potential.params as Case['params'],
    start: line,
  },
  neuralDissipation: {
    system: with1([spring({stiffness: 4}), neuralDissipation((x, params) => passive.apply(x, params))]),
    params: passive.params as Case['params'],
    start: line,
  },
};

/** Newton to roundoff: what is left of a step's residual would be noise in the differences. */
const run = {
  scheme: implicitMidpoint(),
  dt: 0.05,
  steps: 12,
  saveAt: 'end',
  newton: newton({tolerance: {absolute: 1e-15, relative: 1e-14}}),
} as const;

/** The flat entries of a parameter, and the parameter with them replaced. */
const flat = (value: Case['params'][string]): number[] => ([value] as const).flat(2);

function replaced(value: Case['params'][string], entries: readonly number[]): Case['params'][string] {
  if (typeof value === 'number') return entries[0];
  const [first] = value;
  return typeof first === 'number' ? entries : shaped(Float64Array.from(entries), [value.length, first.length]);
}

describe('gradients of models', () => {
  after(() => [potential, free, passive].forEach(network => network.dispose()));

  for (const [name, {system, params, start}] of Object.entries(cases)) {
    it(`${name}: with respect to ${Object.keys(params).join(', ')}`, () => {
      const end = (
        values: NumericParams,
      ): {loss: number; q: Float64Array; v: Float64Array; pull(): {readonly [name: string]: unknown}} => {
        const {trajectory, pullback} = simulate.vjp(system, start, {...run, params: values});
        trajectory.dispose();
        const [q, v] = [trajectory.values('q'), trajectory.values('v')];
        // A weighted sum of squares, so that no symmetry hides a wrong entry. The start is saved too: it is constant.
        const weight = (i: number): number => 1 + 0.1 * i;
        const loss =
          q.reduce((sum, x, i) => sum + weight(i) * x * x, 0) + v.reduce((sum, x, i) => sum + weight(i) * x * x, 0);
        return {
          loss,
          q,
          v,
          pull: () => pullback({q: q.map((x, i) => 2 * weight(i) * x), v: v.map((x, i) => 2 * weight(i) * x)}).params,
        };
      };
      const {pull, loss} = end(params);
      const gradient = pull() as {readonly [name: string]: Float64Array};
      for (const [parameter, value] of Object.entries(params)) {
        const entries = flat(value);
        entries.forEach((entry, i) => {
          const at = (s: number): number =>
            end({
              ...params,
              [parameter]: replaced(
                value,
                entries.map((x, j) => (i === j ? x + s : x)),
              ),
            }).loss;
          // Fourth-order differences of step h: truncation h⁴ of the fifth derivative, rounding 1e-15 · loss / h.
          const h = 1e-3 * Math.max(1, Math.abs(entry));
          const expected = slope(at, h);
          expect(gradient[parameter][i], `${parameter}[${i}]`).to.be.closeTo(
            expected,
            1e-7 * Math.max(Math.abs(expected), loss),
          );
        });
      }
    });
  }
});
