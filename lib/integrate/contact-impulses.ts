/**
 * Contact forces of a step by themselves, where the step tells them apart from everything else: forces depend on
 * velocities of the step's end and not on its positions, and what they couple are a few velocities, as those of a body.
 * Then the step is two problems, of (v⁺, λ) and after it of (w, π), each with one small block of equations a body and G
 * (newton/cone-complementarity.ts). What is found is judged by the step's own residual.
 */
import {ConeComplementarity} from '../newton/cone-complementarity.js';
import type {ConeContacts} from '../newton/cone-contacts.js';
import type {ContactTableRows} from '../newton/contact-table.js';
import type {SparseRows} from '../newton/block-diagonal.js';
import {StiffgradError} from '../errors.js';
import type {Pattern} from '../linear/index.js';
import type {StepExecutable} from '../step/buffers.js';
import {contactLaws, contactSoftness, impactBlocks} from '../system/contact-laws.js';
import type {Counters} from './counters.js';
import type {RunContext} from './run-context.js';
import type {StepSystem} from './step-system.js';

/**
 * Rounding of the largest velocity that contacts meet with, before and with their impulses, which Newton's steps go on
 * for. Of 1e-11 differences of a tumbling box's motion were off by 1.3e-6.
 */
const rounding = 1e-14;
/**
 * Where iterations end, and how far contacts may be off that are wedged, of which gaps contradict each other by
 * rounding: shares of that velocity, at high speeds a velocity, so that laws hold to 1e-8 m/s, and never less than
 * rounding.
 */
const enough = atMost(5e-10, 1e-9);
const accepted = atMost(5e-9, 8e-9);
function atMost(share: number, velocity: number): (speed: number) => number {
  return speed => Math.max(rounding * speed, Math.min(share * speed, velocity));
}
/**
 * Forces that depend on velocities are linearized until velocities move by no more than this share of the largest, or
 * of what contacts meet with,
 */
const linearized = 1e-12;
/** so many times at most. */
const mostLinearizations = 8;

/** Patterns of A and G, and places of their entries in the step's matrix, −1 where it has none. */
interface Entries {
  readonly a: SparseRows;
  readonly ofForces: Int32Array;
  readonly ofMass: Int32Array;
  readonly g: SparseRows;
  readonly ofG: Int32Array;
}

export class ContactImpulses {
  /** Empty where A couples too many velocities. */
  private made: readonly ConeComplementarity[] | undefined;
  private readonly known: Float64Array;
  private readonly a: Float64Array;
  private readonly m: Float64Array;
  private readonly g: Float64Array;

  /** Why forces were not found. */
  failure: StiffgradError | undefined;

  private constructor(
    private readonly forward: StepExecutable<'jacobian' | 'residual' | 'contactLaws'>,
    private readonly system: StepSystem,
    private readonly entries: Entries,
    private readonly at: {readonly v: number; readonly mean: number; readonly lambda: number; readonly pi: number},
    private readonly counters: Counters,
    private readonly rowName: (row: number) => string,
  ) {
    this.a = new Float64Array(entries.a.columns.length);
    this.m = new Float64Array(entries.a.columns.length);
    this.known = new Float64Array(entries.g.n);
    this.g = new Float64Array(entries.ofG.length);
  }

  /** Undefined where a step's equations do not come apart so. */
  static of(
    {traced, compiled}: RunContext,
    forward: StepExecutable<'jacobian' | 'residual' | 'contactLaws'>,
    system: StepSystem,
    counters: Counters,
  ): ContactImpulses | undefined {
    if (
      traced.functions.contactLaws === undefined
      || traced.backwards === true
      || compiled.matrices.matrix === undefined
    )
      return undefined;
    const [v, mean, lambda, pi] = ['v', impactBlocks.mean, 'lambda', impactBlocks.pi].map(name =>
      traced.unknown.block(name),
    );
    if (v === undefined || mean === undefined || lambda === undefined || pi === undefined) return undefined;
    const at = {v: v.offset, mean: mean.offset, lambda: lambda.offset, pi: pi.offset};
    const entries = entriesOf(compiled.matrices.matrix.pattern, at, v.size, lambda.size);
    return entries === undefined
      ? undefined
      : new ContactImpulses(forward, system, entries, at, counters, row => traced.unknown.rowName(row));
  }

