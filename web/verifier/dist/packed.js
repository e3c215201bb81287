/** Long lists in little memory: a verifier remembers something of every record, and objects take ten times the room of numbers. */
import { parse } from "./json.js";
/** A list of whole numbers of 32 bits that grows: places and counts of records, of which no journal here has 2^31. */
export class Numbers {
    room = new Int32Array(256);
    count = 0;
    get length() {
        return this.count;
    }
    push(...numbers) {
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
    at(index) {
        return index < this.count ? this.room[index] : NaN;
    }
    /** Returns the numbers from `from` up to `to`. */
    between(from, to) {
        return [...this.room.subarray(from, Math.min(to, this.count))];
    }
    clear() {
        this.count = 0;
    }
}
/** No output: the place before the first one. */
export const NO_OUTPUT = -1;
/** The first step index that no number of 32 bits holds. */
const SHORT_MAX = 2n ** 31n;
/** The numbers of an output: the output before it, its key, its step, its step index. */
const WIDTH = 4;
/** The outputs of a run in the order of their records, each with the one before it: after a rollback that is an older one. */
export class OutputLog {
    numbers = new Numbers();
    texts = [];
    names = [];
    nameNumbers = new Map();
    /** The values that are held as trees: the newest of each key, and those that are not in their texts. */
    values = new Map();
    /** Step indexes that no number here holds. A record that has one is refused, but its state has a hash. */
    longIndexes = new Map();
    /** Adds an output and returns its number. */
    add(before, key, step, stepIndex, text, value) {
        const at = this.texts.push(text) - 1;
        const isShort = stepIndex >= 0n && stepIndex < SHORT_MAX;
        this.numbers.push(before, this.nameNumber(key), this.nameNumber(step), isShort ? Number(stepIndex) : 0);
        if (!isShort)
            this.longIndexes.set(at, stepIndex.toString());
        this.values.set(at, value);
        return at;
    }
    output(at) {
        return {
            key: this.key(at),
            step: this.names[this.numbers.at(at * WIDTH + 2)],
            stepIndex: this.longIndexes.get(at) ?? String(this.numbers.at(at * WIDTH + 3)),
            text: this.text(at),
        };
    }
    before(at) {
        return this.numbers.at(at * WIDTH);
    }
    key(at) {
        return this.names[this.numbers.at(at * WIDTH + 1)];
    }
    text(at) {
        return this.texts[at];
    }
    value(at) {
        let value = this.values.get(at);
        if (value === undefined) {
            value = parse(this.text(at));
            this.values.set(at, value);
        }
        return value;
    }
    /** Drops the tree of a value whose text has all of it: a large value is elsewhere. */
    dropValue(at) {
        const text = this.text(at);
        if (text !== "" && !text.includes('"$blob"'))
            this.values.delete(at);
    }
    /** Names are kept once: one that was cut out of its line would keep the whole line in memory. */
    nameNumber(name) {
        let number = this.nameNumbers.get(name);
        if (number === undefined) {
            number = this.names.push(name) - 1;
            this.nameNumbers.set(name, number);
        }
        return number;
    }
}
