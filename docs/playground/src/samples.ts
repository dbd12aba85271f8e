/** Records to begin with, each with a model that fits it. */
import record from '../../../cli/templates/record.csv?raw';

export interface Sample {
  readonly name: string;
  readonly csv: string;
  readonly code: string;
}

const spring = `// A mass on a damped spring. Change a guess or a force, and fit again.
import {mechanics} from 'stiffgrad';
import {damper, spring, withFigure} from 'stiffgrad/models';
import {positive} from 'stiffgrad/training';
import * as tf from '@tensorflow/tfjs';

const system = mechanics({
  mass: 1, // kg
  forces: [spring({stiffness: ({k}) => k}), damper({coefficient: ({c}) => c})],
});

export default {
  // How it is drawn: the mass, and a wall 0.3 m away.
  system: withFigure(system, {
    points: ({q}) => tf.tensor2d([[q.dataSync()[0], 0], [-0.3, 0]]),
    springs: [[1, 0]],
    fixed: [1],
  }),
  initial: {q: 0.1, v: 0}, // m, m/s
  options: {dt: 0.0025},
  parameters: {k: positive(30), c: positive(1)}, // the guesses: N/m, N·s/m
  timeUnit: 's',
};
`;

const lynx = `// Lotka and Volterra's predators and prey, in logarithms: a catch is off by a factor.
import * as tf from '@tensorflow/tfjs';
import {ode, tsit5} from 'stiffgrad';
import {free, positive} from 'stiffgrad/training';

const system = ode(({y, params: {growth, predation, decline, reproduction}}) => {
  const [hare, lynx] = tf.unstack(tf.exp(y));
  return tf.stack([
    tf.sub(growth, tf.mul(predation, lynx)),
    tf.sub(tf.mul(reproduction, hare), decline),
  ]);
});

export default {
  system,
  initial: {y: [3.4, 1.4]},
  options: {dt: 0.25, scheme: tsit5()},
  parameters: {
    growth: positive(0.5), // of hares, 1/year
    predation: positive(0.03),
    decline: positive(0.8), // of lynx, 1/year
    reproduction: positive(0.03),
    'initial.y': free([3.4, 1.4]), // the first catch is no more exact than others
  },
  timeUnit: 'years after 1900',
  data: table => {
    const [hare, lynx] = [table.column('hare'), table.column('lynx')];
    return {
      t: table.column('year').map(year => year - 1900),
      y: [...hare].map((value, i) => [Math.log(value), Math.log(lynx[i])]),
    };
  },
};
`;

/** Pelts in thousands, Hudson's Bay Company (Howard, Modeling Basics, 2009). */
const hare = [
  30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7,
];
const lynxes = [
  4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
];

export const samples: readonly Sample[] = [
  {
    name: 'A mass on a damped spring (made, with 0.5 mm of noise)',
    csv: record,
    code: spring,
  },
  {
    name: "Lynx and hare, 1900 to 1920 (Hudson's Bay Company)",
    csv: `year,hare,lynx\n${hare.map((value, i) => `${1900 + i},${value},${lynxes[i]}`).join('\n')}\n`,
    code: lynx,
  },
];
