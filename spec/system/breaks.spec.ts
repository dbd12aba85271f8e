/** Where functions of time are not smooth: held inputs read at shifted times, and outside of steps. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, event, kvaerno5, ode, rk4, signal, simulate, tsit5} from '../../lib/index.js';

describe('a held input at a time of its own', () => {
  const u = signal([0, 1, 2], [0, 3, 0], 'hold');
  // ∫ u(at(t)) dt: 3 times the length for which the input is 3.
  const cases: readonly (readonly [string, (t: tf.Tensor) => tf.Tensor, readonly [number, number]])[] = [
    ['t − 0.3', t => tf.sub(t, 0.3), [1.3, 2.3]],
    ['t + 0.25', t => tf.add(t, 0.25), [0.75, 1.75]],
    ['2t', t => tf.mul(t, 2), [0.5, 1]],
    ['3 − t', t => tf.sub(3, t), [1, 2]],
    ['t', t => t, [1, 2]],
  ];
  for (const [name, at, ends] of cases) {
    for (const scheme of [tsit5(), kvaerno5()]) {
      it(`adaptive steps end where it jumps: ${name}, ${scheme.name}`, () => {
        const run = simulate(
          ode(({y, t}) => tf.add(tf.mul(0, y), u.at(at(t)))),
          {y: 0},
          {scheme, dt: 0.1, t1: 2.7, control: adaptive({rtol: 1e-8, atol: 1e-10})},
        );
        expect([...run.values('t')]).to.include.members([...ends]);
        expect(run.values('y').at(-1)).to.be.closeTo(3 * (ends[1] - ends[0]), 1e-12);
        expect(run.stats.rejectedSteps).to.equal(0);
        run.dispose();
      });
    }
  }

  it('jumps at its sample and not before, in observe and for events', () => {
    const still = ode(({y}) => tf.zerosLike(y));
    const begin = 1 - 5e-7;
    const run = simulate(
      still,
      {y: 0, t: begin},
      {scheme: rk4(), dt: 1e-7, steps: 10, observe: ({t}) => u.at(t), events: []},
    );
    const first = run.values('observed').indexOf(3);
    expect(run.values('t')[first]).to.be.closeTo(1, 1e-12);
    run.dispose();
    const jump = event({when: ({t}) => tf.sub(u.at(tf.add(t, 0.5)), 1), then: 'record'});
    const met = simulate(still, {y: 0}, {scheme: rk4(), dt: 0.07, t1: 1, saveAt: 'end', events: [jump]});
    expect(met.events.map(({t}) => t)[0]).to.be.closeTo(0.5, 1e-12);
    met.dispose();
  });
});
