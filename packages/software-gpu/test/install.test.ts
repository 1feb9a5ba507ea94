/**
 * The packaged driver: found from an empty environment, unpacked by several processes at once,
 * repaired, and refused where it cannot work.
 */
import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readTar } from "../src/cache.ts";
import {
  installSoftwareVulkan,
  SoftwareGpuError,
  type SoftwareVulkan,
  usesPackagedDriver,
} from "../src/index.ts";
import { emptyFolder, type Ended, runFixture } from "./helpers.ts";

interface Found extends SoftwareVulkan {
  early: boolean;
  architecture: string;
  result: number[];
}

const VARIABLES = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_DRIVERS_DISABLE"] as const;

/** What the fixture printed, after checking that it computed and ended well. */
function found(ended: Ended): Found {
  assert.is(ended.code, 0, `${ended.signal ?? ""} ${ended.stderr}`);
  const value = JSON.parse(ended.stdout) as Found;
  assert.equal(value.result, [2, 4, 6, 8]);
  return value;
}

/** Runs `body` with the given driver variables, then puts this process's own back. */
async function withVariables(
  values: Partial<Record<(typeof VARIABLES)[number], string>>,
  body: () => Promise<void>,
): Promise<void> {
  const saved = VARIABLES.map((name) => [name, process.env[name]] as const);
  const set = (name: string, value: string | undefined): void => {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  };
  for (const name of VARIABLES) set(name, values[name]);
  try {
    await body();
  } finally {
    for (const [name, value] of saved) set(name, value);
  }
}

async function thrown(body: () => Promise<unknown>): Promise<SoftwareGpuError> {
  try {
    await body();
  } catch (error) {
    assert.instance(error, SoftwareGpuError);
    return error as SoftwareGpuError;
  }
  throw new Error("nothing was thrown");
}

const install = suite("installSoftwareVulkan");

install("finds the adapter and computes, with an empty environment and a cold cache", async () => {
  const cache = emptyFolder();
  const { architecture, directory, icd, chosenBy } = found(await runFixture("compute", [cache]));
  assert.is(architecture, "swiftshader");
  assert.is(chosenBy, "package");
  assert.ok(directory.startsWith(cache) && icd.startsWith(directory));
});

install("works after a first search for an adapter, made without the driver", async () => {
  found(await runFixture("compute", [emptyFolder(), "before"]));
});

install("four processes share a cold cache", async () => {
  const cache = emptyFolder();
  const all = (await Promise.all([0, 1, 2, 3].map(() => runFixture("compute", [cache])))).map(
    found,
  );
  assert.is(new Set(all.map(({ directory }) => directory)).size, 1);
  assert.equal(
    readdirSync(all[0]?.directory ?? "").filter((name) => name.startsWith(".")),
    [],
  );
});

install("the driver's manifest names its library relatively", async () => {
  await withVariables({}, async () => {
    const { icd, directory } = await installSoftwareVulkan({ cacheRoots: [emptyFolder()] });
    const manifest = JSON.parse(readFileSync(icd, "utf8")) as { ICD: { library_path: string } };
    assert.ok(statSync(join(directory, manifest.ICD.library_path)).isFile());
  });
});

install("repairs a damaged cache and leaves a whole one alone", async () => {
  await withVariables({}, async () => {
    const cacheRoots = [emptyFolder()];
    const { directory } = await installSoftwareVulkan({ cacheRoots });
    const driver = join(directory, "libvk_swiftshader.so");
    const manifest = join(directory, "manifest.json");
    const whole = statSync(driver);
    const again = async (): Promise<number> => {
      await installSoftwareVulkan({ cacheRoots });
      assert.is(statSync(driver).size, whole.size);
      return statSync(driver).ino;
    };
    assert.is(await again(), whole.ino);
    truncateSync(driver, 1000);
    assert.is.not(await again(), whole.ino);
    unlinkSync(driver);
    await again();
    for (const text of ["", "{", "null", `{"files":{}}`]) {
      writeFileSync(manifest, text);
      await again();
      assert.ok(readFileSync(manifest, "utf8").includes("libvulkan.so.1"));
    }
  });
  const parts = emptyFolder();
  found(await runFixture("compute", [parts]));
});

