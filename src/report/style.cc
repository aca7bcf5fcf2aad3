#include "report/style.h"

namespace wrackline::report {

// Colours are chosen for contrast of at least 4.5 to 1 where they carry text, and so that the curves differ
// in brightness too: on grey paper, and to eyes that mix up red and green.
std::string_view page_style() {
  return R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#18212b;--soft:#56616d;--line:#e1e6eb;--axis:#8a949f;--panel:#f5f7f9;
--first:#1f6391;--second:#b54d12;--third:#7b8794;--setting:#a0124a;--warn:#8a4b00;--warn-paper:#fff6e6;--hover:#1f639118}
@media (prefers-color-scheme:dark){:root{--paper:#12171d;--ink:#e8ecf1;--soft:#a5b0bc;--line:#2a323b;--axis:#76818d;--panel:#1a2129;
--first:#6db3e4;--second:#f0935a;--third:#8f9aa6;--setting:#ff7fab;--warn:#ffc46b;--warn-paper:#2b2213;--hover:#6db3e41f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;padding:1.25rem 1rem 3rem;max-width:47rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.2rem;line-height:1.3;margin:2.5rem 0 .25rem}
h3{font-size:1rem;margin:1.5rem 0 .25rem}
p{margin:.25rem 0 .75rem}
.kind{color:var(--soft);font-size:.875rem;margin:0}
.lead{color:var(--soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.5rem;margin:1.25rem 0;padding:0}
.facts div{background:var(--panel);border-radius:.5rem;padding:.6rem .75rem}
.facts dt{font-size:.8rem;color:var(--soft)}
.facts dd{margin:0;font-size:1.25rem;font-weight:600;line-height:1.3}
.facts dd.note{font-size:.8rem;font-weight:400;color:var(--soft)}
ul.findings{list-style:none;margin:.5rem 0;padding:0}
ul.findings li{border-left:.25rem solid var(--warn);background:var(--warn-paper);padding:.5rem .75rem;margin:.5rem 0;border-radius:0 .4rem .4rem 0}
ul.findings b{color:var(--warn)}
figure{margin:.75rem 0 1rem}
figcaption{font-size:.875rem;color:var(--soft)}
figcaption ul,ol.changes{margin:.25rem 0;padding-left:1.2rem}
.key{display:flex;flex-wrap:wrap;gap:.15rem 1rem;font-size:.875rem;list-style:none;margin:.25rem 0;padding:0}
.key svg{vertical-align:-.1em;margin-right:.35rem}
svg{display:block;max-width:100%;height:auto}
.key svg{display:inline-block}
svg.narrow{display:none}
svg text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink);unicode-bidi:isolate}
svg text.soft{fill:var(--soft)}
svg text.setting{fill:var(--setting);font-weight:600}
svg text.split{fill:var(--second)}
.grid{stroke:var(--line)}
.axis{stroke:var(--axis)}
.paper{fill:var(--paper)}
.bar,.point.first{fill:var(--first)}
.bar.second,.point.second{fill:var(--second)}
.point-tick{stroke:var(--ink);stroke-width:2}
.range{stroke:var(--third);stroke-width:4;stroke-linecap:round;opacity:.7}
.quantile-line{stroke:var(--soft);stroke-dasharray:1 3}
.split-line{stroke:var(--second);stroke-dasharray:5 3}
.setting-line{stroke:var(--setting);stroke-width:1.5}
.curve{fill:none;stroke-width:1.75;stroke-linejoin:round}
.curve.first{stroke:var(--first)}
.curve.second{stroke:var(--second)}
.curve.third{stroke:var(--third)}
.hover,.row,.step{fill:transparent}
.hover:hover,.step:hover,.mark:hover .row{fill:var(--hover)}
.badge{fill:var(--setting)}
svg text.badge-text{fill:var(--paper);font-weight:600}
.mark:focus{outline:2px solid var(--setting);outline-offset:1px}
.scroll{overflow-x:auto;margin:.5rem 0}
.scroll:focus-visible{outline:2px solid var(--setting)}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;min-width:100%}
caption{text-align:left;color:var(--soft);padding-bottom:.25rem}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;overflow-wrap:normal}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;overflow-wrap:anywhere;min-width:4.5rem}
thead th{color:var(--soft);font-weight:600}
thead th:first-child{white-space:nowrap}
tbody th{font-weight:500}
pre{background:var(--panel);border-radius:.5rem;padding:.75rem;overflow-x:auto;font-size:.875rem}
footer{margin-top:3rem;font-size:.875rem;color:var(--soft)}
summary{cursor:pointer;color:var(--soft);font-size:.875rem}
.pair{display:grid;grid-template-columns:1fr;gap:.5rem}
@media (max-width:44rem){svg.wide{display:none}svg.narrow{display:block}
th,td{padding:.3rem .4rem}table{font-size:.8rem}}
@media print{
:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--axis:#666;--panel:#fff;--first:#1f6391;--second:#b54d12;--third:#7b8794;
--setting:#a0124a;--warn:#000;--warn-paper:#fff}
@page{margin:1.5cm}
body{padding:0;max-width:none;font-size:10.5pt}
svg.wide{display:block}svg.narrow{display:none}
.key svg{display:inline-block}
.facts div,pre{border:1px solid var(--line)}
h1,h2,h3{break-after:avoid}
figure,tr,li,.facts div{break-inside:avoid}
.scroll,pre{overflow:visible}
table{font-size:8pt}
th,td{padding:.2rem .3rem;white-space:normal}
caption{break-after:avoid}
.scroll.short{break-inside:avoid}
details::details-content{content-visibility:visible;display:block}
}
)css";
}

}  // namespace wrackline::report
