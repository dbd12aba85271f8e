/**
 * The buffers of a step's programs, one line of a table each: its contents, its shape, and how long it stays
 * unchanged. Programs that are compiled together share buffers by name, so these names are the contract between the
 * programs (programs.ts and others), Newton's iteration, the integrators and the adjoints; a name that is not listed
 * does not compile. `buffer(name)` is for required buffers, `optionalBuffer(name)` for those that some programs do not
 * read or write, by design: a force without time reads no t, a step without an error estimate has no E.
 */
import type {Executable, Programs} from '../engine/engine.js';
import {bufferSizes, withBufferAliases} from '../engine/engine.js';
import {input} from '../graph/build.js';
import {namedGraph} from '../graph/named-graph.js';
import type {DType, Graph, Node, Shape} from '../graph/node.js';

/**
 * How long an input stays as it is. Set for a run: parameters, and what is computed from them. Set for a step: where
 * it begins. Set for an iterate of Newton's method, or for a step that is looked at again: the unknown. Set for each
 * call: directions, cotangents, places within a step. What depends on inputs of long lives alone is computed as seldom
 * as they change (precomputation.ts).
 */
export const lifetimes = ['run', 'step', 'iterate', 'call'] as const;
export type Lifetime = (typeof lifetimes)[number];

/**
 * What the shapes are called. state: the blocks that a step begins with (of a run's first step those of the user, own);
 * end: those that it ends with; unknown: z; block: one of the unknown's blocks that are found in turn; defect: the
 * blocks that a guess may break; parameter: that of the parameter, or of the value derived from parameters; matrix: the
 * entries of a pattern; any: what the program makes of it.
 */
export type BufferShape =
  | 'number'
  | 'state'
  | 'end'
  | 'own'
  | 'unknown'
  | 'block'
  | 'defect'
  | 'parameter'
  | 'matrix'
  | 'mass'
  | 'rows'
  | 'events'
  | 'inside'
  | 'kept'
  | 'layers'
  | 'states'
  | 'times'
  | 'observed'
  | 'any';

/** A row of the table. */
export interface BufferKind {
  readonly shape: BufferShape;
  /** Default: 'call'. */
  readonly lifetime?: Lifetime;
  /** One for each of several directions, before the other axes. */
  readonly batched?: true;
  /** The name is followed by a number, 'p.0', or by program and number, 'parameters.residual.0'. */
  readonly indexed?: 'number' | 'program';
  /**
   * In programs that are compiled in place, the buffer lies in the memory of this input, if both are of one size: a
   * sweep over many steps then finds the input of the next step where it needs it.
   */
  readonly replaces?: string;
}

