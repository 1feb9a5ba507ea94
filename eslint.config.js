/**
 * How this repository lints itself: typed, at typescript-eslint's strictest set, with the rules
 * that only bring noise to numeric code switched off, each with its reason. Run by `npm run
 * check:lint`. The plugin for users of the library is a package of its own, in eslint-plugin/.
 */
import { defineConfig, globalIgnores } from "eslint/config";
import { register } from "tsx/esm/api";
import tseslint from "typescript-eslint";

// The plugin is linted with itself, from source: tsx reads it, here and in editors alike.
const unregister = register();
const { default: tenure } = await import("./eslint-plugin/src/index.ts");
await unregister();

export default defineConfig(
  globalIgnores([
    ".cache/",
    "**/leaky-*.ts",
    "**/dist/",
    "**/node_modules/",
    "**/fixtures/",
    "**/*.d.ts",
  ]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // What the library's promises rest on. Most are in the set; they stand here so that nobody
      // loses them by changing the set.
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": [
        "error",
        { fixStyle: "inline-type-imports", disallowTypeAnnotations: false },
      ],
      "@typescript-eslint/no-explicit-any": "error",
      "no-console": ["error", { allow: ["warn", "error"] }],
      eqeqeq: ["error", "always", { null: "ignore" }],

      // Messages and WGSL are full of numbers, booleans and shapes.
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true, allowNullish: true, allowArray: true },
      ],
      "@typescript-eslint/restrict-plus-operands": ["error", { allowNumberAndString: true }],
      // noUncheckedIndexedAccess makes every typed-array read `number | undefined`; in a hot loop
      // `!` is the right answer.
      "@typescript-eslint/no-non-null-assertion": "off",
      // `() => counter.add(1)` is clear and its result is nobody's business.
      "@typescript-eslint/no-confusing-void-expression": "off",
      // An interface's other implementation may need the promise; tests and hooks often do not
      // await.
      "@typescript-eslint/require-await": "off",
      // It does not see that a call in between changes a field, which is what states of handles,
      // scopes and queues do all the time.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // A type parameter that names what the caller gets, as in `scoped<T>(fn: () => T)`, may well
      // occur once.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      // `_` marks what a signature demands and a body ignores; `{ a, ...rest }` is how a field is
      // left out.
      "@typescript-eslint/no-unused-vars": [
        "error",
        {
          argsIgnorePattern: "^_",
          varsIgnorePattern: "^_",
          caughtErrors: "none",
          ignoreRestSiblings: true,
        },
      ],
      // `Record<string, X>` with noUncheckedIndexedAccess already forces the check after a delete.
      "@typescript-eslint/no-dynamic-delete": "off",
      // A class of only static members or an empty subclass (of an error) is a choice.
      "@typescript-eslint/no-extraneous-class": "off",
      // An empty interface names a contract that declaration merging fills.
      "@typescript-eslint/no-empty-object-type": ["error", { allowInterfaces: "always" }],
      // An empty function is a fine default callback.
      "@typescript-eslint/no-empty-function": "off",
    },
  },
  {
    // Programs for people at a terminal, and children whose output is read by a test.
    files: [
      "tools/**",
      "examples/**",
      "packages/bench/**",
      "packages/reliability/**",
      "eslint-plugin/bench/**",
      "**/test/**",
    ],
    rules: { "no-console": "off" },
  },
  {
    files: ["**/test/**", "**/*.test.ts"],
    rules: {
      // Tests hand over wrong types on purpose and read what other programs printed.
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/prefer-promise-reject-errors": "off",
      // `const f = object.method` shows that a method can be passed around.
      "@typescript-eslint/unbound-method": "off",
      // An expression may stand alone where only its throwing matters.
      "@typescript-eslint/no-unused-expressions": "off",
      // uvu's callbacks may be asynchronous although its types say void in places.
      "@typescript-eslint/no-misused-promises": [
        "error",
        { checksVoidReturn: { arguments: false } },
      ],
    },
  },
  {
    files: ["eslint-plugin/**"],
    // Syntax nodes are told apart by their written names, `node.type === "CallExpression"`, as
    // everywhere in the ESLint world.
    rules: { "@typescript-eslint/no-unsafe-enum-comparison": "off" },
  },
  {
    files: ["**/*.js", "**/*.mjs", "**/*.cjs"],
    rules: { eqeqeq: "error", "no-undef": "off", "no-unused-vars": "error" },
  },
  {
    // The ownership protocol, as users of the library are held to it. Tests and benchmarks break it
    // on purpose or measure what breaking it costs.
    ...tenure.configs.strict,
    files: ["packages/tenure/src/**/*.ts", "packages/software-gpu/src/**/*.ts", "examples/*/*.ts"],
  },
);
