/** Dry friction of a coordinate: smooth Coulomb, with a Stribeck curve, and LuGre bristles. */
export {coulomb, stribeck} from './friction.js';
export {luGre} from './lugre.js';