  /**
   * How far z, found without these, is from the laws, as a share of what these accept. Where bodies rest, speeds are
   * those that the largest force gives a typical mass.
   */
  broken(): number {
    const {forward, system, at, entries, counters} = this;
    const {z, residual} = system;
    const [n, count] = [entries.a.n, entries.g.n];
    forward.run('residual');
    counters.residualEvaluations++;
    const largest = (values: Float64Array, from: number, size: number): number => {
      let most = 0;
      for (let i = from; i < from + size; i++) most = Math.max(most, Math.abs(values[i]));
      return most;
    };
    const off = Math.max(largest(residual, at.lambda, count), largest(residual, at.pi, count));
    const speed = Math.max(largest(z, at.v, n), largest(z, at.mean, n));
    if (off <= accepted(speed)) return off / accepted(speed);
    forward.run('contactLaws');
    const give = forward.buffer('contactLaws')[contactLaws.give * count] / contactSoftness;
    return off / accepted(Math.max(speed, give * largest(z, at.lambda, count)));
  }

  /**
   * From the guess in z.
   * @returns whether z solves the step; otherwise `failure` says why where no other way would either
   */
  find(): boolean {
    this.failure = undefined;
    const {system, at, entries, a, m, g, forward, counters} = this;
    const {z, residual} = system;
    const J = forward.buffer('J');
    const laws = forward.buffer('contactLaws');
    const [n, count] = [entries.a.n, entries.g.n];
    const h = forward.buffer('h')[0];
    forward.run('contactLaws');
    const problems = this.problems(laws, count);
    if (problems === undefined) return false;
    const [press, move] = problems.map(({cones}) => cones);
    press.sprung = true;
    const row = (which: number, i: number): number => laws[which * count + i];
    for (let k = 0; k < mostLinearizations; k++) {
      forward.run('jacobian');
      forward.run('residual');
      counters.jacobianEvaluations++;
      counters.residualEvaluations++;
      fill(a, entries.ofForces, J);
      for (let k = 0; k < g.length; k++) g[k] = -J[entries.ofG[k]] / h;
      if (!press.load(a, g)) return false;
      const {b, p} = press;
      press.multiply(z.subarray(at.v, at.v + n), b);
      for (let i = 0; i < n; i++) b[i] -= residual[at.v + i];
      for (let i = 0; i < count; i++) {
        p[i] = h * z[at.lambda + i];
        press.apart[i] = row(contactLaws.apart, i);
        press.give[i] = row(contactLaws.spring, i) / h;
        if (row(contactLaws.tangential, i) === 0) press.friction[i] = row(contactLaws.coefficient, i);
      }
      press.push(p, -1, b);
      const speed = press.speed();
      if (!this.solve(problems[0], speed)) return false;
      z.set(press.v, at.v);
      for (let i = 0; i < count; i++) z[at.lambda + i] = press.p[i] / h;
      // Where positions end.
      fill(m, entries.ofMass, J);
      if (!move.load(m, g)) return false;
      move.multiply(press.v, move.b);
      const give = row(contactLaws.give, 0) / h;
      move.give.fill(give);
      // π_T = −s λ_T, and π_N = y − (s or 1) λ_N.
      const {known} = this;
      for (let i = 0; i < count; i++) {
        known[i] = -row(contactLaws.share, i) * press.p[i];
        move.p[i] = row(contactLaws.tangential, i) === 1 ? 0 : -known[i];
        move.apart[i] = row(contactLaws.reach, i) + give * known[i];
      }
      move.push(known, 1, move.b);
      const reach = Math.max(speed, move.speed());
      if (!this.solve(problems[1], reach)) return false;
      z.set(move.v, at.mean);
      for (let i = 0; i < count; i++) z[at.pi + i] = (known[i] + move.p[i]) / h;
      forward.run('residual');
      counters.residualEvaluations++;
      // Velocities of gaps that count as closed.
      const closed = (i: number): number =>
        row(contactLaws.tangential, i) === 0
          ? row(contactLaws.apart, i) - press.apart[i]
          : press.friction[row(contactLaws.coefficient, i)] * closed(row(contactLaws.coefficient, i));
      let broken = 0;
      for (let i = 0; i < count; i++) {
        const reached = row(contactLaws.reach, i) + give * known[i] - move.apart[i];
        broken = Math.max(
          broken,
          Math.abs(residual[at.lambda + i]) - closed(i),
          Math.abs(residual[at.pi + i]) - reached,
        );
      }
      if (!(broken < Infinity)) return false;
      let largest = speed;
      for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(z[at.v + i]));
      if (press.largestMove(residual, at.v) <= linearized * largest)
        return broken <= accepted(reach) || this.unsolved(press, broken, accepted(reach));
    }
    return false;
  }

  private solve(problem: ConeComplementarity, speed: number): boolean {
    const {cones} = problem;
    // The step's own residual, which is looked at in the end, is not the same number.
    const off = problem.solve(speed, rounding * speed, enough(speed), accepted(speed) / 2);
    this.counters.newtonIterations += cones.factorizations;
    this.counters.factorizations += cones.factorizations;
    return off <= accepted(speed) || this.unsolved(cones, off, accepted(speed));
  }

  /** Keeps why. */
  private unsolved({structure, worst, p}: ConeContacts, off: number, most: number): false {
    const [row, impulse] = [this.rowName(this.at.lambda + worst), p.reduce((a, x) => Math.max(a, Math.abs(x)), 0)];
    this.failure = new StiffgradError(
      'contacts-unsolved',
      `the forces of ${structure.contacts.length} contacts were not found: the best that were break the laws `
        + `of contact by a velocity of ${off.toExponential(1)}, where ${most.toExponential(1)} is taken, most in `
        + `${row}, with impulses up to ${impulse.toExponential(1)}. Bodies that are wedged with friction may have `
        + 'no such forces, or only some without bound. '
        + 'Take a smaller dt, less friction or more room, or let the wedged ones yield: contact in place of '
        + 'rigidContact.',
      {off, accepted: most, row, impulse},
    );
    return false;
  }

  /** The systems for (v⁺, λ) and (w, π), made at the first step. */
  private problems(laws: Float64Array, count: number): readonly ConeComplementarity[] | undefined {
    if (this.made === undefined) {
      const {a, g} = this.entries;
      const along = new Map<number, number[]>();
      for (let i = 0; i < count; i++) if (laws[contactLaws.tangential * count + i] === 0) along.set(i, []);
      for (let i = 0; i < count; i++)
        if (laws[contactLaws.tangential * count + i] === 1)
          along.get(laws[contactLaws.coefficient * count + i])?.push(i);
      const contacts = [...along].map(([normal, tangential]): ContactTableRows => ({normal, tangential}));
      const apart = contacts.map(({normal}) => ({normal, tangential: []}));
      const both = [contacts, apart].map(all => ConeComplementarity.of({a, g, contacts: all}));
      this.made = both.every(problem => problem !== undefined) ? both : [];
    }
    return this.made.length === 0 ? undefined : this.made;
  }
}

