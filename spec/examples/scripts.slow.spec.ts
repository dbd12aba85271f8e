/**
 * The scripts in a short form: each makes its own data and finds what it hid; each runs as a program. Where the measured
 * records are, parts of them are held against the numbers published for them.
 */
import {execFile} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {expect} from 'chai';
import * as burgers from '../../examples/burgers.js';
import * as latentSde from '../../examples/latent-sde.js';
import * as lynxHare from '../../examples/lynx-hare.js';
import * as pendulum from '../../examples/pendulum.js';
import * as silverbox from '../../examples/silverbox.js';
import * as blackBox from '../../examples/silverbox-black-box.js';
import * as spiralClasses from '../../examples/spiral-classes.js';
import * as twoMoons from '../../examples/two-moons.js';
import {elementsOf} from '../training/well-formed.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const record = (name: string): string => fileURLToPath(new URL(`../../../shared/measured/${name}`, import.meta.url));
const show = {fit: (): void => {}, train: (): void => {}};

/** A test of a measured record, left out where the record is not here. */
function measured(name: string, file: string, check: (path: string) => Promise<void>): void {
  it(name, async function () {
    if (!existsSync(record(file))) {
      console.log(`      skipped: ${file} is not here`);
      return this.skip();
    }
    await check(record(file));
  });
}

