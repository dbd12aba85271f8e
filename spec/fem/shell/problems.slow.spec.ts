/** Published problems of shells, converging to the values of problems.ts. */
import {expect} from 'chai';
import {equilibrium} from '../../../lib/index.js';
import {displacementOf, hemisphere, pinchedCylinder, scordelisLo, slitRing} from './problems.js';

const problems = {
  'the Scordelis–Lo roof': {make: scordelisLo, reference: 0.3024},
  'a pinched cylinder': {make: pinchedCylinder, reference: 1.8248e-5},
  'a hemisphere with a hole': {make: hemisphere, reference: 0.094},
};

describe('published problems of shells', function () {
  this.timeout(60_000);
  for (const [name, {make, reference}] of Object.entries(problems))
    for (const cell of ['quad4', 'tri3'] as const)
      it(`${name}, ${cell}`, () => {
        const errors = [16, 32].map(n => displacementOf(make(n, cell)) / reference - 1);
        expect(Math.abs(errors[1])).to.be.below(cell === 'quad4' ? 0.03 : 0.05);
        expect(Math.abs(errors[1])).to.be.below(Math.abs(errors[0]));
      });

  it('a slit ring, lifted by more than its radius', () => {
    const [outwards, around] = [6, 60];
    const body = slitRing(outwards, around, 'quad4');
    const found = equilibrium(body, {q: body.start.q});
    const u = body.evaluate(at => body.displacement(at), {q: found.values('q')});
    const [inner, outer] = [u[u.length - 3 * outwards - 1], u[u.length - 1]];
    expect(inner / 13.891).to.be.closeTo(1, 0.03);
    expect(outer / 17.528).to.be.closeTo(1, 0.03);
    found.dispose();
  });
});
