import {simulate, generalizedAlpha, gaussLegendre, implicitMidpoint} from '../../../lib/index.js';
import {multibody, spherical, revolute, springDamper} from '../../../models/index.js';
const t0 = Date.now();
const free = multibody({bodies: {card: {mass: 1, inertia: [0.3, 0.35, 0.4], angularVelocity: [0.1, 15, 0.1]}}});
{
const p = simulate(free, free.initial, {dt: 0.01, t1: 1, observe: free.energy});
console.log('default', p.values('observed').slice(-1), free.pose(p, 'card').angularVelocity.slice(-3), Date.now()-t0);
}
const top = multibody({gravity: [0, 0, -9.81], bodies: {top: {mass: 15, inertia: [0.234375, 0.46875, 0.234375], position: [0, 1, 0], velocity: [4.61538, 0, 0], angularVelocity: [0, 150, -4.61538]}}, joints: {pivot: spherical('ground', 'top', {at: [0, 0, 0]})}});
for (const dt of [0.002, 0.001, 0.0005]) {
const p = simulate(top, top.initial, {dt, t1: 0.1, scheme: generalizedAlpha(), observe: top.energy});
const r = top.reaction(p, 'pivot');
console.log(dt, top.pose(p,'top').position.slice(-3), r.force.slice(-3), r.torque.slice(-3), p.values('observed')[0], p.values('observed').slice(-1)[0], Date.now()-t0, p.stats.milliseconds);
}
const full = multibody({bodies: {card: {mass: 1, inertia: [[0.3,0.01,0],[0.01, 0.35,0],[0,0, 0.4]], angularVelocity: [0.1, 15, 0.1]}}});
{
const p = simulate(full, full.initial, {dt: 0.01, t1: 1, scheme: gaussLegendre({stages: 3}), observe: full.momentum});
console.log('full', p.values('observed').slice(0,6), p.values('observed').slice(-6), Date.now()-t0);
}
