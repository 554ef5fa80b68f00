#include "tools/perf/page.h"

namespace tutti::tools {

// Colours of the curves: apart from each other in hue and in lightness, on white and on black; marks tell them apart where
// colours do not.
const char* const plot_style = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b2430; --soft: #5b6675; --line: #e3e7ec; --card: #f7f8fa;
  --c0: #6b7280; --c1: #1d4ed8; --c2: #ea580c; --c3: #15803d; --c4: #9333ea; --c5: #dc2626; --c6: #0891b2; --c7: #a16207;
  --c8: #db2777; --c9: #4d7c0f; --c10: #334155; --c11: #7c2d12; }
@media (prefers-color-scheme: dark) {
  :root { --back: #11151b; --text: #e6eaf0; --soft: #9aa6b5; --line: #2a313b; --card: #181d25;
    --c0: #9ca3af; --c1: #6ea8ff; --c2: #ff9a4d; --c3: #4ade80; --c4: #c79bff; --c5: #ff7b7b; --c6: #31d2ee; --c7: #e8c547;
    --c8: #ff86c0; --c9: #a8d94a; --c10: #cbd5e1; --c11: #f0b890; } }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg text.x { text-anchor: middle; } svg text.y { text-anchor: end; }
svg .grid { fill: none; stroke: var(--line); } svg .frame { fill: none; stroke: var(--soft); }
.curve path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.curve .whisker { stroke-width: 5; stroke-opacity: .22; }
.curve.dashed > path:not(.whisker), .legend .dashed path { stroke-dasharray: 5 4; }
use { fill: currentColor; } use .hollow, .hollow { fill: var(--card); stroke: currentColor; stroke-width: 1.8; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); } .c4 { color: var(--c4); }
.c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); } .c8 { color: var(--c8); } .c9 { color: var(--c9); }
.c10 { color: var(--c10); } .c11 { color: var(--c11); }
)";

const char* const page_style = R"(
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100%; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 16px 48px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 8px 0 4px; }
h2 { font-size: 1.2rem; margin: 40px 0 4px; }
h3 { font-size: 1rem; margin: 0 0 6px; font-weight: 600; }
h3 small { font-weight: 400; color: var(--soft); }
p { margin: 4px 0 14px; max-width: 72ch; }
.soft, .soft td { color: var(--soft); }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 16px; align-items: start; }
.grid > figure:only-child { grid-column: 1 / -1; max-width: 640px; }
@media (min-width: 1080px) { .grid:has(> figure:nth-child(4):last-child) { grid-template-columns: 1fr 1fr; max-width: 900px; } }
figure { margin: 0; padding: 12px 12px 8px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figure > svg { display: block; width: 100%; height: auto; }
.bar rect { fill: currentColor; fill-opacity: .55; } .bar.strong rect { fill-opacity: 1; }
.bar text { fill: var(--soft); } .bar.strong text { fill: var(--text); font-weight: 700; }
.definitions { position: absolute; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 6px 0 2px; padding: 0; font-size: .85rem; }
.legend li { white-space: nowrap; } .legend svg { width: 26px; height: 13px; margin-right: 5px; vertical-align: -2px; }
.legend path { fill: none; stroke: currentColor; stroke-width: 2; } .legend use path { fill: currentColor; stroke: none; }
.wide { overflow-x: auto; margin: 0 -16px; padding: 0 16px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; margin: 4px 0 16px; }
th, td { padding: 3px 10px 3px 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
.facts td { white-space: normal; text-align: left; vertical-align: top; } .facts td:first-child { white-space: nowrap; color: var(--soft); }
td.best { font-weight: 700; }
details { margin: 12px 0; } summary { cursor: pointer; font-weight: 600; }
@media print {
  :root { color-scheme: light; --back: #fff; --text: #000; --soft: #444; --line: #ddd; --card: #fff;
    --c0: #6b7280; --c1: #1d4ed8; --c2: #ea580c; --c3: #15803d; --c4: #9333ea; --c5: #dc2626; --c6: #0891b2; --c7: #a16207;
    --c8: #db2777; --c9: #4d7c0f; --c10: #334155; --c11: #7c2d12; }
  .wide { overflow: visible; } table { font-size: .7rem; } th, thead th { white-space: normal; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } main { padding: 0; } .grid { grid-template-columns: 1fr 1fr; } }
)";

}  // namespace tutti::tools
