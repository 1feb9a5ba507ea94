/**
 * Models that packages beside TensorFlow.js have ready, with the preset `tfjs`: which rules must
 * report, in order of lines.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir, typeErrors } from "./tester.ts";

const test = suite("ready-made models");
const M = "require-member-disposal";

function reports(name: string, code: string, once: string[], always: string[] = once): void {
  const text = `import * as coco from "@tensorflow-models/coco-ssd";\n${code}`;
  const said = (config: "recommended" | "strict", untilExit: "allowed" | "reported"): void => {
    const { rules } = plugin.configs[config];
    const found = lines(lint(text, { rules, settings: { presets: ["tfjs"], untilExit } }));
    assert.equal(
      found.map((line) => line.split(/[ :]/)[1]),
      untilExit === "allowed" ? once : always,
      found.join("\n"),
    );
  };
  test(name, () => {
    assert.equal(typeErrors(text), []);
    said("recommended", "allowed");
    said("strict", "reported");
  });
}

reports(
  "loaded for one picture and left",
  "export async function count(image: object) {\nconst net = await coco.load();\n" +
    "return (await net.detect(image)).length; }",
  ["require-disposal"],
);
reports(
  "loaded and ended",
  "export async function count(image: object) { const net = await coco.load();\n" +
    "try { return (await net.detect(image)).length; } finally { net.dispose(); } }",
  [],
);
reports(
  "loaded for the caller",
  "export async function make() { const net = await coco.load(); return net; }",
  [],
);
reports(
  "left by the end of a class",
  "export class App { net?: coco.ObjectDetection; image = {};\n" +
    "async open() {\nthis.net = await coco.load(); }\n" +
    "async run() { return this.net?.detect(this.image); }\n" +
    "dispose() { this.image = {}; } }",
  [M],
);
reports(
  "ended with its class",
  "export class App { net?: coco.ObjectDetection;\n" +
    "async open() { this.net?.dispose(); this.net = await coco.load(); }\n" +
    "dispose() { this.net?.dispose(); } }",
  [],
);
reports(
  "in a class without an end",
  "export class App { net?: coco.ObjectDetection;\n" +
    "async open() {\nthis.net = await coco.load(); }\n" +
    "async run(image: object) { return this.net?.detect(image); } }",
  [],
  [M],
);

const script = (name: string, code: string, wanted: string[]): void => {
  test(name, () => {
    const { rules } = plugin.configs.recommended;
    const settings = { presets: ["tfjs" as const] };
    const found = lines(lint(code, { rules, settings, file: `${projectDir}script.js` }));
    assert.equal(
      found.map((line) => line.split(":")[0]),
      wanted,
      found.join("\n"),
    );
  });
};
script(
  "from a script tag, for one picture",
  "async function count(image) {\nconst net = await posenet.load();\n" +
    "return (await net.estimateSinglePose(image)).score; }",
  ["2 require-disposal"],
);
script(
  "from a package without types",
  'import * as handTrack from "handtrackjs";\nexport async function count(image) {\n' +
    "const net = await handTrack.load();\nreturn (await net.detect(image)).length; }",
  ["3 require-disposal"],
);
script(
  "something else that is loaded",
  'import * as things from "./things.js";\nexport async function count() {\n' +
    "const net = await things.load();\nreturn net.size + (await settings.load()).size; }",
  [],
);

reports(
  "one of a package whose models have no end",
  "// @ts-ignore\nimport * as mobilenet from '@tensorflow-models/mobilenet';\n" +
    "export async function name(image: object) { const net = await mobilenet.load();\n" +
    "return (await net.classify(image))[0]; }",
  [],
);

test.run();
