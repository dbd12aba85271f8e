/** The gallery: systems with parameters on sliders, with what is drawn of them. */
import {
  backtracking,
  bdf2,
  newton,
  ode,
  radauIIA5,
  trapezoid,
  type Params,
  type SimulateOptions,
  type System,
} from 'stiffgrad';
import {box, cloth, loads, mapped, materials, obstacles, rod, solid, supports, type Body} from 'stiffgrad/fem';
import {chain, doublePendulum, pendulum, springMesh, withFigure} from 'stiffgrad/models';
import {bodyFigure} from 'stiffgrad/plot';
import * as tf from '@tensorflow/tfjs';
import type {SceneCard, Slider} from './messages.js';

type Values = {readonly [name: string]: number};

export interface Scene extends SceneCard {
  readonly make: (values: Values) => {
    readonly system: System;
    readonly initial: object;
    readonly options: SimulateOptions;
  };
  /** What of the state is drawn: its place and its name. */
  readonly shown: {
    readonly series: 'q' | 'y';
    readonly component: number;
    readonly label: string;
    readonly unit: string;
  };
}

/** A hundred steps or so of a round length; the ends lie on the grid that the first value lies on. */
function slider(
  name: string,
  label: string,
  unit: string,
  [low, value, high]: readonly [number, number, number],
): Slider {
  const step = Number(((high - low) / 100).toPrecision(1));
  const [below, above] = [Math.floor((value - low) / step), Math.floor((high - value) / step)];
  const round = (x: number): number => Number(x.toPrecision(10));
  return {name, label, unit, min: round(value - below * step), max: round(value + above * step), value, step};
}

const at = (name: string) => (params: {readonly [name: string]: unknown}) => params[name] as tf.Tensor;

const net = springMesh({
  rows: 5,
  columns: 5,
  dimension: 3,
  spacing: 0.25,
  held: 'corners',
  stiffness: at('stiffness'),
  mass: 0.05,
  damping: 0.05,
  drag: at('drag'),
  g: 9.81,
});

const softBeam = solid({
  mesh: box([4, 1], [8, 2], 'quad8'),
  material: materials.neoHookean({E: at('E'), nu: 0.3}),
  density: 1,
  supports: [supports.held('left')],
  loads: [loads.gravity(({params}) => tf.mul(at('g')(params), [0, -1]))],
});
const stressedBeam = withFigure(
  softBeam,
  bodyFigure(softBeam, {
    field: {values: state => softBeam.stress('vonMises', state), name: 'von Mises stress', unit: 'Pa'},
  }),
);

const strip = rod({
  centreline: Array.from({length: 17}, (_, i) => [i / 16, 0]),
  EA: 1000,
  EI: at('EI'),
  density: 1,
  supports: [supports.held('start')],
  loads: [loads.pointMoment('end', ({t, params}) => tf.mul(at('moment')(params), tf.clipByValue(t, 0, 1)))],
  damping: {mass: 8},
});

const sheet = cloth({
  mesh: mapped(box([1, 1], [6, 6], 'tri3'), ([x, y]) => [x, y, 0]),
  thickness: 5e-4,
  E: at('E'),
  nu: 0.3,
  bending: at('bending'),
  density: 400,
  supports: [supports.held(([x, y]) => y === 1 && (x === 0 || x === 1))],
  loads: [loads.gravity([0, 0, -9.81])],
  damping: {mass: 3},
});

const radius = 0.5;
const centre = (params: Params): tf.Tensor => tf.stack([tf.scalar(2.2), at('height')(params)]);
const touch = loads.contact('bottom', {
  with: obstacles.ball({centre: ({params}) => centre(params), radius}),
  reach: 0.02,
  stiffness: 25_000,
});
const finger = solid({
  mesh: box([3, 0.3], [12, 1], 'quad8'),
  material: materials.neoHookean({E: at('E'), nu: 0.3}),
  density: 1,
  supports: [supports.held('left')],
  loads: [loads.pressure('top', ({t, params}) => tf.mul(at('pressure')(params), tf.clipByValue(t, 0, 1))), touch],
  damping: {mass: 4},
});
const fingerFigure = bodyFigure(finger, {
  field: {values: state => finger.stress('vonMises', state), name: 'von Mises stress', unit: 'Pa'},
});
const corners = 1 + Math.max(...fingerFigure.faces!.flat());
/** The finger, and the ball as one more point. */
const touching = withFigure(finger, {
  ...fingerFigure,
  points: state => tf.concat([fingerFigure.points(state), tf.reshape(centre(state.params), [1, 2])]),
  radius: [...Array<number>(corners).fill(0), radius],
  field: {...fingerFigure.field!, values: state => tf.pad(fingerFigure.field!.values(state), [[0, 1]])},
});

