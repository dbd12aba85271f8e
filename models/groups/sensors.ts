/** What stands between a quantity and its measurement: gain and offset, a first-order lag. */
export {calibrated, firstOrderLag} from '../sensors.js';
