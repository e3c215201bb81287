/** The manifest of a bundle: docs/format.md section 15. */
import type { ItemReport } from "./report.js";
export declare const BUNDLE_FORMAT = "hence-bundle/1";
/** Reads the files of a bundle by the paths of its manifest. */
export interface BundleFiles {
    read(path: string): Promise<Uint8Array | string | null>;
}
/** Compares the files of a bundle with its manifest, and its head with the one the journal has. */
export declare function checkBundle(manifest: Uint8Array, files: BundleFiles, head: string | null): Promise<ItemReport[]>;
