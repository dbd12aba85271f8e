/** What a store needs of the place where it keeps its texts: a folder, or an object store. */

/** Where a store keeps its texts: each is there whole or not at all, and the first one of a name stays. */
export interface Texts {
  /** The folder's path, or the address. */
  readonly place: string;
  /** A text, or undefined where there is none. */
  read(name: string): Promise<string | undefined>;
  has(name: string): Promise<boolean>;
  /** Whether it was the first of its name. @throws DataError 'store-unwritable' where the place stays away longer than the store is patient */
  write(name: string, text: string): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Keeps a text under another name, that its own is free. @returns what it is called now */
  setAside(name: string): Promise<string>;
  /** Names below a folder of the store, without it, ascending, some at a time. */
  list(folder: 'done' | 'failed'): AsyncGenerator<string[], void>;
  /** Removes what ended writers left behind, at least so many seconds old; gives how many parts there were. */
  removeParts(older: number): Promise<number>;
}
