/**
 * What all examples print of their progress, above all a line: redrawn on a terminal, which it
 * never is wider than; in a log, a whole line now and then. Called by their training loops. Text
 * only.
 */
import { memory } from "tenure";

/** Where a loop stands. */
export interface Standing {
  readonly label: string;
  readonly step: number;
  readonly total: number;
  /** Steps that were done when the clock began, as in a run that is resumed. */
  readonly before?: number;
  /** Since the first step began. */
  readonly seconds: number;
  /** What else to say, the most important first: the last go where there is no room. */
  readonly parts: readonly string[];
}

/** Minutes and seconds, with hours where there are some. */
function time(seconds: number): string {
  const s = Math.max(0, Math.round(seconds)),
    two = (n: number): string => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

/** `1 epoch`, `2 epochs`. */
export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** The line, at most `columns` characters. At the end it says what was needed, before what is. */
export function progressLine(standing: Standing, columns = Infinity): string {
  const { label, step, total, before = 0, seconds, parts } = standing;
  const rest = (seconds / (step - before)) * (total - step),
    clock = step === total ? `took ${time(seconds)}` : `ETA ${time(rest)}`;
  const kept = [`${step}/${total}`, clock, ...parts],
    line = (width: number): string => {
      const full = Math.round((width * step) / total);
      return `${label} ${"█".repeat(full)}${"░".repeat(width - full)} ${kept.join("  ")}`;
    };
  for (;;) {
    for (const width of [24, 12, 6]) if (line(width).length <= columns) return line(width);
    if (kept.length === 1) return line(0).slice(0, columns);
    kept.pop();
  }
}

/** Weighted means of numbers by name, for the line to show. A resumed run goes on in them. */
export class Means {
  readonly #sums = new Map<string, number>();
  #weight = 0;

  /** Adds one set of numbers; what was added before keeps `keep` of its weight, all by default. */
  add(values: Readonly<Record<string, number>>, keep = 1): void {
    this.#weight = keep * this.#weight + 1;
    for (const [name, value] of Object.entries(values))
      this.#sums.set(name, keep * (this.#sums.get(name) ?? 0) + value);
  }

  /** The mean of a number; NaN before any was added. */
  of(name: string): number {
    return (this.#sums.get(name) ?? 0) / this.#weight;
  }

  /** Begins anew, from what `state` said, or from nothing. */
  restart({ weight = 0, ...sums }: Readonly<Record<string, number>> = {}): void {
    this.#weight = weight;
    this.#sums.clear();
    for (const [name, sum] of Object.entries(sums)) this.#sums.set(name, sum);
  }

  /** The sums and their weight, to be saved. */
  state(): Record<string, number> {
    return { ...Object.fromEntries(this.#sums), weight: this.#weight };
  }
}

/** Shows where a loop of `total` steps stands. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #before: number;
  readonly #start = performance.now();
  #lastShown = -Infinity;

  /** @param before steps done already */
  constructor(label: string, total: number, before = 0) {
    this.#label = label;
    this.#total = total;
    this.#before = before;
  }

  /** Seconds since it was made. */
  get seconds(): number {
    return (performance.now() - this.#start) / 1000;
  }

  /** Says `parts` and what memory holds, if it is time to. */
  show(step: number, ...parts: readonly string[]): void {
    const now = performance.now(),
      last = step === this.#total,
      terminal = process.stdout.isTTY;
    if (!last && now - this.#lastShown < (terminal ? 100 : 10_000)) return;
    this.#lastShown = now;
    const { threadTotalLiveCount, deviceBytes, devicePeakBytes } = memory.stats(),
      mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    const standing = {
      label: this.#label,
      step,
      total: this.#total,
      before: this.#before,
      seconds: this.seconds,
      parts: [
        ...parts,
        `GPU ${mb(deviceBytes)}`,
        `${threadTotalLiveCount} tensors`,
        `peak in use ${mb(devicePeakBytes)}`,
      ],
    };
    // One column stays free: a terminal wraps when the last is taken.
    const line = progressLine(standing, terminal ? process.stdout.columns - 1 : Infinity);
    process.stdout.write(terminal ? `\r\x1b[2K${line}${last ? "\n" : ""}` : `${line}\n`);
  }
}