export const buffers = {
  // What a run sets once.
  /** The parameters, and values derived from them (derived.ts). */
  p: {shape: 'parameter', lifetime: 'run', indexed: 'number'},
  derived: {shape: 'parameter', lifetime: 'run', indexed: 'number'},
  /** Compliance given to redundant constraints. */
  regularization: {shape: 'number', lifetime: 'run'},
  /** Values that a program computes from these alone. */
  parameters: {shape: 'any', lifetime: 'run', indexed: 'program'},

  // Where a step begins.
  x: {shape: 'state', lifetime: 'step'},
  t: {shape: 'number', lifetime: 'step'},
  h: {shape: 'number', lifetime: 'step'},
  /** See `StepPoint.projection`. */
  projection: {shape: 'any', lifetime: 'step'},
  /** The last step's unknown, this step's start as θ of the last step, and the ratio of their lengths. */
  lastUnknown: {shape: 'unknown', lifetime: 'step'},
  lastTheta: {shape: 'number', lifetime: 'step'},
  lengthRatio: {shape: 'number', lifetime: 'step'},
  /** What is computed from these alone. */
  stepStart: {shape: 'any', lifetime: 'step', indexed: 'number'},
  sequentialStep: {shape: 'any', lifetime: 'step', indexed: 'number'},

  // The unknown, and what a step that was taken leaves.
  z: {shape: 'unknown', lifetime: 'iterate'},
  /** Regularization of contacts while their forces are computed: see `StepPoint.yielding`. */
  relaxation: {shape: 'number', lifetime: 'iterate'},
  anchor: {shape: 'rows', lifetime: 'iterate'},
  proximity: {shape: 'number', lifetime: 'iterate'},
  contactLaws: {shape: 'any', lifetime: 'iterate'},
  /** How far the guess breaks the kinematics: the guess makes it, so that it is no part of the step's beginning. */
  defect: {shape: 'defect', lifetime: 'iterate'},
  /** x⁺, and what the update makes for dense output (interpolant.ts). */
  next: {shape: 'end', lifetime: 'iterate'},
  inside: {shape: 'inside', lifetime: 'iterate'},
  /** What a step leaves for its gradient (stored-for-backward.ts). */
  kept: {shape: 'kept', lifetime: 'iterate'},
  layers: {shape: 'layers', lifetime: 'iterate'},
  /** What is computed from these alone: for matrix-free products, for dense output, for one block of the unknown. */
  linearize: {shape: 'any', lifetime: 'iterate', indexed: 'number'},
  between: {shape: 'any', lifetime: 'iterate', indexed: 'number'},
  sequentialBegin: {shape: 'any', lifetime: 'iterate', indexed: 'program'},

  // Newton's iteration.
  /** The residual R(z) and the matrix ∂R/∂z, or its model; the Jacobian itself where that is a model. */
  R: {shape: 'unknown'},
  J: {shape: 'matrix'},
  exactJ: {shape: 'matrix'},
  /** A block of an unknown that is solved stage by stage, its residual, and its matrix. */
  zs: {shape: 'block'},
  Rs: {shape: 'block'},
  Js: {shape: 'matrix'},
  /**
   * The correction, and the iteration's own vectors (newton/system.ts); of the blocks where these are found in turn.
   */
  delta: {shape: 'unknown'},
  nextDelta: {shape: 'unknown'},
  base: {shape: 'unknown'},
  weights: {shape: 'unknown'},
  rowScale: {shape: 'unknown'},
  typicalSizes: {shape: 'unknown'},
  newtonFrame: {shape: 'any'},
  /**
   * Several steps in one call (block-layout.ts): their rows and states at their ends, or cotangents of these; how many
   * were taken.
   */
  block: {shape: 'any'},
  taken: {shape: 'number'},
  /** What adjoint/jacobian-factor.ts counts along a sweep. */
  sweepFrame: {shape: 'any'},
  /** Row maxima of the matrix at the last measurement of its error amplification (linear/error-amplification.ts). */
  growth: {shape: 'any'},
  /** Matrix-free: a direction, J times it, Jᵀ times it. */
  direction: {shape: 'unknown'},
  Jd: {shape: 'unknown'},
  JTd: {shape: 'unknown'},
  /** Refinement of solves with the transposed matrix: Jᵀw. */
  JTw: {shape: 'unknown'},

  // What a step tells beside its end.
  /** The derivative of the state x at t. */
  slope: {shape: 'state'},
  /** The estimate of its error, the displacement and the matrix of its filter. */
  E: {shape: 'own'},
  shift: {shape: 'own'},
  filterJ: {shape: 'matrix'},
  stiffness: {shape: 'number'},
  touching: {shape: 'rows'},
  /** Values of a run's start that are checked. */
  mass: {shape: 'mass'},
  rightHandSide: {shape: 'own'},
  rightHandSideAlong: {shape: 'own'},
  rightHandSideRate: {shape: 'own'},
  positions: {shape: 'rows'},
  velocities: {shape: 'rows'},
  depths: {shape: 'rows'},
  coefficients: {shape: 'any'},
  delays: {shape: 'any'},
  seed: {shape: 'number'},
  kinematics: {shape: 'any'},

  // Dense output, events and jumps.
  theta: {shape: 'number'},
  D: {shape: 'end'},
  /** The events on the dense output, and their derivatives by θ. */
  g: {shape: 'events'},
  dg: {shape: 'events'},
  /** The events of a state, and how they change along the motion. */
  e: {shape: 'events'},
  rates: {shape: 'events'},
  /** The side of zero on which each event's function begins a step; how many events may happen in it (idle.ts). */
  sides: {shape: 'events', lifetime: 'step'},
  possibleEvents: {shape: 'number'},
  /** The modes of switches where a state is. */
  outcomes: {shape: 'any'},
  /** The user's blocks after a jump. */
  given: {shape: 'own'},

  // Cotangents of a step.
  nextCotangent: {shape: 'end'},
  insideCotangent: {shape: 'inside'},
  zCotangent: {shape: 'unknown'},
  /** The solution of Jᵀw = z̄. */
  w: {shape: 'unknown'},
  xCotangent: {shape: 'state', replaces: 'nextCotangent'},
  tCotangent: {shape: 'number'},
  hCotangent: {shape: 'number'},
  pCotangent: {shape: 'parameter', indexed: 'program'},
  derivedCotangent: {shape: 'parameter', indexed: 'program'},
  /** The cotangent of dense output, and the cotangents of the step's values that follow from it. */
  denseCotangent: {shape: 'end'},
  denseNextCotangent: {shape: 'end'},
  denseInsideCotangent: {shape: 'inside'},
  denseZCotangent: {shape: 'unknown'},
  denseXCotangent: {shape: 'state'},
  denseTCotangent: {shape: 'number'},
  denseHCotangent: {shape: 'number'},
  denseThetaCotangent: {shape: 'number'},
  /** The cotangent of event values, and the cotangents of state and time that follow from it. */
  eCotangent: {shape: 'events'},
  eXCotangent: {shape: 'state'},
  eTCotangent: {shape: 'number'},
  /** The cotangent of the blocks after a jump, and the cotangents of state and time that follow from it. */
  givenCotangent: {shape: 'own'},
  jXCotangent: {shape: 'state'},
  jTCotangent: {shape: 'number'},

  // Tangents along several directions.
  dx: {shape: 'state', batched: true},
  dz: {shape: 'unknown', batched: true},
  dt: {shape: 'number', batched: true},
  dh: {shape: 'number', batched: true},
  dtheta: {shape: 'number', batched: true},
  dp: {shape: 'parameter', batched: true, indexed: 'number'},
  dderived: {shape: 'parameter', batched: true, indexed: 'number'},
  /** −(R_x ẋ + R_p ṗ), and the same less R_z ż. */
  rhs: {shape: 'unknown', batched: true},
  left: {shape: 'unknown', batched: true},
  dNext: {shape: 'end', batched: true},
  dInside: {shape: 'inside', batched: true},
  dD: {shape: 'end', batched: true},
  de: {shape: 'events', batched: true},
  dGiven: {shape: 'own', batched: true},
  /** Derivatives by the step's length. */
  rhsH: {shape: 'unknown'},
  dzH: {shape: 'unknown'},
  dNextH: {shape: 'end'},
  dInsideH: {shape: 'inside'},

  // Tangents of cotangents.
  dNextCotangent: {shape: 'end', batched: true},
  dZCotangent: {shape: 'unknown', batched: true},
  dXCotangent: {shape: 'state', batched: true},
  dw: {shape: 'unknown', batched: true},
  dPCotangent: {shape: 'parameter', batched: true, indexed: 'number'},
  dDerivedCotangent: {shape: 'parameter', batched: true, indexed: 'number'},
  dDenseCotangent: {shape: 'end', batched: true},
  dTCotangent: {shape: 'number', batched: true},
  dHCotangent: {shape: 'number', batched: true},
  dECotangent: {shape: 'events', batched: true},
  dGivenCotangent: {shape: 'own', batched: true},
  /** The multiplier of the time of a place within a step (dense-hessian-programs.ts). */
  timeCotangent: {shape: 'number'},
  dTimeCotangent: {shape: 'number', batched: true},

  // Steps in blocks that are not of a grid (adaptive-block-layout.ts).
  blockControl: {shape: 'any'},
  blockTheta: {shape: 'any'},
  blockAfter: {shape: 'any'},
  blockStiffness: {shape: 'any'},
  blockAbsolute: {shape: 'own'},
  blockJudged: {shape: 'own'},
  blockCotangent: {shape: 'state'},

  // Observations of many states at once.
  xs: {shape: 'states'},
  ts: {shape: 'times'},
  observed: {shape: 'observed'},
  observedCotangent: {shape: 'observed'},
  xsCotangent: {shape: 'states'},
  tsCotangent: {shape: 'times'},
  dxs: {shape: 'states'},
  dts: {shape: 'times'},
  dObserved: {shape: 'observed'},
} as const satisfies {readonly [name: string]: BufferKind};

