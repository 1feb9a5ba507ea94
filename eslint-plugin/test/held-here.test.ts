/**
 * Objects of functions that go on looking at what they were made with, `follow(net)`: as long as
 * only the function that asked for one has it, the value stays with who handed it in.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("held here");
const finds = marked(test);

const follow = `import { Linear } from "tenure/nn";
function follow(net: Linear) { return { update(): void { console.log(net.training); } }; }
`;
const run = `
export function run() { const net = new Linear(1, 1); start(net); }`;

finds(
  "only asked",
  `${follow}function start(net: Linear) {
  const a = follow(net);
  a.update();
}${run} // !`,
);
finds(
  "only asked, by a part",
  `${follow}function start(net: Linear) {
  const { update } = follow(net);
  update();
}${run} // !`,
);
finds(
  "asked by what runs at once",
  `${follow}function start(net: Linear) {
  const a = follow(net);
  [1, 2].forEach(() => a.update());
}${run} // !`,
);
finds(
  "copied at once, and looked at later",
  `import { noGrad, type Tensor } from "tenure";
import { Linear } from "tenure/nn";
function follow(net: Linear) {
  const slow = new Map<string, Tensor>();
  noGrad(() => { for (const [name, p] of net.namedParameters()) slow.set(name, p.clone()); });
  return {
    update: (): void => { console.log(net.training, slow.size); },
    stop: () => slow.forEach((t) => t.dispose()),
  };
}
function start(net: Linear) {
  const a = follow(net);
  a.update();
  a.stop();
}${run} // !`,
);

const silent: Record<string, string> = {
  returned: "const a = follow(net); return a;",
  "handed on": "const a = follow(net); register(a);",
  "handed on in part": "const a = follow(net); register(a.update);",
  "asked later": "const a = follow(net); later(() => a.update());",
  kept: "kept.push(follow(net));",
};
for (const [name, body] of Object.entries(silent))
  finds(
    `silent: ${name}`,
    `${follow}declare function register(a: unknown): void;
declare function later(f: () => void): void;
const kept: unknown[] = [];
export const all = () => kept;
function start(net: Linear) { ${body} }${run.replace("start(net)", "return start(net)")}`,
  );
finds(
  "silent: ended by what is made",
  `import { Linear } from "tenure/nn";
function own(net: Linear) { return { stop() { net.dispose(); } }; }
function start(net: Linear) { const a = own(net); a.stop(); }${run}`,
);

test.run();
