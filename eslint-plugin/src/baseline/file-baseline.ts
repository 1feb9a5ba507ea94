/**
 * The baseline as one linted file sees it: tells the findings of each rule that are new from those
 * that the baseline has. Made by `analysis/analyse.ts`, asked by `create-rule.ts`; owns nothing.
 */
import { readFileSync } from "node:fs";
import type { TSESLint } from "@typescript-eslint/utils";
import type ts from "typescript";
import type { Baseline } from "./baseline.ts";
import { renewal } from "./baselines.ts";
import { functionAt, functionsOf, plainCode } from "./leak-place.ts";

/** A piece of TypeScript's text that a rule reports. */
interface Marked {
  mark: { start: number; end: number };
}

/** What a file's baseline is made from. */
export interface FileBaselineParts {
  baseline: Baseline;
  /** As the settings have it. */
  path: string;
  filename: string;
  source: Readonly<TSESLint.SourceCode>;
  file: ts.SourceFile;
  /** Whether it falls to this file to say that the baseline is stale. */
  tells: () => boolean;
}

/** A baseline and the file that is compared with it. */
export class FileBaseline {
  readonly #parts: FileBaselineParts;
  /** Scripts in a page of another language have no functions that `report/` could name. */
  readonly #isEmbedded: boolean;
  #functions: ReadonlySet<string> | undefined;
  #hasTold = false;

  constructor(parts: FileBaselineParts) {
    this.#parts = parts;
    this.#isEmbedded = parts.source.text !== parts.file.text;
  }

  /**
   * The findings of a rule that are new; where the baseline has leaks of it that are no more, what
   * to say of that, once for the file.
   */
  sift<F extends Marked>(rule: string, found: readonly F[]): { fresh: F[]; stale: string | null } {
    const { baseline, file, filename, path, tells } = this.#parts;
    // what a comment excuses is no leak of the baseline: of equal ones it comes last
    const asked = [...found].sort(
      (a, b) =>
        Number(this.#isExcused(a)) - Number(this.#isExcused(b)) || a.mark.start - b.mark.start,
    );
    const places = asked.map(({ mark }) => ({
      function: this.#isEmbedded ? "" : functionAt(file, mark.start),
      code: plainCode(file.text.slice(mark.start, mark.end)),
    }));
    const { isNew, isStale } = baseline.sift(filename, rule, places, () => this.#allFunctions());
    const fresh = new Set(asked.filter((_, i) => isNew[i]));
    const says = isStale && !this.#hasTold && this.#isSaved() && tells();
    if (says) this.#hasTold = true;
    return {
      fresh: found.filter((finding) => fresh.has(finding)),
      stale: says ? `${path} lists leaks that are gone; renew it with ${renewal(path)}.` : null,
    };
  }

  #allFunctions(): ReadonlySet<string> {
    return (this.#functions ??= this.#isEmbedded ? new Set() : functionsOf(this.#parts.file));
  }

  /** Whether a comment on its line or the one before silences a rule. */
  #isExcused({ mark }: Marked): boolean {
    const { text } = this.#parts.file;
    const before = text.lastIndexOf("\n", text.lastIndexOf("\n", mark.start - 1) - 1) + 1;
    const end = text.indexOf("\n", mark.start);
    return text.slice(before, end < 0 ? text.length : end).includes("eslint-disable");
  }

  /** Whether the file is as it lies on the disk: while somebody types, reports come and go. */
  #isSaved(): boolean {
    try {
      const saved = readFileSync(this.#parts.filename, "utf8");
      return saved.replace(/^\uFEFF/, "") === this.#parts.source.text;
    } catch {
      return false;
    }
  }
}
