/**
 * What some runs need from a step in addition to its update: the estimate of its error, the state between its ends,
 * events and their jumps. Traced with the step, over its inputs and further ones: θ, the place
 * within the step, `next`, the state at its end, and for filtered estimates `shift`, a displacement of the state.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {concat, full, input} from '../graph/build.js';
import {orZeros, pushforward} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {stacked} from '../graph/reroll.js';
import {hermite, hermiteFollowsRates} from '../scheme/hermite.js';
import {derivativeOf, type Scheme, type StepPoint} from '../scheme/scheme.js';
import type {Breaks} from '../system/breaks.js';
import {atInstant, duringStep} from '../system/breaks.js';
import type {Blocks} from '../system/equations.js';
import type {Event, EventPlace} from '../system/events.js';
import {eventValue, jumped} from '../system/events.js';
import type {Params} from '../system/params.js';
import {modeBlock} from '../graph/switches.js';
import type {SwitchScope} from '../system/switches.js';
import type {TimeDirection} from './time-direction.js';
import {bufferInput} from './buffers.js';
import {possibleEvents} from './idle.js';
import type {Interpolant} from './interpolant.js';
import {shareWithUpdate} from './interpolant.js';
import {joinBlocks, joinNamed, splitBlocks} from './blocks.js';
import type {StepFormulation} from './formulation.js';
import {Layout} from './layout.js';
import type {StepFunctions, TracedTensors} from './step-functions.js';
import type {ErrorInfo, StepInputs} from './traced-step.js';

/** Outputs of a step that a run requests beside the update. */
export interface OutputRequest {
  readonly error: boolean;
  readonly dense: boolean;
  readonly events: readonly Event[];
  /** The run begins anew somewhere from the state that there is: a jump that leaves it, after those of the events. */
  readonly restarts?: boolean;
  /** The derivative of the state by the clock's time, for an automatic first step. */
  readonly slope?: boolean;
}

/** Functions of the step that are computed from the traced outputs. */
interface FinishedOutputs {
  readonly functions: Partial<StepFunctions>;
  /** Further inputs: that by which dense output reads the interpolant, and the sides of events. */
  readonly inputs: Pick<StepInputs, 'inside' | 'sides'>;
  readonly errorInfo: ErrorInfo;
}

export class RequestedOutputs {
  readonly inputs: readonly Node<'input'>[];
  private readonly theta = input('theta', []);
  private readonly next: Node<'input'>;
  private readonly shift: Node<'input'>;
  private readonly last: Node<'input'>;
  private readonly ahead = input('lastTheta', []);
  private readonly ratio = input('lengthRatio', []);
  private readonly userLayout: Layout;
  /** Switches are held, and their borders looked at. */
  private readonly hasModes: boolean;
  private errorMask: Uint8Array | undefined;
  /** See `possibleEvents`. */
  private followsRates = false;

  constructor(
    private readonly request: OutputRequest,
    private readonly scheme: Scheme,
    private readonly formulation: StepFormulation,
    private readonly state: Layout,
    private readonly unknown: Layout,
    userBlockNames: readonly string[],
    private readonly direction: TimeDirection,
  ) {
    this.next = input('next', [state.size]);
    this.userLayout = new Layout(state.blocks.filter(({name}) => userBlockNames.includes(name)));
    this.shift = input('shift', [this.userLayout.size]);
    this.last = input('lastUnknown', [unknown.size]);
    this.hasModes = state.block(modeBlock) !== undefined;
    this.inputs = [this.theta, this.next, this.shift, this.last, this.ahead, this.ratio];
  }

  /** The tensors, in the trace of the step. @param seen the state as the user names its blocks */
  trace(
    at: StepPoint,
    params: Params,
    z: Blocks,
    tensors: Blocks,
    seen: Blocks,
    breaks: Set<Breaks>,
    scope: SwitchScope | undefined,
  ): TracedTensors {
    const hasEvents = this.request.events.length > 0 || this.request.restarts === true || this.hasModes;
    return {
      ...duringStep(at.t, at.h, breaks, () => this.stepTensors(at, z, tensors)),
      ...(hasEvents ? atInstant(at.t, breaks, () => this.eventTensors(at, params, seen, scope)) : {}),
      ...(hasEvents || this.request.slope === true ? {rate: this.rateTensor(at)} : {}),
    };
  }

