/**
 * Animations: points where geometry has them, every form well-formed, and the player by its keys in a browser where
 * there is one.
 */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, OptionError, ShapeError, simulate, unilateral} from '../../lib/index.js';
import {chain, doublePendulum, pendulum, springMesh, type Drawn, type Figure} from '../../models/index.js';
import {fourBars, rodChain, sliderCrank} from '../../models/linkages.js';
import {animate} from '../../plot/index.js';
import {chromiumOrSkip, pageText} from '../package/chromium.js';
import {elementsOf} from '../training/well-formed.js';
import {slow} from '../tiers.js';

const pointsOf = ({figure}: Drawn, q: number | number[] | number[][], params = {}): number[][] =>
  tf.tidy(() => figure.points({q: tf.tensor(q), t: tf.scalar(0), params}).arraySync()) as number[][];
const near = (found: number[][], wanted: number[][]): void => {
  expect(found).to.have.length(wanted.length);
  // float32, by which tfjs computes
  found.forEach((point, i) =>
    point.forEach((value, axis) => expect(value, `point ${i}`).to.be.closeTo(wanted[i][axis], 1e-6)),
  );
};

const swing = () => simulate(doublePendulum({lengths: [1, 0.8]}), {q: [2, 2.5], v: [0, 0]}, {dt: 0.01, steps: 200});

describe('figures of the models', () => {
  it('pendulums hang below their hinge, at angles from the downward vertical', () => {
    near(pointsOf(pendulum({length: 2}), Math.PI / 2), [
      [2, 0],
      [0, 0],
    ]);
    near(pointsOf(pendulum({length: ({l}) => l as tf.Tensor}), 0, {l: tf.scalar(3)}), [
      [0, -3],
      [0, 0],
    ]);
    near(pointsOf(doublePendulum({lengths: [1, 2]}), [0, Math.PI / 2]), [
      [0, -1],
      [2, -1],
      [0, 0],
    ]);
  });

  it('a chain lies along x, its masses one apart', () => {
    const system = chain({count: 2, stiffness: 1, ends: 'fixed-fixed'});
    near(pointsOf(system, [0.5, 0]), [
      [1.5, 0],
      [2, 0],
      [0, 0],
      [3, 0],
    ]);
    expect(system.figure.springs).to.deep.equal([
      [2, 0],
      [0, 1],
      [1, 3],
    ]);
    expect(chain({count: 2, stiffness: 1, ends: 'free'}).figure.springs).to.deep.equal([[0, 1]]);
  });

  it('nets, rod chains and linkages are their points, with the held ones after them', () => {
    const sheet = springMesh({rows: 2, columns: 2, dimension: 2, stiffness: 1});
    near(pointsOf(sheet, sheet.positions), [
      [0, -1],
      [1, -1],
      [0, 0],
      [1, 0],
    ]);
    near(
      pointsOf(rodChain({links: 2}), [
        [1, 0],
        [2, 0],
      ]),
      [
        [1, 0],
        [2, 0],
        [0, 0],
      ],
    );
    near(
      pointsOf(sliderCrank({crank: 1, rod: 2}), [
        [0, 1],
        [Math.sqrt(3), 0],
      ]),
      [
        [0, 1],
        [Math.sqrt(3), 0],
        [0, 0],
      ],
    );
    const bars = fourBars({windows: 1});
    near(
      pointsOf(
        bars,
        bars.initial.q.map(row => [...row]),
      ),
      [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [0, 1],
        [1, 1],
      ],
    );
  });
});

