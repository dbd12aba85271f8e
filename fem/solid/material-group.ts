/** Laws of elasticity. */
export {linearElastic, mooneyRivlin, neoHookean, neuralMaterial, stVenantKirchhoff} from './materials.js';
