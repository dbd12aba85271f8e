/** A growing array of bytes with the number formats of the WebAssembly binary format (spec §5.2). */

/** Bytes in memory that no threads share, as WebAssembly takes them (types of TypeScript 5.7 on). */
export type ModuleBytes = ReturnType<typeof Uint8Array.of>;

export class Bytes {
  private data = new Uint8Array(256);
  length = 0;

  private reserve(count: number): void {
    if (this.length + count <= this.data.length) return;
    const grown = new Uint8Array(Math.max(2 * this.data.length, this.length + count));
    grown.set(this.data.subarray(0, this.length));
    this.data = grown;
  }

  byte(value: number): void {
    if (this.length === this.data.length) this.reserve(1);
    this.data[this.length++] = value;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.data.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Unsigned LEB128 of a whole number below 2³². */
  unsigned(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  /** Signed LEB128 of a 32-bit integer. */
  signed(value: number): void {
    let rest = value | 0;
    for (;;) {
      const low = rest & 0x7f;
      rest >>= 7;
      // Done when all that is left is the sign, and the sign bit of this group says the same.
      if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) {
        this.byte(low);
        return;
      }
      this.byte(low | 0x80);
    }
  }

  f32(value: number): void {
    scratch.setFloat32(0, value, true);
    this.append(scratchBytes.subarray(0, 4));
  }

  f64(value: number): void {
    scratch.setFloat64(0, value, true);
    this.append(scratchBytes);
  }

  name(text: string): void {
    const encoded = new TextEncoder().encode(text);
    this.unsigned(encoded.length);
    this.append(encoded);
  }

  /** Appends these bytes, prefixed with their length, to others. */
  appendTo(target: Bytes): void {
    target.unsigned(this.length);
    target.append(this.data.subarray(0, this.length));
  }

  finish(): ModuleBytes {
    return this.data.slice(0, this.length);
  }
}

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);
