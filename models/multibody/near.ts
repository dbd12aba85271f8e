/**
 * Many bodies that may touch: a run is divided into pieces, each with the contacts of only those bodies that come near
 * each other in it, found by a uniform grid (Ericson, Real-Time Collision Detection, 2005, §7.1). Every step is
 * checked: if two other bodies have come into contact, the piece ends before that step. So contacts that a piece leaves
 * out were open, and their forces zero.
 */
import * as tf from '@tensorflow/tfjs';
import {
  callable,
  positiveInteger as atLeastOne,
  list,
  object,
  optional,
  positive,
  readOptions,
  shown,
  typed,
  type Options,
} from '../../lib/checks.js';
import type {Newton, NumericParams, Observe, Params, RunState, Scheme} from '../../lib/index.js';
import type {Tree} from '../../lib/internal.js';
import {moreau, OptionError, simulate} from '../../lib/index.js';
import {readBodies, type BodyPose} from './bodies.js';
import type {BodyContact} from './contacts.js';
import {multibody, type Multibody, type MultibodySpec} from './multibody.js';
import {inner, minus, norm, type V3} from './numbers.js';
import {multipliersOf, type RigidContact} from './rigid-contacts.js';
import type {Shape} from './shapes.js';

const nearSchema = {
  /** Bodies, in maximal coordinates, and everything except the contacts to be found. */
  system: typed<MultibodySpec>(object),
  /** For bodies that may touch, the radius of a ball about the centre of mass that contains all of their shapes. */
  reach: typed<{readonly [body: string]: number}>(object),
  /** Planes of the ground. */
  planes: optional(typed<readonly Shape[]>(list), []),
  /** The contact of two bodies that come near, or of the ground with one: then it gets the plane. */
  contact: typed<(a: string, b: string, plane?: Shape) => BodyContact | RigidContact>(callable),
  /** Bodies that come nearer than this in a piece are among its contacts [length]. */
  margin: positive,
};

/** The first argument of `simulateNear`. @interface */
export type NearSpec = Options<typeof nearSchema>;

const runSchema = {
  dt: positive,
  steps: atLeastOne,
  /** Default `moreau()`. */
  scheme: optional(typed<Scheme>()),
  /** As for `simulate`: `newton({onFailure: 'halve'})` takes a step in parts whose forces are not found. */
  newton: optional(typed<Newton>()),
  params: optional(typed<NumericParams>()),
  /** Steps of a piece at most; every piece is compiled anew. Default 20. */
  piece: optional(atLeastOne, 20),
  /** Called with each piece as it ends, also if a step without a solution ends it early. */
  onPiece: optional(typed<(piece: NearSegment) => void>(callable)),
};

/** Options of a run of `simulateNear`. @interface */
export type NearOptions = Options<typeof runSchema>;

/** Made by `simulateNear`: every step of a run in pieces. */
export interface NearRun {
  /** [steps + 1]. */
  readonly t: Float64Array;
  /** [steps + 1, bodies, 7] and [steps + 1, bodies, 6], as `multibody` has them. */
  readonly q: Float64Array;
  readonly v: Float64Array;
  /**
   * 't', 'q' or 'v', as a trajectory has them: `run.system.pose(run, 'ball')`, and `animate(run)` of stiffgrad/plot.
   */
  values(name: 't' | 'q' | 'v'): Float64Array;
  /** The bodies with their shapes and the ground, without the contacts that are sought. */
  readonly system: Multibody;
  readonly pieces: readonly NearSegment[];
  /**
   * The gradient of a function of the end, from its derivatives there, by running the pieces again from the last to the
   * first.
   */
  pullback(cotangent: {readonly q?: Float64Array; readonly v?: Float64Array}): {
    readonly initial: {readonly q: Float64Array; readonly v: Float64Array};
    readonly params: Tree<Float64Array>;
  };
}

/** Steps of a run with the same contacts. */
export interface NearSegment {
  readonly first: number;
  readonly steps: number;
  readonly system: Multibody;
  readonly contacts: number;
  /** The bodies of each of them, by number; in place of the first −1 − the number of a plane. */
  readonly pairs: readonly (readonly [number, number])[];
  /** States of the piece, that at its start first: [steps + 1], [steps + 1, bodies, 7], [steps + 1, bodies, 6]. */
  readonly t: Float64Array;
  readonly q: Float64Array;
  readonly v: Float64Array;
  /**
   * [steps, multipliers], at the end of each step, as `simulate` gives them; without rigid contacts and joints empty.
   */
  readonly lambda: Float64Array;
  /** Time to build and compile it and to run its steps [ms]. */
  readonly milliseconds: number;
}

