/**
 * Runge–Kutta methods from their nodes: Gauss–Legendre and Radau IIA, with A and b by collocation
 * (Hairer, Nørsett & Wanner, Solving ODEs I, §II.7). The integrals of Lagrange's polynomials are taken
 * with Gauss's rule of as many points, which is exact for them: no ill-conditioned system is solved.
 */
import type {Tableau} from './tableau.js';

/** Π (x − c_m)/(c_j − c_m), m ≠ j. */
export const lagrange = (c: readonly number[], j: number, x: number): number =>
  c.reduce((product, node, m) => (m === j ? product : (product * (x - node)) / (c[j] - node)), 1);

/** Pₙ(x) and its derivative, by the three-term recursion. */
function legendre(n: number, x: number): {value: number; slope: number} {
  let [last, value] = [1, x];
  for (let k = 2; k <= n; k++) [last, value] = [value, ((2 * k - 1) * x * value - (k - 1) * last) / k];
  return {value, slope: (n * (x * value - last)) / (x * x - 1)};
}

/** Newton from Tricomi's estimate of a root is at rounding in four iterations for every n; two more cost nothing. */
const iterations = 6;

/** Gauss's rule on [0, 1], nodes in ascending order. */
export function gaussRule(n: number): {nodes: number[]; weights: number[]} {
  const nodes: number[] = [];
  const weights: number[] = [];
  for (let i = 0; i < n; i++) {
    let x = -Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    for (let k = 0; k < iterations; k++) {
      const {value, slope} = legendre(n, x);
      x -= value / slope;
    }
    const {slope} = legendre(n, x);
    nodes.push((1 + x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  return {nodes, weights};
}

/** The collocation method on these nodes: a_ij = ∫₀^cᵢ ℓ_j, b_j = ∫₀¹ ℓ_j. */
export function collocation(name: string, order: number, c: readonly number[]): Tableau {
  const {nodes, weights} = gaussRule(c.length);
  const integral = (j: number, end: number): number =>
    nodes.reduce((sum, x, k) => sum + end * weights[k] * lagrange(c, j, end * x), 0);
  const all = c.map((_, j) => j);
  return {
    name,
    order,
    c,
    a: c.map(end => all.map(j => integral(j, end))),
    b: all.map(j => integral(j, 1)),
    // The polynomial through 0 at 0 and zᵢ at cᵢ, at 1: what the stages' increments make of the step.
    gains: all.map(j => lagrange(c, j, 1) / c[j]),
  };
}

export const gaussTableau = (stages: number): Tableau =>
  collocation(`gaussLegendre(${stages})`, 2 * stages, gaussRule(stages).nodes);

/** Nodes: roots of the second derivative of x²(x−1)³. */
export const radauTableau: Tableau = collocation('radauIIA5', 5, [(4 - Math.sqrt(6)) / 10, (4 + Math.sqrt(6)) / 10, 1]);
