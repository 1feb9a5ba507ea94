/**
 * The error of wrong settings, in a file of its own so that whatever reads a part of the settings
 * can throw it. Shown to users as one message per file.
 */

/**
 * A mistake in `settings.tenure`; its message names the setting, what was expected and what was
 * found.
 */
export class SettingsError extends Error {
  override name = "SettingsError";
}
