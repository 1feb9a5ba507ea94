/**
 * eslint-plugin-tenure: the plugin object with its rules and flat configs. This is what users
 * import: `import tenure from "eslint-plugin-tenure"; export default [tenure.configs.recommended];`
 */
import type { TSESLint } from "@typescript-eslint/utils";
import { rules as allRules } from "./all-rules.ts";
import type { RuleDocs } from "./create-rule.ts";
import type { TenureSettings } from "./owner.ts";
import { typescriptParser } from "./parser.ts";

export type { RuleDocs } from "./create-rule.ts";
export type {
  CalleeSpecifier,
  Owner,
  OwnerSettings,
  ResolvedSettings,
  ScopeObjectSettings,
  ScopeSettings,
  Specifier,
  TenureSettings,
  UntypedSettings,
} from "./owner.ts";
export { presets, resolveSettings, SettingsError } from "./settings.ts";

/** How a rule counts. */
export type RuleLevel = "error" | "warn" | "off";
/** A flat config entry of this plugin. */
export interface TenureConfig {
  name: string;
  files: string[];
  /** Typed by the least that every version of ESLint takes. */
  plugins: Record<string, { meta: TenurePlugin["meta"] }>;
  rules: Record<string, RuleLevel | [level: RuleLevel, options: Record<string, string>]>;
  settings?: { tenure: TenureSettings };
}
/** The plugin object that ESLint takes. */
export interface TenurePlugin {
  meta: { name: string; version: string; namespace: string };
  /**
   * `@typescript-eslint/parser` with the TypeScript that the rules read types with. The one to use
   * where the project's own TypeScript is 7, which has no interface for linters.
   */
  parser: TSESLint.FlatConfig.Parser;
  rules: Record<string, TSESLint.RuleModule<string, readonly unknown[], RuleDocs>>;
  configs: Record<
    "recommended" | "recommendedTypeChecked" | "strict" | "all" | "legacy" | "tests",
    TenureConfig
  >;
}

const levels: Record<"recommended" | "strict" | "all", readonly RuleDocs["config"][]> = {
  recommended: ["recommended"],
  strict: ["recommended", "strict"],
  all: ["recommended", "strict", "all"],
};

const plugin: TenurePlugin = {
  meta: { name: "eslint-plugin-tenure", version: "0.1.0", namespace: "tenure" },
  parser: typescriptParser,
  rules: { ...allRules } as Record<string, unknown> as TenurePlugin["rules"],
  configs: {} as TenurePlugin["configs"], // filled below: the configs refer to the plugin
};

function config(
  name: string,
  severity: (rule: string) => "error" | "warn" | "off" | null,
): TenureConfig {
  const chosen = Object.keys(allRules).flatMap((rule) => {
    const level = severity(rule);
    return level === null ? [] : [[`tenure/${rule}`, level] as const];
  });
  return {
    name: `tenure/${name}`,
    files: ["**/*.ts", "**/*.tsx", "**/*.mts", "**/*.cts"],
    plugins: { tenure: plugin },
    rules: Object.fromEntries(chosen),
  };
}
/** What the program keeps as long as it runs counts, too, and what it loses where it throws. */
function thorough(name: "strict" | "all"): TenureConfig {
  const { rules, ...rest } = config(name, upTo(name));
  return {
    ...rest,
    rules: { ...rules, "tenure/require-disposal": ["error", { paths: "all" }] },
    settings: { tenure: { untilExit: "reported" } },
  };
}
const upTo =
  (level: keyof typeof levels) =>
  (rule: string): "error" | null =>
    levels[level].includes(allRules[rule]?.meta.docs?.config ?? "all") ? "error" : null;

Object.assign(plugin.configs, {
  recommended: config("recommended", upTo("recommended")),
  recommendedTypeChecked: config("recommendedTypeChecked", upTo("recommended")),
  strict: thorough("strict"),
  all: thorough("all"),
  // An old code base starts here, with a baseline file of what it has (`tenure-lint-report`).
  legacy: config("legacy", (rule) => (upTo("recommended")(rule) === null ? null : "warn")),
  // Tests make short-lived values on purpose; this entry, placed last, silences every rule in them.
  tests: {
    ...config("tests", () => "off"),
    files: ["*.{test,spec}", "*_{test,spec}", "{test,tests,__tests__}/**/*"].map(
      (path) => `**/${path}.{ts,tsx,mts,cts,js,jsx,mjs,cjs}`,
    ),
  },
});

/** The plugin, as ESLint loads it. */
export default plugin;
/** The parts of the plugin by name: a configuration that uses `require` finds them there. */
export const { configs, meta, parser, rules } = plugin;
