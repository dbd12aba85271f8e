/** A double pendulum identified by rigid bodies in maximal coordinates, against the same by two angles. */
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';
import {byAngles, byBodies, placed} from '../../examples/pendulum-bodies.js';
import {made, measured, type Swing} from '../../examples/pendulum.js';

const record = fileURLToPath(new URL('../../../shared/measured/pendulum/double.csv', import.meta.url));
const short = (all: readonly Swing[]): Swing[] =>
  all.slice(0, 2).map(({name, t, q, start}) => ({name, t: t.slice(0, 25), q: q.slice(0, 25), start}));

/** Both schemes are of second order, each in its own coordinates: they differ by a share of the step squared. */
async function alike(swings: readonly Swing[]): Promise<void> {
  const [one, other] = [await byAngles(swings), await byBodies(swings)];
  for (const [name, error] of Object.entries(one.standardError)) {
    const apart = Math.abs((one.estimate[name] as number) - (other.estimate[name] as number));
    expect(apart, name).to.be.below(0.1 * (error as number));
    expect(other.standardError[name] as number, name).to.be.closeTo(error as number, 0.02 * (error as number));
  }
  expect(other.cost).to.be.closeTo(one.cost, 2e-3 * one.cost);
  for (const {trajectories} of [one, other]) for (const trajectory of trajectories) trajectory.dispose();
}

describe('a double pendulum by bodies', function () {
  this.timeout(120_000);

  it('lies where its angles say', () => {
    const {q, v} = placed([Math.PI / 2, Math.PI], [1, 2]);
    [0.7, 0, -0.5].forEach((x, i) => expect(q[1][i]).to.be.closeTo(x, 1e-15));
    [-1, 0, -0.7].forEach((x, i) => expect(v[1][i]).to.be.closeTo(x, 1e-15));
  });

  it('is found in made swings as exactly as by angles', () => alike(short(made(2, 0.3))));

  it('is found in the measured swings as exactly as by angles', async function () {
    if (!existsSync(record)) {
      console.log('      skipped: pendulum/double.csv is not here');
      this.skip();
    }
    await alike(short(await measured(record, 10)));
  });
});
