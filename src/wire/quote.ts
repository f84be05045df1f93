/**
 * Text of strangers for use in an error: JSON string syntax, printable ASCII only, cut at
 * `maxLength` characters, so that no detail can carry terminal escapes or bidi controls.
 */
export function quote(text: string, maxLength = 64): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  const escaped = JSON.stringify(cut).replace(/[^ -~…]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return escaped;
}
