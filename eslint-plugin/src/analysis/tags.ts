/**
 * JSDoc tags that state ownership where no body can be read: `@fresh`, `@borrowed`, `@takes name`,
 * `@borrows name`, `@scoped`, `@keeps`. They survive in `.d.ts` files and cost nothing at run time.
 * Read by `oracle.ts`, obeyed by the verbs beside it.
 */
import ts from "typescript";

/** What the tags of one declaration say. */
export interface Tags {
  /** The result is a fresh value the caller must dispose. */
  fresh: boolean;
  /** The result still belongs to somebody else. */
  borrowed: boolean;
  /** Leaves temporaries to the caller's scope. */
  scoped: boolean;
  /** Stores its owned arguments. */
  keeps: boolean;
  /** Parameters whose values the function disposes of or stores. */
  takes: readonly string[];
  /** Parameters the function only looks at. */
  borrows: readonly string[];
}

/** The tags of a declaration that has none. */
export const noTags: Tags = {
  fresh: false,
  borrowed: false,
  scoped: false,
  keeps: false,
  takes: [],
  borrows: [],
};

const words = new Set(["fresh", "borrowed", "scoped", "keeps", "takes", "borrows"]);

const textOf = (tag: ts.JSDocTag): string =>
  (typeof tag.comment === "string"
    ? tag.comment
    : (ts.getTextOfJSDocComment(tag.comment) ?? "")
  ).trim();

/** The ownership tags of a declaration, or undefined when it has none. */
export function readTags(declaration: ts.Node): Tags | undefined {
  const holder =
    ts.isArrowFunction(declaration) || ts.isFunctionExpression(declaration)
      ? declaration.parent
      : declaration;
  const all = [
    ...ts.getJSDocTags(declaration),
    ...(holder === declaration ? [] : ts.getJSDocTags(holder)),
  ].filter((t) => words.has(t.tagName.text));
  if (all.length === 0) return undefined;
  const has = (name: string): boolean => all.some((t) => t.tagName.text === name);
  const names = (name: string): string[] =>
    all.filter((t) => t.tagName.text === name).map((t) => textOf(t).split(/[\s-]/)[0] ?? "");
  return {
    fresh: has("fresh"),
    borrowed: has("borrowed"),
    scoped: has("scoped"),
    keeps: has("keeps"),
    takes: names("takes"),
    borrows: names("borrows"),
  };
}
