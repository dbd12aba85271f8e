/**
 * Actuators of an MJCF file. To MuJoCo all kinds are one, which motor, position and velocity set: so an element of any kind in a
 * default class changes what those after it begin with, be they of another kind.
 */
import type {Drive} from './description.js';
import type {BodyReader} from './mjcf-bodies.js';
import type {Defaults} from './mjcf-settings.js';
import type {Element, FileReader, FreeNames} from './xml.js';

/** Attributes of each kind that is read, beside those of all. */
const kinds: {readonly [tag: string]: readonly string[]} = {
  motor: [],
  position: ['kp', 'kv', 'timeconst'],
  velocity: ['kv'],
  general: ['gainprm', 'biasprm', 'gaintype', 'biastype', 'dyntype', 'dynprm'],
};
const common = ['name', 'joint', 'jointinparent', 'gear', 'ctrlrange', 'ctrllimited', 'forcerange', 'forcelimited'];
const harmless = ['class', 'group', 'user', 'lengthrange'];

/** What elements have set so far: force = gain₀ · control + bias₀ + bias₁ · length + bias₂ · rate, where the types are 'fixed' and 'affine'. */
interface Setting {
  readonly gain: readonly number[];
  readonly bias: readonly number[];
  readonly gainType: string;
  readonly biasType: string;
  readonly dynType: string;
  readonly attributes: Element['attributes'];
}

const initial: Setting = {
  gain: [1],
  bias: [0, 0, 0],
  gainType: 'fixed',
  biasType: 'none',
  dynType: 'none',
  attributes: {},
};

/** Empty where it is not supported, which is told. */
export function driveOf(
  given: Element,
  number: number,
  reader: FileReader,
  bodies: BodyReader,
  defaults: Defaults,
  names: FreeNames,
): Drive[] {
  const elements = [...defaults.elements(given).filter(({tag}) => actuators.has(tag)), given];
  const odd = elements.find(({tag}) => !Object.hasOwn(kinds, tag));
  if (odd !== undefined) {
    reader.unsupported(odd, `actuator <${odd.tag}>`);
    return [];
  }
  const setting = elements.reduce((before, element) => changed(before, element, reader), initial);
  const {gain, bias, gainType, biasType, dynType, attributes} = setting;
  const element = {...given, attributes};
  const {joint = attributes.jointinparent, name = names.next(`actuator ${number + 1}`)} = given.attributes;
  if (given.attributes.joint !== undefined && given.attributes.jointinparent !== undefined)
    reader.fail(given, `actuator <${given.tag}> cannot have both joint and jointinparent.`);
  const affine = biasType === 'affine';
  if (dynType !== 'none') reader.unsupported(given, `activation of actuator <${given.tag}>`);
  else if (gainType !== 'fixed') reader.unsupported(given, `gaintype="${gainType}" of <${given.tag}>`);
  else if (!affine && biasType !== 'none') reader.unsupported(given, `biastype="${biasType}" of <${given.tag}>`);
  // MuJoCo takes a positive one of a servo for the ratio of its damping to the critical one.
  else if (affine && bias[2] > 0 && gain[0] === -bias[1]) reader.unsupported(given, 'a damping ratio (biasprm)');
  else if (joint === undefined) reader.unsupported(given, `actuator <${given.tag}> that drives no joint`);
  else
    return [
      {
        name,
        element,
        joint,
        gear: (reader.numbers(element, 'gear', 1, 6) ?? [1])[0],
        gain: gain[0],
        bias: affine ? [bias[0], bias[1], bias[2]] : [0, 0, 0],
        controlRange: bodies.range(element, 'ctrlrange', 'ctrllimited'),
        forceRange: bodies.range(element, 'forcerange', 'forcelimited'),
      },
    ];
  return [];
}

/** All that MuJoCo has. */
const actuators = new Set([...Object.keys(kinds), 'intvelocity', 'damper', 'cylinder', 'muscle', 'adhesion', 'dcmotor', 'plugin']); // prettier-ignore

function changed(before: Setting, element: Element, reader: FileReader): Setting {
  const {tag} = element;
  reader.expect(element, [...common, ...kinds[tag]], harmless);
  const {gain, bias} = before;
  const attributes = {...before.attributes, ...element.attributes};
  const positive = (name: string, otherwise: number): number => {
    const value = reader.number(element, name, otherwise);
    return value >= 0 ? value : reader.fail(element, `${name} of <${tag}> must not be negative.`);
  };
  switch (tag) {
    case 'motor':
      return {...before, attributes, gain: over(gain, [1]), gainType: 'fixed', biasType: 'none', dynType: 'none'};
    case 'position': {
      const kp = reader.number(element, 'kp', gain[0]);
      const rate = element.attributes.kv === undefined ? bias[2] : -positive('kv', 0);
      const {timeconst} = element.attributes;
      const dynType =
        timeconst === undefined ? before.dynType : positive('timeconst', 0) === 0 ? 'none' : 'filterexact';
      const set = {gain: over(gain, [kp]), bias: [bias[0], -kp, rate]};
      return {...before, ...set, attributes, gainType: 'fixed', biasType: 'affine', dynType};
    }
    case 'velocity': {
      const kv = reader.number(element, 'kv', gain[0]);
      const set = {gain: over(gain, [kv]), bias: [0, 0, -kv]};
      return {...before, ...set, attributes, gainType: 'fixed', biasType: 'affine', dynType: 'none'};
    }
    default: {
      const {
        gaintype: gainType = before.gainType,
        biastype: biasType = before.biasType,
        dyntype: dynType = before.dynType,
      } = element.attributes;
      const read = (name: string): readonly number[] => reader.numbers(element, name, 1, 10) ?? [];
      return {
        gain: over(gain, read('gainprm')),
        bias: over(bias, read('biasprm')),
        gainType,
        biasType,
        dynType,
        attributes,
      };
    }
  }
}

/** The first numbers of a list replaced: MuJoCo keeps those that a shorter attribute does not name. */
const over = (before: readonly number[], given: readonly number[]): readonly number[] => [
  ...given,
  ...before.slice(given.length),
];
