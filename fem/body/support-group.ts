/** What holds a body. */
export {held, prescribed} from './loads.js';
