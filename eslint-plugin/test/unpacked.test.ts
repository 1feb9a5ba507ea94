/**
 * Records whose fields get names of their own, `const { age, name } = out`: each name owns its part
 * from then on, and the record the others. Objects that end their own parts by `this`.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("unpacked records");
const finds = marked(test);

const make = `import { type Tensor, zeros } from "tenure";
interface Parts { a: Tensor; b: Tensor; n: number }
const make = (n: number): Parts => ({ a: zeros([1]), b: zeros([2]), n });
const end = (parts: Parts): void => { parts.a.dispose(); parts.b.dispose(); };
const look = (t: Tensor): number => t.size;
export const endAll = (all: Parts[]): void => all.forEach(end);
`;
const fn = (body: string): string => `${make}export function f(n: number) {\n${body}\n}\n`;

finds(
  "left on one way out",
  fn(`const parts = make(n);
  const { a, b, n: count } = parts; // !
  if (count > 3) return;
  a.dispose();
  b.dispose();`),
);
finds(
  "of which one is left",
  fn(`const parts = make(n); // !
  const { a } = parts;
  a.dispose();`),
);
finds(
  "only looked at",
  fn(`const parts = make(n); // !
  const { a, n: count } = parts; // !
  return a.size + count;`),
);
finds(
  "of a loop that is left",
  `${make}async function* all(n: number) { for (let i = 0; i < n; i++) yield make(i); }
export async function f(n: number) {
  for await (const parts of all(n)) {
    const { a, b } = parts; // !
    if (parts.n > 3) break;
    a.dispose();
    b.dispose();
  }
}`,
);

const silent = {
  "ended by the names": "const { a, b: second } = make(n); a.dispose(); second.dispose();",
  "ended by the names of a name":
    "const parts = make(n); const { a, b: second } = parts; a.dispose(); second.dispose();",
  "ended by the record":
    "const parts = make(n); const { a } = parts; console.log(a.size); end(parts);",
  "ended by both":
    "const parts = make(n); const { a } = parts; a.dispose(); parts.b.dispose(); return n;",
  returned: "const parts = make(n); const { a } = parts; console.log(a.size); return parts;",
  "returned in part": "const parts = make(n); const { a, b } = parts; b.dispose(); return a;",
  "ended in the end":
    "const p = make(n); try { const { a } = p; return a.size; } finally { end(p); }",
  "ended by a closure":
    "const { a, b } = make(n); return { a, end() { a.dispose(); b.dispose(); } };",
  "made again":
    "let p = make(n); const { a, b } = p; a.dispose(); b.dispose(); p = make(n); end(p);",
  "of each of a list":
    "const all = [make(n)]; for (const p of all) { const { a } = p; look(a); } endAll(all);",
};
for (const [name, body] of Object.entries(silent)) finds(`silent: ${name}`, fn(body));
finds(
  "silent: a function that ends such records",
  `${make}export function stop(parts: Parts) { const { a, b } = parts; a.dispose(); b.dispose(); }`,
);

const object = (ends: string, use: string): string => `import { zeros } from "tenure";
const make = () => ({ state: zeros([1]), other: zeros([2]), ${ends} });
export function f() { ${use} }`;
const both = "{ this.state.dispose(); this.other.dispose(); }";
for (const [name, use] of Object.entries({
  using: "using r = make(); return r.state.size;",
  "using, unpacked": "using r = make(); const { state } = r; return state.size;",
  "a call": "const r = make(); const { size } = r.state; r[Symbol.dispose](); return size;",
})) {
  finds(`an object that ends its parts, by ${name}`, object(`[Symbol.dispose]() ${both}`, use));
  finds(
    `an object that ends itself by another method, by ${name}`,
    object(`stop() ${both}, [Symbol.dispose]() { this.stop(); }`, use),
  );
}

const rows = (names: string, end: string, mark = ""): string => `
import * as tf from "@tensorflow/tfjs-core";
export function f(x) {
  const ${names} = tf.unstack(x);${mark}
  const n = second.size;
  ${end}
  return n;
}`;
finds("a place that a pattern skips", rows("[, second]", "second.dispose();", " // !"), "tfjs");
finds("each place has a name", rows("[first, second]", "tf.dispose([first, second]);"), "tfjs");

test.run();
