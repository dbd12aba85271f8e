/** A model and its record in the page's address: JSON, deflated, base64url, after #fit=. */
import {samples} from './samples.js';
import {deflateSync, inflateSync, strFromU8, strToU8} from 'fflate';

export interface Shared {
  readonly code: string;
  /** Of one of ours its place in the list, else the record itself. */
  readonly sample?: number;
  readonly csv?: string;
  readonly name?: string;
}

/** Browsers and chats cut addresses off; 32 000 characters pass through most of them. */
export const LONGEST = 32_000;

export function addressOf(shared: Shared): string {
  const bytes = deflateSync(strToU8(JSON.stringify(shared)), {level: 9});
  const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));
  return `#fit=${text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** What an address holds: nothing, a model, or what cannot be read. */
export function sharedIn(hash: string): Shared | 'broken' | undefined {
  if (!hash.startsWith('#fit=')) return undefined;
  try {
    if (hash.length > LONGEST) return 'broken';
    const bytes = Uint8Array.from(atob(hash.slice(5).replaceAll('-', '+').replaceAll('_', '/')), letter =>
      letter.charCodeAt(0),
    );
    const found: unknown = JSON.parse(strFromU8(inflateSync(bytes)));
    return isShared(found) ? found : 'broken';
  } catch {
    return 'broken';
  }
}

function isShared(value: unknown): value is Shared {
  if (typeof value !== 'object' || value === null) return false;
  const {code, sample, csv, name} = value as {readonly [field in keyof Shared]: unknown};
  const isText = (text: unknown): boolean => typeof text === 'string';
  return (
    isText(code)
    && (isText(csv) || (Number.isInteger(sample) && (sample as number) >= 0 && (sample as number) < samples.length))
    && (name === undefined || isText(name))
  );
}
