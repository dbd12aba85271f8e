/** Settings of an MJCF file: compiler, option, size and default classes. */
import type {V3} from '../multibody/numbers.js';
import type {Element, FileReader} from './xml.js';

/** How the file is read. */
export interface Compiler {
  /** Radians per unit of the file's angles. */
  readonly degree: number;
  readonly sequence: string;
  readonly autolimits: boolean;
  readonly inertiaFromGeom: 'false' | 'true' | 'auto';
  readonly boundMass: number;
  readonly boundInertia: number;
  readonly balance: boolean;
  readonly totalMass: number;
}

export function compilerOf(root: Element, reader: FileReader): Compiler {
  const merged = mergedOf(root, 'compiler');
  reader.expect(
    merged,
    ['angle', 'coordinate', 'eulerseq', 'autolimits', 'inertiafromgeom', 'boundmass', 'boundinertia', 'balanceinertia', 'settotalmass'], // prettier-ignore
    ['meshdir', 'texturedir', 'assetdir', 'strippath', 'discardvisual', 'usethread', 'convexhull', 'exactmeshinertia', 'fusestatic', 'saveinertial', 'conflict'], // prettier-ignore
  );
  if (merged.attributes.coordinate === 'global') reader.unsupported(merged, 'coordinate="global"');
  const sequence = merged.attributes.eulerseq ?? 'xyz';
  if (!/^[xyzXYZ]{3}$/.test(sequence)) reader.fail(merged, `eulerseq="${sequence}" must be three letters of x, y, z.`);
  const yes = (name: string, otherwise: 'true' | 'false'): boolean =>
    reader.word(merged, name, ['true', 'false'], otherwise) === 'true';
  return {
    degree: reader.word(merged, 'angle', ['degree', 'radian'], 'degree') === 'degree' ? Math.PI / 180 : 1,
    sequence,
    autolimits: yes('autolimits', 'true'),
    inertiaFromGeom: reader.word(merged, 'inertiafromgeom', ['false', 'true', 'auto'], 'auto'),
    boundMass: reader.number(merged, 'boundmass', 0),
    boundInertia: reader.number(merged, 'boundinertia', 0),
    balance: yes('balanceinertia', 'false'),
    totalMass: reader.number(merged, 'settotalmass', -1),
  };
}

/** A section may occur several times: later attributes replace earlier ones. */
const mergedOf = (root: Element, tag: string): Element =>
  root.children
    .filter(child => child.tag === tag)
    .reduce(
      (sum, child) => ({
        ...child,
        attributes: {...sum.attributes, ...child.attributes},
        children: [...sum.children, ...child.children],
      }),
      {
        tag,
        line: root.line,
        attributes: {},
        children: [] as readonly Element[],
      },
    );

/** Settings of MuJoCo's own solver, which this package does not use. */
const solver = ['timestep', 'apirate', 'impratio', 'tolerance', 'ls_tolerance', 'noslip_tolerance', 'ccd_tolerance', 'mpr_tolerance', 'o_margin', 'o_solref', 'o_solimp', 'o_friction', 'integrator', 'cone', 'jacobian', 'solver', 'iterations', 'ls_iterations', 'noslip_iterations', 'ccd_iterations', 'mpr_iterations', 'sdf_iterations', 'sdf_initpoints', 'sleep_tolerance', 'collision', 'magnetic', 'wind']; // prettier-ignore

/** Flags of what would move the bodies otherwise, and of MuJoCo's solver. */
const moving = [
  'constraint',
  'equality',
  'frictionloss',
  'limit',
  'passive',
  'spring',
  'damper',
  'clampctrl',
  'actuation',
];
const solving = ['contact', 'warmstart', 'filterparent', 'refsafe', 'sensor', 'midphase', 'eulerdamp', 'autoreset', 'override', 'energy', 'fwdinv', 'invdiscrete', 'multiccd', 'island', 'nativeccd', 'diagexact', 'ipc', 'sleep']; // prettier-ignore

