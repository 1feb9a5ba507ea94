/** What a release needs: a changelog entry per version, and a reason per dependency. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow, REPOSITORY } from "../files.ts";

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly dependencies?: object;
  readonly devDependencies?: object;
  readonly peerDependencies?: object;
  readonly optionalDependencies?: object;
}

const test = suite("releases");
const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
const manifests = filesBelow(REPOSITORY, "", /^package\.json$/).map(
  (path) => JSON.parse(read(path)) as Manifest,
);

test("every version of a published package has an entry in CHANGELOG.md", () => {
  const published = manifests.filter((manifest) => manifest.private !== true);
  assert.ok(published.length > 2);
  const headings = read("CHANGELOG.md")
    .split("\n")
    .filter((line) => line.startsWith("## "));
  const missing = published.filter(
    ({ version = "" }) =>
      !headings.some((heading) => /[^ ,]+/.exec(heading.slice(3))?.[0] === version),
  );
  assert.equal(
    missing.map(({ name, version }) => `${name} ${version}`),
    [],
  );
});

test("every dependency has a row in docs/dependencies.md, and every row a dependency", () => {
  const named = manifests.flatMap((manifest) => [
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.devDependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
    ...Object.keys(manifest.optionalDependencies ?? {}),
  ]);
  const rows = [...read("docs/dependencies.md").matchAll(/^\| ([@\w][\w./-]*) +\|/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "package");
  const wanted = new Set(named.filter((name) => name !== "tenure")); // the library itself
  assert.equal([...new Set(rows)].sort(), [...wanted].sort());
});

test.run();
