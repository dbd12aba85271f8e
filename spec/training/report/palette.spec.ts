/**
 * Colours under simulated colour blindness (Machado, Oliveira & Fernandes, IEEE Trans. Vis. Comput. Graph. 15, 2009,
 * severity 1), as distances in CIELAB (CIE 1976), and their contrast to the ground (WCAG 2.2, 1.4.11).
 */
import {expect} from 'chai';
import {pendulum} from '../../../models/index.js';
import {simulate} from '../../../lib/index.js';
import {animate} from '../../../plot/index.js';
import {chartStyle, lineChart} from '../../../training/report/plot.js';

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const vision: {readonly [name: string]: Matrix} = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** sRGB (IEC 61966-2-1), linear, to XYZ of D65. */
const toXyz: Matrix = [
  [0.4124, 0.3576, 0.1805],
  [0.2126, 0.7152, 0.0722],
  [0.0193, 0.1192, 0.9505],
];
const times = (m: Matrix, [a, b, c]: Triple): Triple => m.map(([x, y, z]) => x * a + y * b + z * c) as never;
const linear = (hex: string): Triple =>
  [1, 3, 5].map(i => {
    const value = parseInt(hex.slice(i, i + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as never;

function lab(rgb: Triple): Triple {
  const clipped = rgb.map(value => Math.min(1, Math.max(0, value))) as unknown as Triple;
  const white = [0.9505, 1, 1.089];
  const [x, y, z] = times(toXyz, clipped).map((value, i) => {
    const share = value / white[i];
    return share > 216 / 24389 ? Math.cbrt(share) : ((24389 / 27) * share + 16) / 116;
  });
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: string, b: string, seen: Matrix): number => {
  const [one, other] = [a, b].map(hex => lab(times(seen, linear(hex))));
  return Math.hypot(...one.map((value, i) => value - other[i]));
};
const luminance = (hex: string): number => times(toXyz, linear(hex))[1];
const contrast = (a: string, b: string): number => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

/** Each block of variables in a text of style rules: light and dark. */
const blocks = (style: string): {readonly [name: string]: string}[] =>
  [...style.matchAll(/\{ ((?:--[\w-]+: #[0-9a-f]+;?\s*)+)/g)].map(([, block]) =>
    Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, hex]) => [name, hex])),
  );

function closest(colors: {readonly [name: string]: string}): {readonly pair: string; readonly by: number} {
  const names = Object.keys(colors);
  const pairs = Object.entries(vision).flatMap(([kind, seen]) =>
    names.flatMap((a, i) =>
      names.slice(i + 1).map(b => ({pair: `${a}, ${b}: ${kind}`, by: distance(colors[a], colors[b], seen)})),
    ),
  );
  return pairs.reduce((least, one) => (one.by < least.by ? one : least));
}

describe('colours', () => {
  const run = simulate(pendulum({length: 1}), {q: 1, v: 0}, {dt: 0.1, steps: 3});
  const animation = animate(run);

  it("are seen as published: of Okabe and Ito's the closest two are 20.7 and 17.9 apart", () => {
    const published = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
    const pairs = published.flatMap((a, i) => published.slice(i + 1).map(b => [a, b] as const));
    const least = (kind: string): number => Math.min(...pairs.map(([a, b]) => distance(a, b, vision[kind])));
    expect(least('protanopia')).to.be.closeTo(20.7, 0.1);
    expect(least('deuteranopia')).to.be.closeTo(17.9, 0.1);
  });

  for (const [name, style, grounds] of [
    ['charts', chartStyle, ['#ffffff', '#0d1117']],
    ['players', animation.html(), ['#ffffff', '#0d1117']],
    ['moving pictures', animation.svg(), ['#ffffff', '#0d1117']],
  ] as const) {
    it(`of ${name} are told apart with any colour vision, on light and on dark`, () => {
      const [light, dark] = blocks(style).map(
        ({soft, grid: _, halo: _halo, paper: _paper, ...rest}) => (name === 'charts' ? rest : {soft, ...rest}), // text and axes of a chart are no data
      );
      for (const colors of [light, dark]) {
        const own = Object.fromEntries(Object.entries(colors).filter(([key]) => key !== 'rod' || !('ink' in colors)));
        const {pair, by} = closest(own);
        expect(Object.keys(own).length, name).to.be.at.least(6);
        expect(by, pair).to.be.at.least(15);
      }
      const thin = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'spring', 'ball', 'force'];
      for (const [colors, ground] of [
        [light, grounds[0]],
        [dark, grounds[1]],
      ] as const)
        for (const key of thin.filter(one => one in colors))
          expect(contrast(colors[key], ground), `${key} on ${ground}`).to.be.at.least(3);
    });
  }

  it('of lines come with dashes: the same for one colour, another for each further one', () => {
    const x = [0, 1];
    const svg = lineChart({
      title: 'six',
      x: {label: 'x'},
      y: {label: 'y'},
      series: [
        {name: 'a', x, y: x, color: 3},
        {name: 'b', x, y: x, color: 1},
        {name: 'points of b', x, y: x, color: 1, style: 'points'},
        {name: 'more of a', x, y: x, color: 3},
        {name: 'c', x, y: x, color: 0},
      ],
    });
    const classes = [...svg.matchAll(/<path class="([^"]*)"[^>]*><title>/g)].map(([, name]) => name);
    expect(classes).to.deep.equal(['s line', 's line dash1', 's points', 's line', 's line dash2']);
    expect(svg.match(/class="s line dash2"/g), 'in the legend, too').to.have.length(2);
    for (let k = 1; k < 6; k++) expect(chartStyle).to.include(`.dash${k} {`);
    expect(new Set([...chartStyle.matchAll(/stroke-dasharray: ([\d ]+)/g)].map(([, dash]) => dash)).size).to.equal(7);
  });
});
