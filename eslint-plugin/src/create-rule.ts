/**
 * How every rule of this plugin is made: one typed `rule()` that adds the documentation link, asks
 * for the shared analysis when the file has been read, and turns "no types" or "wrong settings"
 * into one message per file. Used by `rules/*.ts` and nothing else.
 */
import { ESLintUtils, type JSONSchema, type TSESLint } from "@typescript-eslint/utils";
import type ts from "typescript";
import { analyse, type FileAnalysis } from "./analysis/analyse.ts";
import type { Places } from "./embedded.ts";

/** What the documentation of a rule says of it. */
export interface RuleDocs {
  /** In which configs the rule is on. */
  config: "recommended" | "strict" | "all";
  /** Checked by `docs/rules/*.md`'s generated header. */
  requiresTypeChecking: true;
}
/** Edits that a fix or suggestion makes. */
export type Fix = (
  fixer: TSESLint.RuleFixer,
) => TSESLint.RuleFix | readonly TSESLint.RuleFix[] | null;
/** A cure that the editor offers. */
export interface Suggestion<Id extends string> {
  messageId: Id;
  data?: Record<string, string>;
  fix: Fix;
}

/** One finding of a rule: a piece of source, a message and what can be typed instead. */
export interface Finding<Id extends string> {
  mark: { start: number; end: number };
  messageId: Id;
  /** What stands in the message; a node stands for its line. */
  data?: Record<string, string | ts.Node>;
  fix?: Fix | null;
  suggest?: readonly Suggestion<Id>[];
}

/** What a rule is made of. */
export interface RuleSpec<Id extends string, Options extends Record<string, unknown>> {
  name: string;
  description: string;
  type: "problem" | "suggestion";
  config: RuleDocs["config"];
  messages: Record<Id, string>;
  fixable?: boolean;
  hasSuggestions?: boolean;
  /** Option name → JSON schema; every schema carries a description. */
  options?: Record<keyof Options & string, JSONSchema.JSONSchema4 & { description: string }>;
  defaults: Options;
  check(file: FileAnalysis, options: Options, report: (finding: Finding<Id>) => void): void;
  /** What to report once every rule has checked the file, where none has said it better. */
  last?(file: FileAnalysis, options: Options, report: (finding: Finding<Id>) => void): void;
}
/** A rule as ESLint takes it. */
export type TenureRule = TSESLint.RuleModule<string, [Record<string, unknown>?], RuleDocs> & {
  name: string;
};

/** Where the pages of the rules live. */
export const docsUrl = (name: string): string =>
  `https://github.com/tenure-js/tenure/blob/main/eslint-plugin/docs/rules/${name}.md`;

const create = ESLintUtils.RuleCreator<RuleDocs>(docsUrl);

/** Makes a rule: adds the link to its page, options and the shared analysis. */
export function rule<Id extends string, Options extends Record<string, unknown>>(
  spec: RuleSpec<Id, Options>,
): TenureRule {
  const made = create<[Options], Id | "setup">({
    name: spec.name,
    meta: {
      type: spec.type,
      docs: { description: spec.description, config: spec.config, requiresTypeChecking: true },
      messages: { ...spec.messages, setup: "{{ text }}" },
      ...(spec.fixable ? { fixable: "code" as const } : {}),
      ...(spec.hasSuggestions ? { hasSuggestions: true } : {}),
      schema:
        spec.options === undefined
          ? []
          : [{ type: "object", additionalProperties: false, properties: spec.options }],
      ...(spec.options === undefined ? {} : { defaultOptions: [spec.defaults] as [Options] }),
    },
    create(context, given) {
      const options = (given as readonly (Options | undefined)[])[0];
      const found: Finding<Id>[] = [];
      const add = (finding: Finding<Id>): unknown => found.push(finding);
      const tell = (file: FileAnalysis): void => {
        const { fresh, stale } = file.baseline?.sift(spec.name, found) ?? noBaseline(found);
        for (const finding of fresh) report(context, file.places, finding);
        if (stale !== null) say(context, stale);
      };
      let checked: FileAnalysis | undefined;
      return {
        "Program:exit"() {
          guarded(context, spec.name, () => {
            const file = analyse(context);
            if (typeof file === "string") say(context, file);
            if (file === null || typeof file === "string" || !(file.mayOwn || file.baseline))
              return;
            if (file.mayOwn) spec.check(file, { ...spec.defaults, ...options }, add);
            file.told.push(...found.map(({ mark }) => mark));
            if (!spec.last) tell(file);
            checked = file;
          });
        },
        // a selector that says more runs later, after all rules have checked
        'Program[type="Program"]:exit'() {
          const file = checked;
          if (file && spec.last)
            guarded(context, spec.name, () => {
              if (file.mayOwn) spec.last?.(file, { ...spec.defaults, ...options }, add);
              tell(file);
            });
        },
      };
    },
  });
  return made;
}

