/**
 * What an effect of a component keeps only when something it waits for is done, and its clean-up
 * ends: where the clean-up runs first, it finds nothing. Each is a program of which the marked
 * lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("late starts");
const finds = marked(test);

/** A component whose effect starts a renderer. */
const view = (effect: string): string => `
declare function useEffect(f: () => () => void, d: unknown[]): void;
declare function useRef<T>(x: T): { current: T };
declare function ask(signal?: AbortSignal): Promise<GPUDevice>;
class Renderer {
  private readonly depth: GPUTexture;
  constructor(device: GPUDevice) {
    this.depth = device.createTexture({});
  }
  get width(): number {
    return this.depth.width;
  }
  destroy(): void {
    this.depth.destroy();
  }
}
const create = async (): Promise<Renderer> => new Renderer(await ask());
export function View(canvas: { width: number; current: object | null }): void {
  const kept = useRef<Renderer | null>(null);
  useEffect(() => {
    ${effect}
  }, []);
}
`;
const end = "return () => { kept.current?.destroy(); kept.current = null; };";
const started = (body: string, more = ""): string =>
  view(`const start = async () => {\n${body}\n};\nvoid start();\n${more}${end}`);
const keep = "kept.current = renderer;";
finds(
  "a renderer kept after a wait",
  started(`const device = await ask();\nconst renderer = new Renderer(device); // !\n${keep}`),
  "webgpu",
);
finds(
  "one that is kept at once",
  started("const device = await ask();\nkept.current = new Renderer(device); // !"),
  "webgpu",
);
finds(
  "a variable that a callback fills",
  view(`let shown: Renderer | null = null;
    void create().then((made) => { // !
      shown = made;
    });
    return () => { shown?.destroy(); };`),
  "webgpu",
);
finds(
  "a question about what it waited for",
  started(`const device = await ask();
    if (!device) return;
    const renderer = new Renderer(device); // !
    ${keep}`),
  "webgpu",
);
finds(
  "a question whether it is gone",
  started(
    `const device = await ask();
    if (isGone) return;
    const renderer = new Renderer(device);
    ${keep}`,
    "let isGone = false;\n",
  ),
  "webgpu",
);
finds(
  "a question whether there still is a canvas",
  started(
    `const renderer = await create();\nif (canvas.current) ${keep}\nelse renderer.destroy();`,
  ),
  "webgpu",
);
finds(
  "a wait that the clean-up breaks off",
  view(`const stop = new AbortController();
    const start = async () => {
      const device = await ask(stop.signal);
      const renderer = new Renderer(device);
      ${keep}
    };
    void start();
    return () => { stop.abort(); kept.current?.destroy(); };`),
  "webgpu",
);
finds(
  "one that is kept before the wait",
  view(`const renderer = new Renderer({} as GPUDevice);
    ${keep}
    const start = async () => { await ask(); canvas.width = renderer.width; };
    void start();
    ${end}`),
  "webgpu",
);
finds(
  "a clean-up that waits, too",
  view(`const starting = create();
    return () => { void starting.then((made) => { made.destroy(); }); };`),
  "webgpu",
);

/** The same function, which is given something to ask. */
const asked = (parameter: string, ask: string, given: string, cleanUp: string): string =>
  view(`const stop = new AbortController();
    let isGone = false;
    const check = () => { if (isGone) throw new Error("gone"); };
    const start = async (${parameter}) => {
      const device = await ask();
      ${ask}
      const renderer = new Renderer(device);
      ${keep}
    };
    void start(${given});
    return () => { ${cleanUp} check(); isGone = true; kept.current?.destroy(); };`);
const quiet = "canvas.width = 0;";
for (const [what, parameter, ask, given] of [
  ["a parameter", "signal: AbortSignal", "if (signal.aborted) return;", "stop.signal"],
  ["a part of what is outside", "", "const { signal } = stop; if (signal.aborted) return;", ""],
  ["a name for an answer", "", "const isNew = !isGone; if (!isNew) return;", ""],
  ["what throws", "", "stop.signal.throwIfAborted();", ""],
  ["a function that throws", "", "check();", ""],
  ["a switch", "", "switch (isGone) { case true: return; default: }", ""],
] as const)
  finds(`a question by ${what}`, asked(parameter, ask, given, quiet), "webgpu");
finds(
  "a question by `||`",
  started(
    "const device = await ask();\nisGone || (kept.current = new Renderer(device));",
    "let isGone = false;\n",
  ),
  "webgpu",
);
finds(
  "an earlier answer that throws",
  view(`let isGone = false;
    ask()
      .then((device) => { if (isGone) throw new Error("gone"); return device; })
      .then((device) => { kept.current = new Renderer(device); });
    return () => { isGone = true; kept.current?.destroy(); };`),
  "webgpu",
);

const model = (body: string, more = ""): string => `
import * as tf from "@tensorflow/tfjs";
import { useEffect, useRef } from "react";
export function View() {
  const kept = useRef(null);
  const isShown = useRef(true);
  useEffect(() => {
    ${body}
    return () => { ${more} kept.current?.dispose(); };
  }, []);
}
`;
const load = 'tf.loadLayersModel("/model.json")';
finds("a model of a script", model(`${load}.then((m) => { kept.current = m; }); // !`), "tfjs");
finds(
  "one that a function waits for",
  model(`async function load() {
      const m = await ${load}; // !
      kept.current = m;
    }
    load();`),
  "tfjs",
);
finds(
  "one of which it asks whether it is shown",
  model(
    `${load}.then((m) => { if (isShown.current) kept.current = m; else m.dispose(); });`,
    "isShown.current = false;",
  ),
  "tfjs",
);

test.run();
