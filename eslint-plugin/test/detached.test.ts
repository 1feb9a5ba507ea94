/**
 * Values that a statement takes out of every scope: who made them has to end them, and a place that
 * holds one still has it. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("detached values");
const { rules } = plugin.configs.recommended;

function reports(name: string, code: string, expected: string[]): void {
  test(name, () => {
    const found = lines(lint(`import * as tn from "tenure";\n${code}`, { rules }));
    assert.equal(
      found.map((line) => line.split(/[ :]/)[1]),
      expected,
      found.join("\n"),
    );
  });
}

const left = ["require-disposal"];
const inScope = (body: string, result = "number"): string =>
  `export function f(x: tn.Tensor): ${result} {\nusing scope = tn.newDisposeScope("f");\n` +
  `const a = x.abs();\n${body}\n}`;

reports("detached by its method and left", inScope("a.detachFromScope();\nreturn a.size;"), left);
reports("detached by the scope and left", inScope("scope.detach(a);\nreturn a.size;"), left);
reports(
  "two detached at once, of which one is left",
  inScope("const b = x.neg();\nscope.detach(a, b);\nreturn b;", "tn.Tensor"),
  left,
);
reports("detached and returned", inScope("scope.detach(a);\nreturn a;", "tn.Tensor"), []);
reports(
  "detached and ended",
  inScope("scope.detach(a);\nconst n = a.size;\na.dispose();\nreturn n;"),
  [],
);
reports(
  "detached and stored",
  `export class Last { now: tn.Tensor | null = null; put(x: tn.Tensor): void {
using scope = tn.newDisposeScope("put");
const a = x.abs();
scope.detach(a);
this.now?.dispose();
this.now = a;
}
[Symbol.dispose](): void { this.now?.dispose(); } }`,
  [],
);
reports(
  "detached on one way alone, which the scope may free",
  inScope("if (x.size > 3) {\nscope.detach(a);\nreturn 1;\n}\nreturn a.size;"),
  [],
);
reports(
  "after a way out, which the scope frees",
  inScope("if (x.size > 3) return 1;\nscope.detach(a);\nreturn a.size;"),
  [],
);
reports(
  "moved out and left to the scope around it",
  inScope("scope.moveToOuter(a);\nreturn a.size;"),
  [],
);

const entries = (use: string, end = ""): string => `
interface Entry { keys: tn.Tensor }
export class Cache implements Disposable {
  readonly entries: (Entry | null)[] = [];
  extend(at: number, keys: tn.Tensor): Entry {
    const entry = this.entries[at];
    if (!entry) return (this.entries[at] = { keys });
    const longer = tn.concat([entry.keys, keys], 2);
    for (const t of [${end}keys]) t.dispose();
    entry.keys = longer;
    return entry;
  }
  [Symbol.dispose](): void { for (const entry of this.entries) entry?.keys.dispose(); }
}
export function run(cache: Cache, x: tn.Tensor): number {
  using scope = tn.newDisposeScope("run");
  const seen = cache.extend(0, x.abs());
  ${use}
  return seen.keys.size;
}`;
const lost = ["no-overwritten-tensor"];
reports("the holder of a detached value keeps it", entries("scope.detach(seen.keys);"), lost);
reports("and ends it", entries("scope.detach(seen.keys);", "entry.keys, "), []);
reports("a scope that is given it may end it", entries("scope.attach(seen.keys);"), []);

test.run();
