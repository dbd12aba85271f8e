/** Files beside tables: parts of large ones, arrays of NumPy, saved models and checkpoints. */
export {arraysOf} from './npz.js';
export {modelFiles as model} from '../train/model-files.js';
export {readCheckpoint} from '../train/checkpoints.js';
export {tableChunks} from './table.js';
