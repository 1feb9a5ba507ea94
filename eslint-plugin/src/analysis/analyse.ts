/**
 * The analysis of one file, built on demand by whichever rule asks first and shared by all (keyed
 * by the syntax tree). Rules read `fresh` (where fresh values go), `problems` (what the dataflow
 * found) and the session; nothing here reports anything.
 */
import {
  ESLintUtils,
  type TSESLint,
  type ParserServicesWithTypeInformation,
} from "@typescript-eslint/utils";
import ts from "typescript";
import type { ResolvedSettings } from "../owner.ts";
import { Baselines } from "../baseline/baselines.ts";
import { FileBaseline } from "../baseline/file-baseline.ts";
import { mappedNodes, Places } from "../embedded.ts";
import { isGenerated } from "../generated.ts";
import { resolveSettings } from "../settings.ts";
import { isReadable } from "./program/checker.ts";
import type { Facts } from "./program/facts.ts";
import { freshValues, type FreshValue, type Outcome } from "./fresh/consume.ts";
import { endlessValues, isTold, type EndlessValue } from "./trails/endless-values.ts";
import type { FunctionPaths } from "./flow/events.ts";
import { Flow, type Problem } from "./flow/flow.ts";
import { isForProgram } from "./flow/program-starts.ts";
import { mayReject } from "./flow/rejections.ts";
import { Workspace } from "./open.ts";
import { readPaths, type Traversable } from "./flow/paths.ts";
import { pilesUp } from "./trails/runs-often.ts";
import type { Session } from "./session.ts";

type SourceText = Traversable & Readonly<TSESLint.SourceCode>;

/** What becomes of a value that nobody has any more once it is made. */
const lostAtOnce: ReadonlySet<Outcome> = new Set(["dropped", "forsaken", "leaked", "elements"]);

/** What is known of one file; every part is found when it is first asked for. */
export class FileAnalysis {
  readonly session: Session;
  readonly file: ts.SourceFile;
  readonly services: ParserServicesWithTypeInformation;
  /** The leaks that the file had when the plugin came, where the settings name a baseline. */
  readonly baseline: FileBaseline | null;
  /** What the rules have reported so far. */
  readonly told: { start: number; end: number }[] = [];
  private readonly source: SourceText;
  private placesCache: Places | undefined;
  private madeCache: readonly FreshValue[] | undefined;
  private freshCache: FreshValue[] | undefined;
  private endlessCache: EndlessValue[] | undefined;
  private pathsCache: FunctionPaths[] | undefined;
  private flowsCache: readonly Flow[] | undefined;
  private problemsCache: readonly Problem[] | undefined;
  private exceptionalCache: readonly Problem[] | undefined;

  constructor(
    source: SourceText,
    services: ParserServicesWithTypeInformation,
    file: ts.SourceFile,
    session: Session,
    baseline: FileBaseline | null,
  ) {
    this.baseline = baseline;
    this.source = source;
    this.services = services;
    this.file = file;
    this.session = session;
  }

  /** What the syntax of files says. */
  get facts(): Facts {
    return this.session.oracle.facts;
  }
  /** Whether the file can hold anything owned; where not, no rule need look. */
  get mayOwn(): boolean {
    return this.session.reaches(this.file);
  }

  /** Where the tree's pieces stand in the file. */
  get places(): Places {
    const map = this.services.esTreeNodeToTSNodeMap;
    return (this.placesCache ??= new Places(this.source, map, this.file));
  }

  /** Every fresh value of the file and where it goes, also where that may last. */
  get made(): readonly FreshValue[] {
    return (this.madeCache ??= freshValues(this.session, this.file));
  }

  /** Every fresh value of the file that counts, and where it goes. */
  get fresh(): readonly FreshValue[] {
    return (this.freshCache ??= this.made.filter(
      ({ node, owned, outcome }) =>
        pilesUp(this.session, owned, node) &&
        !(lostAtOnce.has(outcome) && isForProgram(this.session, owned, node)),
    ));
  }

  private get paths(): FunctionPaths[] {
    return (this.pathsCache ??= readPaths(
      this.session,
      this.source,
      this.services.esTreeNodeToTSNodeMap,
      this.file,
    ));
  }

  /** The values that nothing ends, wherever they get to, of which no rule has said anything. */
  get endless(): readonly EndlessValue[] {
    this.endlessCache ??= endlessValues(
      this.session,
      this.fresh.filter(({ owned, node }) => !isForProgram(this.session, owned, node)),
    );
    return this.endlessCache.filter((value) => !isTold(value, this.told));
  }

  /** What the dataflow found where nothing throws. */
  get problems(): readonly Problem[] {
    this.problemsCache ??= this.flows.flatMap(({ problems }) => problems).filter(this.counts);
    return this.problemsCache;
  }

  /** What it found besides on paths that end in a `throw` or in an `await` that rejects. */
  get exceptional(): readonly Problem[] {
    const { oracle } = this.session;
    this.exceptionalCache ??= this.flows
      .flatMap((flow) => flow.exceptional((wait) => mayReject(oracle, wait)))
      .filter(this.counts);
    return this.exceptionalCache;
  }

