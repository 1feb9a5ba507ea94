/**
 * Starts a new lint rule, `npm run new:rule -- <name>` or `node --import tsx tools/new-rule.ts
 * <name>`: writes the rule, its cases, its test and its page, and says what is left to do.
 * `--headers` rewrites the generated headers of all pages. The tests of the plugin import
 * `pageHeader`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rules } from "../eslint-plugin/src/all-rules.ts";

const at = (path: string): string =>
  fileURLToPath(new URL(`../eslint-plugin/${path}`, import.meta.url));
const end = "<!-- end of the generated header -->";

/** The first lines of a rule's page, from what the rule says of itself. */
export function pageHeader(name: string): string {
  const meta = rules[name]?.meta;
  if (!meta?.docs)
    throw new Error(`pageHeader: no rule "${name}"; known: ${Object.keys(rules).join(", ")}`);
  const configs = {
    recommended: "`recommended`, `strict` and `all`",
    strict: "`strict` and `all`",
    all: "`all`",
  }[meta.docs.config];
  const fixes = [
    meta.fixable ? "🔧 Fixed by `--fix`." : "",
    meta.hasSuggestions ? "💡 Offers suggestions in the editor." : "",
  ].filter((s) => s !== "");
  return [
    `# tenure/${name}`,
    "",
    `${meta.docs.description}.`,
    "",
    `💼 On in ${configs}. 💭 Needs type ` +
      `information.${fixes.length > 0 ? ` ${fixes.join(" ")}` : ""}`,
    "",
    end,
  ].join("\n");
}

/** A page with its header brought up to date. */
export const withHeader = (name: string, page: string): string => {
  const cut = page.indexOf(end);
  return pageHeader(name) + (cut < 0 ? `\n\n${page}` : page.slice(cut + end.length));
};

function rewriteHeaders(): void {
  const paths = Object.keys(rules).map((name) => {
    const path = at(`docs/rules/${name}.md`);
    const page = existsSync(path) ? readFileSync(path, "utf8") : "";
    writeFileSync(path, withHeader(name, page));
    return path;
  });
  format(paths);
}

/** Formats what was written, as `npm run check` asks for. */
function format(paths: readonly string[]): void {
  execFileSync("npx", ["prettier", "--write", "--log-level", "warn", ...paths], { cwd: at("..") });
}

function start(name: string): void {
  if (!/^[a-z]+(-[a-z]+)+$/.test(name))
    throw new Error(`new-rule: a rule's name is words joined by dashes, got "${name}"`);
  const files: Record<string, string> = {
    [`src/rules/${name}.ts`]: ruleText(name),
    [`test/rules/${name}.test.ts`]: testText(name),
    [`test/fixtures/cases/${name}.txt`]: CASES,
    [`docs/rules/${name}.md`]: pageText(name),
  };
  for (const [path, text] of Object.entries(files)) {
    if (existsSync(at(path))) throw new Error(`new-rule: eslint-plugin/${path} exists already`);
    writeFileSync(at(path), text);
    console.log(`wrote eslint-plugin/${path}`);
  }
  console.log("Now add it to eslint-plugin/src/all-rules.ts and run this tool with --headers.");
}

function ruleText(name: string): string {
  const constant = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return `/**
 * Rule \`${name}\`: what it reports and why.
 */
import { rule } from "../create-rule.ts";

/** The rule \`${name}\`. */
export const ${constant} = rule<"found", Record<string, never>>({
  name: "${name}",
  description: "Disallow …",
  type: "problem",
  config: "all",
  messages: { found: "…" },
  defaults: {},
  check(file, _options, report) {
    for (const { node, outcome } of file.fresh) {
      if (outcome !== "unknown") continue;
      report({ mark: { start: node.getStart(), end: node.getEnd() }, messageId: "found" });
    }
  },
});
`;
}

function testText(name: string): string {
  return `/**
 * Tests of the rule \`${name}\`: the hand-written cases of
 * \`fixtures/cases/${name}.txt\`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("${name}");
`;
}

const CASES = `//// a case that is fine
export function f(a: Tensor) { console.log(a.size); }
`;

function pageText(name: string): string {
  return `# tenure/${name}

${end}

Why.

## Incorrect

\`\`\`ts
\`\`\`

## Correct

\`\`\`ts
\`\`\`

## Options

None.

## When not to use it
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name] = process.argv.slice(2);
  if (name === "--headers") rewriteHeaders();
  else if (name === undefined) console.error("usage: new-rule.ts <name> | --headers");
  else start(name);
}
