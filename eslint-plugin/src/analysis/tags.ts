/**
 * JSDoc tags that state ownership where no body can be read: `@fresh`, `@borrowed`, `@takes name`,
 * `@borrows name`, `@scoped`, `@keeps`. They survive in `.d.ts` files and cost nothing at run time.
 * A description that says "Takes `name`." in a sentence of its own says the same as the tag. Read
 * by `oracle.ts`, obeyed by the verbs beside it.
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
  const told = toldOf(declaration);
  if (all.length === 0 && told.length === 0) return undefined;
  const has = (name: string): boolean => all.some((t) => t.tagName.text === name);
  const names = (name: string): string[] =>
    all.filter((t) => t.tagName.text === name).map((t) => textOf(t).split(/[\s-]/)[0] ?? "");
  return {
    fresh: has("fresh"),
    borrowed: has("borrowed"),
    scoped: has("scoped"),
    keeps: has("keeps"),
    takes: [...names("takes"), ...told],
    borrows: names("borrows"),
  };
}

/** A sentence of its own: "Takes `x`.", "Takes over `x`.", "Takes the mask: it ends with it." */
const sentence = /(?:^|[.:]\s)Takes (?:over )?(?:the )?`?([\w$]+)`?(?=[.:;])/g;

/** The parameters that the description of a function says it takes. */
function toldOf(declaration: ts.Node): readonly string[] {
  if (!ts.isFunctionLike(declaration) || !declaration.getSourceFile().text.includes("Takes "))
    return [];
  return ts.getJSDocCommentsAndTags(declaration).flatMap((doc) => {
    const text = ts.isJSDoc(doc) ? ts.getTextOfJSDocComment(doc.comment) : undefined;
    const names = [...(text ?? "").matchAll(sentence)].map(([, name]) => name ?? "");
    return names.filter((name) => declaration.parameters.some((p) => p.name.getText() === name));
  });
}
