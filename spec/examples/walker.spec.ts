/** The simplest walker against its paper, an independent integration, and what a heelstrike may take. */
import {expect} from 'chai';
import {gait, onSlope, periodDoubling, published, returnMap, walk, type StepStart} from '../../examples/walker.js';

describe('the simplest walker', () => {
  const long = gait(0.009, [0.2, -0.2]);

  it('has the published gait, its period, and the eigenvalues that SciPy finds by differences of fourth order', () => {
    // Garcia et al. 1998; the map of SciPy's DOP853 at rtol 1e-13 takes them to themselves within 1.2e-13.
    long.start.forEach((value, i) => expect(value).to.be.closeTo(published.start[i], 1e-12));
    expect(long.period).to.be.closeTo(3.88246375285114, 1e-10);
    const [{real, imaginary}, other] = long.eigenvalues;
    expect(real).to.be.closeTo(-0.190099841, 1e-9);
    expect(imaginary).to.be.closeTo(0.557598776, 1e-9);
    expect([other.real, other.imaginary]).to.deep.equal([real, -imaginary]);
  });

  it("loses at heelstrike what the slope's step gives", () => {
    // ½ θ'² (1/cos² 2θ − 1) = 2 sin θ sin γ, the mass at the hip alone.
    const [angle, rate] = long.start;
    const lost = (rate ** 2 * (1 / Math.cos(2 * angle) ** 2 - 1)) / 2;
    expect(lost).to.be.closeTo(2 * Math.sin(angle) * Math.sin(0.009), 1e-12);
  });

  it('derivatives of the return map are those of differences, by the slope too', () => {
    const [start, by]: [StepStart, number] = [[0.203, -0.201], 1e-5];
    const {jacobian, bySlope} = returnMap(start, 0.0085);
    const slope = (i: number, more: StepStart, less: StepStart): number => (more[i] - less[i]) / (2 * by);
    for (const i of [0, 1]) {
      const along = [0, 1].map(k => {
        const at = (step: number): StepStart =>
          returnMap(start.map((x, j) => (j === k ? x + step : x)) as unknown as StepStart, 0.0085).next;
        return slope(i, at(by), at(-by));
      });
      along.forEach((value, k) => expect(jacobian[i][k] / value).to.be.closeTo(1, 1e-6));
      const bySteepness = slope(i, returnMap(start, 0.0085 + by).next, returnMap(start, 0.0085 - by).next);
      expect(bySlope[i] / bySteepness).to.be.closeTo(1, 1e-6);
    }
  });

  it('begun a little wrong comes back as its eigenvalues say', () => {
    const path = walk([long.start[0] + 1e-5, long.start[1]], 0.009, 8 * long.period);
    const errors = path.events.map(({after}) => (after as {q: Float64Array}).q[0] - long.start[0]);
    expect(errors.length).to.be.within(7, 8);
    // By Cayley and Hamilton e⁺⁺ = tr e⁺ − det e, to second order in the error, which first grows to 6e-5.
    const [[a, b], [c, d]] = long.jacobian;
    errors.slice(2, 7).forEach((error, k) => {
      expect(error).to.be.closeTo((a + d) * errors[k + 1] - (a * d - b * c) * errors[k], 1e-7);
    });
    expect(Math.abs(errors[6])).to.be.below(2e-5);
    path.dispose();
  });

  it('is stable up to a slope of 0.0151, where every second step becomes alike', () => {
    const doubled = periodDoubling(long, 0.014);
    expect(doubled.gamma).to.be.closeTo(0.0150884379, 1e-10); // SciPy
    expect(Math.min(...doubled.eigenvalues.map(({real}) => real))).to.be.closeTo(-1, 1e-8);
    expect(Math.min(...onSlope(0.016, doubled).eigenvalues.map(({real}) => real))).to.be.below(-1.1);
  });

  it('a walker that falls is told of', () => {
    expect(() => returnMap([0.2, -0.05], 0.009)).to.throw(/falls/);
  });
});
