/**
 * Zoom and pan of a canvas by mouse, touch and keys. Called by the page. Owns its listeners, which
 * live as long as the canvas.
 */
import { AXIS } from "./sheet.ts";
import { type Model, indexAt } from "./model.ts";

/** What is seen: positions at the left and right edge. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** Where events lie: in ms, or one beside the other. */
export interface Axis {
  readonly unit: "ms" | "events";
  readonly whole: View;
  /** Position of an event. */
  of(index: number): number;
  /** Position of a time. */
  ofTime(ms: number): number;
  /** Index of the last event at or before a position, -1 for none. */
  indexAt(position: number): number;
}

/** An axis of time, or of events. */
export function axisOf({ at }: Model, unit: Axis["unit"]): Axis {
  const last = at.length - 1;
  const from = at[0] ?? 0;
  if (unit === "ms")
    return {
      unit,
      whole: { from, to: Math.max(from + 0.001, at[last] ?? 0) },
      of: (index) => at[index] ?? 0,
      ofTime: (ms) => ms,
      indexAt: (position) => indexAt(at, position),
    };
  return {
    unit,
    whole: { from: 0, to: Math.max(1, last) },
    of: (index) => index,
    ofTime: (ms) => Math.max(0, indexAt(at, ms)),
    indexAt: (position) => Math.min(last, Math.floor(position)),
  };
}

/** Whether one wait takes so much of the time that events are hard to see on an axis of time. */
export function hasLongWait({ at }: Model): boolean {
  const range = (at.at(-1) ?? 0) - (at[0] ?? 0);
  return at.some((ms, i) => i > 0 && ms - (at[i - 1] ?? 0) > range / 5);
}

/** The horizontal place of a position. */
export function xOf(position: number, { from, to }: View, width: number): number {
  return AXIS + ((position - from) / (to - from)) * (width - AXIS);
}

/** Called with a place on a canvas, in pixels. */
type Place = (x: number, y: number) => void;

/** The view of one or more canvases that share an axis. */
export class Zoom {
  view: View;
  #whole: View;
  readonly #changed: () => void;

  constructor(whole: View, changed: () => void) {
    this.view = this.#whole = whole;
    this.#changed = changed;
  }

  /** Shows all of another axis. */
  reset(whole: View): void {
    this.#whole = whole;
    this.look(whole.from, whole.to);
  }

  /** Shows a part, or as much of it as there is. */
  look(from: number, to: number): void {
    const { from: first, to: last } = this.#whole;
    const wide = Math.min(last - first, Math.max((last - first) / 1e5, to - from));
    const start = Math.min(Math.max(first, from), last - wide);
    this.view = { from: start, to: start + wide };
    this.#changed();
  }

  /** Zooms around a position. */
  zoom(factor: number, around = (this.view.from + this.view.to) / 2): void {
    const { from, to } = this.view;
    this.look(around - (around - from) * factor, around + (to - around) * factor);
  }

  /** Moves by a part of what is seen. */
  pan(part: number): void {
    const by = (this.view.to - this.view.from) * part;
    this.look(this.view.from + by, this.view.to + by);
  }

  /** The position at a pixel. */
  positionAt(x: number, width: number): number {
    const { from, to } = this.view;
    return from + (Math.max(0, x - AXIS) / (width - AXIS)) * (to - from);
  }

  /** Does what a key or a button asks for. @returns whether it knows it */
  act(key: string): boolean {
    if (key === "+" || key === "=" || key === "w") this.zoom(0.5);
    else if (key === "-" || key === "s") this.zoom(2);
    else if (key === "ArrowLeft" || key === "a") this.pan(-0.2);
    else if (key === "ArrowRight" || key === "d") this.pan(0.2);
    else if (key === "0" || key === "Home") this.reset(this.#whole);
    else return false;
    return true;
  }

  /** Listens to a canvas. */
  listen(canvas: HTMLCanvasElement, hovered: Place, picked: Place): void {
    let drag: { readonly x: number; readonly view: View; moved: boolean } | null = null;
    canvas.addEventListener("keydown", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey && this.act(e.key)) e.preventDefault();
    });
    const onWheel = (e: WheelEvent): void => {
      if (!e.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(e.deltaX / canvas.clientWidth);
      else this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.positionAt(e.offsetX, canvas.clientWidth));
    };
    canvas.addEventListener("wheel", onWheel, { passive: false });
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, view: this.view, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      hovered(e.offsetX, e.offsetY);
      if (drag === null || (!drag.moved && Math.abs(e.offsetX - drag.x) < 4)) return;
      drag.moved = true;
      const { from, to } = drag.view;
      const by = ((drag.x - e.offsetX) / (canvas.clientWidth - AXIS)) * (to - from);
      this.look(from + by, to + by);
    });
    canvas.addEventListener("pointerup", (e) => {
      if (drag?.moved === false) picked(e.offsetX, e.offsetY);
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
    });
  }
}
