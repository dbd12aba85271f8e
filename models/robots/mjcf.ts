/**
 * MJCF, the files of MuJoCo (Todorov, Erez & Tassa 2012), as systems of `multibody`: after the XML reference of MuJoCo 3.
 * Bodies, inertias, joints, motors, loops closed by equalities, default classes; no contacts, tendons or meshes.
 */
import {boolean, object, oneOf, positive, refuseUnknownOptions, text as textCheck} from '../../lib/checks.js';
import type {Coefficient} from '../coefficient.js';
import {origin} from '../multibody/numbers.js';
import type {Closure} from './description.js';
import {known} from './mjcf-attributes.js';
import {BodyReader} from './mjcf-bodies.js';
import {driveOf} from './mjcf-drives.js';
import {included} from './mjcf-includes.js';
import {compilerOf, Defaults, optionsOf} from './mjcf-settings.js';
import {robotModel, type Keyframe, type RobotModel} from './model.js';
import {FileReader, FreeNames, readXml, type Element} from './xml.js';

/** What both formats' readers take. */
export interface ReadOptions {
  /** Default 'minimal', the joints' own coordinates, in which joints may have armature and all else. */
  readonly coordinates?: 'maximal' | 'minimal';
  /** By the names of drives (MJCF's actuators): numbers, variables, or functions of params; default 0. */
  readonly controls?: {readonly [name: string]: Coefficient};
  /** Limits of joints as hard stops; default true. */
  readonly limits?: boolean;
  /** Of v in the tanh(v/scale) by which dry friction is smoothed [radians/s, or length/s]; default 0.01. */
  readonly frictionScale?: number;
  /**
   * Inertias that break the triangle inequality A + B ≥ C of rigid bodies take the mean of their moments for each, as
   * MuJoCo does with `balanceinertia`; default false, by which they are an error.
   */
  readonly balanceInertia?: boolean;
  /** What is done about what is not supported: an error that names all of it, or `notes`; default 'refuse'. */
  readonly unsupported?: 'refuse' | 'note';
  /** The file's name, for errors. */
  readonly file?: string;
}

/** Options of `readMjcf`. */
export interface MjcfOptions extends ReadOptions {
  /** Texts of the files that `<include>` names, by their paths from the file's own folder. */
  readonly files?: {readonly [path: string]: string};
}

export const readOptions = ({
  coordinates = 'minimal',
  controls = {},
  limits = true,
  frictionScale = 0.01,
  balanceInertia = false,
  unsupported = 'refuse',
}: ReadOptions) => ({coordinates, controls, limits, frictionScale, balanceInertia, unsupported});

export const optionChecks = {
  coordinates: oneOf('maximal', 'minimal'),
  controls: object,
  limits: boolean,
  frictionScale: positive,
  balanceInertia: boolean,
  unsupported: oneOf('refuse', 'note'),
  file: textCheck,
};

/** Sections without meaning for the motion without contacts. */
const aside = ['compiler', 'option', 'default', 'worldbody', 'actuator', 'equality', 'keyframe', 'size', 'visual', 'statistic', 'asset', 'custom']; // prettier-ignore

/**
 * A system of a file of MuJoCo. Its coordinates are MuJoCo's qpos and qvel but for their zero (`state`).
 * @param text the file's; those of the files that it includes are `files`
 * @throws DataError 'bad-xml', 'bad-model-file', 'unsupported-model-file', with `data.file`, `data.line`; OptionError
 */
export function readMjcf(text: string, options: MjcfOptions = {}): RobotModel {
  refuseUnknownOptions(options, {...optionChecks, files: object}, 'readMjcf', 'bad-option');
  const {file = 'MJCF', files = {}} = options;
  const read = readOptions(options);
  const reader = new FileReader(file);
  const root = included(readXml(text, file), files, reader);
  // What is in missing files explains other errors.
  if (read.unsupported === 'refuse') reader.finish('refuse');
  if (root.tag !== 'mujoco') reader.fail(root, `the root element must be <mujoco>, not <${root.tag}>.`);
  const compiler = compilerOf(root, reader);
  const settings = optionsOf(root, reader);
  const defaults = new Defaults(root, reader);
  const bodies = new BodyReader(reader, compiler, settings, defaults, read.limits);
  refuseRepeatedNames(root, reader);
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
  const drives = within('actuator').flatMap((element, i) =>
    driveOf(element, i, reader, bodies, settings, defaults, ofDrives),
  );
  // Joints and equalities are all joints of the system.
  const joints = links.flatMap(({freedoms}) => freedoms.map(({name}) => name));
  const ofClosures = new FreeNames([...names('equality'), ...joints]);
  const closures = settings.acts('equality')
    ? within('equality').flatMap((element, i) => closureOf(element, i, reader, defaults, ofClosures))
    : [];
  const ofKeys = new FreeNames(names('keyframe'));
  const keys = within('keyframe').map((element, i): Keyframe => {
    reader.expect(element, known.key);
    const {name, ctrl} = element.attributes;
    const numbers = (attribute: string): readonly number[] | undefined => {
      const found = reader.numbers(element, attribute, 0, Infinity);
      return found?.length === 0 ? undefined : found;
    };
    if (ctrl !== undefined) reader.note(element, 'ctrl of a key is left out: give controls');
    return {
      name: name ?? ofKeys.next(`key ${i + 1}`),
      element,
      position: numbers('qpos'),
      velocity: numbers('qvel'),
    };
  });
  const balance = read.balanceInertia || compiler.balance;
  return robotModel({links, drives, closures, gravity: settings.gravity, balance}, reader, read, keys);
}

/** MuJoCo takes a name once for elements of a kind. Those of bodies, joints and drives are checked for all formats. */
function refuseRepeatedNames(root: Element, reader: FileReader): void {
  const seen = new Set<string>();
  const visit = (element: Element, kind: string): void => {
    const {name} = element.attributes;
    if (name !== undefined && seen.has(`${kind} ${name}`)) reader.fail(element, `two ${kind}s are named ${name}.`);
    seen.add(`${kind} ${name}`);
  };
  const inside = (element: Element): void => {
    for (const child of element.children) {
      if (['geom', 'site', 'camera', 'light', 'frame'].includes(child.tag)) visit(child, child.tag);
      inside(child);
    }
  };
  for (const section of root.children) {
    if (section.tag === 'worldbody') inside(section);
    if (section.tag === 'keyframe') for (const key of section.children) visit(key, 'key');
    if (section.tag === 'equality') for (const one of section.children) visit(one, 'equality constraint');
  }
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
  reader.expect(element, known[given.tag]);
  const {body1, body2 = 'world', name = names.next(`${given.tag} ${number + 1}`)} = element.attributes;
  const weld = given.tag === 'weld';
  if (!weld) reader.required(element, 'anchor');
  // The scale weighs rotation against translation where a weld yields, which this one does not; 0 leaves rotation free. The
  // anchor is a point of the first body to <connect>, of the second to <weld>.
  const whole = weld && reader.number(element, 'torquescale', 1) !== 0;
  const [kind, axesOf] = [whole ? 'all' : 'point', weld && !whole ? 1 : 0] as const;
  return [{name, element, kind, links: [body1, body2], at: whole ? origin : reader.vector(element, 'anchor'), axesOf}];
}
