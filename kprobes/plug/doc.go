// Package plug makes kprobes an engine.Engine: the one by which scenarios, searches
// and the shell ask it.
//
// What it is not: it has no protocol of its own. It translates probes, verbs and
// files, and has monitors told what the engine says of itself.
package plug
