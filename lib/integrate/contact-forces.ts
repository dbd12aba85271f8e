/**
 * Contact forces of a step by the proximal point method (Rockafellar 1976; for contact De Saxcé & Feng 1998, Acary &
 * Brogliato 2008, §13): equations in which every contact yields a share s of what its force differs by from an anchor
 * have one solution, contacts redundant or not. Its force is the next anchor, until the two are one: then nothing
 * yields, and the laws hold as they are written. What a force that can be told has still to go falls by s/(s + w) in
 * each solution, w what it gives itself, so that mostly two are enough; of forces that cannot be told apart those
 * nearest to the last step's stay.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {NewtonStatus} from '../newton/index.js';
import {backtracking, NewtonIteration} from '../newton/index.js';
import {contactSoftness, derivativeSoftness, fewestRows} from '../system/contact-laws.js';
import {ContactImpulses} from './contact-impulses.js';
import type {Counters} from './counters.js';
import type {RunContext} from './run-context.js';
import type {StepSystem} from './step-system.js';

/**
 * The first of the easier equations makes every contact yield as much as a typical mass does, each next one a tenth of
 * that.
 */
const firstRatio = 0.1;
/** Eight are enough where no way has to be shortened. */
const mostRelaxations = 40;

/**
 * Forces are one with their anchor where they differ by this share of the largest: laws are off by s times that, 1e-11
 * of the velocity it gives.
 */
const settled = 1e-4;
/**
 * Nearly redundant contacts whose gaps contradict each other by rounding and what positions are off by (1e-11 of a
 * length, over h), ask for forces that go on growing by as much over s. From the third solution on laws may be off by
 * so much more: 2e-10 of the velocity. (At five times that, balls in a narrow box were off by 3e-8 m/s.)
 */
const settledSlowly = 2e-3;
const patience = 3;
/**
 * Forces that still move by more than that in each of so many have moved by more than themselves: another contact has
 * let go, or none can.
 */
const mostAnchors = 300;

/**
 * A solution that Newton's method does not find from the last one is nearer to it where contacts yield so many times as
 * much, up to a tenth of what their forces give.
 */
const stiffer = 10;
const softest = 0.2;

/**
 * What is found in the whole step is taken where laws are off by so many times what is accepted of the impulses by
 * themselves: 1e-8 m/s at high speeds.
 */
const mostBroken = 2.5;

/**
 * Wedged contacts of which the impulses by themselves are not found are tried in the whole step, which finds some of
 * few bodies; of more it takes minutes to no avail.
 */
const mostRows = 300;

export class ContactForces {
  private searching?: NewtonIteration;
  /** Whether the forces are those nearest to the last step's. */
  private inStep = false;

  private constructor(
    private readonly relaxation: Float64Array,
    private readonly proximity: Float64Array,
    private readonly anchor: Float64Array,
    /** λ of the state and of the unknown. */
    private readonly offsets: {readonly state: number; readonly unknown: number},
    private readonly guess: () => void,
    private readonly h: Float64Array | undefined,
    private readonly system: StepSystem,
    private readonly iteration: NewtonIteration,
    private readonly prepared: RunContext,
    private readonly counters: Counters,
    private readonly impulses: ContactImpulses | undefined,
  ) {}

  /** Undefined where no contact asks for it. */
  static of(
    prepared: RunContext,
    forward: StepExecutable<'guess' | 'jacobian' | 'residual' | 'contactLaws'>,
    system: StepSystem,
    iteration: NewtonIteration,
    counters: Counters,
  ): ContactForces | undefined {
    const [relaxation, proximity, anchor] = (['relaxation', 'proximity', 'anchor'] as const).map(name =>
      forward.optionalBuffer(name),
    );
    const {state, unknown} = prepared.traced;
    const [last, next] = [state.block('lambda'), unknown.block('lambda')];
    if (
      relaxation === undefined
      || proximity === undefined
      || anchor === undefined
      || last === undefined
      || next === undefined
    )
      return undefined;
    const offsets = {state: last.offset, unknown: next.offset};
    return new ContactForces(
      relaxation,
      proximity,
      anchor,
      offsets,
      forward.program('guess'),
      forward.optionalBuffer('h'),
      system,
      iteration,
      prepared,
      counters,
      ContactImpulses.of(prepared, forward, system, counters),
    );
  }

  /** From the guess in z. */
  find(state: Float64Array): NewtonStatus {
    const {anchor, relaxation, proximity, iteration, offsets} = this;
    anchor.set(state.subarray(offsets.state, offsets.state + anchor.length));
    relaxation[0] = 0;
    proximity[0] = 0;
    const {impulses} = this;
    const many = anchor.length >= fewestRows;
    let status: NewtonStatus = 'newton-diverged';
    this.inStep = false;
    if (many && impulses?.find() === true) status = 'converged';
    else if (many && impulses?.failure !== undefined && anchor.length >= mostRows) iteration.cause = impulses.failure;
    else status = this.findInStep(!many);
    relaxation[0] = 0;
    proximity[0] = derivativeSoftness;
    return status;
  }

