/** The short form of `npm run fuzz -- graphs`: some hundred graphs of a fixed seed. */
import {expect} from 'chai';
import {topological} from '../../lib/graph/node.js';
import {primitives} from '../../lib/graph/primitives/index.js';
import {failureOf, fuzz, randomProgram} from './graphs.js';
import {cases, startSeed} from '../property.js';
import {slow} from '../tiers.js';

/** The seed of which a reverse's gradient, written over what it reads, was the first to be wrong. */
const reversed = 171;

describe('fuzz: graphs', () => {
  slow('agree, compiled and interpreted, in value and derivatives', async () => {
    const count = cases(200);
    const {tried, failures} = await fuzz({count, seed: startSeed(1_000_000), log: () => undefined});
    expect(failures).to.deep.equal([]);
    expect(tried).to.equal(count);
    expect(failureOf(reversed)).to.equal(undefined);
  });

  it('are made of every primitive, and the same for a seed again', () => {
    const used = new Set<string>();
    for (let seed = 1; seed <= 1200; seed++)
      for (const node of topological(randomProgram(seed).outputs)) used.add(node.op);
    expect([...used]).to.have.members(Object.keys(primitives));
    const ops = (seed: number): string[] => topological(randomProgram(seed).outputs).map(({op}) => op);
    expect(ops(7)).to.deep.equal(ops(7));
  });
});
