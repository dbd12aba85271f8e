/** Every number of a tree of tensors, such as the weights of a network, as a parameter. */
export {estimatedTree as estimated, freeTree as free} from './parameter-trees.js';
