"""How the HTML page looks: light and dark as the reader's system is, and no wider than a phone."""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --raised: #f6f8fa;
  --red: #b42318; --green: #116329; --amber: #7a4d05; --wrong: #ffe3e0; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --ink: #e6edf3; --soft: #9aa4b0; --line: #30363d;
  --raised: #161b22; --red: #ff8a80; --green: #6fdd8b; --amber: #f0c060; --wrong: #5a1e1a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
header, section, details { border-top: 1px solid var(--line); padding: .75rem 0; }
header { border: 0; border-left: .4rem solid var(--line); padding: 0 0 0 1rem; }
h1 { margin: 0; font-size: 1.8rem; } h2 { font-size: 1.15rem; } h3 { margin: .5rem 0 0; font-size: 1rem; }
.proved { border-color: var(--green); } .proved h1 { color: var(--green); }
.refuted { border-color: var(--red); } .refuted h1, .error h2 code { color: var(--red); }
.unknown { border-color: var(--amber); } .unknown h1, section.note h2 code { color: var(--amber); }
.cause { font-size: 1.15rem; } p.note { color: var(--soft); } p.help { font-weight: 600; }
code, td { font-family: ui-monospace, monospace; font-size: .9em; }
.nodes { list-style: none; margin: .25rem 0; padding: .5rem .75rem; background: var(--raised); border-radius: .4rem; }
.wide { overflow-x: auto; margin: .75rem 0; } table { border-collapse: collapse; overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); } th { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; vertical-align: top; }
td.wrong { background: var(--wrong); color: var(--red); font-weight: 700; }
.ranks td { text-align: center; padding: .15rem .5rem; } figcaption { color: var(--soft); }
svg { display: block; font: 12px ui-monospace, monospace; } svg text { fill: var(--ink); }
svg rect { fill: var(--raised); stroke: var(--line); } svg .wrong rect { fill: var(--wrong); stroke: var(--red); }
svg .wrong text { fill: var(--red); font-weight: 700; } svg .edge { fill: none; stroke: var(--soft); }
svg .end { fill: var(--soft); } svg .match { stroke: var(--soft); stroke-dasharray: 4 4; }
svg .differs { stroke: var(--red); stroke-width: 2; }
summary { cursor: pointer; font-weight: 600; }
"""
