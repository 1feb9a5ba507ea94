/**
 * Records that a function is given for good and keeps, but for an early way out that leaves them.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("left records");
const finds = marked(test);

finds(
  "what is not good enough for a list",
  `import { type Tensor, zeros } from "tenure";
interface Finding { score: number; done: boolean; window: Tensor }
class Findings {
  readonly #list: Finding[] = [];
  constructor(readonly most: number) {}
  add(finding: Finding): void { // !
    const least = this.#list[this.most - 1];
    if (least !== undefined && finding.score <= least.score) return;
    this.#list.push(finding);
    for (const { window } of this.#list.splice(this.most)) window.dispose();
  }
  all(finding: Finding): void {
    this.#list.push(finding);
    if (this.#list.length < this.most) return;
    for (const { window } of this.#list.splice(this.most)) window.dispose();
  }
  some(finding: Finding): void {
    if (finding.done) return;
    this.#list.push(finding);
  }
  kept(finding: Finding): void {
    if (finding.score < 3) return;
    this.#list.push(finding);
  }
  ended(finding: Finding): void {
    if (finding.score < 3) {
      finding.window.dispose();
      return;
    }
    this.#list.push(finding);
  }
  direct(finding: Finding): void { // !
    if (this.#list.length > this.most) return;
    this.#list.push(finding);
  }
  dispose(): void { for (const { window } of this.#list) window.dispose(); }
}
export function run(x: Tensor): void {
  const findings = new Findings(3);
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const [i, window] of windows.entries()) {
    const score = window.size * i;
    if (score > 3) findings.add({ score, done: false, window });
    else window.dispose();
  }
  const next = x.neg();
  findings.direct({ score: 3, done: false, window: next });
  findings.all({ score: 3, done: false, window: x.neg() });
  findings.some({ score: 3, done: true, window: x.neg() });
  findings.ended({ score: 3, done: true, window: x.neg() });
  const again = x.relu();
  findings.kept({ score: 3, done: true, window: again });
  if (again.size < 3) again.dispose();
  findings.dispose();
}`,
);
test.run();
