/**
 * Live line and area charts on a canvas: axes, grid, a legend in HTML, a text for screen readers.
 * Called by the page; draws at most once a frame. Owns the points, a thousand at most.
 */

/** One line, or one layer of areas. */
export interface Series {
  readonly name: string;
  /** Name of a CSS variable. */
  readonly colour: string;
  /** Drawn with a dot at each value, for values that come seldom. */
  readonly dots?: boolean;
}

/** What a chart shows, and how its numbers are written. */
export interface ChartOptions {
  readonly title: string;
  readonly series: readonly Series[];
  /** Layers on each other instead of lines. */
  readonly stacked?: boolean;
  /** Top of the axis; the largest value by default. */
  readonly top?: number;
  readonly format: (value: number) => string;
}

interface Point {
  readonly step: number;
  readonly values: readonly (number | undefined)[];
}

/** Beyond this, every other point goes. */
const mostPoints = 1000;
const margin = { left: 62, right: 10, top: 8, bottom: 24 };

/** The distance of grid lines, 1, 2 or 5 times a power of ten, so that about four fit. */
export function gridStep(top: number): number {
  const raw = top / 4,
    power = 10 ** Math.floor(Math.log10(raw));
  return power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
}

/** A chart on `canvas`, with its legend in `legend`. */
export class Chart {
  readonly #canvas: HTMLCanvasElement;
  readonly #options: ChartOptions;
  readonly #values: readonly HTMLElement[];
  #points: Point[] = [];
  /** Only every so many steps is kept. */
  #every = 1;
  #latest: (number | undefined)[] = [];
  #step = 0;
  #spoken = 0;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, legend: HTMLElement, options: ChartOptions) {
    this.#canvas = canvas;
    this.#options = options;
    this.#values = options.series.map(({ name, colour }) => {
      const row = document.createElement("li"),
        mark = document.createElement("i"),
        value = document.createElement("b");
      mark.style.background = `var(${colour})`;
      row.append(mark, `${name} `, value);
      legend.append(row);
      return value;
    });
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  /** Adds a value for each series; undefined for none at this step. */
  add(step: number, values: readonly (number | undefined)[]): void {
    this.#step = step;
    this.#latest = values.map((value, i) => value ?? this.#latest[i]);
    const seldom = this.#options.series.some(({ dots }, i) => dots && values[i] !== undefined);
    if (seldom || step % this.#every === 0) this.#points.push({ step, values });
    if (this.#points.length > mostPoints) {
      this.#every *= 2;
      this.#points = this.#points.filter((_, i) => i % 2 === 0);
    }
    this.redraw();
  }

  /** Forgets all points. */
  clear(): void {
    [this.#points, this.#latest, this.#every, this.#step] = [[], [], 1, 0];
    this.redraw();
  }

  /** Draws in the next frame. */
  redraw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
      this.#say();
    });
  }

  #say(): void {
    const { title, series, format } = this.#options;
    const texts = this.#latest.map((value) => (value === undefined ? "–" : format(value)));
    this.#values.forEach((element, i) => {
      element.textContent = texts[i] ?? "–";
    });
    const now = performance.now();
    if (now - this.#spoken < 1000) return; // screen readers need no sixty texts a second
    this.#spoken = now;
    const said = series.map(({ name }, i) => `${name} ${texts[i] ?? "none"}`).join(", ");
    this.#canvas.setAttribute("aria-label", `${title} at step ${this.#step}: ${said}`);
  }

  #top(): number {
    const { top, stacked, series } = this.#options;
    if (top !== undefined) return top;
    let most = 0;
    for (const { values } of this.#points)
      most = Math.max(
        most,
        stacked
          ? values.reduce<number>((sum, v) => sum + (v ?? 0), 0)
          : Math.max(...series.map((_, i) => values[i] ?? 0)),
      );
    return most === 0 ? 1 : most * 1.05;
  }

  #draw(): void {
    const canvas = this.#canvas,
      context = canvas.getContext("2d");
    const { clientWidth: width, clientHeight: height } = canvas;
    if (context === null || width === 0) return;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    const style = getComputedStyle(canvas),
      colour = (name: string): string => style.getPropertyValue(name);
    const top = this.#top(),
      steps = Math.max(10, this.#step);
    const x = (step: number): number =>
        margin.left + ((width - margin.left - margin.right) * step) / steps,
      y = (value: number): number =>
        height - margin.bottom - ((height - margin.top - margin.bottom) * value) / top;
    this.#drawAxes(context, { top, steps, x, y, line: colour("--line"), text: colour("--quiet") });
    const below = this.#points.map(() => 0);
    this.#options.series.forEach((series, i) => {
      context.fillStyle = context.strokeStyle = colour(series.colour);
      if (this.#options.stacked) this.#drawLayer(context, i, below, x, y);
      else this.#drawLine(context, series, i, x, y);
    });
  }

  #drawAxes(
    context: CanvasRenderingContext2D,
    axes: {
      readonly top: number;
      readonly steps: number;
      readonly x: (step: number) => number;
      readonly y: (value: number) => number;
      readonly line: string;
      readonly text: string;
    },
  ): void {
    const { top, steps, x, y, line, text } = axes;
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.fillStyle = text;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const grid = gridStep(top);
    for (let value = 0; value <= top * 1.0001; value += grid) {
      const at = Math.round(y(value)) + 0.5;
      context.beginPath();
      context.moveTo(x(0), at);
      context.lineTo(x(steps), at);
      context.stroke();
      context.fillText(this.#options.format(value).replace(/\.0+ /, " "), x(0) - 6, at);
    }
    context.textBaseline = "alphabetic";
    context.fillText("steps", x(steps), y(0) + 17);
    context.textAlign = "center";
    const stride = Math.max(1, gridStep(steps)),
      room = context.measureText("steps").width + context.measureText(String(steps)).width;
    for (let step = 0; x(steps) - x(step) > room; step += stride) {
      context.fillRect(Math.round(x(step)), y(0), 1, 4);
      context.fillText(String(step), x(step), y(0) + 17);
    }
  }

  #drawLine(
    context: CanvasRenderingContext2D,
    { dots }: Series,
    index: number,
    x: (step: number) => number,
    y: (value: number) => number,
  ): void {
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.beginPath();
    const shown = this.#points.filter(({ values }) => values[index] !== undefined);
    for (const { step, values } of shown) context.lineTo(x(step), y(values[index] ?? 0));
    context.stroke();
    if (dots)
      for (const { step, values } of shown) {
        context.beginPath();
        context.arc(x(step), y(values[index] ?? 0), 4, 0, 2 * Math.PI);
        context.fill();
      }
  }

  /** One layer on top of `below`, with steps where memory steps; adds its own height to `below`. */
  #drawLayer(
    context: CanvasRenderingContext2D,
    index: number,
    below: number[],
    x: (step: number) => number,
    y: (value: number) => number,
  ): void {
    const points = this.#points;
    points.forEach(({ step, values }, k) => {
      const value = values[index] ?? 0,
        low = below[k] ?? 0,
        next = points[k + 1]?.step ?? step + 1;
      // From pixel to pixel: no seams between neighbours.
      const [left, right] = [Math.floor(x(step - 1)), Math.ceil(x(next - 1))];
      context.fillRect(left, y(low + value), right - left, y(low) - y(low + value));
      below[k] = low + value;
    });
  }
}
