/**
 * Embedded scripts: parsers of Vue, Svelte and Astro give TypeScript another text than the file's
 * own, with its pieces in other places, and move their syntax tree back. What the rules find stands
 * in TypeScript's text; this finds its place in the file. Made by `analysis/analyse.ts` for a file,
 * read by `create-rule.ts`; owns nothing.
 */
import type { TSESLint, TSESTree } from "@typescript-eslint/utils";
import type ts from "typescript";

type NodeMap = { get(node: TSESTree.Node): ts.Node | undefined };

/** A stretch of TypeScript's text that stands in the file, `by` further on; both ends included. */
interface Stretch {
  start: number;
  end: number;
  by: number;
}

/** The nodes of a file's tree that TypeScript knows, outer ones first. */
export function* mappedNodes(
  { ast, visitorKeys }: Readonly<TSESLint.SourceCode>,
  map: NodeMap,
): Generator<{ node: TSESTree.Node; at: ts.Node }> {
  const waiting: TSESTree.Node[] = [ast];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const at = map.get(node);
    if (at) yield { node, at };
    const parts = node as unknown as Readonly<Record<string, TSESTree.Node | TSESTree.Node[]>>;
    for (const key of visitorKeys[node.type] ?? [])
      for (const child of [parts[key]].flat()) if (child) waiting.push(child);
  }
}

/** Where the pieces of TypeScript's text of a file stand in the file. */
export class Places {
  readonly #stretches: readonly Stretch[] | null;
  readonly #statements: readonly (readonly [number, number])[];

  constructor(source: Readonly<TSESLint.SourceCode>, map: NodeMap, file: ts.SourceFile) {
    const statements: (readonly [number, number])[] = [];
    const known = new Map<number, Set<number>>();
    this.#statements = statements;
    this.#stretches = null;
    if (source.text === file.text) return;
    for (const { node, at } of mappedNodes(source, map)) {
      if (at.kind === file.kind || at.getSourceFile() !== file) continue;
      const [start, end] = node.range;
      if (/(Statement|Declaration)$/.test(node.type)) statements.push(node.range);
      for (const [ours, theirs] of [
        [start, at.getStart()],
        [end, at.getEnd()],
      ] as const) {
        const by = ours - theirs;
        known.set(by, (known.get(by) ?? new Set<number>()).add(theirs));
      }
    }
    this.#stretches = [...known].flatMap(([by, points]) =>
      stretchesOf(by, points, file.text, source.text),
    );
  }

  /** A place in the file; none for what the parser put in. */
  of(position: number): number | undefined {
    if (this.#stretches === null) return position;
    const found = this.#stretches.find((s) => s.start <= position && position <= s.end);
    return found && position + found.by;
  }

  /** A piece in the file; none unless all of it is the file's own. */
  piece(start: number, end: number): { start: number; end: number } | undefined {
    if (this.#stretches === null) return { start, end };
    const found = this.#stretches.find((s) => s.start <= start && end <= s.end);
    return found && { start: start + found.by, end: end + found.by };
  }

  /** An edit in the file; none outside of its scripts, where statements cannot stand. */
  edit(fix: TSESLint.RuleFix): TSESLint.RuleFix | null {
    if (this.#stretches === null) return fix;
    const piece = this.piece(...fix.range);
    if (!piece) return null;
    const { start, end } = piece;
    const isInside = this.#statements.some(([from, to]) => from <= start && end <= to);
    return isInside ? { ...fix, range: [start, end] } : null;
  }
}

/** The stretches between known points over which both texts are the same. */
function stretchesOf(
  by: number,
  points: ReadonlySet<number>,
  theirs: string,
  ours: string,
): Stretch[] {
  const found: Stretch[] = [];
  let open: Stretch | undefined;
  for (const point of [...points].sort((a, b) => a - b)) {
    const from = open?.end ?? point;
    const isSame = theirs.slice(from, point) === ours.slice(from + by, point + by);
    if (open && isSame) open.end = point;
    else found.push((open = { start: point, end: point, by }));
  }
  return found.filter((s) => s.end > s.start);
}
