/**
 * A headless Chromium with working WebGPU on SwiftShader, from npm packages alone. Called by
 * browser tests and benchmarks; `tenure` itself never loads this file. The unpacked browser belongs
 * to the user's cache folder, the process and its empty profile to the returned object until
 * `close()`.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { type Archive, replaceFile, unpackOnce } from "./cache.ts";
import { messageOf, SoftwareGpuError } from "./errors.ts";
import { requirePlatform, SWIFTSHADER } from "./index.ts";

export { SoftwareGpuError, type SoftwareGpuErrorCode } from "./errors.ts";
export { type PageRoute, type PageServer, servePages } from "./pages.ts";

const EXECUTABLE = "chromium";
/**
 * The browser looks for its graphics libraries beside its executable. The two small archives are
 * for systems without NSS, and without fonts.
 */
const ARCHIVES: readonly Archive[] = [
  { file: "chromium.br", content: { executable: EXECUTABLE } },
  SWIFTSHADER,
  { file: "al2023.tar.br", content: "tar" },
  { file: "fonts.tar.br", content: "tar" },
];

/** WebGPU on the packaged software adapter, and no talk with the outside. */
const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
  "--ignore-gpu-blocklist",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-quic",
];

/** Options of {@link launchChromium}. `platform`, `arch` and `cacheRoots` exist for tests. */
export interface LaunchOptions {
  /** Further command-line flags. */
  readonly args?: readonly string[];
  readonly platform?: string;
  readonly arch?: string;
  readonly cacheRoots?: readonly string[];
}

/** A running browser. `await using chromium = await launchChromium()` closes it. */
export interface LaunchedChromium extends AsyncDisposable {
  /** Playwright's handle: `await browser.newPage()`. */
  readonly browser: Browser;
  /** The unpacked executable. */
  readonly executable: string;
  /** Ends the browser and removes its profile. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Unpacks Chromium on first use (about 200 MB in the user's cache folder) and starts it with a new,
 * empty profile.
 */
export async function launchChromium(options: LaunchOptions = {}): Promise<LaunchedChromium> {
  requirePlatform("launchChromium", options.platform, options.arch);
  const directory = await unpackOnce("chromium", ARCHIVES, "launchChromium", options.cacheRoots);
  const executable = join(directory, EXECUTABLE);
  const environment = await workingEnvironment(executable, directory);
  const { chromium } = await import("playwright-core").catch((error: unknown) => {
    throw new SoftwareGpuError(
      "package-missing",
      `launchChromium: expected the npm package playwright-core, got ${messageOf(error)}; ` +
        "install it",
      { cause: error },
    );
  });
  const browser = await chromium
    .launch({
      executablePath: executable,
      args: [...FLAGS, ...(options.args ?? [])],
      ignoreDefaultArgs: ["--disable-gpu"],
      env: environment,
      headless: true,
    })
    .catch((error: unknown) => {
      throw new SoftwareGpuError(
        "browser-failed",
        `launchChromium: expected ${executable} to start, got ${messageOf(error)}`,
        { cause: error },
      );
    });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= browser.close());
  return { browser, executable, close, [Symbol.asyncDispose]: close };
}

/**
 * The environment in which the executable starts: this process's, with the packaged libraries and
 * fonts only where the system lacks its own.
 */
async function workingEnvironment(
  executable: string,
  directory: string,
): Promise<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env))
    if (value !== undefined) environment[name] = value;
  if (!existsSync("/etc/fonts/fonts.conf"))
    environment["FONTCONFIG_FILE"] ??= await fontSettings(directory);
  const first = await startError(executable, environment);
  if (first === undefined) return environment;
  const libraries = join(directory, "lib");
  const own = environment["LD_LIBRARY_PATH"];
  const extended = {
    ...environment,
    LD_LIBRARY_PATH: own === undefined ? libraries : `${libraries}:${own}`,
  };
  const second = await startError(executable, extended);
  if (second === undefined) return extended;
  throw new SoftwareGpuError(
    "browser-failed",
    `launchChromium: expected ${executable} to start, got "${second}"; it needs glibc 2.34 ` +
      "or newer and a cache folder that is not mounted noexec; set XDG_CACHE_HOME",
  );
}

/**
 * Writes font settings that name the packaged fonts; those of the archive name folders of another
 * machine.
 */
async function fontSettings(directory: string): Promise<string> {
  const folders = [
    `<dir>${join(directory, "fonts")}</dir>`,
    "<dir>/usr/share/fonts</dir>",
    `<cachedir>${join(directory, "fonts-cache")}</cachedir>`,
  ];
  const text =
    `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n` +
    `<fontconfig>${folders.join("")}</fontconfig>\n`;
  await replaceFile(directory, "packaged-fonts.conf", (path) => writeFile(path, text));
  return join(directory, "packaged-fonts.conf");
}

/** Asks the executable for its version. Returns why it does not answer. */
function startError(executable: string, env: Record<string, string>): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(executable, ["--version"], { env, timeout: 60_000 }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trim() || error.message);
    });
  });
}
