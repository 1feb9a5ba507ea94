/**
 * The event log drawn: a single HTML file that needs nothing else (bytes by line over time; owned,
 * pooled and device bytes; scopes as lanes; click for the stack), and the same as a Chrome trace.
 * Called through `memory.timelineHTML()` and `memory.chromeTrace()`. Reads the log, owns nothing.
 */
import { type LoggedEvent, eventLog } from "./log.ts";
import { type Capture, sites } from "./site.ts";
import { formatSite, formatStack } from "./stack.ts";

/** A scope's life, on a lane where it overlaps no other. */
interface Span {
  readonly name: string;
  readonly site: Capture | null;
  readonly from: number;
  readonly to: number;
  readonly peak: number;
  readonly lane: number;
}

/** Bytes alive that one line made, at each of the points in time. */
interface Band {
  readonly site: string;
  readonly capture: Capture | null;
  readonly bytes: number[];
}

const points = 240;
const bandsShown = 10;

// === From events to shapes ===

function spans(events: readonly LoggedEvent[], end: number): Span[] {
  const open = new Map<number, LoggedEvent>(),
    closed: Omit<Span, "lane">[] = [];
  for (const e of events) {
    if (e.kind === "open") open.set(e.id, e);
    else if (e.kind === "close") {
      const begun = open.get(e.id);
      open.delete(e.id);
      closed.push({
        name: e.text,
        site: e.site,
        from: begun?.at ?? events[0]!.at,
        to: e.at,
        peak: e.bytes,
      });
    }
  }
  for (const e of open.values())
    closed.push({ name: e.text, site: e.site, from: e.at, to: end, peak: 0 });
  const free: number[] = []; // per lane, when its last span ends
  return closed
    .sort((a, b) => a.from - b.from || b.to - a.to)
    .map((span) => {
      let lane = free.findIndex((until) => until <= span.from);
      if (lane === -1) lane = free.length;
      free[lane] = span.to;
      return { ...span, lane };
    });
}

function bands(events: readonly LoggedEvent[], from: number, step: number): Band[] {
  const bySite = new Map<string, Band>(),
    alive = new Map<string, number>();
  let point = 0;
  const until = (at: number): void => {
    for (; point < points && from + point * step < at; point++)
      for (const [site, bytes] of alive) bySite.get(site)!.bytes[point] = bytes;
  };
  const born = new Set<number>();
  for (const e of events) {
    if (e.kind !== "create" && e.kind !== "dispose" && e.kind !== "finalize") continue;
    until(e.at);
    const site = formatSite(e.site) ?? "(inside tenure)";
    if (!bySite.has(site))
      bySite.set(site, { site, capture: e.site, bytes: new Array<number>(points).fill(0) });
    if (e.kind === "create") born.add(e.id);
    else if (!born.delete(e.id)) continue; // made before the log began
    alive.set(site, (alive.get(site) ?? 0) + (e.kind === "create" ? e.bytes : -e.bytes));
  }
  until(Infinity);
  const sorted = [...bySite.values()].sort((a, b) => Math.max(...b.bytes) - Math.max(...a.bytes));
  const rest = sorted.slice(bandsShown);
  if (rest.length === 0) return sorted;
  return [
    ...sorted.slice(0, bandsShown),
    {
      site: `${rest.length} other lines`,
      capture: null,
      bytes: Array.from({ length: points }, (_, i) => rest.reduce((n, b) => n + b.bytes[i]!, 0)),
    },
  ];
}

// === HTML ===

const width = 1000;
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

