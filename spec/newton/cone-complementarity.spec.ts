/** Impulses of many contacts with friction, by the laws themselves: balls on a floor, between walls and in a corner, redundant contacts, closed forms. */
import {expect} from 'chai';
import {ConeComplementarity} from '../../lib/newton/cone-complementarity.js';
import {ConeSweeps} from '../../lib/newton/cone-sweeps.js';
import {slow} from '../tiers.js';

type V3 = readonly [number, number, number];
const cross = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

interface Touch {
  /** Of the ball that is pushed along the normal, and of the one that is pushed back, −1 for none. */
  readonly ball: number;
  readonly other: number;
  readonly normal: V3;
  readonly apart: number;
}

const [mass, radius] = [2, 0.5];
const inertia = 0.4 * mass * radius ** 2;

/** Balls with velocities v [balls, 6] before the contacts. @returns the problem, G by dense rows */
function balls(v: readonly number[], touches: readonly Touch[], mu: number) {
  const n = v.length;
  const a = Float64Array.from({length: n}, (_, i) => (i % 6 < 3 ? mass : inertia));
  const rows = touches.flatMap(({ball, other, normal}) => {
    const [x, y, z] = normal;
    const one = Math.abs(z) < 0.9 ? [y / Math.hypot(x, y), -x / Math.hypot(x, y), 0] : [0, z / Math.hypot(y, z), -y / Math.hypot(y, z)]; // prettier-ignore
    return [normal, one, cross(normal, one)].map(direction => {
      const row = new Float64Array(n);
      const arm = normal.map(c => -radius * c);
      row.set([...direction, ...cross(arm, direction)], 6 * ball);
      if (other >= 0) row.set([...direction.map(c => -c), ...cross(arm, direction)], 6 * other);
      return row;
    });
  });
  const columns = rows.map((_, i) => {
    const {ball, other} = touches[Math.floor(i / 3)];
    const of = (body: number): number[] => Array.from({length: 6}, (__, k) => 6 * body + k);
    return [...(other < 0 ? [] : of(other)), ...of(ball)];
  });
  const rowPointers = new Int32Array(rows.length + 1);
  columns.forEach(({length}, i) => (rowPointers[i + 1] = rowPointers[i] + length));
  const contacts = touches.map((_, i) => ({normal: 3 * i, tangential: [3 * i + 1, 3 * i + 2]}));
  const own = Int32Array.from({length: n + 1}, (_, i) => i);
  const problem = ConeComplementarity.of({
    a: {n, rowPointers: own, columns: own.subarray(0, n)},
    g: {n: rows.length, rowPointers, columns: Int32Array.from(columns.flat())},
    contacts,
  });
  if (problem === undefined) throw new Error('A couples too much.');
  const {cones} = problem;
  const g = Float64Array.from(columns.flatMap((of, i) => of.map(k => rows[i][k])));
  expect(cones.load(a, g)).to.equal(true);
  v.forEach((x, i) => (cones.b[i] = a[i] * x));
  touches.forEach(({apart}, i) => {
    cones.apart[3 * i] = apart;
    cones.friction[3 * i] = mu;
  });
  return {problem, cones, rows, a, g};
}

/** The worst of the laws, with momentum, from v and p alone; velocities and impulses. */
function broken({cones, rows, a}: ReturnType<typeof balls>, touches: readonly Touch[], mu: number): number {
  let worst = 0;
  for (let i = 0; i < a.length; i++)
    worst = Math.max(worst, Math.abs(a[i] * cones.v[i] - cones.b[i] - rows.reduce((sum, row, k) => sum + row[i] * cones.p[k], 0)) / a[i]); // prettier-ignore
  touches.forEach(({apart}, i) => {
    const u = [0, 1, 2].map(k => dot([...rows[3 * i + k]], [...cones.v]) + (k === 0 ? apart : 0));
    const [push, ...rub] = cones.p.subarray(3 * i, 3 * i + 3);
    worst = Math.max(
      worst,
      -u[0],
      -push,
      Math.min(Math.abs(u[0]), push),
      Math.hypot(...rub) - mu * push,
      mu * push * Math.hypot(u[1], u[2]) + rub[0] * u[1] + rub[1] * u[2],
    );
  });
  return worst;
}