/**
 * Runs a system of many bodies whose contacts are sought as it goes, so that what a step costs grows with the number of
 * contacts and not with the square of that of bodies. Gradients are those of the run with all contacts.
 * A piece goes on from the last one's forces.
 * @throws OptionError 'bad-multibody'; as `multibody` and `simulate`
 */
export function simulateNear(spec: NearSpec, options: NearOptions): NearRun {
  readOptions(spec, nearSchema, 'simulateNear', 'bad-multibody');
  const read = readOptions(options, runSchema, 'simulateNear', 'bad-multibody');
  const {dt, steps, scheme = moreau(), newton, params, piece: maxSteps, onPiece} = read;
  if (spec.system.coordinates === 'minimal')
    throw new OptionError(
      'bad-multibody',
      "simulateNear: bodies are in maximal coordinates; leave coordinates: 'minimal' out.",
    );
  const search = new Search(spec);
  const bare = multibody(spec.system);
  const bodies = readBodies(spec.system.bodies);
  let [q, v] = [flat(bare.initial.q), flat(bare.initial.v)];
  const pieces: NearSegment[] = [];
  const starts: Start[] = [];
  let left: Left | undefined;
  // A piece may have no contact that reads the parameters of contacts: all count as read.
  const observe: Observe = ({t, params: given}) => (readAll(given), t);
  const run = {
    scheme,
    dt,
    observe,
    ...(newton === undefined ? {} : {newton}),
    ...(params === undefined ? {} : {params}),
  };
  for (let done = 0; done < steps;) {
    const planned = Math.min(maxSteps, steps - done);
    const began = performance.now();
    const near = search.near(q, v, planned * dt);
    const contacts = near.map(([a, b]) => search.contact(a, b));
    const own = spec.system.contacts ?? [];
    const system = multibody({...spec.system, contacts: [...own, ...contacts]});
    const known = new Set(near.map(pair => pair.join()));
    const rows = rowsOfContacts([...own.keys(), ...known], [...own, ...contacts], (name, asked) =>
      bodies.place(name, asked),
    );
    const start = left === undefined ? {from: startOf(q, v, done * dt)} : goOn(left, rows, done * dt);
    starts.push(start);
    let last: RunState | undefined;
    const saved = {t: [done * dt], q: [q], v: [v], forces: [] as Float64Array[]};
    let taken = 0;
    const end = (): void => {
      const piece: NearSegment = {
        first: done,
        steps: taken,
        system,
        contacts: contacts.length,
        pairs: near,
        t: Float64Array.from(saved.t),
        q: joined(saved.q),
        v: joined(saved.v),
        lambda: joined(saved.forces),
        milliseconds: performance.now() - began,
      };
      pieces.push(piece);
      onPiece?.(piece);
    };
    try {
      for (const state of simulate.steps(system, start.from, {...run, steps: planned})) {
        if (state.t <= (done + 0.5) * dt) continue;
        const [next, moving] = [Float64Array.from(state.values('q')), Float64Array.from(state.values('v'))];
        const missed = search.near(next, moving, 0, 0).find(pair => !known.has(pair.join()));
        if (missed !== undefined) {
          if (taken > 0) break;
          throw new OptionError(
            'bad-multibody',
            `simulateNear: in the step to t = ${state.t} ${search.named(missed).join(' and ')} come nearer by more `
              + 'than '
              + `the margin, ${spec.margin}: take shorter steps, or a larger margin.`,
          );
        }
        taken++;
        [q, v] = [next, moving];
        last = state.state();
        saved.forces.push(Float64Array.from(last.blocks.lambda?.values ?? []));
        saved.t.push((done + taken) * dt);
        saved.q.push(q);
        saved.v.push(v);
      }
    } catch (error) {
      if (taken > 0) end();
      throw error;
    }
    end();
    if (last !== undefined) left = {state: last, rows};
    done += taken;
  }
  const series = {t: whole(pieces, 't', 1), q: whole(pieces, 'q', q.length), v: whole(pieces, 'v', v.length)};
  return {
    ...series,
    values: name => {
      if (Object.hasOwn(series, name)) return series[name];
      throw new OptionError('bad-multibody', `simulateNear: a run has the series t, q and v, not ${shown(name)}.`);
    },
    system: {...bare, figure: multibody({...spec.system, contacts: search.drawn()}).figure},
    pieces,
    pullback: cotangent => {
      const zero = (like: Float64Array): Float64Array => new Float64Array(like.length);
      let back: {[name: string]: Float64Array} = {q: cotangent.q ?? zero(q), v: cotangent.v ?? zero(v)};
      let sum: Tree<Float64Array> | undefined;
      for (let k = pieces.length - 1; k >= 0; k--) {
        const {steps: count, system} = pieces[k];
        const {trajectory, pullback} = simulate.vjp(system, starts[k].from, {...run, steps: count, saveAt: 'end'});
        trajectory.dispose();
        const ofEnd = Object.fromEntries(
          Object.entries(back).map(([name, values]) => [name, Float64Array.from([...zero(values), ...values])]),
        );
        const {initial, params: byParams} = pullback(ofEnd);
        back = {...initial};
        const lambda = starts[k].back?.(back.lambda);
        if (lambda === undefined) delete back.lambda;
        else back.lambda = lambda;
        sum = sum === undefined ? byParams : added(sum, byParams);
      }
      return {initial: {q: back.q, v: back.v}, params: sum as Tree<Float64Array>};
    },
  };
}

