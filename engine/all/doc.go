// Package all lists the engines, one row each.
//
// What it is: the one place that names every engine. The row itself, an engine.Row, is in
// the engine's folder.
//
// What it is not: it decides nothing. Which engine runs is machine(engine = …).
//
// Its rule: adding an engine means adding its folder and a row here (docs/new-engine.md).
//
// Its limits: the rows are compiled in; an engine can't be loaded at run time.
package all
