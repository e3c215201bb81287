/** Long lists in little memory: a verifier remembers something of every record, and objects take ten times the room of numbers. */

import { parse, type Json } from "./json.js";

/** A list of whole numbers of 32 bits that grows: places and counts of records, of which no journal here has 2^31. */
export class Numbers {
  private room = new Int32Array(256);
  private count = 0;

  get length(): number {
    return this.count;
  }

  push(...numbers: number[]): void {
    if (this.count + numbers.length > this.room.length) {
      const larger = new Int32Array(Math.ceil(1.5 * this.room.length) + numbers.length);
      larger.set(this.room);
      this.room = larger;
    }
    for (const number of numbers) {
      this.room[this.count] = number;
      this.count += 1;
    }
  }

  at(index: number): number {
    return index < this.count ? (this.room[index] as number) : NaN;
  }

  /** Returns the numbers from `from` up to `to`. */
  between(from: number, to: number): readonly number[] {
    return [...this.room.subarray(from, Math.min(to, this.count))];
  }

  clear(): void {
    this.count = 0;
  }
}

/** An output of a step. */
export interface Output {
  key: string;
  step: string;
  stepIndex: string;
  text: string;
}

/** No output: the place before the first one. */
export const NO_OUTPUT = -1;

/** The first step index that no number of 32 bits holds. */
const SHORT_MAX = 2n ** 31n;

/** The numbers of an output: the output before it, its key, its step, its step index. */
const WIDTH = 4;

/** The outputs of a run in the order of their records, each with the one before it: after a rollback that is an older one. */
export class OutputLog {
  private readonly numbers = new Numbers();
  private readonly texts: string[] = [];
  private readonly names: string[] = [];
  private readonly nameNumbers = new Map<string, number>();
  /** The values that are held as trees: the newest of each key, and those that are not in their texts. */
  private readonly values = new Map<number, Json>();
  /** Step indexes that no number here holds. A record that has one is refused, but its state has a hash. */
  private readonly longIndexes = new Map<number, string>();

  /** Adds an output and returns its number. */
  add(before: number, key: string, step: string, stepIndex: bigint, text: string, value: Json): number {
    const at = this.texts.push(text) - 1;
    const isShort = stepIndex >= 0n && stepIndex < SHORT_MAX;
    this.numbers.push(before, this.nameNumber(key), this.nameNumber(step), isShort ? Number(stepIndex) : 0);
    if (!isShort) this.longIndexes.set(at, stepIndex.toString());
    this.values.set(at, value);
    return at;
  }

  output(at: number): Output {
    return {
      key: this.key(at),
      step: this.names[this.numbers.at(at * WIDTH + 2)] as string,
      stepIndex: this.longIndexes.get(at) ?? String(this.numbers.at(at * WIDTH + 3)),
      text: this.text(at),
    };
  }

  before(at: number): number {
    return this.numbers.at(at * WIDTH);
  }

  key(at: number): string {
    return this.names[this.numbers.at(at * WIDTH + 1)] as string;
  }

  text(at: number): string {
    return this.texts[at] as string;
  }

  value(at: number): Json {
    let value = this.values.get(at);
    if (value === undefined) {
      value = parse(this.text(at));
      this.values.set(at, value);
    }
    return value;
  }

  /** Drops the tree of a value whose text has all of it: a large value is elsewhere. */
  dropValue(at: number): void {
    const text = this.text(at);
    if (text !== "" && !text.includes('"$blob"')) this.values.delete(at);
  }

  /** Names are kept once: one that was cut out of its line would keep the whole line in memory. */
  private nameNumber(name: string): number {
    let number = this.nameNumbers.get(name);
    if (number === undefined) {
      number = this.names.push(name) - 1;
      this.nameNumbers.set(name, number);
    }
    return number;
  }
}
