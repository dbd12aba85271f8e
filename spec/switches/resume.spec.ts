/** Runs that go on from a saved state: which side of their borders they are on. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, event, mechanics, ode, rk4, simulate, trapezoid, tsit5} from '../../lib/index.js';
import {small} from './cases.js';

interface Border {
  readonly c: tf.Tensor;
}

const relay = ode<Border>(({y, params: {c}}) => tf.where(tf.less(y, c), 1.5, 0.4));
const run = {scheme: rk4(), dt: 0.1, t1: 2, saveAt: 'end', params: {c: 1.1}} as const;
/** y(2) of the relay from 0.2. */
const end = (c: number): number => c + 0.4 * (2 - (c - 0.2) / 1.5);

describe('a run with switches goes on', () => {
  const ways = [
    {scheme: rk4()},
    {scheme: trapezoid()},
    {scheme: tsit5(), control: adaptive({rtol: 1e-9, atol: 1e-11})},
  ];

  it('from where an event of the first run alone has stopped it', () => {
    for (const way of ways)
      for (const level of [0.7, 1.1, 1.3]) {
        const stop = event<Border>({when: ({y}) => tf.sub(y, level), then: 'stop'});
        const first = simulate(relay, {y: 0.2}, {...run, ...way, events: [stop]});
        expect(first.status).to.equal('event');
        const {trajectory, pullback} = simulate.vjp(relay, first.state(), {...run, ...way});
        expect(trajectory.values('y')[1]).to.be.closeTo(end(1.1), small);
        if (level === 0.7) expect(pullback({y: [0, 1]}).params.c[0]).to.be.closeTo(1 - 0.4 / 1.5, small);
      }
  });

  it('with friction from where it has come to rest', () => {
    const slider = mechanics({mass: 1, forces: ({v}) => tf.sub(0.3, tf.sign(v))});
    const rest = event({when: ({v}) => v, then: 'stop'});
    const options = {...run, params: {}};
    const first = simulate(slider, {q: 0, v: 0.8}, {...options, events: [rest]});
    const second = simulate(slider, first.state(), options);
    expect(second.values('q')[1]).to.be.closeTo(0.32 / 0.7, small);
    expect(second.values('v')[1]).to.be.closeTo(0, small);
    // A sliding motion that goes on with a force that is too large for it.
    const drawn = mechanics<{f: tf.Tensor}>({mass: 1, forces: ({v, params: {f}}) => tf.sub(f, tf.sign(v))});
    const stuck = simulate(drawn, {q: 0, v: 0.8}, {...run, params: {f: 0.3}});
    const slips = simulate(drawn, stuck.state(), {...run, t1: 3, params: {f: 1.6}});
    expect(slips.values('v')[1]).to.be.closeTo(0.6, small);
    const sticks = simulate(drawn, stuck.state(), {...run, t1: 3, params: {f: -0.7}});
    expect(sticks.values('v')[1]).to.be.closeTo(0, small);
  });

  it('with a border that has been moved over the state, either way', () => {
    for (const way of ways) {
      const options = {...run, ...way};
      const below = simulate(relay, {y: 0.2}, {...options, t1: 0.4});
      const over = simulate.vjp(relay, below.state(), {...options, params: {c: 0.5}});
      expect(over.trajectory.values('y')[1]).to.be.closeTo(0.8 + 0.4 * 1.6, small);
      expect(over.pullback({y: [0, 1]}).params.c[0]).to.equal(0);
      const above = simulate(relay, {y: 0.2}, {...options, t1: 1});
      const back = simulate.vjp(relay, above.state(), {...options, params: {c: 1.4}});
      expect(back.trajectory.values('y')[1]).to.be.closeTo(1.4 + 0.4 * (1 - (1.4 - 1.26) / 1.5), small);
      expect(back.pullback({y: [0, 1]}).params.c[0]).to.be.closeTo(1 - 0.4 / 1.5, small);
    }
  });

  it('from a border, which it says where derivatives are asked for', () => {
    const first = simulate(relay, {y: 0.2}, {...run, t1: 0.6});
    const {trajectory} = simulate.vjp(relay, first.state(), run);
    expect(trajectory.values('y')[1]).to.be.closeTo(end(1.1), small);
    expect(trajectory.warnings.join()).to.match(/^The run starts on the border of 'less in derivative', t = 0.6/);
  });
});
