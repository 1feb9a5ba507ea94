/**
 * Places that are filled inside of a scope or by a promise: what is kept for good there, no scope
 * frees, and the next value loses it, each time the function around is called.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { casesOf } from "./webgpu-cases.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("kept in scopes");
const O = "no-overwritten-tensor";

function tfjs(name: string, code: string, expected: string[], from = "tfjs"): void {
  test(name, () => {
    const text = `import * as tf from "@tensorflow/${from}";\n${code}`;
    const rules = plugin.configs.recommended.rules;
    const found = lint(text, { rules, settings: { presets: ["tfjs"] } });
    assert.equal(
      found.map((m) => m.ruleId?.replace("tenure/", "")),
      expected,
      lines(found).join("\n"),
    );
  });
}

const state = (body: string, base = ""): string =>
  `export class State${base} { last: tf.Tensor | null = null;\n` +
  `call(x: tf.Tensor): tf.Tensor { return tf.tidy(() => { const y = x.square(); ${body}\n` +
  "return x.add(1); }); }\ndispose(): void { this.last?.dispose(); } }";
const keep = "this.last = tf.keep(y);";
tfjs("kept over what was kept before", state(keep), [O]);
tfjs("in a layer, which ends its weights alone", state(keep, " extends tf.layers.Layer"), [O]);
tfjs("kept afterwards", state("this.last = y.neg(); tf.keep(this.last);"), [O]);
tfjs(
  "ended first, kept afterwards",
  state(`this.last?.dispose(); ${keep} tf.keep(this.last);`),
  [],
);
tfjs("ended first", state(`this.last?.dispose(); ${keep}`), []);
tfjs("ended afterwards", state(`const old = this.last; ${keep} old?.dispose();`), []);
tfjs("filled once", state(`if (this.last === null) ${keep}`), []);
tfjs(
  "filled once, as the function around the scope asks",
  state(keep).replace("return tf.tidy", "if (this.last) return x.neg(); return tf.tidy"),
  [],
);
const averages = (of: string): string =>
  "export class Averages { all: tf.Tensor[] = []; constructor(ws: tf.Tensor[]) {\n" +
  `tf.tidy(() => { this.all = ws.map((w) => ${of}); }); }\n` +
  "dispose(): void { tf.dispose(this.all); } }";
tfjs("variables, which no scope frees", averages("tf.variable(w.clone())"), [], "tfjs-core");
tfjs("tensors of a list", averages("w.clone()"), ["no-escape-from-scope"], "tfjs-core");
tfjs(
  "in a variable of a module",
  "let last: tf.Tensor | null = null;\nexport function step(x: tf.Tensor): void {\n" +
    "tf.tidy(() => { last = tf.keep(x.square()); }); }\n" +
    "export function end(): void { last?.dispose(); }",
  [O],
);
tfjs(
  "in a variable that each call has for itself",
  "export function make(x: tf.Tensor): tf.Tensor | null { let made: tf.Tensor | null = null;\n" +
    "tf.tidy(() => { made = tf.keep(x.square()); }); return made; }",
  [],
);

const gpu = casesOf(test);
const picture = (body: string, made = ""): string =>
  "export class Picture { private t: GPUTexture | null = null; ready?: Promise<void>;\n" +
  `constructor(readonly d: GPUDevice, url: string) { ${made} }\n` +
  `show(url: string): void { ${body} }\ndestroy(): void { this.t?.destroy(); } }\n` +
  "declare function load(url: string): Promise<number>;";
const fill = "this.t = this.d.createTexture({ width });";
gpu("filled by a promise", picture(`void load(url).then((width) => { ${fill} });`), [O]);
gpu(
  "ended in the promise first",
  picture(`void load(url).then((width) => { this.t?.destroy(); ${fill} });`),
  [],
);
gpu(
  "filled by a promise that is asked for where it is empty",
  picture(`if (this.t) return; void load(url).then((width) => { ${fill} });`),
  [],
);
gpu(
  "filled by a promise that is kept",
  picture(`this.ready ??= load(url).then((width) => { ${fill} });`),
  [],
);
gpu(
  "filled by a promise of an effect, which its cleanup ends",
  "declare function useEffect(run: () => () => void, deps: string[]): void;\n" +
    "declare function useRef<T>(x: T): { current: T };\n" +
    "declare function load(url: string): Promise<number>;\n" +
    "export function View({ d, url }: { d: GPUDevice; url: string }): null {\n" +
    "const t = useRef<GPUTexture | null>(null);\n" +
    "useEffect(() => {\n" +
    "void load(url).then((width) => { t.current = d.createTexture({ width }); });\n" +
    "return () => { t.current?.destroy(); }; }, [url]);\nreturn null; }",
  ["require-disposal"], // which may come first
);
gpu(
  "filled by a promise of the constructor",
  picture("void url;", `void load(url).then((width) => { ${fill} });`),
  [],
);

test.run();
