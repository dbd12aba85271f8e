/** Shared by the traces of a step: the system, its blocks, and the point of a step from the inputs of a trace. */
import * as tf from '@tensorflow/tfjs';
import type {Node} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {indexText} from '../system/places.js';
import {blockOf, derivativeOf, type Formulation, type Scheme, type StepPoint} from '../scheme/scheme.js';
import {constraintEquations, constraintSizes} from '../system/constraint-equations.js';
import type {ConstraintMotion, Constraints} from '../system/constraints.js';
import type {Breaks} from '../system/breaks.js';
import {atStage} from '../system/breaks.js';
import type {Blocks, Equations, NoiseEquations, UserBlock} from '../system/equations.js';
import {constraintMotion} from '../system/general-mechanics.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import type {StateAt} from '../system/hidden-states.js';
import {isGeneral, isMassless, multiplierReaders} from '../system/mechanics.js';
import type {Params} from '../system/params.js';
import {slidingEquations} from '../system/sliding.js';
import {firstOrderEquations} from '../system/first-order-form.js';
import {modeBlock} from '../graph/switches.js';
import {SwitchScope, underSwitches, type SystemSwitches} from '../system/switches.js';
import {trace} from '../trace/trace.js';
import {splitBlocks} from './blocks.js';
import type {StepFormulation, System} from './formulation.js';
import type {TimeDirection} from './time-direction.js';
import {equationsOf} from './formulation.js';
import type {BlockPart} from './layout.js';
import {Layout} from './layout.js';
import type {ParameterList} from './parameter-list.js';
import type {Shapes} from './shapes.js';
import {shapesOf} from './shapes.js';

/** What is traced, and what all its traces share. */
export interface TraceContext extends TimeDirection {
  readonly system: System;
  readonly scheme: Scheme;
  readonly formulation: StepFormulation;
  /** The user's blocks. */
  readonly userBlocks: readonly UserBlock[];
  readonly shapes: Shapes;
  readonly list: ParameterList;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  readonly regularization: Node<'input'>;
  readonly relaxation: Node<'input'>;
  readonly proximity: Node<'input'>;
  /** Rows of each constraint. */
  readonly sizes: readonly number[];
  /** Force terms that read the multipliers. */
  readonly readers: ReadonlySet<number>;
  /** Jumps and kinks of the functions of time that steps read. */
  readonly breaks: Set<Breaks>;
  /** Comparisons that make the system's functions jump: held, or still looked for; undefined: taken as they are. */
  readonly switches?: SystemSwitches | undefined;
  readonly holdsSwitches: boolean;
}

/** What calls of the system's functions do in a trace. @param x the state */
const switchScope = ({switches, holdsSwitches, list}: TraceContext, x: Blocks): SwitchScope | undefined =>
  switches === undefined
    ? undefined
    : new SwitchScope(
        switches,
        ({attributes}) => list.valuesOf(attributes.name),
        holdsSwitches ? x[modeBlock] : undefined,
      );

/** A traced function whose calls of the system's functions are those of a scope. */
export const scoped =
  <R>(
    context: TraceContext,
    state: Layout,
    f: (tensors: Blocks, x: Blocks, scope: SwitchScope | undefined) => R,
  ): ((tensors: Blocks) => R) =>
  tensors => {
    const x = splitBlocks(state, tensors.x);
    const scope = switchScope(context, x);
    return underSwitches(scope, () => f(tensors, x, scope));
  };

/** The modes as a part of the state; none where no switches are held. */
export const modeParts = ({switches, holdsSwitches}: TraceContext): BlockPart[] =>
  switches === undefined || !holdsSwitches ? [] : [{name: modeBlock, shape: [switches.size], carried: true}];

/** The rows of each constraint and the forces that read their multipliers, from a trace that has no other use. */
export function inspectConstraints(
  system: System,
  own: readonly UserBlock[],
  list: ParameterList,
): Pick<TraceContext, 'sizes' | 'readers'> {
  if (system.kind !== 'mechanics' || system.constraints.length === 0) return {sizes: [], readers: new Set()};
  const {position, velocity} = shapesOf(own, {});
  let sizes: readonly number[] = [];
  let readers: ReadonlySet<number> = new Set();
  trace(
    ({q, v, t, ...parameters}) => {
      const params = list.tree(parameters);
      const motion = motionOf(system, own, params);
      sizes = constraintSizes(system.constraints, {q, v, t}, {params, motion});
      const place = {...(motion?.seen(v) ?? {v}), q, t, params} as unknown as StateAt;
      readers = multiplierReaders(system, place, multiplierCount({sizes}));
      return {};
    },
    [{name: 'q', shape: position}, {name: 'v', shape: velocity}, {name: 't', shape: []}, ...list.traceInputs()],
  );
  return {sizes, readers};
}

/** Equations whose functions of time know at which time of a step they are evaluated. */
function equationsAtStages(equations: Equations): Equations {
  const {noise} = equations;
  return {
    ...equations,
    force: (q, v, t) => atStage(t, () => equations.force(q, v, t)),
    acceleration: (q, v, t) => atStage(t, () => equations.acceleration(q, v, t)),
    rate: (x, t) => atStage(t, () => equations.rate(x, t)),
    rightHandSide: (x, t) => atStage(t, () => equations.rightHandSide(x, t)),
    positionRate: (q, v, t) => atStage(t, () => equations.positionRate(q, v, t)),
    mass: (q, w, t) => (t === undefined ? equations.mass(q, w) : atStage(t, () => equations.mass(q, w, t))),
    ...(noise === undefined ? {} : {noise: noiseAtStages(noise)}),
  };
}