  /**
   * z where the derivatives of a step are taken, whose forces are those nearest to the last step's: the solution of the
   * equations that derivatives are those of, off by as little as `derivativeSoftness` makes of forces. Of forces that
   * cannot be told apart, what the motion makes of the share of each is in what the equations differ by between the
   * two. (A box that slides on the edges of another and turns: derivatives by its place were off by a hundredth in a
   * step.) And each contact is on the side of stick and slip that these equations have it on: forces nearest to the
   * last step's are often on a border of the laws, and which side of it rounding shows there is chance.
   */
  linearizeHere(): void {
    const {system, iteration, anchor, offsets} = this;
    if (!this.inStep) return;
    const found = system.z.slice();
    iteration.discardFactor();
    const status = iteration.solve();
    let [apart, most] = [0, 0];
    for (let i = offsets.unknown; i < offsets.unknown + anchor.length; i++) {
      apart = Math.max(apart, Math.abs(system.z[i] - found[i]));
      most = Math.max(most, Math.abs(found[i]));
    }
    if (status !== 'converged' || apart > settledSlowly * most) system.z.set(found);
  }

  /**
   * The guess anew, with accelerations without contacts that are of no order: beside joints these are unknowns with
   * linear equations of their own, and Newton's first step finds them from anywhere. From zero, bodies at rest approach
   * each other by rounding alone, and when contacts close has a derivative without bound.
   * @returns whether there are such unknowns
   */
  private accelerate(): boolean {
    const {prepared, system, iteration, h} = this;
    const a = prepared.traced.unknown.block('a');
    if (a === undefined || h === undefined) return false;
    this.guess();
    iteration.discardFactor();
    for (let i = 0; i < a.size; i++) system.z[a.offset + i] = Math.sin(i + 1) / h[0];
    return true;
  }

  /** @param impulses whether those by themselves are tried where Newton's method fails */
  private findInStep(impulses: boolean): NewtonStatus {
    const {relaxation, iteration} = this;
    this.guess();
    relaxation[0] = contactSoftness;
    let status = iteration.solve();
    if (status === 'singular' && this.accelerate()) status = iteration.solve();
    if (status === 'converged') status = this.settle();
    const found = status === 'converged';
    relaxation[0] = 0;
    // Wedged contacts ask for forces so large that a small share of them breaks the laws.
    const broken = found ? (this.impulses?.broken() ?? 0) : Infinity;
    this.inStep = broken <= 1;
    if (this.inStep) return status;
    if (impulses && this.impulses !== undefined) {
      const {z} = this.system;
      const kept = z.slice();
      this.guess();
      if (this.impulses.find()) return 'converged';
      z.set(kept);
    }
    this.inStep = broken <= mostBroken;
    if (this.inStep) return status;
    status = this.relax();
    if (status === 'converged') status = this.settle();
    relaxation[0] = 0;
    this.inStep = status === 'converged' && (this.impulses?.broken() ?? 0) <= mostBroken;
    if (this.inStep || status !== 'converged') return status;
    iteration.cause = this.impulses?.failure;
    return 'newton-diverged';
  }

  /** More solutions, each from the one before as its anchor, until nothing yields. */
  private settle(): NewtonStatus {
    const {anchor, relaxation, offsets, system} = this;
    const forces = system.z.subarray(offsets.unknown, offsets.unknown + anchor.length);
    const found = system.z.slice();
    let most = 0;
    for (let tries = 0; tries < mostAnchors; tries++) {
      let apart = 0;
      for (let i = 0; i < anchor.length; i++) {
        if (tries === 0) most = Math.max(most, Math.abs(forces[i]), Math.abs(anchor[i]));
        apart = Math.max(apart, Math.abs(forces[i] - anchor[i]));
      }
      const share = relaxation[0] / contactSoftness;
      if (share * apart <= (tries < patience ? settled : settledSlowly) * most) return 'converged';
      found.set(system.z);
      anchor.set(forces);
      relaxation[0] = Math.max(contactSoftness, relaxation[0] / stiffer);
      for (let status = this.again(found); status !== 'converged'; status = this.again(found)) {
        relaxation[0] *= stiffer;
        if (relaxation[0] > softest) return status;
      }
    }
    return 'newton-diverged';
  }

  /** From what was found, whole corrections first: between two pieces of the equations they may go to and fro. */
  private again(found: Float64Array): NewtonStatus {
    const {iteration, system} = this;
    iteration.discardFactor();
    const status = iteration.solve();
    if (status === 'converged') return status;
    system.z.set(found);
    const damped = this.damped.solve();
    if (damped !== 'converged') system.z.set(found);
    return damped;
  }

  private get damped(): NewtonIteration {
    const {newton} = this.prepared.options;
    return (this.searching ??= new NewtonIteration({...newton, step: backtracking()}, this.system, this.counters));
  }

  /**
   * Easier equations, each solution the guess of the next; where one is not found, by shorter ways, and at last by
   * nearer anchors.
   */
  private relax(): NewtonStatus {
    const {relaxation, iteration} = this;
    const {z} = this.system;
    this.guess();
    const found = z.slice();
    let [share, ratio, status]: [number, number, NewtonStatus] = [Infinity, firstRatio, 'converged'];
    for (let tries = 0; tries < mostRelaxations; tries++) {
      const next = share === Infinity ? 1 : Math.max(contactSoftness, share * ratio);
      relaxation[0] = next;
      iteration.discardFactor();
      status = share === Infinity ? iteration.solve() : this.again(found);
      if (status === 'converged') {
        if (next === contactSoftness) return status;
        found.set(z);
        share = next;
        ratio = Math.max(firstRatio, ratio ** 2);
      } else {
        if (share === Infinity) break;
        z.set(found);
        if (share <= softest) {
          relaxation[0] = share;
          return 'converged';
        }
        ratio = Math.sqrt(ratio);
      }
    }
    relaxation[0] = contactSoftness;
    return status === 'converged' ? 'newton-diverged' : status;
  }
}
