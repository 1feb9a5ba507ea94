/**
 * JSDoc tags that state ownership where no body can be read: `@fresh`, `@borrowed`, `@takes name`,
 * `@borrows name`, `@scoped`, `@keeps`. They survive in `.d.ts` files and cost nothing at run time.
 * A description that says "Takes `name`." in a sentence of its own says the same as the tag, and
 * one that says "The result is the caller's." the same as `@fresh`. Read by `oracle.ts`, obeyed by
 * the verbs beside it.
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

/** The ownership tags of a declaration; `noTags` when it has none. */
export function tagsOf(declaration: ts.Node): Tags {
  const holder =
    ts.isArrowFunction(declaration) || ts.isFunctionExpression(declaration)
      ? declaration.parent
      : declaration;
  const all = [
    ...ts.getJSDocTags(declaration),
    ...(holder === declaration ? [] : ts.getJSDocTags(holder)),
  ].filter((t) => words.has(t.tagName.text));
  const told = toldOf(declaration);
  if (all.length === 0 && told === nothingTold) return noTags;
  const has = (name: string): boolean => all.some((t) => t.tagName.text === name);
  const names = (name: string): string[] =>
    all.filter((t) => t.tagName.text === name).map((t) => textOf(t).split(/[\s-]/)[0] ?? "");
  return {
    fresh: has("fresh") || told.fresh,
    borrowed: has("borrowed") || told.borrowed,
    scoped: has("scoped"),
    keeps: has("keeps"),
    takes: [...names("takes"), ...told.takes],
    borrows: names("borrows"),
  };
}

/**
 * A sentence of its own: "Takes `x`.", "Takes the mask: it is ended with the layer.", "Takes a
 * frame over."
 */
const taking = new RegExp(
  "(?:^|[.:;]\\s)[Tt]akes (?:(?:over|ownership of) )?(?:the |an? (?=[\\w$]+ over))?" +
    "`?([\\w$]+)`?(?: and `([\\w$]+)`)?(?: over)?(?=[.:;])",
  "g",
);
/** "Takes the images of `batch`.": what the parameter holds, and nothing that is computed of it. */
const takingInner = /(?:^|[.:;]\s)Takes the (\w+s) of `([\w$]+)`(?=[.:;])/g;
const computed = /^(means|sums|logs|squares|roots|norms|differences|gradients|exponentials|signs)$/;
/** "Takes both.", "Takes all of them." */
const takingAll = /(?:^|[.:;]\s)Takes (?:both|all(?: of them)?)(?=[.:;])/;

/** "The result is the caller's.", "Logits; the caller's.", "An image, which the caller ends." */
const giving = new RegExp(
  "(?:[Rr]esults? (?:is|are)|;) the caller's(?=[.;,]|$)|" +
    "(`?[\\w$]+`?), (?:which|that) (?:(?:is|are) the caller's|" +
    "the caller (?:ends|disposes|frees|owns|must (?:end|dispose|free)))\\b",
);
/** "Borrowed: the cache ends it.", "The result stays borrowed." */
const lending = /(?:^|[.:;]\s)Borrowed(?=[.:;,])|[Rr]esult (?:is|stays|remains) borrowed(?=[.;,])/;

/** What the description of a function says in words. */
interface Told {
  takes: readonly string[];
  fresh: boolean;
  borrowed: boolean;
}
const nothingTold: Told = { takes: [], fresh: false, borrowed: false };

/** What a description calls a parameter: "the frame" is the pattern `{ image }: Frame`. */
export function calledInWords({ name, type }: ts.ParameterDeclaration): string | undefined {
  if (ts.isIdentifier(name)) return name.text;
  if (!type || !ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName)) return undefined;
  const [first = "", ...rest] = type.typeName.text;
  return first.toLowerCase() + rest.join("");
}

function toldOf(declaration: ts.Node): Told {
  if (!ts.isFunctionLike(declaration)) return nothingTold;
  const text = ts
    .getJSDocCommentsAndTags(declaration)
    .map((doc) => (ts.isJSDoc(doc) ? (ts.getTextOfJSDocComment(doc.comment) ?? "") : ""))
    .join("\n")
    .replace(/\s+/g, " ");
  if (text === "") return nothingTold;
  const names = declaration.parameters.flatMap((p) => calledInWords(p) ?? []);
  const isName = (word: string | undefined): word is string =>
    word !== undefined && names.includes(word.replaceAll("`", ""));
  const given = giving.exec(text);
  return {
    takes: takingAll.test(text)
      ? names
      : [
          ...[...text.matchAll(taking)].flatMap(([, ...words]) => words),
          ...[...text.matchAll(takingInner)].map(([, part, name]) =>
            computed.test(part ?? "") ? undefined : name,
          ),
        ].filter(isName),
    // "Adds to `x`, which is the caller's" speaks of `x`
    fresh: given !== null && !isName(given[1]),
    borrowed: lending.test(text),
  };
}
