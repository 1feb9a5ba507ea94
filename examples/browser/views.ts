/**
 * The parts of the page that show what the worker tells: charts and figures, the leak, the answer
 * to a drawing, and what is said where there is no WebGPU. Called by main.ts. Owns the charts.
 */
import { Chart } from "./chart.ts";
import { element, megabytes, percent } from "./elements.ts";
import type { LeakReport, Owners, StepReport } from "./messages.ts";
import { sourceOf } from "./sources.ts";

/** Bytes. */
const mb = 1e6;

/** Layers of the memory chart, lowest first. */
const owners: readonly (readonly [keyof Owners, string])[] = [
  ["model", "model"],
  ["optimizer", "optimizer"],
  ["gradients", "gradients"],
  ["batch", "batch"],
  ["forgotten", "forgotten"],
  ["free", "free, for the next step"],
];

function chart(id: string, options: ConstructorParameters<typeof Chart>[2]): Chart {
  const legend = element(`${id}-legend`, HTMLUListElement);
  return new Chart(element(id, HTMLCanvasElement), legend, options);
}

/** Charts and figures of the training. */
export class Dashboard {
  readonly #loss = chart("loss", {
    title: "Loss",
    series: [{ name: "training", colour: "--c-train" }],
    format: (value) => value.toFixed(2),
  });
  readonly #accuracy = chart("accuracy", {
    title: "Accuracy",
    series: [
      { name: "training", colour: "--c-train" },
      { name: "test, after each epoch", colour: "--c-test", dots: true },
    ],
    top: 1,
    format: percent,
  });
  readonly #memory = chart("memory", {
    title: "GPU memory",
    series: owners.map(([key, name]) => ({ name, colour: `--c-${key}` })),
    stacked: true,
    format: megabytes,
  });
  #smooth: { loss: number; accuracy: number; weight: number } = { loss: 0, accuracy: 0, weight: 0 };
  /** When each of the last steps came, and its images. */
  #recent: { at: number; images: number }[] = [];

  /** Shows a step; loss and accuracy as means over about the last ten. */
  step({ step, epoch, loss, accuracy, images, tensors, owners: held }: StepReport): void {
    const s = this.#smooth;
    s.weight = 0.9 * s.weight + 0.1;
    s.loss = 0.9 * s.loss + 0.1 * loss;
    s.accuracy = 0.9 * s.accuracy + 0.1 * accuracy;
    this.#loss.add(step, [s.loss / s.weight]);
    this.#accuracy.add(step, [s.accuracy / s.weight, undefined]);
    this.#memory.add(
      step,
      owners.map(([key]) => held[key] / mb),
    );
    this.#recent.push({ at: performance.now(), images });
    if (this.#recent.length > 20) this.#recent.shift();
    const [first] = this.#recent,
      seconds = (performance.now() - (first?.at ?? 0)) / 1000,
      seen = this.#recent.slice(1).reduce((sum, r) => sum + r.images, 0);
    element("step", HTMLElement).textContent = `${step}, epoch ${epoch}`;
    if (seen > 0) element("rate", HTMLElement).textContent = (seen / seconds).toFixed(0);
    element("tensors", HTMLElement).textContent = String(tensors);
    element("bytes", HTMLElement).textContent = megabytes(
      Object.values<number>({ ...held }).reduce((sum, n) => sum + n, 0) / mb,
    );
  }

  /** Shows a test. */
  tested(step: number, accuracy: number): void {
    this.#accuracy.add(step, [undefined, accuracy]);
  }

  /** Breaks the measure of speed, as a pause does. */
  pause(): void {
    this.#recent = [];
  }

  /** Begins anew. */
  clear(): void {
    for (const chart of [this.#loss, this.#accuracy, this.#memory]) chart.clear();
    this.#smooth = { loss: 0, accuracy: 0, weight: 0 };
    this.pause();
    element("step", HTMLElement).textContent = "0";
    for (const id of ["rate", "tensors", "bytes"]) element(id, HTMLElement).textContent = "–";
  }
}

/**
 * Says which line leaks, with the line.
 *
 * @param isWanted whether it is still to be shown, asked once the line has been found
 */
export async function showLeak(leak: LeakReport, isWanted: () => boolean): Promise<void> {
  const source = await sourceOf(leak.made);
  if (!isWanted()) return;
  const where = source === null ? leak.made : `${source.file}, line ${source.line}`;
  const tensors = leak.perStep === 1 ? "1 tensor" : `${Number(leak.perStep.toFixed(2))} tensors`;
  element("leak-title", HTMLElement).textContent = `Leak found: ${where}`;
  const bytes = megabytes(leak.bytesPerStep / mb);
  element("leak-text", HTMLElement).textContent =
    `Each step leaves ${tensors} (${bytes}) behind, made by this line. ` +
    "Watch the memory above its usual level; switch off to free it.";
  const code = element("leak-code", HTMLElement);
  code.hidden = source === null;
  if (source !== null)
    code.replaceChildren(
      ...source.lines.map((text, i) => {
        const line = document.createElement(i === source.at ? "mark" : "span"),
          number = source.line + i - source.at;
        line.textContent = `${String(number).padStart(4)}  ${text}`;
        return line;
      }),
    );
  element("leak", HTMLElement).hidden = false;
}

/** Shows how likely each digit is; nothing where nothing is drawn. */
export function showAnswer(probabilities: readonly number[] | null, truth: number | null): void {
  const list = probabilities ?? new Array<number>(10).fill(0),
    best = probabilities === null ? -1 : list.indexOf(Math.max(...list));
  const answer = element("answer", HTMLElement);
  if (probabilities === null) answer.textContent = "Nothing drawn yet.";
  else
    answer.textContent =
      `It looks like a ${best} (${percent(list[best] ?? 0)}).` +
      (truth === null ? "" : truth === best ? " That is right." : ` It is a ${truth}.`);
  element("bars", HTMLElement).replaceChildren(
    ...list.map((p, digit) => {
      const row = document.createElement("li"),
        bar = document.createElement("i");
      bar.style.height = `${(100 * p).toFixed(1)}%`;
      row.className = digit === best ? "best" : "";
      row.append(bar, String(digit));
      return row;
    }),
  );
}

/** Shows the 28×28 values that the network gets. */
export function showSeen(pixels: Float32Array): void {
  const canvas = element("seen", HTMLCanvasElement),
    context = canvas.getContext("2d");
  if (context === null) return;
  const image = context.createImageData(28, 28);
  pixels.forEach((value, i) => {
    image.data.fill(Math.round(255 * value), 4 * i, 4 * i + 3);
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

/** Puts a message in the place of the whole page. */
export function showProblem(noDevice: boolean, message: string): void {
  element("app", HTMLElement).hidden = true;
  element("problem", HTMLElement).hidden = false;
  element("problem-title", HTMLElement).textContent = noDevice
    ? "This browser shows the page no GPU"
    : "The training has stopped";
  element("problem-text", HTMLElement).textContent = noDevice
    ? "The network trains with WebGPU, which this browser lacks or has switched off."
    : message;
  element("problem-advice", HTMLElement).hidden = !noDevice;
}
