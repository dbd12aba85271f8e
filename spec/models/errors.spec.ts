/** What models refuse, each with its code, when they are built or when they are traced. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ForceTerm, StiffgradError} from '../../lib/index.js';
import {mechanics, OptionError, ShapeError, simulate} from '../../lib/index.js';
import type {Edge, SpringLaw} from '../../models/index.js';
import {
  chain,
  damper,
  doublePendulum,
  drivenBy,
  gravity,
  mechanicalEnergy,
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
import {cables, contacts, planeContact, distanceConstraints} from '../../models/links.js';
import {coulomb, stribeck} from '../../models/friction.js';
import {dampers, springs} from '../../models/springs.js';
import {edgeLengths} from '../../models/edges.js';
import {fourBars, rodChain, sliderCrank} from '../../models/linkages.js';
import {lumpedMass} from '../../models/planar-bodies.js';
import {valueOf} from './evaluate.js';

type Failure = [code: string, error: typeof StiffgradError, run: () => unknown];

const line = {q: [1, 2, 3], v: [0, 0, 0]};
const space = {
  q: [
    [1, 2],
    [3, 4],
    [5, 7],
  ],
  v: [
    [0, 0],
    [0, 0],
    [0, 0],
  ],
};
const traced = (term: ForceTerm, state: typeof line | typeof space = line): unknown => valueOf(term, state);
const edges = [
  [0, 1],
  [1, 2],
] as const;
const missing = undefined as unknown as number;

const failures: {readonly [what: string]: Failure} = {
  'a stiffness that is missing': ['bad-spring', OptionError, () => spring({} as {stiffness: number})],
  'a stiffness and a law': [
    'bad-spring',
    OptionError,
    () => spring({stiffness: 1, law: {tension: (e: tf.Tensor) => e, energy: (e: tf.Tensor) => e}}),
  ],
  'half a law': [
    'bad-spring',
    OptionError,
    () => spring({law: {tension: (e: tf.Tensor) => e} as unknown as SpringLaw}),
  ],
  'a stiffness that is not a number': ['bad-coefficient', OptionError, () => spring({stiffness: NaN})],
  'one of several that is infinite': ['bad-coefficient', OptionError, () => spring({stiffness: [1, Infinity]})],
  'a damping that is missing': ['bad-coefficient', OptionError, () => damper({coefficient: missing})],
  'a damper between particles that is negative': [
    'bad-coefficient',
    OptionError,
    () => dampers({edges, coefficient: [1, -1]}),
  ],
  'a friction force that is negative': ['bad-coefficient', OptionError, () => coulomb({force: -1, velocityScale: 1})],
  'a velocity scale of zero': ['bad-coefficient', OptionError, () => coulomb({force: 1, velocityScale: 0})],
  'a Stribeck velocity of zero': [
    'bad-coefficient',
    OptionError,
    () => stribeck({coulomb: 1, static: 2, stribeckVelocity: 0, velocityScale: 1}),
  ],
  'a negative β': ['bad-coefficient', OptionError, () => rayleigh({mass: 1, elastic: [], beta: -1})],
  'a pendulum without length': ['bad-coefficient', OptionError, () => pendulum({length: 0})],
  'a pendulum of negative mass': ['bad-coefficient', OptionError, () => doublePendulum({lengths: 1, masses: [1, -1]})],
  'a chain of massless masses': ['bad-coefficient', OptionError, () => chain({count: 3, stiffness: 1, mass: 0})],
  'a function that reads a parameter that is not there': [
    'bad-coefficient',
    OptionError,
    () => traced(spring({stiffness: params => params.k as tf.Tensor})),
  ],
  'a coefficient written as a force': [
    'bad-coefficient',
    OptionError,
    () => traced(spring({stiffness: (({params}: {params: {k: tf.Tensor}}) => params.k) as never})),
  ],
  'a coefficient of another length': ['coefficient-shape', ShapeError, () => traced(spring({stiffness: [1, 2]}))],
  'a coefficient with more axes than q': [
    'coefficient-shape',
    ShapeError,
    () => traced(damper({coefficient: [[1, 2, 3]]})),
  ],
  'a stiffness too many for the edges': [
    'coefficient-shape',
    ShapeError,
    () => traced(springs({edges, stiffness: [1, 2, 3], restLength: 1}), space),
  ],
  'a stiffness too many for the edges, rest length 0': [
    'coefficient-shape',
    ShapeError,
    () => traced(springs({edges, stiffness: [1, 2, 3]}), space),
  ],
  'a rest length too many': [
    'coefficient-shape',
    ShapeError,
    () => traced(springs({edges, stiffness: 1, restLength: [1, 2, 3]}), space),
  ],
  'a friction force too many': [
    'coefficient-shape',
    ShapeError,
    () => traced(coulomb({force: [1, 2], velocityScale: 1})),
  ],
  'a g with direction': [
    'coefficient-shape',
    ShapeError,
    () => traced(gravity({mass: 1, g: [0, 0, -9.81], direction: 1})),
  ],
  'a direction of another dimension': [
    'coefficient-shape',
    ShapeError,
    () => traced(gravity({mass: 1, direction: [0, 0, -1]}), space),
  ],
  'a gain of another length': ['coefficient-shape', ShapeError, () => traced(drivenBy(t => t, {gain: [1, 2]}))],
  'a history with more axes than q': [
    'coefficient-shape',
    ShapeError,
    () => traced(drivenBy(harmonicDrive({amplitude: [[1], [2]], frequency: 1}))),
  ],
  'a mass of another length for gravity': [
    'mass-shape',
    ShapeError,
    () => traced(gravity({mass: [1, 2], direction: 1})),
  ],
  'a mass of another length for the energy': [
    'mass-shape',
    ShapeError,
    () => traced(mechanicalEnergy(mechanics({mass: [1, 2], forces: []}))),
  ],
  'an edge to itself': [
    'bad-edge',
    OptionError,
    () =>
      springs({
        edges: [
          [0, 1],
          [1, 1],
        ],
        stiffness: 1,
      }),
  ],
  'an edge to a negative particle': ['bad-edge', OptionError, () => springs({edges: [[0, -1]], stiffness: 1})],
  'an edge to half a particle': ['bad-edge', OptionError, () => springs({edges: [[0, 0.5]], stiffness: 1})],
  'an edge of three': ['bad-edge', OptionError, () => springs({edges: [[0, 1, 2] as unknown as Edge], stiffness: 1})],
  'no edges': ['bad-edge', OptionError, () => springs({edges: [], stiffness: 1})],
  'an edge past the particles': [
    'edge-out-of-range',
    OptionError,
    () =>
      traced(
        springs({
          edges: [
            [0, 1],
            [1, 3],
          ],
          stiffness: 1,
        }),
      ),
  ],
  'an edge past the fixed points': [
    'edge-out-of-range',
    OptionError,
    () => traced(dampers({edges: [[0, 4]], coefficient: 1, fixed: [0]})),
  ],
  'an edge past the points measured': ['edge-out-of-range', OptionError, () => edgeLengths([[0, 0]], [[0, 1]])],
  'fixed points of another dimension': [
    'fixed-shape',
    ShapeError,
    () => traced(springs({edges, stiffness: 1, fixed: [[0, 0, 0]]}), space),
  ],
  'fixed points on a line for particles in space': [
    'fixed-shape',
    ShapeError,
    () => traced(springs({edges, stiffness: 1, fixed: [0, 0]}), space),
  ],
  'particles that are one number': [
    'particles-shape',
    ShapeError,
    () => valueOf(springs({edges, stiffness: 1}), {q: 1, v: 1}),
  ],
  'a chain of no masses': ['bad-option', OptionError, () => chain({count: 0, stiffness: 1})],
  'a chain of −2 masses': ['bad-option', OptionError, () => chain({count: -2, stiffness: 1})],
  'a free chain of one mass': ['bad-option', OptionError, () => chain({count: 1, stiffness: 1, ends: 'free'})],
  'ends that are not there': [
    'bad-option',
    OptionError,
    () => chain({count: 1, stiffness: 1, ends: 'loose' as 'free'}),
  ],
  "a state that is not the chain's": [
    'chain-shape',
    ShapeError,
    () => simulate(chain({count: 4, stiffness: 1}), line, {dt: 1, steps: 1}),
  ],
  'a chain with stiffnesses of another number': [
    'coefficient-shape',
    ShapeError,
    () => simulate(chain({count: 3, stiffness: [1, 2]}), line, {dt: 1, steps: 1}),
  ],
  'a mesh with masses of another number': [
    'coefficient-shape',
    ShapeError,
    () =>
      simulate(
        springMesh({rows: 1, columns: 3, stiffness: 1, mass: [1, 2], held: []}),
        {
          q: [
            [0, 0, 0],
            [1, 0, 0],
            [2, 0, 0],
          ],
          v: [
            [0, 0, 0],
            [0, 0, 0],
            [0, 0, 0],
          ],
        },
        {dt: 1, steps: 1},
      ),
  ],
  'a ramp without time': ['bad-option', OptionError, () => rampDrive({start: 1, end: 1})],
  'a ramp that never ends': ['bad-option', OptionError, () => rampDrive({end: Infinity})],
  'a history that forgets to return': [
    'bad-coefficient',
    OptionError,
    () => traced(drivenBy(() => undefined as unknown as tf.Tensor)),
  ],
  'a drive that is a number': ['bad-drive', OptionError, () => drivenBy(3 as unknown as () => tf.Tensor)],
};

describe('models refuse', () => {
  for (const [what, [code, error, run]] of Object.entries(failures)) {
    it(`${what}: ${code}`, () => {
      const before = tf.memory().numTensors;
      expect(run).to.throw(error).with.property('code', code);
      expect(tf.memory().numTensors).to.equal(before);
    });
  }

  // One misspelt word in each: a default in silence would be another model.
  const misspelt: {readonly [meant: string]: readonly [typo: string, run: (spec: never) => unknown]} = {
    count: ['cuont', chain],
    damping: ['dampin', doublePendulum],
    length: ['lenght', pendulum],
    rest: ['rst', spring],
    stiffness: ['stifness', springs],
    coefficient: ['coeficient', damper],
    fixed: ['fixd', dampers],
    gain: ['gian', spec => drivenBy(() => tf.scalar(0), spec)],
    frequency: ['freqency', harmonicDrive],
    end: ['ennd', rampDrive],
    velocityScale: ['velocityscale', coulomb],
    viscous: ['viscos', stribeck],
    direction: ['direktion', gravity],
    alpha: ['alhpa', rayleigh],
    seed: ['sed', mlp],
    held: ['helt', springMesh],
    scale: ['scal', spec => neuralForce(x => x, spec)],
    shared: ['share', spec => neuralPotential(x => x, spec)],
    inputs: ['input', spec => neuralDissipation(x => x, spec)],
    inertia: ['inertai', lumpedMass],
    compliance: ['complience', distanceConstraints],
    smoothing: ['smothing', cables],
    distance: ['distanz', contacts],
    offset: ['ofset', planeContact],
    links: ['lnks', rodChain],
    windows: ['window', fourBars],
    crank: ['krank', sliderCrank],
  };
  for (const [meant, [typo, run]] of Object.entries(misspelt)) {
    it(`${typo} for ${meant}`, () => {
      expect(() => run({[typo]: 1} as never))
        .to.throw(OptionError, `Did you mean '${meant}'?`)
        .with.property('code', 'unknown-option');
    });
  }

  it('naming the place: the edge, its ends, and how many there are', () => {
    expect(() =>
      traced(
        springs({
          edges: [
            [0, 1],
            [1, 7],
          ],
          stiffness: 1,
        }),
        line,
      ),
    )
      .to.throw(OptionError, /edge 1 is \[1, 7\].*3 particles and 0 fixed points/)
      .with.property('data')
      .that.includes({edge: 1, particles: 3, fixed: 0});
  });
});
