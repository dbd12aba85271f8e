/**
 * Ten boxes on each other, by contacts of box and box: how far they move and tilt in a minute, how fast any of them is in any step, which bounds the
 * speed of every point of contact, what the forces pull or are beyond the cone, and time a step.
 *     npx tsx bench/stack.ts [boxes] [seconds]
 */
import {moreau, simulate} from '../lib/index.js';
import {multibody, rigidContact, type BodySpec, type RigidContact} from '../models/index.js';
import {box, plane} from '../models/multibody/shapes.js';

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
const path = simulate(stack, stack.initial, {scheme: moreau(), dt, t1: seconds});
path.dispose();
const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
let [moved, fastest, pulled, beyond] = [0, 0, 0, 0];
for (let i = 0; i < q.length; i++) moved = Math.max(moved, Math.abs(q[i] - q[i % (7 * count)]));
for (const x of v) fastest = Math.max(fastest, Math.abs(x));
// 8 corners on the floor, and 12 points of every pair: normal forces, and then two tangential ones of each.
const between = 12 * (count - 1);
const rows = 3 * (8 + between);
for (let step = 1; step * rows < lambda.length; step++) {
  const all = lambda.subarray(step * rows, (step + 1) * rows);
  for (const [from, points] of [
    [0, 8],
    [24, between],
  ])
    // prettier-ignore
    for (let c = 0; c < points; c++) {
      const at = from + points + 2 * c;
      pulled = Math.max(pulled, -dt * all[from + c]);
      beyond = Math.max(beyond, dt * (Math.hypot(all[at], all[at + 1]) - 0.5 * all[from + c]));
    }
}
const {steps, newtonIterations, milliseconds} = path.stats;
const {user, system} = process.cpuUsage(began);
console.log(`${count} boxes, ${seconds} s: ${steps} steps, ${newtonIterations} iterations, ${((user + system) / 1e6).toFixed(1)} s of processor time; by the clock ${(milliseconds.compile / 1000).toFixed(1)} s to compile and ${((milliseconds.run - milliseconds.compile) / steps).toFixed(1)} ms a step`); // prettier-ignore
console.log(`moved by ${moved.toExponential(1)} (m, or numbers of a quaternion), fastest ${fastest.toExponential(1)} m/s or rad/s; pulled ${pulled.toExponential(1)}, beyond the cone ${beyond.toExponential(1)} kg m/s`); // prettier-ignore
