/**
 * Where what `tune` found is kept from one process to the next: IndexedDB in browsers, and in Node
 * what file-store.ts has, which is loaded there. Whatever goes wrong is no error: then nothing is
 * kept. Called by the engine, which owns the store.
 */
import { env, isNode } from "../base/env.ts";
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
export function checked(value: unknown): Tuned {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (pair): pair is [string, string] =>
      Array.isArray(pair) && pair.length === 2 && pair.every((s) => typeof s === "string"),
  );
}

/**
 * The store of this host; undefined where there is none, or the variable TENURE_TUNED is `off`.
 * @param files brings that of hosts with files
 */
export async function tunedStore(
  files: () => Promise<TunedStore | undefined>,
): Promise<TunedStore | undefined> {
  if (env("TENURE_TUNED") === "off") return undefined;
  if (isNode) return files();
  return typeof indexedDB === "undefined" ? undefined : browserStore(indexedDB);
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
