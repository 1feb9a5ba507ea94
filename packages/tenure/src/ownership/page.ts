/**
 * The inspector's page, built from `packages/inspector/src/page` by `npm run page`: what comes
 * before a trace and what comes after it. Called by timeline-html.ts. Never edited by hand.
 */

/** Everything before the trace. */
export const before: string =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tenure inspector</title>\n<' +
  "meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsa" +
  'fe-inline\'; script-src \'unsafe-inline\'">\n<meta name="viewport" content="width=device-w' +
  'idth"><style>:root{color-scheme:light dark;--paper: #fff;--ink: #1b1b1b;--soft: #f0f1f' +
  "3;--line: #8884}@media(prefers-color-scheme:dark){:root{--paper: #16181c;--ink: #e6e6e" +
  "6;--soft: #22252b}}body{font:14px system-ui,sans-serif;margin:0 auto;padding:16px;max-" +
  "width:1240px;color:var(--ink);background:var(--paper)}h1{font-size:20px;margin:0 0 4px" +
  "}h2{font-size:15px;margin:24px 0 6px}p{margin:4px 0}canvas{display:block;width:100%;co" +
  "lor:var(--ink);touch-action:pan-y;cursor:crosshair}canvas:focus-visible,button:focus-v" +
  "isible,select:focus-visible{outline:2px solid #0072b2}#over{position:relative}#cursor{" +
  "position:absolute;inset:0 auto 0 0;border-left:1px dashed var(--ink);pointer-events:no" +
  "ne}#tools{display:flex;flex-wrap:wrap;gap:4px;align-items:center}button,select{font:in" +
  "herit;color:inherit;background:var(--soft);border:1px solid var(--line);border-radius:" +
  "4px;padding:2px 9px;max-width:100%}#tools label{margin-left:auto}#legend,#roles{displa" +
  "y:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;padding:0;margin:6px 0}#legend b{fo" +
  "nt-weight:400;font-variant-numeric:tabular-nums;opacity:.8;margin-left:6px}i{display:i" +
  "nline-block;width:11px;height:11px;margin-right:6px}.hatch{background:repeating-linear" +
  "-gradient(135deg,#8888 0 2px,transparent 2px 4px)}.dash{width:34px;height:12px;margin-" +
  "right:6px;stroke:var(--ink);stroke-width:1.5;vertical-align:-2px}#readout{min-height:1" +
  ".3em;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}pre{background:var(--sof" +
  "t);padding:10px;margin:6px 0;white-space:pre-wrap;overflow-wrap:anywhere}.scroll{overf" +
  "low-x:auto}table{border-collapse:collapse;width:100%;min-width:560px}th,td{text-align:" +
  "left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}td:" +
  "nth-child(2),td:nth-child(n+4):nth-child(-n+5),td span{white-space:nowrap;font-variant" +
  "-numeric:tabular-nums}td:first-child,td:last-child{overflow-wrap:anywhere;min-width:15" +
  "0px}td button{background:none;border:0;padding:0;text-align:left;text-decoration:under" +
  "line;cursor:pointer;overflow-wrap:anywhere}small{opacity:.75}</style><h1>Tenure inspec" +
  'tor</h1> <p id="summary"></p> <h2>Bytes over time, by owner</h2> <ul id="legend"></ul>' +
  ' <p id="tools"> <button data-key="+" aria-label="zoom in" title="+ or w">+</button> <b' +
  'utton data-key="-" aria-label="zoom out" title="− or s">−</button> <button data-key="A' +
  'rrowLeft" aria-label="move left" title="← or a">←</button> <button data-key="ArrowRigh' +
  't" aria-label="move right" title="→ or d">→</button> <button data-key="0" title="0">al' +
  'l</button> <button data-key="steps" id="steps">steps</button> <button data-key="Enter"' +
  ' title="Enter">peak</button> <label >evenly by <select id="axis"> <option value="ms">t' +
  'ime</option> <option value="events">event</option> </select></label > </p> <div id="ov' +
  'er"> <div id="cursor" hidden></div> <canvas id="chart" tabindex="0" role="img" aria-la' +
  'bel="Bytes over time by owner. Plus and minus zoom, arrows pan, 0 shows all, Enter tel' +
  'ls of the peak." ></canvas> <canvas id="lanes" tabindex="0" role="img" aria-label="Ste' +
  'ps, phases, runs, swaps and scopes" ></canvas> </div> <p id="readout" aria-live="polit' +
  'e"></p> <p> <small >Click a byte, a scope or a mark. Then + and − or the wheel zoom, a' +
  "rrows or a drag pan, 0 shows all, Enter tells of the peak in view.</small > </p> <pre " +
  'id="detail" aria-live="polite">Click a byte.</pre> <h2>Alive at <span id="when"></span' +
  '>, by line <button data-key="End">at the end</button></h2> <div class="scroll"> <table' +
  "> <thead> <tr> <th>made at</th> <th>bytes</th> <th>owner</th> <th>steps</th> <th>stora" +
  'ges</th> <th>how the last got there</th> </tr> </thead> <tbody id="alive"></tbody> </t' +
  'able> </div> <p id="more"></p> <p> <small>Steps: how many made some of it. A line that' +
  ' leaks has one more in every step.</small> </p> <section id="plan-section"> <h2> <labe' +
  'l for="plans">Plan: slots against steps</label> <select id="plans"></select> </h2> <p ' +
  'id="plan-text"></p> <ul id="roles"></ul> <canvas id="plan" tabindex="0" role="img" ari' +
  'a-label="Which value lies in which slot at which step" ></canvas> <p id="plan-detail" ' +
  'aria-live="polite">Click a rectangle.</p> </section>\n<script type="application/json" i' +
  'd="trace">';

