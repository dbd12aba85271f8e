/** What holds a body. */
export {held, prescribed, turned} from './loads.js';
