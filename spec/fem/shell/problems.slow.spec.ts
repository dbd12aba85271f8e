/** Published problems of shells, converging to the values of problems.ts. */
import {expect} from 'chai';
import {displacementOf, hemisphere, pinchedCylinder, scordelisLo} from './problems.js';

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
});
