/** The error message of a failed step: where, why, the iteration's history, which rows, and what to change. */
import type {StiffgradError} from '../errors.js';
import {NewtonError, SingularMatrixError} from '../errors.js';
import type {Newton} from '../newton/index.js';
import {listed} from '../text.js';
import type {Layout} from './layout.js';
import {toUserTime} from './time-direction.js';
import type {TracedStep} from './traced-step.js';

export interface FailedStep {
  readonly status: 'newton-diverged' | 'step-too-small' | 'singular' | 'not-finite';
  /** The scheme's name and the direction of time. */
  readonly scheme: Pick<TracedStep, 'name' | 'backwards' | 'notFinite' | 'freeMotion' | 'isInitialStep'>;
  /** Number of the grid's step; absent on the way back. */
  readonly step?: number;
  /**
   * Internal time at which the failed attempt began: within the grid's step if that was halved; absent if the equations
   * do not read it.
   */
  readonly t?: number;
  readonly h: number;
  /** Absent if a factorization or a linear solve failed. */
  readonly newton?: Newton;
  /** Residual norms of the attempt's iterations; none for an explicit scheme. */
  readonly history: readonly number[];
  /** The largest residuals, or the numbers that are not finite. */
  readonly worst: readonly {readonly name: string; readonly residual: number}[];
  /** That of the unknown; of an explicit scheme, of the state. */
  readonly layout: Layout;
  /** The failed factorization or linear solve, where there was one. */
  readonly cause?: StiffgradError;
}

/** The scheme whose one step lands on a state of rest. */
const equilibrium = 'equilibrium';

export function stepError(failed: FailedStep): StiffgradError {
  const {status, scheme, step, history, worst, cause} = failed;
  const h = toUserTime(scheme, failed.h);
  const t = failed.t === undefined ? undefined : toUserTime(scheme, failed.t);
  const from = t === undefined ? '' : `, from t = ${shortNumber(t)}`;
  const where =
    scheme.name === equilibrium
      ? 'The equilibrium'
      : scheme.isInitialStep === true
        ? `${scheme.name[0].toUpperCase()}${scheme.name.slice(1)}${t === undefined ? '' : `, at t = ${shortNumber(t)}`}`
        : `${step === undefined ? 'A step' : `Step ${step}`} of ${scheme.name}${from} with h = ${shortNumber(h)}`;
  const found = (cause?.data.rows as readonly number[] | undefined) ?? [];
  const names = (rows: readonly number[]): string[] => rows.map(row => failed.layout.rowName(row));
  const causeRows = names(found);
  // Of these rows, those of constraints: what redundant ones leave singular (integrate/run.ts).
  const multipliers = names(found.filter(row => failed.layout.blockOf(row)?.isMultiplier === true));
  const rows = status === 'singular' ? {rows: causeRows, multipliers} : {rows: worst};
  const data = {status, step, t, h, history, ...rows};
  const sentence = `${where}: ${reason(failed, causeRows)} ${advice(
    failed,
    causeRows.some(row => row.startsWith('y')),
  )}`.trimEnd();
  const error =
    status === 'singular'
      ? new SingularMatrixError('singular-step', sentence, data)
      : new NewtonError(status, sentence, data);
  if (cause !== undefined) error.cause = cause;
  return error;
}