function fill(values: Float64Array, from: Int32Array, matrix: Float64Array): void {
  for (let k = 0; k < from.length; k++) values[k] = from[k] < 0 ? 0 : matrix[from[k]];
}

/** Undefined where forces depend on where positions end. */
function entriesOf(
  {rowPointers, columns}: Pattern,
  at: {readonly v: number; readonly mean: number; readonly lambda: number; readonly pi: number},
  n: number,
  count: number,
): Entries | undefined {
  const [ofA, ofForces, ofMass]: [number[][], number[], number[]] = [[], [], []];
  const [places, ofG] = [0, 1].map(() => Array.from({length: count}, (): number[] => []));
  for (let i = 0; i < n; i++) {
    const [forces, mass] = [new Map<number, number>(), new Map<number, number>()];
    for (let k = rowPointers[at.v + i]; k < rowPointers[at.v + i + 1]; k++) {
      const column = columns[k];
      if (column >= at.v && column < at.v + n) forces.set(column - at.v, k);
      else if (column >= at.lambda && column < at.lambda + count) {
        places[column - at.lambda].push(i);
        ofG[column - at.lambda].push(k);
      } else return undefined;
    }
    for (let k = rowPointers[at.mean + i]; k < rowPointers[at.mean + i + 1]; k++) {
      const column = columns[k];
      if (column >= at.mean && column < at.mean + n) mass.set(column - at.mean, k);
    }
    const coupled = [...new Set([...forces.keys(), ...mass.keys()])].sort((a, b) => a - b);
    for (const column of coupled) {
      ofForces.push(forces.get(column) ?? -1);
      ofMass.push(mass.get(column) ?? -1);
    }
    ofA.push(coupled);
  }
  return {
    a: rowsOf(ofA),
    ofForces: Int32Array.from(ofForces),
    ofMass: Int32Array.from(ofMass),
    g: rowsOf(places),
    ofG: Int32Array.from(ofG.flat()),
  };
}

function rowsOf(columns: readonly (readonly number[])[]): SparseRows {
  const rowPointers = new Int32Array(columns.length + 1);
  columns.forEach(({length}, row) => (rowPointers[row + 1] = rowPointers[row] + length));
  return {n: columns.length, rowPointers, columns: Int32Array.from(columns.flat())};
}
