/**
 * MJCF, the files of MuJoCo (Todorov, Erez & Tassa 2012), as systems of `multibody`: after the XML reference of MuJoCo
 * 3. Bodies, inertias, joints, motors, loops closed by equalities, default classes; no contacts, tendons or meshes.
 */
import {object, optional, readOptions, typed, type Options} from '../../lib/checks.js';
import {origin} from '../multibody/numbers.js';
import type {Closure} from './description.js';
import {known} from './mjcf-attributes.js';
import {BodyReader} from './mjcf-bodies.js';
import {driveOf} from './mjcf-drives.js';
import {included} from './mjcf-includes.js';
import {compilerOf, Defaults, optionsOf} from './mjcf-settings.js';
import {robotModel, type Keyframe, type RobotModel} from './model.js';
import {robotOptions} from './read-options.js';
import {FileReader, FreeNames, readXml, type ParsedElement} from './xml.js';

const mjcfOptions = {
  ...robotOptions,
  /** Texts of the files that `<include>` names, by their paths from the file's own folder. */
  files: optional(typed<{readonly [path: string]: string}>(object), {}),
};

/** Options of `readMjcf`. @interface */
export type MjcfOptions = Options<typeof mjcfOptions>;

/** Sections that are read, or have no meaning for the motion without contacts. */
const sections =
  'compiler option default worldbody actuator equality keyframe size visual statistic asset custom'.split(' ');

/**
 * A system of a file of MuJoCo. Its coordinates are MuJoCo's qpos and qvel but for their zero (`state`).
 * @param text the file's; those of the files that it includes are `files`
 * @throws DataError 'bad-xml', 'bad-model-file', 'unsupported-model-file', with `data.file`, `data.line`; OptionError
 */
export function readMjcf(text: string, options: MjcfOptions = {}): RobotModel {
  const {file = 'MJCF', files, ...read} = readOptions(options, mjcfOptions, 'readMjcf', 'bad-option');
  const reader = new FileReader(file);
  const root = included(readXml(text, file), files, reader);
  // Missing files explain other errors.
  if (read.unsupported === 'refuse') reader.finish('refuse');
  if (root.tag !== 'mujoco') reader.fail(root, `the root element must be <mujoco>, not <${root.tag}>.`);
  const compiler = compilerOf(root, reader);
  const settings = optionsOf(root, reader);
  const defaults = new Defaults(root, reader);
  const bodies = new BodyReader(reader, compiler, settings, defaults, read.limits);
  refuseRepeatedNames(root, reader);
  for (const section of root.children) {
    if (sections.includes(section.tag)) continue;
    if (section.tag === 'contact' || section.tag === 'sensor') reader.note(section, `<${section.tag}> is left out`);
    else reader.unsupported(section, `<${section.tag}>`);
  }
  const links = bodies.readWorld(root);
  const within = (tag: string): ParsedElement[] =>
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
function refuseRepeatedNames(root: ParsedElement, reader: FileReader): void {
  const seen = new Set<string>();
  const visit = (element: ParsedElement, kind: string): void => {
    const {name} = element.attributes;
    if (name !== undefined && seen.has(`${kind} ${name}`)) reader.fail(element, `two ${kind}s are named ${name}.`);
    seen.add(`${kind} ${name}`);
  };
  const inside = (element: ParsedElement): void => {
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
  given: ParsedElement,
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
  // The scale weighs rotation against translation where a weld yields, which this one does not; 0 leaves rotation free.
  // The anchor is a point of the first body to <connect>, of the second to <weld>.
  const whole = weld && reader.number(element, 'torquescale', 1) !== 0;
  const [kind, axesOf] = [whole ? 'all' : 'point', weld && !whole ? 1 : 0] as const;
  return [{name, element, kind, links: [body1, body2], at: whole ? origin : reader.vector(element, 'anchor'), axesOf}];
}
