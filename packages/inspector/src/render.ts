/**
 * Makes one page of a trace: markup, style, script and data in one string that asks nothing of the
 * network. Called by the command line and by programs. Owns nothing.
 */
import { readFileSync } from "node:fs";

const style = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1b1b;--soft:#f3f3f3;--line:#8884}
@media(prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#e6e6e6;--soft:#23262c}}
body{font:14px system-ui,sans-serif;margin:0 auto;padding:16px;max-width:1240px;
color:var(--ink);background:var(--paper)}
h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:22px 0 6px}p{margin:4px 0}
canvas{display:block;width:100%;color:var(--ink);touch-action:pan-y}
canvas:focus-visible{outline:2px solid #0072b2}
#legend,#roles{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:6px 0}
li i{display:inline-block;width:11px;height:11px;margin-right:6px}
#readout{min-height:2.6em;font-variant-numeric:tabular-nums}
pre{background:var(--soft);padding:10px;margin:6px 0;white-space:pre-wrap;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);
vertical-align:top}td{overflow-wrap:anywhere}td:nth-child(3){white-space:nowrap}
td button{font:inherit;color:inherit;background:none;border:0;padding:0;text-align:left;
text-decoration:underline;cursor:pointer;overflow-wrap:anywhere}
small{opacity:.75}
`;

const body = `
<h1>Tenure inspector</h1><p id="summary"></p>
<h2>Bytes over time, by owner</h2><ul id="legend"></ul>
<canvas id="chart" tabindex="0" role="img"
aria-label="Bytes over time by owner. Plus and minus zoom, arrows pan, 0 shows everything."
></canvas>
<canvas id="lanes" role="img" aria-label="Steps, phases, runs and scopes"></canvas>
<p><small>Click the chart for the bytes there; then + and − or the wheel zoom, ← and → or a drag
pan, 0 shows everything.</small></p>
<p id="readout" aria-live="polite"></p><pre id="detail">Click a byte.</pre>
<h2>Alive at the end, by line</h2><div class="scroll"><table><thead><tr><th>made at</th>
<th>storages</th><th>bytes</th><th>owner of the last</th></tr></thead><tbody id="leaks"></tbody>
</table></div>
<section id="plan-section"><h2><label for="plans">Plan: slots against steps</label>
<select id="plans"></select></h2>
<ul id="roles"></ul>
<canvas id="plan" role="img" aria-label="Which value lies in which slot at which step"></canvas>
<p id="plan-detail">Click a rectangle.</p></section>
`;

/**
 * The page of what `memory.chromeTrace()` returned, parsed from JSON. `script`: the page's program;
 * the built one when left out.
 * @throws Error for anything else than such a trace
 */
export function inspectorHTML(file: unknown, script: string = builtScript()): string {
  const trace = (file as { tenure?: { version?: unknown } } | null)?.tenure;
  if (trace?.version !== 1)
    throw new Error(
      "tenure-inspect: expected a trace of version 1 under the key tenure, got something else; " +
        "write JSON.stringify(memory.chromeTrace()) to a file",
    );
  const data = JSON.stringify(trace).replaceAll("<", "\\u003c");
  const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenure inspector</title>
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><style>${style}</style>
${body}
<script type="application/json" id="trace">${data}</script>
<script type="module">${script.replaceAll("</script", "<\\/script")}</script>
</html>
`;
}

function builtScript(): string {
  return readFileSync(new URL("../dist/page.js", import.meta.url), "utf8");
}