describe('cone complementarity', () => {
  it('a ball thrown along a floor slips, and loses μ g h of its speed and gains 5/2 of that in rolling', () => {
    const touches: Touch[] = [{ball: 0, other: -1, normal: [0, 0, 1], apart: 0}];
    const made = balls([3, 0, -0.1, 0, 0, 0], touches, 0.5);
    made.problem.solve(made.cones.speed(), 1e-12, 1e-11);
    const {v, p} = made.cones;
    expect(p[0]).to.be.closeTo(0.1 * mass, 1e-11);
    expect(v[0]).to.be.closeTo(3 - 0.05, 1e-11);
    expect(v[4]).to.be.closeTo((2.5 * 0.05) / radius, 1e-10);
    expect(broken(made, touches, 0.5)).to.be.lessThan(1e-11);
  });

  it('a ball that drops between two walls that hold it comes to rest, however often a contact is told', () => {
    const slope = Math.SQRT1_2;
    const wedge = [1, -1, 1, -1].map((side): Touch => ({
      ball: 0,
      other: -1,
      normal: [side * slope, 0, slope],
      apart: 0,
    }));
    const made = balls([0, 0, -1, 0, 0, 0], wedge, 0.5);
    made.problem.solve(made.cones.speed(), 1e-12, 1e-11);
    for (const x of made.cones.v) expect(x).to.be.closeTo(0, 1e-10);
    expect(broken(made, wedge, 0.5)).to.be.lessThan(1e-10);
  });

  it('ten balls on each other at rest, from nothing: every one carries what lies on it, at once', () => {
    const n = 10;
    const touches = Array.from({length: n}, (_, i): Touch => ({ball: i, other: i - 1, normal: [0, 0, 1], apart: 0}));
    const made = balls(touches.flatMap(() => [0, 0, -0.1, 0, 0, 0]), touches, 0.5); // prettier-ignore
    const speed = made.cones.speed();
    expect(made.problem.solve(speed, 1e-12, 1e-11)).to.be.at.most(1e-11);
    touches.forEach((_, i) => expect(made.cones.p[3 * i]).to.be.closeTo((n - i) * mass * 0.1, 1e-9));
    // Not one ball after the other.
    expect(made.cones.factorizations).to.be.at.most(6);
  });

  it('sweeps alone find the impulses of ten balls on each other: the weights above, and v up to date', () => {
    const n = 10;
    const touches: Touch[] = Array.from({length: n}, (_, i) => ({ball: i, other: i - 1, normal: [0, 0, 1], apart: 0}));
    const {cones} = balls(Array.from({length: n}, () => [0, 0, -0.1, 0, 0, 0]).flat(), touches, 0.5);
    cones.speed();
    const sweeps = new ConeSweeps(cones);
    for (let k = 0; k < 1000; k++) sweeps.sweep();
    touches.forEach((_, i) => expect(cones.p[3 * i]).to.be.closeTo((n - i) * mass * 0.1, 1e-10));
    const kept = cones.v.slice();
    cones.accelerate();
    cones.v.forEach((x, i) => expect(kept[i]).to.be.closeTo(x, 1e-13));
  });

  it('sweeps take a ball along on a belt that slips under it, with μ times the impulse of its weight', () => {
    const touches: Touch[] = [{ball: 0, other: -1, normal: [0, 0, 1], apart: 0}];
    const {cones} = balls([0, 0, -0.1, 0, 0, 0], touches, 0.5);
    // The belt moves at 3 along the first tangential row.
    cones.apart[1] = -3;
    cones.speed();
    const sweeps = new ConeSweeps(cones);
    for (let k = 0; k < 20; k++) sweeps.sweep();
    const [pushed, along, across] = cones.p;
    expect(pushed).to.be.closeTo(0.1 * mass, 1e-14);
    expect(along).to.be.closeTo(0.5 * 0.1 * mass, 1e-14);
    expect(across).to.equal(0);
  });

  it('finds contacts that press though gaps are wide, one of them by what others do', () => {
    const floor = {normal: [0, 0, 1] as V3, other: -1};
    const touches: Touch[] = [
      {...floor, ball: 0, apart: 0},
      {...floor, ball: 1, apart: 0.5},
      {...floor, ball: 2, apart: 3},
      {normal: [1, 0, 0], ball: 4, other: 3, apart: 0},
      {normal: [-1, 0, 0], ball: 4, other: -1, apart: 0.4},
      {normal: [-1, 0, 0], ball: 5, other: -1, apart: 0.6},
    ];
    const v = [
      [0, 0, -1],
      [0, 0, -1],
      [0, 0, -1],
      [1, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ].flatMap(one => [...one, 0, 0, 0]);
    const made = balls(v, touches, 0);
    made.problem.solve(made.cones.speed(), 1e-12, 1e-11);
    const {v: after} = made.cones;
    // The two that knock go on as one until the wall, which both meet.
    [0, -0.5, -1].forEach((speed, ball) => expect(after[6 * ball + 2]).to.be.closeTo(speed, 1e-11));
    [0.4, 0.4, 0].forEach((speed, i) => expect(after[6 * (3 + i)]).to.be.closeTo(speed, 1e-11));
    expect(broken(made, touches, 0)).to.be.below(1e-10);
  });

  it('leaves out what moves nothing', () => {
    const touches: Touch[] = [
      {ball: 0, other: -1, normal: [0, 0, 1], apart: 0},
      {ball: 0, other: -1, normal: [0, 0, 1], apart: 3},
    ];
    const made = balls([3, 0, -0.1, 0, 0, 0], touches, 0.5);
    const {cones} = made;
    const {rowPointers} = cones.structure.g;
    expect(cones.load(made.a, made.g.map((x, k) => (k < rowPointers[3] ? x : 0)))).to.equal(true); // prettier-ignore
    cones.p.fill(1);
    expect(made.problem.solve(cones.speed(), 1e-12, 1e-11)).to.be.at.most(1e-11);
    expect(cones.p[0]).to.be.closeTo(0.1 * mass, 1e-11);
    expect([...cones.p.subarray(3)]).to.deep.equal([0, 0, 0]);
  });

  /** 64 balls, touching and nearly touching, at three walls, or five between which they are jammed. */
  /** 64 balls at random places of a grid, thrown about, that touch each other and the walls of a corner, or all walls, as a generator gives them. */
  function thrown(first: number, jammed: boolean): {v: number[]; touches: Touch[]; seed: number} {
    let seed = first;
    const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
    const side = 4;
    const place = (i: number): V3 => [i % side, Math.floor(i / side) % side, Math.floor(i / side ** 2)];
    const touches: Touch[] = [];
    const at = Array.from({length: side ** 3}, (_, i) => place(i).map(x => x + 0.1 * next()));
    at.forEach((x, i) => {
      for (let axis = 0; axis < 3; axis++) {
        const unit = (sign: number): V3 => [0, 1, 2].map(c => (c === axis ? sign : 0)) as never as V3;
        if (place(i)[axis] === 0) touches.push({ball: i, other: -1, normal: unit(1), apart: 0});
        if (jammed && axis < 2 && place(i)[axis] === side - 1) touches.push({ball: i, other: -1, normal: unit(-1), apart: 0}); // prettier-ignore
      }
      for (let j = 0; j < i; j++) {
        const d = x.map((c, axis) => c - at[j][axis]);
        const length = Math.hypot(...d);
        if (length < 1.25)
          touches.push({ball: i, other: j, normal: d.map(c => c / length) as never as V3, apart: Math.max(0, 0.2 * next())}); // prettier-ignore
      }
    });
    return {v: at.flatMap(() => [next(), next(), next() - 1, next(), next(), next()]), touches, seed};
  }

  function heap(first: number, jammed: boolean, mu: number, heaps: number): void {
    for (let k = 0, seed = first; k < heaps; k++) {
      const {v, touches, seed: after} = thrown(seed, jammed);
      seed = after;
      const made = balls(v, touches, mu);
      const speed = made.cones.speed();
      expect(made.problem.solve(speed, 1e-11 * speed, 5e-10 * speed)).to.be.at.most(5e-10 * speed);
      expect(broken(made, touches, mu)).to.be.lessThan(1e-8);
    }
  }

  slow('a heap of 64 balls in a corner, thrown about: momentum, gaps, cones, complementarity and dissipation', () => {
    heap(7, false, 0.4, 4);
  });

  slow('contacts that press in one step and do not count in the next leave nothing behind', () => {
    const {v, touches} = thrown(7, true);
    const far = touches.map((touch, i) => (i % 3 === 0 ? {...touch, apart: 50} : touch));
    const solved = (made: ReturnType<typeof balls>): Float64Array => {
      const {problem, cones} = made;
      far.forEach(({apart}, i) => (cones.apart[3 * i] = apart));
      cones.p.fill(0);
      const speed = cones.speed();
      problem.solve(speed, 1e-11 * speed, 5e-10 * speed);
      return cones.p.slice();
    };
    const used = balls(v, touches, 0.4);
    const speed = used.cones.speed();
    used.problem.solve(speed, 1e-11 * speed, 5e-10 * speed);
    expect(solved(used)).to.deep.equal(solved(balls(v, far, 0.4)));
  });

  slow('64 balls jammed between four walls: the same', () => {
    for (const seed of [7, 21, 35]) heap(seed, true, 0.4, 1);
    heap(35, true, 0.1, 1);
  });
});
