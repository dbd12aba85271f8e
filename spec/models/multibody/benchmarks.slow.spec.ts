/** Published mechanisms: the benchmark bicycle, Bricard's over-constrained one, the flyball governor (IFToMM A04, A05). */
import {expect} from 'chai';
import {generalizedAlpha, linearize, simulate} from '../../../lib/index.js';
import {multibody, prismatic, revolute, springDamper, type BodySpec, type Joint} from '../../../models/index.js';
import {largest} from '../../simulate/numbers.js';
import {bicycle} from './bicycle.js';

type Vector = [number, number, number];

describe('the benchmark bicycle', () => {
  // Meijaard, Papadopoulos, Ruina & Schwab 2007, table 2.
  const published = new Map<number, [number, number][]>([
    [
      0,
      [
        [5.53094371765393, 0],
        [3.13164324790656, 0],
        [-3.13164324790656, 0],
        [-5.53094371765393, 0],
      ],
    ],
    [
      5,
      [
        [-0.32286642900409, 0],
        [-0.77534188219585, 4.46486771378823],
        [-0.77534188219585, -4.46486771378823],
        [-14.07838969279822, 0],
      ],
    ],
  ]);
  for (const [speed, expected] of published) {
    it(`has the published eigenvalues at ${speed} m/s to 1e-9`, () => {
      const system = bicycle(speed);
      const {A, eigenvalues, coordinates, warnings} = linearize(system, system.initial);
      expect(warnings).to.deep.equal([]);
      expect(A.length).to.equal(10);
      expect(coordinates.length).to.equal(10);
      // Place, heading and the wheels' angles are indifferent, and so is the speed.
      const moving = eigenvalues.filter(({real, imaginary}) => Math.hypot(real, imaginary) > 1e-6);
      const errors = expected.flatMap(([real, imaginary], i) => [
        moving[i].real - real,
        moving[i].imaginary - imaginary,
      ]);
      expect(moving.length).to.equal(4);
      expect(largest(errors)).to.be.below(1e-9);
    });
  }
});

describe("Bricard's mechanism", () => {
  it('keeps its energy to 1e-3 J over 10 s and its joints closed, with default options', () => {
    const points: Vector[] = [
      [0, 0, 0],
      [1, 0, 0],
      [1, -1, 0],
      [1, -1, 1],
      [0, -1, 1],
      [0, 0, 1],
    ];
    const [x, y, z]: Vector[] = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
    const bodies: {[name: string]: BodySpec} = {};
    for (let i = 0; i < 5; i++) {
      const inertia = points[i].map((from, k) => (from === points[i + 1][k] ? 1.01 : 0.02) / 12);
      bodies[`rod${i}`] = {
        mass: 1,
        inertia,
        position: points[i].map((from, k) => (from + points[i + 1][k]) / 2) as Vector,
      };
    }
    const joints = Object.fromEntries(
      [y, z, x, y, z, x].map((axis, i): [string, Joint] => [
        `joint${i}`,
        revolute(i === 0 ? 'ground' : `rod${i - 1}`, i === 5 ? 'ground' : `rod${i}`, {at: points[i], axis}),
      ]),
    );
    const system = multibody({gravity: [0, -9.81, 0], bodies, joints});
    const path = simulate(system, system.initial, {dt: 0.01, t1: 10, observe: system.energy});
    path.dispose();
    const energy = path.values('observed');
    expect(largest(energy.map(e => e - energy[0]))).to.be.below(1e-3);
    const gaps = simulate(
      system,
      {q: lastState(path.values('q'), 7), v: lastState(path.values('v'), 6)},
      {dt: 1, steps: 0, consistent: 'project'},
    );
    gaps.dispose();
    expect(
      largest(gaps.values('q').map((value, i) => value - path.values('q')[path.values('q').length - 35 + i])),
    ).to.be.below(1e-6);
    // It moves.
    const height = system.pose(path, 'rod2').position.filter((_, i) => i % 3 === 1);
    expect(Math.max(...height) - Math.min(...height)).to.be.above(0.25);
  });
});

