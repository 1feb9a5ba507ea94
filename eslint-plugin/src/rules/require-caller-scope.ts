/**
 * Rule `require-caller-scope`: a function leaves tensors to the scopes of its callers, and some of
 * those have none. One report per function, at the first tensor it leaves, with its name and the
 * callers that lack a scope: the rules about single tensors leave such functions to this one.
 */
import type ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { nameOf } from "../analysis/program/call-sites.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import { lasts } from "../analysis/transfer/keeps.ts";
import type { Divided } from "../analysis/session.ts";
import { unreachedOf } from "../analysis/lists/unreached.ts";
import { lineOf, rule, spanOf, type Suggestion } from "../create-rule.ts";
import { wrapFunctionBody } from "../fix/wrap.ts";

type Id = "lacking" | "outside" | "wrapBody";

/** What a divided function leaves behind. */
interface Left extends Divided {
  /** What makes the tensors, in the order of the source. */
  made: ts.Expression[];
}

/** Messages are at most this long: characters. */
const longest = 140;

/** Require every caller of a function that leaves tensors behind to have a scope. */
export const requireCallerScope = rule<Id, Record<string, never>>({
  name: "require-caller-scope",
  description:
    "Require a scope at every caller of a function that leaves tensors to its callers' scopes",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    lacking:
      "`{{ name }}` leaves {{ what }} to a scope that {{ callers }}; open one in it or there.",
    outside:
      "`{{ name }}` leaves {{ what }} to its caller's scope, and callers outside may have none; " +
      "open one in it.",
    wrapBody: "Open a scope for the whole function.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const left of leftToCallers(file).values()) {
      const { fn, made, lacking } = left;
      const [owner] = file.session.settings.owners.filter((o) => o.scopes.length > 0);
      const body = owner && made[0] && wrapFunctionBody(file.session, made[0], owner);
      const suggest: Suggestion<Id>[] = body ? [{ messageId: "wrapBody", fix: body }] : [];
      const data = { name: short(`${nameOf(fn) ?? "function"}()`, 30), what: whatOf(made) };
      report({
        mark: made[0] ? markOf(made[0]) : spanOf(fn),
        messageId: lacking.length > 0 ? "lacking" : "outside",
        data: { ...data, callers: callersIn(lacking, longest - roomTaken(data)) },
        suggest,
      });
    }
  },
});

/** Every function of a file that leaves tensors to callers of whom some have no scope. */
function leftToCallers(file: FileAnalysis): Map<ts.Node, Left> {
  const found = new Map<ts.Node, Left>();
  for (const node of lostIn(file)) {
    const divided = file.session.dividedAt(node);
    if (divided?.fn.getSourceFile() !== file.file) continue;
    const left = found.get(divided.fn) ?? { ...divided, made: [] };
    found.set(divided.fn, left);
    if (!left.made.includes(node)) left.made.push(node);
  }
  for (const { made } of found.values()) made.sort((a, b) => a.getStart() - b.getStart());
  return found;
}

/** What becomes of values that only a scope ends. */
const lost: ReadonlySet<string> = new Set(["leaked", "dropped", "elements"]);

/**
 * What is lost wherever no scope is open: values without a name, or of which some have none, and
 * variables nobody disposes.
 */
function* lostIn(file: FileAnalysis): Iterable<ts.Expression> {
  for (const value of file.fresh)
    if (lost.has(value.outcome) || unreachedOf(file.session, value)) yield value.node;
  for (const problem of file.problems) {
    if (problem.kind !== "leak" && problem.kind !== "overwrite") continue;
    const { cell, site } = problem;
    if (cell.owned.owner.scopes.length > 0 && !lasts(file.session, site.value)) yield site.value;
  }
}

/** `mul(x)`, `mul(x)` and 3 more. */
function whatOf(made: readonly ts.Expression[]): string {
  const first = made[0] ? `\`${short(labelOf(made[0]), 20)}\`` : "tensors";
  return made.length > 1 ? `${first} and ${String(made.length - 1)} more` : first;
}

const short = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** The length of a message apart from the callers. */
const roomTaken = ({ name, what }: { name: string; what: string }): number =>
  `\`${name}\` leaves ${what} to a scope that ; open one in it or there.`.length;

/** Up to two callers, `file:line`, as far as there is room. */
function callersIn(lacking: readonly ts.Node[], room: number): string {
  const places = [...new Set(lacking.map(placeOf))];
  const rest = places.length - 2;
  const more = rest > 0 ? ` and ${String(rest)} more` : "";
  const two = `${places.slice(0, 2).join(rest > 0 ? ", " : " and ")}${more}`;
  const others = places.length > 1 ? ` and ${String(places.length - 1)} more` : "";
  const one = `${places[0] ?? ""}${others}`;
  const lack = places.length > 1 ? "lack" : "lacks";
  return (
    [two, one].map((list) => `${list} ${lack}`).find((text) => text.length <= room) ??
    (places.length > 1 ? `${String(places.length)} callers lack` : "a caller lacks")
  );
}

/** `app.ts:12` */
function placeOf(node: ts.Node): string {
  const { fileName } = node.getSourceFile();
  return `${fileName.slice(fileName.lastIndexOf("/") + 1)}:${lineOf(node)}`;
}
