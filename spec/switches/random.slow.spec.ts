/**
 * A thousand random switched systems: rates that are linear in y between borders, times a factor that switches in time.
 * Their crossings have closed forms; where both rates push to a border the motion stays there.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {kvaerno5, ode, rk4, simulate, tsit5, type Params} from '../../lib/index.js';
import {cases, startSeed} from '../property.js';
import {slope, tight} from './cases.js';

type Values = {readonly [name: string]: tf.Tensor};
type Numbers = {readonly [name: string]: number};

/** How many draws of parameters each structure has. */
const draws = 10;
const T = 2;

type Clock = 'none' | 'once' | 'pulses' | 'stairs';

interface Structure {
  /** Pieces between borders. */
  readonly pieces: number;
  readonly clock: Clock;
  /** How borders are written. */
  readonly form: 'where' | 'sign' | 'step';
}

const line = (p: Values, k: number, y: tf.Tensor): tf.Tensor => tf.add(tf.mul(p[`a${k}`], y), p[`b${k}`]);
const truth = (x: tf.Tensor): tf.Tensor => tf.cast(x, 'float32');

function factor(clock: Clock, t: tf.Tensor, p: Values): tf.Tensor | number {
  if (clock === 'none') return 1;
  if (clock === 'once') return tf.where(tf.less(t, p.s), tf.onesLike(p.r), p.r);
  if (clock === 'stairs') return tf.add(1, tf.mul(p.r, tf.floor(tf.div(t, p.s))));
  return tf.add(1, tf.mul(p.r, truth(tf.less(tf.mod(t, p.s), tf.mul(p.d, p.s)))));
}

function systemOf({pieces, clock, form}: Structure) {
  return ode<Params>(({y, t, params}) => {
    const p = params as Values;
    const beyond = (k: number): tf.Tensor => {
      const g = tf.sub(y, p[`c${k}`]);
      if (form === 'sign') return tf.mul(0.5, tf.add(1, tf.sign(g)));
      return form === 'step' ? tf.step(g) : truth(tf.greaterEqual(g, 0));
    };
    let rate = line(p, 0, y);
    for (let k = 1; k < pieces; k++)
      rate =
        form === 'where'
          ? tf.where(tf.less(y, p[`c${k}`]), rate, line(p, k, y))
          : tf.add(rate, tf.mul(beyond(k), tf.sub(line(p, k, y), line(p, k - 1, y))));
    return tf.mul(factor(clock, t, p), rate);
  });
}

/** Where the factor changes after t, and its value from t on. */
function clockAt(clock: Clock, t: number, p: Numbers): {readonly until: number; readonly value: number} {
  // A time on a border is after it.
  const near = (x: number): number => Math.floor(x + 1e-12);
  if (clock === 'none') return {until: Infinity, value: 1};
  if (clock === 'once') return t < p.s - 1e-12 ? {until: p.s, value: 1} : {until: Infinity, value: p.r};
  const k = near(t / p.s);
  if (clock === 'stairs') return {until: (k + 1) * p.s, value: 1 + k * p.r};
  const off = (k + p.d) * p.s;
  return t < off - 1e-12 ? {until: off, value: 1 + p.r} : {until: (k + 1) * p.s, value: 1};
}

/** y(T); undefined where the motion meets a border that it leaves to either side, or comes too near to one. */
function exact({pieces, clock}: Structure, start: number, p: Numbers): number | undefined {
  let [t, y, piece] = [0, start, 0];
  while (piece + 1 < pieces && y > p[`c${piece + 1}`]) piece++;
  const rateOf = (k: number): number => p[`a${k}`] * y + p[`b${k}`];
  for (let guard = 0; guard < 1000; guard++) {
    const {until, value: r} = clockAt(clock, t, p);
    const end = Math.min(until, T);
    const [a, b] = [r * p[`a${piece}`], r * p[`b${piece}`]];
    const rate = a * y + b;
    const border = rate > 0 ? piece + 1 : piece;
    const c = border < 1 || border >= pieces ? undefined : p[`c${border}`];
    const ratio = c === undefined ? -1 : (a * c + b) / rate;
    const reach = ratio > 0 ? t + Math.log(ratio) / a : Infinity;
    if (reach < end) {
      [t, y] = [reach, c as number];
      const next = rate > 0 ? piece + 1 : piece - 1;
      const ahead = rateOf(next);
      if (Math.abs(ahead) < 1e-3) return undefined;
      // The factor is positive: it stays for good.
      if (ahead * rate < 0) return y;
      piece = next;
      continue;
    }
    y = (y + b / a) * Math.exp(a * (end - t)) - b / a;
    t = end;
    if (t >= T) return y;
  }
  return undefined;
}

