// What Python writes before formulas.js: the formulas of the metrics (script.py).
declare const Formulas: {
  point: Record<
    string,
    (tpr: number, fpr: number, pi: number, parameters?: Record<string, number>) => number
  >;
  proper: Record<string, (p: number) => [number, number]>;
  // Most metrics have none.
  fromAucPu: Record<
    string,
    ((auc: number, alpha: number, beta: number, pi: number) => number) | undefined
  >;
};