type Table = typeof buffers;
type Named<Name extends string, Indexed> = Indexed extends 'number'
  ? `${Name}.${number}`
  : Indexed extends 'program'
    ? `${Name}.${string}`
    : Name;

/** The name of a buffer. */
export type BufferName = {
  [Name in keyof Table]: Named<Name, Table[Name] extends {readonly indexed: infer By} ? By : undefined>;
}[keyof Table];

/** Programs of a step by their names, those that it has none of left out. */
export type ProgramsOf<Name extends string> = {readonly [N in Name]?: Graph};

/** Programs of a step that were compiled together; `parameters` is run by `loadParameters` where it is there. */
export type StepExecutable<Name extends string = never> = Executable<Name | 'parameters', BufferName>;

/** A named input of a step's programs. */
export const bufferInput = (name: BufferName, shape: Shape, dtype?: DType): Node<'input'> => input(name, shape, dtype);

/** The input for a node's tangents along several directions. */
export const tangentSeed =
  (count: number) =>
  (node: Node, name: BufferName): [node: Node, seed: Node] => [node, bufferInput(name, [count, ...node.shape])];

/** A program of a step from its outputs, those that it has not left out. */
export const graphOf = (outputs: {readonly [Name in BufferName]?: Node | undefined}): Graph => namedGraph(outputs);