/** Numbers of two bodies, or −1 − the number of a plane and that of a body. */
type Near = readonly [number, number];

/** Which bodies come near. */
class Search {
  private readonly names: readonly string[];
  /** 0 of bodies that touch nothing. */
  private readonly reach: readonly number[];
  private readonly planes: readonly {readonly at: V3; readonly normal: V3}[];
  constructor(private readonly spec: NearSpec) {
    this.names = Object.keys(spec.system.bodies);
    const odd = Object.keys(spec.reach).find(name => !this.names.includes(name));
    if (odd !== undefined)
      throw new OptionError('bad-multibody', `simulateNear: reach names body '${odd}', which is not there.`);
    this.reach = this.names.map(name => {
      const value = spec.reach[name] ?? 0;
      if (!(Number.isFinite(value) && value >= 0))
        throw new OptionError('bad-multibody', `simulateNear: reach.${name} must be a radius, not ${value}.`);
      return value;
    });
    this.planes = (spec.planes ?? []).map(({at, normal}, i) => {
      if (at !== undefined && normal !== undefined) return {at, normal};
      throw new OptionError('bad-multibody', `simulateNear: planes[${i}] must be made by plane.`);
    });
  }

  named([a, b]: Near): string[] {
    return [a < 0 ? `plane ${-1 - a}` : this.names[a], this.names[b]];
  }
  contact(a: number, b: number): BodyContact | RigidContact {
    return a < 0
      ? this.spec.contact('ground', this.names[b], this.spec.planes?.[-1 - a])
      : this.spec.contact(this.names[a], this.names[b]);
  }

  /** Contacts in which every body that may touch has its shape, and every plane is. */
  drawn(): (BodyContact | RigidContact)[] {
    const [first, ...others] = this.names.flatMap((_, i) => (this.reach[i] > 0 ? [i] : []));
    if (first === undefined) return [];
    const {planes} = this;
    return planes.length === 0
      ? others.map(i => this.contact(first, i))
      : [...planes.map((_, k) => this.contact(-1 - k, first)), ...others.map(i => this.contact(-1, i))];
  }

  /** Pairs whose bounding balls come nearer than a margin within a time, at constant relative velocity. */
  near(q: Float64Array, v: Float64Array, time: number, margin = this.spec.margin): Near[] {
    const {reach, planes} = this;
    const bodies = this.names.map((_, i) => i).filter(i => reach[i] > 0);
    const at = bodies.map((i): V3 => [q[7 * i], q[7 * i + 1], q[7 * i + 2]]);
    const going = bodies.map((i): V3 => [v[6 * i], v[6 * i + 1], v[6 * i + 2]]);
    const found: Near[] = [];
    bodies.forEach((body, k) =>
      planes.forEach(({at: foot, normal}, plane) => {
        const gap = inner(normal, minus(at[k], foot)) - reach[body];
        if (gap + Math.min(0, inner(normal, going[k])) * time < margin) found.push([-1 - plane, body]);
      }),
    );
    // Bodies further apart than the width of a cell do not come near: none is faster than `fastest` relative to the
    // mean.
    const mean = [0, 1, 2].map(i => going.reduce((sum, u) => sum + u[i] / going.length, 0)) as unknown as V3;
    const fastest = Math.max(0, ...going.map(u => norm(minus(u, mean))));
    const cell = 2 * Math.max(0, ...reach) + margin + 2 * fastest * time;
    for (const [k, l] of inCells(at, cell)) {
      const [d, u] = [minus(at[l], at[k]), minus(going[l], going[k])];
      const square = inner(u, u);
      const when = square === 0 ? 0 : Math.min(time, Math.max(0, -inner(d, u) / square));
      const distance = norm([d[0] + when * u[0], d[1] + when * u[1], d[2] + when * u[2]]);
      if (distance - reach[bodies[k]] - reach[bodies[l]] < margin) found.push([bodies[k], bodies[l]]);
    }
    return found.sort(([a, b], [c, d]) => a - c || b - d);
  }
}

