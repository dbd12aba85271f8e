import {ode,simulate,tsit5,adaptive} from '../lib/index.js';
import * as tf from '@tensorflow/tfjs';
import {sizes,startsOf,targets,weights} from './spiral.js';
const w:any = weights();
const sys = ode(({y,params}:any)=>{let s=y; for(let i=0;i+1<sizes.length;i++){ s=tf.add(tf.matMul(s,params['w'+i]),params['b'+i]); if(i+2<sizes.length) s=tf.softplus(s);} return s;});
const T=targets(0); const y0=startsOf(T);
const extra={dt:0.1,t1:10,control:adaptive({rtol:1e-3,atol:1e-6}),saveAt:Array.from({length:100},(_,k)=>k*10/99)};
const precision=process.argv[2] as any;
const m=simulate.prepare(sys,{y:y0},{scheme:tsit5(),params:w,precision,...extra} as any);
const g=new Float64Array(T.length).fill(1e-3);
let r:any;
let fwd=1e9,bwd=1e9;
for(let i=0;i<300;i++){const t=performance.now(); r=m.vjp(); const t1=performance.now(); r.pullback({y:g}); const t2=performance.now(); fwd=Math.min(fwd,t1-t); bwd=Math.min(bwd,t2-t1);}
console.log(precision, fwd.toFixed(2), bwd.toFixed(2), JSON.stringify(r.trajectory.stats));
