/** Translation: English in the code, other languages from the server's catalogues. */

let said = $state.raw<Record<string, string>>({});

export function setMessages(messages: Record<string, string>): void {
  said = messages;
}

/** A message in the reader's language, its {placeholders} filled in. */
export function t(message: string, values: Record<string, string | number> = {}): string {
  const text = said[message] || message;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
