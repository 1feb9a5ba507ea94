/**
 * What the page says in words: a storage's life, a stack, what is alive, what is under the pointer.
 * Called by the page. Text goes in as text, never as HTML. Owns nothing.
 */
import type { TraceData } from "tenure";
import { type AliveRow, type Block, KINDS, type Model, ownerAt, placeOf } from "./model.ts";
import { COLORS, megabytes, momentOf } from "./sheet.ts";

/** Rows of a table that are shown. */
const rowsShown = 200;

/** An element of the page. @throws Error when it is not there */
export function find<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`inspector: expected #${id} in the page, got none`);
  return element as T;
}

/** A stack's frames, innermost first, one a line. */
export function stackLines(trace: TraceData, stack: number): string[] {
  const frames = trace.stacks[stack]?.frames ?? [];
  if (frames.length > 0) return frames.map((frame) => `  ${frame}`);
  if (stack !== -1) return ["  inside tenure, deeper than stacks are kept"];
  return [`  no stack recorded at level "${trace.level}"`];
}

/** A storage: who made it, who owns it, how it got there, as of event `i`. */
export function blockText(model: Model, block: Block, i: number): string {
  const { trace, at } = model;
  const when = (index: number): string => momentOf(at[index] ?? 0);
  const { text, bytes, stack, owners } = block;
  const owner = ownerAt(block, i);
  const last = owners.at(-1);
  const end = last?.kind === -1 ? `freed at ${when(last.index)}` : "alive at the end";
  return [
    `${text}, ${megabytes(bytes)}`,
    `made at ${when(owners[0]?.index ?? 0)}, ${end}`,
    `owner here: ${KINDS[owner?.kind ?? -1] ?? "nobody"}`,
    "",
    "how it came to its owners",
    ...owners.map(({ index, kind, how }) => `  ${when(index)}  ${KINDS[kind] ?? "nobody"}: ${how}`),
    "",
    `made by ${placeOf(model, block)}`,
    ...stackLines(trace, stack),
  ].join("\n");
}

/** A coloured square, or the hatched one. */
function swatch(kind: number): HTMLElement {
  const square = document.createElement("i");
  const color = COLORS[kind] ?? "#8a8a8a";
  if (color === "hatch") square.className = "hatch";
  else square.style.background = color;
  return square;
}

/** A line of a legend. @returns where a value goes */
export function entry(list: HTMLElement, name: string, mark: HTMLElement | SVGElement): Text {
  const item = document.createElement("li");
  const value = document.createElement("b");
  const text = document.createTextNode("");
  value.append(text);
  item.append(mark, name, value);
  list.append(item);
  return text;
}

/** A line of a legend for a colour. */
export function colorEntry(list: HTMLElement, name: string, kind: number): Text {
  return entry(list, name, swatch(kind));
}

/** A line of a legend for a dash. */
export function dashEntry(list: HTMLElement, name: string, dash: readonly number[]): Text {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "dash");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", "M0 6h34");
  line.setAttribute("stroke-dasharray", dash.join(" "));
  svg.append(line);
  return entry(list, name, svg);
}

/** Fills the table of what is alive. `told`: called when a row is picked. */
export function fillTable(rows: readonly AliveRow[], told: (row: AliveRow) => void): void {
  const table = find<HTMLTableSectionElement>("alive");
  table.replaceChildren();
  for (const row of rows.slice(0, rowsShown)) {
    const line = table.insertRow();
    const button = document.createElement("button");
    button.textContent = row.place;
    button.addEventListener("click", () => {
      told(row);
    });
    const kinds = [...row.kinds].sort((a, b) => a - b);
    line.insertCell().append(button);
    line.insertCell().textContent = megabytes(row.bytes);
    const owners = line.insertCell();
    for (const kind of kinds) {
      const owner = document.createElement("span");
      owner.append(swatch(kind), KINDS[kind] ?? "");
      owners.append(owner, " ");
    }
    const steps = row.steps.size;
    line.insertCell().textContent = steps === 0 ? "" : String(steps);
    line.insertCell().textContent = String(row.count);
    line.insertCell().textContent = row.how;
  }
  const more = rows.length - rowsShown;
  find("more").textContent = more > 0 ? `and ${more} more lines` : "";
}
