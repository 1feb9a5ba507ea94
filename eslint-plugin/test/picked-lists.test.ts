/**
 * Lists that are picked out of by places, `kept.map((i) => xs[i])`, whose others are out of reach;
 * and where what is lost is told: once, and where it is made.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("picked lists");
const finds = marked(test);

const store = (prune: string): string =>
  `import { ones, type Tensor } from "tenure";
export class Samples {
  #xs: Tensor[] = [];
  #times: number[] = [];
  add(): void {
    this.#xs.push(ones([2]));
    this.#times.push(Date.now());
  }
  prune(now: number, order: number[]): void {
    const kept = this.#times.map((t, i) => (now - t < 9 ? i : -1)).filter((i) => i >= 0);
    ${prune}
    this.#times = kept.map((i) => this.#times[i]!);
    console.log(order);
  }
  dispose(): void { this.#xs.forEach((x) => x.dispose()); }
}`;
finds("what a filter leaves of places", store("this.#xs = kept.map((i) => this.#xs[i]!); // !"));
finds(
  "a filter there",
  store("this.#xs = order.filter((i) => i > 1).map((i) => this.#xs[i]!); // !"),
);
finds("an order of all", store("this.#xs = order.map((i) => this.#xs[i]!);"));
finds(
  "others that are ended first",
  store(
    "this.#xs.forEach((x, i) => { if (!kept.includes(i)) x.dispose(); });\n" +
      "    this.#xs = kept.map((i) => this.#xs[i]!);",
  ),
);
finds(
  "a name that a callback gives what the function made",
  `function score(x) {
  const steps = tf.ones([3]); // !
  const found = tf.tidy(() => {
    const jump = steps;
    return jump.add(x);
  });
  const scores = Array.from(found.dataSync());
  found.dispose();
  return scores;
}
for (const x of window.xs) score(x);`,
  "tfjs",
);
test.run();
