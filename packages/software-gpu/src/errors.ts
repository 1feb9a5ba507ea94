/**
 * The one error type of this package. Thrown by every exported function when software WebGPU cannot
 * be provided; the library's `init()` shows its text to the user. Owns nothing.
 */

/** What went wrong, for callers that react instead of only printing. */
export type SoftwareGpuErrorCode =
  /** There is no packaged driver for this operating system or processor. */
  | "unsupported-platform"
  /** The npm package with the driver and the browser is not installed, or not complete. */
  | "package-missing"
  /** No cache folder could be written, or an archive is damaged. */
  | "unpack-failed"
  /** The packaged Vulkan loader exists but the system refuses to load it. */
  | "loader-failed"
  /** A worker thread could not have the driver chosen for the process. */
  | "environment-failed"
  /** Chromium does not start. */
  | "browser-failed";

/** Text is `function: what was expected, what came; what to do`. */
export class SoftwareGpuError extends Error {
  readonly code: SoftwareGpuErrorCode;

  constructor(code: SoftwareGpuErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SoftwareGpuError";
    this.code = code;
  }
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
