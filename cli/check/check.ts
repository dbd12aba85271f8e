/**
 * A doctor for models. Each term of a system is taken alone (term.ts): its declared derivatives are compared with
 * central differences, first and second (derivatives.ts), and its values are searched for jumps (jumps.ts). Then the
 * whole is run: the step's matrix and its sparsity, Newton's history, and the run to its end.
 */
import {OptionError, simulate, StiffgradError, type Trajectory, type System} from '../../lib/index.js';
import {locatedSwitches} from '../../lib/internal.js';
import {charts, type JacobianPattern} from '../../plot/index.js';
import {numberText} from '../../training/internal.js';
import type {ModelFile} from '../model-file.js';
import {runOptions} from '../options.js';
import {derivatives, massMatrix} from './derivatives.js';
import {jumps} from './jumps.js';
import type {Finding} from './finding.js';
import {partsOf, tracedTerm, type Start} from './term.js';

/** Newton's iteration from a fresh guess is done in 3 to 6; more in the first step means a slow rate. */
const SLOW = 8;

export function checkModel(model: ModelFile): Finding[] {
  const findings: Finding[] = [];
  const attempt = (check: Finding['check'], where: string, work: () => Finding[]): void => {
    try {
      findings.push(...work());
    } catch (error) {
      // A term alone is the derivative of an ode. What the model's own functions throw is a finding, too.
      const {name, message} = error as Error;
      const said = error instanceof StiffgradError ? message.replace(/^derivative/, where) : `${name}: ${message}`;
      findings.push({check, ok: false, where, message: said});
    }
  };
  const {system, initial} = model;
  const options = runOptions(model.options);
  const located = switchesOf(model);
  const start: Start = {initial, params: options.params ?? {}, inputs: options.inputs ?? {}};
  for (const part of partsOf(system)) {
    attempt('trace', part.where, () => {
      const term = tracedTerm(part, start);
      const matrix = part.where.startsWith('mass') ? massMatrix(term, term.start.q.length) : [];
      return [...derivatives(term), ...matrix, ...jumps(term, located)];
    });
  }
  if (findings.some(({check}) => check === 'trace')) return findings;
  attempt('matrix', 'the step', () => firstStep(model));
  let path: Trajectory<System> | undefined;
  attempt('run', 'the run', () => {
    path = simulate(system, initial as never, {...options, throw: false} as never);
    const ok = path.status === 'completed' || path.status === 'event';
    return [{check: 'run', ok, where: 'the run', message: path.error?.message ?? String(path)}];
  });
  if (path !== undefined) {
    for (const part of partsOf(system))
      attempt('continuity', part.where, () => jumps(tracedTerm(part, start), located, path));
    path.dispose();
  }
  return once(findings);
}

/** The switches that a run locates; none where it cannot be traced, which is found term by term. */
function switchesOf({system, initial, options}: ModelFile): readonly string[] {
  try {
    return locatedSwitches(system, initial as never, runOptions(options) as never);
  } catch {
    return [];
  }
}

function firstStep({system, initial, options}: ModelFile): Finding[] {
  const {t1: _, ...rest} = runOptions(options);
  let pattern: JacobianPattern;
  try {
    pattern = charts.jacobianPattern(system, initial as never, {...rest, steps: 1});
  } catch (error) {
    if (!(error instanceof OptionError && error.code === 'explicit-scheme')) throw error;
    const message = 'does not apply: the scheme is explicit, and a step has no matrix';
    return [{check: 'matrix', ok: true, where: 'the step', message}];
  }
  const history = pattern.residuals.map(value => numberText(value, 2)).join(', ');
  const slow = pattern.residuals.length > SLOW;
  return [
    {check: 'matrix', ok: true, where: 'the step', message: String(pattern)},
    // A right derivative squares the residual or ends at rounding; a wrong one leaves a fixed part of it each time.
    {
      check: 'newton',
      ok: !slow,
      where: 'the first step',
      message:
        `${pattern.residuals.length} iterations, residuals `
        + `${history}${slow ? ": slower than Newton's method with a correct derivative" : ''}`,
    },
  ];
}

/** Drops findings along the run that repeat those near the start. */
function once(findings: readonly Finding[]): Finding[] {
  const failed = new Set(findings.filter(({check, ok}) => check === 'continuity' && !ok).map(({where}) => where));
  const seen = new Set<string>();
  return findings.filter(({check, ok, where}) => {
    if (check !== 'continuity') return true;
    if (ok && failed.has(where)) return false;
    if (seen.has(where)) return false;
    seen.add(where);
    return true;
  });
}