const kinds: {readonly [name: string]: BufferKind | undefined} = buffers;

/** The row of the table for a name; undefined of what is no buffer, as the inputs inside a declared derivative. */
export const bufferKind = (name: string): BufferKind | undefined => kinds[name.split('.')[0]];

/** Whether an input stays as it is at least so long. */
export const hasLifetime = (name: string, lifetime: Lifetime): boolean =>
  lifetimes.indexOf(bufferKind(name)?.lifetime ?? 'call') <= lifetimes.indexOf(lifetime);

/** What names that were put together at run time could still miss. */
export function requireKnownBuffers(programs: Programs): void {
  for (const name of bufferSizes(programs).keys())
    if (bufferKind(name) === undefined) throw new Error(`no buffer of a step is called ${name}`);
}

/** Compiles programs whose outputs lie in the memory of the inputs that they replace. */
export function compileInPlace(programs: Programs, compile: (programs: Programs) => Executable): Executable {
  const sizes = bufferSizes(programs);
  const aliases = new Map<string, string>();
  for (const [name, size] of sizes) {
    const replaced = bufferKind(name)?.replaces;
    if (replaced !== undefined && sizes.get(replaced) === size) aliases.set(name, replaced);
  }
  const inPlace = ({inputs, outputs}: Graph): Graph => ({
    inputs,
    outputs: outputs.map(({name, node}) => ({name: aliases.get(name) ?? name, node})),
  });
  const renamed = Object.fromEntries(Object.entries(programs).map(([name, graph]) => [name, inPlace(graph)]));
  return withBufferAliases(compile(renamed), aliases);
}
