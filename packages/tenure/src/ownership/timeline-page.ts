/**
 * The event log drawn: a single HTML file that needs nothing else (bytes by line over time; owned,
 * pooled and device bytes; scopes as lanes; click for the stack). Called through
 * `memory.timelineHTML()`. Reads the log, owns nothing.
 */
import { type LoggedEvent, eventLog } from "./log.ts";
import { type Capture, sites } from "./site.ts";
import { formatSite, formatStack } from "./stack.ts";
import { type Band, bands, highest, points, spans, sumOfBands } from "./timeline.ts";

const width = 1000;
const bandsHeight = 220;
const curvesHeight = 120;
const laneHeight = 16;
const lanesShown = 40;
const scopesShown = 5000;
/** Left free above the highest point of a drawing. */
const margin = 10;
const colors = [
  "#4269d0",
  "#efb118",
  "#ff725c",
  "#6cc5b0",
  "#3ca951",
  "#ff8ab7",
  "#a463f2",
  "#97bbf5",
  "#9c6b4e",
  "#9498a0",
  "#cccccc",
];

const style = `
body{font:14px system-ui,sans-serif;margin:24px;max-width:1040px;color:#222;background:#fff}
svg{width:100%;background:#f7f7f7;display:block}
.hit{cursor:pointer}
.hit:hover{opacity:.75}
h2{font-size:15px;margin:20px 0 6px}
i{display:inline-block;width:10px;height:10px;margin-right:6px}
ul{list-style:none;padding:0;columns:2}
pre{background:#f7f7f7;padding:10px;min-height:3em;white-space:pre-wrap}
`;

const script = `
document.addEventListener("click", (e) => {
  const s = e.target.dataset?.stack;
  if (s === undefined) return;
  document.getElementById("stack").textContent = e.target.textContent + "\\n\\n" + stacks[s];
});
`;

/** What the drawings of one page share: the time axis, and the stacks that clicks show. */
class Page {
  readonly events: readonly LoggedEvent[];
  readonly first: number;
  readonly last: number;
  readonly stacks: string[] = [];

  constructor(events: readonly LoggedEvent[]) {
    this.events = events;
    this.first = events[0]?.at ?? 0;
    this.last = Math.max(this.first + 1e-3, events.at(-1)?.at ?? 0);
  }

  /** The horizontal place of a moment. */
  x(at: number): string {
    return (((at - this.first) / (this.last - this.first)) * width).toFixed(1);
  }

  /** An element that shows `capture`'s stack when it is clicked, and `title` under the pointer. */
  clickable(element: string, attributes: string, capture: Capture | null, title: string): string {
    const stack = formatStack(capture).map((f) => f.text);
    const index = this.stacks.push(stack.join("\n") || "(no stack recorded)") - 1;
    const open = `<${element} class="hit" data-stack="${index}" ${attributes}>`;
    return `${open}<title>${escapeHTML(title)}</title></${element}>`;
  }
}

