import * as tf from '@tensorflow/tfjs';
import {mechanics, rk4, signal, simulate} from '/work/wt/shoot/lib/index.js';
import {identify} from '/work/wt/shoot/training/identify/identify.js';
import {multiple} from '/work/wt/shoot/training/identify/shooting.js';
import {free, positive} from '/work/wt/shoot/training/identify/parameters.js';
import {gaussian} from '/work/wt/shoot/training/data/noise.js';
import {levenbergMarquardt} from '/work/wt/shoot/training/identify/least-squares.js';
const N=Number(process.argv[2]), segs=Number(process.argv[3]);
const sys=mechanics({mass:1,forces:({q,v,params}:any)=>tf.sub(params.u,tf.addN([tf.mul(params.c,v),tf.mul(params.k,q),tf.mul(params.k3,tf.pow(q,3))]))});
const dt=0.05; const t=Float64Array.from({length:N},(_,i)=>i*dt);
const r=gaussian(1); let x=0; const u=t.map(()=>x=0.95*x+r());
const inputs={u:signal(t,u,'linear')};
const tr=simulate(sys as never,{q:0.5,v:0} as never,{scheme:rk4(),dt,steps:N-1,params:{c:0.2,k:1,k3:0.5},inputs} as never) as any;
const q=tr.values('q').map((a:number)=>a+0.02*r()); tr.dispose();
let n0=performance.now(); let it=0;
async function main(){
const fit=await identify({system:sys,scheme:rk4(),dt,data:{t,q,inputs},parameters:{c:positive(0.5),k:positive(2.5),k3:positive(0.1),'initial.q':free(0.4),'initial.v':free(0)},...(segs>1?{shooting:multiple({segments:segs})}:{}),onProgress:(p:any)=>{it++;console.log(it,p.cost.toPrecision(5),((performance.now()-n0)/1000).toFixed(1)+' s',Array.from(p.values.k as Float64Array).join())},method:levenbergMarquardt()} as never) as any;
console.log(fit.estimate, fit.standardErrors, fit.message ?? fit.status, (performance.now()-n0)/1000, process.memoryUsage().rss/1e6, process.resourceUsage().maxRSS/1e3);
}
main();
