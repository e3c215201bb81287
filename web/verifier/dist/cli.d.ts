/** The command `hence-verify`: reads files with Node and prints reports. */
export declare function main(args: string[]): Promise<number>;
