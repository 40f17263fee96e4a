// Package nearest ends messages about names that aren't known: with the names
// that are near, or with all that there are.
//
// What it is not: it prints nothing, and it knows no list of names itself.
//
// Its rule: a word stands for the number of its place in a list, so each list
// of words is declared once, beside the constants that it names.
//
// Its limit: a slip is up to three letters, and a third of the name; else names are like each
// other by whole words, of which it knows no meaning.
package nearest
