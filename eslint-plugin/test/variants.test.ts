/**
 * States that are one of several records, told apart by a tag or by a part that is there or not: a
 * test that leaves only those which hold nothing says that nothing is lost. Each is a program of
 * which the marked lines are reported.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { marked } from "./marked.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";

const test = suite("variants");
const finds = marked(test);
const buffer = "this.device.createBuffer({ size: 64, usage: 9 })";

/** A class that holds a buffer in some of its states. */
const recorder = (type: string, first: string, start: string, stop: string): string => `
type State = ${type};
export class Recorder {
  private state: State = ${first};
  constructor(private device: GPUDevice) {}
  start() {
    ${start}
  }
  stop() {
    ${stop}
    this.state = ${first};
  }
}`;
const stop = 'if (this.state.kind !== "on") return; this.state.staging.destroy();';
const on = `this.state = { kind: "on", staging: ${buffer} };`;

/** States told apart by their kind. */
const byKind = (start: string): string =>
  recorder(
    '{ kind: "idle" } | { kind: "on"; staging: GPUBuffer }',
    '{ kind: "idle" }',
    start,
    stop,
  );
finds("a kind that is left", byKind(`if (this.state.kind === "on") return;\n${on}`), "webgpu");
finds("a kind that is asked for", byKind(`if (this.state.kind === "idle") ${on}`), "webgpu");
finds("the other kind", byKind(`if (this.state.kind === "idle") return;\n${on} // !`), "webgpu");
const clauses = (idle: string, other: string): string =>
  byKind(
    `switch (this.state.kind) {\ncase "idle":\n${idle}\nbreak;\ncase "on":\n${other}\nbreak; }`,
  );
finds("a clause for a kind", clauses(on, ""), "webgpu");
finds("a clause for the other kind", clauses("", `${on} // !`), "webgpu");
finds(
  "a clause that others fall into",
  byKind(`switch (this.state.kind) {\ncase "idle":\ncase "on":\n${on} // !\n}`),
  "webgpu",
);
finds(
  "a clause for all other kinds",
  byKind(`switch (this.state.kind) { case "on": break; default: ${on} }`),
  "webgpu",
);
const three = (start: string): string =>
  recorder(
    '{ kind: "idle" } | { kind: "on"; staging: GPUBuffer } | { kind: "full"; staging: GPUBuffer }',
    '{ kind: "idle" }',
    start,
    'if (this.state.kind === "idle") return; this.state.staging.destroy();' +
      'if (this.state.kind === "on") { this.state = { kind: "full", ' +
      `staging: ${buffer} }; return; }`,
  );
finds("kinds that hold one", three(`if (this.state.kind !== "idle") return;\n${on}`), "webgpu");
finds("one of these", three(`if (this.state.kind === "on") return;\n${on} // !`), "webgpu");

/** States told apart by a sign, or by a kind that has a name. */
const bySign = (test: string, mark = ""): string =>
  recorder(
    "{ on: false } | { on: true; staging: GPUBuffer }",
    "{ on: false }",
    `if (${test}) return;\nthis.state = { on: true, staging: ${buffer} };${mark}`,
    "if (!this.state.on) return; this.state.staging.destroy();",
  );
finds("a sign", bySign("this.state.on"), "webgpu");
finds("a sign that is compared", bySign("this.state.on !== false"), "webgpu");
finds("a sign, the other way", bySign("!this.state.on", " // !"), "webgpu");
const named = (test: string, mark = ""): string =>
  "enum Kind { Idle, On }\n" +
  recorder(
    "{ kind: Kind.Idle } | { kind: Kind.On; staging: GPUBuffer }",
    "{ kind: Kind.Idle }",
    `if (${test}) return;\nthis.state = { kind: Kind.On, staging: ${buffer} };${mark}`,
    "if (this.state.kind === Kind.Idle) return; this.state.staging.destroy();",
  );
finds("a kind with a name", named("this.state.kind === Kind.On"), "webgpu");
finds("the other name", named("this.state.kind === Kind.Idle", " // !"), "webgpu");

/** States with a part that may be missing. */
const byPart = (test: string, mark = "", first = "frames: 0"): string =>
  recorder(
    "{ staging?: GPUBuffer | null; frames: number }",
    `{ ${first} }`,
    `${test}\nthis.state = { staging: ${buffer}, frames: 0 };${mark}`,
    "this.state.staging?.destroy();",
  );
finds("a part that is missing", byPart("if (this.state.staging) return;"), "webgpu");
finds("a part that is there", byPart("if (!this.state.staging) return;", " // !"), "webgpu");
finds("another part", byPart("if (this.state.frames) return;", " // !"), "webgpu");
const wide = (ask: string): string =>
  recorder(
    "{ w: number } | { w: number; staging: GPUBuffer }",
    "{ w: 0 }",
    `const w = this.device.limits.maxBufferSize;\n${ask}\n` +
      `this.state = { w, staging: ${buffer} }; // !`,
    'if ("staging" in this.state) this.state.staging.destroy();',
  );
finds("a part that is another each time", wide("if (this.state.w === w) return;"), "webgpu");
finds(
  "a part that is null",
  byPart("if (this.state.staging !== null) throw new Error();", "", "staging: null, frames: 0"),
  "webgpu",
);
finds(
  "a sign that changes",
  bySign("this.state.on", " // !").replace(
    "if (!this",
    "(this.state as any).on = false; if (!this",
  ),
  "webgpu",
);

function script(name: string, begin: string, end: string, expected: string[]): void {
  test(name, () => {
    const code = `
export class Capture {
  constructor(device) { this.device = device; this.state = { kind: "idle" }; }
  begin() { ${begin} this.state = { kind: "on", staging: ${buffer} }; }
  end() { if (this.state.kind !== "on") return; ${end} this.state = { kind: "idle" }; }
}`;
    const settings = { presets: ["webgpu"] };
    const rules = plugin.configs.recommended.rules;
    const found = lines(lint(code, { settings, rules, file: `${projectDir}script.js` }));
    assert.equal(
      found.map((line) => line.replace(/:.*/, "")),
      expected,
    );
  });
}
const guard = 'if (this.state.kind !== "idle") throw new Error("busy");';
const overwritten = (line: number): string => `${line} no-overwritten-tensor`;
script("a script", guard, "this.state.staging.destroy();", []);
script("a script that ends nothing", guard, "console.log(this.state.staging.size);", [
  overwritten(5),
]);
script("a script that asks for nothing", 'if (this.state.kind === "idle") return;', "", [
  overwritten(4),
  overwritten(5),
]);

test.run();
