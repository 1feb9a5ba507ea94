/**
 * Makes a software Vulkan driver (SwiftShader, from inside the npm package `@sparticuz/chromium`)
 * available to WebGPU in this very process, with nothing installed on the system. The device layer
 * of `tenure` calls it when no adapter is found, or when software was asked for. The files belong
 * to the user's cache folder; the environment variables belong to the process until `restore()`,
 * the loaded library until it ends.
 *
 * Order matters: call this first, then `create([])` of the `webgpu` module and `requestAdapter()`.
 * A `create([])` that found nothing before does no harm.
 */
import { basename, dirname, join } from "node:path";
import { type Archive, unpackOnce } from "./cache.ts";
import { SoftwareGpuError } from "./errors.ts";
import { loadLibrary, setVariables, type Variables } from "./native.ts";

export type { Archive } from "./cache.ts";
export { SoftwareGpuError, type SoftwareGpuErrorCode } from "./errors.ts";

/**
 * Libraries of the driver: libvk_swiftshader.so, its manifest (which names the library relatively),
 * and the Vulkan loader.
 */
export const SWIFTSHADER: Archive = { file: "swiftshader.tar.br", content: "tar" };

const ICD = "vk_swiftshader_icd.json";
const LOADER = "libvulkan.so.1";
/** Variables by which a user chooses a driver; the second is what loaders before 1.3.207 read. */
const CHOICES = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] as const;
/** Variables that add, select or hide drivers and so could undo the choice. */
const FILTERS = [
  "VK_ADD_DRIVER_FILES",
  "VK_LOADER_DRIVERS_SELECT",
  "VK_LOADER_DRIVERS_DISABLE",
] as const;

/** Options of {@link installSoftwareVulkan}. All but `force` exist for tests. */
export interface InstallOptions {
  /**
   * Choose SwiftShader even where the user named another driver in `VK_DRIVER_FILES` or
   * `VK_ICD_FILENAMES`.
   */
  readonly force?: boolean;
  readonly platform?: string;
  readonly arch?: string;
  /** Cache folders to try, instead of the user's. */
  readonly cacheRoots?: readonly string[];
}

/** What this process uses from now on, or until `restore()`. */
export interface SoftwareVulkan {
  /** Driver manifest that Vulkan reads: SwiftShader's, or whatever the user's variable says. */
  readonly icd: string;
  /** `user` when an explicit `VK_DRIVER_FILES` or `VK_ICD_FILENAMES` was respected. */
  readonly chosenBy: "package" | "user";
  /** Where libvulkan.so.1 comes from. */
  readonly loader: "system" | "packaged";
  /** Folder with the unpacked driver. */
  readonly directory: string;
  /**
   * Gives the driver variables the values they had before this call. Adapters and devices found in
   * between go on working; a search for others sees the system's drivers again. It has done so when
   * it returns, but in worker threads when the promise is kept.
   */
  readonly restore: () => Promise<void>;
}

/**
 * Unpacks SwiftShader, points the Vulkan loader at it and, where the system has no Vulkan loader,
 * loads the packaged one. Safe to call again, and from several processes at once. The loader reads
 * the environment of the process, of which a worker thread has a copy: there the main thread is
 * asked to choose the driver.
 * @throws SoftwareGpuError
 */
export async function installSoftwareVulkan(options: InstallOptions = {}): Promise<SoftwareVulkan> {
  requirePlatform("installSoftwareVulkan", options.platform, options.arch);
  const directory = await unpackOnce(
    "swiftshader",
    [SWIFTSHADER],
    "installSoftwareVulkan",
    options.cacheRoots,
  );
  const packaged = join(directory, ICD);
  const chosen = CHOICES.map((name) => process.env[name]).find(
    (value) => value !== undefined && value !== "",
  );
  const before = variables([...CHOICES, ...FILTERS], (name) => process.env[name]);
  const byUser = options.force !== true && chosen !== undefined && chosen !== packaged;
  if (!byUser) {
    const filters = options.force === true ? FILTERS : [];
    await setVariables({
      ...variables(CHOICES, () => packaged),
      ...variables(filters, () => undefined),
    });
  }
  const restore = (): Promise<void> => setVariables(before);
  try {
    return {
      icd: byUser ? chosen : packaged,
      chosenBy: byUser ? "user" : "package",
      loader: ensureLoader(join(directory, LOADER)),
      directory,
      restore,
    };
  } catch (error) {
    await restore();
    throw error;
  }
}

const variables = (
  names: readonly string[],
  valueOf: (name: string) => string | undefined,
): Variables => Object.fromEntries(names.map((name) => [name, valueOf(name)]));

/**
 * Whether the system has a Vulkan loader at all (the packaged one does not count); without one on
 * Linux, asking for an adapter can only fail. True on platforms that need none.
 */
export function hasSystemVulkan(): boolean {
  return process.platform !== "linux" || (!packagedLoader && loadLibrary(LOADER) === undefined);
}

/**
 * Whether Vulkan is pointed at the packaged driver: by this thread, by the process that started
 * this one, or by the main thread.
 */
export function usesPackagedDriver(): boolean {
  const chosen = process.env[CHOICES[0]];
  return (
    chosen !== undefined &&
    basename(chosen) === ICD &&
    basename(dirname(chosen)).startsWith("swiftshader-")
  );
}

/** The packaged loader is in the process, where it answers to the system's name. */
let packagedLoader = false;

/**
 * Throws on everything but Linux on x64, with what to install instead. Parameters are for tests.
 */
export function requirePlatform(
  caller: string,
  platform: string = process.platform,
  arch: string = process.arch,
): void {
  if (platform === "linux" && arch === "x64") return;
  const remedy: Record<string, string> = {
    linux:
      "install a Vulkan driver with the system's package manager, for example Mesa's " +
      "software driver 24 or newer (Debian, Ubuntu: `apt install mesa-vulkan-drivers " +
      "libvulkan1`; Fedora: `dnf install mesa-vulkan-drivers vulkan-loader`)",
    darwin:
      "use the Metal adapter, which needs no installation; on a virtual machine without one " +
      "there is no software fallback",
    win32: "use the Direct3D 12 adapter, whose software form WARP is part of Windows",
  };
  throw new SoftwareGpuError(
    "unsupported-platform",
    `${caller}: the packaged software adapter exists only for linux on x64, got ${platform} ` +
      `on ${arch}; ${remedy[platform] ?? "use a machine with a WebGPU adapter"}`,
  );
}

/** Makes sure that a later `dlopen("libvulkan.so.1")` by Dawn succeeds. */
function ensureLoader(packaged: string): "system" | "packaged" {
  if (packagedLoader) return "packaged";
  const system = loadLibrary(LOADER);
  if (system === undefined) return "system";
  const own = loadLibrary(packaged);
  packagedLoader = own === undefined;
  if (packagedLoader) return "packaged";
  throw new SoftwareGpuError(
    "loader-failed",
    `installSoftwareVulkan: expected to load ${packaged}, got "${own}" (the system has none: ` +
      `"${system}"); the package needs glibc and a cache folder that is not mounted noexec; ` +
      "set XDG_CACHE_HOME, or install libvulkan1",
  );
}
