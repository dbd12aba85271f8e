/** Charts: where data land on the page, what is kept of long records, and that the text is well-formed SVG. */
import fc from 'fast-check';
import {expect} from 'chai';
import {OptionError} from '../../../lib/errors.js';
import {lineChart, type Chart, decimate, distinctPixels} from '../../../training/report/plot.js';
import {elementsOf} from '../well-formed.js';
import {runs} from '../../property.js';

const plain: Chart = {
  title: 'Position',
  x: {label: 'time', unit: 's'},
  y: {label: 'position', unit: 'm'},
  series: [{name: 'measured', x: [0, 1, 2], y: [0, 1, 4]}],
};

/** The `d` of the series' paths in order. */
function paths(svg: string): string[] {
  return [...svg.matchAll(/<path class="s [^>]* d="([^"]*)"><title>/g)].map(([, d]) => d);
}

function points(d: string): [number, number][] {
  return [...d.matchAll(/[ML](-?[\d.]+)[, ](-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

function texts(svg: string, kind: string): string[] {
  return [...svg.matchAll(new RegExp(`<text class="${kind}"[^>]*>([^<]*)</text>`, 'g'))].map(([, text]) => text);
}

describe('plots', () => {
  it('from JSON that nobody checked have no way out of their attributes', () => {
    const fine: Chart = {title: 'a', x: {label: 'x'}, y: {label: 'y'}, series: [{name: 's', x: [0, 1], y: [0, 1]}]};
    const evil = '"><script>alert(1)</script>';
    const series = (one: object): object => ({series: [{...fine.series[0], ...one}]});
    const given: readonly object[] = [
      {id: evil},
      {id: ''},
      {id: '1'},
      {id: 5},
      {width: evil},
      {width: '720'},
      {width: 0},
      {width: NaN},
      {width: 1e9},
      {height: evil},
      {height: -1},
      {title: 5},
      {description: {}},
      {series: 'none'},
      series({style: evil}),
      series({style: 'toString'}),
      series({color: evil}),
      series({color: -1}),
      series({color: 0.5}),
      series({name: null}),
      {levels: [{y: 0, name: 3}]},
    ];
    for (const change of given)
      expect(() => lineChart({...fine, ...change} as Chart), JSON.stringify(change)).to.throw(
        OptionError,
        /lineChart: /,
      );
    expect(
      lineChart({
        ...fine,
        title: evil,
        description: evil,
        x: {label: evil},
        series: [{...fine.series[0], name: evil}],
        levels: [{y: 0, name: evil}],
      }),
    ).not.to.include('<script');
  });

  it('are well-formed SVG that names itself to a screen reader', () => {
    const svg = lineChart(plain);
    expect(elementsOf(svg).slice(0, 3)).to.deep.equal(['svg', 'title', 'desc']);
    // The name and the description of an image are its own first title and desc (SVG accessibility API mappings, 1.0).
    expect(svg).to.match(/^<svg [^>]*role="img">\n<title>Position<\/title><desc>/);
    expect(svg).to.match(
      /<desc>position \(m\) against time \(s\), from 0 to 2\. measured: 3 values between 0 and 4\.<\/desc>/,
    );
  });

  it('have no ids that another on the page may have, and cut off what lies beyond their frame', () => {
    const domain = [0, 1] as const;
    const both = [plain, {...plain, series: [{name: 'b', x: [0, 9], y: [0, 9]}], y: {label: 'y', domain}}].map(
      lineChart,
    );
    expect(both.join('').match(/ id="|url\(/g)).to.equal(null);
    for (const svg of both) {
      const [, left, top, width, height] = / x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" viewBox="\1 \2 \3 \4" style="width:\3px;height:\4px;max-width:none;overflow:hidden">/.exec(svg)!.map(Number); // prettier-ignore
      const frame = /class="frame" d="M([\d.]+) ([\d.]+)H([\d.]+)/.exec(svg)!.map(Number);
      expect([left + 3, top + height - 3]).to.deep.equal(frame.slice(1, 3));
      expect(left + width - 3).to.be.closeTo(frame[3], 0.11);
    }
    expect(lineChart({...plain, id: 'own'})).to.match(/^<svg class="chart" id="own"/);
  });

  it('are well formed whatever the names', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (title, label, name) => {
        const series = [
          {name, x: [0, 1], y: [1, 2]},
          {name: label, x: [0, 1], y: [2, 2]},
        ];
        elementsOf(lineChart({title, x: {label}, y: {label, unit: name}, series, levels: [{y: 1.5, name: title}]}));
      }),
      runs(),
    );
  });

  it('put data where the ticks say', () => {
    const svg = lineChart({...plain, series: [{name: 'a', x: [0, 1, 2], y: [0, 2, 4]}]});
    const [[x0, y0], [x1, y1], [x2, y2]] = points(paths(svg)[0]);
    expect(x1 - x0).to.be.closeTo(x2 - x1, 0.11); // tenths of a pixel are written
    expect(y0 - y1).to.be.closeTo(y1 - y2, 0.11);
    expect(y0).to.be.above(y2);
    const tick = (text: string): [number, number] => {
      const found = svg.match(
        new RegExp(`<text class="tick" x="([\\d.]+)" y="([\\d.]+)" text-anchor="end">${text}</text>`),
      )!;
      return [Number(found[1]), Number(found[2])];
    };
    expect(tick('2')[1] - 4).to.be.closeTo(y1, 0.11); // labels sit four pixels below their line
  });

  it('choose readable units, and say so', () => {
    const small = lineChart({...plain, series: [{name: 'a', x: [0, 1], y: [-3e-6, 3e-6]}]});
    expect(small).to.contain('position (µm)');
    expect(texts(small, 'tick')).to.include.members(['−2', '0', '2']);
    expect(
      lineChart({...plain, y: {label: 'mass', unit: 'kg'}, series: [{name: 'a', x: [0, 1], y: [0, 3e-6]}]}),
    ).to.contain('mass (10⁻⁶ kg)');
    expect(lineChart({...plain, y: {label: 'ratio'}, series: [{name: 'a', x: [0, 1], y: [0, 3e-6]}]})).to.contain(
      'ratio (× 10⁻⁶)',
    );
  });

  it('log axes show powers of ten, and leave out what has no logarithm', () => {
    const svg = lineChart({
      ...plain,
      y: {label: 'cost', scale: 'log'},
      series: [{name: 'a', x: [0, 1, 2, 3], y: [1e4, 0, 1, 1e-4]}],
    });
    expect(texts(svg, 'tick')).to.include.members(['10⁴', '1', '10⁻⁴']);
    expect(paths(svg)[0].match(/M/g)).to.have.length(2); // a gap where the zero is
    const narrow = lineChart({
      ...plain,
      y: {label: 'cost', scale: 'log'},
      series: [{name: 'a', x: [0, 1], y: [13, 17]}],
    });
    expect(
      texts(narrow, 'tick').filter(text => text.startsWith('1')),
      'less than a decade',
    ).to.include.members(['14', '16']);
  });

  it('whole numbers have whole ticks', () => {
    const svg = lineChart({
      ...plain,
      x: {label: 'iteration', integer: true},
      series: [{name: 'a', x: [0, 1, 2], y: [1, 2, 3]}],
    });
    expect([...svg.matchAll(/text-anchor="middle">([\d.]+)<\/text>/g)].map(([, text]) => text)).to.deep.equal([
      '0',
      '1',
      '2',
    ]);
  });

  it('no label leaves the picture or lies on another', () => {
    fc.assert(
      fc.property(
        fc.double({min: -1e12, max: 1e12, noNaN: true}),
        fc.double({min: 1e-9, max: 1e12, noNaN: true}),
        fc.integer({min: 300, max: 1000}),
        (low, size, width) => {
          const svg = lineChart({...plain, width, series: [{name: 'a', x: [low, low + size], y: [low, low + size]}]});
          // About 6.3 px a character, as the layout itself assumes.
          const below = [
            ...svg.matchAll(/<text class="tick" x="([-\d.]+)" y="\d+" text-anchor="middle">([^<]*)</g),
          ].map(([, x, text]) => [Number(x), 3.15 * text.length]);
          for (const [x, half] of below) expect(x + half).to.be.below(width);
          const crowded = below.some(([x, half], i) => i > 0 && x - half < below[i - 1][0] + below[i - 1][1]);
          expect(crowded).to.equal(false);
          const left = [...svg.matchAll(/<text class="tick" x="([-\d.]+)" y="[\d.]+" text-anchor="end">([^<]*)</g)].map(
            ([, x, text]) => Number(x) - 6.3 * text.length,
          );
          for (const start of left) expect(start).to.be.above(14); // right of the axis title
        },
      ),
      runs(),
    );
  });

  it('draw constant, empty and broken records', () => {
    for (const y of [
      [5, 5],
      [NaN, NaN],
      [0, 0],
      [Infinity, 1],
    ]) {
      const svg = lineChart({...plain, series: [{name: 'a', x: [0, 1], y}]});
      elementsOf(svg);
      expect(svg).to.not.match(/NaN|Infinity/);
    }
    elementsOf(lineChart({...plain, series: []}));
  });

  it('every style draws', () => {
    const styles = ['line', 'underlay', 'dashed', 'points', 'bars', 'stems'] as const;
    const svg = lineChart({...plain, series: styles.map(style => ({name: style, style, x: [0, 1, 2], y: [1, 2, 3]}))});
    elementsOf(svg);
    expect(paths(svg)).to.have.length(6);
    for (const style of styles) expect(svg).to.contain(`class="s ${style}"`);
  });

  describe('long records', () => {
    it("keep every column's extremes: single outliers stay visible", () => {
      const n = 130_000;
      const x = Float64Array.from({length: n}, (_, i) => i);
      const y = Float64Array.from({length: n}, (_, i) => Math.sin(i / 5000));
      y[77_777] = 9;
      const svg = lineChart({...plain, width: 720, series: [{name: 'a', x, y}]});
      expect(svg.length).to.be.below(60_000);
      const [d] = paths(svg);
      const drawn = points(d);
      const highest = Math.min(...drawn.map(([, py]) => py));
      expect(drawn.filter(([, py]) => py === highest)).to.have.length(1);
    });

    it('first, least, greatest and last of every pixel column, and nothing else', () => {
      fc.assert(
        fc.property(
          fc.array(fc.double({min: -5, max: 5, noNaN: true}), {minLength: 1, maxLength: 300}),
          fc.double({min: 0.01, max: 2, noNaN: true}),
          (y, spacing) => {
            const x = y.map((_, i) => i * spacing);
            const kept = decimate(x, y);
            const columns = new Map<number, number[]>();
            y.forEach((value, i) => columns.set(Math.floor(x[i]), [...(columns.get(Math.floor(x[i])) ?? []), value]));
            expect(kept).to.deep.equal([...new Set(kept)].sort((a, b) => a - b));
            for (const [column, values] of columns) {
              const shown = kept.filter(i => Math.floor(x[i]) === column).map(i => y[i]);
              expect(shown.length).to.be.at.most(4);
              expect([shown[0], Math.min(...shown), Math.max(...shown), shown[shown.length - 1]]).to.deep.equal([
                values[0],
                Math.min(...values),
                Math.max(...values),
                values[values.length - 1],
              ]);
            }
          },
        ),
        runs(),
      );
    });

    it('a gap in a column stays a gap', () => {
      const y = Float64Array.from({length: 1000}, (_, i) => (i >= 500 && i < 600 ? NaN : 1));
      const kept = decimate(
        Float64Array.from({length: 1000}, (_, i) => i / 100),
        y,
      );
      expect(kept.some(i => Number.isNaN(y[i]))).to.equal(true);
    });

    it('lines that turn back keep their shape', () => {
      const angle = Float64Array.from({length: 50_000}, (_, i) => (2 * Math.PI * i) / 49_999);
      const kept = distinctPixels(
        angle.map(a => 100 * Math.cos(a)),
        angle.map(a => 100 * Math.sin(a)),
      );
      expect(kept.length).to.be.within(500, 1200); // the circumference is 628 px
    });
  });
});
