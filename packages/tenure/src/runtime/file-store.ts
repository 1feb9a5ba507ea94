/**
 * What `tune` found, kept in a file of the user's cache folder, one per adapter and version of the
 * kernels. Comes with the devices outside browsers; see tuned-store.ts. The files belong to the
 * user.
 */
import { builtin, env } from "../base/env.ts";
import { type Tuned, type TunedStore, checked } from "./tuned-store.ts";

interface Files {
  mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
  stat(path: string): Promise<{ isFile(): boolean; readonly size: number }>;
  readFile(path: string, encoding: "utf8"): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
}

/** A file larger than this is none that was written here. */
const mostBytes = 2 ** 24;

/** The user's cache folder; undefined for a user without one. */
function cacheFolder(): string | undefined {
  const xdg = env("XDG_CACHE_HOME");
  if (xdg?.startsWith("/") === true) return `${xdg}/tenure`;
  try {
    const home = builtin<{ homedir(): string }>("node:os")?.homedir();
    return home === undefined ? undefined : `${home}/.cache/tenure`;
  } catch {
    return undefined;
  }
}

/** @param folder instead of the user's cache folder */
export function fileStore(folder?: string): TunedStore | undefined {
  const files = builtin<Files>("node:fs/promises");
  const root = folder ?? cacheFolder();
  if (files === undefined || root === undefined) return undefined;
  const path = (adapter: string): string => `${root}/tuned-${adapter}.json`;
  const load = async (adapter: string): Promise<Tuned> => {
    try {
      const found = await files.stat(path(adapter)); // a pipe would be waited for
      if (!found.isFile() || found.size > mostBytes) return [];
      return checked(JSON.parse(await files.readFile(path(adapter), "utf8")));
    } catch {
      return [];
    }
  };
  return {
    load,
    async save(adapter, tuned) {
      const name = Math.random().toString(36).slice(2);
      const partial = `${path(adapter)}.${name}.partial`;
      try {
        await files.mkdir(root, { recursive: true });
        // what other processes have found meanwhile stays
        const all = new Map([...(await load(adapter)), ...tuned]);
        await files.writeFile(partial, JSON.stringify([...all]));
        await files.rename(partial, path(adapter)); // readers see all of it or none
      } catch {
        // a read-only home: measured again next time
        await files.rm(partial, { force: true }).catch(() => undefined);
      }
    },
  };
}
