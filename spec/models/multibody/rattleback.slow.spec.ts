/**
 * A rattleback, which turns round when it is spun one way and not the other (A. Garcia & M. Hubbard, Proc. R. Soc. Lond. A 418, 1988), as an
 * ellipsoid with exact friction on a plane, against the equations of rolling without slip. Numbers of T. R. Kane & D. A. Levinson,
 * Int. J. Non-Linear Mech. 17 (1982).
 */
import {expect} from 'chai';
import {moreau, simulate} from '../../../lib/index.js';
import {multibody, rigidContact} from '../../../models/index.js';
import {ellipsoid, plane} from '../../../models/multibody/shapes.js';
import {largest} from '../../simulate/numbers.js';

type V3 = [number, number, number];
const radii: V3 = [0.2, 0.03, 0.02];
/** The centre of the ellipsoid above that of mass. */
const above = 0.01;
const inertia = [[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]]; // prettier-ignore
const g = 9.81;
const tilt = (0.5 * Math.PI) / 180;
const t1 = 3;

const cross = (a: readonly number[], b: readonly number[]): V3 => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const dot = (a: readonly number[], b: readonly number[]): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** From the centre of mass to where it touches, with the vertical n in body axes. */
function foot(n: readonly number[]): V3 {
  const reach = Math.hypot(...n.map((x, i) => radii[i] * x));
  const point = n.map((x, i) => -(radii[i] ** 2 * x) / reach);
  return [point[0], point[1], point[2] + above];
}

/** Pitched about y, and spun about the vertical, without slip. */
function start(spin: number) {
  const [s, c] = [Math.sin(tilt), Math.cos(tilt)];
  const n: V3 = [-s, 0, c];
  const omega = n.map(x => spin * x) as V3;
  const v = cross(foot(n), omega);
  const height = -dot(foot(n), n);
  return {n, omega, height, velocity: [c * v[0] + s * v[2], v[1], -s * v[0] + c * v[2]] as V3};
}

/** ω about the body's upright axis at times 0, 0.25, 0.5, …: by exact friction. */
function rolled(spin: number, dt: number): number[] {
  const {omega, height, velocity} = start(spin);
  const [s, c] = [Math.sin(tilt), Math.cos(tilt)];
  const stone = ellipsoid({radii, at: [above * s, 0, height + above * c]});
  const system = multibody({
    gravity: [0, 0, -g],
    bodies: {
      stone: {
        mass: 1,
        inertia,
        position: [0, 0, height],
        rotation: [Math.cos(tilt / 2), 0, Math.sin(tilt / 2), 0],
        velocity,
        angularVelocity: omega,
      },
    },
    contacts: [rigidContact('ground', 'stone', {shapes: [plane(), stone], friction: 1})],
  });
  const path = simulate(system, system.initial, {scheme: moreau(), dt, t1});
  path.dispose();
  const {angularVelocity} = system.pose(path, 'stone');
  return Array.from({length: 13}, (_, i) => angularVelocity[3 * Math.round((0.25 * i) / dt) + 2]);
}

/**
 * By Euler's equations with the force that holds the point of contact: ρ is the way to it, v = ρ × ω, and
 * Jω' + m ρ×(ω'×ρ) = −ω×Jω + m ρ×(ω×v − ω×ρ' + g n).
 */
function held(spin: number): number[] {
  const squares = radii.map(x => x * x);
  const rate = (y: readonly number[]): number[] => {
    const [n, omega] = [y.slice(0, 3), y.slice(3)];
    const rho = foot(n);
    const reach = Math.sqrt(n.reduce((sum, x, i) => sum + squares[i] * x * x, 0));
    const turning = cross(n, omega);
    const faster = n.reduce((sum, x, i) => sum + squares[i] * x * turning[i], 0) / reach;
    const sliding = n.map((x, i) => (squares[i] * (x * faster)) / reach ** 2 - (squares[i] * turning[i]) / reach);
    const momentum = inertia.map(row => dot(row, omega));
    const [forced, dragged] = [cross(omega, cross(rho, omega)), cross(omega, sliding)];
    const torque = cross(rho, forced.map((x, i) => x - dragged[i] + g * n[i])); // prettier-ignore
    const gyroscopic = cross(omega, momentum);
    const right = torque.map((x, i) => x - gyroscopic[i]);
    const matrix = inertia.map((row, i) => row.map((x, j) => x + (i === j ? dot(rho, rho) : 0) - rho[i] * rho[j]));
    const determinant = (m: readonly number[][]): number => dot(m[0], cross(m[1], m[2]));
    const whole = determinant(matrix);
    const gained = [0, 1, 2].map(k => determinant(matrix.map((row, i) => row.map((x, j) => (j === k ? right[i] : x)))) / whole); // prettier-ignore
    return [...turning, ...gained];
  };
  const {n, omega} = start(spin);
  let y: number[] = [...n, ...omega];
  const [dt, found] = [5e-4, [] as number[]];
  const steps = Math.round(t1 / dt);
  for (let i = 0; i <= steps; i++) {
    if (i % (steps / 12) === 0) found.push(y[5]);
    const ahead = (k: readonly number[], by: number): number[] => y.map((x, j) => x + by * k[j]);
    const k1 = rate(y);
    const k2 = rate(ahead(k1, dt / 2));
    const k3 = rate(ahead(k2, dt / 2));
    const k4 = rate(ahead(k3, dt));
    y = y.map((x, j) => x + (dt / 6) * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]));
  }
  return found;
}

describe('a rattleback', () => {
  it('turns round from one spin and not from the other, as rolling without slip does', () => {
    const [against, along] = [held(-5), held(5)];
    expect(against.at(-1)).to.be.greaterThan(0.2);
    const turnedRound = rolled(-5, 1e-4);
    expect(turnedRound.at(-1)).to.be.greaterThan(0.2);
    // While it rattles hardest it slips; before, and when it is spun the other way, it rolls, to the first order of the step.
    const far = (a: number[], b: number[], until: number): number => largest(a.slice(0, until).map((x, i) => x - b[i]));
    expect(far(turnedRound, against, 4)).to.be.lessThan(0.25);
    expect(far(rolled(-5, 2e-4), against, 4) / far(turnedRound, against, 4)).to.be.within(1.6, 2.6);
    const [coarse, fine] = [5e-4, 2.5e-4].map(dt => far(rolled(5, dt), along, 13));
    expect(fine).to.be.lessThan(0.15);
    expect(coarse / fine).to.be.within(1.6, 2.4);
  }).timeout(60_000);
});
