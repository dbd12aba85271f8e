/**
 * Diagonally implicit Runge–Kutta methods, L-stable and stiffly accurate. Kvaernø's (BIT 44, 2004) have an
 * explicit first stage. All stages are one system here, its matrix block triangular.
 */
import {heldEnd} from './constrained-runge-kutta.js';
import {firstOrder, mechanical} from './implicit-runge-kutta.js';
import type {Scheme} from './scheme.js';
import type {Tableau} from './tableau.js';

/** From the rows of A below the diagonal; the last row is b, and times are row sums. */
function tableau(name: string, order: number, gamma: number, explicitFirst: boolean, below: readonly (readonly number[])[]): Tableau {
  const s = below.length;
  const a = below.map((row, i) => Array.from({length: s}, (_, j) => (j < i ? row[j] : j === i && !(explicitFirst && i === 0) ? gamma : 0)));
  return {name, order, a, b: a[s - 1], c: a.map(row => row.reduce((total, weight) => total + weight, 0))};
}

function scheme(method: Tableau): Scheme {
  const constrained = heldEnd(method);
  return {
    name: method.name, order: method.order, mechanics: mechanical(method), ode: firstOrder(method), constrained,
    stabilized: {projection: constrained, 'projection-before': constrained, ggl: null}, contacts: 'none',
  };
}

/** Alexander's two stages (SIAM J. Numer. Anal. 14, 1977), γ = 1 − 1/√2. Second order, L-stable. */
export function sdirk2(): Scheme {
  const gamma = 1 - Math.SQRT1_2;
  return scheme(tableau('sdirk2', 2, gamma, false, [[], [1 - gamma]]));
}

/** Kvaernø's 3/2 pair with four stages, three of them implicit. Third order, L-stable. γ is a root of x³ − 3x² + 3x/2 − 1/6. */
export function kvaerno3(): Scheme {
  const g = 0.4358665215084590;
  return scheme(tableau('kvaerno3', 3, g, true, [
    [], [g], [(-4 * g * g + 6 * g - 1) / (4 * g), (-2 * g + 1) / (4 * g)],
    [(6 * g - 1) / (12 * g), -1 / ((24 * g - 12) * g), (-6 * g * g + 6 * g - 1) / (6 * g - 3)],
  ]));
}

/** Kvaernø's 5/4 pair with seven stages, six of them implicit, γ = 0.26. Fifth order, L-stable. */
export function kvaerno5(): Scheme {
  return scheme(tableau('kvaerno5', 5, 0.26, true, [
    [], [0.26], [0.13, 0.84033320996790809],
    [0.22371961478320505, 0.47675532319799699, -0.06470895363112615],
    [0.16648564323248321, 0.10450018841591720, 0.03631482272098715, -0.13090704451073998],
    [0.13855640231268224, 0, -0.04245337201752043, 0.02446657898003141, 0.61943039072480676],
    [0.13659751177640291, 0, -0.05496908796538376, -0.04118626728321046, 0.62993304899016403, 0.06962479448202728],
  ]));
}
