/** This project on the stiff problems, prepared once for each tolerance: the scheme is the argument. */
import type {Scheme} from '../../lib/index.js';
import {adaptive, kvaerno3, kvaerno5, radauIIA5, simulate} from '../../lib/index.js';
import {stiffProblems} from '../../spec/integrate/history/stiff-problems.js';
import {serve} from './protocol.js';

const schemes: Readonly<Record<string, () => Scheme>> = {kvaerno3, kvaerno5, radauIIA5};

await serve((name, digits) => {
  const problem = stiffProblems.find(one => one.name.replaceAll(' ', '') === name.replace('vanDerPol', 'vanderPol'));
  const scheme = schemes[process.argv[2]];
  if (problem === undefined || scheme === undefined) return 'not written for this';
  const rtol = 10 ** -digits;
  const prepared = simulate.prepare(
    problem.system,
    {y: [...problem.y]},
    {
      scheme: scheme(),
      dt: problem.first,
      t1: problem.t1,
      saveAt: 'end',
      control: adaptive({rtol, atol: problem.atol(rtol)}),
      throw: false,
    },
  );
  const run = (): {loss: number; gradientNorm: number} => {
    const path = prepared.run();
    path.dispose();
    const y = path.values('y').slice(-problem.y.length);
    const error =
      path.status === 'completed'
        ? Math.max(...problem.reference.map((value, i) => Math.abs(y[i] / value - 1)))
        : Infinity;
    return {loss: error, gradientNorm: path.stats.steps};
  };
  return {forward: () => void run(), gradient: run};
});
