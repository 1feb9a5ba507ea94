/**
 * What the documentation site consists of: the pages in the order of its side bar, the address of
 * each, and where a link of a page leads there. Called by the site's configuration in `docs/site`
 * and the test beside it; pure functions of paths.
 */
import { posix } from "node:path";

/** Where files are that are no pages of the site. */
export const REPOSITORY_URL = "https://github.com/tenure-js/tenure";

/** A line of the side bar. */
export interface Entry {
  readonly text: string;
  /** Relative to the repository. */
  readonly file: string;
}

/** Lines of the side bar below one heading. */
export interface Group {
  readonly text: string;
  readonly items: readonly Entry[];
}

/** The side bar: every page of `docs`, and those at the top of the repository. */
export const GUIDE: readonly Group[] = [
  {
    text: "Start",
    items: [
      { text: "Five minutes", file: "docs/start.md" },
      { text: "From PyTorch", file: "docs/from-pytorch.md" },
      { text: "From TensorFlow.js", file: "docs/from-tfjs.md" },
      { text: "From TorchSharp", file: "docs/from-torchsharp.md" },
      { text: "From jax-js", file: "docs/from-jax-js.md" },
    ],
  },
  {
    text: "Memory",
    items: [
      { text: "Ownership, scopes, await", file: "docs/ownership.md" },
      { text: "My memory grows", file: "docs/leaks.md" },
      { text: "The lint plugin", file: "docs/lint.md" },
      { text: "The scheduler", file: "docs/scheduler.md" },
    ],
  },
  {
    text: "In use",
    items: [
      { text: "Performance", file: "docs/performance.md" },
      { text: "Mixed precision", file: "docs/precision.md" },
      { text: "Checkpoints", file: "docs/checkpoints.md" },
      { text: "Writing an op", file: "docs/custom-ops.md" },
      { text: "Beside your own WebGPU", file: "docs/webgpu.md" },
      { text: "Looking inside", file: "docs/debugging.md" },
      { text: "Where it runs", file: "docs/hosts.md" },
    ],
  },
  {
    text: "About",
    items: [
      { text: "Features", file: "FEATURES.md" },
      { text: "Reliability", file: "docs/reliability.md" },
      { text: "Security", file: "docs/security.md" },
      { text: "Dependencies", file: "docs/dependencies.md" },
      { text: "Architecture", file: "ARCHITECTURE.md" },
      { text: "Working on Tenure", file: "CONTRIBUTING.md" },
    ],
  },
];

/** The API reference, written by TypeDoc. */
export const API: readonly Entry[] = ["", "/nn", "/optim", "/data", "/scheduler", "/testing"].map(
  (entry) => ({ text: `tenure${entry}`, file: `docs/site/dist/api/tenure${entry}/index.md` }),
);

/** Folders and files that hold pages, and what stands for them in addresses. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^docs\/site\/dist\/api\//, "api/"],
  [/^docs\/site\/(?=index\.md$)/, ""],
  [/^docs\/(?=[\w-]+\.md$)/, ""],
  [/^eslint-plugin\/docs\/rules\//, "rules/"],
  [/^(?=(?:FEATURES|ARCHITECTURE|CONTRIBUTING)\.md$)/, ""],
];

/** The name of a page's file on the site; undefined for a file that is no page of it. */
export function pageOf(file: string): string | undefined {
  for (const [place, instead] of PLACES)
    if (place.test(file) && file.endsWith(".md")) {
      const page = file.replace(place, instead);
      return page.includes("/") ? page : page.toLowerCase();
    }
  return undefined;
}

/** The address of a page, from the site's root. @throws Error for a file that is no page */
export function addressOf(file: string): string {
  const page = pageOf(file);
  if (page === undefined) throw new Error(`site: ${file} is no page of the site`);
  return `/${page.replace(/(?:^|(?<=\/))index\.md$/, "").replace(/\.md$/, "")}`;
}

/** Where a link of a page leads on the site: to a page of it, or to the file in the repository. */
export function linkOn(file: string, link: string): string {
  if (/^(?:\w+:|#|\/)/.test(link)) return link;
  const [path = "", anchor] = link.split("#");
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, "");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (pageOf(target) !== undefined) return addressOf(target) + hash;
  const kind = /\.\w+$/.test(posix.basename(target)) ? "blob" : "tree";
  return `${REPOSITORY_URL}/${kind}/main/${target}${hash}`;
}
