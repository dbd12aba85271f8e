/** Published problems of shells, converging to the values of problems.ts. */
import {expect} from 'chai';
import {box, mapped, shell, supports} from '../../../fem/index.js';
import {equilibrium, modes} from '../../../lib/index.js';
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

  it('natural frequencies of a square plate on supports, π² (i² + k²) √(D/(ρ t)) by the square of its side', () => {
    const errors = [8, 16].map(n => {
      const plate = shell({
        mesh: mapped(box([1, 1], [n, n]), ([x, y]) => [x, y, 0]),
        // D = 1 and ρ t = 1.
        ...{thickness: 0.01, E: 12e6 * (1 - 0.3 ** 2), nu: 0.3, density: 100},
        supports: ['left', 'right', 'bottom', 'top'].map(side => supports.held(side, ['x', 'y', 'z'])),
      });
      const {frequencies} = modes(plate, plate.start, {count: 4});
      return [2, 5, 5, 8].map((exact, i) => Math.abs(frequencies[i] / (Math.PI ** 2 * exact) - 1));
    });
    // Lumped masses and soft supports both lower frequencies.
    errors[1].forEach((error, i) => expect(error).to.be.below([0.004, 0.003, 0.003, 0.012][i]));
    expect(errors[0][0] / errors[1][0]).to.be.above(2);
    expect(errors[0][3] / errors[1][3]).to.be.above(2);
  });
});
