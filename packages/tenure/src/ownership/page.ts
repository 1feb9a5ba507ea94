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
  "nth-child(n+2):nth-child(-n+5){white-space:nowrap;font-variant-numeric:tabular-nums}td" +
  ":first-child,td:last-child{overflow-wrap:anywhere;min-width:150px}td i:not(:first-chil" +
  "d){margin-left:4px}td button{background:none;border:0;padding:0;text-align:left;text-d" +
  "ecoration:underline;cursor:pointer;overflow-wrap:anywhere}small{opacity:.75}</style><h" +
  '1>Tenure inspector</h1> <p id="summary"></p> <h2>Bytes over time, by owner</h2> <ul id' +
  '="legend"></ul> <p id="tools"> <button data-key="+" aria-label="zoom in" title="+ or w' +
  '">+</button> <button data-key="-" aria-label="zoom out" title="− or s">−</button> <but' +
  'ton data-key="ArrowLeft" aria-label="move left" title="← or a">←</button> <button data' +
  '-key="ArrowRight" aria-label="move right" title="→ or d">→</button> <button data-key="' +
  '0" title="0">all</button> <button data-key="steps" id="steps">steps</button> <button d' +
  'ata-key="Enter" title="Enter">peak</button> <label >evenly by <select id="axis"> <opti' +
  'on value="ms">time</option> <option value="events">event</option> </select></label > <' +
  '/p> <div id="over"> <div id="cursor" hidden></div> <canvas id="chart" tabindex="0" rol' +
  'e="img" aria-label="Bytes over time by owner. Plus and minus zoom, arrows pan, 0 shows' +
  ' all, Enter tells of the peak." ></canvas> <canvas id="lanes" tabindex="0" role="img" ' +
  'aria-label="Steps, phases, runs, swaps and scopes" ></canvas> </div> <p id="readout" a' +
  'ria-live="polite"></p> <p> <small >Click a byte, a scope or a mark. Then + and − or th' +
  "e wheel zoom, arrows or a drag pan, 0 shows all, Enter tells of the peak in view.</sma" +
  'll > </p> <pre id="detail" aria-live="polite">Click a byte.</pre> <h2>Alive at <span i' +
  'd="when"></span>, by line <button data-key="End">at the end</button></h2> <div class="' +
  'scroll"> <table> <thead> <tr> <th>made at</th> <th>owner</th> <th>steps</th> <th>stora' +
  'ges</th> <th>bytes</th> <th>how the last got there</th> </tr> </thead> <tbody id="aliv' +
  'e"></tbody> </table> </div> <p id="more"></p> <p> <small>Steps: how many made some of ' +
  'it. A line that leaks has one more in every step.</small> </p> <section id="plan-secti' +
  'on"> <h2> <label for="plans">Plan: slots against steps</label> <select id="plans"></se' +
  'lect> </h2> <p id="plan-text"></p> <ul id="roles"></ul> <canvas id="plan" tabindex="0"' +
  ' role="img" aria-label="Which value lies in which slot at which step" ></canvas> <p id' +
  '="plan-detail" aria-live="polite">Click a rectangle.</p> </section>\n<script type="appl' +
  'ication/json" id="trace">';