describe('the scripts', function () {
  this.timeout(120_000);

  describe('as programs', () => {
    let place: string;
    before(async () => {
      place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-scripts-'));
    });
    after(() => rm(place, {recursive: true}));

    const mains = {
      silverbox,
      'silverbox-black-box': blackBox,
      pendulum,
      'lynx-hare': lynxHare,
      'latent-sde': latentSde,
      'spiral-classes': spiralClasses,
      'two-moons': twoMoons,
      burgers,
    };
    for (const [name, {main}] of Object.entries(mains)) {
      it(`${name}, short: writes its page`, async () => {
        const page = path.join(place, `${name}.html`);
        const said: string[] = [];
        const {log} = console;
        console.log = (text: string) => said.push(text);
        try {
          await main({report: page, short: true});
        } finally {
          console.log = log;
        }
        expect(said.join()).to.include(`Report: ${page}`);
        expect(elementsOf(await readFile(page, 'utf8')).filter(element => element === 'svg').length).to.be.at.least(1);
      });
    }

    it('take their arguments from the command line, and end with an error where the record is not there', async () => {
      const program = [path.join(root, 'examples', 'silverbox.ts'), '--report', path.join(place, 'page.html')];
      const run = (...more: string[]): Promise<{stdout: string; stderr: string; code?: number}> =>
        promisify(execFile)(process.execPath, ['--import', 'tsx', ...program, ...more], {cwd: root}).catch(
          (error: {stdout: string; stderr: string; code: number}) => error,
        );
      expect((await run('--help')).stdout).to.include('npx tsx examples/silverbox.ts [record]');
      const {code, stderr} = await run('nowhere.csv');
      expect(code).to.equal(1);
      expect(stderr).to.match(/DataError: nowhere\.csv cannot be read: there is no such file\..*\n$/);
    });
  });

  describe('silverbox', () => {
    it('finds the parameters of its own record, and the network what they miss', async () => {
      const {physics, hybrid} = await silverbox.compare(
        silverbox.made(2000),
        {physics: 1500, hybrid: 1500, iterations: 15},
        show,
      );
      // An uneven spring remains, a few mV; the noise is 0.1 mV.
      expect(physics.multisine).to.be.within(1e-3, 8e-3);
      expect(hybrid.multisine).to.be.below(physics.multisine / 3);
    });

    measured('meets the measured circuit better than 0.960 mV and 1.000 mV', 'silverbox/SNLS80mV.csv', async file => {
      const {physics, hybrid} = await silverbox.compare(
        await silverbox.measured(file),
        {physics: 10_000, hybrid: 3000, iterations: 20},
        show,
      );
      expect(physics.multisine).to.be.at.most(0.96e-3);
      expect(physics.arrow).to.be.at.most(1e-3);
      expect(hybrid.multisine).to.be.below(physics.multisine);
    });
  });

  describe('pendulum', () => {
    it('finds what its own swings were made with', async () => {
      const swings = pendulum.made(3, 1);
      const found = await pendulum.identifyPendulum(swings);
      for (const name of ['coupling', 'inertia', 'upperWeight', 'lowerWeight'] as const) {
        const [value, error] = [found.estimate[name] as number, found.standardError[name] as number];
        expect(Math.abs(value - pendulum.truth[name]), name).to.be.below(4 * error);
        expect(error).to.be.below(1e-3 * value);
      }
      // The noise is 1 mrad.
      pendulum.meanErrors(swings, found).forEach(error => expect(error).to.be.within(0.8e-3, 1.2e-3));
      for (const trajectory of found.trajectories) trajectory.dispose();
    });

    measured(
      "meets the measured swings better than the published model's 8.1 and 11.0 mrad",
      'pendulum/double.csv',
      async file => {
        const swings = (await pendulum.measured(file, 20)).slice(0, 3);
        const found = await pendulum.identifyPendulum(swings);
        const [upper, lower] = pendulum.meanErrors(swings, found);
        expect(upper).to.be.at.most(8.1e-3);
        expect(lower).to.be.at.most(11e-3);
        for (const trajectory of found.trajectories) trajectory.dispose();
      },
    );
  });

  describe('lynx-hare', () => {
    it('finds the rates of its own populations within their errors', async () => {
      const found = await lynxHare.identifyRates(lynxHare.made());
      for (const [name, value] of Object.entries(lynxHare.published))
        expect(Math.abs((found.estimate[name] as number) - value), name).to.be.below(
          3 * (found.standardError[name] as number),
        );
      found.trajectory.dispose();
    });

    measured(
      'finds the published rates in the measured years, with errors of a tenth',
      'lynx-hare/hudson-bay-lynx-hare.csv',
      async file => {
        const populations = await lynxHare.measured(file);
        const found = await lynxHare.identifyRates(populations);
        for (const [name, value] of Object.entries(lynxHare.published)) {
          const [estimate, error] = [found.estimate[name] as number, found.standardError[name] as number];
          expect(Math.abs(estimate - value), name).to.be.below(error);
          expect(error / estimate, name).to.be.within(0.05, 0.2);
        }
        const {path: neural} = await lynxHare.trainNeuralOde(populations, 1);
        const charts = lynxHare.figure(populations, found.trajectory.values('y'), neural);
        expect(charts.map(({title}) => title)).to.deep.equal(['Hare', 'Lynx']);
        expect(Math.max(...Array.from(charts[0].series[1].y))).to.be.within(60, 110);
        found.trajectory.dispose();
      },
    );
  });

  it('latent-sde: the bound is just below that of a Kalman filter; the posterior is the smoother', async () => {
    const {bound, likelihood, mean, smoothed, deviations} = await latentSde.trained(latentSde.made(8, 5), 400, 32);
    expect(bound.mean).to.be.below(likelihood + 3 * bound.error);
    expect(bound.mean).to.be.above(likelihood - 1.5);
    mean.forEach((z, k) => expect(Math.abs(z - smoothed[k]) / deviations[k]).to.be.below(1));
  });

  it('spiral-classes: which way spirals turn, from sixteen irregular times', async () => {
    const {accuracy} = await spiralClasses.classified(
      spiralClasses.made(128, 16, 1),
      spiralClasses.made(128, 16, 2),
      6,
    );
    expect(accuracy).to.be.at.least(0.98);
  });

  it('burgers: a stencil that is learnt from solutions in closed form beats central differences on others', async () => {
    const [data, held] = [burgers.solutions(32, 1), burgers.solutions(32, 2)];
    const {kernel} = await burgers.learnt(data, 60);
    const [second, fourth] = ([2, 4] as const).map(order => burgers.errorOf(burgers.central(order), held));
    expect(fourth).to.be.below(second);
    expect(burgers.errorOf(kernel, held)).to.be.below(fourth / 2);
    // Derivatives of a constant are zero, of x one, of x² two, nearly: the weights have been found, not given.
    const h = (2 * Math.PI) / burgers.points;
    const moment = (d: number, power: number): number =>
      [-2, -1, 0, 1, 2].reduce((sum, at, i) => sum + kernel[2 * i + d] * (at * h) ** power, 0);
    expect(moment(0, 1)).to.be.closeTo(1, 0.1);
    expect(moment(1, 2) / 2).to.be.closeTo(1, 0.2);
  });

  for (const estimated of [false, true]) {
    it(`two-moons, with ${estimated ? "Hutchinson's traces" : 'exact traces'}: a density of mass 1 ± 0.01`, async () => {
      const {mass, surprise, network} = await twoMoons.learnt(twoMoons.made(1000, 1), twoMoons.made(1000, 2), {
        steps: 100,
        estimated,
        cells: 80,
      });
      expect(mass).to.be.within(0.99, 1.01);
      // A normal density with the points' own mean and spread has 2.8.
      expect(surprise).to.be.below(2.4);
      network.dispose();
    });
  }
});