install("repairs a file of the right size and other contents before it is loaded", async () => {
  await withVariables({}, async () => {
    const cacheRoots = [emptyFolder()];
    const { directory } = await installSoftwareVulkan({ cacheRoots });
    const driver = join(directory, "libvk_swiftshader.so");
    const sound = readFileSync(driver);
    const damaged = Buffer.from(sound);
    damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
    writeFileSync(driver, damaged);
    await installSoftwareVulkan({ cacheRoots });
    assert.ok(readFileSync(driver).equals(sound));
  });
});

install("loads nothing from a folder that others can write to", async () => {
  await withVariables({}, async () => {
    const open = emptyFolder();
    const { directory } = await installSoftwareVulkan({ cacheRoots: [open] });
    for (const folder of [directory, open]) {
      chmodSync(folder, 0o777);
      const error = await thrown(() => installSoftwareVulkan({ cacheRoots: [open] }));
      assert.match(error.message, /is not a folder that only this user can write/);
      chmodSync(folder, 0o700);
    }
    await installSoftwareVulkan({ cacheRoots: [open] });
  });
});

install("fails cleanly where the disk is full, and goes on once there is room", async () => {
  const cache = emptyFolder();
  // A limit on file sizes refuses writes as a full disk does.
  const refused = await runFixture("compute", [cache], {}, 64);
  assert.match(refused.stderr, /expected a writable cache folder with room/);
  assert.is(refused.signal, null);
  found(await runFixture("compute", [cache]));
});

install("restore() gives every driver variable its former value", async () => {
  for (const former of [
    {},
    { VK_DRIVER_FILES: "/nowhere/mine.json", VK_LOADER_DRIVERS_DISABLE: "*" },
  ]) {
    await withVariables(former, async () => {
      const now = (): unknown[] => VARIABLES.map((name) => process.env[name]),
        before = now();
      const { icd, restore } = await installSoftwareVulkan({
        cacheRoots: [emptyFolder()],
        force: true,
      });
      assert.equal(now(), [icd, icd, undefined]);
      assert.is(usesPackagedDriver(), true);
      await restore();
      assert.equal(now(), before);
      assert.is(usesPackagedDriver(), false);
    });
  }
});

install("sweeps what writers that died left behind, but not what is being written", async () => {
  await withVariables({}, async () => {
    const cacheRoots = [emptyFolder()];
    const { directory } = await installSoftwareVulkan({ cacheRoots });
    writeFileSync(join(directory, ".partial-1-old"), "");
    utimesSync(join(directory, ".partial-1-old"), 1, 1);
    writeFileSync(join(directory, ".partial-1-new"), "");
    unlinkSync(join(directory, "manifest.json"));
    await installSoftwareVulkan({ cacheRoots });
    assert.equal(
      readdirSync(directory).filter((name) => name.startsWith(".")),
      [".partial-1-new"],
    );
  });
});

install("goes on to the next folder when one cannot be written", async () => {
  await withVariables({}, async () => {
    const blocked = join(emptyFolder(), "file");
    writeFileSync(blocked, "");
    const good = emptyFolder();
    assert.ok(
      (await installSoftwareVulkan({ cacheRoots: [blocked, good] })).directory.startsWith(good),
    );
    const error = await thrown(() => installSoftwareVulkan({ cacheRoots: [blocked] }));
    assert.is(error.code, "unpack-failed");
    assert.match(error.message, /expected a writable cache folder.*XDG_CACHE_HOME/);
  });
});

install(
  "needs no home folder: without a writable one it unpacks among temporary files",
  async () => {
    const temporary = emptyFolder();
    for (const env of [
      { HOME: "/dev/null" },
      { HOME: "/proc/none" }, // no folder can be made there, and Node's mkdir would try for ever
      { HOME: "" },
      { XDG_CACHE_HOME: "/dev/null/cache" },
    ]) {
      const { directory } = found(
        await runFixture("compute", [], { HOME: "/dev/null", TMPDIR: temporary, ...env }),
      );
      assert.ok(directory.startsWith(temporary) || env.HOME === "", directory);
    }
  },
);

install("a whole cache is used where nothing can be written any more", async () => {
  const cache = emptyFolder();
  const { directory } = found(await runFixture("compute", [cache]));
  const files = readdirSync(directory);
  for (const name of files) chmodSync(join(directory, name), 0o400);
  const changed = files.map((name) => statSync(join(directory, name)).ctimeMs);
  chmodSync(directory, 0o500);
  assert.is(found(await runFixture("compute", [cache])).directory, directory);
  assert.equal(readdirSync(directory), files);
  const now = files.map((name) => statSync(join(directory, name)).ctimeMs);
  assert.equal(now, changed);
  chmodSync(directory, 0o700);
});