function reason({status, scheme, t, history, worst, cause}: FailedStep, causeRows: readonly string[]): string {
  const rows = worst
    .filter(({residual}) => residual !== 0)
    .map(({name, residual}) => `${name} (${residual.toExponential(2)})`)
    .join(', ');
  const notFinite = worst
    .filter(({residual}) => !Number.isFinite(residual))
    .map(({name, residual}) => `${name} (${residual})`)
    .join(', ');
  switch (status) {
    case 'singular':
      return (
        `the Newton matrix is singular; ${causeRows.length === 0 ? 'its rows' : listed(causeRows)} `
        + `${causeRows.length === 1 ? 'carries no information of its own' : 'depend on one another'}.`
      );
    case 'not-finite':
      if (causeRows.length > 0)
        return `a derivative of the model is infinite or NaN, in the Newton matrix's rows ${listed(causeRows)}.`;
      return history.length === 0
        ? `the new state is infinite or NaN in ${notFinite}.`
        : `the residual became infinite or NaN in iteration ${history.length}, in ${notFinite}.`;
    case 'newton-diverged':
      if (cause?.code === 'contacts-unsolved') return cause.message;
      if (cause !== undefined) return `the linear solver failed in iteration ${history.length}. ${cause.message}`;
      return (
        `Newton did not converge in ${history.length} iterations (residual ${historyText(history)}). Worst rows: `
        + `${rows}.`
      );
    case 'step-too-small':
      if (scheme.name === equilibrium)
        return (
          `its load steps lead to ${shortNumber(100 * (t ?? 0))} % of the load, and no farther (residual `
          + `${historyText(history)}).`
        );
      return (
        'the step fails even at this length, after halving it again and again (residual '
        + `${historyText(history)}).${rows === '' ? '' : ` Worst rows: ${rows}.`}`
      );
  }
}

function advice({status, scheme, step, newton, history, cause}: FailedStep, firstOrder: boolean): string {
  switch (status) {
    case 'singular':
      return scheme.name === equilibrium
        ? firstOrder
          ? 'A quantity that the equations conserve, such as the total of a reaction, leaves one of them without '
            + 'information: replace it by the total, 0 = Σ y − total, in ode({derivative, mass}) with mass 0 in '
            + 'its row.'
          : (scheme.freeMotion
            ?? 'A motion that no force resists has no place of its own: hold it, or add a spring. At a limit load or a '
              + 'bifurcation a state of rest has no gradient: take one before it or beyond it (equilibrium.path).')
        : `Check masses, units and terms that say the same twice.${step === 0 ? '' : singularPosition}`;
    case 'not-finite':
      if (scheme.notFinite !== undefined) return scheme.notFinite;
      return history.length === 0
        ? 'Explicit schemes need a dt below 2 over the highest frequency: take a smaller dt, or an implicit scheme.'
        : 'Check the model near this state (divisions, roots, logarithms), or take a smaller dt.';
    case 'newton-diverged': {
      // Another's own sentence says what to change.
      if (cause !== undefined) return '';
      if (scheme.name === equilibrium) return 'Start nearer to it, or load it in steps.';
      const ways = ['a smaller dt'];
      if (newton?.step.name !== 'backtracking') ways.push('newton({step: backtracking()})');
      if (newton?.onFailure !== 'halve') ways.push("newton({onFailure: 'halve'})");
      return (
        'Take '
        + `${ways.length < 3 ? ways.join(' or ') : `${ways.slice(0, -1).join(', ')} or ${ways[ways.length - 1]}`}.`
      );
    }
    case 'step-too-small':
      if (scheme.name === equilibrium)
        return (
          'If that is a limit load, beyond which a structure snaps through, equilibrium.path follows it; or start '
          + 'nearer to the state of rest that is meant.'
        );
      return (
        'A step this short fails for another reason than its length: check the model near this state for a jump, '
        + 'a pole, a force without a root, or a singular position of a mechanism, in which no step should end.'
      );
  }
}

/** Advice for a matrix that was not singular before. */
const singularPosition =
  ' Earlier steps could be solved: if a mechanism is in a singular position here, such as a dead centre, take '
  + 'another dt, so that no step ends in it.';

/** A long history by its beginning and its end; `data.history` has all of it. */
function historyText(history: readonly number[]): string {
  const text = history.map(residual => residual.toExponential(1));
  return (text.length <= 8 ? text : [...text.slice(0, 4), '…', ...text.slice(-3)]).join(' → ');
}

/** A time without the digits of its rounding. */
export const shortNumber = (x: number): string => String(Number(x.toPrecision(12)));
