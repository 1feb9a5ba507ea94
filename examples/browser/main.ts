/**
 * The page: starts the worker, sends it what the user wants, shows what it tells. Holds no tensor;
 * owns the worker, which owns everything on the GPU.
 */
import { element } from "./elements.ts";
import type { Network, News, Order } from "./messages.ts";
import { Pad } from "./pad.ts";
import { Dashboard, showAnswer, showLeak, showProblem, showSeen } from "./views.ts";

class Page {
  readonly #dashboard = new Dashboard();
  readonly #run = element("run", HTMLButtonElement);
  readonly #network = element("network", HTMLSelectElement);
  readonly #forget = element("forget", HTMLInputElement);
  readonly #sample = element("sample", HTMLButtonElement);
  readonly #pad = new Pad(element("pad", HTMLCanvasElement), (pixels) => this.#drawn(pixels));
  #worker: Worker;
  #ready = false;
  #running = false;
  #device = "";
  /** What is on the pad, and how many drawings there were: an answer to an older one is old. */
  #drawing: Float32Array | null = null;
  #drawings = 0;
  /** The label of the test image on the pad. */
  #truth: number | null = null;
  /** When the drawing was last looked at. */
  #asked = 0;

  constructor() {
    this.#worker = this.#hire(undefined);
    this.#run.addEventListener("click", () => this.#setRunning(!this.#running));
    this.#network.addEventListener("change", () => this.#restart());
    this.#forget.addEventListener("change", () => this.#setForget(this.#forget.checked));
    this.#sample.addEventListener("click", () => this.#send({ kind: "sample" }));
    element("clear", HTMLButtonElement).addEventListener("click", () => this.#pad.clear());
    showAnswer(null, null);
  }

  #hire(network: Network | undefined): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<News>) => this.#hear(data));
    worker.addEventListener("error", ({ message }) => showProblem(false, message));
    worker.postMessage({ kind: "begin", network } satisfies Order);
    return worker;
  }

  #send(order: Order): void {
    this.#worker.postMessage(order);
  }

  #hear(news: News): void {
    if (news.kind === "ready") this.#begin(news.device, news.network);
    else if (news.kind === "step") {
      this.#dashboard.step(news);
      // A drawing is judged anew as the network learns.
      if (performance.now() - this.#asked > 1000) this.#ask();
    } else if (news.kind === "test") this.#dashboard.tested(news.step, news.accuracy);
    else if (news.kind === "leak") {
      void showLeak(news, () => this.#forget.checked);
    } else if (news.kind === "full") {
      this.#forget.checked = false;
      this.#say(`Stopped forgetting after ${news.tensors} tensors, and freed them.`);
    } else if (news.kind === "sample") {
      this.#pad.put(news.pixels);
      this.#truth = news.label;
    } else if (news.kind === "digit") {
      if (news.id === this.#drawings && this.#drawing !== null)
        showAnswer(news.probabilities, this.#truth);
    } else showProblem(news.noDevice, news.message);
  }

  #begin(device: string, network: Network): void {
    this.#ready = true;
    this.#device = device;
    this.#network.value = network;
    for (const control of [this.#run, this.#network, this.#forget, this.#sample])
      control.disabled = false;
    this.#say(`Ready on ${device}.`);
    this.#ask();
  }

  #say(text: string): void {
    element("status", HTMLElement).textContent = text;
  }

  #setRunning(running: boolean): void {
    this.#running = running;
    this.#run.textContent = running ? "Pause" : "Go on";
    this.#dashboard.pause();
    this.#send({ kind: "run", running });
    this.#say(running ? `Training on ${this.#device}.` : "Paused.");
  }

  #setForget(forget: boolean): void {
    this.#send({ kind: "forget", forget });
    element("leak", HTMLElement).hidden = true;
    this.#say(
      forget
        ? "Forgetting a tensor a step. The loop is watched, and the line will be named."
        : "What was forgotten is freed.",
    );
  }

  /** Another network: a new worker. The old one's memory goes with it. */
  #restart(): void {
    this.#worker.terminate();
    this.#ready = this.#running = false;
    this.#forget.checked = false;
    element("leak", HTMLElement).hidden = true;
    this.#run.textContent = "Start training";
    for (const control of [this.#run, this.#forget, this.#sample]) control.disabled = true;
    this.#dashboard.clear();
    this.#say("Starting the GPU…");
    this.#worker = this.#hire(this.#network.value === "cnn" ? "cnn" : "mlp");
  }

  #drawn(pixels: Float32Array): void {
    this.#truth = null;
    this.#drawing = pixels.some((value) => value > 0) ? pixels : null;
    this.#drawings++;
    showSeen(pixels);
    if (this.#drawing === null) showAnswer(null, null);
    this.#ask();
  }

  #ask(): void {
    if (this.#drawing === null || !this.#ready) return;
    this.#asked = performance.now();
    this.#send({ kind: "classify", id: this.#drawings, pixels: this.#drawing });
  }
}

element("again", HTMLButtonElement).addEventListener("click", () => location.reload());
if ("gpu" in navigator && navigator.gpu !== undefined) new Page();
else showProblem(true, "");
