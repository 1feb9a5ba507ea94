/**
 * What every file of src/ops exports, for op-records.ts. Test pages of browsers, which cannot read
 * folders, get a list of imports instead (tools/browser/bundle.ts).
 */
import { readdirSync } from "node:fs";

const folder = new URL("../src/ops/", import.meta.url);

/** The modules, by the order of their names. */
export const modules: readonly Readonly<Record<string, unknown>>[] = await Promise.all(
  readdirSync(folder)
    .sort()
    .map((file) => import(new URL(file, folder).href) as Promise<Record<string, unknown>>),
);
