/**
 * The drawing pad: pointer, touch and keyboard put ink on a canvas; whoever listens gets 28×28
 * values after each stroke. Owns the ink.
 */
import { centred } from "./centre.ts";

/** Width of a stroke in pixels of the canvas, about that of a pen in MNIST's 20×20 box. */
const stroke = 22;
/** How far an arrow key moves the pen. */
const stride = 10;

/** Draws on `canvas`, which is white paper with black ink in every colour scheme. */
export class Pad {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #changed: (pixels: Float32Array) => void;
  readonly #pen: { x: number; y: number; down: boolean; shown: boolean };
  /** The ink without the pen's cross. */
  #ink: ImageData;

  constructor(canvas: HTMLCanvasElement, changed: (pixels: Float32Array) => void) {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("pad: expected a canvas with a 2d context, got none");
    this.#canvas = canvas;
    this.#context = context;
    this.#changed = changed;
    this.#pen = { x: canvas.width / 2, y: canvas.height / 4, down: false, shown: false };
    context.lineCap = "round";
    context.lineJoin = "round";
    this.#ink = this.#blank();
    this.#listenToPointer();
    this.#listenToKeys();
  }

  /** Takes all ink away. */
  clear(): void {
    this.#ink = this.#blank();
    this.#pen.down = false;
    this.#show();
    this.#changed(new Float32Array(784));
  }

  /** Shows an image of 28×28 bytes, as MNIST has them, as if it had been drawn. */
  put(image: Uint8Array): void {
    const { width, height } = this.#canvas;
    const small = new OffscreenCanvas(28, 28),
      drawing = small.getContext("2d");
    if (drawing === null) return;
    const data = drawing.createImageData(28, 28);
    image.forEach((value, i) => {
      data.data.fill(255 - value, 4 * i, 4 * i + 3);
      data.data[4 * i + 3] = 255;
    });
    drawing.putImageData(data, 0, 0);
    this.#context.drawImage(small, 0, 0, width, height);
    this.#keep();
    this.#tell();
  }

  #blank(): ImageData {
    const { width, height } = this.#canvas;
    this.#context.fillStyle = "#ffffff";
    this.#context.fillRect(0, 0, width, height);
    return this.#context.getImageData(0, 0, width, height);
  }

  #keep(): void {
    this.#ink = this.#context.getImageData(0, 0, this.#canvas.width, this.#canvas.height);
  }

  #tell(): void {
    const { data, width } = this.#ink;
    const ink = Float32Array.from(
      { length: data.length / 4 },
      (_, i) => 1 - (data[4 * i] ?? 255) / 255,
    );
    this.#changed(centred(ink, width));
  }

  /** Ink from one point to another. */
  #line(x0: number, y0: number, x1: number, y1: number): void {
    this.#context.putImageData(this.#ink, 0, 0);
    this.#context.strokeStyle = "#000000";
    this.#context.lineWidth = stroke;
    this.#context.beginPath();
    this.#context.moveTo(x0, y0);
    this.#context.lineTo(x1 + 0.01, y1);
    this.#context.stroke();
    this.#keep();
  }

  /** The ink, and the pen's cross while the keyboard moves it. */
  #show(): void {
    const { x, y, down, shown } = this.#pen;
    this.#context.putImageData(this.#ink, 0, 0);
    if (!shown) return;
    this.#context.strokeStyle = down ? "#d55e00" : "#0072b2";
    this.#context.lineWidth = 2;
    this.#context.beginPath();
    this.#context.arc(x, y, stroke / 2, 0, 2 * Math.PI);
    this.#context.moveTo(x - 4, y);
    this.#context.lineTo(x + 4, y);
    this.#context.moveTo(x, y - 4);
    this.#context.lineTo(x, y + 4);
    this.#context.stroke();
  }

  #listenToPointer(): void {
    const canvas = this.#canvas;
    let last: readonly [number, number] | null = null;
    const place = (event: PointerEvent): readonly [number, number] => {
      const { left, top, width } = canvas.getBoundingClientRect(),
        scale = canvas.width / width;
      return [(event.clientX - left) * scale, (event.clientY - top) * scale];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.#pen.shown = false;
      last = place(event);
      this.#line(...last, ...last);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (last === null) return;
      const next = place(event);
      this.#line(...last, ...next);
      last = next;
    });
    const end = (): void => {
      if (last !== null) this.#tell();
      last = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
  }

  #listenToKeys(): void {
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [-stride, 0],
      ArrowRight: [stride, 0],
      ArrowUp: [0, -stride],
      ArrowDown: [0, stride],
    };
    this.#canvas.addEventListener("keydown", (event) => {
      const pen = this.#pen,
        move = moves[event.key];
      if (event.key === " ") {
        pen.down = !pen.down;
        if (pen.down) this.#line(pen.x, pen.y, pen.x, pen.y);
        else this.#tell();
      } else if (event.key === "Delete" || event.key === "Backspace") this.clear();
      else if (move !== undefined) {
        const { width, height } = this.#canvas;
        const x = Math.min(width, Math.max(0, pen.x + move[0])),
          y = Math.min(height, Math.max(0, pen.y + move[1]));
        if (pen.down) this.#line(pen.x, pen.y, x, y);
        [pen.x, pen.y] = [x, y];
      } else return;
      event.preventDefault();
      pen.shown = true;
      this.#show();
    });
    this.#canvas.addEventListener("blur", () => {
      if (this.#pen.down) this.#tell();
      this.#pen.down = this.#pen.shown = false;
      this.#show();
    });
  }
}
