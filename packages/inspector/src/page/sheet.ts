/**
 * What all drawings share: canvases sized for the screen, colours, units, round numbers. Called by
 * the page. Owns nothing.
 */

/** Okabe and Ito's colours, by kind of owner or role of a value; the last two tell nobody's. */
export const COLORS = [
  "#0072b2",
  "#e69f00",
  "#56b4e9",
  "#009e73",
  "#d55e00",
  "#cc79a7",
  "#8a8a8a",
  "hatch",
] as const;
/** Height of a lane. */
export const LANE = 17;
/** Width of the axis on the left. */
export const AXIS = 58;
/** Height of the axis below. */
export const FOOT = 20;

/** A canvas, cleared, with the page's colours. */
export interface Sheet {
  readonly draw: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly paper: string;
}

/** Prepares a canvas. */
export function sheetOf(canvas: HTMLCanvasElement, height: number): Sheet {
  const scale = window.devicePixelRatio;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const draw = canvas.getContext("2d");
  if (draw === null) throw new Error("inspector: expected a canvas to draw on, got none");
  draw.scale(scale, scale);
  draw.font = "12px system-ui, sans-serif";
  const style = getComputedStyle(canvas);
  const of = (name: string): string => style.getPropertyValue(name);
  const [soft, line, paper] = [of("--soft"), of("--line"), of("--paper")];
  return { draw, width, height, ink: style.color, soft, line, paper };
}

/** What to fill with for a kind of owner. */
export function fillOf({ draw, ink, paper }: Sheet, kind: number): string | CanvasPattern {
  const color = COLORS[kind] ?? "#8a8a8a";
  if (color !== "hatch") return color;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const on = tile.getContext("2d");
  if (on === null) return "#8a8a8a";
  on.fillStyle = paper;
  on.fillRect(0, 0, 6, 6);
  on.strokeStyle = ink;
  on.globalAlpha = 0.45;
  on.beginPath();
  for (const x of [-6, 0, 6]) {
    on.moveTo(x - 1, 7);
    on.lineTo(x + 7, -1);
  }
  on.stroke();
  return draw.createPattern(tile, "repeat") ?? "#8a8a8a";
}

/** `1.25 MB`, of 1,000,000 bytes: the one unit of the page, and of reports. */
export function megabytes(bytes: number): string {
  const n = bytes / 1e6;
  return `${n === 0 || n >= 0.1 ? n.toFixed(2) : n.toPrecision(2)} MB`;
}

/** `18.8810 s`: a moment in seconds, as the axis says them, from a second on. */
export function momentOf(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(3)} ms` : `${(ms / 1000).toFixed(4)} s`;
}

/** A round step that divides `range` into about `count` parts. */
export function tickOf(range: number, count: number): number {
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((n) => n * power >= rough) ?? 10) * power;
}

/** A straight line. */
export function stroke(
  { draw }: Sheet,
  [x0, y0, x1, y1]: readonly [number, number, number, number],
  color: string,
  dash: readonly number[] = [],
): void {
  draw.setLineDash([...dash]);
  draw.strokeStyle = color;
  draw.beginPath();
  draw.moveTo(x0, y0);
  draw.lineTo(x1, y1);
  draw.stroke();
  draw.setLineDash([]);
}

/** Text that stays inside its box. */
export function textIn(
  { draw }: Sheet,
  text: string,
  [x, y, width, height]: readonly [number, number, number, number],
): void {
  draw.save();
  draw.beginPath();
  draw.rect(x, y, width, height);
  draw.clip();
  draw.textAlign = "left";
  draw.fillText(text, x + 3, y + height / 2 + 4);
  draw.restore();
}