/** One self-contained page. */
export function timelineHTML(): string {
  const { events, dropped } = eventLog().read();
  const page = new Page(events);
  const sections = [bandsSection(page), curvesSection(page), scopesSection(page)];
  const stacks = JSON.stringify(page.stacks).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenure memory timeline</title>
<style>${style}</style>
<h1>Tenure memory timeline</h1>
<p>${summary(page, dropped)}</p>
${sections.join("\n")}
<h2>Stack</h2><pre id="stack">Click a colour, a mark or a scope.</pre>
<script>const stacks=${stacks};${script.trim()}</script>
</html>
`;
}

function summary({ events, first, last }: Page, dropped: number): string {
  const { level } = sites();
  const lost = dropped > 0 ? `; ${dropped} older events were overwritten` : "";
  const advice = level === "full" ? "" : ' Call memory.track("full") early to see every tensor.';
  const duration = (last - first).toFixed(1);
  const recorded = `${events.length} events over ${duration} ms, recorded at level "${level}"`;
  return `${recorded}${lost}.${advice}`;
}

/** Bytes alive by line, one band on top of the other. */
function bandsSection(page: Page): string {
  const shown = bands(page.events, page.first, (page.last - page.first) / (points - 1));
  const most = Math.max(1, ...sumOfBands(shown));
  const areas = shown.map((band, k) => {
    const below = edgeOf(shown.slice(0, k), most);
    const above = edgeOf(shown.slice(0, k + 1), most);
    const outline = [...below, ...above.reverse()].join(" ");
    const attributes = `fill="${colors[k]}" points="${outline}"`;
    return page.clickable("polygon", attributes, band.capture, atMost(band, ": "));
  });
  const legend = shown.map(
    (band, k) =>
      `<li><i style="background:${colors[k]}"></i>${escapeHTML(atMost(band, ", "))}</li>`,
  );
  return `<h2>Bytes alive by the line that made them (top ${size(most)})</h2>
${svg(bandsHeight, areas)}<ul>${legend.join("")}</ul>`;
}

function atMost(band: Band, separator: string): string {
  return `${band.site}${separator}at most ${size(highest(band))}`;
}

/** The line along the top of bands that are stacked. */
function edgeOf(stacked: readonly Band[], most: number): string[] {
  return sumOfBands(stacked).map((bytes, i) => {
    const x = ((i / (points - 1)) * width).toFixed(1);
    return `${x},${heightOf(bytes, most, bandsHeight)}`;
  });
}

function heightOf(bytes: number, most: number, height: number): string {
  return (height - (bytes / most) * (height - margin)).toFixed(1);
}

/** Owned, pooled and device bytes over time, and what went wrong. */
function curvesSection(page: Page): string {
  const { events } = page;
  const most = Math.max(1, ...events.map((e) => Math.max(e.owned, e.device)));
  const every = Math.max(1, Math.floor(events.length / 1000));
  const drawn = events.filter((_, i) => i % every === 0 || i === events.length - 1);
  const curve = (name: string, color: string, of: (e: LoggedEvent) => number): string => {
    const line = drawn.map((e) => `${page.x(e.at)},${heightOf(of(e), most, curvesHeight)}`);
    const look = `fill="none" stroke="${color}" stroke-width="1.5"`;
    return `<polyline ${look} points="${line.join(" ")}"><title>${name}</title></polyline>`;
  };
  const curves = [
    curve("owned", "#4269d0", (e) => e.owned),
    curve("pool", "#efb118", (e) => e.pool),
    curve("device", "#ff725c", (e) => e.device),
  ];
  const heading = [
    'Bytes <span style="color:#4269d0">owned</span>',
    '<span style="color:#b58400">free in the pool</span>',
    `<span style="color:#ff725c">on the device</span> (top ${size(most)})`,
  ];
  return `<h2>${heading.join(", ")}</h2>
${svg(curvesHeight, [...curves, ...marks(page)])}`;
}

/** Raw awaits and failed allocations, as dashed lines. */
function marks(page: Page): string[] {
  return page.events
    .filter((e) => e.kind === "suspend" || e.kind === "outOfMemory")
    .map((e) => {
      const x = page.x(e.at);
      const ends = `x1="${x}" x2="${x}" y1="0" y2="${curvesHeight}"`;
      const what = e.kind === "suspend" ? `scope ${e.text} was suspended by a raw await` : e.text;
      return page.clickable("line", `${ends} stroke="#d00" stroke-dasharray="3 2"`, e.site, what);
    });
}

/** Scopes as boxes on lanes. */
function scopesSection(page: Page): string {
  const shown = spans(page.events, page.last)
    .filter((s) => s.lane < lanesShown)
    .slice(0, scopesShown);
  const boxes = shown.map((s) => {
    const long = Math.max(0.5, Number(page.x(s.to)) - Number(page.x(s.from))).toFixed(1);
    const place = `x="${page.x(s.from)}" y="${s.lane * laneHeight}"`;
    const box = `${place} width="${long}" height="14" fill="${colors[hash(s.name) % 8]}"`;
    const took = `${(s.to - s.from).toFixed(3)} ms, peak ${size(s.peak)}`;
    const opened = `opened at ${formatSite(s.site) ?? "?"}`;
    return page.clickable("rect", box, s.site, `scope ${s.name}: ${took}, ${opened}`);
  });
  const lanes = Math.max(1, ...shown.map((s) => s.lane + 1));
  return `<h2>Scopes</h2>
${svg(lanes * laneHeight, boxes)}`;
}

function svg(height: number, shapes: readonly string[]): string {
  return `<svg viewBox="0 0 ${width} ${height}">${shapes.join("")}</svg>`;
}

function size(bytes: number): string {
  const units = [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ] as const;
  for (const [unit, name] of units)
    if (bytes >= unit) return `${(bytes / unit).toFixed(1)} ${name}`;
  return `${bytes} B`;
}

function hash(text: string): number {
  let h = 0;
  for (let i = 0; i < text.length; i++) h = (Math.imul(h, 31) + text.charCodeAt(i)) >>> 0;
  return h;
}

function escapeHTML(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
