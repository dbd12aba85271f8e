/** Random graphs. */
import type {FuzzOptions, FuzzResult} from './run.js';

export async function fuzz({log}: FuzzOptions): Promise<FuzzResult> {
  log('');
  return {tried: 0, failures: []};
}
