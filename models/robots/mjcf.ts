/**
 * MJCF, the files of MuJoCo (Todorov, Erez & Tassa 2012), as systems of `multibody`: after the XML reference of MuJoCo 3.
 * Bodies, inertias, joints, motors, loops closed by equalities, default classes; no contacts, tendons or meshes.
 */
import {boolean, object, oneOf, positive, refuseUnknownOptions, text as textCheck} from '../../lib/checks.js';
import type {Coefficient} from '../coefficient.js';
import {origin, type V3} from '../multibody/numbers.js';
import type {Closure} from './description.js';
import {BodyReader} from './mjcf-bodies.js';
import {driveOf} from './mjcf-drives.js';
import {compilerOf, Defaults, optionsOf} from './mjcf-settings.js';
import {robotModel, type Keyframe, type RobotModel} from './model.js';
import {FileReader, FreeNames, readXml, type Element} from './xml.js';

/** Options of `readMjcf` and `readUrdf`. */
export interface ReadOptions {
  /** Default 'minimal', the joints' own coordinates, in which joints may have armature and all else. */
  readonly coordinates?: 'maximal' | 'minimal';
  /** By the names of drives (MJCF's actuators): numbers, variables, or functions of params; default 0. */
  readonly controls?: {readonly [name: string]: Coefficient};
  /** Limits of joints as hard stops; default true. */
  readonly limits?: boolean;
  /** Of v in the tanh(v/scale) by which dry friction is smoothed [radians/s, or length/s]; default 0.01. */
  readonly frictionScale?: number;
  /** What is done about what is not supported: an error that names all of it, or `notes`; default 'refuse'. */
  readonly unsupported?: 'refuse' | 'note';
  /** The file's name, for errors. */
  readonly file?: string;
}

/** @throws OptionError 'bad-option' */
export function readOptions({
  coordinates = 'minimal',
  controls = {},
  limits = true,
  frictionScale = 0.01,
  unsupported = 'refuse',
}: ReadOptions) {
  return {coordinates, controls, limits, frictionScale, unsupported};
}

export const optionChecks = {
  coordinates: oneOf('maximal', 'minimal'),
  controls: object,
  limits: boolean,
  frictionScale: positive,
  unsupported: oneOf('refuse', 'note'),
  file: textCheck,
};

/** Sections without meaning for the motion without contacts. */
const aside = ['compiler', 'option', 'default', 'worldbody', 'actuator', 'equality', 'keyframe', 'size', 'visual', 'statistic', 'asset', 'custom']; // prettier-ignore

/**
 * A system of a file of MuJoCo. Its coordinates are MuJoCo's qpos and qvel but for their zero (`state`).
 * @param text the file's, as one: <include> is not followed
 * @throws DataError 'bad-xml', 'bad-model-file', 'unsupported-model-file', with `data.line`; OptionError
 */
export function readMjcf(text: string, options: ReadOptions = {}): RobotModel {
  refuseUnknownOptions(options, optionChecks, 'readMjcf', 'bad-option');
  const {file = 'MJCF'} = options;
  const root = readXml(text, file);
  const reader = new FileReader(file);
  if (root.tag !== 'mujoco') reader.fail(root, `the root element must be <mujoco>, not <${root.tag}>.`);
  const compiler = compilerOf(root, reader);
  const {gravity} = optionsOf(root, reader);
  const defaults = new Defaults(root, reader);
  const bodies = new BodyReader(reader, compiler, defaults);
  refuseIncludes(root, reader);
  for (const section of root.children) {
    if (aside.includes(section.tag)) continue;
    if (section.tag === 'contact' || section.tag === 'sensor') reader.note(section, `<${section.tag}> is left out`);
    else reader.unsupported(section, `<${section.tag}>`);
  }
  const links = bodies.readWorld(root);
  const within = (tag: string): Element[] =>
    root.children.filter(section => section.tag === tag).flatMap(({children}) => children);
  const names = (tag: string): (string | undefined)[] => within(tag).map(({attributes: {name}}) => name);
  const ofDrives = new FreeNames(names('actuator'));
  const drives = within('actuator').flatMap((element, i) => driveOf(element, i, reader, bodies, defaults, ofDrives));
  // Joints and equalities are all joints of the system.
  const joints = links.flatMap(({freedoms}) => freedoms.map(({name}) => name));
  const ofClosures = new FreeNames([...names('equality'), ...joints]);
  const closures = within('equality').flatMap((element, i) => closureOf(element, i, reader, defaults, ofClosures));
  const ofKeys = new FreeNames(names('keyframe'));
  const keys = within('keyframe').map((element, i): Keyframe => {
    reader.expect(element, ['name', 'qpos', 'qvel', 'ctrl'], ['time', 'act', 'mpos', 'mquat']);
    const {name, ctrl} = element.attributes;
    if (names('keyframe').indexOf(name) < i && name !== undefined) reader.fail(element, `two keys are named ${name}.`);
    if (ctrl !== undefined) reader.note(element, 'ctrl of a key is left out: give controls');
    return {
      name: name ?? ofKeys.next(`key ${i + 1}`),
      position: reader.numbers(element, 'qpos', 0, Infinity),
      velocity: reader.numbers(element, 'qvel', 0, Infinity),
    };
  });
  return robotModel({links, drives, closures, gravity}, reader, readOptions(options), keys);
}

function refuseIncludes(element: Element, reader: FileReader): void {
  if (element.tag === 'include') reader.unsupported(element, '<include>');
  for (const child of element.children) refuseIncludes(child, reader);
}

function closureOf(
  given: Element,
  number: number,
  reader: FileReader,
  defaults: Defaults,
  names: FreeNames,
): Closure[] {
  const element = defaults.complete(given, undefined, 'equality');
  if (reader.word(element, 'active', ['true', 'false'], 'true') === 'false') return [];
  if ((given.tag !== 'connect' && given.tag !== 'weld') || element.attributes.body1 === undefined) {
    reader.unsupported(
      given,
      `equality <${given.tag}>${given.tag === 'connect' || given.tag === 'weld' ? ' between sites' : ''}`,
    );
    return [];
  }
  reader.expect(element, ['name', 'body1', 'body2', 'anchor', 'active', 'torquescale'], ['class', 'solref', 'solimp']);
  const {body1, body2 = 'world', name = names.next(`${given.tag} ${number + 1}`)} = element.attributes;
  const anchor = reader.vector(element, 'anchor') as V3 | undefined;
  const weld = given.tag === 'weld';
  if (!weld && anchor === undefined) reader.fail(given, '<connect> has no anchor.');
  // The scale weighs rotation against translation where a weld yields, which this one does not; 0 leaves rotation free. The
  // anchor is a point of the first body to <connect>, of the second to <weld>.
  const whole = weld && reader.number(element, 'torquescale', 1) !== 0;
  const [kind, axesOf] = [whole ? 'all' : 'point', weld && !whole ? 1 : 0] as const;
  return [{name, element, kind, links: [body1, body2], at: whole ? origin : (anchor ?? origin), axesOf}];
}