/** Gravity; default 9.81 downwards. */
export function optionsOf(root: Element, reader: FileReader): {readonly gravity: V3} {
  const merged = mergedOf(root, 'option');
  reader.expect(merged, ['gravity', 'density', 'viscosity'], solver);
  for (const name of ['density', 'viscosity'])
    if (reader.number(merged, name, 0) !== 0) reader.unsupported(merged, `${name} of the medium`);
  for (const flag of merged.children) {
    if (flag.tag !== 'flag') {
      reader.unsupported(flag, `<${flag.tag}> of <option>`);
      continue;
    }
    reader.expect(flag, ['gravity', ...moving], solving);
  }
  // The last one that sets a flag holds.
  const disabled = (name: string): Element | undefined => {
    const flag = merged.children.filter(({attributes}) => attributes[name] !== undefined).pop();
    return flag !== undefined && reader.word(flag, name, ['enable', 'disable'], 'enable') === 'disable'
      ? flag
      : undefined;
  };
  for (const name of moving) {
    const flag = disabled(name);
    if (flag !== undefined) reader.unsupported(flag, `flag ${name}="disable"`);
  }
  const weightless = disabled('gravity') !== undefined;
  return {gravity: weightless ? [0, 0, 0] : (reader.vector(merged, 'gravity') ?? [0, 0, -9.81])};
}

/** Elements allowed in default classes: without effect on the motion, or refused where the model uses them. */
const defaultTags = ['default', 'mesh', 'material', 'joint', 'geom', 'site', 'camera', 'light', 'pair', 'equality', 'tendon', 'general', 'motor', 'position', 'velocity', 'intvelocity', 'damper', 'cylinder', 'muscle', 'adhesion', 'dcmotor', 'plugin', 'include']; // prettier-ignore

/** Default classes: the elements of each, after those of the enclosing classes. */
export class Defaults {
  private readonly classes = new Map<string, readonly Element[]>([['main', []]]);
  constructor(
    root: Element,
    private readonly reader: FileReader,
  ) {
    for (const child of root.children.filter(({tag}) => tag === 'default')) this.read(child, 'main', true);
  }
  private read(element: Element, around: string, top: boolean): void {
    const name = element.attributes.class ?? (top ? 'main' : this.reader.required(element, 'class'));
    const elements = [...(this.classes.get(around) ?? [])];
    for (const child of element.children) {
      if (!defaultTags.includes(child.tag)) this.reader.unsupported(child, `<${child.tag}> of <default>`);
      if (child.tag !== 'default') elements.push(child);
    }
    this.classes.set(name, elements);
    if (top) this.classes.set('main', elements);
    for (const child of element.children) if (child.tag === 'default') this.read(child, name, false);
  }
  /** Defaults for an element: of its class, or of the enclosing body's child class. Later ones override earlier ones. */
  elements(element: Element, around?: string): readonly Element[] {
    const name = element.attributes.class ?? around ?? 'main';
    return this.classes.get(name) ?? this.reader.fail(element, `there is no default class '${name}'.`);
  }
  /** The element with the defaults of its class, or of the enclosing body's child class. */
  complete(element: Element, around: string | undefined, tag = element.tag): Element {
    const given = [...this.elements(element, around).filter(one => one.tag === tag), element];
    for (const one of given) orientationOf(one, this.reader);
    return {
      ...element,
      attributes: given.reduce<Element['attributes']>((sum, {attributes}) => over(sum, attributes), {}),
    };
  }
}

/** The attributes by which an orientation is given. */
export const orientations = ['quat', 'axisangle', 'xyaxes', 'zaxis', 'euler'];

/** Which of them an element has; undefined for none. */
export function orientationOf(element: Element, reader: FileReader): string | undefined {
  const given = orientations.filter(name => element.attributes[name] !== undefined);
  if (given.length > 1) reader.fail(element, `<${element.tag}> has several orientations: ${given.join(', ')}.`);
  return given[0];
}

/**
 * Of sizes, MuJoCo keeps the numbers that a shorter list does not name. Of orientations the last one holds, but a quaternion
 * does not replace one of another kind.
 */
function over(before: Element['attributes'], given: Element['attributes']): Element['attributes'] {
  const {size = ''} = given;
  const words = (text = ''): string[] => text.split(/\s+/).filter(word => word !== '');
  const rest = words(before.size).slice(words(size).length);
  const angular = (one: Element['attributes']): boolean =>
    orientations.some(name => name !== 'quat' && one[name] !== undefined);
  const dropped = angular(given) ? orientations : [];
  const replaced = !angular(given) && angular(before) ? ['quat'] : [];
  const without = (one: Element['attributes'], names: readonly string[]): Element['attributes'] =>
    Object.fromEntries(Object.entries(one).filter(([name]) => !names.includes(name)));
  return {
    ...without(before, dropped),
    ...without(given, replaced),
    ...(size === '' || rest.length === 0 ? {} : {size: [size, ...rest].join(' ')}),
  };
}