/** The place in q of a value of the node at a point: of its displacement by axis first. */
function componentAt(
  {mesh, free}: Body,
  point: readonly number[],
  component: number,
  components = point.length,
): number {
  const d = mesh.dimension;
  const nodes = Array.from({length: mesh.points.length / d}, (_, node) => node);
  const node = nodes.find(i => point.every((x, k) => mesh.points[d * i + k] === x))!;
  return free.indexOf(components * node + component);
}

export const scenes: readonly Scene[] = [
  {
    id: 'pendulum',
    title: 'A pendulum',
    text: 'Longer is slower: the curve moves to the right, more with every swing, and so the derivative grows in time.',
    sliders: [
      slider('length', 'Length', 'm', [0.3, 1, 3]),
      slider('damping', 'Damping of the hinge', 'N·m·s', [0.05, 0.2, 1]),
      slider('g', 'Gravity', 'm/s²', [1.6, 9.81, 25]),
    ],
    make: values => ({
      system: pendulum({length: at('length'), damping: at('damping'), g: at('g')}),
      initial: {q: 2, v: 0},
      options: {dt: 0.02, t1: 8, params: values},
    }),
    shown: {series: 'q', component: 0, label: 'angle', unit: 'rad'},
  },
  {
    id: 'double',
    title: 'A double pendulum',
    text: 'Chaos: derivatives grow by a factor with every swing, until they say nothing about a change that one can see.',
    sliders: [
      slider('first', 'First length', 'm', [0.5, 1, 1.5]),
      slider('second', 'Second length', 'm', [0.3, 0.8, 1.5]),
      slider('damping', 'Damping', 'N·m·s', [0.02, 0.05, 1]),
    ],
    make: values => ({
      system: doublePendulum({
        lengths: params => tf.stack([at('first')(params), at('second')(params)]),
        damping: at('damping'),
      }),
      initial: {q: [2, 2.4], v: [0, 0]},
      options: {dt: 0.01, t1: 6, params: values},
    }),
    shown: {series: 'q', component: 1, label: 'second angle', unit: 'rad'},
  },
  {
    id: 'chain',
    title: 'A chain of eight masses',
    text: 'A pluck at the free end runs to the wall and back; stiffness sets its speed.',
    sliders: [
      slider('stiffness', 'Stiffness', 'N/m', [20, 80, 400]),
      slider('damping', 'Damping of the springs', 'N·s/m', [0.05, 0.3, 3]),
    ],
    make: values => ({
      system: chain({count: 8, stiffness: at('stiffness'), damping: at('damping')}),
      initial: {q: [0, 0, 0, 0, 0, 0, 0, 0.5], v: [0, 0, 0, 0, 0, 0, 0, 0]},
      options: {dt: 0.02, t1: 6, params: values},
    }),
    shown: {series: 'q', component: 7, label: 'last mass', unit: 'm'},
  },
  {
    id: 'net',
    title: 'A net that sags',
    text: 'A net of five by five knots, held at its corners, falls from flat; its middle is drawn.',
    sliders: [
      slider('stiffness', 'Stiffness', 'N/m', [10, 40, 200]),
      slider('drag', 'Drag of the air', 'N·s/m', [0.01, 0.03, 0.3]),
    ],
    make: values => ({
      system: net,
      initial: {q: net.positions, v: net.positions.map(row => row.map(() => 0))},
      options: {dt: 0.02, t1: 4, params: values},
    }),
    shown: {series: 'q', component: middle(net.positions), label: 'height of the middle', unit: 'm'},
  },
  {
    id: 'beam',
    title: 'A soft beam that falls',
    text: 'Finite elements of a rubber-like beam, held at its left end and let go; colours are stresses.',
    sliders: [slider('E', "Young's modulus", 'Pa', [800, 1500, 4000]), slider('g', 'Gravity', 'm/s²', [1.6, 9.81, 12])],
    make: values => ({
      system: stressedBeam,
      initial: stressedBeam.start,
      options: {dt: 0.02, t1: 1.2, scheme: trapezoid(), params: values},
    }),
    shown: {series: 'q', component: componentAt(softBeam, [4, 0], 1), label: 'height of the tip', unit: 'm'},
  },
  {
    id: 'rod',
    title: 'A rod that rolls up',
    text: 'A moment at its free end grows for a second; with 2π times the stiffness by the length it becomes a ring.',
    sliders: [slider('moment', 'Moment', 'N·m', [1, 6.3, 9]), slider('EI', 'Bending stiffness', 'N·m²', [0.8, 1, 3])],
    make: values => ({
      system: strip,
      initial: strip.start,
      options: {dt: 0.02, t1: 2, scheme: bdf2(), params: values},
    }),
    shown: {series: 'q', component: componentAt(strip, [1, 0], 1, 3), label: 'height of the end', unit: 'm'},
  },
  {
    id: 'cloth',
    title: 'A cloth that hangs',
    text: 'A square of cloth, held at two corners and let go from flat.',
    sliders: [
      slider('bending', 'Bending stiffness', 'N·m', [5e-5, 2e-4, 2e-3]),
      slider('E', "Young's modulus", 'Pa', [1e4, 5e4, 2e5]),
    ],
    make: values => ({
      system: sheet,
      initial: sheet.start,
      options: {dt: 0.05, t1: 2, scheme: bdf2(), params: values},
    }),
    shown: {series: 'q', component: componentAt(sheet, [0.5, 0, 0], 2), label: 'height of the free edge', unit: 'm'},
  },
  {
    id: 'finger',
    title: 'A soft finger that touches',
    text: 'A pressure on its back bends the finger onto a ball; colours are stresses.',
    sliders: [
      slider('pressure', 'Pressure', 'Pa', [2, 20, 40]),
      slider('E', "Young's modulus", 'Pa', [5000, 10_000, 30_000]),
      slider('height', 'Height of the ball', 'm', [-1.2, -0.9, -0.6]),
    ],
    make: values => ({
      system: touching,
      initial: finger.start,
      options: {dt: 0.05, t1: 3, scheme: bdf2(), newton: newton({step: backtracking()}), params: values},
    }),
    shown: {series: 'q', component: componentAt(finger, [3, 0], 1), label: 'height of the tip', unit: 'm'},
  },
  {
    id: 'vanderpol',
    title: "Van der Pol's oscillator, stiff",
    text: 'Long slow arcs and quick jumps, by an implicit method of order 5 whose steps are not bounded by the jumps.',
    sliders: [slider('mu', 'Stiffness μ', '', [0.5, 8, 40])],
    make: values => ({
      system: ode(({y, params}) => {
        const [position, velocity] = tf.unstack(y);
        return tf.stack([
          velocity,
          tf.sub(tf.mul(at('mu')(params), tf.mul(tf.sub(1, tf.square(position)), velocity)), position),
        ]);
      }),
      initial: {y: [2, 0]},
      options: {dt: 0.05, t1: 40, scheme: radauIIA5(), params: values},
    }),
    shown: {series: 'y', component: 0, label: 'y', unit: ''},
  },
];

/** The height of the knot that is nearest to the middle, in row-major order. */
function middle(positions: readonly (readonly number[])[]): number {
  const centre = [0, 1].map(axis => positions.reduce((sum, row) => sum + row[axis], 0) / positions.length);
  const distance = positions.map(([x, y]) => Math.hypot(x - centre[0], y - centre[1]));
  return 3 * distance.indexOf(Math.min(...distance)) + 2;
}
