/**
 * What a registry would get: manifests without faults by publint's rules, types that resolve in
 * every mode that knows ES modules by attw's, maps that lead to shipped sources, nothing else.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, type PackageName, packages } from "../packed.ts";

const test = suite("manifests");

/** `require` gets an ES module, which Node runs from 20.19 on; CommonJS types would be a lie. */
const allowed = ["CJSResolvesToESM", "NoResolution"];

for (const name of Object.keys(packages) as PackageName[]) {
  test(`${name}: publint has nothing to say`, async () => {
    const { folder } = await pack(name);
    const { messages } = await publint({ pkgDir: folder, pack: false, strict: true });
    assert.equal(messages, []);
  });

  test(`${name}: types are where they are looked for`, async () => {
    const { tarball } = await pack(name);
    const found = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    if (found.types === false) throw new Error("expected types, got none");
    const problems = found.problems.filter((problem) => {
      if (problem.kind === "NoResolution") return problem.resolutionKind !== "node10";
      return !allowed.includes(problem.kind);
    });
    assert.equal(problems, []);
  });

  test(`${name}: ships what it names, its licence and sources for its maps`, async () => {
    const { folder } = await pack(name);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    assert.ok(files.includes("LICENSE") && files.includes("README.md"));
    const strange = files.filter(
      (file) => !/^(dist|src|docs)\b|^[A-Z]+(\.md)?$|^package.json$/.test(file),
    );
    assert.equal(strange, []);
    const maps = files.filter((file) => file.endsWith(".map"));
    assert.ok(maps.length > 0);
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(folder, map), "utf8")) as {
        sources: string[];
      };
      for (const source of sources)
        assert.ok(existsSync(resolve(folder, map, "..", source)), `${map}: ${source} is missing`);
    }
  });
}

test.run();
