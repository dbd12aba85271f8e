/** Lines of CSV as RFC 4180 has them. */

/** A field as it is where it has letters, digits and marks of numbers and paths alone; else in quotes. */
const field = (value: number | string): string => {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return /^[\w.[\]+-]*$/.test(value) ? value : `"${value.replace(/"/g, '""')}"`;
};

/** One record with its line end. */
export const csvLine = (fields: readonly (number | string)[]): string => `${fields.map(field).join(',')}\n`;
