/** A model from outside: a quarter of a car on a road, whose parameters are numbers, tensors or functions of params, from public parts. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  equilibrium,
  gaussLegendre,
  implicitMidpoint,
  mechanics,
  OptionError,
  simulate,
  type MechanicalSystem,
  type Params,
} from '../../lib/index.js';
import {
  coefficient,
  damper,
  dampers,
  drivenBy,
  harmonicDrive,
  mechanicalEnergy,
  springs,
  type Coefficient,
  type Drive,
  type Energy,
} from '../../models/index.js';

interface QuarterCarSpec {
  /** [mass] of the body, and of the wheel. */
  readonly sprung: Coefficient;
  readonly unsprung: Coefficient;
  /** [force / length] */
  readonly suspension: Coefficient;
  readonly tyre: Coefficient;
  /** [force · time / length] */
  readonly damping?: Coefficient;
  /** Height of the road under the wheel. */
  readonly road?: Drive;
}

/** q = heights of body and wheel over those at rest. */
function quarterCar({
  sprung,
  unsprung,
  suspension,
  tyre,
  damping = 0,
  road,
}: QuarterCarSpec): MechanicalSystem & {readonly energy: Energy} {
  const masses = [
    coefficient(sprung, 'quarterCar: sprung', 'positive'),
    coefficient(unsprung, 'quarterCar: unsprung', 'positive'),
  ];
  const stiffness = coefficient(tyre, 'quarterCar: tyre', 'positive');
  const system = mechanics({
    mass: ({params}) => tf.stack(masses.map(mass => mass(params))),
    forces: [
      springs({edges: [[0, 1]], stiffness: suspension}),
      springs({edges: [[1, 2]], fixed: [0], stiffness: tyre}),
      dampers({edges: [[0, 1]], coefficient: damping}),
      ...(road === undefined
        ? []
        : [drivenBy(road, {gain: (params: Params) => tf.mul(stiffness(params), tf.tensor1d([0, 1]))})]),
    ],
  });
  return {...system, energy: mechanicalEnergy(system)};
}

const car = {sprung: 250, unsprung: 40, suspension: 16e3, tyre: 160e3};
const damping = 1500;

describe('a model from outside: a quarter-car', () => {
  it('follows a wavy road as its transfer function says', () => {
    const frequency = 1.5;
    const system = quarterCar({
      ...car,
      damping: ({c}) => c as tf.Tensor,
      road: harmonicDrive({amplitude: 0.05, frequency}),
    });
    const run = (c: number): Float64Array => {
      const path = simulate(
        system,
        {q: [0, 0], v: [0, 0]},
        {scheme: gaussLegendre({stages: 3}), dt: 0.01, t1: 8, params: {c}, saveAt: [7.7, 8]},
      );
      path.dispose();
      return path.values('q');
    };
    /** zₛ(t) of amplitude kₜU(k + iωc)/det, by real and imaginary part. */
    const body = (t: number, c: number): number => {
      const w = 2 * Math.PI * frequency;
      const {sprung: m, unsprung: mu, suspension: k, tyre: kt} = car;
      // (k + iωc − mω²)(k + kₜ + iωc − μω²) − (k + iωc)²
      const det = [
        (k - m * w * w) * (k + kt - mu * w * w) - k * k,
        w * c * (k - m * w * w + k + kt - mu * w * w) - 2 * k * w * c,
      ];
      const size = det[0] ** 2 + det[1] ** 2;
      const [re, im] = [(k * det[0] + w * c * det[1]) / size, (w * c * det[0] - k * det[1]) / size].map(
        x => x * kt * 0.05,
      );
      return re * Math.sin(w * t) + im * Math.cos(w * t);
    };
    const q = run(damping);
    // The start has decayed by e^(−3·7.7) = 1e-10; the scheme's error, of sixth order with the wheel at 66 h, is 2e-10.
    expect(q[0]).to.be.closeTo(body(7.7, damping), 1e-9);
    expect(q[2]).to.be.closeTo(body(8, damping), 1e-9);
    const {trajectory, pullback} = simulate.vjp(
      system,
      {q: [0, 0], v: [0, 0]},
      {scheme: gaussLegendre({stages: 3}), dt: 0.01, t1: 8, params: {c: damping}, saveAt: [7.7, 8]},
    );
    trajectory.dispose();
    const gradient = (pullback({q: [0, 0, 1, 0]}).params.c as Float64Array)[0];
    expect(gradient).to.be.closeTo((body(8, damping + 1) - body(8, damping - 1)) / 2, 1e-10);
  });

  it('keeps its energy without a damper, and carries a load', () => {
    const system = quarterCar(car);
    // The midpoint rule keeps quadratic energies but for rounding.
    const path = simulate(
      system,
      {q: [0.03, -0.01], v: [0.2, 0]},
      {scheme: implicitMidpoint(), dt: 0.005, steps: 200, observe: system.energy},
    );
    const energies = path.observed?.dataSync() ?? [];
    expect(energies[200]).to.be.closeTo(energies[0], 1e-6 * energies[0]);
    expect(energies[0]).to.be.closeTo(0.5 * 250 * 0.04 + 0.5 * 16e3 * 0.04 ** 2 + 0.5 * 160e3 * 0.01 ** 2, 1e-5);
    path.dispose();
    const loaded = mechanics({
      ...spec(system),
      forces: [...system.forces, () => tf.tensor1d([-800, 0]), damper({coefficient: 1})],
    });
    const rest = equilibrium(loaded, {q: [0, 0]}, {});
    expect(rest.values('q')[1]).to.be.closeTo(-800 / 160e3, 1e-12);
    expect(rest.values('q')[0]).to.be.closeTo(-800 / 160e3 - 800 / 16e3, 1e-12);
  });

  it('names a parameter that is none', () => {
    expect(() => quarterCar({...car, sprung: -1})).to.throw(
      OptionError,
      'quarterCar: sprung must be finite and positive; it is -1',
    );
    expect(() =>
      simulate(quarterCar({...car, tyre: ({k}) => k as tf.Tensor}), {q: [0, 0], v: [0, 0]}, {dt: 0.1, steps: 1}),
    ).to.throw(OptionError, 'is the parameter it reads in options.params?');
  });
});

const spec = ({mass, constraints}: MechanicalSystem): Pick<MechanicalSystem, 'mass' | 'constraints'> => ({
  mass,
  constraints,
});