  private stepTensors(at: StepPoint, z: Blocks, tensors: Blocks): TracedTensors {
    const {request} = this;
    return {
      ...(request.error ? this.errorTensors(at, z, splitBlocks(this.userLayout, tensors.shift)) : {}),
      ...(request.error ? this.guessTensors(at, z, tensors) : {}),
      dense: request.dense || this.hasModes ? this.denseTensor(at, z, tensors) : undefined,
    };
  }

  private guessTensors(at: StepPoint, z: Blocks, {lastUnknown, lastTheta, lengthRatio}: Blocks): TracedTensors {
    const {unknown, formulation, scheme} = this;
    const {predict, extrapolate} = formulation.stages ?? {};
    const predicted =
      predict === undefined
        ? []
        : unknown.blocks.map(({size}, k) => [`predicted.${k}`, tf.reshape(predict(k, z, at), [size])] as const);
    return {
      ...Object.fromEntries(predicted),
      extrapolated:
        extrapolate === undefined
          ? undefined
          : joinBlocks(
              unknown,
              extrapolate(splitBlocks(unknown, lastUnknown), lastTheta, lengthRatio, at),
              `${scheme.name}: extrapolate`,
            ),
    };
  }

  private errorTensors(at: StepPoint, z: Blocks, shift: Blocks): TracedTensors {
    const {userLayout, scheme, formulation} = this;
    const {estimate, filter, stiffness} = formulation.error ?? {};
    const estimated = estimate?.(z, at, shift);
    // Hidden states are parts of v: an estimate that says nothing of velocities says nothing of them.
    const hidden = userLayout.blocks.find(({name, partOf}) => partOf !== undefined && partOf !== name)?.partOf;
    const judges = estimated !== undefined && (hidden === undefined || hidden in estimated);
    return {
      error: judges ? this.errorTensor(estimated) : undefined,
      filter:
        judges && filter !== undefined
          ? joinBlocks(userLayout, filter(shift, at), `${scheme.name}: error.filter`)
          : undefined,
      stiffness: stiffness?.(z, at),
    };
  }

  private errorTensor(estimate: Blocks): tf.Tensor {
    const {userLayout, scheme} = this;
    const unknown = Object.keys(estimate).find(name => !userLayout.schemeBlocks.some(block => block.name === name));
    if (unknown !== undefined)
      throw new OptionError(
        'bad-scheme',
        `${scheme.name}: error.estimate gave '${unknown}'; it may estimate `
          + `${userLayout.schemeBlocks.map(({name}) => name).join(' and ')}.`,
      );
    this.errorMask = new Uint8Array(userLayout.size);
    for (const {name, offset, size} of userLayout.schemeBlocks)
      if (name in estimate) this.errorMask.fill(1, offset, offset + size);
    return joinBlocks(
      userLayout,
      {
        ...Object.fromEntries(userLayout.schemeBlocks.map(({name, shape}) => [name, tf.zeros([...shape])])),
        ...estimate,
      },
      `${scheme.name}: error.estimate`,
    );
  }

  private denseTensor(at: StepPoint, z: Blocks, {theta, next}: Blocks): tf.Tensor {
    const {state, scheme, formulation} = this;
    const end = splitBlocks(state, next);
    const between = formulation.dense?.(theta, z, at, end) ?? hermite(theta, scheme.order, at, end);
    this.followsRates = formulation.dense === undefined && hermiteFollowsRates(scheme.order, at);
    const linear = Object.fromEntries(
      state.schemeBlocks.map(({name}) => [name, tf.add(at.x[name], tf.mul(theta, tf.sub(end[name], at.x[name])))]),
    );
    return joinBlocks(state, at.projectState({...linear, ...between}), `${scheme.name}: dense`);
  }

  private eventTensors(at: StepPoint, params: Params, seen: Blocks, scope: SwitchScope | undefined): TracedTensors {
    const {
      userLayout,
      request: {events, restarts},
    } = this;
    const blocks = Object.fromEntries(userLayout.blocks.map(({name}) => [name, seen[name]]));
    const place = {...blocks, t: at.t, params} as unknown as EventPlace;
    // A jump leaves the modes as they are.
    const whole = (after: Blocks, name: string): tf.Tensor => {
      const given = joinNamed(userLayout, after, name);
      return this.hasModes ? tf.concat([given, seen[modeBlock]]) : given;
    };
    const switches = this.hasModes ? scope?.borders({...blocks, t: at.t}) : undefined;
    const shares = scope?.sharesAt?.(at.x, at.t);
    return {
      borders:
        switches === undefined || shares === undefined
          ? switches?.borders
          : tf.concat([switches.borders, shares, tf.sub(shares, 1)]),
      outcomes: switches?.outcomes,
      ...Object.fromEntries(events.map((event, i) => [`event.${i}`, eventValue(event, i, place)])),
      ...Object.fromEntries(
        events.map(({then}, i) => [
          `jump.${i}`,
          typeof then === 'function' ? whole(jumped(then, i, place, blocks), `events[${i}].then`) : undefined,
        ]),
      ),
      ...(restarts === true || this.hasModes ? {[`jump.${events.length}`]: whole(blocks, 'restart')} : {}),
    };
  }

