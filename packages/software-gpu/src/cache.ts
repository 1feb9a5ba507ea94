/**
 * Unpacks archives of `@sparticuz/chromium` into a per-user cache folder, once per package version
 * and content. Called by `index.ts` and `chromium.ts`. The files belong to the user's cache:
 * nothing here deletes a finished file, so a driver mapped by another process stays valid.
 *
 * Any number of processes may unpack at the same time, without a lock: each file is written under a
 * name of its own and renamed over the final name, every process writes the same bytes, and the
 * manifest that declares the folder complete is renamed last.
 *
 *     swiftshader-143.0.4-1a2b3c4d5e6f/   libvulkan.so.1   manifest.json            ← complete
 *                                         .partial-4711-0-libvk_swiftshader.so
 *                                         ↑ somebody else is writing; swept after a day
 */
import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import {
  access,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { brotliDecompress, createBrotliDecompress } from "node:zlib";
import { messageOf, SoftwareGpuError } from "./errors.ts";

const MANIFEST = "manifest.json";
const PARTIAL = ".partial-";
const STALE_MS = 24 * 60 * 60 * 1000;

/** One archive of the package and what it holds. */
export interface Archive {
  /** File name inside the package's `bin` folder. */
  readonly file: string;
  /** `tar`: several files. A string: the archive is that one executable. */
  readonly content: "tar" | { readonly executable: string };
}

/** Where to find the archives. */
export interface ArchivePackage {
  /** The `bin` folder. */
  readonly bin: string;
  readonly version: string;
}

/** One regular file of a tar archive. `bytes` is a view of the archive, not a copy. */
export interface TarFile {
  readonly name: string;
  readonly mode: number;
  readonly bytes: Uint8Array;
}

/**
 * Reads the regular files of an uncompressed ustar or GNU archive. Folders are skipped; links, long
 * names and paths that leave the folder are refused.
 */
export function readTar(archive: Uint8Array): TarFile[] {
  const files: TarFile[] = [];
  const text = (start: number, length: number): string => {
    const field = archive.subarray(start, start + length);
    const end = field.indexOf(0);
    return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
  };
  let at = 0;
  while (at + 512 <= archive.length && archive[at] !== 0) {
    // GNU archives use the bytes of the ustar prefix for times, so only "ustar\0" has one.
    const prefix =
      text(at + 257, 8) === "ustar" && archive[at + 263] === 0x30 ? text(at + 345, 155) : "";
    const name = prefix === "" ? text(at, 100) : `${prefix}/${text(at, 100)}`;
    const size = Number.parseInt(text(at + 124, 12).trim(), 8);
    const mode = Number.parseInt(text(at + 100, 8).trim(), 8);
    const type = String.fromCharCode(archive[at + 156] ?? 0);
    const start = at + 512;
    if (!Number.isSafeInteger(size) || start + size > archive.length) {
      throw new SoftwareGpuError(
        "unpack-failed",
        `readTar: expected a whole archive, got entry "${name}" of ${size} bytes at ${at} of ` +
          `${archive.length}; reinstall the package`,
      );
    }
    if (type === "0" || type === "\0") {
      if (isAbsolute(name) || name.split("/").includes("..")) {
        throw new SoftwareGpuError(
          "unpack-failed",
          `readTar: expected a path inside the archive, got "${name}"; reinstall the package`,
        );
      }
      files.push({ name, mode, bytes: archive.subarray(start, start + size) });
    } else if (type !== "5") {
      throw new SoftwareGpuError(
        "unpack-failed",
        `readTar: expected regular files and folders, got type "${type}" for "${name}"`,
      );
    }
    at = start + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** Finds the installed package that ships the archives. */
export async function findArchivePackage(caller: string): Promise<ArchivePackage> {
  const remedy = "install it with `npm install tenure-software-gpu`";
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  } catch (error) {
    throw new SoftwareGpuError(
      "package-missing",
      `${caller}: expected the npm package @sparticuz/chromium, found none; ${remedy}`,
      { cause: error },
    );
  }
  for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest: unknown = await readFile(join(folder, "package.json"), "utf8").then(
      JSON.parse,
      () => undefined,
    );
    if (
      isRecord(manifest) &&
      manifest["name"] === "@sparticuz/chromium" &&
      typeof manifest["version"] === "string"
    ) {
      return { bin: join(folder, "bin"), version: manifest["version"] };
    }
  }
  throw new SoftwareGpuError(
    "package-missing",
    `${caller}: expected a package.json above ${entry}, found none; ${remedy}`,
  );
}

/**
 * Folders to try for the cache, best first: `$XDG_CACHE_HOME`, `~/.cache`, a private folder of the
 * temporary directory.
 */
export function cacheRoots(): string[] {
  const roots: string[] = [];
  const xdg = process.env["XDG_CACHE_HOME"];
  if (xdg !== undefined && isAbsolute(xdg)) roots.push(xdg);
  try {
    const home = homedir();
    if (isAbsolute(home)) roots.push(join(home, ".cache"));
  } catch {
    // A user without a home folder: the temporary directory is left.
  }
  roots.push(privateTemporary());
  return roots.map((root) => join(root, "tenure"));
}

/**
 * Returns a folder that holds the files of `archives`, unpacking them first when no complete folder
 * exists or when one of its files is not what was written.
 * @param name first part of the folder's name
 * @param caller function named in errors
 */
export async function unpackOnce(
  name: string,
  archives: readonly Archive[],
  caller: string,
  roots: readonly string[] = cacheRoots(),
): Promise<string> {
  const source = await findArchivePackage(caller);
  const key = `${name}-${source.version}-${await contentHash(source, archives, caller)}`;
  const tried: string[] = [];
  for (const root of roots) {
    const folder = join(root, key);
    try {
      await makeFolder(folder, 0o700);
      for (const part of trustedParts(root, folder)) await refuseForeign(part);
      if (await isComplete(folder)) return folder;
      await fill(folder, source, archives);
      if (await isComplete(folder)) return folder;
      tried.push(`${folder}: files changed while they were written`);
    } catch (error) {
      if (error instanceof SoftwareGpuError) throw error;
      tried.push(`${folder}: ${messageOf(error)}`);
    }
  }
  throw new SoftwareGpuError(
    "unpack-failed",
    `${caller}: expected a writable cache folder with room for the unpacked files, got ` +
      `${tried.join("; ")}; set XDG_CACHE_HOME to a folder that you can write`,
  );
}

/**
 * Makes a folder, and those above it that are missing. Node's own recursive mkdir never returns
 * where the system answers "no such folder" below one that is there, as it does in /proc.
 */
async function makeFolder(folder: string, mode?: number): Promise<void> {
  const isThere = (error: unknown): boolean => codeOf(error) === "EEXIST";
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (isThere(error)) return;
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), mode);
    await mkdir(folder, { mode }).catch((again: unknown) => {
      if (!isThere(again)) throw again;
    });
  }
}

