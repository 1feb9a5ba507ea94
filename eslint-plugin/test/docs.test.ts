/**
 * Holds rule, test, cases and page together, and lints the examples of every page: what is called
 * incorrect must be reported by the rule, what is called correct by no rule of `recommended`.
 */
import { existsSync, readFileSync } from "node:fs";
import { suite } from "uvu";
import { pageHeader } from "../../tools/new-rule.ts";
import { rules } from "../src/all-rules.ts";
import plugin from "../src/index.ts";
import { assert, everyRule, lines, lint, typeErrors } from "./tester.ts";

const test = suite("documentation");
const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const overview = existsSync(new URL("../../docs/lint.md", import.meta.url))
  ? read("../../docs/lint.md")
  : "";

const section = (page: string, title: string): string => {
  const start = page.indexOf(`\n## ${title}\n`);
  assert.ok(start >= 0, `the page has a section "${title}"`);
  const next = page.indexOf("\n## ", start + 4);
  return page.slice(start, next < 0 ? undefined : next);
};
const blocks = (text: string): string[] =>
  [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((m) => m[1] ?? "");

/** Rules of which neither a public fix nor a public report is known. */
const unseen: readonly string[] = [
  ...["no-async-in-scope", "no-escape-from-scope", "no-return-input", "prefer-sequential"],
];
/** Rules whose page shows where public code has what they report, and no fix of it is known. */
const unfixed: readonly string[] = [
  ...["no-double-dispose", "require-caller-scope", "require-scope-pairing"],
];

/** A text as the formatter cannot change it. */
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

for (const [name, rule] of Object.entries(rules)) {
  const page = (): string => read(`../docs/rules/${name}.md`);
  test(`${name}: header`, () => {
    assert.ok(
      oneLine(page()).startsWith(oneLine(pageHeader(name))),
      "run: node --import tsx tools/new-rule.ts --headers",
    );
  });
  test(`${name}: rule, test and cases exist`, () => {
    for (const path of [
      `../src/rules/${name}.ts`,
      `./rules/${name}.test.ts`,
      `./fixtures/cases/${name}.txt`,
    ])
      assert.ok(existsSync(new URL(path, import.meta.url)), path);
    assert.is(rule.name, name);
    assert.match(rule.meta.docs?.url ?? "", new RegExp(`docs/rules/${name}\\.md$`));
  });
  test(`${name}: incorrect examples are reported`, () => {
    const examples = blocks(section(page(), "Incorrect"));
    assert.ok(examples.length > 0);
    for (const code of examples) {
      assert.equal(typeErrors(code), []);
      const found = lint(code, { rules: everyRule });
      assert.ok(
        found.some((m) => m.ruleId === `tenure/${name}`),
        `${code}\n${lines(found).join("\n")}`,
      );
    }
  });
  test(`${name}: correct examples are clean`, () => {
    for (const code of blocks(section(page(), "Correct"))) {
      assert.equal(typeErrors(code), []);
      assert.equal(lines(lint(code, { rules: plugin.configs.recommended.rules })), [], code);
      assert.equal(lint(code, { rules: { [`tenure/${name}`]: "error" } }), []);
    }
  });
  test(`${name}: options are all described`, () => {
    const text = section(page(), "Options");
    const schema = rule.meta.schema as unknown as {
      properties?: Record<string, { description?: string }>;
    }[];
    for (const [option, { description }] of Object.entries(schema[0]?.properties ?? {})) {
      assert.ok(text.includes(`\`${option}\``), option);
      assert.ok((description ?? "").length > 10, `${option} has a description`);
    }
    assert.ok(section(page(), "When not to use it").trim().length > 40);
  });
  if (unfixed.includes(name))
    test(`${name}: has real code`, () => {
      const link = /https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/blob\/[0-9a-f]{7,}\/\S+#L\d+\)/;
      assert.match(section(page(), "From real code"), link);
    });
  else if (!unseen.includes(name))
    test(`${name}: has a change of real code`, () => {
      const text = section(page(), "From real code");
      assert.match(text, /https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/commit\/[0-9a-f]{7,}/);
      assert.match(text, /```diff\n[\s\S]*^[-+]/m);
    });
  test(`${name}: is in the overview`, () => {
    assert.ok(overview.includes(`rules/${name}.md`));
  });
}

test("links of the overview lead somewhere", () => {
  for (const [, path] of overview.matchAll(/\]\((\.\.?\/[^)#]+)/g))
    assert.ok(existsSync(new URL(`../../docs/${path ?? ""}`, import.meta.url)), path);
});
test.run();