  /** The derivative of the state by the clock's time; zero of what is not in the equations of motion. */
  private rateTensor(at: StepPoint): tf.Tensor {
    const {state, direction} = this;
    const zeros = Object.fromEntries(state.schemeBlocks.map(({name, shape}) => [name, tf.zeros([...shape])]));
    const rate = joinBlocks(
      state,
      {...zeros, ...(at.hasMassMatrix ? this.rateWithMass(at) : at.rate(at.x, at.t))},
      'rate',
    );
    return direction.backwards === true ? tf.neg(rate) : rate;
  }

  /** Algebraic components, whose rate M y' = f does not say, stand still. */
  private rateWithMass({x, t, rightHandSide, particularRate}: StepPoint): Blocks {
    if (particularRate === undefined)
      throw new OptionError(
        'bad-mass',
        'The mass is a function that returns a matrix, so its rank is not known before the run: events and '
          + "first: 'auto' need a mass given as numbers, or as a function that returns one per component.",
      );
    return {y: particularRate(rightHandSide(x, t).y, x.y, t)};
  }

  /** What is made of the trace's outputs. */
  finish(named: ReadonlyMap<string, Node>, {update, error, dense}: StepFunctions, inputs: StepInputs): FinishedOutputs {
    const {x, t} = inputs;
    const {theta, next, errorMask, request, scheme, formulation} = this;
    const values = request.events.map((_, i) => named.get(`event.${i}`) as Node);
    const rate = named.get('rate');
    const borders = named.get('borders');
    const all = [...(values.length === 0 ? [] : [stacked(values)]), ...(borders === undefined ? [] : [borders])];
    const events = all.length === 0 ? undefined : concat(all, 0);
    const eventRates =
      events === undefined || rate === undefined
        ? undefined
        : pushforward(
            [events],
            new Map<Node, Node>([
              [x, rate],
              [t, full(1, [])],
            ]),
          )[0];
    const split: {readonly dense?: Node; readonly inside?: Interpolant} =
      dense === undefined
        ? {}
        : shareWithUpdate(dense, error === undefined || named.has('filter') ? [update] : [update, error], [
            theta,
            next,
          ]);
    const more = {
      inside: split.inside?.input,
      sides: events === undefined ? undefined : bufferInput('sides', events.shape),
    };
    const functions = {
      dense: split.dense,
      inside: split.inside?.node,
      events,
      rates: events === undefined ? undefined : orZeros(eventRates, events),
    };
    const along = {functions: {...functions, update}, inputs: {...inputs, ...more}};
    return {
      functions: {
        ...functions,
        slope: request.slope === true ? rate : undefined,
        possibleEvents: possibleEvents(along, this.followsRates, this.hasModes),
      },
      inputs: more,
      errorInfo: {
        errorMask,
        stageErrorEffects: this.stageErrorEffects(),
        // A strong order counts the local error's mean square, half an order more: errors of steps add up by their
        // squares.
        errorOrder:
          error === undefined
            ? scheme.order + (formulation.supports?.noise === undefined ? 1 : 0.5)
            : (formulation.error?.order ?? scheme.order + 1),
      },
    };
  }

  /**
   * Powers of h by block of the state: an error δ in a stage of the unknown is about h^power·δ there. Undefined if the
   * unknown does not consist of stages.
   */
  private stageErrorEffects(): ErrorInfo['stageErrorEffects'] {
    const {formulation, userLayout, unknown} = this;
    if (formulation.stages === undefined || unknown.blocks.length === 0) return undefined;
    const stage = unknown.blocks[0].derivative ?? 0;
    return Object.fromEntries(
      userLayout.schemeBlocks.map(({name}) => [name, stage - (derivativeOf(formulation, name) ?? 0)]),
    );
  }
}