/** Everything after it. */
export const after: string =
  '</script>\n<script type="module">var A=["#0072b2","#e69f00","#56b4e9","#009e73","#d55e0' +
  '0","#cc79a7","#8a8a8a","hatch"];function G(e,t){let n=window.devicePixelRatio,r=e.clie' +
  "ntWidth;e.width=Math.round(r*n),e.height=Math.round(t*n),e.style.height=`${t}px`;let o" +
  '=e.getContext("2d");if(o===null)throw new Error("inspector: expected a canvas to draw ' +
  'on, got none");o.scale(n,n),o.font="12px system-ui, sans-serif";let s=getComputedStyle' +
  '(e),i=f=>s.getPropertyValue(f),[c,a,l]=[i("--soft"),i("--line"),i("--paper")];return{d' +
  "raw:o,width:r,height:t,ink:s.color,soft:c,line:a,paper:l}}function ve({draw:e,ink:t,pa" +
  'per:n},r){let o=A[r]??"#8a8a8a";if(o!=="hatch")return o;let s=document.createElement("' +
  'canvas");s.width=s.height=6;let i=s.getContext("2d");if(i===null)return"#8a8a8a";i.fil' +
  "lStyle=n,i.fillRect(0,0,6,6),i.strokeStyle=t,i.globalAlpha=.45,i.beginPath();for(let c" +
  ' of[-6,0,6])i.moveTo(c-1,7),i.lineTo(c+7,-1);return i.stroke(),e.createPattern(s,"repe' +
  'at")??"#8a8a8a"}function M(e){let t=e/1e6;return`${t===0||t>=.1?t.toFixed(2):t.toPreci' +
  "sion(2)} MB`}function C(e){return e<1e3?`${e.toFixed(3)} ms`:`${(e/1e3).toFixed(4)} s`" +
  "}function D(e,t){let n=e/t,r=10**Math.floor(Math.log10(n));return([1,2,5].find(o=>o*r>" +
  "=n)??10)*r}function L({draw:e},[t,n,r,o],s,i=[]){e.setLineDash([...i]),e.strokeStyle=s" +
  ",e.beginPath(),e.moveTo(t,n),e.lineTo(r,o),e.stroke(),e.setLineDash([])}function H({dr" +
  'aw:e},t,[n,r,o,s]){e.save(),e.beginPath(),e.rect(n,r,o,s),e.clip(),e.textAlign="left",' +
  'e.fillText(t,n+3,r+s/2+4),e.restore()}var O=["module","optimizer","loader","scope","no' +
  ' scope","graph or read","not recorded","free in the pool"],it=O.indexOf("no scope"),lt' +
  '=O.indexOf("graph or read"),ke=O.indexOf("not recorded"),at=O.indexOf("free in the poo' +
  'l");function Se(e){let[t=""]=e.split(" ",1),n=O.indexOf(t);return n===-1?it:n}var ne=c' +
  "lass{blocks=[];now=new Float64Array(O.length);#e=new Map;#t=new Map;#o;constructor(t){" +
  'this.#o=t}follow(t,[n,,r,o,s,i,c,a]){let l=this.#o.texts[i]??"",f=this.#o.texts[a]??""' +
  ';if(n==="create"&&s!==0){let d=this.blocks.length,u=this.#e.get(s);u===void 0&&(u={blo' +
  "ck:{order:d,text:l,bytes:o,stack:c,owners:[]},handles:new Map},this.blocks.push(u.bloc" +
  'k),this.#e.set(s,u)),u.handles.set(r,Se(f)),this.#t.set(r,u),this.#n(u,t,f===""?"made ' +
  'outside any scope":`made into ${f}`)}else if(n==="own"){let d=this.#t.get(r);d?.handle' +
  's.set(r,Se(f)),d!==void 0&&this.#n(d,t,l)}else if(n==="dispose"||n==="finalize"){let d' +
  '=this.#t.get(r);d?.handles.delete(r),this.#t.delete(r);let m=`last handle ${n==="dispo' +
  'se"?"disposed":"collected as garbage"}; the graph or a read keeps the bytes`;d!==void ' +
  '0&&this.#n(d,t,m)}else if(n==="free"||n==="revive"){let d=this.#e.get(s);if(d===void 0' +
  ')return;n==="free"?this.#r(d,t,-1,"freed"):this.#n(d,t,"taken back")}}#n(t,n,r){let o=' +
  "lt;for(let s of t.handles.values())o=Math.min(o,s);this.#r(t,n,o,r)}#r({block:{bytes:t" +
  ",owners:n}},r,o,s){let i=n.at(-1)?.kind??-1;o!==i&&(i!==-1&&(this.now[i]=(this.now[i]?" +
  "?0)-t),o!==-1&&(this.now[o]=(this.now[o]??0)+t),n.push({index:r,kind:o,how:s}))}};func" +
  "tion Me(e){let{events:t}=e,n=()=>new Float64Array(t.length),[r,o,s,i]=[n(),n(),n(),O.m" +
  "ap(n)],c=new ne(e);for(let[a,l]of t.entries()){c.follow(a,l),r[a]=l[1],o[a]=l[10];let " +
  "f=0;for(let u=0;u<ke;u++){let m=c.now[u]??0;f+=m,(i[u]??r)[a]=m}let d=Math.max(0,l[8]-" +
  "f);(i[ke]??r)[a]=d,(i[at]??r)[a]=l[9],s[a]=f+d+l[9]}return{trace:e,at:r,bytes:i,sum:s," +
  "device:o,blocks:c.blocks}}function I({owners:e},t){return e.findLast(({index:n})=>n<=t" +
  ")}function J(e,t){let n=0,r=e.length;for(;n<r;){let o=n+r>>1;(e[o]??0)<=t?n=o+1:r=o}re" +
  "turn n-1}function Te(e,t,n){let r=0;for(let[o,s]of e.bytes.entries()){let i=s[t]??0;if" +
  "(n>=r+i){r+=i;continue}for(let c of e.blocks)if(I(c,t)?.kind===o&&(r+=c.bytes,n<r))ret" +
  "urn c;return}}function oe({trace:e},{stack:t,owners:n}){let r=e.stacks[t];if(r!==void " +
  '0&&r.frames.length>0)return r.place;let o=/\\(opened at (\\S+)\\)/.exec(n[0]?.how??"")?.[' +
  '1];return o!==void 0?o:r===void 0?"(no stack recorded)":"(inside tenure)"}function Ae(' +
  "e,t,n){let r=Float64Array.from(n),o=new Map;for(let s of e.blocks){let i=I(s,t);if(i==" +
  "=void 0||i.kind===-1)continue;let{stack:c,bytes:a}=s,l=oe(e,s),f=o.get(l);f===void 0&&" +
  '(f={place:l,stack:c,count:0,bytes:0,kinds:new Set,how:"",steps:new Set},o.set(l,f)),f.' +
  "count++,f.bytes+=a,f.how=i.how,f.kinds.add(i.kind);let d=J(r,e.at[s.owners[0]?.index??" +
  "0]??0);d!==-1&&f.steps.add(d)}return[...o.values()].sort((s,i)=>i.bytes-s.bytes)}funct" +
  'ion re({at:e},t){let n=e.length-1,r=e[0]??0;return t==="ms"?{unit:t,whole:{from:r,to:M' +
  "ath.max(r+.001,e[n]??0)},of:o=>e[o]??0,ofTime:o=>o,indexAt:o=>J(e,o)}:{unit:t,whole:{f" +
  "rom:0,to:Math.max(1,n)},of:o=>o,ofTime:o=>Math.max(0,J(e,o)),indexAt:o=>Math.min(n,Mat" +
  "h.floor(o))}}function Oe({at:e}){let t=(e.at(-1)??0)-(e[0]??0);return e.some((n,r)=>r>" +
  "0&&n-(e[r-1]??0)>t/5)}function T(e,{from:t,to:n},r){return 58+(e-t)/(n-t)*(r-58)}var N" +
  "=class{view;#e;#t;constructor(t,n){this.view=this.#e=t,this.#t=n}reset(t){this.#e=t,th" +
  "is.look(t.from,t.to)}look(t,n){let{from:r,to:o}=this.#e,s=Math.min(o-r,Math.max((o-r)/" +
  "1e5,n-t)),i=Math.min(Math.max(r,t),o-s);this.view={from:i,to:i+s},this.#t()}zoom(t,n=(" +
  "this.view.from+this.view.to)/2){let{from:r,to:o}=this.view;this.look(n-(n-r)*t,n+(o-n)" +
  "*t)}pan(t){let n=(this.view.to-this.view.from)*t;this.look(this.view.from+n,this.view." +
  "to+n)}positionAt(t,n){let{from:r,to:o}=this.view;return r+Math.max(0,t-58)/(n-58)*(o-r" +
  ')}act(t){if(t==="+"||t==="="||t==="w")this.zoom(.5);else if(t==="-"||t==="s")this.zoom' +
  '(2);else if(t==="ArrowLeft"||t==="a")this.pan(-.2);else if(t==="ArrowRight"||t==="d")t' +
  'his.pan(.2);else if(t==="0"||t==="Home")this.reset(this.#e);else return!1;return!0}lis' +
  'ten(t,n,r){let o=null;t.addEventListener("keydown",i=>{!i.ctrlKey&&!i.metaKey&&!i.altK' +
  "ey&&this.act(i.key)&&i.preventDefault()});let s=i=>{!i.ctrlKey&&document.activeElement" +
  "!==t||(i.preventDefault(),Math.abs(i.deltaX)>Math.abs(i.deltaY)?this.pan(i.deltaX/t.cl" +
  "ientWidth):this.zoom(i.deltaY>0?1.25:.8,this.positionAt(i.offsetX,t.clientWidth)))};t." +
  'addEventListener("wheel",s,{passive:!1}),t.addEventListener("pointerdown",i=>{o={x:i.o' +
  "ffsetX,view:this.view,moved:!1},t.setPointerCapture(i.pointerId)}),t.addEventListener(" +
  '"pointermove",i=>{if(n(i.offsetX,i.offsetY),o===null||!o.moved&&Math.abs(i.offsetX-o.x' +
  ")<4)return;o.moved=!0;let{from:c,to:a}=o.view,l=(o.x-i.offsetX)/(t.clientWidth-58)*(a-" +
  'c);this.look(c+l,a+l)}),t.addEventListener("pointerup",i=>{o?.moved===!1&&r(i.offsetX,' +
  'i.offsetY),o=null}),t.addEventListener("pointercancel",()=>{o=null})}};function $e(e,t' +
  ",n,r){let{sum:o,device:s}=e,i=new Int32Array(r).fill(-1),c=new Float64Array(r),a=(n.to" +
  "-n.from)/r,l=t.indexAt(n.from);for(let f=0;f<r;f++){let d=n.from+(f+1)*a,u=l,m=s[l]??0" +
  ";for(;l+1<o.length&&t.of(l+1)<=d;)l++,(u===-1||(o[l]??0)>=(o[u]??0))&&(u=l),m=Math.max" +
  "(m,s[l]??0);i[f]=u,c[f]=m}return{shown:i,device:c}}function Le({blocks:e,bytes:t}){let" +
  " n=t.map(()=>[]);for(let r of e)for(let[o,{index:s,kind:i}]of r.owners.entries())n[i]?" +
  ".push({block:r,from:s,to:r.owners[o+1]?.index??1/0});for(let r of n)r.sort((o,s)=>o.fr" +
  "om-s.from);return n}var ct=3e3;function Ee(e,t,{shown:n},r,o){let s=[],i=new Float64Ar" +
  "ray(n.length);for(let[c,a]of t.entries()){let l=e.bytes[c],f=new Map,d=[],u=0;for(let[" +
  "m,b]of n.entries()){if(m===0||b!==n[m-1]){d=d.filter(({to:g})=>g>b);let y=d.length;for" +
  "(let g=a[u];g!==void 0&&g.from<=b;g=a[++u])g.to>b&&d.push(g);d.length>y&&d.sort((g,R)=" +
  ">g.block.order-R.block.order)}let p=new Map,h=i[m]??0;i[m]=h+(l?.[b]??0);for(let{block" +
  ":y}of d){if(y===o||y.bytes>=r&&d.length<ct){let g=f.get(y);g?.below!==h&&(g={block:y,f" +
  "rom:m,to:m,below:h},s.push(g)),g.to=m+1,p.set(y,g)}h+=y.bytes}f=p}}return s}var se={de" +
  'vice:[],"predicted peak":[7,4],"measured peak":[10,3,2,3],"lower bound":[2,3],budget:[' +
  "16,4]};function Be({model:e,happenings:t,axis:n,view:r,columns:o}){let s=1024;for(let[" +
  "i,c]of o.shown.entries())s=Math.max(s,e.sum[c]??0,o.device[i]??0);for(let{pieces:i}of " +
  "t.levels)for(let{from:c,to:a,bytes:l}of i)n.ofTime(a)>=r.from&&n.ofTime(c)<=r.to&&(s=M" +
  "ath.max(s,l));return s*1.12}function Ce(e,t){ft(e,t),dt(e,t),mt(e,t),ut(e,t),pt(e,t),h" +
  "t(e,t)}var B=({height:e})=>e-20;function ft(e,{happenings:t,axis:n,view:r}){let{draw:o" +
  ",width:s,ink:i,soft:c}=e,a=!1;for(let{row:l,name:f,from:d,to:u}of t.stretches){if(l!==" +
  '"step")continue;a=!a;let m=Math.max(58,T(n.ofTime(d),r,s)),b=Math.min(s,T(n.ofTime(u),' +
  "r,s))-m;b<=0||(o.fillStyle=c,a&&o.fillRect(m,0,b,B(e)),o.fillStyle=i,b>44&&H(e,f,[m,0," +
  "b,15]))}}function dt(e,{model:t,columns:n,top:r}){let{draw:o}=e,s=B(e),i=new Float64Ar" +
  "ray(n.shown.length);for(let[c,a]of t.bytes.entries()){o.fillStyle=ve(e,c);for(let l=0;" +
  "l<i.length;){let f=n.shown[l]??-1,d=l+1;for(;n.shown[d]===f;)d++;let u=i[l]??0,m=a[f]?" +
  "?0;i.fill(u+m,l,d);let b=s-(u+m)/r*s;m>0&&o.fillRect(58+l,b,d-l,m/r*s),l=d}}}function " +
  "mt(e,{axis:t,view:n,top:r}){let{draw:o,width:s,height:i,ink:c,line:a}=e,l=B(e);o.fillS" +
  'tyle=c,o.textAlign="right";let f=D(r/1e6,5);for(let h=0;h*1e6<=r;h+=f){let y=Math.roun' +
  "d(l-h*1e6/r*l)+.5;L(e,[58,y,s,y],a),y>26&&o.fillText(String(Number(h.toPrecision(3)))," +
  '52,y+4)}o.fillText("MB",52,12),o.textAlign="center";let d=n.to-n.from,[u,m]=t.unit==="' +
  'events"?["",1]:d>1e4?[" s",1e3]:[" ms",1],b=D(d/m,Math.max(2,(s-58)/110)),p=Math.ceil(' +
  "n.from/m/b);for(let h=p;h*b*m<=n.to;h++){let y=T(h*b*m,n,s);if(L(e,[y,l,y,l+4],c),y>s-" +
  '30||y<78)continue;let g=Number((h*b).toPrecision(12)).toLocaleString("en");o.fillText(' +
  't.unit==="events"?`event ${g}`:`${g}${u}`,y,i-4)}}function ut(e,{columns:t,top:n}){let' +
  "{draw:r,ink:o}=e,s=B(e);r.strokeStyle=o,r.lineWidth=1.5,r.beginPath();for(let[i,c]of t" +
  ".device.entries()){let a=s-c/n*s;r.lineTo(58+i,a),r.lineTo(58+i+1,a)}r.stroke(),r.line" +
  "Width=1}function pt(e,{happenings:t,axis:n,view:r}){let{draw:o,width:s,ink:i}=e;o.text" +
  'Align="center";for(let{kind:c,at:a}of t.marks){if(c!=="suspend"&&c!=="outOfMemory")con' +
  'tinue;let l=T(n.ofTime(a),r,s);l<58||l>s||(L(e,[l,16,l,B(e)],"#d55e00",[6,3]),o.fillSt' +
  'yle=i,o.fillText(c==="suspend"?"\\u2016":"\\u2716",l,27))}}function ht(e,{happenings:t,a' +
  "xis:n,view:r,top:o}){let{draw:s,width:i,ink:c,paper:a}=e,l=B(e),f=m=>l-m/o*l,d=new Map" +
  ";for(let{name:m,pieces:b}of t.levels){let p,h=58;for(let y of b){let g=T(n.ofTime(y.fr" +
  "om),r,i),R=Math.min(i,T(n.ofTime(y.to),r,i));if(R<58||g>i)continue;p=y;let F=Math.max(" +
  "R,g+1);if(F<h)continue;let q=f(y.bytes);L(e,[Math.max(58,g),q,F,q],c,se[m]),h=F}p!==vo" +
  'id 0&&d.set(p.bytes,[...d.get(p.bytes)??[],m])}s.textAlign="right";let u=l;for(let[m,b' +
  ']of[...d].sort(([p],[h])=>p-h)){u=Math.min(f(m)-4,u-15);let p=`${b.join(", ")} ${M(m)}' +
  "`,h=s.measureText(p).width+6;s.globalAlpha=.85,s.fillStyle=a,s.fillRect(i-h-2,u-11,h,1" +
  "4),s.globalAlpha=1,s.fillStyle=c,s.fillText(p,i-5,u)}}function Re(e,t,n,r){let{draw:o," +
  "ink:s,paper:i}=e,c=B(e);for(let{block:a,from:l,to:f,below:d}of n){let u=a.bytes/t*c,m=" +
  "c-d/t*c-u;o.globalAlpha=a===r?1:.5,o.fillStyle=a===r?s:i,o.fillRect(58+l,m,f-l,a===r?M" +
  "ath.max(2,u):.8)}o.globalAlpha=1}function Pe(e,t,n){t>=58&&t<=e.width&&L(e,[t,0,t,B(e)" +
  '],e.ink,n)}var bt={predictedPeakBytes:"predicted peak",measuredPeakBytes:"measured pea' +
  'k",lowerBoundBytes:"lower bound",budgetBytes:"budget"};function De(e){let t=yt(e).sort' +
  '((r,o)=>r.from-o.from||o.to-r.to),n=e.events.flatMap(([r,o,,s,,i])=>r==="swapOut"||r==' +
  '="swapIn"||r==="recompute"||r==="suspend"||r==="outOfMemory"?[{kind:r,at:o,text:e.text' +
  's[i]??"",bytes:s}]:[]);return{stretches:t,marks:n,levels:xt(t)}}function yt({events:e,' +
  "texts:t,figures:n}){let r=new Map(n),o=[],s=[],i=(a,l,f)=>{s.push({name:a,row:a.starts" +
  'With("step ")?"step":"phase",from:l,to:f})};for(let[a,[l,f,,,,d]]of e.entries()){let u' +
  '=t[d]??"";if(l==="begin")o.push({name:u,from:f});else if(l==="end"){let m=o.findLastIn' +
  'dex(p=>p.name===u),[b]=m===-1?[]:o.splice(m,1);b!==void 0&&i(u,b.from,f)}else if(l==="' +
  'run"||l==="op"){let m=r.get(a)??{},b=Number(m.from??f);s.push({name:u,row:l,from:b,to:' +
  "f,figures:m})}}let c=e.at(-1)?.[1]??0;for(let{name:a,from:l}of o)i(a,l,c);return s}fun" +
  'ction xt(e){let t=e.filter(({row:o})=>o==="step"),n=Object.entries(bt).map(([o,s])=>({' +
  'key:o,name:s,pieces:[]})),r;for(let{row:o,from:s,to:i,figures:c}of e){if(o!=="run"||c=' +
  "==void 0)continue;let a=t.findLast(f=>f.from<=s&&s<=f.to),l=a===void 0||a===r?s:a.from" +
  ';r=a;for(let{key:f,pieces:d}of n){let u=c[f];if(typeof u!="number")continue;let m=d.at' +
  "(-1);m!==void 0&&m.to>l&&(d[d.length-1]={...m,to:l}),d.push({from:l,to:a?.to??i,bytes:" +
  'u})}}return n.filter(({pieces:o})=>o.length>0)}var wt=16,He={swapOut:["\\u25BC","to the' +
  ' host"],swapIn:["\\u25B2","back from the host"]};function Fe(e,{stretches:t,marks:n}){l' +
  'et r=a=>t.filter(l=>l.row===a).map(gt),o=n.flatMap(a=>a.kind==="swapOut"||a.kind==="sw' +
  'apIn"?[Ie(a,He[a.kind][0],He[a.kind][1])]:[]),s=n.filter(({kind:a})=>a==="recompute").' +
  'map(a=>Ie(a,"\\u25CF","computed again")),i=[];for(let[a,l,f,d,u,m]of e.scopes)(i[m]??=[' +
  ']).push({name:a,from:f,to:d,stack:l,tell:()=>[`scope ${a}, peak ${M(u)}`,"opened by"]}' +
  ');return[{name:"steps",color:A[1],boxes:r("step")},{name:"phases",color:A[2],boxes:r("' +
  'phase")},{name:"runs",color:A[5],boxes:r("run")},{name:"ops",color:A[6],boxes:r("op")}' +
  ',{name:"swaps",color:A[4],boxes:o},{name:"again",color:A[0],boxes:s},...i.slice(0,wt).' +
  'map((a,l)=>({name:l===0?"scopes":"",color:A[3],boxes:a}))].filter(({boxes:a})=>a.lengt' +
  "h>0)}function gt({name:e,from:t,to:n,figures:r={}}){let o=Object.entries(r).flatMap(([" +
  's,i])=>{if(s==="from"||i===null||i===0)return[];if(typeof i=="object"){let a=Object.en' +
  "tries(i??{}).map(([l,f])=>`${l} ${String(f)}`);return a.length===0?[]:[`  ${s}: ${a.jo" +
  'in(", ")}`]}let c=s.endsWith("Bytes")?M(Number(i)):JSON.stringify(i);return[`  ${s.rep' +
  'lace(/Bytes$/,"")}: ${c}`]});return{name:e,from:t,to:n,stack:-1,tell:()=>[e,...o]}}fun' +
  'ction Ie({at:e,text:t,bytes:n},r,o){let s=n===0?"":`, ${M(n)}`,i=`${t} ${o}${s}`;retur' +
  "n{name:i,from:e,to:e,glyph:r,stack:-1,tell:()=>[i]}}function Ne(e){return e.length*17+" +
  "2}function Ve(e,t,n,r){let{draw:o,width:s,ink:i}=e;for(let[c,{name:a,color:l,boxes:f}]" +
  'of t.entries()){let d=c*17;o.fillStyle=i,o.textAlign="right",o.fillText(a,52,d+12);let' +
  " u=-1;for(let{name:m,from:b,to:p,glyph:h}of f){let y=Math.max(58,T(n.ofTime(b),r,s)),g" +
  "=Math.min(s,Math.max(y+1,T(n.ofTime(p),r,s)));g<u+.5||g<=58||y>=s||(o.fillStyle=l,o.te" +
  'xtAlign="center",h!==void 0?o.fillText(h,y,d+12):o.fillRect(y,d,Math.max(1,g-y-.5),15)' +
  ',u=h===void 0?g:y+4,!(h!==void 0||g-y<30)&&(o.fillStyle=l===A[0]?"#fff":"#000",H(e,m,[' +
  "y,d,g-y-2,15])))}}}function ie(e,t,n,r,[o,s]){let i=({from:c,to:a,glyph:l})=>{let f=l=" +
  "==void 0?1:6,d=T(t.ofTime(c),n,r);return o>=d-f&&o<=T(t.ofTime(a),n,r)+f};return e[Mat" +
  'h.floor(s/17)]?.boxes.findLast(i)}var ae=["param","state","input","activation","output' +
  '","grad"];function We({steps:e}){return{from:0,to:Math.max(1,e.length)}}function le({s' +
  "lots:e}){return Math.max(1,e.reduce((t,n)=>t+n,0))}function Xe({slots:e}){let t=0;retu" +
  "rn e.map(n=>(t+=n)-n)}function je(e,t,n,r){let{draw:o,width:s,height:i,ink:c,line:a}=e" +
  ",l=i-20,f=l/le(t),d=Xe(t);for(let p of t.boxes){let[h,y,g,R,F,q,ye,xe]=p,P=Math.max(58" +
  ",T(R,n,s)),Y=Math.min(s,T(F+1,n,s));if(Y<=58||P>=s)continue;let we=((d[h]??0)+y)*f,te=" +
  'Math.max(1,g*f-1),ge=ae.indexOf(ye);o.fillStyle=p===r?c:A[ge]??"#8a8a8a",o.fillRect(P,' +
  'we,Math.max(1,Y-P-1),te),!(Y-P<44||te<13||p===r)&&(o.fillStyle=ge===0?"#fff":"#000",H(' +
  'e,xe===""?`${q} (${ye})`:xe,[P,we,Y-P-3,te]))}for(let p of d)L(e,[58,p*f,s,p*f],a);o.f' +
  'illStyle=c,o.textAlign="right",o.fillText("MB",52,12);let u=D(le(t)/1e6,4);for(let p=u' +
  ";p*1e6*f<=l;p+=u){let h=p*1e6*f;h>26&&h<l-6&&o.fillText(String(Number(p.toPrecision(3)" +
  ')),52,h+4)}o.textAlign="center";let m=D(n.to-n.from,Math.max(2,(s-58)/90)),b=Math.max(' +
  "1,m);for(let p=Math.ceil(n.from/b)*b;p<n.to;p+=b){let h=T(p+.5,n,s);h>82&&h<s-24&&o.fi" +
  "llText(`step ${p}`,h,i-4)}}function ze(e,t,n){let r=n*le(e),o=Xe(e),s=o.findLastIndex(" +
  "l=>l<=r),i=r-(o[s]??0),c=Math.min(e.steps.length-1,Math.floor(t)),a=e.boxes.find(([l,f" +
  ",d,u,m])=>l===s&&i>=f&&i<f+d&&c>=u&&c<=m);return{slot:s,step:c,box:a??null}}function K" +
  'e(e,t){let{slot:n,step:r,box:o}=t,s=e.steps[r]??"",i=`Step ${r}: ${s}. `;if(o===null)r' +
  'eturn`${i}Slot ${n} (${M(e.slots[n]??0)}) is free.`;let[,,c,a,l,f,d,u,m]=o,b=u===""?"t' +
  'here before the program":`written by ${u} (${m})`,p=`${f} (${d}), ${M(c)}`;return`${i}' +
  "Slot ${n} holds ${p}, steps ${a} to ${l}, ${b}.`}function qe({plannedBytes:e,lowerBoun" +
  'dBytes:t,budgetBytes:n}){let r=n===null?"no budget":`budget ${M(n)}`,[o,s]=[e,t].map(M' +
  ");return`Planned peak ${o}, lower bound ${s}, ${r}.`}var Ye=200;function v(e){let t=do" +
  "cument.getElementById(e);if(t===null)throw new Error(`inspector: expected #${e} in the" +
  " page, got none`);return t}function _(e,t){let n=e.stacks[t]?.frames??[];return n.leng" +
  'th>0?n.map(r=>`  ${r}`):t!==-1?["  inside tenure, deeper than stacks are kept"]:[`  no' +
  ' stack recorded at level "${e.level}"`]}function Ge(e,t,n){let{trace:r,at:o}=e,s=m=>C(' +
  "o[m]??0),{text:i,bytes:c,stack:a,owners:l}=t,f=I(t,n),d=l.at(-1),u=d?.kind===-1?`freed" +
  ' at ${s(d.index)}`:"alive at the end";return[`${i}, ${M(c)}`,`made at ${s(l[0]?.index?' +
  '?0)}, ${u}`,`owner here: ${O[f?.kind??-1]??"nobody"}`,"","how it came to its owners",.' +
  '..l.map(({index:m,kind:b,how:p})=>`  ${s(m)}  ${O[b]??"nobody"}: ${p}`),"",`made by ${' +
  'oe(e,t)}`,..._(r,a)].join(`\n`)}function Je(e){let t=document.createElement("i"),n=A[e]' +
  '??"#8a8a8a";return n==="hatch"?t.className="hatch":t.style.background=n,t}function _e(' +
  'e,t,n){let r=document.createElement("li"),o=document.createElement("b"),s=document.cre' +
  'ateTextNode("");return o.append(s),r.append(n,t,o),e.append(r),s}function ce(e,t,n){re' +
  'turn _e(e,t,Je(n))}function fe(e,t,n){let r="http://www.w3.org/2000/svg",o=document.cr' +
  'eateElementNS(r,"svg");o.setAttribute("class","dash");let s=document.createElementNS(r' +
  ',"path");return s.setAttribute("d","M0 6h34"),s.setAttribute("stroke-dasharray",n.join' +
  '(" ")),o.append(s),_e(e,t,o)}function Ue(e,t){let n=v("alive");n.replaceChildren();for' +
  '(let o of e.slice(0,Ye)){let s=n.insertRow(),i=document.createElement("button");i.text' +
  'Content=o.place,i.addEventListener("click",()=>{t(o)});let c=[...o.kinds].sort((f,d)=>' +
  "f-d);s.insertCell().append(i),s.insertCell().textContent=M(o.bytes);let a=s.insertCell" +
  '();for(let f of c){let d=document.createElement("span");d.append(Je(f),O[f]??""),a.app' +
  'end(d," ")}let l=o.steps.size;s.insertCell().textContent=l===0?"":String(l),s.insertCe' +
  "ll().textContent=String(o.count),s.insertCell().textContent=o.how}let r=e.length-Ye;v(" +
  '"more").textContent=r>0?`and ${r} more lines`:""}var k=JSON.parse(v("trace").textConte' +
  'nt),S=Me(k),j=De(k),vt=Le(S),U=Fe(k,j),X=j.stretches.filter(({row:e})=>e==="step"),et=' +
  "X.map(({from:e})=>e);if(X.length===0)for(let[,,e,,,t]of k.scopes)t===0&&et.push(e);var" +
  ' z=S.at.length-1,[W,K,Z]=["chart","lanes","plan"].map(e=>v(e));if(W===void 0||K===void' +
  ' 0||Z===void 0)throw new Error("canvases");var[de,me]=[320,260],w={axis:re(S,Oe(S)?"ev' +
  'ents":"ms"),selected:null,moment:z,box:null,scene:null,asked:0,planAsked:0},$=new N(w.' +
  "axis.whole,pe),Q=new N({from:0,to:1},he);function pe(){w.asked===0&&(w.asked=requestAn" +
  "imationFrame(tt))}function he(){w.planAsked===0&&(w.planAsked=requestAnimationFrame(kt" +
  "))}function tt(){w.asked=0;let{axis:e,selected:t}=w,{view:n}=$,r=G(W,de),o=$e(S,e,n,Ma" +
  "th.max(1,Math.floor(r.width-58))),s={model:S,happenings:j,axis:e,view:n,columns:o},i=B" +
  "e(s);w.scene={...s,top:i},Ce(r,w.scene);let c=5*i/(de-20);Re(r,i,Ee(S,vt,o,c,t),t),w.m" +
  "oment!==z&&Pe(r,T(e.of(w.moment),n,r.width),[]),Ve(G(K,Ne(U)),U,e,n),document.document" +
  "Element.dataset.painted??=String(performance.now())}function kt(){w.planAsked=0;let e=" +
  'ee();e!==void 0&&je(G(Z,me),e,Q.view,w.box)}function ee(){return k.plans[Number(v("pla' +
  'ns").value)]}var ue=new Map;function nt(e){return w.scene?.columns.shown[Math.floor(e-' +
  '58)]??-1}function ot(e){let t=nt(e);for(let[i,c]of ue)c.data=t===-1?"":M(i===-1?S.devi' +
  "ce[t]??0:S.bytes[i]?.[t]??0);let n=S.at[t]??0,r=j.stretches.filter(({row:i,from:c,to:a" +
  '})=>(i==="step"||i==="phase")&&c<=n&&n<=a),o=[C(n),`event ${t}`,...r.map(({name:i})=>i' +
  ')];v("readout").textContent=t===-1?"":o.join(" \\xB7 ");let s=v("cursor");s.hidden=t===' +
  "-1,s.style.left=`${e}px`}function St(e,t){let n=nt(e);if(n===-1||w.scene===null)return" +
  ";let r=de-20;be(n,Te(S,n,(r-t)/r*w.scene.top)??null)}function be(e,t){w.moment=e,w.sel" +
  'ected=t,v("detail").textContent=t===null?"No recorded bytes here.":Ge(S,t,e),rt(),pe()' +
  "}function Mt(){let e=-1;for(let n of w.scene?.columns.shown??[])n!==-1&&(e===-1||(S.su" +
  "m[n]??0)>(S.sum[e]??0))&&(e=n);let t=null;for(let n of S.blocks)(I(n,e)?.kind??-1)!==-" +
  "1&&n.bytes>(t?.bytes??0)&&(t=n);e!==-1&&be(e,t)}function Ze(e){let[t,n]=[X[0],X.at(-1)" +
  '];e==="Enter"?Mt():e==="End"?be(z,null):e!=="steps"?$.act(e):t!==void 0&&n!==void 0&&$' +
  '.look(w.axis.ofTime(t.from),w.axis.ofTime(n.to))}function rt(){let e=w.moment===z?"the' +
  ' end":C(S.at[w.moment]??0);v("when").textContent=e,Ue(Ae(S,w.moment,et),({place:t,stac' +
  'k:n,how:r})=>{let o=[`made at ${t}`,..._(k,n),"",`the last: ${r}`];v("detail").textCon' +
  'tent=o.join(`\n`),v("detail").scrollIntoView({block:"nearest"})})}function Tt(e,t){let ' +
  "n=ie(U,w.axis,$.view,K.clientWidth,[e,t]);if(n===void 0)return;let r=n.stack===-1?[]:_" +
  '(k,n.stack),o=`${C(n.from)} to ${C(n.to)}`;v("detail").textContent=[...n.tell(),o,...r' +
  "].join(`\n`)}function At(e,t){ot(e);let n=ie(U,w.axis,$.view,K.clientWidth,[e,t]);n!==v" +
  'oid 0&&(v("readout").textContent=`${n.name} \\xB7 ${(n.to-n.from).toFixed(3)} ms`)}func' +
  'tion st(){let e=ee();e!==void 0&&(w.box=null,v("plan-text").textContent=qe(e),Q.reset(' +
  "We(e)))}function Ot(){let e=k.plans.map(({steps:t})=>t.length);return e.lastIndexOf(Ma" +
  "th.max(...e))}function $t(e,t){let n=ee();return n===void 0||e<58||t>me-20?null:ze(n,Q" +
  ".positionAt(e,Z.clientWidth),t/(me-20))}function Qe(e,t,n){let[r,o]=[ee(),$t(e,t)];r==" +
  '=void 0||o===null||(v("plan-detail").textContent=Ke(r,o),n&&(w.box=o.box,he()))}functi' +
  'on Lt(){let e=k.dropped>0?` ${k.dropped} older events were overwritten.`:"",t=k.level=' +
  '=="full"?"":\' memory.track("full") records every tensor.\',n=k.events[z]?.[8]??0,r=0;fo' +
  'r(let c of k.events)r=Math.max(r,c[8]);v("summary").textContent=`${k.events.length} ev' +
  'ents at level "${k.level}" on ${k.device??"no device"}. At most ${M(r)} were owned, at' +
  ' the end ${M(n)}.${e}${t}`,document.documentElement.dataset.owned=String(n);let o=v("l' +
  'egend");for(let[c,a]of O.entries())S.bytes[c]?.some(l=>l>0)===!0&&ue.set(c,ce(o,a,c));' +
  'ue.set(-1,fe(o,"on the device, with staging",[]));for(let{name:c}of j.levels)fe(o,c,se' +
  "[c]??[]);let s=new Set(k.plans.flatMap(({boxes:c})=>c.map(a=>a[6])));for(let[c,a]of ae" +
  '.entries())s.has(a)&&ce(v("roles"),a,c);let i=v("plans");for(let[c,{title:a}]of k.plan' +
  's.entries())i.add(new Option(a,String(c)));i.value=String(Ot()),v("plan-section").hidd' +
  'en=k.plans.length===0,v("steps").hidden=X.length===0,v("axis").value=w.axis.unit}funct' +
  "ion Et(){$.listen(W,ot,St),$.listen(K,At,Tt),Q.listen(Z,(t,n)=>{Qe(t,n,!1)},(t,n)=>{Qe" +
  '(t,n,!0)}),W.addEventListener("keydown",t=>{(t.key==="Enter"||t.key==="End")&&Ze(t.key' +
  ')});for(let t of document.querySelectorAll("[data-key]"))t.addEventListener("click",()' +
  '=>{Ze(t.dataset.key??"")});v("axis").addEventListener("change",()=>{let[t,n]=[$.view.f' +
  'rom,$.view.to].map(o=>w.axis.indexAt(o)),r=v("axis").value==="ms"?"ms":"events";w.axis' +
  "=re(S,r),$.reset(w.axis.whole),$.look(w.axis.of(Math.max(0,t??0)),w.axis.of(Math.max(0" +
  ',n??0)))}),v("plans").addEventListener("change",st);let e=()=>{pe(),he()};new ResizeOb' +
  'server(e).observe(W),matchMedia("(prefers-color-scheme: dark)").addEventListener("chan' +
  'ge",e)}Lt();Et();rt();st();tt();</script></html>';
