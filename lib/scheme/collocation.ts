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

/** A rule of integration on [0, 1], nodes in ascending order. */
export interface Rule {
  readonly nodes: readonly number[];
  readonly weights: readonly number[];
}

/** Gauss's rule. */
export function gaussRule(n: number): Rule {
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

/** ∫₀^end ℓ_j. */
export function integralWeights(c: readonly number[], j: number, end: number): number {
  const {nodes, weights} = gaussRule(c.length);
  return nodes.reduce((sum, x, k) => sum + end * weights[k] * lagrange(c, j, end * x), 0);
}

/**
 * Lobatto's rule, whose first and last nodes are 0 and 1: the others are the roots of P'ₙ₋₁, between those of Pₙ₋₁, and
 * the weights are 1/(n(n − 1)P²ₙ₋₁).
 */
export function lobattoRule(n: number): Rule {
  const degree = n - 1;
  const between = gaussRule(degree).nodes.map(node => 2 * node - 1);
  const inner = between.slice(1).map((right, k) => {
    let x = (between[k] + right) / 2;
    for (let i = 0; i < iterations; i++) {
      const {value, slope} = legendre(degree, x);
      // Legendre's equation gives the second derivative.
      const bend = (2 * x * slope - degree * n * value) / (1 - x * x);
      x -= slope / bend;
    }
    return x;
  });
  const nodes = [-1, ...inner, 1];
  return {
    nodes: nodes.map(x => (1 + x) / 2),
    weights: nodes.map(x => 1 / (n * degree * legendre(degree, x).value ** 2)),
  };
}

/** The collocation method on these nodes: a_ij = ∫₀^cᵢ ℓ_j, b_j = ∫₀¹ ℓ_j. */
export function collocation(name: string, order: number, c: readonly number[]): Tableau {
  const all = c.map((_, j) => j);
  return {
    name,
    order,
    c,
    a: c.map(end => all.map(j => integralWeights(c, j, end))),
    b: all.map(j => integralWeights(c, j, 1)),
    // The polynomial through 0 at 0 and zᵢ at cᵢ, at 1: what the stages' increments make of the step.
    gains: all.map(j => lagrange(c, j, 1) / c[j]),
  };
}

export const gaussTableau = (stages: number): Tableau =>
  collocation(`gaussLegendre(${stages})`, 2 * stages, gaussRule(stages).nodes);

/** Nodes: roots of the second derivative of x²(x−1)³. */
export const radauTableau: Tableau = collocation('radauIIA5', 5, [(4 - Math.sqrt(6)) / 10, (4 + Math.sqrt(6)) / 10, 1]);