type Context<Id extends string> = Readonly<TSESLint.RuleContext<Id | "setup", readonly unknown[]>>;

/**
 * Runs a check. One that the stack is too small for, or that fails, says so in a report of its
 * file: an error that is thrown would take the reports of all rules and files with it.
 */
function guarded<Id extends string>(context: Context<Id>, name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    say(
      context,
      error instanceof RangeError
        ? `tenure/${name} cannot follow expressions that are nested this deeply ` +
            `(${error.message}); split the longest chain or list of this file, or leave ` +
            "the file out."
        : `tenure/${name} failed on this file (${whatFailed(error)}); this is a mistake of the ` +
            "rule, please report it, and switch the rule off for this file until then.",
    );
  }
}

/** The message of an error and where it came from, which TypeScript's own functions do not tell. */
function whatFailed(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const places = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const at = places.find((line) => !/[\\/]typescript[\\/]lib[\\/]/.test(line));
  return at === undefined ? error.message : `${error.message} ${at.trim()}`;
}

const noBaseline = <F>(found: readonly F[]): { fresh: readonly F[]; stale: null } => ({
  fresh: found,
  stale: null,
});

/** Says something of a file as a whole. */
function say<Id extends string>(context: Context<Id>, text: string): void {
  context.report({ loc: { line: 1, column: 0 }, messageId: "setup", data: { text } });
}

function report<Id extends string>(
  context: Context<Id>,
  places: Places,
  finding: Finding<Id>,
): void {
  const { sourceCode } = context;
  const mark = places.piece(finding.mark.start, finding.mark.end);
  if (!mark) return; // in what a parser of embedded scripts put in
  const returns = sourceCode.text.includes("\r\n");
  const own =
    (fix: Fix): Fix =>
    (fixer) =>
      withEdits(fix(fixer), (edit) => places.edit(returns ? withReturns(edit) : edit));
  const textOf = (value: string | ts.Node): string => {
    if (typeof value === "string") return value;
    const at = places.of(value.getStart());
    return at === undefined ? lineOf(value) : String(sourceCode.getLocFromIndex(at).line);
  };
  const data = Object.entries(finding.data ?? {}).map(([key, value]) => [key, textOf(value)]);
  context.report({
    loc: {
      start: sourceCode.getLocFromIndex(mark.start),
      end: sourceCode.getLocFromIndex(mark.end),
    },
    messageId: finding.messageId,
    data: Object.fromEntries(data) as Record<string, string>,
    ...(finding.fix ? { fix: own(finding.fix) } : {}),
    ...(finding.suggest && finding.suggest.length > 0
      ? {
          suggest: finding.suggest.map((s) => ({
            messageId: s.messageId,
            fix: own(s.fix),
            ...(s.data ? { data: s.data } : {}),
          })),
        }
      : {}),
  });
}

/** The edits of a fix, each changed; nothing when one of them cannot be made. */
function withEdits(
  fix: ReturnType<Fix>,
  change: (edit: TSESLint.RuleFix) => TSESLint.RuleFix | null,
): ReturnType<Fix> {
  if (fix === null) return null;
  const edits = ("range" in fix ? [fix] : fix).map(change);
  return edits.every((edit) => edit !== null) ? edits : null;
}

/** What a fix writes into a file whose lines end in CR LF. */
const withReturns = (edit: TSESLint.RuleFix): TSESLint.RuleFix => ({
  ...edit,
  text: edit.text.replace(/\r?\n/g, "\r\n"),
});

/** The mark of a whole node. */
export const spanOf = (node: ts.Node): { start: number; end: number } => ({
  start: node.getStart(),
  end: node.getEnd(),
});
/** 1-based line of a node, for messages. */
export const lineOf = (node: ts.Node, end = false): string =>
  String(
    node.getSourceFile().getLineAndCharacterOfPosition(end ? node.getEnd() - 1 : node.getStart())
      .line + 1,
  );
