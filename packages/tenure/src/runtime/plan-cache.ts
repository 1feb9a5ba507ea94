/**
 * The plan caches: executables by the structure of the program they run. A flush computes a hash
 * over the program's signature, compares words, and on a hit plans nothing. Used by the runtime,
 * which has one cache for everything outside schedulers, and by each scheduler, which has its own.
 * A cache owns its executables: with one that goes, its uniforms and bind groups go, and pipelines
 * that no other uses may.
 */
import type { CounterSet } from "../device/counters.ts";
import type { Device } from "../device/device.ts";
import type { CachedPipeline, PipelineCache } from "../device/pipelines.ts";
import type { Executable } from "./executable.ts";
import type { Inspector } from "./inspector.ts";
import type { OpenProgram } from "./open-program.ts";
import type { Script } from "./script.ts";
import type { Settings } from "./settings.ts";

/** What a cache may keep, and what it counts. */
export interface PlanCacheOptions {
  readonly settings: Settings;
  readonly counters: CounterSet;
  readonly inspector: Inspector;
  /** Called when the cache is given up. */
  readonly disposed: (cache: PlanCache) => void;
}

/** The plan of a script, as long as ownership says the same of what it is brought. */
interface ScriptPlan {
  readonly facts: readonly number[];
  readonly exe: Executable;
  readonly hash: number;
}

/** Plans remembered per script. */
const plansPerScript = 4;

/** Executables by the signature of the program they run. */
export class PlanCache {
  readonly #options: PlanCacheOptions;
  /** By the hash of their signatures, those longest out of use first. */
  readonly #plans = new Map<number, Executable[]>();
  /** Plans of programs that followed a script. */
  #byScript = new WeakMap<Script, ScriptPlan[]>();
  #bytes = 0;
  /** Of the device that the plans are for. */
  #pipelines: PipelineCache | null = null;
  hits = 0;
  misses = 0;

  constructor(options: PlanCacheOptions) {
    this.#options = options;
  }

  /**
   * The executable for a sealed program that `accepts`, or what `make` compiles. One that is not
   * accepted any more gives way, unless `make` returns it.
   */
  find(
    device: Device,
    program: OpenProgram,
    make: (former: Executable | undefined) => Executable,
    accepts?: (exe: Executable) => boolean,
  ): Executable {
    const { counters, inspector } = this.#options;
    const followed = this.#followed(program);
    if (followed !== undefined && accepts?.(followed) !== false) {
      counters.planHits++;
      this.hits++;
      return followed;
    }
    const { signature } = program;
    const hash = signature.hash();
    const known = this.#refreshed(hash)?.find((exe) => signature.equals(exe.words));
    this.#pipelines = device.pipelines;
    if (known !== undefined && accepts?.(known) !== false) {
      counters.planHits++;
      this.hits++;
      this.#remember(program, known, hash);
      return known;
    }
    counters.planMisses++;
    this.misses++;
    inspector.missed(program, this.all());
    const made = make(known);
    if (made === known) return made;
    if (known !== undefined) this.#remove(hash, known);
    const list = this.#plans.get(hash);
    if (list === undefined) this.#plans.set(hash, [made]);
    else list.push(made);
    this.#bytes += planBytes(made);
    device.pipelines.use(pipelinesOf(made));
    this.#evict(hash);
    return made;
  }

  /** The plan of a program that followed a script, and was found before. */
  #followed({ sealedScript }: OpenProgram): Executable | undefined {
    if (sealedScript === null) return undefined;
    const { script, facts } = sealedScript;
    const found = this.#byScript.get(script)?.find((plan) => sameWords(plan.facts, facts));
    if (found !== undefined) this.#refreshed(found.hash);
    return found?.exe;
  }

  #remember({ sealedScript }: OpenProgram, exe: Executable, hash: number): void {
    if (sealedScript === null) return;
    const { script, facts } = sealedScript;
    const known = this.#byScript.get(script) ?? [];
    this.#byScript.set(
      script,
      [{ exe, hash, facts: [...facts] }, ...known].slice(0, plansPerScript),
    );
  }

  /** The plans of a hash, which are in use now. */
  #refreshed(hash: number): Executable[] | undefined {
    const list = this.#plans.get(hash);
    if (list === undefined) return undefined;
    this.#plans.delete(hash);
    this.#plans.set(hash, list);
    return list;
  }

  /** Lets plans go that were not used for longest, but none of hash `but`. */
  #evict(but: number): void {
    const { settings, counters } = this.#options;
    for (const [hash, list] of this.#plans) {
      if (this.#bytes <= settings.planCacheBytes || hash === but) return;
      for (const exe of list) this.#remove(hash, exe);
      counters.plansDropped += list.length;
    }
  }

  #remove(hash: number, exe: Executable): void {
    this.#byScript = new WeakMap();
    const rest = (this.#plans.get(hash) ?? []).filter((other) => other !== exe);
    if (rest.length === 0) this.#plans.delete(hash);
    else this.#plans.set(hash, rest);
    exe.uniforms?.destroy(); // its last work was submitted by an earlier flush
    this.#pipelines?.unuse(pipelinesOf(exe));
    this.#bytes -= planBytes(exe);
  }

  /** Forgets one plan, if it is here. */
  discard(exe: Executable): void {
    for (const [hash, list] of this.#plans) if (list.includes(exe)) this.#remove(hash, exe);
  }

  /** Forgets all plans. */
  clear(): void {
    for (const exe of this.all()) {
      exe.uniforms?.destroy();
      this.#pipelines?.unuse(pipelinesOf(exe));
    }
    this.#plans.clear();
    this.#byScript = new WeakMap();
    this.#bytes = 0;
  }

  /** Forgets all plans, for good. */
  dispose(): void {
    this.clear();
    this.#options.disposed(this);
  }

  /** All executables. */
  *all(): Iterable<Executable> {
    for (const list of this.#plans.values()) yield* list;
  }
}

function sameWords(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function pipelinesOf({ dispatches }: Executable): CachedPipeline[] {
  return dispatches.map(({ pipeline }) => pipeline);
}

/** Every plan cache of a runtime. */
export class PlanCaches {
  readonly #caches = new Set<PlanCache>();
  readonly #options: PlanCacheOptions;

  constructor(settings: Settings, counters: CounterSet, inspector: Inspector) {
    this.#options = {
      settings,
      counters,
      inspector,
      disposed: (cache) => {
        this.#caches.delete(cache);
      },
    };
  }

  /** A new, empty cache. */
  open(): PlanCache {
    const cache = new PlanCache(this.#options);
    this.#caches.add(cache);
    return cache;
  }

  /** Forgets a plan that the device refused: it is made anew. */
  discard(exe: Executable): void {
    for (const cache of this.#caches) cache.discard(exe);
  }

  /** Drops all bind groups: some may refer to what was never made. */
  dropBindGroups(): void {
    for (const cache of this.#caches)
      for (const exe of cache.all()) {
        exe.frames = [];
        for (const { groups } of exe.dispatches) groups.length = 0;
      }
  }

  /** Forgets every plan of every cache: their device is gone. */
  clear(): void {
    for (const cache of this.#caches) cache.clear();
  }
}

/**
 * About what a plan takes: its words, its uniforms here and on the device, and 3 kB of heap per
 * dispatch with its op, storages and bind groups (measured: 129 kB for 42).
 */
function planBytes({ words, params, dispatches }: Executable): number {
  return words.byteLength + 2 * params.byteLength + 3072 * (1 + dispatches.length);
}
