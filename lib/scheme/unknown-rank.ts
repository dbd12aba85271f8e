/** The error where M y' = f needs a rate, or the equations beside the range of M, and the rank of M is unknown. */
import {OptionError} from '../errors.js';

export const unknownRank = (): OptionError =>
  new OptionError(
    'bad-mass',
    'The mass is a function that returns a matrix, so its rank is not known before the run: give it as numbers, '
      + 'or as a function that returns one per component, or choose radauIIA5() and a consistent start.',
  );
