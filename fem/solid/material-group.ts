/** Laws of elasticity. */
export {linearElastic, mooneyRivlin, ogden, neoHookean, neuralMaterial, stVenantKirchhoff} from './materials.js';
