/**
 * Units of durations in a Parquet file. Parquet has no type for them: writers store whole counts, and beside them the
 * schema of Arrow, which has the unit, as the metadata 'ARROW:schema'. It is a message of Arrow's IPC format, a
 * FlatBuffer (https://arrow.apache.org/docs/format/Columnar.html, Schema.fbs, Message.fbs).
 */

/** Places of fields in the tables of Message.fbs and Schema.fbs; a union takes two, and its table is the second. */
const [messageHeader, schemaFields, fieldName, fieldType, fieldTypeTable, durationUnit] = [2, 1, 0, 2, 3, 0];

/** Number of Duration in the union Type of Schema.fbs. */
const duration = 18;

/** The enum TimeUnit of Schema.fbs, which a Duration leaves out if it is the default. */
const perSecondOf = [1, 1e3, 1e6, 1e9];
const defaultUnit = 1;

/**
 * How many counts are a second, by column; nothing of a schema that cannot be read.
 * @param schema the message in base64
 */
export function arrowDurations(schema: string): Map<string, number> {
  const found = new Map<string, number>();
  try {
    const bytes = Uint8Array.from(atob(schema), character => character.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const int = (at: number): number => view.getInt32(at, true);
    const follow = (at: number): number => at + int(at);
    /** The place of a field in a table; undefined if it is left out. */
    const fieldOf = (table: number, place: number): number | undefined => {
      const slots = table - int(table);
      const [size, slot] = [view.getUint16(slots, true), 4 + 2 * place];
      const offset = slot < size ? view.getUint16(slots + slot, true) : 0;
      return offset === 0 ? undefined : table + offset;
    };
    const inside = (table: number, place: number): number => {
      const at = fieldOf(table, place);
      if (at === undefined) throw new RangeError('a field is left out');
      return follow(at);
    };
    // The length of the message stands before it, and before that, since Arrow 0.15, the mark −1.
    const message = follow(int(0) === -1 ? 8 : 4);
    const fields = inside(inside(message, messageHeader), schemaFields);
    for (let i = 0; i < int(fields); i++) {
      const field = follow(fields + 4 + 4 * i);
      const type = fieldOf(field, fieldType);
      if (type === undefined || view.getUint8(type) !== duration) continue;
      const name = inside(field, fieldName);
      const unit = fieldOf(inside(field, fieldTypeTable), durationUnit);
      const perSecond = perSecondOf[unit === undefined ? defaultUnit : view.getInt16(unit, true)];
      found.set(new TextDecoder().decode(bytes.subarray(name + 4, name + 4 + int(name))), perSecond);
    }
  } catch {
    return new Map(); // it is no part of the Parquet format: the columns are counts then
  }
  return found;
}
