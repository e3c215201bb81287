/** Something that is loaded, and loaded again when what it depends on changes. The old value stays until the new one is here. */

export class Resource<T> {
  value: T | null = $state.raw(null);
  error: unknown = $state.raw(null);
  isLoading = $state(true);
  private turn = $state(0);

  /** `load` runs as an effect: what it reads before its first `await` decides when it runs again. */
  constructor(load: (signal: AbortSignal) => Promise<T> | null) {
    $effect(() => {
      void this.turn;
      const stop = new AbortController();
      const work = load(stop.signal);
      if (work === null) {
        this.isLoading = false;
        return;
      }
      this.isLoading = true;
      work.then((value) => {
        if (stop.signal.aborted) return;
        [this.value, this.error, this.isLoading] = [value, null, false];
      }).catch((error: unknown) => {
        if (stop.signal.aborted) return;
        [this.error, this.isLoading] = [error, false];
      });
      return () => stop.abort();
    });
  }

  again = (): void => {
    this.turn += 1;
  };
}
