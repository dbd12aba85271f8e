/**
 * Spheres poured into a box: the time it takes, how many contacts its pieces have, how far the laws of contact are from being obeyed in the steps of each, and how far
 * spheres lie in each other and in walls.
 *     npx tsx bench/pile.ts [spheres] [steps] [dt] [spheres in a row] [compliance, m/N]
 */
import {simulateNear, rigidContact, type BodySpec} from '../models/index.js';
import {plane, sphere} from '../models/multibody/shapes.js';
import {lawsOfBalls} from '../spec/models/multibody/laws-of-balls.js';

type V3 = [number, number, number];
const [count, steps] = [Number(process.argv[2] ?? 100), Number(process.argv[3] ?? 200)];
const [radius, mu, dt] = [0.1, 0.4, Number(process.argv[4] ?? 0.005)];
const across = Number(process.argv[5] ?? Math.max(2, Math.round((count / 2) ** (1 / 3))));
const compliance = Number(process.argv[6] ?? 0);
const half = 0.115 * across;
const normals: V3[] = [
  [0, 0, 1],
  [1, 0, 0],
  [-1, 0, 0],
  [0, 1, 0],
  [0, -1, 0],
];
const walls = normals.map(normal => ({
  normal,
  at: normal.map(x => -half * x * (normal[2] === 0 ? 1 : 0)) as V3,
}));

let seed = 3;
/** Uniform in [−1, 1] (Park & Miller 1988). */
const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
const bodies: {[name: string]: BodySpec} = {};
for (let i = 0; i < count; i++) {
  const [column, layer] = [i % across ** 2, Math.floor(i / across ** 2)];
  const place = (k: number): number => (k - (across - 1) / 2) * 0.22 + 0.009 * next();
  bodies[`s${i}`] = {
    mass: 1,
    inertia: [0.004, 0.004, 0.004],
    position: [place(column % across), place(Math.floor(column / across)), 0.15 + 0.22 * layer],
  };
}
const ball = sphere({radius});
const speeds = (v: Float64Array): number[] =>
  Array.from({length: count}, (_, i) => Math.hypot(...v.subarray(6 * i, 6 * i + 3)));
/** Of masses of one and moments of 0.004, in joules. */
const energy = (q: Float64Array, v: Float64Array): number => {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const [x, y, z, a, b, c] = v.subarray(6 * i, 6 * i + 6);
    sum += (x * x + y * y + z * z + 0.004 * (a * a + b * b + c * c)) / 2 + 9.81 * q[7 * i + 2];
  }
  return sum;
};
const judged = {worst: 0, deepest: 0};
const began = process.cpuUsage();
const run = simulateNear(
  {
    system: {gravity: [0, 0, -9.81], bodies},
    reach: Object.fromEntries(Object.keys(bodies).map(name => [name, radius])),
    planes: walls.map(wall => plane(wall)),
    contact: (a, b, wall) => rigidContact(a, b, {shapes: [wall ?? ball, ball], friction: mu, compliance}),
    margin: 0.03,
  },
  {
    dt,
    steps,
    piece: 40,
    onPiece: piece => {
      const {worst, deepest} = lawsOfBalls([piece], {n: count, h: dt, radius, mu, walls, compliance});
      judged.worst = Math.max(judged.worst, worst);
      judged.deepest = Math.max(judged.deepest, deepest);
      const ended = speeds(piece.v.subarray(6 * count * piece.steps));
      console.log(
        `steps ${piece.first} to ${piece.first + piece.steps - 1}: ${piece.contacts} contacts, ${(piece.milliseconds / piece.steps).toFixed(0)} ms a step by the clock, with compiling; laws ${worst.toExponential(1)}, deepest ${deepest.toExponential(1)}, fastest at its end ${Math.max(...ended).toExponential(1)} m/s, root mean square ${Math.sqrt(ended.reduce((sum, x) => sum + x * x, 0) / count).toExponential(1)}, energy ${energy(piece.q.subarray(7 * count * piece.steps), piece.v.subarray(6 * count * piece.steps)).toFixed(3)} J`,
      );
    },
  },
);
const seconds = process.cpuUsage(began).user / 1e6;
console.log(
  `${count} spheres, ${steps} steps of ${dt} s in ${seconds.toFixed(1)} s of processor time, ${((1000 * seconds) / steps).toFixed(0)} ms a step with compiling, ${run.pieces.length} pieces`,
);
console.log(
  `all pairs would be ${(count * (count - 1)) / 2 + 5 * count} contacts; pieces have at most ${Math.max(...run.pieces.map(piece => piece.contacts))}`,
);
console.log(`laws of contact, worst of all steps: ${judged.worst.toExponential(1)} m/s or kg m/s`);
console.log(
  `deepest overlap ${judged.deepest.toExponential(1)} of radius ${radius}; fastest at the end ${Math.max(...speeds(run.v.subarray(6 * count * steps))).toExponential(1)} m/s`,
);
