/**
 * Name gates: cheap sets of names, read from source text once per file, that tell which of a
 * thousand expressions are worth a question to the checker: getters (whose reads may be fresh) and
 * functions documented `@scoped`. Used by `is-fresh.ts` and the temporaries rule.
 */
import type ts from "typescript";
import type { Oracle } from "./oracle.ts";

interface FileNames {
  getters: readonly string[];
  scoped: readonly string[];
}
interface NameGates {
  getters: ReadonlySet<string>;
  scoped: ReadonlySet<string>;
}

function namesOf(file: ts.SourceFile): FileNames {
  const { text } = file;
  // In declaration files only documented getters matter: all others lend what they give.
  const readGetters = !file.isDeclarationFile || text.includes("@fresh");
  return {
    getters: readGetters
      ? [...text.matchAll(/\bget\s+([A-Za-z_$][\w$]*)\s*\(/g)].map((m) => m[1] ?? "")
      : [],
    scoped: text.includes("@scoped")
      ? [...text.matchAll(/@scoped\b/g)].flatMap(
          (m) => text.slice(m.index, m.index + 500).match(/[A-Za-z_$][\w$]*/g) ?? [],
        )
      : [],
  };
}

/** The gates of a program; unchanged files are not read again. */
export const nameGates = (oracle: Oracle): NameGates => oracle.facts.of(oracle, gatesOf);

function gatesOf({ program, facts }: Oracle): NameGates {
  const getters = new Set<string>(),
    scoped = new Set<string>();
  for (const file of program.getSourceFiles()) {
    if (program.isSourceFileDefaultLibrary(file)) continue;
    const names = facts.of(file, namesOf);
    for (const name of names.getters) getters.add(name);
    for (const name of names.scoped) scoped.add(name);
  }
  return { getters, scoped };
}
