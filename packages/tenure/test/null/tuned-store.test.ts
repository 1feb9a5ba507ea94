/**
 * What `tune` keeps, in browsers and in files: choices come back by adapter, what others found
 * meanwhile stays, and a store that cannot be opened or holds something else is an empty one.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IDBFactory } from "fake-indexeddb";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fileStore } from "../../src/runtime/file-store.ts";
import { type Tuned, browserStore } from "../../src/runtime/tuned-store.ts";

const test = suite("tuned store");

const tuned: Tuned = [
  ["matmul 512", "tiles 64×64"],
  ["softmax 4096", "one pass"],
];

test("a browser keeps choices by adapter", async () => {
  const factory = new IDBFactory();
  await browserStore(factory).save("one", tuned);
  const again = browserStore(factory);
  assert.equal(await again.load("one"), tuned);
  assert.equal(await again.load("another"), []);
  await again.save("one", [["softmax 4096", "two passes"]]);
  assert.equal(
    await browserStore(factory).load("one"),
    [tuned[0], ["softmax 4096", "two passes"]],
    "what another page found stays",
  );
});

test("what cannot be kept or read is nothing", async () => {
  const closed = new IDBFactory();
  closed.open = () => {
    throw new DOMException("a private window", "SecurityError");
  };
  await browserStore(closed).save("one", tuned);
  assert.equal(await browserStore(closed).load("one"), []);
  const strange = new IDBFactory();
  await browserStore(strange).save("one", [["a", 3]] as unknown as Tuned);
  assert.equal(await browserStore(strange).load("one"), []);
});

/** A folder for a test. */
async function inFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tenure-tuned-"));
  try {
    await fn(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("processes that write one file lose nothing of each other, and leave one file", () =>
  inFolder(async (folder) => {
    const stores = Array.from({ length: 4 }, () => fileStore(folder)!);
    for (const [i, store] of stores.entries()) await store.save("one", [[`matmul ${i}`, "rows"]]);
    assert.is((await stores[0]!.load("one")).length, 4);
    await Promise.all(stores.map((store, i) => store.save("one", [[`sum ${i}`, "alone"]])));
    const kept = await stores[0]!.load("one");
    assert.ok(kept.length > 4, "all that was there, and what one of them found at least");
    assert.equal(await readdir(folder), ["tuned-one.json"]);
  }));

test("files that are damaged, foreign, none, or cannot be written", () =>
  inFolder(async (folder) => {
    const store = fileStore(folder)!;
    const file = join(folder, "tuned-one.json");
    for (const text of ["", "{", "null", "3", '{"a":1}', '[["a"],["b",1],"c",null]', "\0\0"]) {
      await writeFile(file, text);
      assert.equal(await store.load("one"), [], text);
    }
    await store.save("one", tuned);
    assert.equal(await store.load("one"), tuned, "what was damaged is written anew");
    await writeFile(file, `["${"x".repeat(2 ** 24)}"]`);
    assert.equal(await store.load("one"), []);
    await rm(file);
    await mkdir(file);
    await store.save("one", tuned);
    assert.equal(await store.load("one"), []);
    assert.equal(await readdir(folder), ["tuned-one.json"], "no half of a file is left");
    await rm(file, { recursive: true });
    execFileSync("mkfifo", [file]);
    assert.equal(await store.load("one"), [], "a pipe is not waited for");
    await rm(file);
    await writeFile(join(folder, "no-folder"), "mine");
    const blocked = fileStore(join(folder, "no-folder"))!;
    await blocked.save("one", tuned);
    assert.equal(await blocked.load("one"), []);
    assert.is(await readFile(join(folder, "no-folder"), "utf8"), "mine");
  }));

test("a user without a home folder has no store, and nothing throws", () => {
  const os = process.getBuiltinModule("node:os");
  const { homedir } = os;
  const xdg = process.env["XDG_CACHE_HOME"];
  os.homedir = () => {
    throw new Error("uv_os_homedir returned ENOENT");
  };
  delete process.env["XDG_CACHE_HOME"];
  try {
    assert.is(fileStore(), undefined);
  } finally {
    os.homedir = homedir;
    if (xdg !== undefined) process.env["XDG_CACHE_HOME"] = xdg;
  }
});

test.run();
