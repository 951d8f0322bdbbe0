import { untrack } from "svelte";
import { RequestError, type Api } from "./api";

/** The latest answer to a changing request. A superseded request is aborted; the last good answer stays. */
export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<RequestError | null>(null);
  loading = $state(false);
  private running: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private path = $state("");
  /** The address whose answer is in `value`. */
  private answered = $state("");

  constructor(private api: Api) {}

  load(path: string, { delay = 0 }: { delay?: number } = {}): void {
    if (path === untrack(() => this.path)) return;
    this.cancel();
    this.path = path;
    this.loading = true;
    if (delay) this.timer = setTimeout(() => this.fetch(path), delay);
    else void this.fetch(path);
  }

  /** Whether `value` is the answer to the latest request. */
  get fresh(): boolean {
    return this.path !== "" && this.answered === this.path;
  }

  cancel(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.path = "";
    this.loading = false;
  }

  /** Only the latest request may change anything. */
  private async fetch(path: string): Promise<void> {
    const mine = (this.running = new AbortController());
    const late = () => mine !== this.running || mine.signal.aborted;
    try {
      const value = await this.api.json<T>(path, mine.signal);
      if (late()) return;
      this.value = value;
      this.answered = path;
      this.error = null;
    } catch (error) {
      if (late()) return;
      this.error = error instanceof RequestError ? error : new RequestError(String((error as Error).message), null);
    }
    this.loading = false;
  }
}