const noiseAtStages = (noise: NoiseEquations): NoiseEquations => ({
  ...noise,
  diffusionProduct: (y, t, w) => atStage(t, () => noise.diffusionProduct(y, t, w)),
  milsteinTerm: (y, t) => atStage(t, () => noise.milsteinTerm(y, t)),
});

export const hasOwnKinematics = (system: System): boolean =>
  system.kind === 'mechanics' && system.kinematics !== undefined;

const motionOf = (system: MechanicalSystem, own: readonly UserBlock[], params: Params): ConstraintMotion | undefined =>
  isGeneral(system) ? constraintMotion(system, params, own) : undefined;

/** Counts evaluations of the right-hand side while functions of a step are traced. */
export class EvaluationCount {
  /** At the step's beginning, which is one however often it is asked for; elsewhere. */
  start = 0;
  elsewhere = 0;

  record(atStart: boolean): void {
    if (atStart) this.start = 1;
    else this.elsewhere++;
  }
}

/** Equations whose evaluations are counted. @param x the state that a step begins with */
function countEvaluations(equations: Equations, x: Blocks, start: tf.Tensor, count: EvaluationCount): Equations {
  const ofMotion =
    (evaluate: Equations['force']): Equations['force'] =>
    (q, v, t) => {
      count.record(q === x.q && v === x.v && t === start);
      return evaluate(q, v, t);
    };
  const ofState =
    (evaluate: Equations['rate']): Equations['rate'] =>
    (at, t) => {
      count.record(t === start && Object.keys(at).every(name => at[name] === x[name]));
      return evaluate(at, t);
    };
  return {
    ...equations,
    force: ofMotion((q, v, t) => equations.force(q, v, t)),
    acceleration: ofMotion((q, v, t) => equations.acceleration(q, v, t)),
    rate: ofState((at, t) => equations.rate(at, t)),
    rightHandSide: ofState((at, t) => equations.rightHandSide(at, t)),
  };
}

/** A step's point from the inputs of its trace. */
export function stepPointOf(
  {system, formulation, userBlocks, list, sizes, readers, backwards}: TraceContext,
  tensors: Blocks,
  x: Blocks,
  count: EvaluationCount,
  scope: SwitchScope | undefined,
): {at: StepPoint; params: Params} {
  const params = list.tree(tensors);
  const [t, h] = backwards === true ? [tf.neg(tensors.t), tf.neg(tensors.h)] : [tensors.t, tensors.h];
  const middle = tf.add(t, tf.mul(0.5, h));
  const equationsIn = (): Equations => equationsOf(system, params, userBlocks, readers, middle);
  const equations = countEvaluations(
    equationsAtStages(scope?.slides === true ? slidingEquations(equationsIn(), scope) : equationsIn()),
    x,
    t,
    count,
  );
  const constraints: Constraints | undefined =
    system.kind === 'mechanics' && sizes.length > 0
      ? constraintEquations(
          system.constraints,
          sizes,
          {params, motion: motionOf(system, userBlocks, params)},
          equations.multiplierForce,
        )
      : undefined;
  return {
    params,
    at: {
      ...(formulation.firstOrderForm === true && system.kind === 'mechanics'
        ? firstOrderEquations(equations, userBlocks, isMassless(system))
        : equations),
      constraints,
      regularization: tensors.regularization,
      projection: tensors.projection,
      yielding: {relaxation: tensors.relaxation, proximity: tensors.proximity, anchor: tensors.anchor},
      x,
      t,
      h,
    },
  };
}

/** Rows of all constraints. */
export const multiplierCount = ({sizes}: Pick<TraceContext, 'sizes'>): number =>
  sizes.reduce((sum, size) => sum + size, 0);

export function unknownLayout(context: TraceContext, formulation: Formulation): Layout {
  const {position, velocity} = context.shapes;
  const {unknown, multipliers = []} = formulation;
  return new Layout([
    ...unknown.map(name => {
      const shape = blockOf(name) === "q'" ? position : velocity;
      return {name, shape, derivative: derivativeOf(formulation, name), labels: stateLabels(context, sizeOf(shape))};
    }),
    ...multipliers.map(name => multiplierPart(context, name)),
  ]);
}

export const multiplierPart = (context: TraceContext, name: string): BlockPart => ({
  name,
  shape: [multiplierCount(context)],
  isMultiplier: true,
  labels: rowLabels(context),
});

/**
 * Which of the user's states every row belongs to, where a scheme has several in one block; undefined where it has
 * not.
 */
function stateLabels({userBlocks, system}: TraceContext, size: number): readonly (string | undefined)[] | undefined {
  if (system.kind !== 'mechanics' || !isGeneral(system)) return undefined;
  const labelsOf = ({name, shape}: UserBlock): string[] =>
    Array.from({length: sizeOf(shape)}, (_, i) => `${name}${indexText(shape, i)}`);
  const [q, v, ...hidden] = userBlocks.map(labelsOf);
  const unlabelled: undefined[] = new Array<undefined>(v.length).fill(undefined);
  const candidates = [
    [...unlabelled, ...hidden.flat()],
    [...q, ...v, ...hidden.flat()],
  ];
  return candidates.find(labels => labels.length === size);
}

/** The constraint of every row: as it calls it, else 'constraints[0]' of one row, 'constraints[1] row 2' of several. */
const rowLabels = ({sizes, system}: TraceContext): string[] =>
  sizes.flatMap((size, index) => {
    const own = system.kind === 'mechanics' ? system.constraints[index]?.rows : undefined;
    const name = (row: number): string => (size === 1 ? `constraints[${index}]` : `constraints[${index}] row ${row}`);
    return Array.from({length: size}, (_, row) => own?.[row] ?? name(row));
  });
