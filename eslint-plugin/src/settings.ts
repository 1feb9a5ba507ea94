/**
 * `settings.tenure`: the shape users write, its validation and its resolution into owners. Used by
 * every rule through `analysis/session.ts`. Nothing here touches types or syntax; a mistake in the
 * settings becomes one clear sentence, never a crash.
 */
import { SettingsError } from "./settings-error.ts";
import { disposable } from "./presets/disposable.ts";
import { onnxruntime } from "./presets/onnxruntime.ts";
import { tenure } from "./presets/tenure.ts";
import { tfjs } from "./presets/tfjs.ts";
import { webgpu } from "./presets/webgpu.ts";
import type { Owner, OwnerSettings, ResolvedSettings, TenureSettings } from "./owner.ts";

export type * from "./owner.ts";
export { SettingsError } from "./settings-error.ts";

/** The presets by name. */
export const presets: Readonly<Record<string, readonly OwnerSettings[]>> = {
  tenure,
  tfjs,
  disposable,
  webgpu,
  onnxruntime,
};

const show = (value: unknown): string => {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? String(value) : text.length > 60 ? `${text.slice(0, 57)}...` : text;
};
const fail = (path: string, expected: string, got: unknown): never => {
  throw new SettingsError(`settings.tenure${path}: expected ${expected}, got ${show(got)}`);
};
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Check = (value: unknown, path: string) => void;
const text: Check = (value, path) => {
  if (typeof value !== "string" || value === "") fail(path, "a non-empty string", value);
};
const flag: Check = (value, path) => {
  if (typeof value !== "boolean") fail(path, "true or false", value);
};
const whole: Check = (value, path) => {
  if (!Number.isInteger(value) || (value as number) < 0)
    fail(path, "an argument position (0, 1, …)", value);
};
const oneOf =
  (...words: string[]): Check =>
  (value, path) => {
    if (!words.includes(value as string))
      fail(path, `one of ${words.map((w) => `"${w}"`).join(", ")}`, value);
  };
const listOf =
  (item: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return fail(path, "an array", value);
    value.forEach((v, i) => item(v, `${path}[${i}]`));
  };
const someOf =
  (item: Check): Check =>
  (value, path) => {
    listOf(item)(value, path);
    if ((value as unknown[]).length === 0) fail(path, "at least one", value);
  };
const shape =
  (fields: Record<string, Check>, required: string[] = []): Check =>
  (value, path) => {
    if (!isRecord(value)) return fail(path, "an object", value);
    for (const key of Object.keys(value)) {
      const check = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (!check)
        throw new SettingsError(
          `settings.tenure${path}: unknown setting "${key}"; known: ` +
            Object.keys(fields).join(", "),
        );
      if (value[key] !== undefined) check(value[key], `${path}.${key}`);
    }
    for (const key of required)
      if (value[key] === undefined) fail(`${path}.${key}`, "a value", undefined);
  };
const either =
  (when: (value: unknown) => boolean, yes: Check, no: Check): Check =>
  (value, path) =>
    (when(value) ? yes : no)(value, path);

const named = (required: string[]): Check =>
  shape(
    {
      from: oneOf("package", "file", "lib"),
      package: text,
      path: text,
      name: either(Array.isArray, someOf(text), text),
    },
    required,
  );
const specifier = either(
  (value) => isRecord(value) && value["from"] === "package",
  named(["package", "name"]),
  named(["name"]),
);
const callee = either((v) => typeof v === "string", text, specifier);
const has =
  (key: string) =>
  (value: unknown): boolean =>
    isRecord(value) && key in value;