/** One self-contained page. */
export function timelineHTML(): string {
  const { events, dropped } = eventLog().read(),
    { level } = sites();
  const first = events[0]?.at ?? 0,
    last = Math.max(first + 1e-3, events[events.length - 1]?.at ?? 0),
    step = (last - first) / (points - 1);
  const stacks: string[] = [];
  const stackOf = (capture: Capture | null): number =>
    stacks.push(
      formatStack(capture)
        .map((f) => f.text)
        .join("\n") || "(no stack recorded)",
    ) - 1;
  const x = (at: number): string => (((at - first) / (last - first)) * width).toFixed(1);

  const shown = bands(events, first, step),
    below = new Array<number>(points).fill(0);
  const most = Math.max(1, ...below.map((_, i) => shown.reduce((n, b) => n + b.bytes[i]!, 0)));
  const areas = shown.map((band, k) => {
    const edge = (heights: readonly number[]): string[] =>
      heights.map(
        (bytes, i) =>
          `${((i / (points - 1)) * width).toFixed(1)},${(220 - (bytes / most) * 210).toFixed(1)}`,
      );
    const bottom = edge(below).reverse();
    band.bytes.forEach((bytes, i) => {
      below[i]! += bytes;
    });
    return `<polygon class="hit" data-stack="${stackOf(band.capture)}" fill="${colors[k]}" points="${[...edge(below), ...bottom].join(" ")}"><title>${escapeHTML(band.site)}: at most ${size(Math.max(...band.bytes))}</title></polygon>`;
  });

  const highest = Math.max(1, ...events.map((e) => Math.max(e.owned, e.device)));
  const every = Math.max(1, Math.floor(events.length / 1000));
  const line = (of: (e: LoggedEvent) => number): string =>
    events
      .filter((_, i) => i % every === 0 || i === events.length - 1)
      .map((e) => `${x(e.at)},${(120 - (of(e) / highest) * 110).toFixed(1)}`)
      .join(" ");
  const lines = (
    [
      ["owned", "#4269d0", (e) => e.owned],
      ["pool", "#efb118", (e) => e.pool],
      ["device", "#ff725c", (e) => e.device],
    ] as [string, string, (e: LoggedEvent) => number][]
  ).map(
    ([name, color, of]) =>
      `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${line(of)}"><title>${name}</title></polyline>`,
  );
  const marks = events
    .filter((e) => e.kind === "suspend" || e.kind === "outOfMemory")
    .map(
      (e) =>
        `<line class="hit" data-stack="${stackOf(e.site)}" x1="${x(e.at)}" x2="${x(e.at)}" y1="0" y2="120" stroke="#d00" stroke-dasharray="3 2"><title>${e.kind === "suspend" ? `scope ${escapeHTML(e.text)} was suspended by a raw await` : escapeHTML(e.text)}</title></line>`,
    );

  const lanes = spans(events, last)
    .filter((s) => s.lane < 40)
    .slice(0, 5000);
  const rows = Math.max(0, ...lanes.map((s) => s.lane + 1));
  const boxes = lanes.map(
    (s) =>
      `<rect class="hit" data-stack="${stackOf(s.site)}" x="${x(s.from)}" y="${s.lane * 16}" width="${Math.max(0.5, Number(x(s.to)) - Number(x(s.from))).toFixed(1)}" height="14" fill="${colors[hash(s.name) % 8]}"><title>scope ${escapeHTML(s.name)}: ${(s.to - s.from).toFixed(3)} ms, peak ${size(s.peak)}, opened at ${escapeHTML(formatSite(s.site) ?? "?")}</title></rect>`,
  );
  const legend = shown.map(
    (b, k) =>
      `<li><i style="background:${colors[k]}"></i>${escapeHTML(b.site)}, at most ${size(Math.max(...b.bytes))}</li>`,
  );

  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenure memory timeline</title>
<style>body{font:14px system-ui,sans-serif;margin:24px;max-width:1040px;color:#222;background:#fff}svg{width:100%;background:#f7f7f7;display:block}.hit{cursor:pointer}.hit:hover{opacity:.75}
h2{font-size:15px;margin:20px 0 6px}i{display:inline-block;width:10px;height:10px;margin-right:6px}ul{list-style:none;padding:0;columns:2}pre{background:#f7f7f7;padding:10px;min-height:3em;white-space:pre-wrap}</style>
<h1>Tenure memory timeline</h1>
<p>${events.length} events over ${(last - first).toFixed(1)} ms, recorded at level "${level}"${dropped > 0 ? `; ${dropped} older events were overwritten` : ""}.${level === "full" ? "" : ' Call memory.track("full") early to see every tensor.'}</p>
<h2>Bytes alive by the line that made them (top ${size(most)})</h2>
<svg viewBox="0 0 ${width} 220">${areas.join("")}</svg><ul>${legend.join("")}</ul>
<h2>Bytes <span style="color:#4269d0">owned</span>, <span style="color:#b58400">free in the pool</span>, <span style="color:#ff725c">on the device</span> (top ${size(highest)})</h2>
<svg viewBox="0 0 ${width} 120">${lines.join("")}${marks.join("")}</svg>
<h2>Scopes</h2>
<svg viewBox="0 0 ${width} ${Math.max(16, rows * 16)}">${boxes.join("")}</svg>
<h2>Stack</h2><pre id="stack">Click a colour, a mark or a scope.</pre>
<script>const stacks=${JSON.stringify(stacks).replaceAll("<", "\\u003c")};document.addEventListener("click",(e)=>{const s=e.target.dataset?.stack;if(s!==undefined)document.getElementById("stack").textContent=e.target.textContent+"\\n\\n"+stacks[s]});</script>
</html>
`;
}

function size(bytes: number): string {
  for (const [unit, name] of [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ] as const)
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

// === Chrome trace ===

/** One event of the Trace Event Format. */
export interface TraceEvent {
  readonly name: string;
  /** `X` a scope, `b` and `e` a tensor, `C` bytes, `i` a mark. */
  readonly ph: "X" | "b" | "e" | "C" | "i";
  readonly cat: string;
  /** Microseconds. */
  readonly ts: number;
  readonly pid: 1;
  readonly tid: number;
  readonly dur?: number;
  readonly id?: number;
  readonly s?: "p";
  readonly args?: Readonly<Record<string, unknown>>;
}

/** For chrome://tracing, Perfetto and speedscope. */
export interface ChromeTrace {
  readonly displayTimeUnit: "ms";
  readonly traceEvents: readonly TraceEvent[];
}

/** The log in the Trace Event Format: write it to a file as JSON. */
export function chromeTrace(): ChromeTrace {
  const { events } = eventLog().read(),
    last = events[events.length - 1]?.at ?? 0;
  const out: TraceEvent[] = spans(events, last).map((s) => ({
    name: s.name,
    ph: "X",
    cat: "scope",
    ts: s.from * 1000,
    dur: (s.to - s.from) * 1000,
    pid: 1,
    tid: s.lane,
    args: { peakBytes: s.peak, opened: formatSite(s.site) ?? null },
  }));
  let seen = "";
  for (const e of events) {
    const at = { ts: e.at * 1000, pid: 1, tid: 0 } as const;
    if (e.kind === "create")
      out.push({
        name: e.text,
        ph: "b",
        cat: "tensor",
        id: e.id,
        ...at,
        args: { bytes: e.bytes, made: formatSite(e.site) ?? null },
      });
    else if (e.kind === "dispose" || e.kind === "finalize")
      out.push({ name: e.text, ph: "e", cat: "tensor", id: e.id, ...at, args: { how: e.kind } });
    else if (e.kind === "suspend" || e.kind === "outOfMemory")
      out.push({
        name: e.kind === "suspend" ? `suspended: ${e.text}` : e.text,
        ph: "i",
        cat: "mark",
        s: "p",
        ...at,
      });
    const bytes = `${e.owned} ${e.pool} ${e.device}`;
    if (bytes !== seen)
      out.push({
        name: "bytes",
        ph: "C",
        cat: "memory",
        ...at,
        args: { owned: e.owned, pool: e.pool, device: e.device },
      });
    seen = bytes;
  }
  return { displayTimeUnit: "ms", traceEvents: out.sort((a, b) => a.ts - b.ts) };
}
