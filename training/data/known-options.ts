/** Options under names that are not known: a misspelt one would otherwise be its default in silence. */
import {OptionError} from '../../lib/errors.js';
import {nearestName} from './nearest-name.js';

/**
 * @param owner what the options are given to, as the sentence begins: 'segments', 'train: checkpoint'
 * @throws OptionError 'unknown-option' with the name that was most likely meant
 */
export function refuseUnknownOptions(given: object, known: readonly string[], owner: string): void {
  const unknown = Object.keys(given).find(name => !known.includes(name));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  const remedy = nearest === undefined ? `; it has ${known.join(', ')}.` : `: did you mean '${nearest}'?`;
  throw new OptionError('unknown-option', `${owner} has no option '${unknown}'${remedy}`, {option: unknown});
}
