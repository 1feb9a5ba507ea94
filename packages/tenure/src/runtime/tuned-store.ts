/**
 * Where what `tune` found is kept from one process to the next: a file in the user's cache folder
 * in Node, IndexedDB in browsers. Whatever goes wrong there is no error: then nothing is kept. The
 * files belong to the user's cache, one per adapter and version.
 */
import { builtin, env, isNode } from "../base/env.ts";
import type { DeviceInfo } from "../device/acquire.ts";
import { variantsVersion } from "../kernels/variants.ts";

/** Choices: what was asked, and the answer. */
export type Tuned = readonly (readonly [key: string, name: string])[];

/** Keeps choices by adapter. */
export interface TunedStore {
  load(adapter: string): Promise<Tuned>;
  /** Adds choices to those that are kept. */
  save(adapter: string, tuned: Tuned): Promise<void>;
}

/** Names an adapter and the version of the kernels. */
export function adapterKey({ vendor, architecture, name }: DeviceInfo): string {
  const text = `${vendor} ${architecture} ${name}`.replace(/[^\w.]+/g, "-").toLowerCase();
  return `${text.slice(0, 150)}-v${variantsVersion}`;
}

/** What was read, as far as it is what was written. */
function checked(value: unknown): Tuned {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (pair): pair is [string, string] =>
      Array.isArray(pair) && pair.length === 2 && pair.every((s) => typeof s === "string"),
  );
}

/**
 * The store of this host; undefined where there is none, or the variable TENURE_TUNED is `off`.
 */
export function tunedStore(): TunedStore | undefined {
  if (env("TENURE_TUNED") === "off") return undefined;
  if (isNode) return fileStore();
  return typeof indexedDB === "undefined" ? undefined : browserStore(indexedDB);
}

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

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(request.error ?? new Error("no reason given"));
    };
  });
}

const table = "tuned";

/** The type of `indexedDB`, for declarations that are read without the DOM's. */
type Factory = typeof globalThis extends { indexedDB: infer F } ? F : never;

/** @param factory the browser's `indexedDB` */
export function browserStore(factory: Factory): TunedStore {
  const open = (): Promise<IDBDatabase> => {
    const request = factory.open("tenure", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(table);
    };
    return settled(request);
  };
  const use = async <T>(
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T | undefined> => {
    try {
      const db = await open();
      try {
        return await settled(work(db.transaction(table, mode).objectStore(table)));
      } finally {
        db.close();
      }
    } catch {
      return undefined; // a private window, or storage that is full
    }
  };
  const load = async (adapter: string): Promise<Tuned> =>
    checked(await use("readonly", (store): IDBRequest<unknown> => store.get(adapter)));
  return {
    load,
    save: async (adapter, tuned) => {
      const all = new Map([...(await load(adapter)), ...tuned]); // other pages' findings stay
      await use("readwrite", (store) => store.put([...all], adapter));
    },
  };
}