install("does not trust a shared temporary folder that is a link", async () => {
  await withVariables({}, async () => {
    const temporary = emptyFolder();
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = temporary;
    try {
      const shared = join(temporary, `tenure-cache-${process.getuid?.() ?? "user"}`);
      symlinkSync(emptyFolder(), shared);
      assert.match(
        (await thrown(() => installSoftwareVulkan({ cacheRoots: [join(shared, "tenure")] })))
          .message,
        /is not a folder that only this user can write/,
      );
    } finally {
      if (before === undefined) Reflect.deleteProperty(process.env, "TMPDIR");
      else process.env["TMPDIR"] = before;
    }
  });
});

install("respects the user's own driver, unless told to force", async () => {
  const cacheRoots = [emptyFolder()];
  for (const name of ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] as const) {
    await withVariables({ [name]: "/my/driver.json" }, async () => {
      const own = await installSoftwareVulkan({ cacheRoots });
      assert.is(own.icd, "/my/driver.json");
      assert.is(own.chosenBy, "user");
      assert.is(process.env[name], "/my/driver.json");
    });
  }
  await withVariables(
    { VK_DRIVER_FILES: "/my/driver.json", VK_LOADER_DRIVERS_DISABLE: "*" },
    async () => {
      const forced = await installSoftwareVulkan({ cacheRoots, force: true });
      assert.is(forced.chosenBy, "package");
      assert.is(process.env["VK_DRIVER_FILES"], forced.icd);
      assert.is(process.env["VK_ICD_FILENAMES"], forced.icd);
      assert.is(process.env["VK_LOADER_DRIVERS_DISABLE"], undefined);
      assert.is(
        (await installSoftwareVulkan({ cacheRoots })).chosenBy,
        "package",
        "its own choice is not the user's",
      );
    },
  );
});

install("says exactly what is unsupported and what to install", async () => {
  const arm = await thrown(() => installSoftwareVulkan({ platform: "linux", arch: "arm64" }));
  assert.is(arm.code, "unsupported-platform");
  assert.match(
    arm.message,
    new RegExp(
      "^installSoftwareVulkan: the packaged software adapter exists only for linux on x64, " +
        "got linux on arm64; .*Mesa.*24.*mesa-vulkan-drivers",
    ),
  );
  assert.match(
    (await thrown(() => installSoftwareVulkan({ platform: "darwin", arch: "arm64" }))).message,
    /got darwin on arm64; use the Metal adapter/,
  );
  assert.match(
    (await thrown(() => installSoftwareVulkan({ platform: "win32", arch: "x64" }))).message,
    /WARP/,
  );
});

install.run();

const tar = suite("readTar");

/** One 512-byte header with its content. */
function entry(name: string, content: string, type = "0"): Uint8Array {
  const block = new Uint8Array(512 + Math.ceil(content.length / 512) * 512);
  const put = (text: string, at: number): void => {
    block.set(new TextEncoder().encode(text), at);
  };
  put(name, 0);
  put("0000644", 100);
  put(content.length.toString(8).padStart(11, "0"), 124);
  put(type, 156);
  put("ustar\u000000", 257);
  put(content, 512);
  return block;
}

function join512(...blocks: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat([...blocks, new Uint8Array(1024)]));
}

tar("reads files and skips folders", () => {
  const files = readTar(
    join512(entry("lib/", "", "5"), entry("lib/a", "x".repeat(600)), entry("b", "")),
  );
  assert.equal(
    files.map(({ name, mode, bytes }) => [name, mode, bytes.length]),
    [
      ["lib/a", 0o644, 600],
      ["b", 0o644, 0],
    ],
  );
});

tar("refuses links, paths that leave the folder and cut archives", () => {
  assert.throws(
    () => readTar(join512(entry("a", "", "2"))),
    /expected regular files and folders, got type "2" for "a"/,
  );
  assert.throws(() => readTar(join512(entry("../a", "x"))), /expected a path inside the archive/);
  assert.throws(() => readTar(join512(entry("/a", "x"))), /expected a path inside the archive/);
  assert.throws(
    () => readTar(entry("a", "x".repeat(600)).subarray(0, 900)),
    /expected a whole archive/,
  );
});

tar.run();
