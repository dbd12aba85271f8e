/** What the traces of a step share: the system, its blocks, and the point of a step from the inputs of a trace. */
import type {Node} from '../graph/node.js';
import type {Formulation, Scheme, StepPoint} from '../scheme/scheme.js';
import type {ConstraintMotion, Constraints} from '../system/constraints.js';
import {constraintEquations, constraintSizes} from '../system/constraints.js';
import type {Breaks} from '../system/breaks.js';
import {atStage} from '../system/breaks.js';
import type {Blocks, Equations, OwnBlock} from '../system/equations.js';
import {constraintMotion} from '../system/general-mechanics.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {isGeneral, isMassless} from '../system/mechanics.js';
import type {Params} from '../system/params.js';
import {wholeEquations} from '../system/whole.js';
import {trace} from '../trace/trace.js';
import type {System} from './formulation.js';
import {equationsOf} from './formulation.js';
import type {Part} from './layout.js';
import {Layout} from './layout.js';
import type {ParameterList} from './parameter-list.js';
import type {Shapes} from './shapes.js';
import {shapesOf} from './shapes.js';

/** What is traced, and what all its traces share. */
export interface Subject {
  readonly system: System;
  readonly scheme: Scheme;
  readonly formulation: Formulation;
  /** The user's blocks. */
  readonly own: readonly OwnBlock[];
  readonly shapes: Shapes;
  readonly list: ParameterList;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  readonly regularization: Node<'input'>;
  readonly relaxation: Node<'input'>;
  /** Rows of each constraint. */
  readonly sizes: readonly number[];
  /** Of the functions of time that steps read. */
  readonly breaks: Set<Breaks>;
}

/** The rows of each constraint, from a trace that has no other use. */
export function sizesOf(system: System, own: readonly OwnBlock[], list: ParameterList): readonly number[] {
  if (system.kind !== 'mechanics' || system.constraints.length === 0) return [];
  const {position, velocity} = shapesOf(own, {});
  let sizes: readonly number[] = [];
  trace(
    ({q, v, t, ...parameters}) => {
      const params = list.tree(parameters);
      sizes = constraintSizes(system.constraints, {q, v, t}, params, motionOf(system, own, params));
      return {};
    },
    [{name: 'q', shape: position}, {name: 'v', shape: velocity}, {name: 't', shape: []}, ...list.traceInputs()],
  );
  return sizes;
}

/** The same, whose functions of time know at which time of a step they are evaluated. */
function equationsAtStages(equations: Equations): Equations {
  return {
    ...equations,
    force: (q, v, t) => atStage(t, () => equations.force(q, v, t)),
    acceleration: (q, v, t) => atStage(t, () => equations.acceleration(q, v, t)),
    rate: (x, t) => atStage(t, () => equations.rate(x, t)),
    rightHandSide: (x, t) => atStage(t, () => equations.rightHandSide(x, t)),
  };
}

export const motionIsOwn = (system: System): boolean => system.kind === 'mechanics' && system.kinematics !== undefined;

const motionOf = (system: MechanicalSystem, own: readonly OwnBlock[], params: Params): ConstraintMotion | undefined =>
  isGeneral(system) ? constraintMotion(system, params, own) : undefined;

/** A step's point from the inputs of its trace. */
export function pointOf(
  {system, formulation, own, list, sizes}: Subject,
  tensors: Blocks,
  x: Blocks,
): {at: StepPoint; params: Params} {
  const params = list.tree(tensors);
  const equations = equationsAtStages(equationsOf(system, params, own));
  const constraints: Constraints | undefined =
    system.kind === 'mechanics' && sizes.length > 0
      ? constraintEquations(system.constraints, sizes, params, motionOf(system, own, params))
      : undefined;
  return {
    params,
    at: {
      ...(formulation.whole === true && system.kind === 'mechanics'
        ? wholeEquations(equations, own, isMassless(system))
        : equations),
      constraints,
      regularization: tensors.regularization,
      relaxation: tensors.relaxation,
      stabilizePosition: q => q,
      x,
      t: tensors.t,
      h: tensors.h,
    },
  };
}

const multiplierCount = ({sizes}: Subject): number => sizes.reduce((sum, size) => sum + size, 0);

export function unknownLayout(subject: Subject, formulation: Formulation): Layout {
  const {position, velocity} = subject.shapes;
  const {unknown, multipliers = [], ofPositions = []} = formulation;
  return new Layout([
    ...unknown.map(name => ({
      name,
      shape: ofPositions.includes(name) ? position : velocity,
      derivative: derivativeOf(formulation, name),
    })),
    ...multipliers.map(name => multiplierPart(subject, name)),
  ]);
}

/** @param name of a block, with its stage's number where it has one */
export function derivativeOf({derivatives}: Formulation, name: string): number | undefined {
  const block = name.replace(/\d+$/, '');
  return derivatives?.[block] ?? standardDerivatives[block];
}

const standardDerivatives: {readonly [block: string]: number | undefined} = {q: 0, y: 0, v: 1, a: 2};

export const multiplierPart = (subject: Subject, name: string): Part => ({
  name,
  shape: [multiplierCount(subject)],
  labels: rowLabels(subject),
});

/** The constraint of every row: 'constraints[0]' of one row, 'constraints[1] row 2' of several. */
const rowLabels = ({sizes}: Subject): string[] =>
  sizes.flatMap((size, index) =>
    Array.from({length: size}, (_, row) => (size === 1 ? `constraints[${index}]` : `constraints[${index}] row ${row}`)),
  );
