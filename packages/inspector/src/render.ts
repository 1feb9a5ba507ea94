/**
 * Makes one page of a trace: the page that the build made, with the trace in it. Called by the
 * command line and by programs. Owns nothing.
 */
import { readFileSync } from "node:fs";
import { checkTrace } from "./check.ts";
import { withSources } from "./sources.ts";

export { TraceError } from "./check.ts";

/** Where the built page has its trace. */
const place = "{{trace}}";

/** What a page is made with. */
export interface InspectorOptions {
  /** The folder that a server served when the program ran in a browser; its maps are read. */
  readonly root?: string;
  /** The page without a trace; the built one when left out. */
  readonly page?: string;
}

/**
 * The page of what `memory.chromeTrace()` returned, parsed from JSON; places in bundles with source
 * maps become lines of sources.
 *
 * @throws TraceError for anything else than such a trace
 */
export function inspectorHTML(file: unknown, options: InspectorOptions = {}): string {
  const { root = null, page = builtPage() } = options;
  // No text of a trace can end the element that it stands in.
  const data = JSON.stringify(withSources(checkTrace(file), root)).replaceAll("<", "\\u003c");
  return page.split(place).join(data);
}

function builtPage(): string {
  return readFileSync(new URL("../dist/page.html", import.meta.url), "utf8");
}