const lastState = (values: Float64Array, width: number): number[][] =>
  Array.from({length: 5}, (_, i) =>
    Array.from(values.slice(values.length - (5 - i) * width, values.length - (4 - i) * width || undefined)),
  );

describe('the stiff flyball governor', () => {
  it('keeps its momentum about the shaft, and its arms stay alike over 10 s', () => {
    const [tilt, spin, density, point] = [Math.PI / 6, 2 * Math.PI, 3000, 5];
    const rodMass = density * 1e-4;
    const mass = rodMass + point;
    // The rod with its point mass: the centre lies `out` from the rod's middle towards the ball.
    const out = (point * 0.5) / mass;
    const across = (rodMass * (1 + 1e-4)) / 12 + rodMass * out ** 2 + point * (0.5 - out) ** 2;
    const [c, s] = [Math.cos(tilt), Math.sin(tilt)];
    const rod = (side: 1 | -1): BodySpec => {
      const x = side * (0.05 + (0.5 + out) * c);
      return {
        mass,
        inertia: [(rodMass * 2e-4) / 12, across, across],
        position: [x, 0, 1 - (0.5 + out) * s],
        rotation: [Math.cos(tilt / 2), 0, side * Math.sin(tilt / 2), 0],
        velocity: [0, spin * x, 0],
        angularVelocity: [-side * spin * s, 0, spin * c],
      };
    };
    const middle = (side: 1 | -1): Vector => [side * (0.05 + 0.5 * c), 0, 1 - 0.5 * s];
    const shaft = density * 1e-4;
    const system = multibody({
      gravity: [0, 0, -9.81],
      bodies: {
        shaft: {
          mass: shaft,
          inertia: [(shaft * (1 + 1e-4)) / 12, (shaft * (1 + 1e-4)) / 12, (shaft * 2e-4) / 12],
          position: [0, 0, 0.5],
          angularVelocity: [0, 0, spin],
        },
        slider: {mass: 3, inertia: [0.005, 0.005, 0.005], position: [0, 0, 0.5], angularVelocity: [0, 0, spin]},
        right: rod(1),
        left: rod(-1),
      },
      joints: {
        bearing: revolute('ground', 'shaft', {at: [0, 0, 0], axis: [0, 0, 1]}),
        guide: prismatic('shaft', 'slider', {axis: [0, 0, 1]}),
        rightHinge: revolute('shaft', 'right', {at: [0.05, 0, 1], axis: [0, 1, 0]}),
        leftHinge: revolute('shaft', 'left', {at: [-0.05, 0, 1], axis: [0, 1, 0]}),
      },
      forces: ([1, -1] as const).map(side =>
        springDamper('slider', side === 1 ? 'right' : 'left', {
          from: [side * 0.05, 0, 0.5],
          to: middle(side),
          stiffness: 8e5,
          damping: 4e4,
          length: 0.5,
        }),
      ),
    });
    const path = simulate(system, system.initial, {
      scheme: generalizedAlpha(),
      dt: 0.01,
      t1: 10,
      observe: system.momentum,
    });
    path.dispose();
    expect(path.status).to.equal('completed');
    const momentum = path.values('observed').filter((_, i) => i % 6 === 5);
    expect(largest(momentum.map(m => m / momentum[0] - 1))).to.be.below(1e-3);
    // The arms swing, both alike, between bounds.
    const height = system.pose(path, 'slider').position.filter((_, i) => i % 3 === 2);
    expect(Math.min(...height)).to.be.above(0.2);
    expect(Math.max(...height)).to.be.below(1);
    const [right, left] = ['right', 'left'].map(name => system.pose(path, name).position);
    expect(largest(right.map((value, i) => (i % 3 === 2 ? value - left[i] : value + left[i])))).to.be.below(1e-8);
  });
});
