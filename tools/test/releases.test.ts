/**
 * What a release needs: a changelog entry per version, a reason per dependency, and workflows that
 * run what there is.
 */
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
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

test("workflows run scripts and files that exist, on a version of Node that is supported", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const folder = ".github/workflows";
  const workflows = readdirSync(join(REPOSITORY, folder)).map((file) => read(join(folder, file)));
  const text = workflows.join("\n");
  const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script = ""]) => script);
  assert.ok(named.length > 0);
  assert.equal(
    named.filter((script) => scripts[script] === undefined),
    [],
  );
  const files = [...text.matchAll(/run: (\.[\w./-]+)/g)].map(([, file = ""]) => file);
  assert.ok(files.length > 0);
  for (const file of files) accessSync(join(REPOSITORY, file), constants.X_OK);
  const versions = [...text.matchAll(/node-version: (\d+)/g)].map(([, version]) => Number(version));
  assert.ok(versions.length >= workflows.length && versions.every((version) => version >= 20));
});

test.run();
