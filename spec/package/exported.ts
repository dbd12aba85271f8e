/** Exported values of an entry, with the members of its groups, `export * as shapes`, in place of the groups. */

/** A group of functions under one name: a module namespace. */
const isGroup = (value: unknown): value is object => Object.prototype.toString.call(value) === '[object Module]';

/** Values by name; those of a group as 'shapes.box'. */
export function exportedValues(entry: object): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [name, value] of Object.entries(entry))
    if (isGroup(value)) for (const [member, own] of Object.entries(value)) found.set(`${name}.${member}`, own);
    else found.set(name, value);
  return found;
}
