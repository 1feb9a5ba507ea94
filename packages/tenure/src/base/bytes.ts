/**
 * Typed arrays that own a plain ArrayBuffer, as every TypeScript from 5.2 on writes them: generic
 * since 5.7, not so before. What `of` returns is the right one everywhere. Used by whatever hands
 * bytes to a device or a file. Owns nothing.
 */

/** Bytes in a buffer of their own. */
export type Bytes = ReturnType<Uint8ArrayConstructor["of"]>;
/** Signed words in a buffer of their own. */
export type Int32s = ReturnType<Int32ArrayConstructor["of"]>;
/** Unsigned words in a buffer of their own. */
export type Uint32s = ReturnType<Uint32ArrayConstructor["of"]>;