const scope = either(
  has("begin"),
  shape({ begin: text, end: text }, ["begin", "end"]),
  either(
    has("using"),
    shape({ using: callee }, ["using"]),
    shape({ callee, callback: oneOf("last", "first"), movesResultOut: flag, async: flag }, [
      "callee",
    ]),
  ),
);
const ownerShape = shape(
  {
    noun: text,
    types: either(
      Array.isArray,
      someOf(specifier),
      shape({ disposable: oneOf("sync", "async", "any") }, ["disposable"]),
    ),
    brand: listOf(text),
    library: listOf(text),
    dispose: shape({ methods: listOf(text), functions: listOf(callee) }),
    calls: oneOf("fresh", "identity", "unknown"),
    fresh: listOf(callee),
    freshWhen: listOf(shape({ callee, arg: whole }, ["callee", "arg"])),
    freshProperties: listOf(text),
    untyped: shape(
      {
        records: listOf(shape({ callee: text, fields: listOf(text) }, ["callee", "fields"])),
        sources: listOf(shape({ callee: text, methods: listOf(text) }, ["callee", "methods"])),
        described: listOf(shape({ callee: text, fields: listOf(text) }, ["callee", "fields"])),
        ...Object.fromEntries(
          [
            "globals",
            "makes",
            "lists",
            "parts",
            "marks",
            "runs",
            "looks",
            "encloses",
            "joins",
            "wants",
            "answers",
            "lent",
          ].map((n) => [n, listOf(text)]),
        ),
      },
      ["globals", "makes", "lists"],
    ),
    borrows: listOf(callee),
    shares: listOf(text),
    adopts: listOf(text),
    lost: oneOf("always", "running", "repeated"),
    takes: listOf(shape({ callee, args: listOf(whole) }, ["callee", "args"])),
    args: oneOf("borrow", "transfer"),
    keep: shape({ methods: listOf(text), functions: listOf(callee) }),
    lasting: listOf(callee),
    alias: text,
    scopes: listOf(scope),
    scopeObject: shape(
      {
        type: text,
        ...Object.fromEntries(
          ["keeps", "carries", "runs", "moves", "others"].map((n) => [n, listOf(text)]),
        ),
      },
      ["type"],
    ),
    listing: text,
    runsInScope: listOf(callee),
    runsInline: listOf(callee),
    freshArguments: listOf(callee),
    safeAfterDispose: listOf(text),
    managers: listOf(text),
    overrides: listOf(shape({ method: text, calledBy: listOf(text) }, ["method", "calledBy"])),
    borrowers: listOf(text),
    holders: listOf(callee),
    recorders: listOf(callee),
    outsideScopes: listOf(text),
    policy: oneOf("protocol", "scoped", "generic"),
  },
  ["types"],
);
const presetName: Check = (value, path) => {
  text(value, path);
  if (!Object.hasOwn(presets, value as string)) {
    throw new SettingsError(
      `settings.tenure${path}: unknown preset ${show(value)}; known presets: ` +
        Object.keys(presets).join(", "),
    );
  }
};
const root = shape({
  presets: listOf(presetName),
  scopeInference: oneOf("program", "file", "off"),
  exportedFunctions: oneOf("strict", "callers", "once", "assume-scoped"),
  untilExit: oneOf("allowed", "reported"),
  baseline: either(
    (value) => value === null,
    () => undefined,
    text,
  ),
  owners: listOf(ownerShape),
});

/** What is set: `undefined` is as good as nothing. */
const present = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;

/** Fills in the defaults of one owner. */
export const complete = (owner: OwnerSettings): Owner => ({
  noun: "resource",
  brand: [],
  library: [],
  calls: "fresh",
  fresh: [],
  freshWhen: [],
  freshProperties: [],
  borrows: [],
  shares: [],
  adopts: [],
  lost: "always",
  takes: [],
  lasting: [],
  args: "borrow",
  alias: "",
  scopes: [],
  listing: "",
  runsInScope: [],
  runsInline: [],
  freshArguments: [],
  safeAfterDispose: [],
  managers: [],
  overrides: [],
  borrowers: [],
  holders: [],
  recorders: [],
  outsideScopes: [],
  policy: "generic",
  ...present(owner),
  untyped: {
    ...{
      globals: [],
      makes: [],
      lists: [],
      records: [],
      sources: [],
      parts: [],
      marks: [],
      runs: [],
      looks: [],
      encloses: [],
      joins: [],
      wants: [],
      answers: [],
      described: [],
      lent: [],
    },
    ...owner.untyped,
  },
  scopeObject: {
    ...{ type: "", keeps: [], carries: [], runs: [], moves: [], others: [] },
    ...owner.scopeObject,
  },
  dispose: {
    methods: owner.dispose?.methods ?? ["dispose"],
    functions: owner.dispose?.functions ?? [],
  },
  keep: { methods: owner.keep?.methods ?? [], functions: owner.keep?.functions ?? [] },
});

/** What people call the method that ends an object's life. */
const disposerNames = [
  "dispose",
  "destroy",
  "close",
  "free",
  "release",
  "clear",
  "reset",
  "unload",
  "terminate",
  "stop",
  "end",
];

/** An owner of which nothing may stay: neither for good nor for those who go on using it. */
const endedByAll = (owner: Owner): Owner => ({
  ...owner,
  ...{ lost: "always", holders: [], recorders: [] },
});

const standard: TenureSettings = {};

/**
 * Validates and resolves; throws SettingsError. The default is the `tenure` preset with
 * program-wide scope inference.
 */
export function resolveSettings(raw: unknown): ResolvedSettings {
  const settings = (raw ?? standard) as TenureSettings;
  root(settings, "");
  const named = settings.presets ?? (settings.owners ? [] : ["tenure"]);
  const given = [...(settings.owners ?? []), ...named.flatMap((name) => presets[name] ?? [])];
  if (given.length === 0)
    fail(".presets", "a preset, or an owner under `owners`", settings.presets);
  const untilExit = settings.untilExit ?? "allowed";
  const owners = given
    .map(complete)
    .map((owner): Owner => (untilExit === "reported" ? endedByAll(owner) : owner));
  return {
    scopeInference: settings.scopeInference ?? "program",
    exportedFunctions: settings.exportedFunctions ?? "callers",
    untilExit,
    baseline: settings.baseline ?? null,
    owners,
    holder: owners.some((o) => Array.isArray(o.types))
      ? complete({
          noun: "value",
          types: [],
          dispose: { methods: disposerNames },
          calls: "unknown",
          args: "transfer",
        })
      : null,
  };
}
