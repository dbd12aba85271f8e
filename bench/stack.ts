/**
 * Ten boxes on each other, by contacts of box and box: how far they move in a minute, and time a step.
 *     npx tsx bench/stack.ts [boxes] [seconds]
 */
import {moreau, simulate} from '../lib/index.js';
import {box, multibody, plane, rigidContact, type BodySpec, type RigidContact} from '../models/index.js';

const [count, seconds, dt, edge] = [Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 60), 0.02, 0.2];
const cube = (i: number) => box({size: [edge, edge, edge], at: at(i)});
const at = (i: number): [number, number, number] => [0.01 * (i % 2), 0.01 * (i % 3), edge * (i + 0.5)];
const bodies: {[name: string]: BodySpec} = {};
const contacts: RigidContact[] = [];
for (let i = 0; i < count; i++) {
  bodies[`b${i}`] = {mass: 1, inertia: [edge ** 2 / 6, edge ** 2 / 6, edge ** 2 / 6], position: at(i)};
  contacts.push(
    i === 0
      ? rigidContact('ground', 'b0', {shapes: [plane(), cube(0)], friction: 0.5})
      : rigidContact(`b${i - 1}`, `b${i}`, {shapes: [cube(i - 1), cube(i)], friction: 0.5}),
  );
}
const stack = multibody({gravity: [0, 0, -9.81], bodies, contacts});
const began = process.cpuUsage();
const path = simulate(stack, stack.initial, {scheme: moreau(), dt, t1: seconds, saveAt: 'end'});
path.dispose();
const [q, v] = [path.values('q'), path.values('v').slice(-6 * count)];
const half = q.length / 2;
let most = 0;
for (let i = 0; i < half; i++) most = Math.max(most, Math.abs(q[half + i] - q[i]));
const {steps, newtonIterations, milliseconds} = path.stats;
const {user, system} = process.cpuUsage(began);
console.log(`${count} boxes, ${seconds} s: ${steps} steps, ${newtonIterations} iterations, ${((user + system) / 1e6).toFixed(1)} s of processor time; by the clock ${(milliseconds.compile / 1000).toFixed(1)} s to compile and ${((milliseconds.run - milliseconds.compile) / steps).toFixed(1)} ms a step`); // prettier-ignore
console.log(`moved by ${most.toExponential(1)}, fastest ${Math.max(...v.map(Math.abs)).toExponential(1)}`);