function codeOf(error: unknown): unknown {
  return isRecord(error) ? error["code"] : undefined;
}

/** What the manifest says of one file. */
interface Fingerprint {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Whether the manifest is there and every file it names has the contents that were written. The
 * contents are read, not only their size: what is in the folder is going to be executed.
 */
async function isComplete(folder: string): Promise<boolean> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, MANIFEST), "utf8"));
    if (!isRecord(manifest) || !isRecord(manifest["files"])) return false;
    const files = Object.entries(manifest["files"]);
    for (const [file, wanted] of files) {
      const path = join(folder, file);
      const found = await lstat(path);
      if (!found.isFile() || !isRecord(wanted) || found.size !== wanted["bytes"]) return false;
      if ((await fingerprint(path)).sha256 !== wanted["sha256"]) return false;
    }
    return files.length > 0;
  } catch {
    return false;
  }
}

async function fingerprint(path: string): Promise<Fingerprint> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Writes every file, then the manifest. */
async function fill(
  folder: string,
  source: ArchivePackage,
  archives: readonly Archive[],
): Promise<void> {
  await sweepStale(folder);
  const files: Record<string, Fingerprint> = {};
  for (const { file, content } of archives) {
    const packed = join(source.bin, file);
    if (content === "tar") {
      for (const entry of readTar(await promisify(brotliDecompress)(await readFile(packed)))) {
        const sha256 = createHash("sha256").update(entry.bytes).digest("hex");
        files[entry.name] = { bytes: entry.bytes.length, sha256 };
        await replaceFile(folder, entry.name, (path) =>
          writeFile(path, entry.bytes, { mode: entry.mode }),
        );
      }
    } else {
      await replaceFile(folder, content.executable, (path) =>
        pipeline(
          createReadStream(packed),
          createBrotliDecompress(),
          createWriteStream(path, { mode: 0o755 }),
        ),
      );
      files[content.executable] = await fingerprint(join(folder, content.executable));
    }
  }
  await replaceFile(folder, MANIFEST, (path) =>
    writeFile(path, `${JSON.stringify({ files }, undefined, 2)}\n`),
  );
}

/**
 * Writes under a private name and renames, so that readers see the old file or the whole new one.
 */
export async function replaceFile(
  folder: string,
  name: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  const final = join(folder, name);
  const partial = join(folder, `${PARTIAL}${process.pid}-${randomBytes(6).toString("hex")}`);
  await makeFolder(dirname(final));
  try {
    await write(partial);
    await rename(partial, final);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Removes what processes that died while writing left behind. */
async function sweepStale(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PARTIAL)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS)
      await rm(path, { force: true });
  }
}

/** First 12 hex digits of the SHA-256 over the packed archives. */
async function contentHash(
  source: ArchivePackage,
  archives: readonly Archive[],
  caller: string,
): Promise<string> {
  const hash = createHash("sha256");
  for (const { file } of archives) {
    const packed = join(source.bin, file);
    try {
      await access(packed, constants.R_OK);
      for await (const chunk of createReadStream(packed, { highWaterMark: 1 << 20 }))
        hash.update(chunk as Uint8Array);
    } catch (error) {
      throw new SoftwareGpuError(
        "package-missing",
        `${caller}: expected ${packed} to be readable, got ${messageOf(error)}; reinstall ` +
          "@sparticuz/chromium",
        { cause: error },
      );
    }
  }
  return hash.digest("hex").slice(0, 12);
}

/**
 * The temporary directory is shared: there the cache lives in a folder named after the user, and
 * only if nobody else can write to it.
 */
function privateTemporary(): string {
  return join(tmpdir(), `tenure-cache-${process.getuid?.() ?? "user"}`);
}

/** The folders on the way to a cache that nobody else may own or write to. */
function trustedParts(root: string, folder: string): string[] {
  const base = privateTemporary();
  return root.startsWith(base) ? [base, root, folder] : [root, folder];
}

/**
 * Libraries from a folder that another user owns or can write to must not be loaded. Windows has no
 * such modes: there a user's folders are closed to others by default.
 */
async function refuseForeign(folder: string): Promise<void> {
  const user = process.getuid?.();
  if (user === undefined) return;
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== user || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} is not a folder that only this user can write`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
