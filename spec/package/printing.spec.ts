/** Trajectories and fits printed, turned into text and copied: short, with what one looks for, and never an error. */
import {inspect} from 'node:util';
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {mechanics, ode, simulate, type ForceAt} from '../../lib/index.js';
import {fixed, free, identify, positive, type Identification} from '../../training/index.js';

const oscillator = mechanics({mass: 1, forces: ({q, params: {k}}: ForceAt<{k: tf.Tensor}>) => tf.neg(tf.mul(k, q))});

describe('what is printed', () => {
  describe('of a trajectory', () => {
    const run = () => simulate(oscillator, {q: [1, 0], v: [0, 0]}, {dt: 0.001, t1: 2, params: {k: 4}});

    it('is a line with its status, times and shapes', () => {
      const path = run();
      const line = 'Trajectory: completed after 2000 steps, 2001 saved from t = 0 to 2, q [2001, 2], v [2001, 2]';
      expect(String(path)).to.equal(line);
      expect(inspect(path)).to.equal(line);
      expect(inspect({path})).to.include(line);
      path.dispose();
      expect(String(path)).to.equal(line);
    });

    it('is an object without its numbers in JSON', () => {
      const path = run();
      const text = JSON.stringify({path});
      expect(text.length).to.be.below(1000);
      const {
        path: {status, saved, from, to, shapes, stats},
      } = JSON.parse(text) as {path: ReturnType<typeof path.toJSON>};
      expect({status, saved, from, to, shapes}).to.deep.equal({
        status: 'completed',
        saved: 2001,
        from: 0,
        to: 2,
        shapes: {q: [2001, 2], v: [2001, 2]},
      });
      expect(stats.steps).to.equal(2000);
    });

    it('can be copied between threads, without its functions', () => {
      const path = run();
      const copy = structuredClone(path);
      expect(copy.status).to.equal('completed');
      expect(copy.stats).to.deep.equal(path.stats);
      expect(JSON.stringify(copy).length).to.be.below(3000);
    });

    it('of an ode says y, and q is an error, and no copy or text stumbles over it', () => {
      const path = simulate(
        ode(({y}) => tf.neg(y)),
        {y: [1]},
        {dt: 0.1, steps: 3},
      );
      expect(String(path)).to.match(/y \[4, 1\]$/);
      expect(() => (path as unknown as {q: tf.Tensor}).q).to.throw(/an ode has no q; it has y/);
      expect(structuredClone(path)).to.have.property('y');
      expect(Object.keys(path)).to.include('y').and.not.to.include('q');
    });

    it('its functions may be taken from it', () => {
      const {values, state, dispose} = run();
      expect(values('t')).to.have.length(2001);
      expect(state()).to.have.property('t', 2);
      const before = tf.memory().numTensors;
      dispose();
      expect(tf.memory().numTensors).to.equal(before - 3);
    });
  });

  describe('of a fit', () => {
    let fit: Identification;

    before(async () => {
      const {values} = simulate(oscillator, {q: 1, v: 0}, {dt: 0.05, steps: 100, params: {k: 4}});
      fit = await identify({
        system: oscillator,
        initial: {v: 0},
        dt: 0.05,
        data: {t: values('t'), q: values('q')},
        parameters: {k: positive(3), 'initial.q': free(0.9)},
      });
    });

    it('is a line for each parameter, and the error of the series', () => {
      const lines = String(fit).split('\n');
      expect(lines[0]).to.match(/^Identification: /);
      expect(lines[1]).to.match(/^ {2}k = 4.* ± /);
      expect(String(fit)).to.match(/\n {2}rmse of q: /);
      expect(inspect(fit)).to.equal(String(fit));
      expect(String(fit).length).to.be.below(1000);
    });

    it('is estimates and errors in JSON, without series', () => {
      const text = JSON.stringify(fit);
      expect(text.length).to.be.below(2000);
      const {estimate, converged} = JSON.parse(text) as {estimate: {k: number}; converged: boolean};
      expect(estimate.k).to.be.closeTo(4, 1e-6);
      expect(converged).to.equal(fit.converged);
    });

    it('is its page as text, and in a notebook a part of it with its own style', () => {
      const page = fit.html({title: 'An oscillator'});
      expect(page)
        .to.match(/^<!doctype html>/)
        .and.to.include('<h1>An oscillator</h1>');
      const bundle = (fit as unknown as {[key: symbol]: () => {readonly [mime: string]: string}})[
        Symbol.for('Jupyter.display')
      ]();
      expect(bundle['text/plain']).to.equal(String(fit));
      expect(bundle['text/html'])
        .to.equal(fit.html({fragment: true}))
        .and.to.match(/^<div class="report">\n<style>\n\.report \{/);
      expect(() => fit.html({titel: 'a'} as object)).to.throw(/Did you mean 'title'/);
    });

    it('can be copied between threads', () => {
      expect(structuredClone(fit).estimate).to.deep.equal(fit.estimate);
    });

    it('tells how many numbers a large parameter has', async () => {
      const weights = new Float64Array(5000).fill(1);
      const system = mechanics({
        mass: 1,
        forces: ({q, params: {w}}: ForceAt<{w: tf.Tensor}>) => tf.neg(tf.mul(tf.mean(w), q)),
      });
      const large = await identify({
        system,
        initial: {q: 1},
        dt: 0.1,
        data: {t: [0, 0.1], q: [1, 1]},
        parameters: {w: fixed(weights), 'initial.v': free(0)},
      });
      expect(String(large)).to.include('w = 5000 numbers');
      expect(JSON.stringify(large).length).to.be.below(2000);
    });
  });
});
