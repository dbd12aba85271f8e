/**
 * Every exported value of every entry point is called by a test of the quick tier, whose stored durations keep to its
 * limit.
 */
import {expect} from 'chai';
import * as stiffgrad from '../../lib/index.js';
import * as models from '../../models/index.js';
import * as robots from '../../models/robots/index.js';
import * as fem from '../../fem/index.js';
import * as plot from '../../plot/index.js';
import * as sweep from '../../sweep/index.js';
import * as training from '../../training/index.js';
import {usesIn, type Uses} from './calls.js';
import {exportedValues} from './exported.js';
import {filesBelow, readText} from './sources.js';

const entryPoints: Readonly<Record<string, readonly [folder: string, exported: Readonly<Record<string, unknown>>]>> = {
  stiffgrad: ['lib', stiffgrad],
  'stiffgrad/models': ['models', models],
  'stiffgrad/robots': ['models', robots],
  'stiffgrad/training': ['training', training],
  'stiffgrad/plot': ['plot', plot],
  'stiffgrad/fem': ['fem', fem],
  'stiffgrad/sweep': ['sweep', sweep],
};

const isErrorClass = (value: unknown): boolean =>
  value === stiffgrad.StiffgradError || Object.prototype.isPrototypeOf.call(stiffgrad.StiffgradError, value as object);

/** A constant is not called, and a class of errors is named by the test that expects one. */
const isUsed = ({called, named}: Uses, name: string, value: unknown): boolean =>
  called.has(name) || (named.has(name) && (typeof value !== 'function' || isErrorClass(value)));

describe('the quick tier', () => {
  let uses: Map<string, Uses>;

  before(() => {
    uses = usesIn(filesBelow('spec', '.spec.ts').filter(file => !file.endsWith('.slow.spec.ts')));
  });

  for (const [entry, [folder, exported]] of Object.entries(entryPoints))
    it(`calls every exported value of ${entry}`, () => {
      const files = [...uses].filter(([file]) => file.startsWith(`${folder}/`)).map(([, names]) => names);
      // A spec calls a function of a group as `group.name`, or imports it from its file.
      const missing = [...exportedValues(exported)].filter(
        ([name, value]) =>
          !files.some(
            names =>
              isUsed(names, name, value)
              || (name.includes('.') && isUsed(names, (value as {name: string}).name, value)),
          ),
      );
      expect(missing.map(([name]) => name)).to.deep.equal([]);
    });

  it('has no test above 250 ms', () => {
    const {quick} = JSON.parse(readText('spec/durations.json')) as {quick: Record<string, Record<string, number>>};
    const long = Object.entries(quick).flatMap(([file, tests]) =>
      Object.entries(tests).flatMap(([title, ms]) => (ms > 250 ? [`${file}: ${title}, ${ms} ms`] : [])),
    );
    expect(long).to.deep.equal([]);
  });
});

describe('random tests', () => {
  it('take their counts and seeds from property.ts', () => {
    const count = (text: string, call: RegExp): number => text.match(call)?.length ?? 0;
    const own = filesBelow('spec', '.ts').filter(file => {
      const text = readText(file);
      return count(text, /\bfc\.assert\(/g) > count(text, /\bruns\(/g);
    });
    expect(own).to.deep.equal([]);
  });
});
