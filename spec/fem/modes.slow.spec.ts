/** A free square plate, by solid cells and by shells, against Leissa's values. */
import {expect} from 'chai';
import {box, materials, shell, solid, type ShellBody, type SolidBody} from '../../fem/index.js';
import {modes} from '../../lib/index.js';

/** ω a² √(ρh/D) for ν = 0.3: Leissa, J. Sound Vib. 31 (1973), by Ritz's method, for thin plates. */
const leissa = [13.489, 19.789, 24.432, 35.024, 35.024];

const nu = 0.3;
/** ω a² √(ρh/D) of elastic modes with a = E = ρ = 1. */
const scaled = (frequencies: Float64Array, h: number): number[] =>
  Array.from(frequencies.subarray(6), omega => omega * Math.sqrt((12 * (1 - nu ** 2)) / h ** 2));

/** Both meshes' frequencies fall to below those of Ritz's method, which are upper bounds, and stay within 1 % of them. */
function expectConvergence(
  of: (n: number) => SolidBody | ShellBody,
  h: number,
  counts: readonly [number, number],
): void {
  const [coarse, fine] = counts.map(n => {
    const plate = of(n);
    const {frequencies, warnings} = modes(plate, plate.start, {count: 11});
    expect(warnings.join()).to.match(/^6 modes have ω² = 0.*Modes 9, 10 have one frequency/);
    return scaled(frequencies, h);
  });
  leissa.forEach((value, i) => {
    expect(fine[i], `mode ${i}`).to.be.below(coarse[i]);
    expect(fine[i] / value, `mode ${i}`).to.be.within(0.99, 1.005);
  });
}

describe('a free square plate', function () {
  this.timeout(60_000);
  const h = 0.01;

  it('has the frequencies of Leissa, of solids', () => {
    const plate = (n: number): SolidBody =>
      solid({
        mesh: box([1, 1, h], [n, n, 1], 'hex20'),
        material: materials.linearElastic({E: 1, nu}),
        density: 1,
        mass: 'consistent',
      });
    expectConvergence(plate, h, [4, 8]);
  });

  it('has the frequencies of Leissa, of shells', () => {
    const plate = (n: number): ShellBody => {
      const flat = box([1, 1], [n, n]);
      const points = Float64Array.from({length: (flat.points.length / 2) * 3}, (_, i) =>
        i % 3 === 2 ? 0 : flat.points[2 * Math.floor(i / 3) + (i % 3)],
      );
      const mesh = {...flat, points, dimension: 3} as const;
      return shell({mesh, E: 1, nu, thickness: h, density: 1, mass: 'consistent'});
    };
    expectConvergence(plate, h, [8, 16]);
  });
});
