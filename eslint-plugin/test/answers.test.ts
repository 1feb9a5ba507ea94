/**
 * What a promise answers with, in the callback that waits for it: it is the callback's, on every
 * way out. `// !` marks the line of the one report.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("answers");
const finds = marked(test);

/** A component that starts loading, and stops with what it has. */
const started = (answer: string, made = "return zeros([2]);"): string =>
  `import { zeros, type Tensor } from "tenure";
let known: Tensor | undefined;
const load = async (): Promise<Tensor> => { await Promise.resolve(); ${made} };
export function start(): () => void {
  let isStopped = false;
  let shown: Tensor | null = null;
  ${answer}
  return () => { isStopped = true; shown?.dispose(); };
}
export const last = (): string => known?.dtype ?? "";`;
const kept = "if (isStopped) return; shown = image;";

finds("dropped on the way out", started(`void load().then((image) => { ${kept} }); // !`));
finds("kept on every way", started("void load().then((image) => { shown = image; });"));
finds(
  "ended on the way out",
  started("void load().then((i) => { if (isStopped) { i.dispose(); return; } shown = i; });"),
);
finds(
  "that somebody else has, too",
  started(`void load().then((image) => { ${kept} });`, "return (known ??= zeros([2]));"),
);
finds(
  "handed on to whoever waits",
  started(
    "void load().then((i) => { if (isStopped) return i; return i; }).then((i) => { shown = i; });",
  ),
);

/** A script that goes on from what a library without types promises. */
const script = (after: string): string => `
function denoise(samples) {
  tf.loadGraphModel("/model.json").then(function (model) {${after}
    console.log(tf.tidy(() => model.predict(tf.tensor(samples)).dataSync()));
END  });
}
document.onclick = () => denoise([1]);`;
finds("of a library without types", script(" // !").replace("END", ""), "tfjs");
finds(
  "of a library without types, ended",
  script("").replace("END", "    model.dispose();\n"),
  "tfjs",
);

test.run();
