/** jax-js, where it is installed: one jitted step of Newton with a dense Jacobian. */
import {serve} from './protocol.js';

await serve(() => 'not written yet');
