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
  "low-x:auto}table{border-collapse:collapse;width:100%;min-width:640px}th,td{text-align:" +
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
  '0","#cc79a7","#8a8a8a","hatch"];function G(e,t){let n=window.devicePixelRatio,r=e.clie' +
  "ntWidth;e.width=Math.round(r*n),e.height=Math.round(t*n),e.style.height=`${t}px`;let o" +
  '=e.getContext("2d");if(o===null)throw new Error("inspector: expected a canvas to draw ' +
  'on, got none");o.scale(n,n),o.font="12px system-ui, sans-serif";let i=getComputedStyle' +
  '(e),s=f=>i.getPropertyValue(f),[c,a,l]=[s("--soft"),s("--line"),s("--paper")];return{d' +
  "raw:o,width:r,height:t,ink:i.color,soft:c,line:a,paper:l}}function xe({draw:e,ink:t,pa" +
  'per:n},r){let o=A[r]??"#8a8a8a";if(o!=="hatch")return o;let i=document.createElement("' +
  'canvas");i.width=i.height=6;let s=i.getContext("2d");if(s===null)return"#8a8a8a";s.fil' +
  "lStyle=n,s.fillRect(0,0,6,6),s.strokeStyle=t,s.globalAlpha=.45,s.beginPath();for(let c" +
  ' of[-6,0,6])s.moveTo(c-1,7),s.lineTo(c+7,-1);return s.stroke(),e.createPattern(i,"repe' +
  'at")??"#8a8a8a"}function k(e){let t=e/1048576;return`${t===0||t>=.1?t.toFixed(2):t.toP' +
  "recision(2)} MiB`}function D(e,t){let n=e/t,r=10**Math.floor(Math.log10(n));return([1," +
  "2,5].find(o=>o*r>=n)??10)*r}function E({draw:e},[t,n,r,o],i,s=[]){e.setLineDash([...s]" +
  "),e.strokeStyle=i,e.beginPath(),e.moveTo(t,n),e.lineTo(r,o),e.stroke(),e.setLineDash([" +
  "])}function I({draw:e},t,[n,r,o,i]){e.save(),e.beginPath(),e.rect(n,r,o,i),e.clip(),e." +
  'textAlign="left",e.fillText(t,n+3,r+i/2+4),e.restore()}var O=["module","optimizer","lo' +
  'ader","scope","no scope","graph or read","not recorded","free in the pool"],nt=O.index' +
  'Of("no scope"),ot=O.indexOf("graph or read"),we=O.indexOf("not recorded"),rt=O.indexOf' +
  '("free in the pool");function ge(e){let[t=""]=e.split(" ",1),n=O.indexOf(t);return n==' +
  "=-1?nt:n}var ne=class{blocks=[];now=new Float64Array(O.length);#e=new Map;#t=new Map;#" +
  'o;constructor(t){this.#o=t}follow(t,[n,,r,o,i,s,c,a]){let l=this.#o.texts[s]??"",f=thi' +
  's.#o.texts[a]??"";if(n==="create"&&i!==0){let d=this.blocks.length,u=this.#e.get(i);u=' +
  "==void 0&&(u={block:{order:d,text:l,bytes:o,stack:c,owners:[]},handles:new Map},this.b" +
  "locks.push(u.block),this.#e.set(i,u)),u.handles.set(r,ge(f)),this.#t.set(r,u),this.#n(" +
  'u,t,f===""?"made outside any scope":`made into ${f}`)}else if(n==="own"){let d=this.#t' +
  '.get(r);d?.handles.set(r,ge(f)),d!==void 0&&this.#n(d,t,l)}else if(n==="dispose"||n===' +
  '"finalize"){let d=this.#t.get(r);d?.handles.delete(r),this.#t.delete(r);let u=n==="dis' +
  'pose"?"disposed":"reclaimed by the garbage collector";d!==void 0&&this.#n(d,t,`last ha' +
  'ndle ${u}`)}else if(n==="free"||n==="revive"){let d=this.#e.get(i);if(d===void 0)retur' +
  'n;n==="free"?this.#r(d,t,-1,"freed"):this.#n(d,t,"taken back")}}#n(t,n,r){let o=ot;for' +
  "(let i of t.handles.values())o=Math.min(o,i);this.#r(t,n,o,r)}#r({block:{bytes:t,owner" +
  "s:n}},r,o,i){let s=n.at(-1)?.kind??-1;o!==s&&(s!==-1&&(this.now[s]=(this.now[s]??0)-t)" +
  ",o!==-1&&(this.now[o]=(this.now[o]??0)+t),n.push({index:r,kind:o,how:i}))}};function v" +
  "e(e){let{events:t}=e,n=()=>new Float64Array(t.length),[r,o,i,s]=[n(),n(),n(),O.map(n)]" +
  ",c=new ne(e);for(let[a,l]of t.entries()){c.follow(a,l),r[a]=l[1],o[a]=l[10];let f=0;fo" +
  "r(let u=0;u<we;u++){let m=c.now[u]??0;f+=m,(s[u]??r)[a]=m}let d=Math.max(0,l[8]-f);(s[" +
  "we]??r)[a]=d,(s[rt]??r)[a]=l[9],i[a]=f+d+l[9]}return{trace:e,at:r,bytes:s,sum:i,device" +
  ":o,blocks:c.blocks}}function F({owners:e},t){return e.findLast(({index:n})=>n<=t)}func" +
  "tion J(e,t){let n=0,r=e.length;for(;n<r;){let o=n+r>>1;(e[o]??0)<=t?n=o+1:r=o}return n" +
  "-1}function ke(e,t,n){let r=0;for(let[o,i]of e.bytes.entries()){let s=i[t]??0;if(n>=r+" +
  "s){r+=s;continue}for(let c of e.blocks)if(F(c,t)?.kind===o&&(r+=c.bytes,n<r))return c;" +
  "return}}function Se(e,t,n){let r=Float64Array.from(n),o=new Map;for(let i of e.blocks)" +
  "{let s=F(i,t);if(s===void 0||s.kind===-1)continue;let{stack:c,bytes:a}=i,l=e.trace.sta" +
  'cks[c]?.place??"(no stack recorded)",f=o.get(l);f===void 0&&(f={place:l,stack:c,count:' +
  '0,bytes:0,kinds:new Set,how:"",steps:new Set},o.set(l,f)),f.count++,f.bytes+=a,f.how=s' +
  ".how,f.kinds.add(s.kind);let d=J(r,e.at[i.owners[0]?.index??0]??0);d!==-1&&f.steps.add" +
  "(d)}return[...o.values()].sort((i,s)=>s.bytes-i.bytes)}function oe({at:e},t){let n=e.l" +
  'ength-1,r=e[0]??0;return t==="ms"?{unit:t,whole:{from:r,to:Math.max(r+.001,e[n]??0)},o' +
  "f:o=>e[o]??0,ofTime:o=>o,indexAt:o=>J(e,o)}:{unit:t,whole:{from:0,to:Math.max(1,n)},of" +
  ":o=>o,ofTime:o=>Math.max(0,J(e,o)),indexAt:o=>Math.min(n,Math.floor(o))}}function S(e," +
  "{from:t,to:n},r){return 58+(e-t)/(n-t)*(r-58)}var N=class{view;#e;#t;constructor(t,n){" +
  "this.view=this.#e=t,this.#t=n}reset(t){this.#e=t,this.look(t.from,t.to)}look(t,n){let{" +
  "from:r,to:o}=this.#e,i=Math.min(o-r,Math.max((o-r)/1e5,n-t)),s=Math.min(Math.max(r,t)," +
  "o-i);this.view={from:s,to:s+i},this.#t()}zoom(t,n=(this.view.from+this.view.to)/2){let" +
  "{from:r,to:o}=this.view;this.look(n-(n-r)*t,n+(o-n)*t)}pan(t){let n=(this.view.to-this" +
  ".view.from)*t;this.look(this.view.from+n,this.view.to+n)}positionAt(t,n){let{from:r,to" +
  ':o}=this.view;return r+Math.max(0,t-58)/(n-58)*(o-r)}act(t){if(t==="+"||t==="="||t==="' +
  'w")this.zoom(.5);else if(t==="-"||t==="s")this.zoom(2);else if(t==="ArrowLeft"||t==="a' +
  '")this.pan(-.2);else if(t==="ArrowRight"||t==="d")this.pan(.2);else if(t==="0"||t==="H' +
  'ome")this.reset(this.#e);else return!1;return!0}listen(t,n,r){let o=null;t.addEventLis' +
  'tener("keydown",s=>{!s.ctrlKey&&!s.metaKey&&!s.altKey&&this.act(s.key)&&s.preventDefau' +
  "lt()});let i=s=>{!s.ctrlKey&&document.activeElement!==t||(s.preventDefault(),Math.abs(" +
  "s.deltaX)>Math.abs(s.deltaY)?this.pan(s.deltaX/t.clientWidth):this.zoom(s.deltaY>0?1.2" +
  '5:.8,this.positionAt(s.offsetX,t.clientWidth)))};t.addEventListener("wheel",i,{passive' +
  ':!1}),t.addEventListener("pointerdown",s=>{o={x:s.offsetX,view:this.view,moved:!1},t.s' +
  'etPointerCapture(s.pointerId)}),t.addEventListener("pointermove",s=>{if(n(s.offsetX,s.' +
  "offsetY),o===null||!o.moved&&Math.abs(s.offsetX-o.x)<4)return;o.moved=!0;let{from:c,to" +
  ":a}=o.view,l=(o.x-s.offsetX)/(t.clientWidth-58)*(a-c);this.look(c+l,a+l)}),t.addEventL" +
  'istener("pointerup",s=>{o?.moved===!1&&r(s.offsetX,s.offsetY),o=null}),t.addEventListe' +
  'ner("pointercancel",()=>{o=null})}};function Me(e,t,n,r){let{sum:o,device:i}=e,s=new I' +
  "nt32Array(r).fill(-1),c=new Float64Array(r),a=(n.to-n.from)/r,l=t.indexAt(n.from);for(" +
  "let f=0;f<r;f++){let d=n.from+(f+1)*a,u=l,m=i[l]??0;for(;l+1<o.length&&t.of(l+1)<=d;)l" +
  "++,(u===-1||(o[l]??0)>=(o[u]??0))&&(u=l),m=Math.max(m,i[l]??0);s[f]=u,c[f]=m}return{sh" +
  "own:s,device:c}}function Te({blocks:e,bytes:t}){let n=t.map(()=>[]);for(let r of e)for" +
  "(let[o,{index:i,kind:s}]of r.owners.entries())n[s]?.push({block:r,from:i,to:r.owners[o" +
  "+1]?.index??1/0});for(let r of n)r.sort((o,i)=>o.from-i.from);return n}var st=3e3;func" +
  "tion Ae(e,t,{shown:n},r,o){let i=[],s=new Float64Array(n.length);for(let[c,a]of t.entr" +
  "ies()){let l=e.bytes[c],f=new Map,d=[],u=0;for(let[m,x]of n.entries()){if(m===0||x!==n" +
  "[m-1]){let y=d.length;for(;(a[u]?.from??1/0)<=x;u++)d.push(a[u]);let v=d.length>y;d=d." +
  "filter(({to:L})=>L>x),v&&d.sort((L,C)=>L.block.order-C.block.order)}let p=new Map,h=s[" +
  "m]??0;s[m]=h+(l?.[x]??0);for(let{block:y}of d){if(y===o||y.bytes>=r&&d.length<st){let " +
  "v=f.get(y);v?.below!==h&&(v={block:y,from:m,to:m,below:h},i.push(v)),v.to=m+1,p.set(y," +
  'v)}h+=y.bytes}f=p}}return i}var re={device:[],"predicted peak":[7,4],"measured peak":[' +
  '10,3,2,3],"lower bound":[2,3],budget:[16,4]};function Oe({model:e,happenings:t,axis:n,' +
  "view:r,columns:o}){let i=1024;for(let[s,c]of o.shown.entries())i=Math.max(i,e.sum[c]??" +
  "0,o.device[s]??0);for(let{pieces:s}of t.levels)for(let{from:c,to:a,bytes:l}of s)n.ofTi" +
  "me(a)>=r.from&&n.ofTime(c)<=r.to&&(i=Math.max(i,l));return i*1.12}function $e(e,t){it(" +
  "e,t),lt(e,t),at(e,t),ct(e,t),ft(e,t),dt(e,t)}var R=({height:e})=>e-20;function it(e,{h" +
  "appenings:t,axis:n,view:r}){let{draw:o,width:i,ink:s,soft:c}=e,a=!1;for(let{row:l,name" +
  ':f,from:d,to:u}of t.stretches){if(l!=="step")continue;a=!a;let m=Math.max(58,S(n.ofTim' +
  "e(d),r,i)),x=Math.min(i,S(n.ofTime(u),r,i))-m;x<=0||(o.fillStyle=c,a&&o.fillRect(m,0,x" +
  ",R(e)),o.fillStyle=s,x>44&&I(e,f,[m,0,x,15]))}}function lt(e,{model:t,columns:n,top:r}" +
  "){let{draw:o}=e,i=R(e),s=new Float64Array(n.shown.length);for(let[c,a]of t.bytes.entri" +
  "es()){o.fillStyle=xe(e,c);for(let l=0;l<s.length;){let f=n.shown[l]??-1,d=l+1;for(;n.s" +
  "hown[d]===f;)d++;let u=s[l]??0,m=a[f]??0;s.fill(u+m,l,d);let x=i-(u+m)/r*i;m>0&&o.fill" +
  "Rect(58+l,x,d-l,m/r*i),l=d}}}function at(e,{axis:t,view:n,top:r}){let{draw:o,width:i,h" +
  'eight:s,ink:c,line:a}=e,l=R(e);o.fillStyle=c,o.textAlign="right";let f=D(r/2**20,5);fo' +
  "r(let h=0;h*2**20<=r;h+=f){let y=Math.round(l-h*1048576/r*l)+.5;E(e,[58,y,i,y],a),y>26" +
  '&&o.fillText(String(Number(h.toPrecision(3))),52,y+4)}o.fillText("MiB",52,12),o.textAl' +
  'ign="center";let d=n.to-n.from,[u,m]=t.unit==="events"?["",1]:d>1e4?[" s",1e3]:[" ms",' +
  "1],x=D(d/m,Math.max(2,(i-58)/110)),p=Math.ceil(n.from/m/x);for(let h=p;h*x*m<=n.to;h++" +
  "){let y=S(h*x*m,n,i);if(E(e,[y,l,y,l+4],c),y>i-30||y<78)continue;let v=Number((h*x).to" +
  'Precision(12)).toLocaleString("en");o.fillText(t.unit==="events"?`event ${v}`:`${v}${u' +
  "}`,y,s-4)}}function ct(e,{columns:t,top:n}){let{draw:r,ink:o}=e,i=R(e);r.strokeStyle=o" +
  ",r.lineWidth=1.5,r.beginPath();for(let[s,c]of t.device.entries()){let a=i-c/n*i;r.line" +
  "To(58+s,a),r.lineTo(58+s+1,a)}r.stroke(),r.lineWidth=1}function ft(e,{happenings:t,axi" +
  's:n,view:r}){let{draw:o,width:i,ink:s}=e;o.textAlign="center";for(let{kind:c,at:a}of t' +
  '.marks){if(c!=="suspend"&&c!=="outOfMemory")continue;let l=S(n.ofTime(a),r,i);l<58||l>' +
  'i||(E(e,[l,16,l,R(e)],"#d55e00",[6,3]),o.fillStyle=s,o.fillText(c==="suspend"?"\\u2016"' +
  ':"\\u2716",l,27))}}function dt(e,{happenings:t,axis:n,view:r,top:o}){let{draw:i,width:s' +
  ",ink:c,paper:a}=e,l=R(e),f=m=>l-m/o*l,d=new Map;for(let{name:m,pieces:x}of t.levels){l" +
  "et p,h=58;for(let y of x){let v=S(n.ofTime(y.from),r,s),L=Math.min(s,S(n.ofTime(y.to)," +
  "r,s));if(L<58||v>s)continue;p=y;let C=Math.max(L,v+1);if(C<h)continue;let Y=f(y.bytes)" +
  ";E(e,[Math.max(58,v),Y,C,Y],c,re[m]),h=C}p!==void 0&&d.set(p.bytes,[...d.get(p.bytes)?" +
  '?[],m])}i.textAlign="right";let u=l;for(let[m,x]of[...d].sort(([p],[h])=>p-h)){u=Math.' +
  'min(f(m)-4,u-15);let p=`${x.join(", ")} ${k(m)}`,h=i.measureText(p).width+6;i.globalAl' +
  "pha=.85,i.fillStyle=a,i.fillRect(s-h-2,u-11,h,14),i.globalAlpha=1,i.fillStyle=c,i.fill" +
  "Text(p,s-5,u)}}function Le(e,t,n,r){let{draw:o,ink:i,paper:s}=e,c=R(e);for(let{block:a" +
  ",from:l,to:f,below:d}of n){let u=a.bytes/t*c,m=c-d/t*c-u;o.globalAlpha=.45,o.strokeSty" +
  "le=s,f-l>2&&o.strokeRect(58+l+.5,m+.5,f-l,u),o.globalAlpha=1,a===r&&(o.fillStyle=i,o.f" +
  "illRect(58+l,m,f-l,Math.max(2,u)))}}function Ee(e,t,n){t>=58&&t<=e.width&&E(e,[t,0,t,R" +
  '(e)],e.ink,n)}var mt={predictedPeakBytes:"predicted peak",measuredPeakBytes:"measured ' +
  'peak",lowerBoundBytes:"lower bound",budgetBytes:"budget"};function Be(e){let t=ut(e).s' +
  'ort((r,o)=>r.from-o.from||o.to-r.to),n=e.events.flatMap(([r,o,,i,,s])=>r==="swapOut"||' +
  'r==="swapIn"||r==="recompute"||r==="suspend"||r==="outOfMemory"?[{kind:r,at:o,text:e.t' +
  'exts[s]??"",bytes:i}]:[]);return{stretches:t,marks:n,levels:pt(t)}}function ut({events' +
  ":e,texts:t,figures:n}){let r=new Map(n),o=[],i=[],s=(a,l,f)=>{i.push({name:a,row:a.sta" +
  'rtsWith("step ")?"step":"phase",from:l,to:f})};for(let[a,[l,f,,,,d]]of e.entries()){le' +
  't u=t[d]??"";if(l==="begin")o.push({name:u,from:f});else if(l==="end"){let m=o.findLas' +
  "tIndex(p=>p.name===u),[x]=m===-1?[]:o.splice(m,1);x!==void 0&&s(u,x.from,f)}else if(l=" +
  '=="run"||l==="op"){let m=r.get(a)??{},x=Number(m.from??f);i.push({name:u,row:l,from:x,' +
  "to:f,figures:m})}}let c=e.at(-1)?.[1]??0;for(let{name:a,from:l}of o)s(a,l,c);return i}" +
  'function pt(e){let t=e.filter(({row:o})=>o==="step"),n=Object.entries(mt).map(([o,i])=' +
  '>({key:o,name:i,pieces:[]})),r;for(let{row:o,from:i,to:s,figures:c}of e){if(o!=="run"|' +
  "|c===void 0)continue;let a=t.findLast(f=>f.from<=i&&i<=f.to),l=a===void 0||a===r?i:a.f" +
  'rom;r=a;for(let{key:f,pieces:d}of n){let u=c[f];if(typeof u!="number")continue;let m=d' +
  ".at(-1);m!==void 0&&m.to>l&&(d[d.length-1]={...m,to:l}),d.push({from:l,to:a?.to??s,byt" +
  'es:u})}}return n.filter(({pieces:o})=>o.length>0)}var ht=16,Re={swapOut:["\\u25BC","to ' +
  'the host"],swapIn:["\\u25B2","back from the host"]};function Pe(e,{stretches:t,marks:n}' +
  '){let r=a=>t.filter(l=>l.row===a).map(bt),o=n.flatMap(a=>a.kind==="swapOut"||a.kind===' +
  '"swapIn"?[Ce(a,Re[a.kind][0],Re[a.kind][1])]:[]),i=n.filter(({kind:a})=>a==="recompute' +
  '").map(a=>Ce(a,"\\u25CF","computed again")),s=[];for(let[a,l,f,d,u,m]of e.scopes)(s[m]?' +
  '?=[]).push({name:a,from:f,to:d,stack:l,tell:()=>[`scope ${a}, peak ${k(u)}`,"opened by' +
  '"]});return[{name:"steps",color:A[1],boxes:r("step")},{name:"phases",color:A[2],boxes:' +
  'r("phase")},{name:"runs",color:A[5],boxes:r("run")},{name:"ops",color:A[6],boxes:r("op' +
  '")},{name:"swaps",color:A[4],boxes:o},{name:"again",color:A[0],boxes:i},...s.slice(0,h' +
  't).map((a,l)=>({name:l===0?"scopes":"",color:A[3],boxes:a}))].filter(({boxes:a})=>a.le' +
  "ngth>0)}function bt({name:e,from:t,to:n,figures:r={}}){let o=Object.entries(r).flatMap" +
  '(([i,s])=>{if(i==="from"||s===null||s===0)return[];if(typeof s=="object"){let a=Object' +
  ".entries(s??{}).map(([l,f])=>`${l} ${String(f)}`);return a.length===0?[]:[`  ${i}: ${a" +
  '.join(", ")}`]}let c=i.endsWith("Bytes")?k(Number(s)):JSON.stringify(s);return[`  ${i.' +
  'replace(/Bytes$/,"")}: ${c}`]});return{name:e,from:t,to:n,stack:-1,tell:()=>[e,...o]}}' +
  'function Ce({at:e,text:t,bytes:n},r,o){let i=n===0?"":`, ${k(n)}`,s=`${t} ${o}${i}`;re' +
  "turn{name:s,from:e,to:e,glyph:r,stack:-1,tell:()=>[s]}}function De(e){return e.length*" +
  "17+2}function Ie(e,t,n,r){let{draw:o,width:i,ink:s}=e;for(let[c,{name:a,color:l,boxes:" +
  'f}]of t.entries()){let d=c*17;o.fillStyle=s,o.textAlign="right",o.fillText(a,52,d+12);' +
  "let u=-1;for(let{name:m,from:x,to:p,glyph:h}of f){let y=Math.max(58,S(n.ofTime(x),r,i)" +
  "),v=Math.min(i,Math.max(y+1,S(n.ofTime(p),r,i)));v<u+.5||v<=58||y>=i||(o.fillStyle=l,o" +
  '.textAlign="center",h!==void 0?o.fillText(h,y,d+12):o.fillRect(y,d,Math.max(1,v-y-.5),' +
  '15),u=h===void 0?v:y+4,!(h!==void 0||v-y<30)&&(o.fillStyle=l===A[0]?"#fff":"#000",I(e,' +
  "m,[y,d,v-y-2,15])))}}}function se(e,t,n,r,[o,i]){let s=({from:c,to:a,glyph:l})=>{let f" +
  "=l===void 0?1:6,d=S(t.ofTime(c),n,r);return o>=d-f&&o<=S(t.ofTime(a),n,r)+f};return e[" +
  'Math.floor(i/17)]?.boxes.findLast(s)}var le=["param","state","input","activation","out' +
  'put","grad"];function Fe({steps:e}){return{from:0,to:Math.max(1,e.length)}}function ie' +
  "({slots:e}){return Math.max(1,e.reduce((t,n)=>t+n,0))}function He({slots:e}){let t=0;r" +
  "eturn e.map(n=>(t+=n)-n)}function Ne(e,t,n,r){let{draw:o,width:i,height:s,ink:c,line:a" +
  "}=e,l=s-20,f=l/ie(t),d=He(t);for(let p of t.boxes){let[h,y,v,L,C,Y,pe,he]=p,P=Math.max" +
  "(58,S(L,n,i)),q=Math.min(i,S(C+1,n,i));if(q<=58||P>=i)continue;let be=((d[h]??0)+y)*f," +
  'te=Math.max(1,v*f-1),ye=le.indexOf(pe);o.fillStyle=p===r?c:A[ye]??"#8a8a8a",o.fillRect' +
  '(P,be,Math.max(1,q-P-1),te),!(q-P<44||te<13||p===r)&&(o.fillStyle=ye===0?"#fff":"#000"' +
  ',I(e,he===""?`${Y} (${pe})`:he,[P,be,q-P-3,te]))}for(let p of d)E(e,[58,p*f,i,p*f],a);' +
  'o.fillStyle=c,o.textAlign="right",o.fillText("MiB",52,12);let u=D(ie(t)/2**20,4);for(l' +
  "et p=u;p*2**20*f<=l;p+=u){let h=p*1048576*f;h>26&&h<l-6&&o.fillText(String(Number(p.to" +
  'Precision(3))),52,h+4)}o.textAlign="center";let m=D(n.to-n.from,Math.max(2,(i-58)/90))' +
  ",x=Math.max(1,m);for(let p=Math.ceil(n.from/x)*x;p<n.to;p+=x){let h=S(p+.5,n,i);h>82&&" +
  "h<i-24&&o.fillText(`step ${p}`,h,s-4)}}function Ve(e,t,n){let r=n*ie(e),o=He(e),i=o.fi" +
  "ndLastIndex(l=>l<=r),s=r-(o[i]??0),c=Math.min(e.steps.length-1,Math.floor(t)),a=e.boxe" +
  "s.find(([l,f,d,u,m])=>l===i&&s>=f&&s<f+d&&c>=u&&c<=m);return{slot:i,step:c,box:a??null" +
  '}}function Xe(e,t){let{slot:n,step:r,box:o}=t,i=e.steps[r]??"",s=`Step ${r}: ${i}. `;i' +
  "f(o===null)return`${s}Slot ${n} (${k(e.slots[n]??0)}) is free.`;let[,,c,a,l,f,d,u,m]=o" +
  ',x=u===""?"there before the program":`written by ${u} (${m})`,p=`${f} (${d}), ${k(c)}`' +
  ";return`${s}Slot ${n} holds ${p}, steps ${a} to ${l}, ${x}.`}function We({plannedBytes" +
  ':e,lowerBoundBytes:t,budgetBytes:n}){let r=n===null?"no budget":`budget ${k(n)}`;retur' +
  "n`Planned peak ${k(e)}, lower bound ${k(t)}, ${r}.`}var je=200;function g(e){let t=doc" +
  "ument.getElementById(e);if(t===null)throw new Error(`inspector: expected #${e} in the " +
  "page, got none`);return t}function _(e,t){let n=e.stacks[t]?.frames??[];return n.lengt" +
  'h>0?n.map(r=>`  ${r}`):t!==-1?["  (inside tenure)"]:[`  no stack recorded at level "${' +
  'e.level}"`]}function ze(e,t,n){let{trace:r,at:o}=e,i=m=>`${(o[m]??0).toFixed(3)} ms`,{' +
  "text:s,bytes:c,stack:a,owners:l}=t,f=F(t,n),d=l.at(-1),u=d?.kind===-1?`freed at ${i(d." +
  'index)}`:"alive at the end";return[`${s}, ${k(c)}`,`made at ${i(l[0]?.index??0)}, ${u}' +
  '`,`owner here: ${O[f?.kind??-1]??"nobody"}`,"","how it came to its owners",...l.map(({' +
  'index:m,kind:x,how:p})=>`  ${i(m)}  ${O[x]??"nobody"}: ${p}`),"","made by",..._(r,a)].' +
  'join(`\n`)}function Ke(e){let t=document.createElement("i"),n=A[e]??"#8a8a8a";return n=' +
  '=="hatch"?t.className="hatch":t.style.background=n,t}function Ye(e,t,n){let r=document' +
  '.createElement("li"),o=document.createElement("b"),i=document.createTextNode("");retur' +
  "n o.append(i),r.append(n,t,o),e.append(r),i}function ae(e,t,n){return Ye(e,t,Ke(n))}fu" +
  'nction ce(e,t,n){let r="http://www.w3.org/2000/svg",o=document.createElementNS(r,"svg"' +
  ');o.setAttribute("class","dash");let i=document.createElementNS(r,"path");return i.set' +
  'Attribute("d","M0 6h34"),i.setAttribute("stroke-dasharray",n.join(" ")),o.append(i),Ye' +
  '(e,t,o)}function qe(e,t){let n=g("alive");n.replaceChildren();for(let o of e.slice(0,j' +
  'e)){let i=n.insertRow(),s=document.createElement("button");s.textContent=o.place,s.add' +
  'EventListener("click",()=>{t(o)});let c=[...o.kinds].sort((f,d)=>f-d);i.insertCell().a' +
  "ppend(s);let a=i.insertCell();for(let f of c)a.append(Ke(f),`${O[f]} `);let l=o.steps." +
  'size;for(let f of[l===0?"":String(l),String(o.count),k(o.bytes)])i.insertCell().textCo' +
  'ntent=f;i.insertCell().textContent=o.how}let r=e.length-je;g("more").textContent=r>0?`' +
  'and ${r} more lines`:""}var M=JSON.parse(g("trace").textContent),T=ve(M),j=Be(M),yt=Te' +
  '(T),U=Pe(M,j),W=j.stretches.filter(({row:e})=>e==="step"),_e=W.map(({from:e})=>e);if(W' +
  ".length===0)for(let[,,e,,,t]of M.scopes)t===0&&_e.push(e);var z=T.at.length-1,[X,K,Z]=" +
  '["chart","lanes","plan"].map(e=>g(e));if(X===void 0||K===void 0||Z===void 0)throw new ' +
  'Error("canvases");var[fe,de]=[320,260],w={axis:oe(T,"ms"),selected:null,moment:z,box:n' +
  "ull,scene:null,asked:0},$=new N(w.axis.whole,H),Q=new N({from:0,to:1},H);function H(){" +
  "w.asked===0&&(w.asked=requestAnimationFrame(Ue))}function Ue(){w.asked=0;let{axis:e,se" +
  "lected:t}=w,{view:n}=$,r=G(X,fe),o=Me(T,e,n,Math.max(1,Math.floor(r.width-58))),i={mod" +
  "el:T,happenings:j,axis:e,view:n,columns:o},s=Oe(i);w.scene={...i,top:s},$e(r,w.scene);" +
  "let c=3*s/(fe-20);Le(r,s,Ae(T,yt,o,c,t),t),w.moment!==z&&Ee(r,S(e.of(w.moment),n,r.wid" +
  "th),[]),Ie(G(K,De(U)),U,e,n);let a=ee();a!==void 0&&Ne(G(Z,de),a,Q.view,w.box),documen" +
  "t.documentElement.dataset.painted??=String(performance.now())}function ee(){return M.p" +
  'lans[Number(g("plans").value)]}var me=new Map;function Ze(e){return w.scene?.columns.s' +
  "hown[Math.floor(e-58)]??-1}function Qe(e){let t=Ze(e);for(let[s,c]of me)c.data=t===-1?" +
  '"":k(s===-1?T.device[t]??0:T.bytes[s]?.[t]??0);let n=T.at[t]??0,r=j.stretches.filter((' +
  '{row:s,from:c,to:a})=>(s==="step"||s==="phase")&&c<=n&&n<=a),o=[`${n.toFixed(3)} ms`,`' +
  'event ${t}`,...r.map(({name:s})=>s)];g("readout").textContent=t===-1?"":o.join(" \\xB7 ' +
  '");let i=g("cursor");i.hidden=t===-1,i.style.left=`${e}px`}function xt(e,t){let n=Ze(e' +
  ");if(n===-1||w.scene===null)return;let r=fe-20;ue(n,ke(T,n,(r-t)/r*w.scene.top)??null)" +
  '}function ue(e,t){w.moment=e,w.selected=t,g("detail").textContent=t===null?"No recorde' +
  'd bytes here.":ze(T,t,e),et(),H()}function wt(){let e=-1;for(let n of w.scene?.columns' +
  ".shown??[])n!==-1&&(e===-1||(T.sum[n]??0)>(T.sum[e]??0))&&(e=n);let t=null;for(let n o" +
  "f T.blocks)(F(n,e)?.kind??-1)!==-1&&n.bytes>(t?.bytes??0)&&(t=n);e!==-1&&ue(e,t)}funct" +
  'ion Ge(e){let[t,n]=[W[0],W.at(-1)];e==="Enter"?wt():e==="End"?ue(z,null):e!=="steps"?$' +
  ".act(e):t!==void 0&&n!==void 0&&$.look(w.axis.ofTime(t.from),w.axis.ofTime(n.to))}func" +
  'tion et(){let e=w.moment===z?"the end":`${(T.at[w.moment]??0).toFixed(3)} ms`;g("when"' +
  ").textContent=e,qe(Se(T,w.moment,_e),({place:t,stack:n,how:r})=>{let o=[`made at ${t}`" +
  ',..._(M,n),"",`the last: ${r}`];g("detail").textContent=o.join(`\n`),g("detail").scroll' +
  'IntoView({block:"nearest"})})}function gt(e,t){let n=se(U,w.axis,$.view,K.clientWidth,' +
  "[e,t]);if(n===void 0)return;let r=n.stack===-1?[]:_(M,n.stack),o=`${n.from.toFixed(3)}" +
  ' ms to ${n.to.toFixed(3)} ms`;g("detail").textContent=[...n.tell(),o,...r].join(`\n`)}f' +
  'unction vt(e,t){Qe(e);let n=se(U,w.axis,$.view,K.clientWidth,[e,t]);n!==void 0&&(g("re' +
  'adout").textContent=`${n.name} \\xB7 ${(n.to-n.from).toFixed(3)} ms`)}function tt(){let' +
  ' e=ee();e!==void 0&&(w.box=null,g("plan-text").textContent=We(e),Q.reset(Fe(e)))}funct' +
  "ion kt(e,t){let n=ee();return n===void 0||e<58||t>de-20?null:Ve(n,Q.positionAt(e,Z.cli" +
  "entWidth),t/(de-20))}function Je(e,t,n){let[r,o]=[ee(),kt(e,t)];r===void 0||o===null||" +
  '(g("plan-detail").textContent=Xe(r,o),n&&(w.box=o.box,H()))}function St(){let e=M.drop' +
  'ped>0?` ${M.dropped} older events were overwritten.`:"",t=M.level==="full"?"":\' memory' +
  '.track("full") records every tensor.\',n=M.events[z]?.[8]??0,r=0;for(let c of M.events)' +
  'r=Math.max(r,c[8]);g("summary").textContent=`${M.events.length} events at level "${M.l' +
  'evel}" on ${M.device??"no device"}. At most ${k(r)} were owned, at the end ${k(n)}.${e' +
  '}${t}`,document.documentElement.dataset.owned=String(n);let o=g("legend");for(let[c,a]' +
  'of O.entries())T.bytes[c]?.some(l=>l>0)===!0&&me.set(c,ae(o,a,c));me.set(-1,ce(o,"on t' +
  'he device",[]));for(let{name:c}of j.levels)ce(o,c,re[c]??[]);let i=new Set(M.plans.fla' +
  'tMap(({boxes:c})=>c.map(a=>a[6])));for(let[c,a]of le.entries())i.has(a)&&ae(g("roles")' +
  ',a,c);let s=g("plans");for(let[c,{title:a}]of M.plans.entries())s.add(new Option(a,Str' +
  'ing(c)));g("plan-section").hidden=M.plans.length===0,g("steps").hidden=W.length===0}fu' +
  "nction Mt(){$.listen(X,Qe,xt),$.listen(K,vt,gt),Q.listen(Z,(e,t)=>{Je(e,t,!1)},(e,t)=>" +
  '{Je(e,t,!0)}),X.addEventListener("keydown",e=>{(e.key==="Enter"||e.key==="End")&&Ge(e.' +
  'key)});for(let e of document.querySelectorAll("[data-key]"))e.addEventListener("click"' +
  ',()=>{Ge(e.dataset.key??"")});g("axis").addEventListener("change",()=>{let[e,t]=[$.vie' +
  'w.from,$.view.to].map(r=>w.axis.indexAt(r)),n=g("axis").value==="ms"?"ms":"events";w.a' +
  "xis=oe(T,n),$.reset(w.axis.whole),$.look(w.axis.of(Math.max(0,e??0)),w.axis.of(Math.ma" +
  'x(0,t??0)))}),g("plans").addEventListener("change",tt),new ResizeObserver(H).observe(X' +
  '),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",H)}St();Mt();et' +
  "();tt();Ue();</script></html>";