/** Everything after it. */
export const after: string =
  '</script>\n<script type="module">var A=["#0072b2","#e69f00","#56b4e9","#009e73","#d55e0' +
  '0","#cc79a7","#8a8a8a","hatch"];function Y(t,e){let n=window.devicePixelRatio,r=t.clie' +
  "ntWidth;t.width=Math.round(r*n),t.height=Math.round(e*n),t.style.height=`${e}px`;let o" +
  '=t.getContext("2d");if(o===null)throw new Error("inspector: expected a canvas to draw ' +
  'on, got none");o.scale(n,n),o.font="12px system-ui, sans-serif";let i=getComputedStyle' +
  '(t),s=f=>i.getPropertyValue(f),[c,a,l]=[s("--soft"),s("--line"),s("--paper")];return{d' +
  "raw:o,width:r,height:e,ink:i.color,soft:c,line:a,paper:l}}function ge({draw:t,ink:e,pa" +
  'per:n},r){let o=A[r]??"#8a8a8a";if(o!=="hatch")return o;let i=document.createElement("' +
  'canvas");i.width=i.height=6;let s=i.getContext("2d");if(s===null)return"#8a8a8a";s.fil' +
  "lStyle=n,s.fillRect(0,0,6,6),s.strokeStyle=e,s.globalAlpha=.45,s.beginPath();for(let c" +
  ' of[-6,0,6])s.moveTo(c-1,7),s.lineTo(c+7,-1);return s.stroke(),t.createPattern(i,"repe' +
  'at")??"#8a8a8a"}function k(t){let e=t/1048576;return`${e===0||e>=.1?e.toFixed(2):e.toP' +
  "recision(2)} MiB`}function P(t,e){let n=t/e,r=10**Math.floor(Math.log10(n));return([1," +
  "2,5].find(o=>o*r>=n)??10)*r}function L({draw:t},[e,n,r,o],i,s=[]){t.setLineDash([...s]" +
  "),t.strokeStyle=i,t.beginPath(),t.moveTo(e,n),t.lineTo(r,o),t.stroke(),t.setLineDash([" +
  "])}function D({draw:t},e,[n,r,o,i]){t.save(),t.beginPath(),t.rect(n,r,o,i),t.clip(),t." +
  'textAlign="left",t.fillText(e,n+3,r+i/2+4),t.restore()}var O=["module","optimizer","lo' +
  'ader","scope","no scope","graph or read","not recorded","free in the pool"],st=O.index' +
  'Of("no scope"),it=O.indexOf("graph or read"),ve=O.indexOf("not recorded"),lt=O.indexOf' +
  '("free in the pool");function ke(t){let[e=""]=t.split(" ",1),n=O.indexOf(e);return n==' +
  "=-1?st:n}var te=class{blocks=[];now=new Float64Array(O.length);#e=new Map;#t=new Map;#" +
  'o;constructor(e){this.#o=e}follow(e,[n,,r,o,i,s,c,a]){let l=this.#o.texts[s]??"",f=thi' +
  's.#o.texts[a]??"";if(n==="create"&&i!==0){let d=this.blocks.length,u=this.#e.get(i);u=' +
  "==void 0&&(u={block:{order:d,text:l,bytes:o,stack:c,owners:[]},handles:new Map},this.b" +
  "locks.push(u.block),this.#e.set(i,u)),u.handles.set(r,ke(f)),this.#t.set(r,u),this.#n(" +
  'u,e,f===""?"made outside any scope":`made into ${f}`)}else if(n==="own"){let d=this.#t' +
  '.get(r);d?.handles.set(r,ke(f)),d!==void 0&&this.#n(d,e,l)}else if(n==="dispose"||n===' +
  '"finalize"){let d=this.#t.get(r);d?.handles.delete(r),this.#t.delete(r);let m=`last ha' +
  'ndle ${n==="dispose"?"disposed":"collected as garbage"}; the graph or a read keeps the' +
  ' bytes`;d!==void 0&&this.#n(d,e,m)}else if(n==="free"||n==="revive"){let d=this.#e.get' +
  '(i);if(d===void 0)return;n==="free"?this.#r(d,e,-1,"freed"):this.#n(d,e,"taken back")}' +
  "}#n(e,n,r){let o=it;for(let i of e.handles.values())o=Math.min(o,i);this.#r(e,n,o,r)}#" +
  "r({block:{bytes:e,owners:n}},r,o,i){let s=n.at(-1)?.kind??-1;o!==s&&(s!==-1&&(this.now" +
  "[s]=(this.now[s]??0)-e),o!==-1&&(this.now[o]=(this.now[o]??0)+e),n.push({index:r,kind:" +
  "o,how:i}))}};function Se(t){let{events:e}=t,n=()=>new Float64Array(e.length),[r,o,i,s]" +
  "=[n(),n(),n(),O.map(n)],c=new te(t);for(let[a,l]of e.entries()){c.follow(a,l),r[a]=l[1" +
  "],o[a]=l[10];let f=0;for(let u=0;u<ve;u++){let m=c.now[u]??0;f+=m,(s[u]??r)[a]=m}let d" +
  "=Math.max(0,l[8]-f);(s[ve]??r)[a]=d,(s[lt]??r)[a]=l[9],i[a]=f+d+l[9]}return{trace:t,at" +
  ":r,bytes:s,sum:i,device:o,blocks:c.blocks}}function F({owners:t},e){return t.findLast(" +
  "({index:n})=>n<=e)}function G(t,e){let n=0,r=t.length;for(;n<r;){let o=n+r>>1;(t[o]??0" +
  ")<=e?n=o+1:r=o}return n-1}function Me(t,e,n){let r=0;for(let[o,i]of t.bytes.entries())" +
  "{let s=i[e]??0;if(n>=r+s){r+=s;continue}for(let c of t.blocks)if(F(c,e)?.kind===o&&(r+" +
  "=c.bytes,n<r))return c;return}}function ne({trace:t},{stack:e,owners:n}){let r=t.stack" +
  "s[e];if(r!==void 0&&r.frames.length>0)return r.place;let o=/\\(opened at (\\S+)\\)/.exec(" +
  'n[0]?.how??"")?.[1];return o!==void 0?o:r===void 0?"(no stack recorded)":"(inside tenu' +
  're)"}function Te(t,e,n){let r=Float64Array.from(n),o=new Map;for(let i of t.blocks){le' +
  "t s=F(i,e);if(s===void 0||s.kind===-1)continue;let{stack:c,bytes:a}=i,l=ne(t,i),f=o.ge" +
  't(l);f===void 0&&(f={place:l,stack:c,count:0,bytes:0,kinds:new Set,how:"",steps:new Se' +
  "t},o.set(l,f)),f.count++,f.bytes+=a,f.how=s.how,f.kinds.add(s.kind);let d=G(r,t.at[i.o" +
  "wners[0]?.index??0]??0);d!==-1&&f.steps.add(d)}return[...o.values()].sort((i,s)=>s.byt" +
  'es-i.bytes)}function oe({at:t},e){let n=t.length-1,r=t[0]??0;return e==="ms"?{unit:e,w' +
  "hole:{from:r,to:Math.max(r+.001,t[n]??0)},of:o=>t[o]??0,ofTime:o=>o,indexAt:o=>G(t,o)}" +
  ":{unit:e,whole:{from:0,to:Math.max(1,n)},of:o=>o,ofTime:o=>Math.max(0,G(t,o)),indexAt:" +
  "o=>Math.min(n,Math.floor(o))}}function Ae({at:t}){let e=(t.at(-1)??0)-(t[0]??0);return" +
  " t.some((n,r)=>r>0&&n-(t[r-1]??0)>e/5)}function M(t,{from:e,to:n},r){return 58+(t-e)/(" +
  "n-e)*(r-58)}var I=class{view;#e;#t;constructor(e,n){this.view=this.#e=e,this.#t=n}rese" +
  "t(e){this.#e=e,this.look(e.from,e.to)}look(e,n){let{from:r,to:o}=this.#e,i=Math.min(o-" +
  "r,Math.max((o-r)/1e5,n-e)),s=Math.min(Math.max(r,e),o-i);this.view={from:s,to:s+i},thi" +
  "s.#t()}zoom(e,n=(this.view.from+this.view.to)/2){let{from:r,to:o}=this.view;this.look(" +
  "n-(n-r)*e,n+(o-n)*e)}pan(e){let n=(this.view.to-this.view.from)*e;this.look(this.view." +
  "from+n,this.view.to+n)}positionAt(e,n){let{from:r,to:o}=this.view;return r+Math.max(0," +
  'e-58)/(n-58)*(o-r)}act(e){if(e==="+"||e==="="||e==="w")this.zoom(.5);else if(e==="-"||' +
  'e==="s")this.zoom(2);else if(e==="ArrowLeft"||e==="a")this.pan(-.2);else if(e==="Arrow' +
  'Right"||e==="d")this.pan(.2);else if(e==="0"||e==="Home")this.reset(this.#e);else retu' +
  'rn!1;return!0}listen(e,n,r){let o=null;e.addEventListener("keydown",s=>{!s.ctrlKey&&!s' +
  ".metaKey&&!s.altKey&&this.act(s.key)&&s.preventDefault()});let i=s=>{!s.ctrlKey&&docum" +
  "ent.activeElement!==e||(s.preventDefault(),Math.abs(s.deltaX)>Math.abs(s.deltaY)?this." +
  "pan(s.deltaX/e.clientWidth):this.zoom(s.deltaY>0?1.25:.8,this.positionAt(s.offsetX,e.c" +
  'lientWidth)))};e.addEventListener("wheel",i,{passive:!1}),e.addEventListener("pointerd' +
  'own",s=>{o={x:s.offsetX,view:this.view,moved:!1},e.setPointerCapture(s.pointerId)}),e.' +
  'addEventListener("pointermove",s=>{if(n(s.offsetX,s.offsetY),o===null||!o.moved&&Math.' +
  "abs(s.offsetX-o.x)<4)return;o.moved=!0;let{from:c,to:a}=o.view,l=(o.x-s.offsetX)/(e.cl" +
  'ientWidth-58)*(a-c);this.look(c+l,a+l)}),e.addEventListener("pointerup",s=>{o?.moved==' +
  '=!1&&r(s.offsetX,s.offsetY),o=null}),e.addEventListener("pointercancel",()=>{o=null})}' +
  "};function Oe(t,e,n,r){let{sum:o,device:i}=t,s=new Int32Array(r).fill(-1),c=new Float6" +
  "4Array(r),a=(n.to-n.from)/r,l=e.indexAt(n.from);for(let f=0;f<r;f++){let d=n.from+(f+1" +
  ")*a,u=l,m=i[l]??0;for(;l+1<o.length&&e.of(l+1)<=d;)l++,(u===-1||(o[l]??0)>=(o[u]??0))&" +
  "&(u=l),m=Math.max(m,i[l]??0);s[f]=u,c[f]=m}return{shown:s,device:c}}function $e({block" +
  "s:t,bytes:e}){let n=e.map(()=>[]);for(let r of t)for(let[o,{index:i,kind:s}]of r.owner" +
  "s.entries())n[s]?.push({block:r,from:i,to:r.owners[o+1]?.index??1/0});for(let r of n)r" +
  ".sort((o,i)=>o.from-i.from);return n}var at=3e3;function Le(t,e,{shown:n},r,o){let i=[" +
  "],s=new Float64Array(n.length);for(let[c,a]of e.entries()){let l=t.bytes[c],f=new Map," +
  "d=[],u=0;for(let[m,b]of n.entries()){if(m===0||b!==n[m-1]){d=d.filter(({to:g})=>g>b);l" +
  "et y=d.length;for(let g=a[u];g!==void 0&&g.from<=b;g=a[++u])g.to>b&&d.push(g);d.length" +
  ">y&&d.sort((g,R)=>g.block.order-R.block.order)}let p=new Map,h=s[m]??0;s[m]=h+(l?.[b]?" +
  "?0);for(let{block:y}of d){if(y===o||y.bytes>=r&&d.length<at){let g=f.get(y);g?.below!=" +
  "=h&&(g={block:y,from:m,to:m,below:h},i.push(g)),g.to=m+1,p.set(y,g)}h+=y.bytes}f=p}}re" +
  'turn i}var re={device:[],"predicted peak":[7,4],"measured peak":[10,3,2,3],"lower boun' +
  'd":[2,3],budget:[16,4]};function Ee({model:t,happenings:e,axis:n,view:r,columns:o}){le' +
  "t i=1024;for(let[s,c]of o.shown.entries())i=Math.max(i,t.sum[c]??0,o.device[s]??0);for" +
  "(let{pieces:s}of e.levels)for(let{from:c,to:a,bytes:l}of s)n.ofTime(a)>=r.from&&n.ofTi" +
  "me(c)<=r.to&&(i=Math.max(i,l));return i*1.12}function Be(t,e){ct(t,e),ft(t,e),dt(t,e)," +
  "mt(t,e),ut(t,e),pt(t,e)}var B=({height:t})=>t-20;function ct(t,{happenings:e,axis:n,vi" +
  "ew:r}){let{draw:o,width:i,ink:s,soft:c}=t,a=!1;for(let{row:l,name:f,from:d,to:u}of e.s" +
  'tretches){if(l!=="step")continue;a=!a;let m=Math.max(58,M(n.ofTime(d),r,i)),b=Math.min' +
  "(i,M(n.ofTime(u),r,i))-m;b<=0||(o.fillStyle=c,a&&o.fillRect(m,0,b,B(t)),o.fillStyle=s," +
  "b>44&&D(t,f,[m,0,b,15]))}}function ft(t,{model:e,columns:n,top:r}){let{draw:o}=t,i=B(t" +
  "),s=new Float64Array(n.shown.length);for(let[c,a]of e.bytes.entries()){o.fillStyle=ge(" +
  "t,c);for(let l=0;l<s.length;){let f=n.shown[l]??-1,d=l+1;for(;n.shown[d]===f;)d++;let " +
  "u=s[l]??0,m=a[f]??0;s.fill(u+m,l,d);let b=i-(u+m)/r*i;m>0&&o.fillRect(58+l,b,d-l,m/r*i" +
  "),l=d}}}function dt(t,{axis:e,view:n,top:r}){let{draw:o,width:i,height:s,ink:c,line:a}" +
  '=t,l=B(t);o.fillStyle=c,o.textAlign="right";let f=P(r/2**20,5);for(let h=0;h*2**20<=r;' +
  "h+=f){let y=Math.round(l-h*1048576/r*l)+.5;L(t,[58,y,i,y],a),y>26&&o.fillText(String(N" +
  'umber(h.toPrecision(3))),52,y+4)}o.fillText("MiB",52,12),o.textAlign="center";let d=n.' +
  'to-n.from,[u,m]=e.unit==="events"?["",1]:d>1e4?[" s",1e3]:[" ms",1],b=P(d/m,Math.max(2' +
  ",(i-58)/110)),p=Math.ceil(n.from/m/b);for(let h=p;h*b*m<=n.to;h++){let y=M(h*b*m,n,i);" +
  "if(L(t,[y,l,y,l+4],c),y>i-30||y<78)continue;let g=Number((h*b).toPrecision(12)).toLoca" +
  'leString("en");o.fillText(e.unit==="events"?`event ${g}`:`${g}${u}`,y,s-4)}}function m' +
  "t(t,{columns:e,top:n}){let{draw:r,ink:o}=t,i=B(t);r.strokeStyle=o,r.lineWidth=1.5,r.be" +
  "ginPath();for(let[s,c]of e.device.entries()){let a=i-c/n*i;r.lineTo(58+s,a),r.lineTo(5" +
  "8+s+1,a)}r.stroke(),r.lineWidth=1}function ut(t,{happenings:e,axis:n,view:r}){let{draw" +
  ':o,width:i,ink:s}=t;o.textAlign="center";for(let{kind:c,at:a}of e.marks){if(c!=="suspe' +
  'nd"&&c!=="outOfMemory")continue;let l=M(n.ofTime(a),r,i);l<58||l>i||(L(t,[l,16,l,B(t)]' +
  ',"#d55e00",[6,3]),o.fillStyle=s,o.fillText(c==="suspend"?"\\u2016":"\\u2716",l,27))}}fun' +
  "ction pt(t,{happenings:e,axis:n,view:r,top:o}){let{draw:i,width:s,ink:c,paper:a}=t,l=B" +
  "(t),f=m=>l-m/o*l,d=new Map;for(let{name:m,pieces:b}of e.levels){let p,h=58;for(let y o" +
  "f b){let g=M(n.ofTime(y.from),r,s),R=Math.min(s,M(n.ofTime(y.to),r,s));if(R<58||g>s)co" +
  "ntinue;p=y;let H=Math.max(R,g+1);if(H<h)continue;let K=f(y.bytes);L(t,[Math.max(58,g)," +
  'K,H,K],c,re[m]),h=H}p!==void 0&&d.set(p.bytes,[...d.get(p.bytes)??[],m])}i.textAlign="' +
  'right";let u=l;for(let[m,b]of[...d].sort(([p],[h])=>p-h)){u=Math.min(f(m)-4,u-15);let ' +
  'p=`${b.join(", ")} ${k(m)}`,h=i.measureText(p).width+6;i.globalAlpha=.85,i.fillStyle=a' +
  ",i.fillRect(s-h-2,u-11,h,14),i.globalAlpha=1,i.fillStyle=c,i.fillText(p,s-5,u)}}functi" +
  "on Re(t,e,n,r){let{draw:o,ink:i,paper:s}=t,c=B(t);for(let{block:a,from:l,to:f,below:d}" +
  "of n){let u=a.bytes/e*c,m=c-d/e*c-u;o.globalAlpha=a===r?1:.5,o.fillStyle=a===r?i:s,o.f" +
  "illRect(58+l,m,f-l,a===r?Math.max(2,u):.8)}o.globalAlpha=1}function Ce(t,e,n){e>=58&&e" +
  '<=t.width&&L(t,[e,0,e,B(t)],t.ink,n)}var ht={predictedPeakBytes:"predicted peak",measu' +
  'redPeakBytes:"measured peak",lowerBoundBytes:"lower bound",budgetBytes:"budget"};funct' +
  "ion Pe(t){let e=bt(t).sort((r,o)=>r.from-o.from||o.to-r.to),n=t.events.flatMap(([r,o,," +
  'i,,s])=>r==="swapOut"||r==="swapIn"||r==="recompute"||r==="suspend"||r==="outOfMemory"' +
  '?[{kind:r,at:o,text:t.texts[s]??"",bytes:i}]:[]);return{stretches:e,marks:n,levels:yt(' +
  "e)}}function bt({events:t,texts:e,figures:n}){let r=new Map(n),o=[],i=[],s=(a,l,f)=>{i" +
  '.push({name:a,row:a.startsWith("step ")?"step":"phase",from:l,to:f})};for(let[a,[l,f,,' +
  ',,d]]of t.entries()){let u=e[d]??"";if(l==="begin")o.push({name:u,from:f});else if(l==' +
  '="end"){let m=o.findLastIndex(p=>p.name===u),[b]=m===-1?[]:o.splice(m,1);b!==void 0&&s' +
  '(u,b.from,f)}else if(l==="run"||l==="op"){let m=r.get(a)??{},b=Number(m.from??f);i.pus' +
  "h({name:u,row:l,from:b,to:f,figures:m})}}let c=t.at(-1)?.[1]??0;for(let{name:a,from:l}" +
  'of o)s(a,l,c);return i}function yt(t){let e=t.filter(({row:o})=>o==="step"),n=Object.e' +
  "ntries(ht).map(([o,i])=>({key:o,name:i,pieces:[]})),r;for(let{row:o,from:i,to:s,figure" +
  's:c}of t){if(o!=="run"||c===void 0)continue;let a=e.findLast(f=>f.from<=i&&i<=f.to),l=' +
  'a===void 0||a===r?i:a.from;r=a;for(let{key:f,pieces:d}of n){let u=c[f];if(typeof u!="n' +
  'umber")continue;let m=d.at(-1);m!==void 0&&m.to>l&&(d[d.length-1]={...m,to:l}),d.push(' +
  "{from:l,to:a?.to??s,bytes:u})}}return n.filter(({pieces:o})=>o.length>0)}var xt=16,De=" +
  '{swapOut:["\\u25BC","to the host"],swapIn:["\\u25B2","back from the host"]};function He(' +
  "t,{stretches:e,marks:n}){let r=a=>e.filter(l=>l.row===a).map(wt),o=n.flatMap(a=>a.kind" +
  '==="swapOut"||a.kind==="swapIn"?[Fe(a,De[a.kind][0],De[a.kind][1])]:[]),i=n.filter(({k' +
  'ind:a})=>a==="recompute").map(a=>Fe(a,"\\u25CF","computed again")),s=[];for(let[a,l,f,d' +
  ",u,m]of t.scopes)(s[m]??=[]).push({name:a,from:f,to:d,stack:l,tell:()=>[`scope ${a}, p" +
  'eak ${k(u)}`,"opened by"]});return[{name:"steps",color:A[1],boxes:r("step")},{name:"ph' +
  'ases",color:A[2],boxes:r("phase")},{name:"runs",color:A[5],boxes:r("run")},{name:"ops"' +
  ',color:A[6],boxes:r("op")},{name:"swaps",color:A[4],boxes:o},{name:"again",color:A[0],' +
  'boxes:i},...s.slice(0,xt).map((a,l)=>({name:l===0?"scopes":"",color:A[3],boxes:a}))].f' +
  "ilter(({boxes:a})=>a.length>0)}function wt({name:t,from:e,to:n,figures:r={}}){let o=Ob" +
  'ject.entries(r).flatMap(([i,s])=>{if(i==="from"||s===null||s===0)return[];if(typeof s=' +
  '="object"){let a=Object.entries(s??{}).map(([l,f])=>`${l} ${String(f)}`);return a.leng' +
  'th===0?[]:[`  ${i}: ${a.join(", ")}`]}let c=i.endsWith("Bytes")?k(Number(s)):JSON.stri' +
  'ngify(s);return[`  ${i.replace(/Bytes$/,"")}: ${c}`]});return{name:t,from:e,to:n,stack' +
  ':-1,tell:()=>[t,...o]}}function Fe({at:t,text:e,bytes:n},r,o){let i=n===0?"":`, ${k(n)' +
  "}`,s=`${e} ${o}${i}`;return{name:s,from:t,to:t,glyph:r,stack:-1,tell:()=>[s]}}function" +
  " Ie(t){return t.length*17+2}function Ne(t,e,n,r){let{draw:o,width:i,ink:s}=t;for(let[c" +
  ',{name:a,color:l,boxes:f}]of e.entries()){let d=c*17;o.fillStyle=s,o.textAlign="right"' +
  ",o.fillText(a,52,d+12);let u=-1;for(let{name:m,from:b,to:p,glyph:h}of f){let y=Math.ma" +
  "x(58,M(n.ofTime(b),r,i)),g=Math.min(i,Math.max(y+1,M(n.ofTime(p),r,i)));g<u+.5||g<=58|" +
  '|y>=i||(o.fillStyle=l,o.textAlign="center",h!==void 0?o.fillText(h,y,d+12):o.fillRect(' +
  "y,d,Math.max(1,g-y-.5),15),u=h===void 0?g:y+4,!(h!==void 0||g-y<30)&&(o.fillStyle=l===" +
  'A[0]?"#fff":"#000",D(t,m,[y,d,g-y-2,15])))}}}function se(t,e,n,r,[o,i]){let s=({from:c' +
  ",to:a,glyph:l})=>{let f=l===void 0?1:6,d=M(e.ofTime(c),n,r);return o>=d-f&&o<=M(e.ofTi" +
  'me(a),n,r)+f};return t[Math.floor(i/17)]?.boxes.findLast(s)}var le=["param","state","i' +
  'nput","activation","output","grad"];function Ve({steps:t}){return{from:0,to:Math.max(1' +
  ",t.length)}}function ie({slots:t}){return Math.max(1,t.reduce((e,n)=>e+n,0))}function " +
  "We({slots:t}){let e=0;return t.map(n=>(e+=n)-n)}function Xe(t,e,n,r){let{draw:o,width:" +
  "i,height:s,ink:c,line:a}=t,l=s-20,f=l/ie(e),d=We(e);for(let p of e.boxes){let[h,y,g,R," +
  "H,K,be,ye]=p,C=Math.max(58,M(R,n,i)),q=Math.min(i,M(H+1,n,i));if(q<=58||C>=i)continue;" +
  "let xe=((d[h]??0)+y)*f,ee=Math.max(1,g*f-1),we=le.indexOf(be);o.fillStyle=p===r?c:A[we" +
  ']??"#8a8a8a",o.fillRect(C,xe,Math.max(1,q-C-1),ee),!(q-C<44||ee<13||p===r)&&(o.fillSty' +
  'le=we===0?"#fff":"#000",D(t,ye===""?`${K} (${be})`:ye,[C,xe,q-C-3,ee]))}for(let p of d' +
  ')L(t,[58,p*f,i,p*f],a);o.fillStyle=c,o.textAlign="right",o.fillText("MiB",52,12);let u' +
  "=P(ie(e)/2**20,4);for(let p=u;p*2**20*f<=l;p+=u){let h=p*1048576*f;h>26&&h<l-6&&o.fill" +
  'Text(String(Number(p.toPrecision(3))),52,h+4)}o.textAlign="center";let m=P(n.to-n.from' +
  ",Math.max(2,(i-58)/90)),b=Math.max(1,m);for(let p=Math.ceil(n.from/b)*b;p<n.to;p+=b){l" +
  "et h=M(p+.5,n,i);h>82&&h<i-24&&o.fillText(`step ${p}`,h,s-4)}}function je(t,e,n){let r" +
  "=n*ie(t),o=We(t),i=o.findLastIndex(l=>l<=r),s=r-(o[i]??0),c=Math.min(t.steps.length-1," +
  "Math.floor(e)),a=t.boxes.find(([l,f,d,u,m])=>l===i&&s>=f&&s<f+d&&c>=u&&c<=m);return{sl" +
  'ot:i,step:c,box:a??null}}function ze(t,e){let{slot:n,step:r,box:o}=e,i=t.steps[r]??"",' +
  "s=`Step ${r}: ${i}. `;if(o===null)return`${s}Slot ${n} (${k(t.slots[n]??0)}) is free.`" +
  ';let[,,c,a,l,f,d,u,m]=o,b=u===""?"there before the program":`written by ${u} (${m})`,p' +
  "=`${f} (${d}), ${k(c)}`;return`${s}Slot ${n} holds ${p}, steps ${a} to ${l}, ${b}.`}fu" +
  'nction Ke({plannedBytes:t,lowerBoundBytes:e,budgetBytes:n}){let r=n===null?"no budget"' +
  ":`budget ${k(n)}`;return`Planned peak ${k(t)}, lower bound ${k(e)}, ${r}.`}var qe=200;" +
  "function v(t){let e=document.getElementById(t);if(e===null)throw new Error(`inspector:" +
  " expected #${t} in the page, got none`);return e}function J(t,e){let n=t.stacks[e]?.fr" +
  'ames??[];return n.length>0?n.map(r=>`  ${r}`):e!==-1?["  inside tenure, deeper than st' +
  'acks are kept"]:[`  no stack recorded at level "${t.level}"`]}function Ye(t,e,n){let{t' +
  "race:r,at:o}=t,i=m=>`${(o[m]??0).toFixed(3)} ms`,{text:s,bytes:c,stack:a,owners:l}=e,f" +
  '=F(e,n),d=l.at(-1),u=d?.kind===-1?`freed at ${i(d.index)}`:"alive at the end";return[`' +
  '${s}, ${k(c)}`,`made at ${i(l[0]?.index??0)}, ${u}`,`owner here: ${O[f?.kind??-1]??"no' +
  'body"}`,"","how it came to its owners",...l.map(({index:m,kind:b,how:p})=>`  ${i(m)}  ' +
  '${O[b]??"nobody"}: ${p}`),"",`made by ${ne(t,e)}`,...J(r,a)].join(`\n`)}function Ge(t){' +
  'let e=document.createElement("i"),n=A[t]??"#8a8a8a";return n==="hatch"?e.className="ha' +
  'tch":e.style.background=n,e}function Je(t,e,n){let r=document.createElement("li"),o=do' +
  'cument.createElement("b"),i=document.createTextNode("");return o.append(i),r.append(n,' +
  'e,o),t.append(r),i}function ae(t,e,n){return Je(t,e,Ge(n))}function ce(t,e,n){let r="h' +
  'ttp://www.w3.org/2000/svg",o=document.createElementNS(r,"svg");o.setAttribute("class",' +
  '"dash");let i=document.createElementNS(r,"path");return i.setAttribute("d","M0 6h34"),' +
  'i.setAttribute("stroke-dasharray",n.join(" ")),o.append(i),Je(t,e,o)}function _e(t,e){' +
  'let n=v("alive");n.replaceChildren();for(let o of t.slice(0,qe)){let i=n.insertRow(),s' +
  '=document.createElement("button");s.textContent=o.place,s.addEventListener("click",()=' +
  ">{e(o)});let c=[...o.kinds].sort((f,d)=>f-d);i.insertCell().append(s);let a=i.insertCe" +
  'll();for(let f of c)a.append(Ge(f),`${O[f]} `);let l=o.steps.size;for(let f of[l===0?"' +
  '":String(l),String(o.count),k(o.bytes)])i.insertCell().textContent=f;i.insertCell().te' +
  'xtContent=o.how}let r=t.length-qe;v("more").textContent=r>0?`and ${r} more lines`:""}v' +
  'ar T=JSON.parse(v("trace").textContent),S=Se(T),X=Pe(T),gt=$e(S),_=He(T,X),W=X.stretch' +
  'es.filter(({row:t})=>t==="step"),Qe=W.map(({from:t})=>t);if(W.length===0)for(let[,,t,,' +
  ',e]of T.scopes)e===0&&Qe.push(t);var j=S.at.length-1,[V,z,U]=["chart","lanes","plan"].' +
  'map(t=>v(t));if(V===void 0||z===void 0||U===void 0)throw new Error("canvases");var[fe,' +
  'de]=[320,260],w={axis:oe(S,Ae(S)?"events":"ms"),selected:null,moment:j,box:null,scene:' +
  "null,asked:0,planAsked:0},$=new I(w.axis.whole,ue),Z=new I({from:0,to:1},pe);function " +
  "ue(){w.asked===0&&(w.asked=requestAnimationFrame(et))}function pe(){w.planAsked===0&&(" +
  "w.planAsked=requestAnimationFrame(vt))}function et(){w.asked=0;let{axis:t,selected:e}=" +
  "w,{view:n}=$,r=Y(V,fe),o=Oe(S,t,n,Math.max(1,Math.floor(r.width-58))),i={model:S,happe" +
  "nings:X,axis:t,view:n,columns:o},s=Ee(i);w.scene={...i,top:s},Be(r,w.scene);let c=5*s/" +
  "(fe-20);Re(r,s,Le(S,gt,o,c,e),e),w.moment!==j&&Ce(r,M(t.of(w.moment),n,r.width),[]),Ne" +
  "(Y(z,Ie(_)),_,t,n),document.documentElement.dataset.painted??=String(performance.now()" +
  ")}function vt(){w.planAsked=0;let t=Q();t!==void 0&&Xe(Y(U,de),t,Z.view,w.box)}functio" +
  'n Q(){return T.plans[Number(v("plans").value)]}var me=new Map;function tt(t){return w.' +
  "scene?.columns.shown[Math.floor(t-58)]??-1}function nt(t){let e=tt(t);for(let[s,c]of m" +
  'e)c.data=e===-1?"":k(s===-1?S.device[e]??0:S.bytes[s]?.[e]??0);let n=S.at[e]??0,r=X.st' +
  'retches.filter(({row:s,from:c,to:a})=>(s==="step"||s==="phase")&&c<=n&&n<=a),o=[`${n.t' +
  'oFixed(3)} ms`,`event ${e}`,...r.map(({name:s})=>s)];v("readout").textContent=e===-1?"' +
  '":o.join(" \\xB7 ");let i=v("cursor");i.hidden=e===-1,i.style.left=`${t}px`}function kt' +
  "(t,e){let n=tt(t);if(n===-1||w.scene===null)return;let r=fe-20;he(n,Me(S,n,(r-e)/r*w.s" +
  'cene.top)??null)}function he(t,e){w.moment=t,w.selected=e,v("detail").textContent=e===' +
  'null?"No recorded bytes here.":Ye(S,e,t),ot(),ue()}function St(){let t=-1;for(let n of' +
  " w.scene?.columns.shown??[])n!==-1&&(t===-1||(S.sum[n]??0)>(S.sum[t]??0))&&(t=n);let e" +
  "=null;for(let n of S.blocks)(F(n,t)?.kind??-1)!==-1&&n.bytes>(e?.bytes??0)&&(e=n);t!==" +
  '-1&&he(t,e)}function Ue(t){let[e,n]=[W[0],W.at(-1)];t==="Enter"?St():t==="End"?he(j,nu' +
  'll):t!=="steps"?$.act(t):e!==void 0&&n!==void 0&&$.look(w.axis.ofTime(e.from),w.axis.o' +
  'fTime(n.to))}function ot(){let t=w.moment===j?"the end":`${(S.at[w.moment]??0).toFixed' +
  '(3)} ms`;v("when").textContent=t,_e(Te(S,w.moment,Qe),({place:e,stack:n,how:r})=>{let ' +
  'o=[`made at ${e}`,...J(T,n),"",`the last: ${r}`];v("detail").textContent=o.join(`\n`),v' +
  '("detail").scrollIntoView({block:"nearest"})})}function Mt(t,e){let n=se(_,w.axis,$.vi' +
  "ew,z.clientWidth,[t,e]);if(n===void 0)return;let r=n.stack===-1?[]:J(T,n.stack),o=`${n" +
  '.from.toFixed(3)} ms to ${n.to.toFixed(3)} ms`;v("detail").textContent=[...n.tell(),o,' +
  "...r].join(`\n`)}function Tt(t,e){nt(t);let n=se(_,w.axis,$.view,z.clientWidth,[t,e]);n" +
  '!==void 0&&(v("readout").textContent=`${n.name} \\xB7 ${(n.to-n.from).toFixed(3)} ms`)}' +
  'function rt(){let t=Q();t!==void 0&&(w.box=null,v("plan-text").textContent=Ke(t),Z.res' +
  "et(Ve(t)))}function At(t,e){let n=Q();return n===void 0||t<58||e>de-20?null:je(n,Z.pos" +
  "itionAt(t,U.clientWidth),e/(de-20))}function Ze(t,e,n){let[r,o]=[Q(),At(t,e)];r===void" +
  ' 0||o===null||(v("plan-detail").textContent=ze(r,o),n&&(w.box=o.box,pe()))}function Ot' +
  '(){let t=T.dropped>0?` ${T.dropped} older events were overwritten.`:"",e=T.level==="fu' +
  'll"?"":\' memory.track("full") records every tensor.\',n=T.events[j]?.[8]??0,r=0;for(let' +
  ' c of T.events)r=Math.max(r,c[8]);v("summary").textContent=`${T.events.length} events ' +
  'at level "${T.level}" on ${T.device??"no device"}. At most ${k(r)} were owned, at the ' +
  'end ${k(n)}.${t}${e}`,document.documentElement.dataset.owned=String(n);let o=v("legend' +
  '");for(let[c,a]of O.entries())S.bytes[c]?.some(l=>l>0)===!0&&me.set(c,ae(o,a,c));me.se' +
  't(-1,ce(o,"on the device",[]));for(let{name:c}of X.levels)ce(o,c,re[c]??[]);let i=new ' +
  "Set(T.plans.flatMap(({boxes:c})=>c.map(a=>a[6])));for(let[c,a]of le.entries())i.has(a)" +
  '&&ae(v("roles"),a,c);let s=v("plans");for(let[c,{title:a}]of T.plans.entries())s.add(n' +
  'ew Option(a,String(c)));v("plan-section").hidden=T.plans.length===0,v("steps").hidden=' +
  'W.length===0,v("axis").value=w.axis.unit}function $t(){$.listen(V,nt,kt),$.listen(z,Tt' +
  ',Mt),Z.listen(U,(e,n)=>{Ze(e,n,!1)},(e,n)=>{Ze(e,n,!0)}),V.addEventListener("keydown",' +
  'e=>{(e.key==="Enter"||e.key==="End")&&Ue(e.key)});for(let e of document.querySelectorA' +
  'll("[data-key]"))e.addEventListener("click",()=>{Ue(e.dataset.key??"")});v("axis").add' +
  'EventListener("change",()=>{let[e,n]=[$.view.from,$.view.to].map(o=>w.axis.indexAt(o))' +
  ',r=v("axis").value==="ms"?"ms":"events";w.axis=oe(S,r),$.reset(w.axis.whole),$.look(w.' +
  'axis.of(Math.max(0,e??0)),w.axis.of(Math.max(0,n??0)))}),v("plans").addEventListener("' +
  'change",rt);let t=()=>{ue(),pe()};new ResizeObserver(t).observe(V),matchMedia("(prefer' +
  's-color-scheme: dark)").addEventListener("change",t)}Ot();$t();ot();rt();et();</script' +
  "></html>";
