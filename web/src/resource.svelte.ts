import { untrack } from "svelte";
import { RequestError, type Api } from "./api";

/** The newest answer to a question that changes. What is superseded is given up; the last good answer stays. */
export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<RequestError | null>(null);
  loading = $state(false);
  private running: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private path = $state("");
  /** What `value` is the answer to. */
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

  /** Whether the value is the answer to what was asked last; else it is one to something before. */
  get fresh(): boolean {
    return this.path !== "" && this.answered === this.path;
  }

  cancel(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.path = "";
    this.loading = false;
  }

  /** Only the newest may change anything here: an older one finds that another runs. */
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
