/**
 * The documentation site: the repository's pages as they are, with a side bar, search, and the API
 * reference that TypeDoc writes into `dist/api`. Read by VitePress in `npm run docs`. The pages are
 * copied to `dist/pages`, from where Vue is found; run it again after an edit.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { defineConfig } from "vitepress";
import { filesBelow } from "../../../tools/files.ts";
import {
  addressOf,
  API,
  GUIDE,
  linkOn,
  pageOf,
  REPOSITORY_URL,
} from "../../../tools/site/pages.ts";

const site = resolve(import.meta.dirname, "..");
const repository = resolve(site, "../..");
const pages = resolve(site, "dist/pages");

/** Where each page was copied from, both relative. */
const origins = new Map();
rmSync(pages, { recursive: true, force: true });
const top = GUIDE.flatMap(({ items }) => items.map(({ file }) => file));
const places = ["docs/site/dist/api", "eslint-plugin/docs/rules"];
const below = places.flatMap((place) => filesBelow(repository, place, /\.md$/));
for (const file of [...top, ...below, "docs/site/index.md"]) {
  const page = pageOf(file);
  const copy = resolve(pages, page);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(resolve(repository, file), copy);
  origins.set(page, file);
}

/** Lets every link of a page lead to where its target is on the site. */
function links(md) {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    const page = relative(pages, env.path).replaceAll("\\", "/");
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href !== null) token.attrSet("href", linkOn(origins.get(page) ?? page, href));
    }
  });
}

const items = (entries) => entries.map(({ text, file }) => ({ text, link: addressOf(file) }));

/** Weighs what a search finds: the guide explains, the reference repeats each word on many pages. */
function guideFirst(id) {
  return id.includes("/api/") ? 0.2 : 1;
}

export default defineConfig({
  title: "Tenure",
  description: "Tensors on WebGPU in which every byte of GPU memory has an owner.",
  base: process.env.TENURE_DOCS_BASE ?? "/",
  srcDir: "dist/pages",
  outDir: "dist/site",
  cacheDir: "dist/cache",
  cleanUrls: true,
  lastUpdated: false,
  markdown: { config: links },
  /** The reference is no chapter of the guide: nothing comes before its pages or after. */
  transformPageData({ relativePath, frontmatter }) {
    if (!relativePath.startsWith("api/")) return;
    frontmatter.prev = false;
    frontmatter.next = false;
  },
  themeConfig: {
    nav: [
      { text: "Start", link: addressOf("docs/start.md") },
      { text: "API", link: addressOf(API[0].file) },
      { text: "Features", link: addressOf("FEATURES.md") },
    ],
    sidebar: [
      ...GUIDE.map(({ text, items: entries }) => ({ text, items: items(entries) })),
      { text: "API", items: items(API) },
    ],
    outline: [2, 3],
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boostDocument: guideFirst } } },
    },
    socialLinks: [{ icon: "github", link: REPOSITORY_URL }],
  },
});
