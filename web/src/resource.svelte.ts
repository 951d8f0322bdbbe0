import { Refused, type Api } from "./api";

/** The newest answer to a question that changes. What is superseded is given up; the last good answer stays. */
export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<Refused | null>(null);
  loading = $state(false);
  private running: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private path = "";

  constructor(private api: Api) {}

  load(path: string, { delay = 0 }: { delay?: number } = {}): void {
    if (path === this.path) return;
    this.cancel();
    this.path = path;
    this.loading = true;
    if (delay) this.timer = setTimeout(() => this.fetch(path), delay);
    else void this.fetch(path);
  }

  cancel(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.path = "";
    this.loading = false;
  }

  /** Only the newest may change anything here: an older one finds that the path is another. */
  private async fetch(path: string): Promise<void> {
    this.running = new AbortController();
    try {
      const value = await this.api.json<T>(path, this.running.signal);
      if (path !== this.path) return;
      this.value = value;
      this.error = null;
    } catch (error) {
      if (path !== this.path) return;
      this.error = error instanceof Refused ? error : new Refused(String((error as Error).message), null);
    }
    this.loading = false;
  }
}