describe('an animation', () => {
  it('is a whole page that loads nothing, a cell, a strip and an SVG that moves', () => {
    const animation = animate(swing(), {title: 'a < b'});
    expect(animation.html())
      .to.match(/^<!doctype html>/)
      .and.to.include('<title>a &lt; b</title>')
      .and.to.include("default-src 'none'")
      .and.not.to.match(/https?:\/\/(?!www\.w3\.org)/);
    expect(String(animation)).to.match(/^<iframe srcdoc="&lt;!doctype/);
    expect(elementsOf(animation.strip({frames: 4}))).to.include('text');
    expect([...animation.strip({frames: 4}).matchAll(/<text/g)]).to.have.length(4);
    expect(elementsOf(animation.svg({frames: 10})).filter(name => name === 'animate')).to.have.length(2); // rods and balls; the hinge rests
    const bundle = (animation as unknown as {[key: symbol]: () => {readonly [mime: string]: string}})[
      Symbol.for('Jupyter.display')
    ]();
    expect(bundle['text/html']).to.equal(String(animation));
  });

  it('has frames at equal times of a run with steps of its own, from its start to its end', () => {
    const path = simulate(pendulum({length: 1}), {q: 1, v: 0}, {dt: 0.01, steps: 500});
    const [, data] = /\(document\.body, (.*)\);\n/.exec(animate(path, {frames: 11}).html())!;
    const {t, at} = JSON.parse(data) as {t: number[]; at: number[][]};
    expect(t).to.deep.equal([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]);
    expect(at.flat().every(value => Number.isInteger(value) && value >= 0 && value <= 4096)).to.equal(true);
  });

  it('balls are as large as they are, and the ground lies where it is', () => {
    const figure: Figure = {
      points: ({q}) => tf.reshape(q, [1, 2]),
      radius: 0.5,
      ground: [{normal: [0, 1], offset: -0.5}],
    };
    const path = simulate(
      mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q)}),
      {q: [0, 0], v: [1, 0]},
      {dt: 0.1, steps: 10},
    );
    // x from −0.5 to 1.5 is two units wide: 4096 of the grid, the radius a quarter. The floor is the lower edge.
    const [, data] = /\(document\.body, (.*)\);\n/.exec(animate(path, {figure}).html())!;
    const {
      radius,
      ground: [[x1, y1, x2, y2]],
      box,
    } = JSON.parse(data) as {radius: number[]; ground: number[][]; box: number[]};
    expect([radius, box, y1, y2]).to.deep.equal([[1024], [4096, 2048], 0, 0]);
    expect(Math.abs(x2 - x1)).to.be.at.least(4096);
  });

  it('a floor in space is a grid below the motion, and none where it is far away', () => {
    const falling = (ground: Figure['ground']): {ground: number[][]; box: number[]} => {
      const figure: Figure = {points: ({q}) => tf.reshape(q, [1, 3]), radius: 0.5, ground};
      const path = simulate(
        mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q)}),
        {q: [0, 0, 2], v: [3, 0, -1]},
        {dt: 0.1, steps: 10},
      );
      const [, data] = /\(document\.body, (.*)\);\n/.exec(animate(path, {figure}).html())!;
      return JSON.parse(data) as {ground: number[][]; box: number[]};
    };
    // The ball is in x from −0.5 to 3.5, y from −0.5 to 0.5, z from 0.5 to 2.5: below that a floor at z = 0 of 4 × 2,
    // the side half as long as the other.
    const {ground, box} = falling([{normal: [0, 0, 2]}]);
    expect(box).to.deep.equal([4096, 2048, 2560]);
    expect(ground).to.have.length(10);
    for (const [x1, y1, z1, x2, y2, z2] of ground) {
      expect([z1, z2]).to.deep.equal([0, 0]);
      if (x1 === x2) expect([x1 % 1024, Math.abs(y2 - y1)]).to.deep.equal([0, 2048]);
      else expect([y1, y1 % 512, Math.abs(x2 - x1)]).to.deep.equal([y2, 0, 4096]);
    }
    // A slope 3x + 4z = 0: 3x + 4z is the same at all ends, but for the grid's rounding by half a unit.
    const slope = falling([{normal: [0.6, 0, 0.8]}]).ground.flatMap(([a, , c, d, , f]) => [
      3 * a + 4 * c,
      3 * d + 4 * f,
    ]);
    expect(slope).to.have.length(20);
    expect(Math.max(...slope) - Math.min(...slope)).to.be.at.most(7);
    expect(falling([{normal: [0, 0, 1], offset: -10}]).ground).to.deep.equal([]);
    expect(() => falling([{normal: [0, 1]}])).to.throw(OptionError, /give a normal of 3 numbers/);
    const path = simulate(mechanics({mass: 1, forces: () => tf.zeros([3])}), {q: [0, 0, 2], v: [3, 0, -1]}, {dt: 0.1, steps: 10}); // prettier-ignore
    const still = animate(path, {figure: {points: ({q}) => tf.reshape(q, [1, 3]), ground: [{normal: [0, 0, 1]}]}});
    for (const picture of [still.svg(), still.strip({frames: 1})])
      expect(picture.match(/class="ground grid"/g)).to.have.length(10);
  });

  it('forces are arrows from where they act, the longest a quarter of the picture', () => {
    // On its table a block of 2 kg is pushed with 5 N: the table presses with 2 g. It moves from 0 to 4.
    const g = 10;
    const path = simulate(
      mechanics({
        mass: 2,
        forces: () => tf.tensor1d([5, -2 * g]),
        constraints: [unilateral(({q}) => tf.gather(q, 1))],
      }),
      {q: [0, 0], v: [0, 0]},
      {dt: 0.01, steps: 100},
    );
    const figure: Figure = {
      points: ({q}) => tf.reshape(q, [1, 2]),
      forces: ({q, lambda}) => ({
        at: tf.stack([q, q]),
        force: tf.stack([tf.tensor1d([5, 0]), tf.concat([tf.zerosLike(lambda), lambda])]),
      }),
    };
    const framesOf = (given: Figure): {arrows: number[][]; at: number[][]; box: number[]} => {
      const [, data] = /\(document\.body, (.*)\);\n/.exec(animate(path, {figure: given, frames: 11}).html())!;
      return JSON.parse(data) as ReturnType<typeof framesOf>;
    };
    const {arrows, at} = framesOf(figure);
    // Points cover 1.25 along x; an arrow of 20 N has a quarter of that, one of 5 N at the end of the way a quarter of
    // the quarter more.
    const scale = 4096 / (1.25 + 1.25 / 16);
    arrows.forEach(([x0, y0, x1, y1, x2, y2, x3, y3], frame) => {
      expect([x0, y0, x2, y2]).to.deep.equal([...at[frame], ...at[frame]]);
      expect(x1 - x0).to.be.closeTo((scale * 1.25) / 16, 1);
      expect(y3 - y2).to.be.closeTo((scale * 1.25) / 4, 1);
      expect([y1 - y0, x3 - x2]).to.deep.equal([0, 0]);
    });
    // With a length said for a newton, 20 N has four times that of 5 N, and the picture is as large as that needs.
    const long = framesOf({...figure, forceScale: 0.1});
    expect(long.arrows[5][7] - long.arrows[5][5]).to.be.closeTo(4 * (long.arrows[5][2] - long.arrows[5][0]), 2);
    expect(Math.max(...long.box)).to.equal(4096);
    expect(Math.max(...long.arrows.flat())).to.be.within(0.9 * 4096, 4096);
  });

  it('an impact between two pictures is seen in both forms: arrows add up to its impulse', () => {
    const [m, e, g] = [2, 0.5, 10];
    const path = simulate(
      mechanics({
        mass: m,
        forces: () => tf.tensor1d([0, -m * g]),
        constraints: [frictionalContact(({q}) => tf.gather(q, 1), {restitution: e})],
      }),
      {q: [0, 1], v: [1, 0]},
      {scheme: moreau(), dt: 0.001, t1: 0.6},
    );
    const figure: Figure = {
      points: ({q}) => tf.reshape(q, [1, 2]),
      forces: ({q, lambda}) => ({
        at: tf.reshape(q, [1, 2]),
        force: tf.reshape(tf.concat([tf.zerosLike(lambda), lambda]), [1, 2]),
      }),
      forceScale: 0.002,
    };
    const animation = animate(path, {figure, frames: 25});
    const [, data] = /\(document\.body, (.*)\);\n/.exec(animation.html())!;
    const {arrows, at} = JSON.parse(data) as {arrows: number[][]; at: number[][]};
    // From 1 m it falls with √20 m/s; two numbers on the grid are one length: the first frame's height.
    const low = Math.min(...at.map(([, y]) => y));
    const metre = (at[0][1] - low) / (1 - Math.min(...path.values('q').filter((_, i) => i % 2 === 1)));
    const impulse = arrows.reduce((sum, [, foot, , tip]) => sum + (tip - foot) / metre / 0.002, 0) * (0.6 / 24);
    expect(impulse / (m * (1 + e) * Math.sqrt(2 * g))).to.be.closeTo(1, 0.02);
    // Of 5 pictures none shows the impact itself, one its mean.
    const svg = animation.svg({frames: 5});
    const [, values] = /class="forces"[^>]*><animate[^>]* values="([^"]*)"/.exec(svg)!;
    const lengths = values.split(';').map(d => {
      const points = [...d.matchAll(/[ML]([-\d.]+) ([-\d.]+)/g)].map(([, , y]) => Number(y));
      return points[0] - points[3];
    });
    expect(lengths.filter(length => length > 5)).to.have.length(1);
    expect(elementsOf(animation.strip())).to.include('svg');
  });

  it('arrows of figures in space are drawn, too, and what is no force is refused', () => {
    const path = simulate(
      mechanics({mass: 1, forces: ({q}) => tf.neg(q)}),
      {q: [1, 0, 0], v: [0, 1, 0.2]},
      {dt: 0.1, steps: 10},
    );
    const one = (q: tf.Tensor): tf.Tensor => tf.reshape(q, [1, 3]);
    const points: Figure['points'] = ({q}) => one(q);
    const drawn = animate(path, {figure: {points, forces: ({q}) => ({at: one(q), force: one(tf.neg(q))})}});
    expect(elementsOf(drawn.svg()).filter(name => name === 'animate')).to.have.length(2);
    expect(drawn.strip()).to.include('class="forces"');
    const wrong = (forces: Figure['forces']) => () => animate(path, {figure: {points, forces}});
    expect(wrong(({q}) => ({at: one(q), force: q}))).to.throw(ShapeError, /\[1, 3\] and force of shape \[3\]/);
    expect(wrong(({q}) => ({at: one(q), force: tf.div(one(q), 0)}))).to.throw(
      OptionError,
      /forces is not finite at t = 0/,
    );
    expect(wrong(4 as never)).to.throw(OptionError, /forces/);
  });

  it('what cannot be drawn is refused with what to do', () => {
    const bare = simulate(
      mechanics({mass: 1, forces: ({q}) => tf.neg(q)}),
      {q: [1, 2], v: [0, 0]},
      {dt: 0.1, steps: 2},
    );
    expect(() => animate(bare)).to.throw(OptionError, /withFigure/);
    expect(() => animate(bare, {figure: {points: ({q}) => q}})).to.throw(ShapeError, /\[points, 2\]/);
    const points: Figure['points'] = ({q}) => tf.reshape(q, [1, 2]);
    expect(() => animate(bare, {figure: {points, rods: [[0, 1]]}})).to.throw(
      OptionError,
      /refers to point 1; there are points 0 to 0/,
    );
    expect(() => animate(bare, {figure: {points, radius: -1}})).to.throw(OptionError, /not negative/);
    expect(() => animate(swing(), {fps: 3} as object)).to.throw(OptionError, /no option 'fps'/);
  });

  it('leaves no tensors', () => {
    const path = swing();
    const before = tf.memory().numTensors;
    animate(path).html();
    expect(tf.memory().numTensors).to.equal(before);
  });

  slow('plays, steps and jumps by its keys in Chromium', async function () {
    this.timeout(100_000);
    const chromium = await chromiumOrSkip(this);
    const html = animate(swing()).html();
    const inside = JSON.stringify(html).replaceAll('</', '<\\/');
    const text = await pageText(
      chromium,
      `
      const frame = document.createElement('iframe');
      frame.srcdoc = ${inside};
      frame.onload = () => {
        const page = frame.contentDocument, seen = [];
        const press = key => { page.body.dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', {key, bubbles: true})); seen.push(page.querySelector('output').textContent); };
        ['End', 'ArrowLeft', 'Home', 'ArrowRight', 'ArrowRight'].forEach(press);
        press(' ');
        seen.push(page.querySelector('button').getAttribute('aria-label'));
        document.querySelector('pre').textContent = seen.join('|');
      };
      document.body.append(frame);`,
    );
    expect(text).to.equal('t = 2.00 s|t = 1.99 s|t = 0.00 s|t = 0.01 s|t = 0.02 s|t = 0.02 s|Pause');
  });

  slow('in space draws the balls behind first, as the view is turned, in Chromium', async function () {
    this.timeout(100_000);
    const chromium = await chromiumOrSkip(this);
    const path = simulate(mechanics({mass: 1, forces: () => tf.zeros([2, 3])}), {q: [[0, -1, 0], [0, 1, 0]], v: [[0, 0, 0], [0, 0, 0]]}, {dt: 0.1, steps: 1}); // prettier-ignore
    const html = animate(path, {figure: {points: ({q}) => q, radius: [0.5, 0.3]}}).html();
    const text = await pageText(
      chromium,
      `
      const frame = document.createElement('iframe');
      frame.srcdoc = ${JSON.stringify(html).replaceAll('</', '<\\/')};
      frame.onload = () => {
        const page = frame.contentDocument, inside = frame.contentWindow, seen = [];
        let radii = [];
        const arc = inside.CanvasRenderingContext2D.prototype.arc;
        inside.CanvasRenderingContext2D.prototype.arc = function (x, y, r, ...more) { radii.push(r); arc.call(this, x, y, r, ...more); };
        const press = key => page.body.dispatchEvent(new inside.KeyboardEvent('keydown', {key, bubbles: true}));
        for (let k = 0; k < 32; k++) {
          radii = [];
          press('ArrowRight');
          seen.push(radii[0] < radii[1] ? 'small first' : 'large first');
        }
        document.querySelector('pre').textContent = [seen[0], seen[31]].join('|');
      };
      document.body.append(frame);`,
    );
    // The small ball is behind; turned by 3.2, about half a turn, it is before.
    expect(text).to.equal('small first|large first');
  });
});
