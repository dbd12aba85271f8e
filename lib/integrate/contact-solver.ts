/** Steps with contacts whose forces the proximal point method finds (contact-forces.ts). */
import {newtonStatuses} from '../newton/index.js';
import {programCallee, hostFunction} from '../routine/callees.js';
import type {RoutineBuilder, Value} from '../routine/routine.js';
import type {Host, RoutineCall} from '../routine/shared.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {ContactForces} from './contact-forces.js';
import type {Counters} from './counters.js';
import type {NewtonSolver} from './newton-solver.js';
import type {RunContext} from './run-context.js';
import type {SolverFailure, SolverSnapshot, StageSolver} from './stage-solver.js';

export class ContactSolver implements StageSolver {
  readonly blocks = 1;
  readonly isBatchable = false;
  readonly settings = {solver: 'contacts'};

  /** @returns `newton` itself where no contact asks for this method */
  static around(
    newton: NewtonSolver,
    prepared: RunContext,
    forward: ForwardExecutable,
    counters: Counters,
  ): StageSolver {
    if (prepared.traced.state.block('lambda') === undefined) return newton;
    const forces = ContactForces.of(prepared, forward, newton.system, newton.iteration, counters);
    return forces === undefined ? newton : new ContactSolver(newton, forward, forces);
  }

  private constructor(
    private readonly newton: NewtonSolver,
    private readonly forward: ForwardExecutable,
    private readonly forces: ContactForces,
  ) {}

  get z(): Float64Array {
    return this.newton.z;
  }

  emit(b: RoutineBuilder, host: Host<StageSolver>): Value {
    const state = this.forward.buffer('x');
    b.call(programCallee(this.forward, 'guess'));
    return b.result(hostFunction(() => newtonStatuses.indexOf((host.owner as ContactSolver).forces.find(state))));
  }

  solve(attempt: RoutineCall, t: number, h: number): number {
    this.newton.begin(h);
    return attempt(t, h);
  }

  solveSeveral(steps: RoutineCall, count: number, keepEnds: number): number {
    return steps(count, keepEnds);
  }

  linearize(narrow: boolean): void {
    const {forward, forces} = this;
    const next = forward.buffer('next');
    const end = next.slice();
    forces.linearizeHere();
    if (narrow) forward.run('keep');
    next.set(end);
  }

  takeSnapshot(): SolverSnapshot | undefined {
    return this.newton.takeSnapshot();
  }

  restore(snapshot: SolverSnapshot | undefined): void {
    this.newton.restore(snapshot);
  }

  failure(): SolverFailure {
    return this.newton.failure();
  }
}
