/**
 * Actuators of an MJCF file. To MuJoCo all kinds are one, which motor, position and velocity set: so an element of any
 * kind in a default class changes what those after it begin with, be they of another kind.
 */
import type {JointDrive} from './description.js';
import type {BodyReader} from './mjcf-bodies.js';
import {known} from './mjcf-attributes.js';
import type {Defaults, MjcfOptionElement} from './mjcf-settings.js';
import {notNegative, type ParsedElement, type FileReader, type FreeNames} from './xml.js';

/** The kinds that are read. */
const kinds = ['motor', 'position', 'velocity', 'general'] as const;
type Kind = (typeof kinds)[number];
const isKind = (tag: string): tag is Kind => (kinds as readonly string[]).includes(tag);

/**
 * Settings of the elements so far: force = gain₀ · control + bias₀ + bias₁ · length + bias₂ · rate, where the types are
 * 'fixed' and 'affine'.
 */
interface Setting {
  readonly gain: readonly number[];
  readonly bias: readonly number[];
  readonly gainType: string;
  readonly biasType: string;
  readonly dynType: string;
  readonly attributes: ParsedElement['attributes'];
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
  given: ParsedElement,
  number: number,
  reader: FileReader,
  bodies: BodyReader,
  options: MjcfOptionElement,
  defaults: Defaults,
  names: FreeNames,
): JointDrive[] {
  const elements = [...defaults.elements(given).filter(({tag}) => actuators.has(tag)), given];
  const odd = elements.find(({tag}) => !isKind(tag));
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
  else if (reader.number(element, 'inheritrange', 0) !== 0) reader.unsupported(given, `inheritrange of <${given.tag}>`);
  else if (joint === undefined) reader.unsupported(given, `actuator <${given.tag}> that drives no joint`);
  else
    return [
      {
        name,
        element,
        joint,
        gear: options.acts('actuation') ? (reader.numbers(element, 'gear', 1, 6) ?? [1])[0] : 0,
        gain: gain[0],
        bias: affine ? [bias[0], bias[1], bias[2]] : [0, 0, 0],
        controlRange: options.acts('clampctrl') ? bodies.range(element, 'ctrlrange', 'ctrllimited') : undefined,
        forceRange: bodies.range(element, 'forcerange', 'forcelimited'),
      },
    ];
  return [];
}

/** All that MuJoCo has. */
const actuators = new Set([...kinds, ...'intvelocity damper cylinder muscle adhesion dcmotor plugin'.split(' ')]);

function changed(before: Setting, element: ParsedElement, reader: FileReader): Setting {
  const {tag} = element;
  reader.expect(element, known[tag as Kind]);
  const {gain, bias} = before;
  const attributes = {...before.attributes, ...element.attributes};
  const gauge = (name: string): number | undefined => reader.number(element, name, undefined, notNegative);
  switch (tag) {
    case 'motor':
      return {...before, attributes, gain: over(gain, [1]), gainType: 'fixed', biasType: 'none', dynType: 'none'};
    case 'position': {
      const kp = reader.number(element, 'kp', gain[0]);
      const [kv, ratio, time] = [gauge('kv'), gauge('dampratio'), gauge('timeconst')];
      if (kv !== undefined && ratio !== undefined)
        reader.fail(element, '<position> cannot have both kv and dampratio.');
      // A positive number is a damping ratio.
      const rate = kv === undefined ? (ratio ?? bias[2]) : -kv;
      const dynType = time === undefined ? before.dynType : time === 0 ? 'none' : 'filterexact';
      const set = {gain: over(gain, [kp]), bias: [bias[0], -kp, rate]};
      return {...before, ...set, attributes, gainType: 'fixed', biasType: 'affine', dynType};
    }
    case 'velocity': {
      const kv = reader.number(element, 'kv', gain[0]);
      const set = {gain: over(gain, [kv]), bias: [0, 0, -kv]};
      return {...before, ...set, attributes, gainType: 'fixed', biasType: 'affine', dynType: 'none'};
    }
    default: {
      const word = (name: string, words: readonly string[], otherwise: string): string =>
        reader.word(element, name, words, otherwise);
      const gainType = word(
        'gaintype',
        ['fixed', 'affine', 'muscle', 'dcmotor', 'so3', 'pid', 'user'],
        before.gainType,
      );
      const biasType = word('biastype', ['none', 'affine', 'muscle', 'dcmotor', 'so3', 'user'], before.biasType);
      const dynTypes = ['none', 'integrator', 'filter', 'filterexact', 'muscle', 'dcmotor', 'pid', 'user'];
      const dynType = word('dyntype', dynTypes, before.dynType);
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
