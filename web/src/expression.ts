/** Reading an expression such as RoPE(64, scaling=YaRN(4.0, 4096)): what stands for each field. */
import type { Field } from "./contract";

export function headOf(expression: string): string {
  return /^[\w.]+/.exec(expression.trim())?.[0] ?? "";
}

/** The arguments as they are written; those without a name belong to the fields in their order. */
export function argumentsOf(expression: string, fields: Field[]): Record<string, string> {
  const inside = expression.trim().slice(headOf(expression).length + 1, -1);
  const found: Record<string, string> = {};
  split(inside).forEach((part, place) => {
    const named = /^(\w+)\s*=(.*)$/s.exec(part);
    const name = named?.[1] ?? fields[place]?.name;
    if (name) found[name] = (named?.[2] ?? part).trim();
  });
  return found;
}

/** The value of a field, as its control shows it. */
export function valueOf(field: Field, written: string | undefined): string | number | boolean {
  if (written === undefined || written === "None") return written === "None" ? "" : (field.value ?? "");
  if (field.type === "bool") return written === "True";
  if (field.type === "int" || field.type === "float") {
    const value = Number(written.replaceAll("_", ""));
    return Number.isNaN(value) ? (field.value ?? "") : value;
  }
  return field.type === "choice" ? written.replace(/^['"]|['"]$/g, "") : written;
}

/** An expression with all of its fields by name. */
export function spell(name: string, fields: Field[], written: Record<string, string>): string {
  const given = fields.filter((field) => written[field.name] !== undefined);
  return `${name}(${given.map((field) => `${field.name}=${written[field.name]}`).join(", ")})`;
}

function split(inside: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const character of inside) {
    if ("([{".includes(character)) depth += 1;
    if (")]}".includes(character)) depth -= 1;
    if (character === "," && depth === 0) {
      parts.push(part.trim());
      part = "";
    } else part += character;
  }
  return [...parts, part.trim()].filter(Boolean);
}
