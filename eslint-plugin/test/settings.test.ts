/**
 * What the plugin says to wrong settings: one clear message per file, naming the setting, what was
 * expected and what was found.
 */
import { suite } from "uvu";
import { Workspace } from "../src/analysis/open.ts";
import { resolveSettings, SettingsError } from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("settings");
const chain =
  `import type { Tensor } from "tenure";\nexport function f(a: Tensor) { return ` +
  "a.add(1).sum(); }\n";

const wrong: [settings: unknown, message: RegExp][] = [
  [
    { presets: ["pytorch"] },
    new RegExp(
      'settings\\.tenure\\.presets\\[0\\]: unknown preset "pytorch"; ' +
        "known presets: tenure, tfjs, disposable, webgpu",
    ),
  ],
  [{ presets: "tfjs" }, /settings\.tenure\.presets: expected an array, got "tfjs"/],
  [{ presets: [3] }, /settings\.tenure\.presets\[0\]: expected a non-empty string, got 3/],
  [{ presets: ["__proto__"] }, /unknown preset "__proto__"/],
  [
    { preset: ["tfjs"] },
    new RegExp(
      'settings\\.tenure: unknown setting "preset"; ' +
        "known: presets, scopeInference, exportedFunctions, untilExit, baseline, owners",
    ),
  ],
  [
    { scopeInference: "global" },
    /settings\.tenure\.scopeInference: expected one of "program", "file", "off", got "global"/,
  ],
  [{ exportedFunctions: true }, /settings\.tenure\.exportedFunctions: expected one of/],
  [{ untilExit: true }, /settings\.tenure\.untilExit: expected one of "allowed", "reported"/],
  [{ presets: [] }, /settings\.tenure\.presets: expected a preset, or an owner .*, got \[\]/],
  [{ owners: [] }, /settings\.tenure\.presets: expected a preset, or an owner/],
  [{ toString: 1 }, /settings\.tenure: unknown setting "toString"/],
  [{ owners: [{ types: [] }] }, /owners\[0\]\.types: expected at least one, got \[\]/],
  [
    { owners: [{ types: [{ from: "package", name: ["H"] }] }] },
    /owners\[0\]\.types\[0\]\.package: expected a value, got undefined/,
  ],
  [{ owners: {} }, /settings\.tenure\.owners: expected an array, got \{\}/],
  [{ owners: [{}] }, /settings\.tenure\.owners\[0\]\.types: expected a value, got undefined/],
  [
    { owners: [{ types: "Tensor" }] },
    /settings\.tenure\.owners\[0\]\.types: expected an object, got "Tensor"/,
  ],
  [{ owners: [{ types: [{ package: "x" }] }] }, /owners\[0\]\.types\[0\]\.name: expected a value/],
  [
    { owners: [{ types: [{ name: "T" }], calls: "new" }] },
    /owners\[0\]\.calls: expected one of "fresh", "identity", "unknown", got "new"/,
  ],
  [
    { owners: [{ types: [{ name: "T" }], takes: [{ callee: "f", args: [-1] }] }] },
    /owners\[0\]\.takes\[0\]\.args\[0\]: expected an argument position/,
  ],
  [
    { owners: [{ types: [{ name: "T" }], scopes: [{ begin: "a" }] }] },
    /owners\[0\]\.scopes\[0\]\.end: expected a value/,
  ],
  [{ owners: [{ types: [{ name: "T" }], scopes: [{ calee: "a" }] }] }, /unknown setting "calee"/],
  [
    { owners: [{ types: [{ name: "T" }], dispose: { method: ["free"] } }] },
    /unknown setting "method"; known: methods, functions/,
  ],
  [
    { owners: [{ types: { disposable: "yes" } }] },
    /types\.disposable: expected one of "sync", "async", "any"/,
  ],
  ["tfjs", /settings\.tenure: expected an object, got "tfjs"/],
  [42, /settings\.tenure: expected an object, got 42/],
  [[], /settings\.tenure: expected an object, got \[\]/],
];
for (const [settings, message] of wrong) {
  test(`settings ${JSON.stringify(settings)}`, () => {
    assert.throws(
      () => resolveSettings(settings),
      (error: unknown) => error instanceof SettingsError && message.test(error.message),
    );
    const found = lint(chain, { settings: settings as Record<string, unknown> });
    assert.is(found.length, 1, lines(found).join("\n"));
    assert.match(found[0]!.message, message);
  });
}
test("no settings mean the tenure preset", () => {
  assert.is(resolveSettings(undefined).owners[0]?.noun, "tensor");
  assert.equal(resolveSettings({ owners: [{ types: [{ name: "X" }] }] }).owners.length, 1);
});
test("wrong rule options are ESLint's to reject", () => {
  assert.throws(
    () => lint(chain, { rules: { "tenure/require-disposal": ["error", { paths: "some" }] } }),
    /require-disposal/,
  );
});
test("the settings of one file do not stick to the next", () => {
  assert.is(lint(chain, { settings: { presets: ["pytorch"] } }).length, 1);
  assert.match(lint(chain)[0]!.message, /add\(1\)/);
});
test("objects that say the same are the same settings, and wrong ones never", () => {
  const workspace = new Workspace();
  const first = workspace.settings({ presets: ["tfjs"] });
  assert.is(workspace.settings({ presets: ["tfjs"] }), first);
  assert.is.not(workspace.settings({ presets: ["webgpu"] }), first);
  // as text it is the same as the first
  assert.throws(() => workspace.settings({ presets: ["tfjs"], preset: undefined }), /"preset"/);
});

test("undefined is as good as nothing", () => {
  const { owners } = resolveSettings({ presets: undefined, untilExit: undefined });
  assert.equal(owners, resolveSettings(undefined).owners);
  const owner = { types: [{ name: "T" }], calls: undefined };
  assert.is(resolveSettings({ owners: [owner] }).owners[0]?.calls, "fresh");
});

test.run();