describe('a thousand random switched systems', () => {
  it('have the states and derivatives of their closed forms', function () {
    this.timeout(3_600_000);
    let state = startSeed(1);
    const random = (from: number, to: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return from + ((to - from) * state) / 2 ** 32;
    };
    const choice = <A>(list: readonly A[]): A => list[Math.floor(random(0, list.length))];
    const away = (): number => choice([-1, 1]) * random(0.1, 0.9);
    let [compared, differentiated, stayed, told] = [0, 0, 0, 0];
    for (let i = 0; i < cases(1000) / draws; i++) {
      const structure: Structure = {
        pieces: Math.floor(random(2, 6)),
        clock: choice(['none', 'once', 'pulses', 'stairs']),
        form: choice(['where', 'sign', 'step']),
      };
      const {pieces} = structure;
      const draw = (): {readonly start: number; readonly p: Numbers} => {
        const entries: [string, number][] = [];
        let c = random(-1, 0);
        for (let k = 0; k < pieces; k++) {
          entries.push([`a${k}`, away()], [`b${k}`, choice([1, 1, 1, -1]) * random(0.3, 1.5)]);
          if (k > 0) entries.push([`c${k}`, (c += random(0.2, 0.7))]);
        }
        const {clock} = structure;
        if (clock !== 'none') entries.push(['s', random(0.3, 0.9)], ['r', random(0.3, 1.5)]);
        if (clock === 'pulses') entries.push(['d', random(0.2, 0.8)]);
        return {start: random(-1.2, 1.2), p: Object.fromEntries(entries)};
      };
      const steps = choice([
        {scheme: tsit5(), dt: 0.1, ...tight},
        {scheme: kvaerno5(), dt: 0.1, ...tight},
        {scheme: rk4(), dt: 0.004},
      ]);
      const first = draw();
      const options = {...steps, t1: T, saveAt: 'end', switches: 'locate'} as const;
      const prepared = simulate.prepare(systemOf(structure), {y: first.start}, {...options, params: first.p});
      for (let k = 0; k < draws; k++) {
        const {start, p} = k === 0 ? first : draw();
        const names = Object.keys(p);
        const borders = names.filter(name => name.startsWith('c')).map(name => p[name]);
        const end = exact(structure, start, p);
        const what = JSON.stringify({structure, scheme: steps.scheme.name, start, p});
        if (end === undefined || borders.some(c => Math.abs(c - start) < 0.01)) continue;
        const size = Math.max(1, Math.abs(end));
        let run: ReturnType<typeof prepared.vjp>;
        try {
          run = prepared.vjp({initial: {y: start}, params: p});
        } catch (error) {
          // What is prepared for parameters with which nothing slides says so where others do.
          expect(String(error), what).to.match(/this run cannot slide along it/);
          told++;
          continue;
        }
        const {trajectory, pullback} = run;
        if (steps.scheme.name === 'rk4' && trajectory.warnings.join().includes('is pushed to the border')) {
          told++;
          continue;
        }
        expect(trajectory.warnings, what).to.deep.equal([]);
        expect(trajectory.values('y')[1], what).to.be.closeTo(end, 1e-8 * size);
        compared++;
        if (borders.includes(end)) stayed++;
        const displaced = names.map(
          name =>
            (h: number): number =>
              exact(structure, start, {...p, [name]: p[name] + h}) ?? NaN,
        );
        const all = [...displaced, (h: number): number => exact(structure, start + h, p) ?? NaN];
        const slopes = all.map(f => slope(f, 1e-4));
        const isSmooth = all.every((f, j) => Math.abs(slope(f, 5e-5) - slopes[j]) <= 1e-8 * size);
        // A border that is met at the time of another one, or at the end, has no derivative.
        if (!isSmooth) continue;
        differentiated++;
        const {params, initial} = pullback({y: [0, 1]});
        const found = [...names.map(name => (params as {[name: string]: Float64Array})[name][0]), initial.y[0]];
        slopes.forEach((expected, j) =>
          expect(found[j], `${names[j] ?? 'start'} of ${what}`).to.be.closeTo(expected, 1e-7 * size),
        );
      }
    }
    expect(compared).to.be.greaterThan(0.7 * cases(1000));
    expect(differentiated).to.be.greaterThan(0.6 * cases(1000));
    expect(stayed).to.be.greaterThan(0.05 * cases(1000));
    expect(told).to.be.lessThan(0.1 * cases(1000));
  });
});
