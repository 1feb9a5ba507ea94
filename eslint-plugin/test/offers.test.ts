/**
 * What is offered as a cure, and what is not: nothing that would not compile, and nothing that
 * frees one value of two. Found by applying suggestions to public code, each on its own.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { applied, assert, lint, typeErrors } from "./tester.ts";

const test = suite("offers");

const found = (code: string): ReturnType<typeof lint> =>
  lint(code, { settings: { presets: ["tfjs"] }, rules: plugin.configs.recommended.rules });
const offers = (code: string): string[] =>
  found(code).flatMap((m) => (m.suggestions ?? []).map((s) => s.desc));
test("tfjs: nothing is offered that would not compile, or frees one value of two", () => {
  const ranked =
    `import * as tf from "@tensorflow/tfjs-core";\ninterface Row<R> extends tf.Tensor { r: R }\n` +
    `declare module "@tensorflow/tfjs-core" {\n` +
    "  export function filled<R extends number>(n: number): Row<R>;\n" +
    "  export function join(rows: Row<1>[]): Tensor;\n}\n";
  const sized = (value: string): string =>
    `${ranked}export function f(): void { const n = ${value}.size; void n; }`;
  const joined = sized("tf.join([tf.filled(1)])");
  assert.equal(typeErrors(joined), []);
  assert.not.ok(
    offers(joined).some((o) => o.startsWith("Hoist")),
    offers(joined).join(),
  );
  const alone = sized("tf.filled(1)");
  assert.ok(
    offers(alone).some((o) => o.startsWith("Hoist")),
    offers(alone).join(),
  );
  const pair = (async: string): string =>
    `${ranked}export ${async}function f(x: tf.Tensor): ${async === "" ? "" : "Promise<"}` +
    `[tf.Tensor, number]${async === "" ? "" : ">"} { return [x.square().sum(), 1]; }`;
  assert.equal(offers(pair("async ")), []);
  assert.equal(offers(pair("")), ["Wrap in a dispose scope."]);
  const cast =
    'import { FrozenModel } from "@tensorflow/tfjs-converter";\n' +
    `${ranked}declare const m: FrozenModel;\nexport function f(x: tf.Tensor): void {\n` +
    "  const n = (m.predict(x) as tf.Tensor).size;\n  void n;\n}\n";
  const [message] = found(cast);
  const [hoisted] = (message?.suggestions ?? []).map((s) => applied(cast, s));
  assert.match(hoisted ?? "", /const predict = m\.predict\(x\) as tf\.Tensor;/);
  assert.equal(typeErrors(hoisted ?? ""), []);
  const given = (next: string): string =>
    `${ranked}export function f(long: boolean): number {\n  let x = tf.ones([2]);\n` +
    `  ${next}\n  return x.size;\n}`;
  const end = "Dispose it in a `finally` block.";
  assert.not.ok(offers(given("if (long) x = x.square();")).includes(end));
  assert.ok(offers(given("if (long) x.square().dispose();")).includes(end));
});

test.run();
