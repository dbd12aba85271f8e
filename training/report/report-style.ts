/**
 * The looks of a report: one column, light and dark by the reader's setting, printable, nothing from the net. All rules
 * are nested below `.report`, so that a page's fragment in a notebook changes nothing around it.
 */
import {chartStyle} from './plot.js';

export const reportStyle = `
.report { color-scheme: light dark; --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --soft: #59636e; --rule: #d8dee4; --warn: #fff8e5; --warnrule: #bf8700;
  margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
* { box-sizing: border-box; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 0.5rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 0.75rem; }
p { margin: 0.5rem 0; max-width: 44rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.4rem; font-size: 0.85rem; }
th, td { padding: 0.35rem 0.65rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
thead th { white-space: normal; border-bottom: 1px solid var(--soft); font-weight: 600; vertical-align: bottom; } th[scope=row], thead th:first-child { text-align: left; font-weight: 600; padding-left: 0; }
.unit { color: var(--soft); font-weight: 400; } .interval { text-align: center; }
.heat td { text-align: center; border: 1px solid var(--ground); min-width: 3.6rem; } .heat thead th { text-align: center; border: 0; } .heat th[scope=row] { border: 0; padding-right: 0.8rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 0.6rem; margin: 1rem 0 0; padding: 0; }
.facts div { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: 0.5rem 0.8rem; } .facts dt { color: var(--soft); font-size: 0.8rem; } .facts dd { margin: 0; overflow-wrap: anywhere; font-size: 1.05rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.warnings { background: var(--warn); border-left: 4px solid var(--warnrule); border-radius: 0 6px 6px 0; margin: 1.5rem 0 0; padding: 0.7rem 1rem 0.7rem 1.1rem; } .warnings h2 { margin: 0 0 0.3rem; font-size: 1rem; } ul { margin: 0.3rem 0; padding-left: 1.2rem; }
figure { margin: 1rem 0 0; overflow-x: auto; } .chart { display: block; max-width: 100%; min-width: 27rem; height: auto; } .chart[width="950"] { min-width: 44rem; } .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem; }
footer { margin-top: 3rem; padding-top: 0.8rem; border-top: 1px solid var(--rule); color: var(--soft); font-size: 0.85rem; }
}
@media (prefers-color-scheme: dark) { .report { --ground: #0d1117; --panel: #161b22; --ink: #e6edf3; --soft: #9198a1; --rule: #30363d; --warn: #272115; --warnrule: #d29922; } }
@media print { .report { font-size: 11pt; main { max-width: none; padding: 0; } figure, tr { break-inside: avoid; } } }
${chartStyle}
`.trim();
