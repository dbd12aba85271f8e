/** Whole mechanisms in Cartesian coordinates, with constraints. */
export {fourBars, rodChain, sliderCrank} from '../linkages.js';
