export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta";
export type Paint = (style: Style, text: string) => string;
