/** A model and its record in the page's address: JSON, deflated, base64url, after #fit=. */
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

/** What an address holds, or undefined where it holds nothing that can be read. */
export function sharedIn(hash: string): Shared | undefined {
  if (!hash.startsWith('#fit=')) return undefined;
  try {
    const bytes = Uint8Array.from(atob(hash.slice(5).replaceAll('-', '+').replaceAll('_', '/')), letter =>
      letter.charCodeAt(0),
    );
    const found = JSON.parse(strFromU8(inflateSync(bytes))) as Partial<Shared> | null;
    return typeof found?.code === 'string' ? (found as Shared) : undefined;
  } catch {
    return undefined;
  }
}
