/** What is done with an `mlp`: bounds of its slope, and conversion to and from tf.layers. */
export {layersModel as toLayersModel, mlpOfLayers as ofLayersModel} from './mlp-layers.js';
export {lipschitz, lipschitzBound} from './lipschitz.js';
