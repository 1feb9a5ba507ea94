/**
 * The packages as a registry would hand them out: built, packed by npm, unpacked into
 * `node_modules` of a project that has nothing else. Used by the consumer tests. Owns a folder in
 * the repository's cache, one per state of the sources, so that packing is done once for all tests
 * and again only when something changed.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/tenure-packed");

/** Folder of each published package, by its name. */
export const packages = {
  tenure: "packages/tenure",
  "tenure-software-gpu": "packages/software-gpu",
  "eslint-plugin-tenure": "eslint-plugin",
  "tenure-inspector": "packages/inspector",
} as const;
/** A package that is published. */
export type PackageName = keyof typeof packages;

/** Where a package lies, packed and unpacked. */
export interface Packed {
  /** The tarball that `npm publish` would send. */
  readonly tarball: string;
  /** Its contents. */
  readonly folder: string;
}

/** Packs one package as `npm publish` would, unless these very sources are packed already. */
export async function pack(name: PackageName): Promise<Packed> {
  const folder = join(cache, `${name}-${digestOf(packages[name])}`);
  if (!existsSync(folder)) await packInto(folder, name);
  const [file = ""] = readdirSync(folder).filter((entry) => entry.endsWith(".tgz"));
  return { tarball: join(folder, file), folder: join(folder, "package") };
}

async function packInto(folder: string, name: PackageName): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const temporary = mkdtempSync(join(cache, "new-"));
  try {
    const where = ["--silent", "--pack-destination", temporary];
    await run("npm", ["pack", "-w", name, ...where], root, { TENURE_BUILD: "unchecked" });
    const [file = ""] = readdirSync(temporary);
    await run("tar", ["-xzf", file], temporary);
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // else another process was faster
  }
}

/** All that a package is made from, in one number. */
function digestOf(home: string): string {
  const hash = createHash("sha256");
  for (const path of ["tsconfig.base.json", "tools/build.ts", "package-lock.json"])
    hash.update(readFileSync(join(root, path)));
  const paths = readdirSync(join(root, home), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/[\\/](dist|node_modules|test|bench)[\\/]/.test(path.slice(root.length)));
  for (const path of paths.sort()) hash.update(path).update(readFileSync(path));
  return hash.digest("hex").slice(0, 16);
}

/** A project in a temporary folder that has some packages installed and nothing else. */
export class Project implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "tenure-consumer-"));

  /** @param fields more of its package.json */
  constructor(fields: Readonly<Record<string, unknown>> = {}) {
    this.write("package.json", JSON.stringify({ private: true, type: "module", ...fields }));
  }

  /** Installs a package as npm would from its tarball; only for packages without dependencies. */
  install(name: string, { folder }: Packed): this {
    cpSync(folder, join(this.folder, "node_modules", name), { recursive: true });
    return this;
  }

  /** Writes a file; returns its whole path. */
  write(path: string, text: string): string {
    const file = join(this.folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** Runs a command in the project; what it printed. @throws Error when it fails */
  run(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
    return run(command, args, this.folder, env);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      cwd,
      env: { ...process.env, NODE_OPTIONS: "", ...env },
      maxBuffer: 1 << 26,
    });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const told = `${stdout}\n${stderr}`.trim();
    throw new Error(`${command} ${args.join(" ")}: ${told || String(error)}`, { cause: error });
  }
}
