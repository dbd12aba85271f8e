/** Animations: points where geometry has them, every form well-formed, and the player by its keys in a browser where there is one. */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {mechanics, OptionError, ShapeError, simulate} from '../../lib/index.js';
import {
  chain,
  doublePendulum,
  fourBars,
  net,
  pendulum,
  rodChain,
  sliderCrank,
  type Drawn,
  type Figure,
} from '../../models/index.js';
import {animate} from '../../plot/index.js';
import {chromiumOrSkip, pageText} from '../package/chromium.js';
import {elementsOf} from '../training/well-formed.js';

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
    const sheet = net({rows: 2, columns: 2, dimension: 2, stiffness: 1});
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
      /names point 1; there are points 0 to 0/,
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

  it('plays, steps and jumps by its keys in Chromium', async function () {
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
});
