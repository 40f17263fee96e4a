// Package plug makes kprobes an engine.Engine, the interface through which scenarios,
// searches and the shell use it.
//
// What it is not: it has no protocol of its own. It translates probes, verbs and
// files, and passes the engine's claims about itself to monitors.
package plug
