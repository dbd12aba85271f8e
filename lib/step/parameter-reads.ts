/**
 * Which parameters the traced functions read, and which they read although they are missing: a misspelt name in
 * `params` would otherwise be ignored silently. Reads are detected at the property, not in the graph, where a parameter
 * that is multiplied by zero has vanished. A function that spreads the tree or lists its entries reads all of it.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {nearestName} from '../checks.js';
import type {Leaf, Params} from '../system/params.js';

export class ParameterReads {
  private readonly read = new Set<string>();
  private readonly missing = new Set<string>();
  /** Branches and leaves that were handed on. */
  private readonly whole: string[] = [];

  /** The tree as functions get it. */
  watched(tree: Params, path = ''): Params {
    return new Proxy(tree, {
      get: (target, key): unknown => {
        const value: unknown = Reflect.get(target, key);
        if (typeof key !== 'string') return value;
        const name = `${path}${key}`;
        if (value instanceof tf.Tensor) this.read.add(name);
        else if (value === undefined) this.missing.add(name);
        else if (Object.hasOwn(target, key)) return this.watched(value as Params, `${name}.`);
        return value;
      },
      // As {...params} and Object.entries do: what they hand on is read where nobody sees it.
      getOwnPropertyDescriptor: (target, key) => {
        if (typeof key === 'string') this.whole.push(`${path}${key}`);
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
  }

  /** The first parameter that nothing read; undefined where all were. */
  unread(leaves: readonly Leaf[]): OptionError | undefined {
    const leaf = leaves.find(
      ({name}) => !this.read.has(name) && !this.whole.some(branch => name === branch || name.startsWith(`${branch}.`)),
    );
    if (leaf === undefined) return undefined;
    const {name} = leaf;
    const meant = nearestName(name, [...this.missing, ...this.read]);
    const others = this.read.size === 0 ? 'They read none' : `They read ${[...this.read].sort().join(', ')}`;
    return new OptionError(
      'unknown-parameter',
      `None of the system's functions reads params.${name}, nor do observe or events. `
        + `${others}.${meant === undefined ? ' Leave it out.' : ` Did you mean '${meant}'?`}`,
      {name},
    );
  }

  /** The error for a failed trace if an unread parameter's name is close to one that was missing. */
  misspelt(leaves: readonly Leaf[], cause: unknown): OptionError | undefined {
    for (const {name} of leaves) {
      const meant = this.read.has(name) ? undefined : nearestName(name, [...this.missing]);
      if (meant === undefined) continue;
      const error = new OptionError(
        'unknown-parameter',
        `The system's functions read params.${meant}, which is missing; nothing reads params.${name}. Did you `
          + `mean '${meant}'?`,
        {name},
      );
      error.cause = cause;
      return error;
    }
    return undefined;
  }
}
