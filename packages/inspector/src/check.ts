/**
 * Reads a trace file that anybody may have written: text to JSON, and JSON to a trace in which the
 * page finds everything where it looks. Called by `render.ts` and the command line. Pure.
 */
import type { TraceData, TracedPlan } from "tenure";

/** A file that is no trace: `tenure-inspect: expected X, got Y; do Z`. */
export class TraceError extends Error {
  override readonly name = "TraceError";

  constructor(expected: string, got: string) {
    super(
      `tenure-inspect: expected ${expected}, got ${got}; ` +
        "write JSON.stringify(memory.chromeTrace()) to a file",
    );
  }
}

type Check = (value: unknown, where: string) => void;
type Fields = Readonly<Record<string, unknown>>;

/** A value in a few words. */
function described(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

const text: Check = (value, where) => {
  if (typeof value !== "string") throw new TraceError(`a text at ${where}`, described(value));
};

const number: Check = (value, where) => {
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new TraceError(`a number at ${where}`, described(value));
};

const numberOrNone: Check = (value, where) => {
  if (value !== null && value !== undefined) number(value, where);
};

const textOrNull: Check = (value, where) => {
  if (value !== null) text(value, where);
};

const list =
  (item: Check): Check =>
  (value, where) => {
    if (!Array.isArray(value)) throw new TraceError(`a list at ${where}`, described(value));
    for (const [i, one] of value.entries()) item(one, `${where}[${i}]`);
  };

/** A list of at least so many entries, each of its own kind. */
const row =
  (...items: readonly Check[]): Check =>
  (value, where) => {
    if (!Array.isArray(value) || value.length < items.length)
      throw new TraceError(`a list of ${items.length} at ${where}`, described(value));
    for (const [i, item] of items.entries()) item(value[i], `${where}[${i}]`);
  };

/** An object with at least these own fields. */
const record =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, where) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new TraceError(`an object at ${where}`, described(value));
    for (const [name, field] of Object.entries(fields))
      field(Object.hasOwn(value, name) ? (value as Fields)[name] : undefined, `${where}.${name}`);
  };

const version: Check = (value) => {
  if (value !== 1)
    throw new TraceError("a trace of version 1 under the key tenure", described(value));
};

const event = row(text, ...new Array<Check>(10).fill(number));
const plan = record({
  title: text,
  slots: list(number),
  steps: list(text),
  boxes: list(row(number, number, number, number, number, text, text, text, text)),
  plannedBytes: number,
  lowerBoundBytes: number,
  budgetBytes: numberOrNone,
} satisfies Record<keyof TracedPlan, Check>);

const trace = record({
  version,
  level: text,
  dropped: number,
  device: textOrNull,
  texts: list(text),
  stacks: list(record({ place: text, frames: list(text) })),
  scopes: list(row(text, number, number, number, number, number)),
  events: list(event),
  figures: list(row(number, record({}))),
  plans: list(plan),
} satisfies Record<keyof TraceData, Check>);

/**
 * The trace in a file of JSON, as `JSON.parse` gave it.
 * @throws TraceError for anything else than what `memory.chromeTrace()` returns
 */
export function checkTrace(file: unknown): TraceData {
  const held = typeof file === "object" && file !== null ? (file as Fields)["tenure"] : undefined;
  if (typeof held !== "object" || held === null) version(undefined, "tenure");
  else version((held as Fields)["version"], "tenure");
  trace(held, "tenure");
  return held as TraceData;
}

/**
 * A file of JSON as an object.
 * @throws TraceError for a text that is no JSON
 */
export function parseTrace(file: string): unknown {
  try {
    return JSON.parse(file) as unknown;
  } catch {
    throw new TraceError("a file of JSON", described(file));
  }
}
