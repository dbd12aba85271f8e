/**
 * A box of 10 kg on 25 balls (after leggedrobotics/SimBenchmark): at rest, and pushed by 150 N, when it rolls; how far the laws of
 * contact and the acceleration are from what they are to be, and the time it takes.
 *     npx tsx bench/plate.ts [balls in a row] [steps]
 */
import {moreau, simulate} from '../lib/index.js';
import {carried, lawsAtRest, rollingAcceleration} from '../spec/models/multibody/carried.js';

const [across, steps, h] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 50), 0.005];
/** Rolling takes 0.71 of a ball's load as friction: with less the box slips. */
const friction = 1;
for (const push of [0, 150]) {
  const began = process.cpuUsage();
  const box = carried(across, {mass: 10, friction});
  const path = simulate(box.system, box.system.initial, {scheme: moreau(), dt: h, steps, params: {push}});
  const seconds = process.cpuUsage(began).user / 1e6;
  const result =
    push === 0
      ? Object.entries(lawsAtRest(box, path, h))
          .map(([name, value]) => `${name} ${value.toExponential(1)}`)
          .join(', ')
      : `speed ${box.system.pose(path, 'plate').velocity[3 * steps].toFixed(9)}, by the closed form ${(rollingAcceleration(box, push) * steps * h).toFixed(9)}`;
  console.log(`push ${push} N: ${path.status}, ${steps} steps in ${seconds.toFixed(1)} s of processor time; ${result}`);
}
