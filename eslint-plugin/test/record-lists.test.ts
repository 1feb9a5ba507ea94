/**
 * Lists in records that a function fills with values of its own: what it takes out and drops is
 * lost. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("lists of records");
const { rules } = plugin.configs.recommended;

/** A function that is given a record with a list, and numbers. */
function reports(name: string, body: string, expected: string[], rest = ""): void {
  const code =
    `import * as tn from "tenure";\ninterface Book { windows: tn.Tensor[] }\n${rest}\n` +
    `export function put(book: Book, prices: number[]) {\n${body}\n}`;
  test(name, () => {
    const found = lines(lint(code, { rules }));
    assert.equal(
      found.map((line) => line.split(/[ :]/)[1]),
      expected,
      found.join("\n"),
    );
  });
}

const most = "if (book.windows.length > 4)";
const all =
  "const all = new Set<tn.Tensor>();\n" +
  "export function clear(): void { for (const t of all) t.dispose(); all.clear(); }";
const free = "const free = (t: tn.Tensor): void => t.dispose();";

reports(
  "shifted where there are too many",
  `const t = tn.tensor(prices);\nbook.windows.push(t);\n${most} book.windows.shift();`,
  ["no-dropped-element"],
);
reports(
  "shifted and ended",
  `book.windows.push(tn.tensor(prices));\n${most} book.windows.shift()?.dispose();`,
  [],
);
reports(
  "shifted for the caller",
  "book.windows.push(tn.tensor(prices));\nreturn book.windows.shift();",
  [],
);
reports(
  "what another place has, too",
  "const t = tn.tensor(prices);\nbook.windows.push(t);\nall.add(t);\n" +
    `${most} book.windows.shift();`,
  [],
  all,
);
reports(
  "what a function ended before",
  "book.windows.push(tn.tensor(prices));\nfree(book.windows[0]!);\nbook.windows.shift();",
  [],
  free,
);
reports(
  "what a function ends that is given the record",
  "book.windows.push(tn.tensor(prices));\ntrim(book);\nbook.windows.shift();",
  [],
  "const trim = (b: Book): void => b.windows[0]!.dispose();",
);

/** A class with a record, and what it does with a list in that. */
const shelf = (members: string, put: string): string =>
  "class Shelf { private book: Book = { windows: [] };\n" +
  `${members} put(prices: number[]): void { const t = tn.tensor(prices);\n` +
  `this.book.windows.push(t); ${put} }\n` +
  "dispose(): void { for (const t of this.book.windows) t.dispose(); } }";
const dropped = "if (this.book.windows.length > 4) this.book.windows.shift();";
reports(
  "the list of a record in a field",
  "return prices;",
  ["no-dropped-element"],
  shelf("", dropped),
);
reports(
  "what a method ended before",
  "return prices;",
  [],
  shelf(
    "private free(i: number): void { this.book.windows[i]!.dispose(); }",
    "if (this.book.windows.length > 4) { this.free(0); this.book.windows.shift(); }",
  ),
);
reports(
  "what a set has, too, where a class has the record",
  "return prices;",
  [],
  `${all}\n${shelf("", `all.add(t); ${dropped}`)}`,
);
reports("a list that others fill", `${most} book.windows.shift();`, []);
reports(
  "a list of what the function was given",
  `const t = given;\nbook.windows.push(t);\n${most} book.windows.shift();`,
  [],
  "declare const given: tn.Tensor;",
);

test.run();