/** Pairs of points in the same cell or in cells side by side. */
function* inCells(points: readonly V3[], cell: number): Generator<readonly [number, number]> {
  const cells = new Map<string, number[]>();
  const placed = points.map(point => point.map(x => Math.floor(x / cell)));
  for (let k = 0; k < points.length; k++) {
    const [x, y, z] = placed[k];
    for (let i = -1; i <= 1; i++)
      for (let j = -1; j <= 1; j++)
        for (let l = -1; l <= 1; l++)
          for (const other of cells.get(`${x + i},${y + j},${z + l}`) ?? []) yield [other, k];
    const key = placed[k].join();
    const there = cells.get(key);
    if (there === undefined) cells.set(key, [k]);
    else there.push(k);
  }
}

/** The start of a piece, and the part of the forces' derivatives there that belongs to the piece before it. */
interface Start {
  readonly from: RunState | ReturnType<typeof startOf>;
  readonly back?: (lambda: Float64Array) => Float64Array;
}

/** The end of a piece, and the contact and component of each of its last multipliers. */
interface Left {
  readonly state: RunState;
  readonly rows: readonly string[];
}

function rowsOfContacts(
  names: readonly (string | number)[],
  contacts: readonly (BodyContact | RigidContact)[],
  places: (name: string, asked: string) => BodyPose,
): string[] {
  const nameOf = new Map(contacts.map((contact, i) => [contact, names[i]]));
  const rigid = contacts.filter((one): one is RigidContact => 'kind' in one);
  return multipliersOf(rigid, places).map(
    ({contact, point, component}) => `${nameOf.get(contact)}/${point}/${component}`,
  );
}

/**
 * From the state that another piece left, with the forces of the contacts that both have. Schemes that carry more than
 * these begin anew.
 */
function goOn({state, rows: before}: Left, rows: readonly string[], t: number): Start {
  const {lambda, ...others} = state.blocks;
  const {q, v} = others;
  if (lambda === undefined || Object.keys(others).length > 2)
    return {from: {q: rowsOf(Float64Array.from(q.values), 7), v: rowsOf(Float64Array.from(v.values), 6), t}};
  const first = lambda.values.length - before.length;
  const at = new Map(before.map((name, i) => [name, first + i]));
  const places = [...Array.from({length: first}, (_, i) => i), ...rows.map(name => at.get(name) ?? -1)];
  const {kind, version, scheme} = state;
  return {
    from: {
      kind,
      version,
      scheme,
      t,
      blocks: {q, v, lambda: {shape: [places.length], values: places.map(i => (i < 0 ? 0 : lambda.values[i]))}},
    },
    back: cotangent => {
      const back = new Float64Array(lambda.values.length);
      places.forEach((i, k) => {
        if (i >= 0) back[i] += cotangent[k];
      });
      return back;
    },
  };
}

const flat = (rows: readonly (number | readonly number[])[]): Float64Array => Float64Array.from(rows.flat());

const rowsOf = (values: Float64Array, width: number): number[][] =>
  Array.from({length: values.length / width}, (_, i) => [...values.subarray(i * width, (i + 1) * width)]);

const startOf = (q: Float64Array, v: Float64Array, t: number) => ({q: rowsOf(q, 7), v: rowsOf(v, 6), t});

function joined(arrays: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(arrays.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const one of arrays) {
    all.set(one, at);
    at += one.length;
  }
  return all;
}

/** The states of all pieces, of which each begins where the one before it ends. */
function whole(pieces: readonly NearSegment[], name: 't' | 'q' | 'v', width: number): Float64Array {
  return joined([pieces[0][name].subarray(0, width), ...pieces.map(piece => piece[name].subarray(width))]);
}

function readAll(params: Params): void {
  for (const value of Object.values({...params})) if (!(value instanceof tf.Tensor)) readAll(value);
}

function added(a: Tree<Float64Array>, b: Tree<Float64Array>): Tree<Float64Array> {
  return Object.fromEntries(
    Object.entries(a).map(([name, value]) => {
      const other = b[name];
      return [
        name,
        value instanceof Float64Array
          ? value.map((x, i) => x + (other as Float64Array)[i])
          : added(value, other as Tree<Float64Array>),
      ];
    }),
  );
}
