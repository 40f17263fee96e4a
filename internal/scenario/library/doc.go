// Package library holds the built-in scenarios and the object files they name.
// They are embedded, so a binary runs them anywhere.
//
// What it is not: it adds no meaning. A file of the library loads as any other.
//
// Its rule: a scenario is one .star file in this folder, and is listed because
// it lies here. The objects are committed, built from src by generate.go's
// commands.
//
// Its limit: offsets that scenarios and traces name are those of the committed
// objects; another compiler may order instructions differently.
package library
