/**
 * `@typescript-eslint/parser`, for the files that the rules read. The build puts it whole into this
 * file, with all but TypeScript: installed as packages, parts of it would find a TypeScript 7 that
 * the project has, and cannot work with that. Used by index.ts; nothing is owned here.
 */
import parser from "@typescript-eslint/parser";
import type { TSESLint } from "@typescript-eslint/utils";

/** The parser, as `languageOptions.parser` takes it. */
export const typescriptParser: TSESLint.FlatConfig.Parser = parser;
