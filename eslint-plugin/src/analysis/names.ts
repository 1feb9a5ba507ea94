/**
 * Name gates: cheap sets of names, read from source text once per file, that tell which of a
 * thousand expressions are worth a question to the checker: getters (whose reads may be fresh) and
 * functions documented `@scoped`. Used by `is-fresh.ts` and the temporaries rule.
 */
import type ts from "typescript";

interface FileNames {
  getters: readonly string[];
  scoped: readonly string[];
}
const byFile = new WeakMap<ts.SourceFile, FileNames>();
const byProgram = new WeakMap<ts.Program, { getters: Set<string>; scoped: Set<string> }>();

function namesOf(file: ts.SourceFile): FileNames {
  let found = byFile.get(file);
  if (found) return found;
  const { text } = file;
  // In declaration files only documented getters matter: all others lend what they give.
  const readGetters = !file.isDeclarationFile || text.includes("@fresh");
  found = {
    getters: readGetters
      ? [...text.matchAll(/\bget\s+([A-Za-z_$][\w$]*)\s*\(/g)].map((m) => m[1] ?? "")
      : [],
    scoped: text.includes("@scoped")
      ? [...text.matchAll(/@scoped\b/g)].flatMap(
          (m) => text.slice(m.index, m.index + 500).match(/[A-Za-z_$][\w$]*/g) ?? [],
        )
      : [],
  };
  byFile.set(file, found);
  return found;
}

/** The gates of a program; unchanged files are not read again. */
export function nameGates(program: ts.Program): {
  getters: ReadonlySet<string>;
  scoped: ReadonlySet<string>;
} {
  let found = byProgram.get(program);
  if (found) return found;
  found = { getters: new Set(), scoped: new Set() };
  for (const file of program.getSourceFiles()) {
    if (program.isSourceFileDefaultLibrary(file)) continue;
    const names = namesOf(file);
    for (const name of names.getters) found.getters.add(name);
    for (const name of names.scoped) found.scoped.add(name);
  }
  byProgram.set(program, found);
  return found;
}
