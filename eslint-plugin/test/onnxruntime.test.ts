/**
 * The preset for ONNX Runtime: each case says which rules must report, in order of lines. The types
 * are those of onnxruntime-common 1.30.0 that sessions need, in `fixtures/onnxruntime.d.ts`.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("onnxruntime preset");
const head = 'import { InferenceSession, Tensor } from "onnxruntime-common";\n';
function session(name: string, code: string, expected: string[]): void {
  test(name, () => {
    assert.equal(typeErrors(head + code), []);
    const settings = { presets: ["onnxruntime"] };
    const found = lint(head + code, { settings, rules: plugin.configs.recommended.rules });
    const rules = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
    assert.equal(rules, expected, lines(found).join("\n"));
  });
}
const made = 'const s = await InferenceSession.create("model.onnx");';
const run = "const out = await s.run({ x });";
session(
  "a session for one run that nobody releases",
  `export async function f(x: Tensor) { ${made} ${run} return out["y"]!.data; }`,
  ["require-disposal"],
);
session(
  "a session released in finally",
  `export async function f(x: Tensor) { ${made} try { ${run} return out["y"]!.data; } finally { ` +
    "await s.release(); } }",
  [],
);
session(
  "a session not released when the function returns early",
  `export async function f(x: Tensor, dry: boolean) { ${made}\n if (dry) return s.inputNames; ` +
    `${run} await s.release(); return out["y"]!.data; }`,
  ["require-disposal"],
);
session("a session that is returned", `export async function f() { ${made} return s; }`, []);
session(
  "a session handed on",
  "declare function keep(s: InferenceSession): void;\n" +
    `export async function f() { ${made} keep(s); }`,
  [],
);
session(
  "a warm-up that drops its session",
  'export async function f() { await InferenceSession.create("model.onnx"); }',
  ["no-dropped-result"],
);
session(
  "a session run after its release",
  `export async function f(x: Tensor) { ${made} await s.release();\n return s.run({ x }); }`,
  ["no-use-after-dispose"],
);
session(
  "a session in a field that `release()` forgets",
  "export class Model { #a?: InferenceSession; #b?: InferenceSession; async load() { " +
    'this.#a = await InferenceSession.create("a.onnx");\n ' +
    'this.#b = await InferenceSession.create("b.onnx"); } ' +
    "async release() { await this.#a?.release(); } " +
    "run(x: Tensor) { return this.#b?.run({ x }); } }",
  ["require-member-disposal"],
);
session(
  "tensors that the processor holds need no disposal",
  'export function f() { const t = new Tensor("float32", [1, 2], [2]); return t.dims.length; }',
  [],
);

test.run();
