/** Of M y' = f: where a rate, or the equations beside the range of M, are asked for. */
import {OptionError} from '../errors.js';

export const unknownRank = (): OptionError =>
  new OptionError(
    'bad-mass',
    'The mass is a matrix that a function makes, and its rank is not known before the run: give it by numbers, or by a function giving one a component, or choose radauIIA5() and a consistent start.',
  );
