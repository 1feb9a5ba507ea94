/**
 * The declarations of the library as its package has them, for the typed test files: emitted from
 * the sources into `fixtures/node_modules/tenure`, where TypeScript finds them as it would in a
 * user's project. Called by `tester.ts` and by whoever else types code against them. Owns that
 * folder; it is made again only when a source has changed since.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const home = at("../../packages/tenure");
const folder = at("./fixtures/node_modules");
const stamp = ".digest";

/** The folder of the package that has the declarations. */
export const declarations = join(folder, "tenure");

/** The public modules by name, each with its source file. */
export function publicModules(): [name: string, source: string][] {
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
    exports: Record<string, { "tenure:source"?: string }>;
  };
  return Object.entries(exports).flatMap(([path, { "tenure:source": source }]) =>
    source === undefined ? [] : [[`tenure${path.slice(1)}`, join(home, source)] as const],
  );
}

/** Sees to it that the declarations are those of the sources as they are now. */
export function layDeclarations(): void {
  const digest = digestOfSources();
  if (isLaid(digest)) return;
  mkdirSync(folder, { recursive: true });
  const temporary = mkdtempSync(join(folder, "new-"));
  try {
    emit(join(temporary, "dist"));
    writeFileSync(join(temporary, "package.json"), readFileSync(join(home, "package.json")));
    writeFileSync(join(temporary, stamp), digest);
    if (isLaid(digest)) return; // another process was faster
    // moved away as a whole: no other process finds, or leaves, half of it
    if (existsSync(declarations)) renameSync(declarations, `${temporary}-old`);
    renameSync(temporary, declarations);
  } catch (error) {
    if (!isLaid(digest)) throw error;
  } finally {
    for (const rest of [temporary, `${temporary}-old`])
      rmSync(rest, { recursive: true, force: true });
  }
}

/** Installs the package with the declarations in a project. */
export function installDeclarations(project: string): void {
  layDeclarations();
  mkdirSync(join(project, "node_modules"), { recursive: true });
  symlinkSync(declarations, join(project, "node_modules", "tenure"));
}

function isLaid(digest: string): boolean {
  try {
    return readFileSync(join(declarations, stamp), "utf8") === digest;
  } catch {
    return false;
  }
}

function digestOfSources(): string {
  const hash = createHash("sha256").update(ts.version);
  const sources = readdirSync(join(home, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(home, "src", path));
  for (const path of [join(home, "package.json"), ...sources.sort()])
    hash.update(path).update(readFileSync(path));
  return hash.digest("hex");
}

/** Writes what `npm run build` would declare. */
function emit(target: string): void {
  const { options } = readProject(join(home, "tsconfig.build.json"));
  const program = ts.createProgram(
    publicModules().map(([, source]) => source),
    {
      ...options,
      ...{ noCheck: true, emitDeclarationOnly: true, declarationMap: false, sourceMap: false },
      outDir: target,
    },
  );
  program.emit(undefined, (file, text) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  });
}

/** What a tsconfig.json says, with what it extends. */
export function readProject(tsconfig: string): ts.ParsedCommandLine {
  const project = ts.getParsedCommandLineOfConfigFile(
    tsconfig,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, " "));
      },
    },
  );
  if (!project) throw new Error(`expected a project, found none at ${tsconfig}`);
  return project;
}