  private get flows(): readonly Flow[] {
    return (this.flowsCache ??= this.paths.map((paths) => new Flow(paths)));
  }

  private readonly counts = (p: Problem): boolean =>
    p.kind === "leak"
      ? pilesUp(this.session, p.cell.owned, p.site.value) &&
        !isForProgram(this.session, p.cell.owned, p.site.node)
      : p.kind !== "overwrite" || !isForProgram(this.session, p.cell.owned, p.node);
}

/** The analyses of all files that are being linted, by syntax tree. */
class Analyses {
  readonly workspace = new Workspace();
  readonly baselines = new Baselines();
  readonly known = new WeakMap<object, FileAnalysis | string | null>();
  /** Files that have said why there is no analysis. */
  readonly told = new WeakSet<object>();
}

/** ESLint gives rules no object that outlives a file: this is the one state of the plugin. */
const analyses = new Analyses();
const standard = {};

/**
 * The analysis of the file a rule runs on, or a sentence saying why there is none (no types, wrong
 * settings). The sentence is given to the first rule that asks and `null` to the others, so that a
 * file says it once.
 */
export function analyse(
  context: Readonly<TSESLint.RuleContext<string, readonly unknown[]>>,
): FileAnalysis | string | null {
  const { sourceCode } = context;
  let found = analyses.known.get(sourceCode.ast);
  if (found === undefined) analyses.known.set(sourceCode.ast, (found = open(context)));
  if (typeof found !== "string") return found;
  if (analyses.told.has(sourceCode.ast)) return null;
  analyses.told.add(sourceCode.ast);
  return found;
}

function open(
  context: Readonly<TSESLint.RuleContext<string, readonly unknown[]>>,
): FileAnalysis | string | null {
  if (isGenerated(context.sourceCode.text)) return null;
  let settings: ResolvedSettings;
  try {
    settings = settingsOf((context.settings as Record<string, unknown>)["tenure"]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const path = settings.baseline;
  const opened =
    path === null ? null : analyses.baselines.open(path, context.filename, context.cwd);
  // no rule can say what is new, and one file says why
  if (typeof opened?.content === "string") return opened.tells() ? opened.content : null;
  let services: ParserServicesWithTypeInformation;
  try {
    services = ESLintUtils.getParserServices(context);
  } catch {
    return noTypes(context);
  }
  // typescript-eslint's stand-in for a second look at a file in a single run (`eslint --fix` where
  // CI=true): a program of one file, in no folder, that resolves nothing.
  if (services.program.getCurrentDirectory() === "") {
    return (
      "tenure rules got no types for this file's second pass: in a single run, " +
      "`parserOptions.project` gives them to the first alone; use `projectService: true`, " +
      "or set `disallowAutomaticSingleRunInference: true`."
    );
  }
  // parsers of embedded scripts make the program's node themselves: TypeScript knows parts of it
  const [part] = mappedNodes(context.sourceCode, services.esTreeNodeToTSNodeMap);
  if (!part) return null;
  const file = part.at.getSourceFile() as ts.SourceFile | undefined;
  if (!file || !isReadable(services.program, file))
    return (
      `tenure rules read types with TypeScript ${ts.version}, and this file was parsed with ` +
      "another version; set `languageOptions.parser: tenure.parser`."
    );
  const { sourceCode: source, filename } = context;
  const baseline = opened?.content;
  return new FileAnalysis(
    source as unknown as SourceText,
    services,
    file,
    analyses.workspace.open(services.program, settings),
    opened && typeof baseline === "object" && path !== null
      ? new FileBaseline({ baseline, path, filename, source, file, tells: opened.tells })
      : null,
  );
}

/** The settings, validated once; every file of a config is given the same object. */
const settingsOf = (raw: unknown): ResolvedSettings =>
  typeof (raw ?? standard) === "object"
    ? analyses.workspace.settings(raw ?? standard)
    : resolveSettings(raw);

function noTypes(context: Readonly<TSESLint.RuleContext<string, readonly unknown[]>>): string {
  const services = context.sourceCode.parserServices as
    { esTreeNodeToTSNodeMap?: unknown } | undefined;
  const isScript = /\.[cm]?jsx?$/.test(context.filename);
  if (services?.esTreeNodeToTSNodeMap === undefined) {
    return (
      "tenure rules read types, and this file was not parsed by " +
      "@typescript-eslint/parser; set `languageOptions.parser: tenure.parser`" +
      (isScript
        ? ', or limit the tenure config to TypeScript files with `files: ["**/*.ts"]`'
        : "") +
      "."
    );
  }
  return (
    "tenure rules need type information; set `languageOptions.parserOptions.projectService: true`" +
    (isScript
      ? " and include JavaScript in the project with `allowJs`, or limit the tenure config " +
        "to TypeScript files"
      : "") +
    "."
  );
}
