/**
 * The place of a store's texts: a folder, or an object store. Each text is there whole or not at all, and the first one
 * of a name stays.
 */
export interface Texts {
  /** The folder's path, or the address. */
  readonly place: string;
  /** A text, or undefined where there is none. */
  read(name: string): Promise<string | undefined>;
  has(name: string): Promise<boolean>;
  /** Whether anything was ever written here. */
  isThere(): Promise<boolean>;
  /**
   * Whether it was the first of its name.
   * @throws DataError 'store-unwritable' where the place stays away longer than the store is patient
   */
  write(name: string, text: string): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Names below a folder of the store, without it, ascending, some at a time. */
  list(folder: 'done' | 'failed'): AsyncGenerator<string[], void>;
  /** Removes what ended writers left behind, at least so many seconds old; gives how many parts there were. */
  removeParts(older: number): Promise<number>;
}

/** Characters of a name that name its folder: 4096 folders, so that a million files are some 250 in each. */
export const shardDigits = 3;
/** Folders that a store did not make hold none of its texts. */
export const isShard = (folder: string): boolean => /^[0-9a-f]{3}$/.test(folder);
