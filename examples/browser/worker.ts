/**
 * The worker: starts the GPU, trains, and answers the page. Owns the training, which lives as long
 * as the worker does.
 */
import { DeviceLostError, deviceInfo, init, manualSeed } from "tenure";
import { digits } from "./digits.ts";
import type { Network, News, Order } from "./messages.ts";
import { Training } from "./training.ts";

function tell(news: News): void {
  self.postMessage(news);
}

async function begin(wanted: Network | undefined): Promise<void> {
  try {
    await init();
  } catch (error) {
    failed(error, error instanceof DeviceLostError);
    return;
  }
  const { name = "", kind } = deviceInfo() ?? {};
  manualSeed(1);
  const [train, test] = await Promise.all([digits("train"), digits("test")]);
  const network = wanted ?? (kind === "software" ? "mlp" : "cnn"); // what a processor is fast at
  using training = new Training(network, train, test, {
    step: (report) => {
      tell({ kind: "step", ...report });
    },
    tested: (step, accuracy) => {
      tell({ kind: "test", step, accuracy });
    },
    leak: (report) => {
      tell({ kind: "leak", ...report });
    },
    full: (tensors) => {
      tell({ kind: "full", tensors });
    },
  });
  self.addEventListener("message", ({ data }: MessageEvent<Order>) => {
    obey(training, test, data).catch((error: unknown) => failed(error));
  });
  tell({ kind: "ready", network, device: kind === "gpu" ? name : `${name} (software)` });
  await training.run();
}

async function obey(
  training: Training,
  { images, labels }: Awaited<ReturnType<typeof digits>>,
  order: Order,
): Promise<void> {
  if (order.kind === "run") {
    if (order.running) training.resume();
    else training.pause();
  } else if (order.kind === "forget") training.forget(order.forget);
  else if (order.kind === "classify") {
    const probabilities = await training.classify(order.pixels);
    tell({ kind: "digit", id: order.id, probabilities });
  } else if (order.kind === "sample") {
    const n = Math.floor(Math.random() * labels.length);
    tell({
      kind: "sample",
      pixels: images.slice(n * 784, (n + 1) * 784),
      label: labels[n] ?? 0,
    });
  }
}

/** @param noDevice whether there never was one: a device that was lost is another matter */
function failed(error: unknown, noDevice = false): void {
  tell({
    kind: "failed",
    noDevice,
    message: error instanceof Error ? error.message : String(error),
  });
}

self.addEventListener("message", ({ data }: MessageEvent<Order>) => {
  if (data.kind === "begin") begin(data.network).catch((error: unknown) => failed(error));
});
